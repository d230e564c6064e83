//! Worksharing loops, sections, singles and taskloops: one row for each directive and schedule.

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{ContextId, FrameId, ThreadId};
use experiment::rows::LoopSum;
use experiment::state::State;
use experiment::symbols::{Directive, SourceLine, Workshare};
use experiment::tables::{Loop, LoopClause, Schedule};
use rustc_hash::FxHashMap;

use super::Measured;
use super::gain::Cause;
use super::locations::ConstructLocation;
use super::regions::RegionRow;
use crate::metrics::Metric;
use crate::profile::Profile;
use crate::states::RefinedState;
use crate::views::names::{Names, in_form};

/// A construct that divides work among threads.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRow {
    /// The name shown: `foo -- OMP loop from line 9`.
    pub name: String,
    /// Its code location.
    pub location: ConstructLocation,
    /// Whether its line is only that of the nearest such directive to the line of its call.
    pub is_inferred: bool,
    /// How its iterations are given out; `None` if that is not known, because no runtime told of the loop
    /// before the recording ended.
    pub schedule: Option<Schedule>,
    /// What is particular about it.
    pub clause: LoopClause,
    /// The chunk's length that the program gave last; 0 if it gave none.
    pub chunk: u64,
    /// How often a team came to it: the most of one thread; for a single, how often it was executed;
    /// for a taskloop, the sum over threads. 0 if unknown.
    pub instances: u64,
    /// Whether its runtime was asked for its parts. Of a loop whose parts the program itself computes,
    /// iterations and chunks are unknown, and the time is that of samples.
    pub is_counted: bool,
    /// Iterations of all threads.
    pub iterations: u64,
    /// Pieces that threads got; 0 for a taskloop.
    pub chunks: u64,
    /// Seconds from begin to end without the barrier, summed over threads; 0 if unknown.
    pub time: f64,
    /// Seconds of it in calls for chunks, estimated from those that were measured. `None` if none
    /// was.
    pub scheduling: Option<f64>,
    /// Seconds that threads waited in its barrier, or in that of the region that is this loop.
    pub wait: f64,
    /// Seconds that threads of its regions were off their CPUs with work to do, or had not come to the
    /// regions, in all of these: others may have waited for them in the loop's barrier.
    pub late: f64,
    /// The parts of threads, most time first.
    pub threads: Vec<(ThreadId, Part)>,
}

/// A thread's part of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// How often it came to the loop.
    pub instances: u64,
    /// Iterations that it executed.
    pub iterations: u64,
    /// Pieces that it got.
    pub chunks: u64,
    /// Seconds from begin to end.
    pub time: f64,
    /// Seconds of measured calls for chunks, and their number.
    calls_time: f64,
    calls: u64,
}

impl Part {
    fn add(&mut self, sum: &LoopSum) {
        self.instances += sum.instances;
        self.iterations += sum.iterations;
        self.chunks += sum.chunks;
        self.time += sum.time.seconds();
        self.calls_time += sum.calls_time.seconds();
        self.calls += sum.calls;
    }

    fn join(&mut self, other: Part) {
        self.instances += other.instances;
        self.iterations += other.iterations;
        self.chunks += other.chunks;
        self.time += other.time;
        self.calls_time += other.calls_time;
        self.calls += other.calls;
    }
}

impl LoopRow {
    /// Whether it is the construct at a place.
    pub(super) fn is_at(&self, at: &ConstructLocation) -> bool {
        at.line.is_some() && place(&self.location) == place(at)
    }

    /// Whether threads ask for its chunks while it runs.
    pub fn is_shared_out(&self) -> bool {
        matches!(
            self.schedule,
            Some(Schedule::Dynamic | Schedule::Guided | Schedule::Runtime | Schedule::Auto)
        )
    }

    /// Seconds of useful work: its time without what scheduling took.
    pub fn work(&self) -> f64 {
        (self.time - self.scheduling.unwrap_or(0.0)).max(0.0)
    }

    /// Seconds of a call for a chunk, in the mean; `None` if none was measured.
    pub fn call(&self) -> Option<f64> {
        let calls = self.threads.iter().map(|(_, part)| part.instances);
        let calls = calls.sum::<u64>() + self.chunks;
        self.scheduling.map(|seconds| seconds / calls.max(1) as f64)
    }

    /// The mean number of iterations of an instance.
    pub fn trip(&self) -> f64 {
        self.iterations as f64 / self.instances.max(1) as f64
    }

    /// The wall time that it would save if threads never waited at its end, and got their chunks for
    /// nothing.
    pub fn gain(&self) -> f64 {
        let lost = self.wait + self.scheduling.unwrap_or(0.0);
        lost / self.threads.len().max(1) as f64
    }

