//! What the program and the user say about the recording: pauses, phases, sample points, its end.
//!
//! The program's calls come from a queue in the arena; the options of `collect` add calls of their own,
//! some for times to come. The merge applies them by time, like the events of threads.

use std::time::Duration;

use experiment::ids::{Nanos, PhaseId, ProcessId};
use experiment::rows::{PointKind, SamplePoint, Span, SpanKind};
use experiment::tables::{Phase, Tables};
use omp_model::omp::{Machine, TimeAccounting};
use omp_ring::consumer::Consumer;
use omp_ring::control::{ControlCall, ControlKind, Used};
use rustc_hash::FxHashMap;

use crate::calls_notes::{MOST_MISUSES, Misused};
use crate::control_options::ControlOptions;
use processes::{Processes, name_id};

/// Phases within one another that are recorded. In deeper ones their time is the innermost's that is.
const DEEPEST: usize = 64;
/// The name of a phase that the program gave none.
const UNNAMED: &str = "<unnamed>";

/// A call, with its time in nanoseconds since the start.
#[derive(Clone, Debug)]
struct Call {
    time: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Recording pauses, or goes on. `by_option`: the program does not know of it.
    Pause {
        paused: bool,
        by_option: bool,
    },
    Point {
        pid: i32,
        kind: PointKind,
        used: Used,
        name: String,
    },
    PhaseBegin {
        pid: i32,
        name: String,
    },
    PhaseEnd {
        pid: i32,
    },
    End(&'static str),
}

/// A phase that a process is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    phase: PhaseId,
    start: u64,
}

/// The calls, and what was made of those that the merge has passed.
#[derive(Debug, Default)]
pub struct Control {
    /// Those that the merge has not reached, the latest first.
    waiting: Vec<Call>,
    /// The stretches of time in which recording is paused, by what is known of calls so far. The last
    /// one may have no end: `u64::MAX`.
    pauses: Vec<(u64, u64)>,
    open: FxHashMap<ProcessId, Vec<Open>>,
    spans: Vec<Span>,
    points: Vec<SamplePoint>,
    /// Whether recording is paused at the time of the merge.
    paused: bool,
    /// When the recording ends although the program goes on, and why.
    end: Option<(u64, &'static str)>,
    /// Ends of phases that had not begun.
    pub unbegun: u64,
    /// Signals whose handlers the program replaced.
    pub replaced: Vec<i32>,
    /// How often events of GASP were misused.
    pub(crate) misused: Misused,
}

impl Control {
    /// What the options say of times to come.
    pub fn begin(&mut self, options: &ControlOptions) {
        if options.begins_paused() {
            self.pause_at(0, true);
        }
        let nanos = |time: Duration| time.as_nanos() as u64;
        if let Some((from, to)) = options.span {
            if from > Duration::ZERO && options.pause_signal.is_none() {
                self.pause_at(nanos(from), false);
            }
            if let Some(to) = to {
                self.end_at(nanos(to), "-t: its time is over");
            }
        }
    }

    /// Recording pauses at this time, or goes on.
    pub fn pause_at(&mut self, time: u64, paused: bool) {
        self.add([Call {
            time,
            what: What::Pause {
                paused,
                by_option: true,
            },
        }]);
    }

    /// Recording ends at this time; `why` is a clause.
    pub fn end_at(&mut self, time: u64, why: &'static str) {
        self.add([Call {
            time,
            what: What::End(why),
        }]);
    }

    /// A sample point of process `pid` at this time.
    pub fn point_at(&mut self, time: u64, pid: i32, kind: PointKind, used: Used) {
        let name = String::new();
        let what = What::Point {
            pid,
            kind,
            used,
            name,
        };
        self.add([Call { time, what }]);
    }

    /// Takes the calls of the program. Raw times become times since `start`.
    pub fn drain(&mut self, arena: &mut Consumer, start: u64) {
        let mut calls = Vec::new();
        arena.calls(|call| calls.push(call));
        let (replaced, misused) = (&mut self.replaced, &mut self.misused);
        let calls: Vec<Call> = calls
            .into_iter()
            .filter(|call| !is_misuse(call, misused))
            .filter_map(|call| call_of(call, start, replaced))
            .collect();
        if !calls.is_empty() {
            self.add(calls);
        }
    }

    fn add(&mut self, calls: impl IntoIterator<Item = Call>) {
        let mut calls: Vec<Call> = calls.into_iter().collect();
        self.waiting.reverse();
        self.waiting.append(&mut calls);
        // Stable: calls of one thread within a nanosecond stay in order.
        self.waiting.sort_by_key(|call| call.time);
        self.note_pauses();
        self.waiting.reverse();
    }

