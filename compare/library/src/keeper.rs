//! Copies of the process: a keeper, whose memory stays as it was before a region, and peers, copies of the keeper
//! that run the region with one thread.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use divergence::record::Cause;
use divergence::spans::Pages;
use divergence::words::Difference;

use crate::board::{ANSWERED, ASKED, Board, Box, MOST, ROOM, Word};
use crate::entry::Call;
use crate::pages::{self, Area};
use crate::{blocks, guard};

/// How a peer rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As the program does, and it tells which pages it wrote.
    Plain = 0,
    /// The same, once more.
    Again = 1,
    /// Up.
    Up = 2,
    /// Down.
    Down = 3,
}

const MODES: [Mode; 4] = [Mode::Plain, Mode::Again, Mode::Up, Mode::Down];

/// What is asked of a copy.
const READY: u64 = 0;
/// Of the keeper: a peer in the mode that is the argument. The answer: 1 if there is one.
const RUN: u64 = 1;
/// The bytes of the listed ranges.
const FETCH: u64 = 2;
/// Of the keeper: 0 if the peer lives, else the number of a cause and 1.
const STATUS: u64 = 3;
/// Of the keeper: the peer is ended.
const END: u64 = 4;
/// Of a peer: blocks that it allocated, each as two pairs.
const BORN: u64 = 5;

/// This process is a peer.
static IS_PEER: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_peer() -> bool {
    IS_PEER.load(Relaxed)
}

/// The most bytes of memory shared with other processes that a keeper copies.
const MOST_SHARED: u64 = 1 << 30;

/// A keeper of this process, which ends with this value.
pub(crate) struct Keeper {
    process: libc::pid_t,
    board: &'static Board,
    has_peer: bool,
}

/// A copy of this process that ends when the thread ends which made it, and of whose end the program is not told.
/// `None`: the system refuses; `Some(0)`: this is the copy.
fn copy() -> Option<libc::pid_t> {
    // SAFETY: as fork, without a signal at its end, and without the functions that the program has registered for
    // forks. The copy has this thread alone; it calls nothing that another thread may have locked: those of the
    // program are not running, and those of a runtime wait for work.
    let process = unsafe {
        let parent = libc::getpid();
        let process = libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) as libc::pid_t;
        if process == 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != parent {
                libc::_exit(0);
            }
        }
        process
    };
    (process >= 0).then_some(process)
}

impl Keeper {
    /// A keeper of memory as it is now, which knows the region that is about to begin.
    pub(crate) fn new(
        board: &'static Board,
        areas: &[Area],
        call: &Call<'_>,
    ) -> Result<Keeper, Cause> {
        board.set_request(Box::Keeper, READY);
        match copy() {
            None => Err(Cause::Refused),
            Some(0) => keep(board, areas, call),
            Some(process) => {
                let keeper = Keeper {
                    process,
                    board,
                    has_peer: false,
                };
                // What other processes see as well has to be copied before it changes.
                if areas.iter().any(|area| area.is_shared) {
                    keeper.finish(Box::Keeper, Duration::from_secs(10))?;
                }
                Ok(keeper)
            }
        }
    }

    /// Waits until a copy has answered.
    fn finish(&self, of: Box, limit: Duration) -> Result<u64, Cause> {
        let begin = Instant::now();
        let mut slice = Duration::from_millis(2);
        loop {
            self.board.wait(of, ASKED, slice);
            if self.board.turn(of) == ANSWERED {
                return Ok(self.board.answer(of));
            }
            let mut status = 0;
            // SAFETY: asks for the keeper's state alone.
            let ended = unsafe {
                libc::waitpid(self.process, &raw mut status, libc::WNOHANG | libc::__WALL)
            };
            if ended != 0 {
                return Err(cause_of(status));
            }
            if matches!(of, Box::Peer) {
                let status = self.ask(Box::Keeper, STATUS)?;
                if let Some(cause) = status.checked_sub(1) {
                    let cause = Cause::ALL.get(cause as usize);
                    return Err(cause.copied().unwrap_or(Cause::Fault));
                }
            }
            if begin.elapsed() > limit {
                return Err(Cause::Time);
            }
            slice = (slice * 2).min(Duration::from_millis(50));
        }
    }