    /// The mean over the longest time of a thread, of all instances together; `None` without times.
    pub fn load_balance(&self) -> Option<f64> {
        let longest = self.threads.first().map_or(0.0, |(_, part)| part.time);
        let mean = self.time / self.threads.len().max(1) as f64;
        (longest > 0.0).then(|| mean / longest)
    }

    /// Adds another directive's row, for a report that does not distinguish the two.
    pub fn absorb(&mut self, other: LoopRow) {
        self.wait += other.wait;
        self.late += other.late;
        for (thread, part) in other.threads {
            self.part(thread).join(part);
        }
        self.chunk = self.chunk.max(other.chunk);
        self.is_inferred |= other.is_inferred;
        self.count();
    }

    /// The part of a thread.
    fn part(&mut self, thread: ThreadId) -> &mut Part {
        let known = self.threads.iter().position(|it| it.0 == thread);
        let at = known.unwrap_or_else(|| {
            self.threads.push((thread, Part::default()));
            self.threads.len() - 1
        });
        &mut self.threads[at].1
    }

    /// Adds up its threads' parts.
    fn count(&mut self) {
        let parts = || self.threads.iter().map(|(_, part)| part);
        self.iterations = parts().map(|part| part.iterations).sum();
        self.chunks = parts().map(|part| part.chunks).sum();
        self.time = parts().map(|part| part.time).sum();
        self.instances = match self.schedule {
            Some(Schedule::Single) => self.iterations,
            Some(Schedule::Taskloop) => parts().map(|part| part.instances).sum(),
            _ => parts().map(|part| part.instances).max().unwrap_or(0),
        };
        let calls: u64 = parts().map(|part| part.calls).sum();
        let calls_time: f64 = parts().map(|part| part.calls_time).sum();
        let of_all = || parts().map(|part| part.instances).sum::<u64>() + self.chunks;
        let mean = || calls_time / calls as f64;
        self.scheduling = (calls > 0).then(|| (mean() * of_all() as f64).min(self.time));
        self.threads.sort_by(|left, right| {
            let longer = right.1.time.total_cmp(&left.1.time);
            longer.then(left.0.cmp(&right.0))
        });
    }
}

/// What a row's name calls the construct.
const fn word(schedule: Option<Schedule>) -> &'static str {
    match schedule {
        Some(Schedule::Sections) => "sections",
        Some(Schedule::Single) => "single",
        Some(Schedule::Taskloop) => "taskloop",
        Some(Schedule::Distribute) => "distribute",
        _ => "loop",
    }
}

/// Every loop, largest gain first, then longest time. `profile` is in user mode, and `regions` are
/// those of the experiment.
pub fn loops(
    profile: &Profile,
    names: &Names<'_>,
    measured: &Measured<'_>,
    regions: &[RegionRow],
) -> Vec<LoopRow> {
    let mut rows = counted(names, measured);
    let waits = waits(names, measured);
    let mut others = BTreeMap::new();
    let is_known = |at: &ConstructLocation| {
        let mut rows = rows.iter();
        rows.any(|row| place(&row.location) == place(at))
    };
    for wait in waits.iter().filter(|wait| !is_known(&wait.location)) {
        let directive = names.symbols.directive_of(wait.call);
        if let Some(directive) = directive.filter(|it| it.construct == Workshare::Loop) {
            let row = others.entry(place_of(&wait.location)).or_insert_with(|| {
                let is_known = measured.has_all_loops;
                (uncounted(names, &wait.location, is_known), directive)
            });
            for &(thread, _) in &wait.threads {
                row.0.part(thread);
            }
        }
    }
    let mut others: Vec<(LoopRow, Directive)> = others.into_values().collect();
    sample(&mut others, profile, names);
    rows.extend(others.into_iter().map(|(row, _)| row));
    for region in regions {
        let at = &region.location;
        let is_loop = region
            .loop_of(names)
            .is_some_and(|it| it == Workshare::Loop);
        if is_loop && !rows.iter().any(|row| place(&row.location) == place(at)) {
            // A thread that encounters it may have one that has not ended, which counts all the same.
            let most_open = region.contexts.len() * region.work.len().max(1);
            let has_ended = !measured.is_cut || region.instances > most_open as u64;
            let mut row = uncounted(names, at, has_ended && measured.has_all_loops);
            for &(thread, seconds) in &region.work {
                let part = row.part(thread);
                (part.time, part.instances) = (seconds, region.instances);
            }
            rows.push(row);
        }
    }
    for row in &mut rows {
        row.count();
    }
    share_waits(&mut rows, &waits, regions);
    rows.retain(|row| row.is_counted || row.time > 0.0 || row.wait > 0.0);
    rows.sort_by(|left, right| {
        let gain = right.gain().total_cmp(&left.gain());
        gain.then_with(|| right.time.total_cmp(&left.time))
            .then_with(|| left.location.cmp(&right.location))
    });
    rows
}

