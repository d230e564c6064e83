//! `header`, `version`, `help`.

use omp_model::header::Header;
use report::run::calendar;
use serde_json::{Value, json};

use super::{COMMANDS, Command, Group};
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text;

/// Prints the version.
pub(crate) fn version(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let version = env!("CARGO_PKG_VERSION");
    let report = match session.settings.print {
        PrintMode::Text => format!("er_print: Parallax {version}\n"),
        PrintMode::Json => format!("{}\n", json!({"view": "version", "version": version})),
    };
    session.print(&report)
}

/// Lists the commands.
pub(crate) fn help(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = match session.settings.print {
        PrintMode::Text => help_text(),
        PrintMode::Json => {
            let rows: Vec<Value> = COMMANDS
                .iter()
                .map(|command| {
                    json!({
                        "name": command.name,
                        "aliases": command.aliases,
                        "arguments": command.arguments,
                        "help": command.help,
                        "group": command.group.title(),
                        "supported": command.action.is_some(),
                    })
                })
                .collect();
            format!("{}\n", json!({"view": "help", "rows": rows}))
        }
    };
    session.print(&report)
}

fn help_text() -> String {
    let mut text = String::from(
        "er_print -COMMAND [ARG] ... EXPERIMENT\n\n\
         Any unambiguous beginning of a command does, in any case of letters. Without commands\n\
         they are read from standard input.\n",
    );
    let usage = |command: &Command| {
        let names = std::iter::once(&command.name)
            .chain(command.aliases)
            .copied();
        let names = names.collect::<Vec<_>>().join(", ");
        format!("{names} {}", command.arguments)
            .trim_end()
            .to_owned()
    };
    let width = COMMANDS.iter().filter(|command| command.action.is_some());
    let width = width.map(|command| usage(command).len()).max().unwrap_or(0);
    for group in Group::ALL {
        let commands = || {
            COMMANDS
                .iter()
                .filter(move |command| command.group == group)
        };
        text.push_str(&format!("\n{}\n", group.title()));
        for command in commands().filter(|command| command.action.is_some()) {
            text.push_str(&format!(
                "    {:<width$}  {}\n",
                usage(command),
                command.help
            ));
        }
        let later = commands().filter(|command| command.action.is_none());
        let later: Vec<&str> = later.map(|command| command.name).collect();
        for (at, words) in later.chunks(6).enumerate() {
            let lead = if at == 0 {
                "not supported yet: "
            } else {
                "                   "
            };
            text.push_str(&format!("    {lead}{}\n", words.join(", ")));
        }
    }
    text
}

/// Tells how the recording was made.
pub(crate) fn header(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        match scene.settings.print {
            PrintMode::Text => header_text(&scene),
            PrintMode::Json => {
                let mut object = json::envelope(&scene, "header");
                let header = serde_json::to_value(&scene.recording.experiment.header);
                let header = header.map_err(|error| Stop::Data(error.to_string()))?;
                object.insert("header".to_owned(), header);
                object.insert("derived".to_owned(), derived(&scene));
                json::finish(&scene, object)
            }
        }
    };
    session.print(&report)
}

/// Samples for each second of CPU time, asked for and achieved.
fn rates(header: &Header) -> (f64, f64) {
    let sampling = &header.sampling;
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let achieved = ratio(sampling.samples as f64, sampling.cpu_ns as f64 / 1e9);
    (ratio(1e6, sampling.period_us), achieved)
}

fn derived(scene: &Scene<'_>) -> Value {
    let (asked, achieved) = rates(&scene.recording.experiment.header);
    let (inferred, total) = scene.inferred();
    let misses = &scene.names.symbols.misses;
    let missing: Vec<Value> = misses
        .iter()
        .map(|(module, why)| json!({"object": scene.names.object_name(*module), "why": why}))
        .collect();
    json!({
        "rate_asked_hz": asked,
        "rate_achieved_hz": achieved,
        "thread_seconds": total,
        "inferred_seconds": inferred,
        "symbols_missing": missing,
        "barriers_undecided": scene.names.symbols.undecided_barriers(),
    })
}

/// Barriers of a runtime that does not say which they are, where neither source nor lines do.
fn undecided_barriers(scene: &Scene<'_>) -> Option<String> {
    let all = scene.names.symbols.barriers.len();
    match scene.names.symbols.undecided_barriers() {
        0 => None,
        count => Some(format!(
            "Barriers: of {all} places, {count} may be explicit and are shown as implicit \
             (compile with -g to tell)"
        )),
    }
}

/// A count in words: `1 sample`, `2 samples`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn header_text(scene: &Scene<'_>) -> String {
    let header = &scene.recording.experiment.header;
    let mut lines = vec![format!("Experiment: {}", scene.recording.name)];
    match scene.recording.warnings.as_slice() {
        [] => lines.push("No errors".to_owned()),
        warnings => lines.extend(
            warnings
                .iter()
                .map(|warning| format!("*** Warning: {warning}")),
        ),
    }
    lines.extend(
        scene
            .source
            .remarks()
            .iter()
            .map(|note| format!("*** Note: {note}")),
    );
    lines.extend(
        header
            .comments
            .iter()
            .map(|comment| format!("Comment: {comment}")),
    );
    lines.push(String::new());
    target_lines(scene, &mut lines);
    lines.push(String::new());
    sampling_lines(header, &mut lines);
    lines.push(String::new());
    openmp_lines(header, &mut lines);
    lines.extend(undecided_barriers(scene));
    lines.push(String::new());
    place_lines(scene, &mut lines);
    lines.push(String::new());
    lines.join("\n") + "\n"
}

