//! The commands: one table, from which parsing, help and the manual page are made.

mod check;
mod defaults;
pub(crate) mod experiments;
mod filters;
mod fragment;
mod index;
mod places;
mod program;
mod settings;
mod table;

use omp_model::spelling::nearest;

use report::find::Named;
use report::{Document, Error, Query};

use crate::failure::Stop;
use crate::session::Session;

pub(crate) use index::index_types;
pub(crate) use table::COMMANDS;

/// What a command does, given its checked arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Shows a document that compares experiments; under `compare`, one alone is refused.
    Compare(fn(&Query<'_>, &[String]) -> Result<Document, Error>),
    /// Shows a document that is the same under `compare`, or that names each experiment anyway.
    Show(fn(&Query<'_>, &[String]) -> Result<Document, Error>),
    /// Works on the session.
    Run(fn(&mut Session<'_>, &[String]) -> Result<(), Stop>),
}

impl Action {
    /// Does it.
    pub(crate) fn take(self, session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
        match self {
            Action::Compare(make) => {
                let document = make(&session.comparison()?, arguments)?;
                session.show(&document)
            }
            Action::Show(make) => {
                let document = make(&session.query()?, arguments)?;
                session.show(&document)
            }
            Action::Run(run) => run(session, arguments),
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Command {
    /// Its name; case does not matter.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [&'static str],
    /// Its arguments as help shows them, optional ones in brackets.
    pub(crate) arguments: &'static str,
    /// What it does, in half a line.
    pub(crate) help: &'static str,
    /// Where help lists it.
    pub(crate) group: Group,
    /// Whether it needs an experiment.
    pub(crate) needs_experiment: bool,
    /// What it does; `None` for a known word that is not supported yet.
    pub(crate) action: Option<Action>,
}

/// The groups of help, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The function list.
    Functions,
    /// Callers and callees, the call tree.
    Tree,
    /// Lines and instructions.
    Places,
    /// Index objects.
    Index,
    /// Lists of what the experiment holds.
    Lists,
    /// Filters.
    Filters,
    /// Metrics.
    Metrics,
    /// Output.
    Output,
    /// About the run.
    About,
    /// Several experiments.
    Experiments,
    /// Defaults.
    Defaults,
    /// Data that is not recorded.
    NotRecorded,
}

impl Group {
    /// Every group, in the order of help.
    pub(crate) const ALL: [Group; 12] = [
        Group::Functions,
        Group::Tree,
        Group::Places,
        Group::Index,
        Group::Lists,
        Group::Filters,
        Group::Metrics,
        Group::Output,
        Group::About,
        Group::Experiments,
        Group::Defaults,
        Group::NotRecorded,
    ];

    /// Its heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Group::Functions => "Function list",
            Group::Tree => "Callers, callees and the call tree",
            Group::Places => "Source lines and instructions",
            Group::Index => "Index objects",
            Group::Lists => "Lists",
            Group::Filters => "Filters",
            Group::Metrics => "Metrics",
            Group::Output => "Output",
            Group::About => "About the run, and others",
            Group::Experiments => "Several experiments",
            Group::Defaults => "Defaults",
            Group::NotRecorded => "Data that is not recorded",
        }
    }
}

/// The command that a word means: its name or alias, or the beginning of just one.
pub(crate) fn find(word: &str) -> Result<&'static Command, Stop> {
    let lower = word.to_lowercase();
    let words = |command: &'static Command| {
        [command.name]
            .into_iter()
            .chain(command.aliases.iter().copied())
    };
    if let Some(command) = COMMANDS
        .iter()
        .find(|&command| words(command).any(|name| name.eq_ignore_ascii_case(word)))
    {
        return Ok(command);
    }
    let begins = |name: &str| !lower.is_empty() && name.to_lowercase().starts_with(&lower);
    let found: Vec<&Command> = COMMANDS
        .iter()
        .filter(|&command| words(command).any(begins))
        .collect();
    match found.as_slice() {
        [command] => Ok(command),
        [] => {
            let known = COMMANDS.iter().flat_map(words);
            let hint = match nearest(word, known) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => "er_print -help lists the commands".to_owned(),
            };
            Err(Stop::Words(format!(
                "there is no command \"{word}\": {hint}"
            )))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|command| command.name).collect();
            let names = names.join(", ");
            Err(Stop::Words(format!(
                "\"{word}\" begins several commands ({names}): type more of it"
            )))
        }
    }
}

impl Command {
    /// How many arguments it must have, and may have.
    pub(crate) fn arity(&self) -> (usize, usize) {
        let all = self.arguments.split_whitespace().count();
        let optional = self
            .arguments
            .split_whitespace()
            .filter(|word| word.starts_with('['))
            .count();
        (all - optional, all)
    }

    /// Whether its one argument is an expression, which in a script is the rest of the line.
    pub(crate) fn takes_expression(&self) -> bool {
        self.arguments == "EXPR"
    }

    /// Its arguments among the words that follow it on the command line. An optional one is a
    /// number, and is not the last word, which names an experiment.
    pub(crate) fn take<'a>(&self, rest: &'a [String]) -> &'a [String] {
        let (least, most) = self.arity();
        let mut count = least.min(rest.len());
        while count < most
            && count + 1 < rest.len()
            && rest[count].bytes().all(|letter| letter.is_ascii_digit())
        {
            count += 1;
        }
        &rest[..count]
    }

    /// What to do, if the command is supported and has the arguments that it takes.
    pub(crate) fn check(&self, arguments: &[String]) -> Result<Action, Stop> {
        let Some(action) = self.action else {
            let why = match (self.group, self.name) {
                (_, "ifreq") => {
                    "how often instructions ran is not recorded; pcs and disasm show time"
                }
                (Group::NotRecorded, _) => "its data is not recorded; leave it out",
                _ => "leave it out",
            };
            return Err(Stop::Words(format!(
                "{} is not supported yet: {why}",
                self.name
            )));
        };
        let (least, most) = self.arity();
        if (least..=most).contains(&arguments.len()) {
            return Ok(action);
        }
        let usage = format!("{} {}", self.name, self.arguments);
        Err(Stop::Words(match arguments.len() < least {
            true => format!("{} needs an argument: write {usage}", self.name),
            false if most == 0 => format!("{} takes no argument", self.name),
            false => format!("{} has too many arguments: write {usage}", self.name),
        }))
    }
}

/// An argument that is a word of a list, or the beginning of one.
fn choose<T: Copy>(command: &str, word: &str, choices: &[(&str, T)]) -> Result<T, Stop> {
    let lower = word.to_lowercase();
    let mut found = choices
        .iter()
        .filter(|(name, _)| !lower.is_empty() && name.starts_with(&lower));
    match (found.next(), found.next()) {
        (Some(&(_, value)), None) => Ok(value),
        _ => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Err(Stop::Words(format!(
                "{command} takes one of {names}, not \"{word}\""
            )))
        }
    }
}

/// A name and, if there is a second argument, which of that name.
fn named(command: &str, arguments: &[String]) -> Result<Named, Error> {
    let number = arguments.get(1).map(|word| count(command, word));
    Ok(Named {
        name: arguments[0].clone(),
        number: number.transpose()?,
    })
}

/// An argument that counts.
fn count(command: &str, word: &str) -> Result<usize, Error> {
    word.parse().map_err(|_| {
        Error::Usage(format!(
            "{command} takes a whole number from 0, not \"{word}\""
        ))
    })
}
