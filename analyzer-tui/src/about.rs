//! The overview and the experiment's own facts, as lines.

use omp_model::header::Header;
use omp_model::metrics::Metric;
use omp_model::views::notices::inferred_seconds;
use omp_model::views::openmp::advice::Loss;
use omp_model::views::openmp::efficiency::{Efficiency, Run};
use omp_model::views::threads::kind_name;

use crate::activity::Activity;
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Row, Table};

/// Cells of a bar that is 100 %.
const BAR: f64 = 24.0;

/// Where the time went.
pub fn overview(data: &Data, recording: &Recording) -> Table {
    let overview = data.overview(recording);
    let header = &recording.experiment.header;
    let total = overview.time(Metric::Total);
    let threads: usize = overview.threads.iter().map(|(_, count)| count).sum();
    let kinds = overview.threads.iter();
    let kinds: Vec<String> = kinds
        .map(|&(kind, count)| format!("{count} {}", kind_name(kind)))
        .collect();
    let duration = recording.experiment.duration().seconds();
    let mut rows = vec![
        Row::line(format!("Command    {}", header.command.join(" "))),
        Row::line(format!(
            "Host       {} ({} CPUs, {})",
            header.host, header.cpus, header.cpu_model
        )),
        Row::line(format!(
            "Recording  {duration:.3} s, {threads} threads ({}), {} processes",
            kinds.join(", "),
            overview.processes
        )),
        Row::line(""),
    ];
    if let Some((run, losses)) = &data.directives(recording).run {
        first(run, losses, &mut rows);
    }
    rows.push(strong("Time of all threads      seconds        %"));
    for &(metric, seconds) in &overview.times {
        let depth = depth(metric, overview.time(Metric::OmpWork) > 0.0);
        if seconds == 0.0 && depth > 1 {
            continue;
        }
        let words = format!("{}{}", "  ".repeat(depth), metric.words());
        let (percent, bar) = share(seconds, total);
        rows.push(Row {
            tint: activity(metric),
            ..Row::line(format!(
                "  {words:<24} {seconds:>9.3}  {percent:>6.2}  {bar}"
            ))
        });
    }
    rows.push(Row::line(""));
    rows.push(strong("Functions with most thread time"));
    for row in &overview.largest.rows {
        let at = overview
            .times
            .iter()
            .position(|(metric, _)| *metric == Metric::Total);
        let seconds = at.map_or(0.0, |at| row.exclusive[at]);
        let (percent, _) = share(seconds, total);
        rows.push(Row {
            tint: Activity::of_name(&row.name),
            link: Some(row.name.clone()),
            ..Row::line(format!("  {seconds:>9.3}  {percent:>6.2}  {}", row.name))
        });
    }
    Table {
        title: "Where the time went".to_owned(),
        columns: Vec::new(),
        rows,
    }
}

/// Characters of a line of advice: it is read whole on the narrowest usual screen.
const MEASURE: usize = 74;

/// How many losses are told.
const LOSSES: usize = 3;

/// What to do first, and how well the threads were used.
fn first(run: &Run, losses: &[Loss], rows: &mut Vec<Row>) {
    rows.push(strong("What to do first"));
    if losses.is_empty() {
        rows.push(Row::line(
            "  Nothing stands out: no loss takes a thousandth of the run",
        ));
    }
    for (number, loss) in (1..).zip(losses.iter().take(LOSSES)) {
        let to = loss.reason.words();
        let share = 100.0 * loss.share;
        let linked = |text: String| Row {
            link: loss.spot.function.clone(),
            ..Row::line(text)
        };
        rows.push(linked(format!(
            "  {number}. {}: {:.3} s of {:.3} s ({share:.1} %) lost to {to}",
            loss.spot.short(),
            loss.seconds,
            run.wall
        )));
        for text in [&loss.finding, &loss.hint] {
            let lines = wrapped(text, MEASURE).into_iter();
            rows.extend(lines.map(|line| linked(format!("     {line}"))));
        }
    }
    rows.push(Row::line(""));
    rows.push(strong(&format!(
        "Efficiency of {} threads over {:.3} s",
        run.threads, run.wall
    )));
    efficiency(&run.efficiency, 1, rows);
    let serial = run.serial;
    rows.push(Row::line(format!(
        "  Serial time {:.3} s of {:.3} s",
        serial.seconds, serial.wall
    )));
    if serial.seconds > 0.0 {
        rows.push(Row::line(format!(
            "  At most {:.2} times as fast with twice the threads, {:.2} times with any number",
            serial.bound(2.0),
            serial.limit()
        )));
    }
    rows.push(Row::line(""));
}

