//! The command line: commands with their arguments, then the experiment.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::commands::script;
use crate::commands::{self, Command, experiments};
use crate::output::Output;
use crate::prompt;
use crate::rc;
use crate::session::Session;
use crate::stop::Stop;

const USAGE: &str = "er_print -COMMAND [ARG] ... EXPERIMENT ... [-- EXPERIMENT ...]";

/// A command and its arguments.
#[derive(Debug)]
pub(crate) struct Step {
    /// The row of the table.
    pub(crate) command: &'static Command,
    /// As many as it takes.
    pub(crate) arguments: Vec<String>,
}

/// What the command line asks for.
#[derive(Debug, Default)]
pub(crate) struct Invocation {
    /// Commands in their order; none: read them from standard input.
    pub(crate) steps: Vec<Step>,
    /// Experiments in their order, with the sides of comparisons that they are recordings of.
    pub(crate) experiments: Vec<(PathBuf, usize)>,
}

impl Invocation {
    /// Parses the words. All commands are checked before any is run.
    pub(crate) fn parse(words: &[impl AsRef<OsStr>]) -> Result<Invocation, Stop> {
        let mut invocation = Invocation::default();
        // Paths may be other than UTF-8.
        let texts: Vec<String> = words
            .iter()
            .map(|word| word.as_ref().to_string_lossy().into_owned())
            .collect();
        let mut rest = texts.as_slice();
        // Marks between experiments stand for sides; without marks each is its own.
        let mut marks = Vec::new();
        while let Some((word, after)) = rest.split_first() {
            let at = texts.len() - rest.len();
            rest = after;
            if word == "--" {
                marks.push(invocation.experiments.len());
                continue;
            }
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                let side = invocation.experiments.len();
                let path = words[at].as_ref().into();
                invocation.experiments.push((path, side));
                continue;
            };
            let name = match name {
                // As in other programs, though several commands begin with these letters.
                "V" => "version",
                "h" => "help",
                name => name.strip_prefix('-').unwrap_or(name),
            };
            let command = match commands::find(name) {
                // An index type that an earlier command defines.
                Err(_) if invocation.defines(name) => {
                    invocation.steps.push(Step {
                        command: commands::find("indxobj")?,
                        arguments: vec![name.to_owned()],
                    });
                    continue;
                }
                found => found?,
            };
            let arguments = command.arguments_in(rest);
            rest = &rest[arguments.len()..];
            command.action_for(arguments)?;
            invocation.steps.push(Step {
                command,
                arguments: arguments.to_vec(),
            });
        }
        invocation.divide(&marks)?;
        Ok(invocation)
    }

    /// Divides the experiments into sides at marks, which stand before experiments of these numbers.
    fn divide(&mut self, marks: &[usize]) -> Result<(), Stop> {
        let count = self.experiments.len();
        let ends = || std::iter::once(&0).chain(marks).chain([&count]);
        if marks.is_empty() {
            return Ok(());
        }
        if ends().zip(ends().skip(1)).any(|(from, to)| from == to) {
            return Err(Stop::usage(
                "-- stands between the experiments of two sides: A1 A2 -- B1 B2",
            ));
        }
        for (at, (_, side)) in self.experiments.iter_mut().enumerate() {
            *side = marks.iter().filter(|mark| **mark <= at).count();
        }
        Ok(())
    }

    fn defines(&self, name: &str) -> bool {
        let defines = |step: &Step| {
            let first = step.arguments.first();
            step.command.name == "indxobj_define"
                && first.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        self.steps.iter().any(defines)
    }

    fn needs_experiment(&self) -> bool {
        self.steps.is_empty() || self.steps.iter().any(|step| step.command.needs_experiment)
    }
}

/// Runs the commands of the command line.
pub(crate) fn run(
    words: &[impl AsRef<OsStr>],
    home: Option<&Path>,
    output: &mut Output,
) -> Result<(), Stop> {
    let invocation = Invocation::parse(words)?;
    if invocation.experiments.is_empty() && invocation.needs_experiment() {
        return Err(Stop::Usage(format!(
            "which experiment? name its directory last: {USAGE}; er_print -help lists the commands"
        )));
    }
    let experiments = experiments::open(&invocation.experiments)?;
    let mut session = Session::new(experiments, output);
    rc::read(&mut session, home);
    match run_steps(&invocation, &mut session) {
        Ok(()) | Err(Stop::Quit) if session.failed_checks > 0 => Err(Stop::CheckFailed),
        Ok(()) | Err(Stop::Quit) if session.is_unchecked => Err(Stop::NotChecked),
        ended => ended,
    }
}

/// What is shown to those who give no command.
fn overview(session: &mut Session<'_>) -> Result<(), Stop> {
    let command = commands::find("overview")?;
    command.action_for(&[])?.perform(session, &[])
}

fn run_steps(invocation: &Invocation, session: &mut Session<'_>) -> Result<(), Stop> {
    if invocation.steps.is_empty() {
        if io::stdin().is_terminal() {
            overview(session)?;
            return prompt::run(session);
        }
        if script::run_stdin(session)? == 0 {
            overview(session)?;
        }
        return Ok(());
    }
    for step in &invocation.steps {
        let action = step.command.action_for(&step.arguments)?;
        action.perform(session, &step.arguments)?;
    }
    Ok(())
}
