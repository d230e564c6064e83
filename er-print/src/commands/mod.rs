//! The commands: one table, from which parsing, help and the manual page are made.

mod annotation;
mod check;
pub(crate) mod choices;
mod defaults;
pub(crate) mod experiments;
mod export;
mod filters;
mod fragment;
mod index;
mod page;
mod program;
mod resymbolize;
pub(crate) mod script;
mod settings;
mod table;

use omp_model::spelling::nearest;

use report::find::Named;
use report::reports::{self, Build, Report};

use crate::session::Session;
use crate::stop::Stop;
use choices::choices;

pub(crate) use index::index_types;
pub(crate) use table::COMMANDS;

/// The action of a command; its arguments are checked before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Shows a report.
    Show(&'static Report),
    /// Works on the session.
    Run(fn(&mut Session<'_>, &[String]) -> Result<(), Stop>),
}

impl Action {
    /// Performs it.
    pub(crate) fn perform(
        self,
        session: &mut Session<'_>,
        arguments: &[String],
    ) -> Result<(), Stop> {
        match self {
            Action::Show(report) => {
                let query = if report.is_compared {
                    session.comparison()?
                } else {
                    session.query()?
                };
                let subject = match report.build {
                    Build::Whole(_) | Build::IfRecorded(_) => None,
                    Build::Numbered(_) => numbered(report.name, arguments)?,
                    Build::Named(_) => Some(named(report.name, arguments)?),
                };
                let document = report.document(&query, subject.as_ref())?;
                session.show(&document)
            }
            Action::Run(run) => run(session, arguments),
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Its name; case does not matter.
    pub(crate) name: &'static str,
    /// Other names.
    pub(crate) aliases: &'static [&'static str],
    /// Its arguments as help shows them, optional ones in brackets.
    pub(crate) arguments: &'static str,
    /// Its description in the help.
    pub(crate) help: &'static str,
    /// Its group in the help.
    pub(crate) group: Group,
    /// Whether it needs an experiment.
    pub(crate) needs_experiment: bool,
    /// Its action; `None` if it is not supported.
    pub(crate) action: Option<Action>,
}

/// The groups of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Reports of a kind, and what sets them.
    Reports(reports::Group),
    /// Filters.
    Filters,
    /// Output.
    Output,
    /// Several experiments.
    Experiments,
    /// Defaults.
    Defaults,
    /// Data that is not recorded.
    NotRecorded,
}

impl Group {
    /// Source lines and instructions.
    pub(crate) const CODE: Group = Group::Reports(reports::Group::Code);

    /// Every group, in the order of help.
    pub(crate) const ALL: [Group; 14] = [
        Group::Reports(reports::Group::Functions),
        Group::Reports(reports::Group::Tree),
        Group::CODE,
        Group::Reports(reports::Group::Index),
        Group::Reports(reports::Group::Ranks),
        Group::Reports(reports::Group::Lists),
        Group::Filters,
        Group::Reports(reports::Group::Metrics),
        Group::Output,
        Group::Reports(reports::Group::Findings),
        Group::Reports(reports::Group::Run),
        Group::Experiments,
        Group::Defaults,
        Group::NotRecorded,
    ];

    /// Its heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Group::Reports(reports::Group::Functions) => "Function list",
            Group::Reports(reports::Group::Tree) => "Callers, callees and the call tree",
            Group::Reports(reports::Group::Code) => "Source lines and instructions",
            Group::Reports(reports::Group::Index) => "Index objects",
            Group::Reports(reports::Group::Ranks) => "Ranks, MPI and PGAS",
            Group::Reports(reports::Group::Lists) => "Lists",
            Group::Filters => "Filters",
            Group::Reports(reports::Group::Metrics) => "Metrics",
            Group::Output => "Output",
            Group::Reports(reports::Group::Findings) => {
                "Races, deadlocks, uninitialised reads and divergences"
            }
            Group::Reports(reports::Group::Run) => "About the run, and others",
            Group::Experiments => "Several experiments",
            Group::Defaults => "Defaults",
            Group::NotRecorded => "Data that is not recorded",
        }
    }
}