    fn ask(&self, of: Box, request: u64) -> Result<u64, Cause> {
        const LIMIT: Duration = Duration::from_secs(20);
        if self.board.turn(of) != ANSWERED {
            self.finish(of, LIMIT)?;
        }
        self.board.set_request(of, request);
        self.finish(of, LIMIT)
    }

    /// Has a peer run the region with one thread. Returns the pages that it wrote, in the plain mode.
    pub(crate) fn run(&mut self, mode: Mode, limit: Duration) -> Result<Pages, Cause> {
        self.end_peer()?;
        self.board.pass(Box::Peer, ASKED);
        self.board.set(Word::Argument, mode as u64);
        if self.ask(Box::Keeper, RUN)? == 0 {
            return Err(Cause::Refused);
        }
        self.has_peer = true;
        let is_all = self.finish(Box::Peer, limit)?;
        if mode != Mode::Plain {
            return Ok(Pages::new());
        }
        if is_all == 0 {
            return Err(Cause::Size);
        }
        Ok(self.board.ranges())
    }

    pub(crate) fn end_peer(&mut self) -> Result<(), Cause> {
        if std::mem::take(&mut self.has_peer) {
            self.ask(Box::Keeper, END)?;
        }
        Ok(())
    }

    /// Calls `each` with the number of each range, which is no longer than [`ROOM`], and its bytes in the copy.
    pub(crate) fn fetch(
        &self,
        of: Box,
        ranges: &[(u64, u64)],
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<(), Cause> {
        let mut first = 0;
        while let Some(rest) = ranges.get(first..).filter(|rest| !rest.is_empty()) {
            let mut bytes = 0;
            let fits = |(begin, end): &&(u64, u64)| {
                bytes += (end - begin) as usize;
                bytes <= ROOM
            };
            let count = rest.iter().take(MOST).take_while(fits).count().max(1);
            let part = rest.get(..count).unwrap_or_default();
            self.board.set_ranges(part);
            self.ask(of, FETCH)?;
            let mut sent = self.board.sent(ROOM);
            for (number, (begin, end)) in (first..).zip(part) {
                let Some((own, others)) = sent.split_at_checked((end - begin) as usize) else {
                    return Err(Cause::Size);
                };
                each(number, own);
                sent = others;
            }
            first += count;
        }
        Ok(())
    }

    /// The words of differences in a copy, which end where their variable ends.
    pub(crate) fn words(
        &self,
        of: Box,
        differences: &[Difference],
        end: u64,
    ) -> Result<Vec<u64>, Cause> {
        let starts = differences.iter().map(|it| it.address);
        let ranges: Vec<(u64, u64)> = starts.map(|at| (at, end.min(at + 8))).collect();
        let mut words = vec![0; ranges.len()];
        self.fetch(of, &ranges, |number, bytes| {
            if let Some(word) = words.get_mut(number) {
                *word = divergence::words::word(bytes);
            }
        })?;
        Ok(words)
    }

    /// The blocks that the peer allocated: address, bytes, and the call.
    pub(crate) fn born(&self) -> Result<Vec<(u64, u64, u64)>, Cause> {
        self.ask(Box::Peer, BORN)?;
        let pairs = self.board.ranges();
        let block = |pair: &[(u64, u64)]| match pair {
            [(address, bytes), (code, _)] => (*address, *bytes, *code),
            _ => (0, 0, 0),
        };
        Ok(pairs.chunks_exact(2).map(block).collect())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.end_peer();
        let mut status = 0;
        // SAFETY: ends our own copy, and takes its status.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, &raw mut status, libc::__WALL);
        }
    }
}

fn cause_of(status: i32) -> Cause {
    let code = libc::WEXITSTATUS(status) - guard::GIVES_UP;
    if !libc::WIFEXITED(status) || code < 0 {
        return Cause::Fault;
    }
    Cause::ALL
        .get(code as usize)
        .copied()
        .unwrap_or(Cause::Fault)
}

