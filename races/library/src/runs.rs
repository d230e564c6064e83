//! Accesses become runs: those of one instruction in one calling context at a constant distance.

use inside::memory::Zeroed;
use race_stream::record::{REPEATED, Run};

/// Entries of the table; a power of two.
const SIZE: usize = 2048;

/// The run in progress of an instruction; `code` 0: none.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    code: u64,
    /// The address that the run comes to next; of a single access its own.
    next: u64,
    context: u32,
    kind: u32,
    first: u64,
    stride: i32,
    count: u32,
}

impl Entry {
    fn run(&self) -> Run {
        Run {
            first: self.first,
            stride: self.stride,
            count: self.count,
            size: self.kind >> 8,
            code: self.code,
            context: self.context,
            kind: self.kind as u8,
        }
    }
}

/// The runs in progress of a thread.
#[derive(Debug)]
pub(crate) struct Runs {
    touched: u32,
    /// The entries with a run, in the order in which they began.
    order: [u16; SIZE],
    entries: [Entry; SIZE],
}

// SAFETY: integers only.
#[allow(unsafe_code)]
unsafe impl Zeroed for Runs {}

impl Runs {
    /// Adds an access at `address` by the instruction before `code` to its run. `false` if it does not
    /// go on with that; then [`begin`](Self::begin) takes it.
    #[inline(always)]
    pub(crate) fn extend(&mut self, address: u64, code: u64, context: u32) -> bool {
        let Some(entry) = self.entries.get_mut(place(code, context)) else {
            return true;
        };
        if entry.code != code || entry.context != context {
            return false;
        }
        let following = address.wrapping_add_signed(entry.stride.into());
        if following == entry.next {
            entry.kind |= u32::from(REPEATED);
            return true;
        }
        let is_next = address == entry.next;
        if is_next {
            entry.next = following;
            entry.count += 1;
        }
        is_next
    }

    /// Adds an access that begins a run, or is the second one of a run and decides its distance. `kind`
    /// has the access's kind in the low 8 bits and its size in bytes above. Returns the run that it
    /// ends, if it ends one.
    pub(crate) fn begin(
        &mut self,
        address: u64,
        code: u64,
        context: u32,
        kind: u32,
    ) -> Option<Run> {
        let at = place(code, context);
        let entry = self.entries.get_mut(at)?;
        let is_same = entry.code == code && entry.context == context;
        if is_same && entry.count == 1 {
            let distance = address.wrapping_sub(entry.first) as i64;
            if let Ok(stride) = i32::try_from(distance) {
                entry.stride = stride;
                entry.count = 2;
                entry.next = address.wrapping_add_signed(distance);
                return None;
            }
        }
        let ended = (entry.code != 0).then(|| entry.run());
        *entry = Entry {
            code,
            next: address,
            context,
            kind,
            first: address,
            stride: 0,
            count: 1,
        };
        if ended.is_none() {
            // A table of as many entries: there is room.
            if let Some(slot) = self.order.get_mut(self.touched as usize) {
                *slot = at as u16;
                self.touched += 1;
            }
        }
        ended
    }

    /// The instruction and the address of the only access in progress, if there is no other.
    pub(crate) fn only(&self) -> Option<(u64, u64)> {
        let first = self.order.first().filter(|_| self.touched == 1)?;
        let entry = self.entries.get(usize::from(*first))?;
        (entry.count == 1).then_some((entry.code, entry.first))
    }

    /// Ends all runs, and passes each to `write`.
    #[inline]
    pub(crate) fn end(&mut self, mut write: impl FnMut(&Run)) {
        for at in self.order.iter().take(self.touched as usize) {
            if let Some(entry) = self.entries.get_mut(usize::from(*at)) {
                if entry.code != 0 {
                    write(&entry.run());
                }
                entry.code = 0;
            }
        }
        self.touched = 0;
    }
}

/// The entry of an instruction in a context.
#[inline(always)]
fn place(code: u64, context: u32) -> usize {
    (code as u32 ^ context.wrapping_mul(0x9e37_79b1) >> 16) as usize % SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ8: u32 = 8 << 8;

    fn runs_of(accesses: &[(u64, u64, u32)]) -> Vec<(u64, u64, i32, u32)> {
        let runs = inside::memory::map_static::<Runs>().expect("memory");
        let mut ended = Vec::new();
        let short = |run: &Run| (run.code, run.first, run.stride, run.count);
        for (address, code, context) in accesses {
            if !runs.extend(*address, *code, *context) {
                let run = runs.begin(*address, *code, *context, READ8);
                ended.extend(run.as_ref().map(short));
            }
        }
        runs.end(|run| ended.push(short(run)));
        runs.end(|run| panic!("{run:?} was ended twice"));
        ended
    }

    #[test]
    fn a_constant_distance_is_one_run() {
        let forth: Vec<_> = (0..100).map(|i| (1000 + 8 * i, 7, 0)).collect();
        assert_eq!(runs_of(&forth), [(7, 1000, 8, 100)]);
        let back: Vec<_> = (0..100).map(|i| (9000 - 16 * i, 7, 0)).collect();
        assert_eq!(runs_of(&back), [(7, 9000, -16, 100)]);
    }

    #[test]
    fn repeated_accesses_count_once() {
        assert_eq!(runs_of(&[(8, 7, 0); 5]), [(7, 8, 0, 1)]);
        let steps: Vec<_> = (0..9).map(|i| (8 * (i / 3), 7, 0)).collect();
        assert_eq!(runs_of(&steps), [(7, 0, 8, 3)]);
    }

    #[test]
    fn instructions_and_contexts_have_runs_of_their_own() {
        let accesses = [
            (0, 7, 0),
            (0, 7, 1),
            (0, 9, 0),
            (8, 7, 0),
            (8, 7, 1),
            (8, 9, 0),
        ];
        assert_eq!(
            runs_of(&accesses),
            [(7, 0, 8, 2), (7, 0, 8, 2), (9, 0, 8, 2)]
        );
    }

    #[test]
    fn a_break_begins_a_run() {
        let accesses: Vec<_> = [0, 8, 16, 100, 108, 116, 50].map(|at| (at, 7, 0)).into();
        assert_eq!(
            runs_of(&accesses),
            [(7, 0, 8, 3), (7, 100, 8, 3), (7, 50, 0, 1)]
        );
    }

    #[test]
    fn two_instructions_of_one_entry_take_turns() {
        let accesses = [(0, 7, 0), (64, 7 + SIZE as u64, 0), (8, 7, 0)];
        let expected = [(7, 0, 0, 1), (7 + SIZE as u64, 64, 0, 1), (7, 8, 0, 1)];
        assert_eq!(runs_of(&accesses), expected);
    }
}
