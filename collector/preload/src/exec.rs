//! The functions of the C library that start programs, as our libraries have them: they look at the file,
//! and leave the library out of the environment of a program that cannot load it.
//!
//! Where nothing is to be changed, the next function of the same name gets the same arguments. Between
//! `vfork` and `exec` this runs in the memory of the parent, so nothing is allocated or kept: a changed
//! environment lies on the stack.
//!
//! What the C library starts by itself (`system`, `popen`) comes by none of these functions. That is a
//! shell, which uses them.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

use inside::next::Next;

use crate::environment::{self, Added, Environment, added, environ};
use crate::file::{File, Program};
use crate::look::obstacle;
use crate::{filters, limits};

/// Arguments of a program, as `exec` takes them.
type Arguments = *const *const c_char;

static EXECVE: Next = Next::new(c"execve");
static EXECV: Next = Next::new(c"execv");
static EXECVP: Next = Next::new(c"execvp");
static EXECVPE: Next = Next::new(c"execvpe");
static FEXECVE: Next = Next::new(c"fexecve");
static SPAWN: Next = Next::of_version(c"posix_spawn", c"GLIBC_2.15");
static SPAWN_IN_PATH: Next = Next::of_version(c"posix_spawnp", c"GLIBC_2.15");

/// Called as the library is loaded.
pub extern "C" fn start() {
    for next in [
        &EXECVE,
        &EXECV,
        &EXECVP,
        &EXECVPE,
        &FEXECVE,
        &SPAWN,
        &SPAWN_IN_PATH,
    ] {
        next.address();
    }
    environment::start();
    limits::start();
    filters::start();
}

/// Calls the next function with these arguments: the program's own, but for an environment that is one, too.
macro_rules! call {
    ($next:expr, fn($($type:ty),*), $arguments:tt) => {
        inside::next!($next, fn($($type),*) -> c_int, $arguments, -1)
    };
}

/// What a program gets that is to be started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Without,
    With,
}

/// How the environment of a program must change; `None` if it may stay as it is. `is_spawned`: in another
/// process.
///
/// # Safety
/// As `execve` of the C library.
unsafe fn change(
    added: &Added,
    program: Program<'_>,
    is_spawned: bool,
    environment: Environment,
) -> Option<Change> {
    // A filter that the program has set may end the process at the look's calls, even at one that asks whether
    // there is a filter. A library that is not told of it looks all the same: a dynamic linker that is to start
    // makes these calls, too. A filter from before permitted them as this program was loaded.
    let is_filtered = inside::filters::are_set();
    let loads = || {
        is_filtered
            || obstacle(program).is_none()
                && added
                    .library()
                    .is_some_and(|library| File::open(libc::AT_FDCWD, library.as_c_str()).is_some())
    };
    // SAFETY: the caller's promise.
    if unsafe { added.is_in(environment) } {
        return (!loads()).then_some(Change::Without);
    }
    // With `-F off` it is not there, but what the process itself becomes is recorded.
    let is_same = || {
        // SAFETY: takes nothing, and cannot fail.
        let process = (!is_filtered && !is_spawned).then(|| unsafe { libc::getpid() });
        process == added.alone
    };
    // SAFETY: the caller's promise.
    let is_told = added.alone.is_some() && unsafe { environment::is_told(environment) };
    (is_told && is_same() && loads()).then_some(Change::With)
}

/// Starts a program by `exec` with a changed environment, if it must be changed.
///
/// # Safety
/// As `execve` of the C library.
unsafe fn changed(
    program: Option<Program<'_>>,
    is_spawned: bool,
    environment: Environment,
    exec: &mut dyn FnMut(Environment) -> c_int,
) -> Option<c_int> {
    let (added, program) = (added()?, program?);
    // SAFETY: the thread's own variable; the caller's promise.
    let change = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let change = change(added, program, is_spawned, environment);
        *errno = before;
        change
    };
    let mut start = Start {
        added,
        environment,
        change: change?,
        exec,
        result: -1,
    };
    // SAFETY: the caller's promise; `begin` is called with a pointer to `start`.
    unsafe {
        let room = added.room(environment);
        with_room(room, (&raw mut start).cast(), begin);
    }
    Some(start.result)
}