/// A text in lines of at most so many characters, broken at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn efficiency(node: &Efficiency, depth: usize, rows: &mut Vec<Row>) {
    let label = format!("{}{}", "  ".repeat(depth), node.label);
    let (value, loss) = (100.0 * node.value(), 100.0 * node.loss);
    rows.push(Row::line(format!(
        "{label:<50} {value:>6.2} %  loses {loss:>6.2} %"
    )));
    for child in &node.children {
        efficiency(child, depth + 1, rows);
    }
}

/// A line that others stand under.
fn strong(text: &str) -> Row {
    Row {
        mark: Mark::Strong,
        ..Row::line(text)
    }
}

/// A part in percent and as a bar.
fn share(part: f64, whole: f64) -> (f64, String) {
    let share = if whole > 0.0 { part / whole } else { 0.0 };
    let cells = (share * BAR).round() as usize;
    (100.0 * share, "■".repeat(cells))
}

/// How far a metric stands in: a part of another by two.
const fn depth(metric: Metric, openmp: bool) -> usize {
    match metric {
        Metric::Total => 0,
        Metric::TotalCpu | Metric::OffCpu | Metric::OmpWork | Metric::OmpWait => 1,
        Metric::User | Metric::System => 2,
        _ => {
            if openmp {
                2
            } else {
                1
            }
        }
    }
}

fn activity(metric: Metric) -> Option<Activity> {
    Some(match metric {
        Metric::OmpWork => Activity::Work,
        Metric::Overhead => Activity::Overhead,
        Metric::Reduction => Activity::Reduction,
        Metric::ImplicitBarrier => Activity::ImplicitBarrier,
        Metric::ExplicitBarrier => Activity::ExplicitBarrier,
        Metric::Idle => Activity::Idle,
        Metric::Lock => Activity::Lock,
        Metric::Critical => Activity::Critical,
        Metric::Ordered => Activity::Ordered,
        Metric::Atomic => Activity::Atomic,
        Metric::Task => Activity::Task,
        _ => return None,
    })
}

/// What is known of a recording before its samples are read.
pub fn reading(recording: &Recording) -> Table {
    let count = recording.experiment.samples.len();
    let header = &recording.experiment.header;
    let mut rows = vec![
        strong(&format!("Reading {count} samples …")),
        Row::line("  9 shows the timeline meanwhile; ? tells the keys, q quits"),
        Row::line(""),
    ];
    rows.extend(
        recording
            .warnings
            .iter()
            .map(|why| warned(format!("Warning: {why}"))),
    );
    program(recording, &mut rows);
    sampling(header, &mut rows);
    openmp(header, &mut rows);
    Table {
        title: format!("Experiment {}", recording.name),
        columns: Vec::new(),
        rows,
    }
}

/// How the recording was made, and what it is short of.
pub fn experiment(data: &Data, recording: &Recording) -> Table {
    let header = &recording.experiment.header;
    let mut rows = Vec::new();
    for warning in &recording.warnings {
        rows.push(warned(format!("Warning: {warning}")));
    }
    for notice in data.notices(recording) {
        rows.push(warned(format!("Note: {notice}")));
    }
    for note in &header.notes {
        rows.push(warned(format!("Note: {note}")));
    }
    if rows.is_empty() {
        rows.push(Row::line("Nothing is missing."));
    }
    rows.push(Row::line(""));
    program(recording, &mut rows);
    sampling(header, &mut rows);
    openmp(header, &mut rows);
    rows.push(strong("Places"));
    let (inferred, total) = inferred_seconds(recording.profile(data.settings.mode));
    rows.push(fact("Thread time", format!("{total:.3} s")));
    rows.push(fact(
        "Place inferred",
        format!("{inferred:.3} s have no sample of their own"),
    ));
    for (module, why) in &recording.symbols.misses {
        let object = recording.names().object_name(*module).to_owned();
        rows.push(fact("No symbols", format!("{object}: {why}")));
    }
    Table {
        title: format!("Experiment {}", recording.name),
        columns: Vec::new(),
        rows,
    }
}

