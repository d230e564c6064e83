//! `header`: how an experiment was recorded, and what it lacks.

use experiment::Experiment;
use experiment::header::{Counter, Header};
use experiment::ids::Nanos;
use omp_model::analysis::Analysis;
use serde_json::{Value as Json, json};

use crate::caveats::RunCaveats;
use crate::document::{Block, Document, Line, Mark};
use crate::json;
use crate::lost;
use crate::query::{Query, Source};
use crate::races;
use crate::run::calendar;
use crate::text::{percent, seconds};

/// The header of each side, a block of lines each.
pub fn header(query: &Query<'_>) -> Document {
    let header = json!(query.all.analysis.experiment.header);
    let sides = query.sides().iter();
    let mut facts = json::fields([("header", header), ("derived", derived(&query.all))]);
    let mut blocks: Vec<Block> = sides.map(|side| Block::Lines(lines(side))).collect();
    if races::has_findings(query) {
        facts.insert("checks".to_owned(), races::coverage(query));
        blocks.push(Block::Lines(races::coverage_lines(query)));
    }
    Document {
        facts,
        blocks,
        is_bare: true,
        ..query.document("header")
    }
}

/// The header of an experiment before its samples are read.
pub fn early(experiment: &Analysis) -> Document {
    let rows = &experiment.experiment;
    let reading = Line::strong(format!("Reading {} samples …", rows.samples.len()));
    let warnings = experiment.warnings.iter();
    let warnings = warnings.map(|text| Line::warning(format!("*** Warning: {text}")));
    let parts = [
        std::iter::once(reading).chain(warnings).collect(),
        target(rows),
        sampling(&rows.header),
        lost::lines(&rows.header),
    ];
    Document {
        view: "header".to_owned(),
        caveats: RunCaveats::of(experiment, None).into_iter().collect(),
        title: format!("Experiment: {}", experiment.name),
        blocks: parts.into_iter().map(Block::Lines).collect(),
        ..Document::default()
    }
}

/// The duration of an experiment in words. The header of an unfinished recording has none: then it
/// is up to `last`, the time of the last record, if that was read.
pub fn duration(header: &Header, last: Option<Nanos>) -> String {
    match (header.duration_ns, last) {
        (0, None) => "not known before it is read (it was not finished)".to_owned(),
        (0, Some(last)) => format!(
            "{} seconds up to the last record (it was not finished)",
            seconds(last.seconds())
        ),
        (whole, _) => format!("{} seconds", seconds(Nanos(whole).seconds())),
    }
}

/// Samples for each second of CPU time.
struct Rates {
    asked: f64,
    achieved: f64,
}

impl Rates {
    fn of(header: &Header) -> Rates {
        let sampling = &header.sampling;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Rates {
            asked: ratio(1e6, sampling.period_us),
            achieved: ratio(sampling.samples as f64, sampling.cpu_ns as f64 / 1e9),
        }
    }
}

/// Least seconds inside context switches, as far as the clock tells: the time that its samples stand
/// for, less that between the records of switches. The kernel writes such a record before it stops
/// the clock and after it starts it. `None` if it does not matter, or the clock does not count time.
fn in_switches(header: &Header) -> Option<f64> {
    /// So much of the CPU time is told.
    const TOLD: f64 = 0.02;
    let sampling = &header.sampling;
    let sampled = sampling.samples as f64 * sampling.period_us / 1e6;
    let recorded = Nanos(sampling.cpu_ns + sampling.stolen_ns).seconds();
    let more = sampled - recorded;
    (sampling.event == "cpu-clock" && sampling.switches && more > TOLD * recorded).then_some(more)
}

/// JSON of values that are not fields of the header.
fn derived(source: &Source<'_>) -> Json {
    let rates = Rates::of(&source.analysis.experiment.header);
    let (inferred, total) = source.inferred();
    let names = source.names();
    let misses = names.symbols.misses.iter();
    let missing: Vec<Json> = misses
        .map(|(module, why)| json!({"object": names.object_name(*module), "why": why}))
        .collect();
    json!({
        "rate_asked_hz": rates.asked,
        "rate_achieved_hz": rates.achieved,
        "in_switches_seconds": in_switches(&source.analysis.experiment.header),
        "thread_seconds": total,
        "inferred_seconds": inferred,
        "symbols_missing": missing,
        "barriers_undecided": names.symbols.undecided_barriers(),
    })
}

