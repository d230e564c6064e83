//! The arguments of an event: a `va_list` of the x86-64 ABI (3.5.7).

/// What the list points to.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Arguments {
    /// Where the next integer is among the saved registers, and the next floating-point number.
    general: u32,
    floating: u32,
    /// The next argument on the stack.
    overflow: *const u64,
    saved: *const u8,
}

/// Behind the saved integers, and behind the saved floating-point numbers.
const GENERAL_END: u32 = 48;
const FLOATING_END: u32 = 176;

impl Arguments {
    /// The next argument that is an integer or a pointer.
    ///
    /// # Safety
    /// The call that the list is of has such an argument next.
    pub(super) unsafe fn word(&mut self) -> u64 {
        // SAFETY: the caller's promise: the registers are saved there, the rest follows on the stack.
        unsafe {
            if self.general < GENERAL_END {
                let at = self.saved.add(self.general as usize);
                self.general += 8;
                at.cast::<u64>().read_unaligned()
            } else {
                self.next_on_stack()
            }
        }
    }

    /// The next argument that is a floating-point number.
    ///
    /// # Safety
    /// Likewise.
    pub(super) unsafe fn number(&mut self) -> f64 {
        // SAFETY: as above.
        unsafe {
            if self.floating < FLOATING_END {
                let at = self.saved.add(self.floating as usize);
                self.floating += 16;
                at.cast::<f64>().read_unaligned()
            } else {
                f64::from_bits(self.next_on_stack())
            }
        }
    }

    unsafe fn next_on_stack(&mut self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let word = self.overflow.read_unaligned();
            self.overflow = self.overflow.add(1);
            word
        }
    }

    /// Those of these words and numbers, for tests.
    #[cfg(test)]
    pub(super) fn of(words: &[u64; 6], numbers: &[f64; 2], stack: &[u64]) -> (Arguments, Vec<u8>) {
        let mut saved = Vec::new();
        saved.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        for number in numbers {
            saved.extend(number.to_ne_bytes());
            saved.extend([0; 8]);
        }
        saved.resize(FLOATING_END as usize, 0);
        let arguments = Arguments {
            general: 0,
            floating: GENERAL_END,
            overflow: stack.as_ptr(),
            saved: saved.as_ptr(),
        };
        (arguments, saved)
    }
}