fn warned(text: String) -> Row {
    Row {
        mark: Mark::Warning,
        ..Row::line(text)
    }
}

fn fact(label: &str, value: impl std::fmt::Display) -> Row {
    Row::line(format!("  {label:<18} {value}"))
}

fn program(recording: &Recording, rows: &mut Vec<Row>) {
    let header = &recording.experiment.header;
    rows.push(strong("Program"));
    rows.push(fact("Command", header.command.join(" ")));
    rows.push(fact("Directory", &header.directory));
    for process in &recording.experiment.tables.processes {
        rows.push(fact(
            "Process",
            format!("{} {}", process.pid, process.executable),
        ));
    }
    for comment in &header.comments {
        rows.push(fact("Comment", comment));
    }
    for (name, value) in &header.environment {
        rows.push(fact("Environment", format!("{name}={value}")));
    }
    rows.push(fact("Host", format!("{}, {}", header.host, header.system)));
    rows.push(fact(
        "Processor",
        format!("{} CPUs, {}", header.cpus, header.cpu_model),
    ));
    let duration = recording.experiment.duration().seconds();
    rows.push(fact("Duration", format!("{duration:.3} s")));
    rows.push(match header.exit_status {
        Some(status) => fact("Exit status", status),
        None => fact(
            "Exit status",
            "not known: the recording ended before the program",
        ),
    });
    rows.push(fact(
        "Recorded by",
        format!("Parallax {}, format {}", header.writer, header.format),
    ));
    rows.push(Row::line(""));
}

fn sampling(header: &Header, rows: &mut Vec<Row>) {
    let (sampling, losses) = (&header.sampling, &header.losses);
    rows.push(strong("Sampling"));
    if sampling.event.is_empty() {
        rows.push(fact("Clock", "off"));
    } else {
        let every = format!("{} every {} us", sampling.event, sampling.period_us);
        rows.push(fact("Clock", every));
        let taken = format!("{} taken, {} lost", sampling.samples, losses.samples);
        rows.push(fact("Samples", taken));
    }
    let permitted = |yes: bool| if yes { "yes" } else { "not permitted" };
    rows.push(fact("Kernel frames", permitted(sampling.kernel_frames)));
    rows.push(fact("Context switches", permitted(sampling.switches)));
    let lost = format!("{} records lost", losses.side_band);
    rows.push(fact("Side band", lost));
    let cut: u64 = losses.stacks_cut.iter().map(|(_, count)| count).sum();
    rows.push(fact(
        "Stacks",
        format!("{} complete, {cut} cut", losses.stacks_complete),
    ));
    for (why, count) in &losses.stacks_cut {
        rows.push(fact("", format!("{count} cut: {why}")));
    }
    rows.push(Row::line(""));
}

fn openmp(header: &Header, rows: &mut Vec<Row>) {
    let losses = &header.losses;
    rows.push(strong("OpenMP"));
    if header.runtimes.is_empty() {
        rows.push(fact("Runtime", "none spoke to the recorder"));
    }
    for runtime in &header.runtimes {
        rows.push(fact(
            "Runtime",
            format!("{} (process {})", runtime.path, runtime.pid),
        ));
        rows.push(fact(
            "",
            format!("{}, events by {}", runtime.version, runtime.interface),
        ));
        rows.push(fact("", format!("build id {}", runtime.build_id)));
    }
    rows.push(fact(
        "Records",
        format!(
            "{} taken, {} lost, {} late",
            losses.omp_taken, losses.omp_lost, losses.omp_late
        ),
    ));
    rows.push(fact("Contexts not taken", losses.sites_lost));
    rows.push(Row::line(""));
}