/// All parts, an empty line after each.
fn lines(source: &Source<'_>) -> Vec<Line> {
    let header = &source.analysis.experiment.header;
    let mut parts = vec![state(source), target(&source.analysis.experiment)];
    // A checked run is not sampled: what was checked, and what was lost, is told of all sides together.
    if source.analysis.experiment.findings.is_none() || !header.sampling.event.is_empty() {
        parts.extend([
            sampling(header),
            openmp(source),
            lost::lines(header),
            attribution(source),
        ]);
    }
    let parts = parts.into_iter();
    parts
        .flat_map(|part| part.into_iter().chain([Line::default()]))
        .collect()
}

/// The name, and warnings, notes and comments.
fn state(source: &Source<'_>) -> Vec<Line> {
    let experiment = source.analysis;
    let mut lines = vec![Line::strong(format!("Experiment: {}", experiment.name))];
    if experiment.warnings.is_empty() {
        lines.push(Line::plain("No errors"));
    }
    let warnings = experiment.warnings.iter();
    lines.extend(warnings.map(|text| Line::warning(format!("*** Warning: {text}"))));
    let remarks = source.remarks().into_iter();
    lines.extend(remarks.map(|text| Line::warning(format!("*** Note: {text}"))));
    let comments = experiment.experiment.header.comments.iter();
    lines.extend(comments.map(|comment| Line::plain(format!("Comment: {comment}"))));
    lines
}

/// The program, the machine, and the run.
fn target(experiment: &Experiment) -> Vec<Line> {
    let header = &experiment.header;
    let mut lines = vec![Line::plain(format!(
        "Target command: '{}'",
        header.command_line()
    ))];
    if header.attached {
        lines.push(Line::plain(
            "Recorded a running process (-P): its OpenMP states are read from stacks".to_owned(),
        ));
    }
    lines.extend(header.rank.iter().map(|rank| {
        let size = rank.size.map(|size| format!(" of {size}"));
        Line::plain(format!("Rank {}{}", rank.number, size.unwrap_or_default()))
    }));
    let processes = experiment.tables.processes.iter();
    lines.extend(processes.map(|process| {
        // Threads of the kernel have no file.
        let what = match process.executable.as_str() {
            "" => format!("[{}]", process.name),
            path => path.to_owned(),
        };
        Line::plain(format!("Process pid {}: {what}", process.pid))
    }));
    match &header.perf {
        Some(version) => lines.extend(made_by_perf(version)),
        None => lines.extend([
            Line::plain(format!("Current working directory: {}", header.directory)),
            Line::plain(format!(
                "Recorded by Parallax {}; experiment format {}",
                header.writer, header.format
            )),
        ]),
    }
    lines.extend([
        Line::plain(format!("Host '{}', OS '{}'", header.host, header.system)),
        Line::plain(format!("  {} CPUs, {}", header.cpus, header.cpu_model)),
    ]);
    let environment = header.environment.iter();
    lines.extend(environment.map(|(name, value)| Line::plain(format!("  {name}={value}"))));
    let by_file = match header.perf {
        Some(_) => ", by the time of the file, which a copy may have changed",
        None => "",
    };
    lines.push(Line::plain(format!(
        "Experiment started {}{by_file}",
        calendar(header.started_unix)
    )));
    lines.push(Line {
        text: format!(
            "Data Collection Duration: {}",
            duration(header, Some(experiment.last))
        ),
        mark: match header.duration_ns {
            0 => Mark::Warning,
            _ => Mark::Plain,
        },
        target: None,
    });
    if header.paused_ns > 0 {
        lines.push(Line::plain(format!(
            "  of which recording was paused for {} seconds, which no view counts",
            seconds(Nanos(header.paused_ns).seconds())
        )));
    }
    if let Some(why) = &header.limit {
        lines.push(Line::plain(format!(
            "  Recording ended before the target did: {why}"
        )));
    }
    lines.push(match header.exit_status {
        Some(status) => Line::plain(format!("Exit status: {status}")),
        None if header.perf.is_some() => {
            Line::plain("Exit status: not in a perf.data file".to_owned())
        }
        None if header.attached => {
            Line::plain("Exit status: not known to a recording of a running process".to_owned())
        }
        None => Line::warning(
            "Exit status: not known; the recording ended before the target did".to_owned(),
        ),
    });
    lines
}

/// What a file of `perf record` is, and what it cannot tell.
fn made_by_perf(version: &str) -> [Line; 3] {
    [
        format!("Recorded by perf {version}: a perf.data file, shown in machine mode unless viewmode says otherwise"),
        "  It has no OpenMP events: states of threads are inferred from their stacks, at samples only".to_owned(),
        "  Not known: regions, tasks, loops and mutexes with their counts, waits between two samples, \
         the working directory"
            .to_owned(),
    ]
    .map(Line::plain)
}