/// Finds a command by its name, an alias, or an unambiguous beginning of one.
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
            Err(Stop::Usage(format!(
                "there is no command \"{word}\": {hint}"
            )))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|command| command.name).collect();
            let names = names.join(", ");
            Err(Stop::Usage(format!(
                "\"{word}\" begins several commands ({names}): type more of it"
            )))
        }
    }
}

impl Command {
    /// The least and the largest number of its arguments.
    pub(crate) fn arity(&self) -> (usize, usize) {
        let all = self.arguments.split_whitespace().count();
        let optional = self
            .arguments
            .split_whitespace()
            .filter(|word| word.starts_with('['))
            .count();
        (all - optional, all)
    }

    /// Whether its only argument is an expression. In a script, this is the rest of the line.
    pub(crate) fn takes_expression(&self) -> bool {
        self.arguments == "EXPR" || self.arguments == "[EXPR]"
    }

    /// Its arguments at the beginning of the following words of the command line. A word counts as
    /// an optional argument if the command has such a word, or if it is a number and not the last
    /// word, which names an experiment. Any other word than that is an optional expression.
    pub(crate) fn arguments_in<'a>(&self, rest: &'a [String]) -> &'a [String] {
        let (least, most) = self.arity();
        let mut count = least.min(rest.len());
        if self.arguments == "[EXPR]" {
            let is_expression = |word: &String| !word.starts_with('-') && rest.len() > 1;
            return &rest[..usize::from(rest.first().is_some_and(is_expression))];
        }
        let is_number = |word: &str| word.bytes().all(|letter| letter.is_ascii_digit());
        let choices = choices(self);
        let is_choice = |word: &str| {
            let lower = word.to_lowercase();
            !lower.is_empty() && choices.iter().any(|choice| choice.starts_with(&lower))
        };
        while count < most
            && let Some(word) = rest.get(count)
            && (is_choice(word) || count + 1 < rest.len() && is_number(word))
        {
            count += 1;
        }
        &rest[..count]
    }

    /// The action, if the command is supported and the number of arguments is right.
    pub(crate) fn action_for(&self, arguments: &[String]) -> Result<Action, Stop> {
        let Some(action) = self.action else {
            let why = match self.name {
                "ifreq" => "how often instructions ran is not recorded; pcs and disasm show time",
                _ if self.group == Group::NotRecorded => "its data is not recorded; leave it out",
                _ => "leave it out",
            };
            return Err(Stop::Usage(format!(
                "{} is not supported yet: {why}",
                self.name
            )));
        };
        let (least, most) = self.arity();
        if (least..=most).contains(&arguments.len()) {
            return Ok(action);
        }
        let (name, usage) = (self.name, format!("{} {}", self.name, self.arguments));
        Err(Stop::Usage(if arguments.len() < least {
            format!("{name} needs an argument: write {usage}")
        } else if most == 0 {
            format!("{name} takes no argument")
        } else {
            format!("{name} has too many arguments: write {usage}")
        }))
    }
}

/// Parses an argument that is one of a list of words, or an unambiguous beginning of one.
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
            Err(Stop::Usage(format!(
                "{command} takes one of {names}, not \"{word}\""
            )))
        }
    }
}

/// Parses the arguments `NAME [N]`.
fn named(command: &str, arguments: &[String]) -> Result<Named, Stop> {
    let number = arguments.get(1).map(|word| count(command, word));
    Ok(Named {
        name: arguments[0].clone(),
        number: number.transpose()?,
    })
}

/// Parses the argument `[all|N]`.
fn numbered(command: &str, arguments: &[String]) -> Result<Option<Named>, Stop> {
    let word = arguments.first().map_or("all", String::as_str);
    if !word.is_empty() && "all".starts_with(&word.to_lowercase()) {
        return Ok(None);
    }
    let number = word.parse().map_err(|_| {
        Stop::Usage(format!(
            "{command} takes all or the number of a finding, not \"{word}\""
        ))
    });
    Ok(Some(Named {
        name: String::new(),
        number: Some(number?),
    }))
}

/// Parses a whole number.
fn count(command: &str, word: &str) -> Result<usize, Stop> {
    word.parse().map_err(|_| {
        Stop::Usage(format!(
            "{command} takes a whole number from 0, not \"{word}\""
        ))
    })
}
