//! Functions of libgfortran to which a `print`, `write` or `read` statement passes its variables by
//! reference: what they read and write are accesses of the statement.
#![allow(unsafe_code)]

use inside::next;
use race_stream::record::WRITE;

use crate::objects::is_instrumented;
use crate::tls;

/// The call before `code` accesses `size` bytes at `address`, in `call`.
fn accesses(address: u64, size: u64, code: u64, kind: u8, call: impl FnOnce()) {
    if !is_instrumented(code) {
        return call();
    }
    // SAFETY: the state's methods call neither the program nor a runtime.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.block_access(address, size, code, kind);
    }
    // Functions that print go on to those that read, by a jump.
    tls::with(|thread| thread.set_ignoring(true));
    call();
    tls::with(|thread| thread.set_ignoring(false));
}

/// Entry points: what each does to its variable, and of how many bytes that is for each of its last
/// argument, the kind of a number or the length of a text.
macro_rules! transfers {
    ($($name:ident $to:ident $symbol:literal $kind:expr, $bytes:literal;)*) => {$(
        extern "C-unwind" fn $to(statement: u64, address: u64, length: u64, code: u64) {
            let bytes = length.saturating_mul($bytes);
            accesses(address, bytes, code, $kind, || {
                next!($symbol, fn(u64, u64, u64), (statement, address, length), ())
            });
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!("mov rcx, [rsp]", "jmp {to}", to = sym $to)
        }
    )*};
}

transfers! {
    _gfortran_transfer_integer_write print_integer c"_gfortran_transfer_integer_write" 0, 1;
    _gfortran_transfer_logical_write print_logical c"_gfortran_transfer_logical_write" 0, 1;
    _gfortran_transfer_real_write print_real c"_gfortran_transfer_real_write" 0, 1;
    _gfortran_transfer_complex_write print_complex c"_gfortran_transfer_complex_write" 0, 2;
    _gfortran_transfer_character_write print_text c"_gfortran_transfer_character_write" 0, 1;
    _gfortran_transfer_integer read_integer c"_gfortran_transfer_integer" WRITE, 1;
    _gfortran_transfer_logical read_logical c"_gfortran_transfer_logical" WRITE, 1;
    _gfortran_transfer_real read_real c"_gfortran_transfer_real" WRITE, 1;
    _gfortran_transfer_complex read_complex c"_gfortran_transfer_complex" WRITE, 2;
    _gfortran_transfer_character read_text c"_gfortran_transfer_character" WRITE, 1;
}