/// The samples and their stacks.
fn sampling(header: &Header) -> Vec<Line> {
    let mut lines = Vec::new();
    if header.sampling.event.is_empty() {
        lines.push(Line::plain("Clock sampling: off"))
    } else {
        clock(header, &mut lines)
    }
    let sampling = &header.sampling;
    let permitted = |what: &str, is: bool| {
        if is {
            Line::plain(format!("  {what}: yes"))
        } else if header.perf.is_some() {
            Line::warning(format!("  {what}: none recorded"))
        } else {
            Line::warning(format!("  {what}: not permitted"))
        }
    };
    lines.push(permitted("Kernel frames", sampling.kernel_frames));
    lines.push(if sampling.off_cpu_inferred {
        Line::warning(
            "  Context switches: not permitted; time off CPUs by sums from /proc, what a thread did \
             meanwhile inferred"
                .to_owned(),
        )
    } else {
        permitted("Context switches", sampling.switches)
    });
    let taken = counted(sampling.switch_samples, "stack", "stacks");
    lines.push(if sampling.switch_stacks {
        Line::plain(format!("  Stacks at context switches: {taken} taken"))
    } else {
        permitted("Stacks at context switches", false)
    });
    stacks(header, &mut lines);
    counters(header, &mut lines);
    lines
}

/// The clock that took the samples.
fn clock(header: &Header, lines: &mut Vec<Line>) {
    let sampling = &header.sampling;
    let rates = Rates::of(header);
    lines.push(Line::plain(format!(
        "Clock sampling: event {}, every {} microseconds",
        sampling.event, sampling.period_us
    )));
    lines.push(Line::plain(format!(
        "  Rate: {:.1} samples per CPU second asked, {:.1} achieved ({} in {} CPU seconds)",
        rates.asked,
        rates.achieved,
        counted(sampling.samples, "sample", "samples"),
        seconds(Nanos(sampling.cpu_ns).seconds())
    )));
    if let Some(more) = in_switches(header) {
        lines.push(Line::warning(format!(
            "  Inside context switches: at least {} seconds more, by the number of samples: work of \
             the kernel, or of a hypervisor, shown as time off the CPU",
            seconds(more)
        )));
    }
    if sampling.stolen_ns > 0 {
        lines.push(Line::warning(format!(
            "  A hypervisor took CPUs away for {} seconds by the kernel's account: that is waiting \
             for a CPU, spread evenly over each process's time",
            seconds(Nanos(sampling.stolen_ns).seconds())
        )));
    }
    lines.push(Line::plain(format!(
        "  Bytes of stack copied at a sample: {}",
        sampling.stack_bytes
    )));
}

/// The counters, and how exact their counts are.
fn counters(header: &Header, lines: &mut Vec<Line>) {
    for counter in &header.counters {
        let Counter {
            name,
            interval,
            events,
            counted: part,
            samples,
            lost: dropped,
        } = counter;
        let unit = if Counter::is_clock(name) { " ns" } else { "" };
        lines.push(Line::plain(format!(
            "Counter {name}: {events}{unit} in {}, one for each {interval}{unit} of a thread on a CPU",
            counted(*samples, "sample", "samples"),
        )));
        if *part < 1.0 {
            lines.push(Line::warning(format!(
                "  Counted for {:.1} % of the time, in turns with other events, and scaled to all of it",
                100.0 * part
            )));
        }
        if dropped.count() > 0 {
            lines.push(Line::warning(format!(
                "  Dropped for want of room: {}, {}; those beside them on the CPU count for them",
                counted(dropped.count(), "sample", "samples"),
                lost::when(dropped)
            )));
        }
    }
}

/// The numbers of complete stacks, by how they were completed, and of cut ones, by reason.
fn stacks(header: &Header, lines: &mut Vec<Line>) {
    let losses = &header.losses;
    let cut: u64 = losses.stacks_cut.iter().map(|(_, count)| count).sum();
    let all = losses.stacks_complete + cut;
    let share = percent(losses.stacks_complete as f64, all as f64);
    let complete = losses.stacks_complete;
    let told = format!("  Stacks: {complete} complete ({share:.2} %), {cut} cut");
    lines.push(lossy(told, cut));
    let completions = [
        (
            losses.stacks_later,
            "their outer frames were read a moment later",
        ),
        (
            losses.stacks_remembered,
            "their outer frames are inferred from other stacks",
        ),
        (
            losses.stacks_joined,
            "completed by their region's fork point",
        ),
    ];
    let completions = completions.iter().filter(|(count, _)| *count > 0);
    lines.extend(completions.map(|(count, how)| {
        Line::plain(format!("    {count} deeper than the copied piece: {how}"))
    }));
    let reasons = losses.stacks_cut.iter();
    lines.extend(reasons.map(|(why, count)| Line::warning(format!("    {count} cut: {why}"))));
}