/// What is started with a changed environment.
struct Start<'a> {
    added: &'a Added,
    environment: Environment,
    change: Change,
    exec: &'a mut dyn FnMut(Environment) -> c_int,
    result: c_int,
}

/// # Safety
/// `start` is a [`Start`], and `room` as much as its environment needs.
unsafe extern "C-unwind" fn begin(room: *mut u8, start: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        let start = &mut *start.cast::<Start<'_>>();
        let is_with = start.change == Change::With;
        let changed = start.added.rebuild(start.environment, is_with, room);
        start.result = (start.exec)(changed);
    }
}

/// Calls `function` with `size` bytes of the stack, aligned to 16, and `argument`. Each page of the stack
/// is touched, so that its end is not jumped over.
///
/// # Safety
/// As `function`.
#[unsafe(naked)]
unsafe extern "C-unwind" fn with_room(
    size: usize,
    argument: *mut c_void,
    function: unsafe extern "C-unwind" fn(*mut u8, *mut c_void),
) {
    naked_asm!(
        ".cfi_startproc",
        inside::enter_frame!(),
        "2:",
        "cmp rdi, 4096",
        "jb 3f",
        "sub rsp, 4096",
        "or qword ptr [rsp], 0",
        "sub rdi, 4096",
        "jmp 2b",
        "3:",
        "sub rsp, rdi",
        "and rsp, -16",
        "mov rdi, rsp",
        "call rdx",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// A program by its path in a folder; `None` if there is no path, which is the C library's to refuse.
///
/// # Safety
/// A C string, or null.
unsafe fn in_folder<'a>(folder: c_int, path: *const c_char) -> Option<Program<'a>> {
    // SAFETY: the caller's promise.
    (!path.is_null()).then(|| Program::Path(folder, unsafe { CStr::from_ptr(path) }))
}

/// A program by its path.
///
/// # Safety
/// A C string, or null.
unsafe fn by_path<'a>(path: *const c_char) -> Option<Program<'a>> {
    // SAFETY: the caller's promise.
    unsafe { in_folder(libc::AT_FDCWD, path) }
}

/// A program by its name.
///
/// # Safety
/// A C string, or null.
unsafe fn by_name<'a>(name: *const c_char) -> Option<Program<'a>> {
    // SAFETY: the caller's promise.
    (!name.is_null()).then(|| Program::Name(unsafe { CStr::from_ptr(name) }))
}

/// # Safety
/// As the function of this name of the C library, like all that follow.
pub unsafe extern "C-unwind" fn execve(
    path: *const c_char,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    let mut next = |environment| {
        call!(
            EXECVE,
            fn(*const c_char, Arguments, Environment),
            (path, arguments, environment)
        )
    };
    // SAFETY: the caller's promise.
    unsafe { changed(by_path(path), false, environment, &mut next) }
        .unwrap_or_else(|| next(environment))
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn execv(path: *const c_char, arguments: Arguments) -> c_int {
    let mut with = |environment| {
        call!(
            EXECVE,
            fn(*const c_char, Arguments, Environment),
            (path, arguments, environment)
        )
    };
    // SAFETY: the caller's promise. The environment is read as the C library reads it.
    let done = unsafe { changed(by_path(path), false, environ, &mut with) };
    done.unwrap_or_else(|| call!(EXECV, fn(*const c_char, Arguments), (path, arguments)))
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn execvp(name: *const c_char, arguments: Arguments) -> c_int {
    let mut with = |environment| {
        call!(
            EXECVPE,
            fn(*const c_char, Arguments, Environment),
            (name, arguments, environment)
        )
    };
    // SAFETY: the caller's promise. The environment is read as the C library reads it.
    let done = unsafe { changed(by_name(name), false, environ, &mut with) };
    done.unwrap_or_else(|| call!(EXECVP, fn(*const c_char, Arguments), (name, arguments)))
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn execvpe(
    name: *const c_char,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    let mut next = |environment| {
        call!(
            EXECVPE,
            fn(*const c_char, Arguments, Environment),
            (name, arguments, environment)
        )
    };
    // SAFETY: the caller's promise.
    unsafe { changed(by_name(name), false, environment, &mut next) }
        .unwrap_or_else(|| next(environment))
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn fexecve(
    file: c_int,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    let mut next = |environment| {
        call!(
            FEXECVE,
            fn(c_int, Arguments, Environment),
            (file, arguments, environment)
        )
    };
    // SAFETY: the caller's promise.
    unsafe { changed(Some(Program::Open(file)), false, environment, &mut next) }
        .unwrap_or_else(|| next(environment))
}

/// The C library has had this function since 2.34; it is the system call.
///
/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Arguments,
    environment: Environment,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own arguments, but for an environment that is one, too.
    let mut next = |environment: Environment| unsafe {
        libc::syscall(
            libc::SYS_execveat,
            c_long::from(folder),
            path,
            arguments,
            environment,
            c_long::from(flags),
        ) as c_int
    };
    // SAFETY: the caller's promise.
    unsafe {
        let program = match in_folder(folder, path) {
            Some(Program::Path(_, path)) if path.is_empty() => Some(Program::Open(folder)),
            program => program,
        };
        changed(program, false, environment, &mut next)
    }
    .unwrap_or_else(|| next(environment))
}

/// What `posix_spawn` and `posix_spawnp` take besides the program, and pass on.
#[derive(Clone, Copy)]
#[repr(C)]
struct Attributes {
    actions: *const c_void,
    attributes: *const c_void,
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn posix_spawn(
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    let with = Attributes {
        actions,
        attributes,
    };
    let mut next = |environment| spawn(&SPAWN, process, path, with, arguments, environment);
    // SAFETY: the caller's promise.
    unsafe { changed(by_path(path), true, environment, &mut next) }
        .unwrap_or_else(|| next(environment))
}

/// # Safety
/// As the function of this name of the C library.
pub unsafe extern "C-unwind" fn posix_spawnp(
    process: *mut libc::pid_t,
    name: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    let with = Attributes {
        actions,
        attributes,
    };
    let mut next = |environment| spawn(&SPAWN_IN_PATH, process, name, with, arguments, environment);
    // SAFETY: the caller's promise.
    unsafe { changed(by_name(name), true, environment, &mut next) }
        .unwrap_or_else(|| next(environment))
}

fn spawn(
    next: &Next,
    process: *mut libc::pid_t,
    program: *const c_char,
    with: Attributes,
    arguments: Arguments,
    environment: Environment,
) -> c_int {
    call!(
        next,
        fn(*mut libc::pid_t, *const c_char, *const c_void, *const c_void, Arguments, Environment),
        (
            process,
            program,
            with.actions,
            with.attributes,
            arguments,
            environment
        )
    )
}

/// Arguments that follow the first one of `execl` and its kin: [`IN_REGISTERS`] of them from registers, and
/// where the others lie on the stack.
#[derive(Clone, Copy)]
struct Listed {
    registers: Arguments,
    others: Arguments,
}

const IN_REGISTERS: usize = 5;

impl Listed {
    /// # Safety
    /// The program has passed an argument of this number.
    unsafe fn at(self, number: usize) -> *const c_char {
        // SAFETY: the caller's promise.
        unsafe {
            match number.checked_sub(IN_REGISTERS) {
                None => *self.registers.add(number),
                Some(number) => *self.others.add(number),
            }
        }
    }

    /// The number of arguments before the null pointer that ends them.
    ///
    /// # Safety
    /// The program has passed one.
    unsafe fn count(self) -> usize {
        let mut count = 0;
        // SAFETY: the caller's promise.
        while !unsafe { self.at(count) }.is_null() {
            count += 1;
        }
        count
    }

    /// Calls `exec` with the arguments as an array.
    ///
    /// # Safety
    /// As [`Listed::count`].
    unsafe fn as_array(self, exec: &mut dyn FnMut(Arguments) -> c_int) -> c_int {
        let mut copy = Copy {
            listed: self,
            // SAFETY: the caller's promise.
            count: unsafe { self.count() },
            exec,
            result: -1,
        };
        let size = (copy.count + 1) * size_of::<*const c_char>();
        // SAFETY: `copy_arguments` is called with a pointer to `copy`, and room for its arguments.
        unsafe { with_room(size, (&raw mut copy).cast(), copy_arguments) };
        copy.result
    }
}

/// Arguments that become an array.
struct Copy<'a> {
    listed: Listed,
    count: usize,
    exec: &'a mut dyn FnMut(Arguments) -> c_int,
    result: c_int,
}

/// # Safety
/// `copy` is a [`Copy`], and `room` holds its arguments and the null pointer.
unsafe extern "C-unwind" fn copy_arguments(room: *mut u8, copy: *mut c_void) {
    let array = room.cast::<*const c_char>();
    // SAFETY: the caller's promise.
    unsafe {
        let copy = &mut *copy.cast::<Copy<'_>>();
        for number in 0..=copy.count {
            array.add(number).write(copy.listed.at(number));
        }
        copy.result = (copy.exec)(array);
    }
}

/// # Safety
/// As `execl` of the C library.
unsafe extern "C-unwind" fn execl_of(
    path: *const c_char,
    registers: Arguments,
    others: Arguments,
) -> c_int {
    let listed = Listed { registers, others };
    // SAFETY: the caller's promise.
    unsafe { listed.as_array(&mut |arguments| execv(path, arguments)) }
}

/// # Safety
/// As `execlp` of the C library.
unsafe extern "C-unwind" fn execlp_of(
    name: *const c_char,
    registers: Arguments,
    others: Arguments,
) -> c_int {
    let listed = Listed { registers, others };
    // SAFETY: the caller's promise.
    unsafe { listed.as_array(&mut |arguments| execvp(name, arguments)) }
}

/// # Safety
/// As `execle` of the C library.
unsafe extern "C-unwind" fn execle_of(
    path: *const c_char,
    registers: Arguments,
    others: Arguments,
) -> c_int {
    let listed = Listed { registers, others };
    // SAFETY: the caller's promise; the environment follows the null pointer.
    unsafe {
        let environment = listed.at(listed.count() + 1).cast();
        listed.as_array(&mut |arguments| execve(path, arguments, environment))
    }
}

/// Functions of any number of arguments, for one that gets the first, and where those from registers and the
/// others are.
macro_rules! listing {
    ($($name:ident => $to:ident;)*) => {$(
        /// # Safety
        /// As the function of this name of the C library.
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rsi",
                "mov [rsp + 8], rdx",
                "mov [rsp + 16], rcx",
                "mov [rsp + 24], r8",
                "mov [rsp + 32], r9",
                "mov rsi, rsp",
                "lea rdx, [rsp + 64]",
                "call {to}",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                to = sym $to,
            )
        }
    )*};
}

listing! {
    execl => execl_of;
    execlp => execlp_of;
    execle => execle_of;
}

/// Defines these functions in a library of ours, which thereby come before those of the C library, and has
/// them prepared as it is loaded. `$watch` is told of filters: [`Watch`](crate::filters::Watch).
#[macro_export]
macro_rules! interpose {
    ($watch:ty) => {
        inside::jumping! {
            execve => $crate::exec::execve;
            execv => $crate::exec::execv;
            execvp => $crate::exec::execvp;
            execvpe => $crate::exec::execvpe;
            fexecve => $crate::exec::fexecve;
            execveat => $crate::exec::execveat;
            execl => $crate::exec::execl;
            execlp => $crate::exec::execlp;
            execle => $crate::exec::execle;
            posix_spawn => $crate::exec::posix_spawn;
            posix_spawnp => $crate::exec::posix_spawnp;
            setrlimit => $crate::limits::setrlimit;
            setrlimit64 => $crate::limits::setrlimit;
            getrlimit => $crate::limits::getrlimit;
            getrlimit64 => $crate::limits::getrlimit;
            prlimit => $crate::limits::prlimit;
            prlimit64 => $crate::limits::prlimit;
        }

        inside::noting! {
            prctl => $crate::filters::prctl::<$watch> [] [];
            syscall => $crate::filters::syscall::<$watch> [] [];
            ptrace => $crate::filters::ptrace::<$watch> [] [];
        }

        // SAFETY: the loader calls each pointer of this section once, before the program's own code.
        #[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
        #[used]
        static AT_LOAD: extern "C" fn() = $crate::exec::start;
    };
}