    /// Brings `pauses` up to date with the calls that wait, of which the earliest is first.
    fn note_pauses(&mut self) {
        let Some(first) = self.waiting.first().map(|call| call.time) else {
            return;
        };
        // What they said before.
        while self.pauses.last().is_some_and(|pause| pause.0 >= first) {
            self.pauses.pop();
        }
        if let Some(last) = self.pauses.last_mut()
            && last.1 > first
        {
            last.1 = u64::MAX;
        }
        for call in &self.waiting {
            let paused = match call.what {
                What::Pause { paused, .. } => paused,
                What::End(_) => true,
                _ => continue,
            };
            let running = self.pauses.last_mut().filter(|last| last.1 == u64::MAX);
            match (running, paused) {
                (Some(running), false) => running.1 = call.time,
                (None, true) => self.pauses.push((call.time, u64::MAX)),
                _ => {}
            }
            if matches!(call.what, What::End(_)) {
                break;
            }
        }
    }

    /// Whether recording is paused at this time, as far as is known.
    pub fn is_paused_at(&self, time: u64) -> bool {
        let before = self.pauses.partition_point(|pause| pause.0 <= time);
        before
            .checked_sub(1)
            .is_some_and(|last| time < self.pauses[last].1)
    }

    /// Whether recording is paused at the time of the merge.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The time of the next call.
    pub fn next_time(&self) -> Option<u64> {
        self.waiting.last().map(|call| call.time)
    }

    /// Forgets calls that are to come after this time.
    pub fn forget_after(&mut self, time: u64) {
        let later = self.waiting.partition_point(|call| call.time > time);
        self.waiting.drain(..later);
    }

    /// When the recording ends although the program goes on, and why.
    pub fn end(&self) -> Option<(Nanos, &'static str)> {
        self.end.map(|(time, why)| (Nanos(time), why))
    }

    /// Applies the next call at the time `now` of the merge. Returns whether recording is paused from
    /// now on, if the program is to be told.
    pub fn apply(
        &mut self,
        now: u64,
        (tables, processes): (&mut Tables, &Processes),
        (machine, accounting): (&mut Machine, &mut TimeAccounting),
    ) -> Option<bool> {
        let call = self.waiting.pop()?;
        if self.end.is_some() {
            return None;
        }
        let time = Nanos(now);
        match call.what {
            What::Pause { paused, by_option } => {
                machine.pause(accounting, time, paused);
                self.paused = paused;
                return by_option.then_some(paused);
            }
            What::End(why) => {
                machine.pause(accounting, time, true);
                self.paused = true;
                self.end = Some((now, why));
                return Some(true);
            }
            What::Point {
                pid,
                kind,
                used,
                name,
            } => {
                if let Some(process) = process_of(tables, processes, pid, now) {
                    self.points.push(SamplePoint {
                        time,
                        process,
                        kind,
                        name: name_id(tables, &name),
                        user: Nanos(used.user),
                        system: Nanos(used.system),
                        minor_faults: used.minor_faults,
                        major_faults: used.major_faults,
                    });
                }
            }
            What::PhaseBegin { pid, name } => {
                if let Some(process) = process_of(tables, processes, pid, now) {
                    let open = self.open.entry(process).or_default();
                    let parent = open.last().map_or(PhaseId::NONE, |open| open.phase);
                    let phase = match open.len() {
                        DEEPEST.. => parent,
                        _ => {
                            // No name stands for no phase.
                            let name = if name.is_empty() { UNNAMED } else { &name };
                            let name = name_id(tables, name);
                            tables.phase(Phase { parent, name })
                        }
                    };
                    open.push(Open { phase, start: now });
                    accounting.phase(process, time, phase);
                }
            }
            What::PhaseEnd { pid } => {
                if let Some(process) = process_of(tables, processes, pid, now) {
                    let open = self.open.entry(process).or_default();
                    let Some(ended) = open.pop() else {
                        self.unbegun += 1;
                        return None;
                    };
                    let outer = open.last().map_or(PhaseId::NONE, |open| open.phase);
                    accounting.phase(process, time, outer);
                    if open.len() < DEEPEST {
                        self.spans.push(span(process, SpanKind::Phase, ended, now));
                    }
                }
            }
        }
        None
    }

    /// The recording ends: ends the phases and the pause that are open.
    pub fn close(&mut self, tables: &Tables, end: u64) {
        for (process, open) in std::mem::take(&mut self.open) {
            let own = tables.threads.iter().filter(|row| row.process == process);
            let deaths = own.map(|thread| thread.death.map_or(end, |death| death.0));
            let end = deaths.max().unwrap_or(end).min(end);
            for open in open.into_iter().take(DEEPEST) {
                self.spans
                    .push(span(process, SpanKind::OpenPhase, open, end));
            }
        }
        for &(start, until) in &self.pauses {
            let pause = Open {
                phase: PhaseId::NONE,
                start,
            };
            let pause = span(ProcessId(0), SpanKind::Pause, pause, until.min(end));
            if pause.length > Nanos(0) && !tables.processes.is_empty() {
                self.spans.push(pause);
            }
        }
    }