/// What a keeper does until it is ended.
fn keep(board: &'static Board, areas: &[Area], call: &Call<'_>) -> ! {
    // SAFETY: fills a local set; this process is a copy.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, null_mut());
    }
    take_apart(areas);
    board.set_answer(Box::Keeper, 1);
    let mut peer = 0;
    let mut ended = None;
    loop {
        board.wait(Box::Keeper, ANSWERED, Duration::from_secs(3600));
        if board.turn(Box::Keeper) != ASKED {
            continue;
        }
        let answer = match board.request(Box::Keeper) {
            RUN => {
                ended = None;
                let mode = MODES.get(board.get(Word::Argument) as usize).copied();
                match copy() {
                    Some(0) => run(board, areas, call, mode.unwrap_or(Mode::Plain)),
                    Some(process) => {
                        peer = process;
                        1
                    }
                    None => 0,
                }
            }
            FETCH => {
                // SAFETY: the program asks for memory that was mapped when this process was copied.
                unsafe { board.send(&board.ranges()) };
                1
            }
            STATUS => {
                ended = ended.or_else(|| status(peer, libc::WNOHANG));
                ended.map_or(0, |status| cause_of(status) as u64 + 1)
            }
            END => {
                if ended.is_none() {
                    // SAFETY: ends our own copy.
                    unsafe { libc::kill(peer, libc::SIGKILL) };
                    ended = status(peer, 0);
                }
                1
            }
            _ => 0,
        };
        board.set_answer(Box::Keeper, answer);
    }
}

fn status(peer: libc::pid_t, flags: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: takes the status of our own copy.
    let found = unsafe { libc::waitpid(peer, &raw mut status, flags | libc::__WALL) };
    (found == peer).then_some(status)
}

/// Makes memory that other processes see this process's own.
fn take_apart(areas: &[Area]) {
    let shared = areas.iter().filter(|area| area.is_shared);
    if shared
        .clone()
        .map(|area| area.end - area.begin)
        .sum::<u64>()
        > MOST_SHARED
    {
        guard::give_up(Cause::Size);
    }
    for area in shared {
        let bytes = (area.end - area.begin) as usize;
        let Some(copy) = inside::memory::map_bytes(bytes) else {
            guard::give_up(Cause::Size);
        };
        // SAFETY: the area is mapped, as the kernel said; its copy takes its place in this process alone, which has
        // one thread.
        let moved = unsafe {
            std::ptr::copy_nonoverlapping(area.begin as *const u8, copy, bytes);
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            libc::mremap(copy.cast(), bytes, bytes, flags, area.begin)
        };
        if moved == libc::MAP_FAILED {
            guard::give_up(Cause::Refused);
        }
    }
}

/// What a peer does until it is ended.
fn run(board: &'static Board, areas: &[Area], call: &Call<'_>, mode: Mode) -> ! {
    IS_PEER.store(true, Relaxed);
    if guard::set().is_none() {
        guard::give_up(Cause::Refused);
    }
    let rounding = round(match mode {
        Mode::Plain | Mode::Again => None,
        Mode::Up => Some(2),
        Mode::Down => Some(1),
    });
    // SAFETY: the call of the program, in a copy of it.
    unsafe { call.forward(Some(1)) };
    // SAFETY: what it was before.
    unsafe { set_control(rounding) };
    let is_all = match mode {
        Mode::Plain => pages::unshared(areas).is_some_and(|pages| board.set_ranges(&pages)),
        _ => true,
    };
    board.set_answer(Box::Peer, is_all.into());
    loop {
        board.wait(Box::Peer, ANSWERED, Duration::from_secs(3600));
        if board.turn(Box::Peer) != ASKED {
            continue;
        }
        match board.request(Box::Peer) {
            FETCH => {
                // SAFETY: memory of blocks from before the region and of variables. If the region has unmapped some,
                // this process ends, and that is noticed.
                unsafe { board.send(&board.ranges()) };
            }
            BORN => {
                let born = blocks::born().into_iter();
                let pairs: Vec<(u64, u64)> = born
                    .take(MOST / 2)
                    .flat_map(|block| [(block.address, block.bytes), (block.code, 0)])
                    .collect();
                board.set_ranges(&pairs);
            }
            _ => {}
        }
        board.pass(Box::Peer, ANSWERED);
    }
}

/// Sets the direction of rounding of SSE (Intel SDM, 10.2.3), and returns the control word as it was.
fn round(direction: Option<u32>) -> u32 {
    const DIRECTION: u32 = 3 << 13;
    let mut control = 0_u32;
    // SAFETY: stores the control word to a local variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control) };
    if let Some(direction) = direction {
        // SAFETY: the same word with another direction of rounding.
        unsafe { set_control(control & !DIRECTION | direction << 13) };
    }
    control
}

/// # Safety
/// A control word that `stmxcsr` has stored, perhaps with another direction of rounding.
unsafe fn set_control(control: u32) {
    // SAFETY: the caller's promise.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control) };
}
