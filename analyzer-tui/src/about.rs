//! The overview and the experiment's own facts, as lines.

use omp_model::header::Header;
use omp_model::metrics::Metric;
use omp_model::profile::Profile;
use omp_model::recording;
use omp_model::views::names::NameStyle;
use omp_model::views::notices::inferred_seconds;
use omp_model::views::openmp::efficiency::{Efficiency, Run};
use omp_model::views::openmp::first::First;
use omp_model::views::threads::kind_name;

use crate::compare::{self, Beside};
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Row, Table};
use report::timeline::Activity;
use report::timeline::MOST_REFINED;

/// Cells of a bar that is 100 %.
const BAR: f64 = 24.0;

/// Where the time went.
pub fn overview(data: &Data, recording: &Recording) -> Table {
    if let Some(beside) = Beside::of(data, recording) {
        return compare::overview(&beside);
    }
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
    let first = data.directives(recording).first.as_ref();
    if let Some(first) = first {
        advice(first, &mut rows);
        budget(first, &mut rows);
    }
    // Those of a very large recording stand in the view of the experiment alone.
    if recording.experiment.samples.len() <= MOST_REFINED && !recording.remarks().is_empty() {
        rows.push(strong("Warnings"));
        for remark in recording.remarks() {
            rows.extend(warned("  ", remark));
        }
        rows.push(Row::line(""));
    }
    if let Some(first) = first {
        efficiencies(&first.run, &mut rows);
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

/// What to do first.
fn advice(first: &First, rows: &mut Vec<Row>) {
    rows.push(strong("What to do first"));
    for sentence in first.before() {
        rows.extend(warned("  ", &sentence));
    }
    if first.losses.is_empty() {
        rows.push(Row::line(format!("  {}", First::nothing())));
    }
    for (number, loss) in (1..).zip(first.losses.iter().take(LOSSES)) {
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
            first.run.wall
        )));
        for text in [Some(loss.finding.as_str()), first.hint(loss)] {
            let lines = wrapped(text.unwrap_or_default(), MEASURE).into_iter();
            rows.extend(lines.map(|line| linked(format!("     {line}"))));
        }
    }
    rows.push(Row::line(""));
}

/// What became of the wall time.
fn budget(first: &First, rows: &mut Vec<Row>) {
    let parts = first.parts();
    if parts.is_empty() {
        return;
    }
    let (wall, threads) = (first.run.wall, first.run.threads);
    rows.push(strong(&format!(
        "Where {wall:.3} s on {threads} threads went"
    )));
    for (words, seconds, percent) in parts {
        let bar = "■".repeat((percent / 100.0 * BAR).round().max(0.0) as usize);
        rows.push(Row::line(format!(
            "  {words:<28}{seconds:>9.3}  {percent:>6.2}  {bar}"
        )));
    }
    rows.push(Row::line(""));
}