/// The rows of loops that runtimes were asked for.
pub(super) fn counted(names: &Names<'_>, measured: &Measured<'_>) -> Vec<LoopRow> {
    let mut locations = FxHashMap::<FrameId, ConstructLocation>::default();
    let mut rows = BTreeMap::<(ConstructLocation, Schedule, LoopClause), LoopRow>::new();
    for sum in measured.loop_sums.iter() {
        let Some(&Loop {
            call,
            schedule,
            clause,
        }) = names.tables.loops.get(sum.construct.0)
        else {
            continue;
        };
        let location = locations
            .entry(call)
            .or_insert_with(|| ConstructLocation::of_call(names, call));
        let key = (location.clone(), schedule, clause);
        let row = rows.entry(key).or_insert_with(|| LoopRow {
            is_counted: true,
            clause,
            ..row(names, location, Some(schedule))
        });
        let directive = names.symbols.directive_of(call);
        row.is_inferred |= directive.is_some_and(|it| it.is_nearest);
        if sum.chunk != 0 {
            row.chunk = sum.chunk;
        }
        row.part(sum.thread).add(&sum);
    }
    let mut rows: Vec<LoopRow> = rows.into_values().collect();
    rows.iter_mut().for_each(LoopRow::count);
    rows
}

/// A row without threads.
fn row(names: &Names<'_>, location: &ConstructLocation, schedule: Option<Schedule>) -> LoopRow {
    LoopRow {
        name: name(names, location, schedule),
        location: location.clone(),
        is_inferred: false,
        schedule,
        clause: LoopClause::Plain,
        chunk: 0,
        instances: 0,
        is_counted: false,
        iterations: 0,
        chunks: 0,
        time: 0.0,
        scheduling: None,
        wait: 0.0,
        late: 0.0,
        threads: Vec::new(),
    }
}

/// The row of a loop that no runtime told of: the program computes its parts, as gcc's code does for
/// static schedules, if each that was asked for `is_known`.
fn uncounted(names: &Names<'_>, location: &ConstructLocation, is_known: bool) -> LoopRow {
    row(names, location, is_known.then_some(Schedule::Static))
}

/// Gives loops the work of samples in their lines.
fn sample(loops: &mut [(LoopRow, Directive)], profile: &Profile, names: &Names<'_>) {
    if loops.is_empty() {
        return;
    }
    let file = |at: SourceLine| names.symbols.files.get(at.file.0 as usize);
    let loop_at = |at: SourceLine| {
        loops.iter().position(|(row, directive)| {
            row.location.file.as_ref() == file(at)
                && (directive.line..=directive.last).contains(&at.line)
        })
    };
    // A path's callers precede it.
    let mut found: Vec<Option<usize>> = Vec::with_capacity(profile.paths.len());
    for (at, path) in profile.paths.rows().iter().enumerate() {
        let own = names.source_of(path.frame).and_then(loop_at);
        let above = path.callers.0 as usize;
        let inherited = if above < at { found[above] } else { None };
        found.push(own.or(inherited));
    }
    for item in &profile.items {
        let at = found.get(item.path.0 as usize).copied().flatten();
        if let Some(at) = at.filter(|_| Cause::of(item).is_none()) {
            loops[at].0.part(item.thread).time += item.seconds;
        }
    }
}

fn name(names: &Names<'_>, location: &ConstructLocation, schedule: Option<Schedule>) -> String {
    let function = location.function.as_deref().unwrap_or("<Unknown>");
    let function = in_form(function, names.style.form);
    let line = location.line;
    let line = line.map_or_else(String::new, |line| format!(" from line {line}"));
    format!("{function} -- OMP {}{line}", word(schedule))
}

/// A place in the source.
type Place<'a> = (Option<&'a str>, Option<u32>);

fn place(location: &ConstructLocation) -> Place<'_> {
    (location.file.as_deref(), location.line)
}

fn place_of(location: &ConstructLocation) -> (Option<String>, Option<u32>) {
    (location.file.clone(), location.line)
}

/// The waits in a call of a barrier.
struct Wait {
    call: FrameId,
    location: ConstructLocation,
    /// Seconds.
    threads: Vec<(ThreadId, f64)>,
    /// The contexts that the threads were in.
    contexts: Vec<ContextId>,
}

