//! Stacks that the program's threads sent, of code that tells nothing of its calls.

use std::path::Path;

use omp_ring::context::Context;
use unwinder::{Regs, StackBytes, StackMemory};

use crate::places::{Places, is_basic};

/// The part of a stack that a thread sent.
struct Sent<'a>(&'a Context);

impl StackMemory for Sent<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        self.0.read(address)
    }
}

impl Places {
    /// The return addresses of the program's calls on a stack, innermost first: from the caller of the function
    /// that called us, down to the runtime, or to our own library, that called the first of them.
    pub(crate) fn calls_on(&mut self, context: &Context) -> Vec<u64> {
        let registers = context.head.registers;
        let regs = Regs::new(registers.ip, registers.sp, registers.bp);
        let stack = StackBytes {
            sp: regs.sp(),
            bytes: &[],
            beyond: Some(&Sent(context)),
        };
        let mut addresses = Vec::new();
        self.unwind(&regs, &stack, &mut addresses);
        let call = addresses
            .iter()
            .position(|address| *address == context.head.code);
        let Some(call) = call else {
            return Vec::new();
        };
        let callers = addresses.into_iter().skip(call + 1);
        callers
            .take_while(|address| !self.is_of_runtime(*address))
            .collect()
    }

    /// The calls on a whole stack, without the first function of its thread and what the C library does between
    /// that and the program's own functions.
    pub(crate) fn without_start<'a>(&mut self, codes: &'a [u64]) -> &'a [u64] {
        let Some((first, called)) = codes.split_last() else {
            return codes;
        };
        if !self.is_first_function(*first) {
            return codes;
        }
        let own = called.iter().rposition(|code| !self.is_of_c_library(*code));
        own.map_or(codes, |own| &codes[..=own])
    }

    fn is_of_c_library(&self, code: u64) -> bool {
        let module = self.locate_call(code).map(|(module, _)| module);
        let path = module.and_then(|module| self.path(module));
        let name = path.as_deref().and_then(Path::file_name);
        name.is_some_and(|name| is_basic(&name.to_string_lossy()))
    }

    /// Whether the call that returns to `code` is made by an OpenMP runtime, or by our own library.
    fn is_of_runtime(&self, code: u64) -> bool {
        let call = self.locate_call(code);
        call.is_some_and(|call| self.is_runtime(call))
    }
}
