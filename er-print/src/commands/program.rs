//! Commands about `er_print` itself: `version`, `help`, `procstats`.

use report::Document;
use report::document::{Block, Column, InJson, Line, Row, Style, Table, Value};
use serde_json::{Map, Value as Json, json};

use super::{COMMANDS, Command, Group};
use crate::session::Session;
use crate::stop::Stop;

/// Shows the version.
pub(crate) fn version(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let version = env!("CARGO_PKG_VERSION");
    let line = format!("er_print: Parallax {version}");
    session.show(&Document {
        view: "version".to_owned(),
        facts: Map::from_iter([("version".to_owned(), json!(version))]),
        blocks: vec![Block::Lines(vec![Line::plain(line)])],
        is_bare: true,
        ..Document::default()
    })
}

/// Lists the commands.
pub(crate) fn help(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let row = |command: &Command| {
        json!({
            "name": command.name,
            "aliases": command.aliases,
            "arguments": command.arguments,
            "help": command.help,
            "group": command.group.title(),
            "supported": command.action.is_some(),
        })
    };
    let rows: Json = COMMANDS.iter().map(row).collect();
    let lines = help_lines().into_iter().map(Line::plain);
    session.show(&Document {
        view: "help".to_owned(),
        facts: Map::from_iter([("rows".to_owned(), rows)]),
        blocks: vec![Block::Lines(lines.collect())],
        is_bare: true,
        ..Document::default()
    })
}

/// The number of unsupported commands on a line.
const UNSUPPORTED_PER_LINE: usize = 6;

fn help_lines() -> Vec<String> {
    let mut lines = vec![
        "er_print -COMMAND [ARG] ... EXPERIMENT".to_owned(),
        "EXPERIMENT is a directory that collect made, or a file of perf record (perf.data)"
            .to_owned(),
        String::new(),
        "Any unambiguous beginning of a command does, in any case of letters. Without commands"
            .to_owned(),
        "they are read from standard input.".to_owned(),
    ];
    let widths = COMMANDS.iter().filter(|command| command.action.is_some());
    let width = widths.map(|command| usage(command).len()).max();
    let width = width.unwrap_or(0);
    for group in Group::ALL {
        let commands = COMMANDS.iter().filter(|command| command.group == group);
        let (supported, unsupported): (Vec<&Command>, Vec<&Command>) =
            commands.partition(|command| command.action.is_some());
        lines.push(String::new());
        lines.push(group.title().to_owned());
        let supported = supported.into_iter();
        lines.extend(
            supported.map(|command| format!("    {:<width$}  {}", usage(command), command.help)),
        );
        let unsupported: Vec<&str> = unsupported.iter().map(|command| command.name).collect();
        let leads = ["not supported yet:"]
            .into_iter()
            .chain(std::iter::repeat(""));
        lines.extend(
            leads
                .zip(unsupported.chunks(UNSUPPORTED_PER_LINE))
                .map(|(lead, names)| format!("    {lead:<18} {}", names.join(", "))),
        );
    }
    lines
}

/// A command's names and arguments.
fn usage(command: &Command) -> String {
    let names: Vec<&str> = [command.name]
        .into_iter()
        .chain(command.aliases.iter().copied())
        .collect();
    let usage = format!("{} {}", names.join(", "), command.arguments);
    usage.trim_end().to_owned()
}

/// Fields of `/proc/self/status`, with their labels.
const USED: [(&str, &str); 6] = [
    ("VmPeak", "Peak virtual memory"),
    ("VmHWM", "Peak resident memory"),
    ("VmRSS", "Resident memory"),
    ("Threads", "Threads"),
    ("voluntary_ctxt_switches", "Voluntary context switches"),
    ("nonvoluntary_ctxt_switches", "Involuntary context switches"),
];

/// Shows the resources that `er_print` has used.
pub(crate) fn procstats(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |key: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(Value::Text(value.trim().to_owned()))
    };
    let row = |(key, label): (&str, &str)| {
        let value = value(key)?;
        Some(Row {
            name: label.to_owned(),
            values: vec![vec![Value::Absent, value]],
            ..Row::default()
        })
    };
    let name = Column {
        heading: vec!["er_print itself".to_owned()],
        ..Column::name()
    };
    let value = Column {
        id: "value".to_owned(),
        heading: vec!["Value".to_owned()],
        value: true,
        json: InJson::Row,
        ..Column::default()
    };
    session.show(&Document {
        view: "procstats".to_owned(),
        blocks: vec![Block::Table(Table {
            style: Style::Ruled,
            columns: vec![name, value],
            rows: USED.into_iter().filter_map(row).collect(),
            ..Table::default()
        })],
        ..Document::default()
    })
}