fn target_lines(scene: &Scene<'_>, lines: &mut Vec<String>) {
    let header = &scene.recording.experiment.header;
    lines.push(format!("Target command: '{}'", header.command.join(" ")));
    for process in &scene.names.tables.processes {
        lines.push(format!(
            "Process pid {}: {}",
            process.pid, process.executable
        ));
    }
    lines.push(format!("Current working directory: {}", header.directory));
    lines.push(format!(
        "Recorded by Parallax {}; experiment format {}",
        header.writer, header.format
    ));
    lines.push(format!("Host '{}', OS '{}'", header.host, header.system));
    lines.push(format!("  {} CPUs, {}", header.cpus, header.cpu_model));
    for (name, value) in &header.environment {
        lines.push(format!("  {name}={value}"));
    }
    lines.push(format!(
        "Experiment started {}",
        calendar(header.started_unix)
    ));
    let duration = header.duration_ns as f64 / 1e9;
    lines.push(format!(
        "Data Collection Duration: {} seconds",
        text::seconds(duration)
    ));
    lines.push(match header.exit_status {
        Some(status) => format!("Exit status: {status}"),
        None => "Exit status: not known; the recording ended before the target did".to_owned(),
    });
}

fn sampling_lines(header: &Header, lines: &mut Vec<String>) {
    let sampling = &header.sampling;
    let losses = &header.losses;
    if sampling.event.is_empty() {
        lines.push("Clock sampling: off".to_owned());
    } else {
        let (asked, achieved) = rates(header);
        lines.push(format!(
            "Clock sampling: event {}, every {} microseconds",
            sampling.event, sampling.period_us
        ));
        lines.push(format!(
            "  Rate: {asked:.1} samples per CPU second asked, {achieved:.1} achieved ({} in {} CPU \
             seconds)",
            counted(sampling.samples, "sample", "samples"),
            text::seconds(sampling.cpu_ns as f64 / 1e9)
        ));
        if sampling.stolen_ns > 0 {
            lines.push(format!(
                "  A hypervisor took CPUs away for {} seconds by the kernel's account: that is waiting \
                 for a CPU, spread evenly over each process's time",
                text::seconds(sampling.stolen_ns as f64 / 1e9)
            ));
        }
        lines.push(format!(
            "  Bytes of stack copied at a sample: {}",
            sampling.stack_bytes
        ));
    }
    let permitted = |yes: bool| if yes { "yes" } else { "not permitted" };
    lines.push(format!(
        "  Kernel frames: {}",
        permitted(sampling.kernel_frames)
    ));
    lines.push(format!(
        "  Context switches: {}",
        permitted(sampling.switches)
    ));
    let stacks = counted(sampling.switch_samples, "stack", "stacks");
    lines.push(match sampling.switch_stacks {
        true => format!("  Stacks at context switches: {stacks} taken"),
        false => "  Stacks at context switches: not permitted".to_owned(),
    });
    lines.push(format!(
        "  Lost: {}, {}",
        counted(losses.samples, "sample", "samples"),
        counted(losses.side_band, "side-band record", "side-band records")
    ));
    let cut: u64 = losses.stacks_cut.iter().map(|(_, count)| count).sum();
    let all = losses.stacks_complete + cut;
    lines.push(format!(
        "  Stacks: {} complete ({:.2} %), {cut} cut",
        losses.stacks_complete,
        text::percent(losses.stacks_complete as f64, all as f64)
    ));
    if losses.stacks_later > 0 {
        lines.push(format!(
            "    {} deeper than the copied piece: their outer frames were read a moment later",
            losses.stacks_later
        ));
    }
    if losses.stacks_remembered > 0 {
        lines.push(format!(
            "    {} deeper than the copied piece: their outer frames are inferred from other samples",
            losses.stacks_remembered
        ));
    }
    if losses.stacks_joined > 0 {
        lines.push(format!(
            "    {} deeper than the copied piece: completed by their region's fork point",
            losses.stacks_joined
        ));
    }
    for (why, count) in &losses.stacks_cut {
        lines.push(format!("    {count} cut: {why}"));
    }
}

fn openmp_lines(header: &Header, lines: &mut Vec<String>) {
    let losses = &header.losses;
    if header.runtimes.is_empty() {
        lines.push("OpenMP: no runtime spoke to the recorder".to_owned());
    }
    for runtime in &header.runtimes {
        let or_unknown = |text: &'_ str| match text {
            "" => "unknown".to_owned(),
            text => text.to_owned(),
        };
        lines.push(format!(
            "OpenMP runtime of process {}: {}",
            runtime.pid,
            or_unknown(&runtime.path)
        ));
        lines.push(format!("  Version: {}", or_unknown(&runtime.version)));
        lines.push(format!("  Build id: {}", or_unknown(&runtime.build_id)));
        lines.push(format!("  Events by: {}", or_unknown(&runtime.interface)));
    }
    lines.push(format!(
        "  OpenMP records: {} taken, {} lost, {} late",
        losses.omp_taken, losses.omp_lost, losses.omp_late
    ));
    lines.push(format!(
        "  Calling contexts not taken: {}",
        losses.sites_lost
    ));
}

fn place_lines(scene: &Scene<'_>, lines: &mut Vec<String>) {
    let (inferred, total) = scene.inferred();
    lines.push(format!("Thread time: {} seconds", text::seconds(total)));
    lines.push(format!(
        "  Without a sample of its own (place inferred): {} seconds ({:.2} %)",
        text::seconds(inferred),
        text::percent(inferred, total)
    ));
    let misses = &scene.names.symbols.misses;
    lines.push(format!("Load objects short of symbols: {}", misses.len()));
    for (module, why) in misses {
        lines.push(format!("  {}: {why}", scene.names.object_name(*module)));
    }
}
