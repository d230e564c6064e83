//! Threads that sleep without a switch-out sample: their stacks are read from their memory.
//!
//! Only some switches have a switch-out sample. A thread that goes to sleep once, like those of many
//! thread pools, mostly has none, and its time would have no stack. The kernel tells where a sleeping
//! thread entered its system call, and the thread's stack does not change while it sleeps.

use std::fs;

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use rustc_hash::FxHashMap;
use unwinder::Regs;

/// How long a thread sleeps before its stack is read, in nanoseconds. Shorter sleeps have the places of the
/// thread's switch-out samples in the same thread state.
const PATIENCE: u64 = 20_000_000;

/// Most stacks read in a round; each takes some tens of microseconds.
const MOST: usize = 16;

/// Stands for the frame pointer, which the kernel does not tell: it points to no stack.
const NO_FRAME: u64 = 1;

/// A sleep of a thread, as it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Nanoseconds since the start.
    pub since: u64,
    /// The thread state and its construct.
    pub thread_state: ThreadStateId,
    /// The instances that the thread was in.
    pub within: Within,
}

/// What is known of the stack of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// It was not read yet.
    Pending,
    /// It was read at this time. It is valid if the merge reaches that time without a wake-up.
    Read(StackId, u64),
    /// It could not be read, or was returned.
    Done,
}

/// The threads that sleep now without a stack.
#[derive(Debug, Default)]
pub struct Sleepers {
    asleep: FxHashMap<ThreadId, (Sleep, Reading)>,
}

impl Sleepers {
    /// A thread goes to sleep without a switch-out sample, and not in a wait of OpenMP.
    pub fn sleeps(&mut self, thread: ThreadId, sleep: Sleep) {
        self.asleep.insert(thread, (sleep, Reading::Pending));
    }

    /// The thread is awake again, or has ended.
    pub fn wakes(&mut self, thread: ThreadId) {
        if !self.asleep.is_empty() {
            self.asleep.remove(&thread);
        }
    }

    /// The sleeps whose stacks are valid: they were read before `merged_to`, and no wake-up came up to
    /// then.
    pub fn confirmed(&mut self, merged_to: u64) -> Vec<(ThreadId, Sleep, StackId)> {
        let mut confirmed = Vec::new();
        for (&thread, (sleep, reading)) in &mut self.asleep {
            if let Reading::Read(stack, at) = *reading
                && at < merged_to
            {
                *reading = Reading::Done;
                confirmed.push((thread, *sleep, stack));
            }
        }
        confirmed.sort_unstable_by_key(|(thread, ..)| thread.0);
        confirmed
    }

    /// Reads the stacks of threads that have slept long enough at time `now`, by `stack`.
    pub fn read_stacks(&mut self, now: u64, mut stack: impl FnMut(ThreadId) -> Option<StackId>) {
        let due = self.asleep.iter_mut().filter(|(_, (sleep, reading))| {
            *reading == Reading::Pending && now.saturating_sub(sleep.since) >= PATIENCE
        });
        for (&thread, (_, reading)) in due.take(MOST) {
            *reading = stack(thread).map_or(Reading::Done, |stack| Reading::Read(stack, now));
        }
    }
}

/// The registers of a thread that waits in a system call, as far as the kernel tells them. `None` for
/// a thread that runs, that waits elsewhere, or that may not be read. If two readings are equal, the
/// thread slept between them.
pub fn registers((pid, tid): (i32, i32)) -> Option<Regs> {
    parse(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?)
}

/// `NUMBER ARGUMENT*6 SP PC`, `-1 SP PC` outside of a call, or `running` (proc(5)).
fn parse(line: &str) -> Option<Regs> {
    let mut words = line.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let mut words = words
        .skip(6)
        .map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let (sp, ip) = (words.next()??, words.next()??);
    (number >= 0).then(|| Regs::new(ip, sp, NO_FRAME))
}

/// The CPU that a thread ran on last.
pub fn last_cpu((pid, tid): (i32, i32)) -> Option<u16> {
    /// The number of the field in `stat` (proc(5)). The second field may contain spaces.
    const PROCESSOR: usize = 39;
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let field = fields.split_ascii_whitespace().nth(PROCESSOR - 3)?;
    field.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(3);
    const STACK: StackId = StackId(7);

    fn sleep(since: u64) -> Sleep {
        Sleep {
            since,
            thread_state: ThreadStateId::OUTSIDE,
            within: Within::default(),
        }
    }

    #[test]
    fn a_stack_is_valid_if_the_thread_slept_on() {
        let mut sleepers = Sleepers::default();
        sleepers.sleeps(T, sleep(100));
        let early = 100 + PATIENCE - 1;
        sleepers.read_stacks(early, |_| panic!("it may wake by itself"));
        sleepers.read_stacks(early + 1, |thread| (thread == T).then_some(STACK));
        assert_eq!(sleepers.confirmed(early + 1), []);
        assert_eq!(sleepers.confirmed(early + 2), [(T, sleep(100), STACK)]);
        assert_eq!(sleepers.confirmed(early + 3), []);
        sleepers.read_stacks(2 * early, |_| panic!("it was returned"));
        // Each sleep is read: its place may be another than that of the one before.
        sleepers.wakes(T);
        sleepers.sleeps(T, sleep(0));
        sleepers.read_stacks(PATIENCE - 1, |_| panic!("it may wake by itself"));
        sleepers.read_stacks(PATIENCE, |_| Some(STACK));
        sleepers.wakes(T);
        assert_eq!(sleepers.confirmed(u64::MAX), []);
    }

    #[test]
    fn the_registers_are_those_of_a_wait_in_a_call() {
        let regs = parse("202 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd0010 0x7f0020\n");
        assert_eq!(regs, Some(Regs::new(0x7f_0020, 0x7ffd_0010, NO_FRAME)));
        for line in ["running", "-1 0x7ffd0010 0x7f0020", "202 0x7f", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_registers_of_a_sleeping_thread_are_read() {
        let (send, receive) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").expect("the kernel has it");
            let tid = own.file_name().and_then(|name| name.to_str()?.parse().ok());
            send.send(tid).expect("the test waits");
            let _ = stopped.recv();
        });
        let tid: i32 = receive.recv().expect("it lives").expect("a number");
        let pid = std::process::id() as i32;
        let regs = loop {
            match registers((pid, tid)) {
                Some(regs) => break regs,
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        };
        assert_ne!((regs.ip(), regs.sp()), (0, 0));
        assert!(last_cpu((pid, tid)).is_some());
        drop(stop);
        sleeper.join().expect("it ends");
    }
}