/// The runtimes and their records.
fn openmp(source: &Source<'_>) -> Vec<Line> {
    let header = &source.analysis.experiment.header;
    let mut lines = Vec::new();
    if header.runtimes.is_empty() {
        lines.push(Line::plain("OpenMP: no runtime spoke to the recorder"));
    }
    let known = |text: &str| match text {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    };
    for runtime in &header.runtimes {
        lines.extend([
            Line::plain(format!(
                "OpenMP runtime of process {}: {}",
                runtime.pid,
                known(&runtime.path)
            )),
            Line::plain(format!("  Version: {}", known(&runtime.version))),
            Line::plain(format!("  Build id: {}", known(&runtime.build_id))),
            Line::plain(format!("  Events by: {}", known(&runtime.interface))),
        ]);
    }
    if !header.calls_left_out.is_empty() {
        lines.push(Line::plain(format!(
            "Calls between ranks that were not to be recorded (collect -M): {}",
            header.calls_left_out.join(", ")
        )));
    }
    lines.extend(header.pythons.iter().map(|python| {
        let version = &python.version;
        if python.frames {
            Line::plain(format!("Python {version}: its frames are known at calls into these runtimes"))
        } else {
            Line::warning(format!(
                "Python {version}: its frames are not known, those of 3.11 to 3.15 with the global lock are"
            ))
        }
    }));
    let losses = &header.losses;
    let dropped = losses.lost.omp_records();
    if header.perf.is_some() {
        return lines;
    }
    let records = format!(
        "  OpenMP records: {} taken, {dropped} lost, {} late",
        losses.omp_taken, losses.omp_late
    );
    lines.push(lossy(records, dropped));
    if losses.phases_unbegun > 0 {
        lines.push(Line::warning(format!(
            "  Ends of phases that had not begun: {}",
            losses.phases_unbegun
        )));
    }
    // Of a runtime that does not say which barriers are explicit, where neither source nor lines
    // tell.
    let symbols = &source.analysis.symbols;
    let all = symbols.barriers.len();
    match symbols.undecided_barriers() {
        0 => {}
        count => lines.push(Line::warning(format!(
            "Barriers: of {all} places, {count} may be explicit and are shown as implicit \
             (compile with -g to tell)"
        ))),
    }
    lines
}

/// How much of the time is attributed without a sample, and which names are missing.
fn attribution(source: &Source<'_>) -> Vec<Line> {
    let (inferred, total) = source.inferred();
    let names = source.names();
    let misses = &names.symbols.misses;
    let mut lines = vec![
        Line::plain(format!("Thread time: {} seconds", seconds(total))),
        Line::plain(format!(
            "  Without a sample of its own (place inferred): {} seconds ({:.2} %)",
            seconds(inferred),
            percent(inferred, total)
        )),
        Line::plain(format!("Load objects short of symbols: {}", misses.len())),
    ];
    lines.extend(
        misses
            .iter()
            .map(|(module, why)| Line::warning(format!("  {}: {why}", names.object_name(*module)))),
    );
    lines
}

/// A line that warns of losses if there are any.
fn lossy(text: String, lost: u64) -> Line {
    match lost {
        0 => Line::plain(text),
        _ => Line::warning(text),
    }
}

/// A count in words: `1 sample`, `2 samples`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use experiment::header::Sampling;

    use super::*;

    #[test]
    fn samples_beyond_the_time_between_switches_tell_of_time_inside_them() {
        // 2.845 seconds on CPUs, of which a hypervisor took 0.071.
        let sampling = Sampling {
            event: "cpu-clock".to_owned(),
            period_us: 1000.0,
            switches: true,
            samples: 3_553,
            cpu_ns: 2_774_000_000,
            stolen_ns: 71_000_000,
            ..Sampling::default()
        };
        let of = |sampling: Sampling| {
            in_switches(&Header {
                sampling,
                ..Header::default()
            })
        };
        let more = of(sampling.clone()).expect("it is much");
        assert!((more - 0.708).abs() < 1e-9, "{more}");
        // What the number of samples may differ by anyway.
        let few = Sampling {
            samples: 2_900,
            ..sampling.clone()
        };
        assert_eq!(of(few), None);
        // Cycles are no time, and without records of switches all CPU time comes from samples.
        let cycles = Sampling {
            event: "cycles".to_owned(),
            ..sampling.clone()
        };
        let alone = Sampling {
            switches: false,
            ..sampling
        };
        assert_eq!((of(cycles), of(alone)), (None, None));
    }
}