/// How well the threads were used.
fn efficiencies(run: &Run, rows: &mut Vec<Row>) {
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
    for word in text.split(' ').filter(|word| !word.is_empty()) {
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
pub(crate) fn strong(text: &str) -> Row {
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
    let mut rows = vec![
        strong(&format!("Reading {count} samples …")),
        Row::line("  9 shows the timeline meanwhile; ? tells the keys, q quits"),
        Row::line(""),
    ];
    for why in &recording.warnings {
        rows.extend(warned("Warning: ", why));
    }
    let header = &recording.experiment.header;
    rows.extend(lines(&program(recording)));
    rows.extend(lines(&sampling(header)));
    rows.extend(lines(&openmp(header)));
    Table {
        title: format!("Experiment {}", recording.name),
        columns: Vec::new(),
        rows,
    }
}

/// How the recording was made, and what it is short of.
pub fn experiment(data: &Data, recording: &Recording) -> Table {
    if let Some(beside) = Beside::of(data, recording) {
        return compare::experiments(&beside);
    }
    let mut rows = Vec::new();
    for warning in &recording.warnings {
        rows.extend(warned("Warning: ", warning));
    }
    for note in data.notices(recording).iter().chain(recording.remarks()) {
        rows.extend(warned("Note: ", note));
    }
    if rows.is_empty() {
        rows.push(Row::line("Nothing is missing."));
    }
    rows.push(Row::line(""));
    let profile = recording.profile(data.settings.mode);
    for section in sections(recording, profile) {
        rows.extend(lines(&section));
    }
    Table {
        title: format!("Experiment {}", recording.name),
        columns: Vec::new(),
        rows,
    }
}

/// What is known of how a recording was made.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// What a fact is called, and what it is; several that follow each other may have one name.
    pub(crate) facts: Vec<(String, String)>,
}

impl Section {
    fn new(title: &'static str) -> Section {
        Section {
            title,
            facts: Vec::new(),
        }
    }

    fn push(&mut self, label: &str, value: impl std::fmt::Display) {
        self.facts.push((label.to_owned(), value.to_string()));
    }
}

/// All that is known of how a recording was made, and where the time of its views stands.
pub(crate) fn sections(recording: &recording::Recording, profile: &Profile) -> [Section; 4] {
    let header = &recording.experiment.header;
    [
        program(recording),
        sampling(header),
        openmp(header),
        places(recording, profile),
    ]
}

fn places(recording: &recording::Recording, profile: &Profile) -> Section {
    let mut section = Section::new("Places");
    let (inferred, total) = inferred_seconds(profile);
    section.push("Thread time", format!("{total:.3} s"));
    section.push(
        "Place inferred",
        format!("{inferred:.3} s have no sample of their own"),
    );
    let names = recording.names(NameStyle::default());
    for (module, why) in &recording.symbols.misses {
        let object = names.object_name(*module).to_owned();
        section.push("No symbols", format!("{object}: {why}"));
    }
    section
}

fn lines(section: &Section) -> Vec<Row> {
    let facts = section
        .facts
        .iter()
        .map(|(label, value)| fact(label, value));
    let all = std::iter::once(strong(section.title)).chain(facts);
    all.chain([Row::line("")]).collect()
}

/// A warning in as many lines as it takes.
pub(crate) fn warned(lead: &str, text: &str) -> Vec<Row> {
    let indent = " ".repeat(lead.len());
    let lines = wrapped(text, MEASURE - lead.len()).into_iter().enumerate();
    lines
        .map(|(at, line)| Row {
            mark: Mark::Warning,
            ..Row::line(format!("{}{line}", if at == 0 { lead } else { &indent }))
        })
        .collect()
}

pub(crate) fn fact(label: &str, value: impl std::fmt::Display) -> Row {
    Row::line(format!("  {label:<18} {value}"))
}

fn program(recording: &recording::Recording) -> Section {
    let header = &recording.experiment.header;
    let mut section = Section::new("Program");
    section.push("Command", header.command.join(" "));
    section.push("Directory", &header.directory);
    for process in &recording.experiment.tables.processes {
        section.push("Process", format!("{} {}", process.pid, process.executable));
    }
    for comment in &header.comments {
        section.push("Comment", comment);
    }
    for (name, value) in &header.environment {
        section.push("Environment", format!("{name}={value}"));
    }
    section.push("Host", format!("{}, {}", header.host, header.system));
    section.push(
        "Processor",
        format!("{} CPUs, {}", header.cpus, header.cpu_model),
    );
    let duration = recording.experiment.duration().seconds();
    section.push("Duration", format!("{duration:.3} s"));
    let status = header.exit_status.map(|status| status.to_string());
    let unknown = || "not known: the recording ended before the program".to_owned();
    section.push("Exit status", status.unwrap_or_else(unknown));
    section.push(
        "Recorded by",
        format!("Parallax {}, format {}", header.writer, header.format),
    );
    section
}

fn sampling(header: &Header) -> Section {
    let (sampling, losses) = (&header.sampling, &header.losses);
    let mut section = Section::new("Sampling");
    if sampling.event.is_empty() {
        section.push("Clock", "off");
    } else {
        let every = format!("{} every {} us", sampling.event, sampling.period_us);
        section.push("Clock", every);
        let taken = format!("{} taken, {} lost", sampling.samples, losses.samples);
        section.push("Samples", taken);
    }
    let permitted = |yes: bool| if yes { "yes" } else { "not permitted" };
    section.push("Kernel frames", permitted(sampling.kernel_frames));
    section.push("Context switches", permitted(sampling.switches));
    let lost = format!("{} records lost", losses.side_band);
    section.push("Side band", lost);
    let cut: u64 = losses.stacks_cut.iter().map(|(_, count)| count).sum();
    section.push(
        "Stacks",
        format!("{} complete, {cut} cut", losses.stacks_complete),
    );
    for (why, count) in &losses.stacks_cut {
        section.push("", format!("{count} cut: {why}"));
    }
    section
}

fn openmp(header: &Header) -> Section {
    let losses = &header.losses;
    let mut section = Section::new("OpenMP");
    if header.runtimes.is_empty() {
        section.push("Runtime", "none spoke to the recorder");
    }
    let or_unknown = |text: &str| match text {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    };
    for runtime in &header.runtimes {
        section.push(
            "Runtime",
            format!("{} (process {})", runtime.path, runtime.pid),
        );
        section.push(
            "",
            format!(
                "version {}, events by {}",
                or_unknown(&runtime.version),
                runtime.interface
            ),
        );
        section.push("", format!("build id {}", or_unknown(&runtime.build_id)));
    }
    section.push(
        "Records",
        format!(
            "{} taken, {} lost, {} late",
            losses.omp_taken, losses.omp_lost, losses.omp_late
        ),
    );
    section.push("Contexts not taken", losses.sites_lost);
    section
}
