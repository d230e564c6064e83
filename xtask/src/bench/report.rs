//! Tables of the results, for the terminal and for `docs/benchmarks.md`.

use std::path::PathBuf;
use std::process::Command;

use super::results::{Results, number};
use super::tools::ALL;
use crate::command::stdout_of;
use crate::{Outcome, root};

/// The lines around the tables in the page.
const BEGIN: &str = "<!-- measured: renewed by `cargo xtask bench` -->\n";
const END: &str = "<!-- end of measured -->\n";

/// The page with the tables.
fn page() -> PathBuf {
    root().join("docs/benchmarks.md")
}

/// The results from which the page is made.
fn numbers() -> PathBuf {
    root().join("docs/benchmarks.json")
}

/// The facts on which the results depend: the machine, and the version of every tool.
pub(super) fn facts() -> Vec<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let mut facts = vec![
        (
            "processor".to_owned(),
            format!("{cpus} CPUs, {}", field(&info, "model name")),
        ),
        (
            "memory".to_owned(),
            field(&read("/proc/meminfo"), "MemTotal"),
        ),
        (
            "kernel".to_owned(),
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
    ];
    let commit =
        stdout_of(
            Command::new("git")
                .current_dir(root())
                .args(["rev-parse", "--short", "HEAD"]),
        );
    if let Ok(commit) = commit {
        facts.push(("commit".to_owned(), commit.trim().to_owned()));
    }
    let mut named: Vec<&str> = Vec::new();
    for tool in ALL {
        let program = tool.name.split(' ').next().unwrap_or(tool.name);
        if named.contains(&program) {
            continue;
        }
        named.push(program);
        let version = tool.version().unwrap_or_else(|| "absent".to_owned());
        facts.push((program.to_owned(), version));
    }
    facts
}

/// A group as text, a line for each row.
pub(super) fn table(results: &Results, group: &str) -> String {
    let mut lines: Vec<[String; 5]> = Vec::new();
    let mut before = "";
    for row in results.rows.iter().filter(|row| row.group == group) {
        let (low, high) = row.spread();
        let verdict = results
            .verdict(row)
            .map_or_else(String::new, |(words, met)| {
                format!("{words}: {}", if met { "met" } else { "missed" })
            });
        let measure = if row.measure == before {
            String::new()
        } else {
            format!("{} ({})", row.measure, row.unit)
        };
        before = &row.measure;
        lines.push([
            measure,
            row.tool.clone(),
            number(row.median()),
            format!("{} to {}", number(low), number(high)),
            verdict,
        ]);
    }
    let width = |at: usize| {
        lines
            .iter()
            .map(|line| line[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |line: &[String; 5]| {
        let cells = line
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

/// The facts and all results as Markdown tables.
fn markdown(results: &Results, facts: &[(String, String)]) -> String {
    let mut text = String::from("| | |\n|---|---|\n");
    for (name, fact) in facts {
        text.push_str(&format!("| {name} | {fact} |\n"));
    }
    let mut measure = String::new();
    for row in &results.rows {
        let title = format!("{} ({})", row.measure, row.unit);
        if title != measure {
            text.push_str(&format!(
                "\n**{title}**\n\n| by | median | quartiles | runs | goal |\n|---|---|---|---|---|\n"
            ));
            measure = title;
        }
        let (low, high) = row.spread();
        let verdict = results
            .verdict(row)
            .map_or_else(String::new, |(words, met)| {
                format!("{words}: {}", if met { "met" } else { "**missed**" })
            });
        text.push_str(&format!(
            "| {} | {} | {} to {} | {} | {verdict} |\n",
            row.tool,
            number(row.median()),
            number(low),
            number(high),
            row.runs.len()
        ));
    }
    text
}

/// Updates the documentation with the measured groups.
pub(super) fn renew(results: &Results, facts: &[(String, String)]) -> Outcome {
    let mut all = Results::load(&numbers())?;
    all.renew(results);
    all.save(&numbers(), facts)?;
    replace(BEGIN, END, &format!("\n{}\n", markdown(&all, facts)))
}

/// Replaces the text between the two lines of the page.
fn replace(begin: &str, end: &str, new: &str) -> Outcome {
    let path = page();
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let none = |line: &str| format!("{} has no line {line}", path.display());
    let (before, rest) = text.split_once(begin).ok_or_else(|| none(begin))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| none(end))?;
    let text = format!("{before}{begin}{new}{end}{after}");
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}
