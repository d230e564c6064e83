//! The tools to compare: Parallax and the profilers that this machine has.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::target;

/// The sampling rate, per thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// One sample per 997 us of CPU time.
    Kilohertz,
    /// One sample per 10,007 us.
    Hundred,
}

impl Rate {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Rate::Kilohertz => "1 kHz",
            Rate::Hundred => "100 Hz",
        }
    }

    const fn nanoseconds(self) -> u32 {
        match self {
            Rate::Kilohertz => 997_000,
            Rate::Hundred => 10_007_000,
        }
    }

    /// The value of `-p` for `collect` and gprofng, which use the same periods.
    pub(super) const fn letter(self) -> &'static str {
        match self {
            Rate::Kilohertz => "hi",
            Rate::Hundred => "on",
        }
    }
}

/// A way to run a program, identified by its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    /// Its name in tables.
    pub(super) name: &'static str,
    program: &'static str,
    arguments: fn(Rate) -> Vec<String>,
    /// The option for the recording's path, and the path's extension.
    output: Option<(&'static str, &'static str)>,
}

impl PartialEq for Tool {
    fn eq(&self, other: &Tool) -> bool {
        self.name == other.name
    }
}

/// The program by itself.
pub(super) const BARE: Tool = Tool {
    name: "bare",
    program: "",
    arguments: |_| Vec::new(),
    output: None,
};

/// The name of a run with the minimal OpenMP tool, which does not sample:
/// [`floor`](super::run::Bench::floor).
pub(super) const FLOOR: &str = "a reading and two stores at each moment";

/// Parallax.
pub(super) const COLLECT: Tool = Tool {
    name: "collect",
    program: "collect",
    arguments: |rate| words(&["-v", "-p", rate.letter()]),
    output: Some(("-O", "er")),
};

/// `perf record` without call graphs: the cost of the kernel's sampling itself.
pub(super) const PERF: Tool = Tool {
    name: "perf",
    program: "perf",
    arguments: |rate| perf(rate, &[]),
    output: Some(("-o", "data")),
};

/// Call graphs by frame pointers.
pub(super) const PERF_G: Tool = Tool {
    name: "perf -g",
    program: "perf",
    arguments: |rate| perf(rate, &["-g"]),
    output: Some(("-o", "data")),
};

/// Call graphs by copies of the stack, which the reader unwinds.
pub(super) const PERF_DWARF: Tool = Tool {
    name: "perf dwarf",
    program: "perf",
    arguments: |rate| perf(rate, &["--call-graph", "dwarf,16384"]),
    output: Some(("-o", "data")),
};

const GPROFNG: Tool = Tool {
    name: "gprofng",
    program: "gprofng",
    arguments: |rate| words(&["collect", "app", "-p", rate.letter()]),
    output: Some(("-O", "er")),
};

const SAMPLY: Tool = Tool {
    name: "samply",
    program: "samply",
    arguments: |rate| {
        let hertz = (1e9 / f64::from(rate.nanoseconds())).round();
        let rate = hertz.to_string();
        words(&["record", "--save-only", "--rate", &rate])
    },
    output: Some(("-o", "json.gz")),
};

pub(super) const HPCRUN: Tool = Tool {
    name: "hpcrun",
    program: "hpcrun",
    arguments: |rate| {
        let microseconds = rate.nanoseconds() / 1_000;
        words(&["-e", &format!("CPUTIME@{microseconds}")])
    },
    output: Some(("-o", "m")),
};

/// Every tool except the bare program, in the order of tables.
pub(super) const ALL: [Tool; 7] = [PERF, PERF_G, PERF_DWARF, SAMPLY, GPROFNG, HPCRUN, COLLECT];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn perf(rate: Rate, more: &[&str]) -> Vec<String> {
    let period = rate.nanoseconds().to_string();
    // Parallax samples by this clock where there are no counters; every machine has it.
    let mut all = words(&["record", "-q", "-e", "cpu-clock", "-c", &period]);
    all.extend(words(more));
    all
}

impl Tool {
    /// Its path on this machine.
    pub(super) fn path(self) -> Option<PathBuf> {
        if self == COLLECT {
            return Some(built("collect"));
        }
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| folder.join(self.program))
            .find(|path| path.is_file())
    }

    /// The command that runs `program` under it and records below `folder`.
    pub(super) fn command(self, rate: Rate, program: &[String], folder: &Path) -> Command {
        if self == BARE {
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]);
            return command;
        }
        let path = self.path().unwrap_or_else(|| PathBuf::from(self.program));
        let mut command = Command::new(path);
        command.args((self.arguments)(rate));
        if let Some((option, ending)) = self.output {
            command
                .arg(option)
                .arg(folder.join(format!("{}.{ending}", self.name.replace(' ', "-"))));
        }
        if self.program == "perf" || self == SAMPLY {
            command.arg("--");
        }
        command.args(program);
        command
    }

    /// The version that it prints; `None` if this machine does not have it.
    pub(super) fn version(self) -> Option<String> {
        let path = self.path()?;
        let option = if self == COLLECT { "-V" } else { "--version" };
        let said = Command::new(path).arg(option).output().ok()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let text = if text.trim().is_empty() {
            String::from_utf8_lossy(&said.stderr).into_owned()
        } else {
            text
        };
        Some(text.lines().next().unwrap_or("").trim().to_owned())
    }
}

/// A program of this build.
pub(super) fn built(name: &str) -> PathBuf {
    let path = target().join("release").join(name);
    std::path::absolute(&path).unwrap_or(path)
}
