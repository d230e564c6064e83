//! Facts that machine code tells and symbols do not: the targets of calls, and the instructions that
//! take the address of a function. Stripping does not remove them.

use std::collections::HashSet;

use iced_x86::{Decoder, FlowControl};

use crate::symbols::{ElfFunction, Symbols};

impl Symbols {
    /// The bytes of a function's code, as far as the file has them.
    #[must_use]
    pub fn bytes(&self, function: &ElfFunction) -> &[u8] {
        let code = self.machine_code();
        code.map_or(&[], |code| code.bytes(function.start, function.size))
    }

    /// The first call of the function that begins at `svma`, in the order of its code.
    #[must_use]
    pub fn first_call(&self, svma: u64) -> Option<u64> {
        /// Instructions before a call; functions that call have fewer.
        const MOST: usize = 1000;
        let function = self.code(svma)?;
        let mut decoder = Decoder::with_ip(64, self.bytes(&function), function.start, 0);
        let mut instructions = decoder.iter().take(MOST);
        instructions
            .find(|it| {
                matches!(
                    it.flow_control(),
                    FlowControl::Call | FlowControl::IndirectCall
                )
            })
            .map(|call| call.ip())
    }

    /// The last call of `callee` before the instruction that contains `svma`, in the order of the code of
    /// their function; `None` if a call of `other` lies between.
    pub(crate) fn last_call(&self, svma: u64, callee: &str, other: &str) -> Option<u64> {
        let function = self.code(svma)?;
        let decoder = Decoder::with_ip(64, self.bytes(&function), function.start, 0);
        let before = decoder.into_iter().take_while(|it| it.next_ip() <= svma);
        let mut found = None;
        for call in before {
            let name = match call.flow_control() {
                FlowControl::Call => self.leads_to(call.near_branch_target()),
                FlowControl::IndirectCall if call.is_ip_rel_memory_operand() => {
                    self.through_slot(call.ip_rel_memory_address())
                }
                _ => continue,
            };
            match name.as_deref() {
                Some(name) if name == callee => found = Some(call.ip()),
                Some(name) if name == other => found = None,
                _ => {}
            }
        }
        found
    }

    /// The linkage name of the function that a call to `svma` reaches: the one that starts there,
    /// or that the stub of the procedure linkage table there leads to.
    #[must_use]
    pub fn leads_to(&self, svma: u64) -> Option<String> {
        // Stubs first: `_init` has no size, and would reach over those that follow it.
        if let Some((_, target)) = self.unnamed().stub(svma) {
            return self.name_at(target?);
        }
        let function = self.function(svma)?;
        (function.start == svma).then_some(function.name)
    }

    /// The linkage name of the function whose address the loader puts into the slot at `svma`,
    /// through which code without a procedure linkage table calls.
    #[must_use]
    pub fn through_slot(&self, svma: u64) -> Option<String> {
        self.name_at(self.unnamed().slot(svma)?)
    }

    /// Where code takes the address of one of the functions that start at `targets`: (target, svma
    /// of the byte after the instruction), by svma. By `lea target(%rip), register` or, in code
    /// at fixed addresses, `mov $target, register` (Intel SDM volume 2).
    ///
    /// The bytes are searched, not decoded. A false match is possible: for each target about once in
    /// some billion bytes.
    #[must_use]
    pub fn takers(&self, targets: &HashSet<u64>) -> Vec<(u64, u64)> {
        /// An operand of four bytes behind three of an instruction.
        const LONGEST: usize = 7;
        let mut found = Vec::new();
        let mut look = |start: u64, bytes: &[u8]| {
            for (at, code) in bytes.windows(LONGEST).enumerate() {
                let code: &[u8; LONGEST] = code.first_chunk().expect("windows of that length");
                let [one, two, three, operand @ ..] = *code;
                let value = i32::from_le_bytes(operand);
                let end = start.wrapping_add((at + LONGEST) as u64);
                let lea =
                    matches!([one, two, three], [0x48 | 0x4c, 0x8d, mode] if mode & 0xc7 == 5);
                let target = if lea {
                    end.wrapping_add_signed(i64::from(value))
                } else if three & 0xf8 == 0xb8 {
                    u64::from(value.cast_unsigned())
                } else {
                    continue;
                };
                if targets.contains(&target) {
                    found.push((target, end));
                }
            }
        };
        if let Some(file) = self.file() {
            file.each_piece_of_code(LONGEST - 1, &mut look);
        }
        found
    }
}