/// The waits in barriers, which end worksharing constructs, by call.
fn waits(names: &Names<'_>, measured: &Measured<'_>) -> Vec<Wait> {
    type Threads = BTreeMap<ThreadId, f64>;
    let mut calls = BTreeMap::<FrameId, (Threads, BTreeSet<ContextId>)>::new();
    for sum in measured.sums.iter() {
        let state = names.tables.thread_states.get(sum.thread_state.0);
        let barrier = state.filter(|it| it.call != FrameId::NONE);
        let barrier = barrier.filter(|it| names.symbols.state_of(**it) == State::ImplicitBarrier);
        if let Some(state) = barrier {
            let (threads, contexts) = calls.entry(state.call).or_default();
            *threads.entry(sum.thread).or_default() += sum.time.seconds();
            contexts.insert(state.context);
        }
    }
    let wait = |(call, (threads, contexts)): (FrameId, (Threads, BTreeSet<_>))| Wait {
        call,
        location: ConstructLocation::of_call(names, call),
        threads: threads.into_iter().collect(),
        contexts: contexts.into_iter().collect(),
    };
    calls.into_iter().map(wait).collect()
}

/// Gives each loop the waits in its barrier: those in calls at its line, and of a region that is a
/// loop, those in the region's join barrier.
fn share_waits(rows: &mut [LoopRow], waits: &[Wait], regions: &[RegionRow]) {
    for at in 0..rows.len() {
        let here = place(&rows[at].location);
        if here.1.is_none() {
            continue;
        }
        // A directive whose schedule differs between calls of its function has several rows.
        let same = rows.iter().filter(|row| place(&row.location) == here);
        let all: f64 = same.map(|row| row.time).sum();
        let share = if all > 0.0 { rows[at].time / all } else { 1.0 };
        let own = || waits.iter().filter(|wait| place(&wait.location) == here);
        let seconds = own().flat_map(|wait| &wait.threads);
        let seconds: f64 = seconds.map(|(_, seconds)| seconds).sum();
        let contexts: BTreeSet<ContextId> = own().flat_map(|it| &it.contexts).copied().collect();
        let is_here = |row: &&RegionRow| place(&row.location) == here;
        let joins = regions.iter().filter(is_here);
        let joins: f64 = joins
            .map(|row| row.time(Metric::State(RefinedState::ImplicitBarrier)))
            .sum();
        let holds = |row: &RegionRow| row.contexts.iter().any(|it| contexts.contains(it));
        let around = regions.iter().filter(|row| is_here(row) || holds(row));
        let late: f64 = around
            .map(|row| row.ready[Cause::OffCpu as usize] + row.lost[Cause::Scheduling as usize])
            .sum();
        rows[at].wait = seconds.max(joins) * share;
        rows[at].late = (late - rows[at].scheduling.unwrap_or(0.0)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use experiment::Packed;
    use experiment::ids::{LoopId, Nanos};

    use super::*;
    use crate::views::names::NameForm;
    use crate::views::openmp::test_run::{MS, TestRun, close};

    fn sum(thread: u32, chunks: u64, (time, calls_time, calls): (u64, u64, u64)) -> LoopSum {
        LoopSum {
            slice: 0,
            thread: ThreadId(thread),
            construct: LoopId(0),
            chunk: 4,
            instances: 2,
            iterations: chunks * 4,
            chunks,
            time: Nanos(time * MS),
            calls_time: Nanos(calls_time * MS),
            calls,
        }
    }

    #[test]
    fn short_names_of_loops_leave_out_parameters() {
        let location = ConstructLocation {
            function: Some("step(double*, int)".to_owned()),
            line: Some(7),
            ..ConstructLocation::default()
        };
        let test = TestRun::new(1, 100);
        let mut names = test.names();
        let long = name(&names, &location, Some(Schedule::Dynamic));
        assert_eq!(long, "step(double*, int) -- OMP loop from line 7");
        names.style.form = NameForm::Short;
        let short = name(&names, &location, Some(Schedule::Dynamic));
        assert_eq!(short, "step -- OMP loop from line 7");
    }

    #[test]
    fn a_loop_adds_up_its_threads_and_estimates_its_calls() {
        let mut test = TestRun::new(2, 100);
        test.tables.loop_id(Loop {
            call: FrameId::NONE,
            schedule: Schedule::Dynamic,
            clause: LoopClause::Plain,
        });
        test.loop_sums = Packed::from_iter([
            sum(0, 10, (40, 1, 2)),
            sum(1, 30, (60, 1, 2)),
            sum(1, 0, (0, 0, 0)),
        ]);
        let rows = loops(&test.profile(), &test.names(), &test.measured(), &[]);
        let [row] = &rows[..] else {
            panic!("one loop");
        };
        assert_eq!((row.iterations, row.chunks, row.chunk), (160, 40, 4));
        assert_eq!(row.instances, 4, "the second thread came to it most often");
        assert_eq!(row.threads[0].0, ThreadId(1), "it took longest");
        close(row.time, 0.1);
        // 40 chunks and 6 last calls of 0.5 ms each.
        close(row.scheduling.unwrap(), 0.023);
        close(row.work(), 0.077);
        close(row.load_balance().unwrap(), 0.05 / 0.06);
        close(row.gain(), 0.0115);
    }
}