    /// How much of the time until `end` recording was paused.
    pub fn paused_until(&self, end: u64) -> u64 {
        let pauses = self.pauses.iter();
        pauses
            .map(|&(start, until)| until.min(end).saturating_sub(start))
            .sum()
    }

    /// The spans and sample points since the last call.
    pub fn take(&mut self) -> (Vec<Span>, Vec<SamplePoint>) {
        (
            std::mem::take(&mut self.spans),
            std::mem::take(&mut self.points),
        )
    }
}

fn span(process: ProcessId, kind: SpanKind, open: Open, end: u64) -> Span {
    Span {
        process,
        kind,
        phase: open.phase,
        start: Nanos(open.start),
        length: Nanos(end.saturating_sub(open.start)),
    }
}

/// Notes a misuse, of which nothing else is made.
fn is_misuse(call: &ControlCall, misused: &mut Misused) -> bool {
    if call.kind != ControlKind::Misuse {
        return false;
    }
    let key = (call.used.user, call.name.clone());
    if misused.len() < MOST_MISUSES || misused.contains_key(&key) {
        *misused.entry(key).or_default() += 1;
    }
    true
}

fn call_of(call: ControlCall, start: u64, replaced: &mut Vec<i32>) -> Option<Call> {
    let ControlCall {
        pid,
        used,
        name,
        kind,
        ..
    } = call;
    let point = |kind| What::Point {
        pid,
        kind,
        used,
        name: name.clone(),
    };
    let what = match kind {
        ControlKind::Pause | ControlKind::Resume => What::Pause {
            paused: kind == ControlKind::Pause,
            by_option: false,
        },
        ControlKind::Sample => point(PointKind::Call),
        ControlKind::SampleSignal => point(PointKind::Signal),
        ControlKind::Terminate => What::End("the program ended it"),
        ControlKind::PhaseBegin => What::PhaseBegin { pid, name },
        ControlKind::PhaseEnd => What::PhaseEnd { pid },
        ControlKind::Misuse => return None,
        ControlKind::HandlerReplaced => {
            let signal = used.user as i32;
            if !replaced.contains(&signal) {
                replaced.push(signal);
            }
            return None;
        }
    };
    Some(Call {
        time: call.time.saturating_sub(start),
        what,
    })
}

/// The recorded process with this id.
fn process_of(tables: &Tables, processes: &Processes, pid: i32, time: u64) -> Option<ProcessId> {
    if !processes.is_recorded(pid) {
        return None;
    }
    if let Some(main) = processes.thread_at(pid, time) {
        return Some(processes.process_of(main));
    }
    let last = tables.processes.iter().rposition(|row| row.pid == pid)?;
    Some(ProcessId(last as u32))
}

/// What a process has used, from its `stat` (proc(5)); `None` once it is gone.
pub fn used_by(pid: i32) -> Option<Used> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    used_in(&stat)
}

/// A tick of the times in `stat`, in nanoseconds (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

fn used_in(stat: &str) -> Option<Used> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // The first one is the third of the file, the state.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Used {
        user: field(14)?.saturating_mul(TICK_NS),
        system: field(15)?.saturating_mul(TICK_NS),
        minor_faults: field(10)?,
        major_faults: field(12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_known_before_the_merge_reaches_them() {
        let mut control = Control::default();
        control.pause_at(0, true);
        control.pause_at(100, false);
        control.end_at(500, "-t");
        control.pause_at(200, true);
        control.pause_at(300, false);
        control.pause_at(600, false);
        let paused: Vec<u64> = [0, 99, 100, 199, 200, 299, 300, 499, 500, 700]
            .into_iter()
            .filter(|&time| control.is_paused_at(time))
            .collect();
        assert_eq!(paused, [0, 99, 200, 299, 500, 700]);
        assert_eq!(control.paused_until(500), 200);
        assert_eq!(control.next_time(), Some(0));
        control.forget_after(250);
        assert_eq!(control.waiting.len(), 3);
    }

    #[test]
    fn resource_use_is_read_behind_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 11 12 13 14 150 16 0 0 20 0 1 0 5 6 7";
        let used = used_in(stat).expect("all fields");
        assert_eq!((used.user, used.system), (1_500_000_000, 160_000_000));
        assert_eq!((used.minor_faults, used.major_faults), (11, 13));
        assert_eq!(used_in("7 (a) S 1"), None);
    }
}
