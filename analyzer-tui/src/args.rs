//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use report::text::colours::Colours;

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Show experiments in the terminal.
    Show {
        /// The experiments.
        source: Source,
        /// The value of `--color`; `None` for `auto`.
        colours: Option<Colours>,
    },
    /// Print this text and exit with success.
    Print(String),
}

/// Where the experiments come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Complete experiments.
    Experiments(Vec<PathBuf>),
    /// An experiment that is being recorded.
    Growing(PathBuf),
    /// A program to record, as the arguments of `collect`.
    Program(Vec<OsString>),
}

/// The options, from which parsing and `--help` are made.
pub fn command() -> Command {
    Command::new("analyzer")
        .about("Shows what collect has recorded; several runs are compared, and c changes how")
        .after_help("In it, ? lists the keys of a view, q quits.")
        .disable_version_flag(true)
        .override_usage(
            "analyzer [OPTIONS] EXPERIMENT...\n       \
             analyzer --live EXPERIMENT\n       \
             analyzer --live [COLLECT OPTIONS] -- PROGRAM [ARGUMENTS]...",
        )
        .arg(
            Arg::new("experiments")
                .value_name("EXPERIMENT")
                .num_args(0..)
                .value_parser(value_parser!(PathBuf))
                .hide(true),
        )
        .arg(flag("live").long("live").help(
            "Show an experiment while it is recorded; with -- record a program, for which \
             collect gets the options before and the words after it",
        ))
        .arg(
            Arg::new("color")
                .long("color")
                .value_name("WHEN")
                .value_parser(["auto", "never", "16", "256"])
                .hide_possible_values(true)
                .help("auto, never, 16 or 256; auto goes by NO_COLOR and TERM"),
        )
        .arg(
            flag("version")
                .short('V')
                .long("version")
                .help("Print the version"),
        )
}

fn flag(id: &'static str) -> Arg {
    Arg::new(id).action(ArgAction::SetTrue)
}

/// Reads the words after the program's name.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let for_collect = after_live(&mut words);
    let all = std::iter::once(OsString::from("analyzer")).chain(words);
    let matches = match command().try_get_matches_from(all) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Invocation::Print(error.to_string())),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let reason = first.strip_prefix("error: ").unwrap_or(first);
            return Err(format!("{reason}; `analyzer --help` lists the options"));
        }
    };
    if matches.get_flag("version") {
        let version = env!("CARGO_PKG_VERSION");
        return Ok(Invocation::Print(format!("analyzer: Parallax {version}\n")));
    }
    let colours = matches
        .get_one::<String>("color")
        .and_then(|word| colours_of(word));
    let source = match for_collect {
        Some(words) => Source::Program(words),
        None => recorded(&matches)?,
    };
    Ok(Invocation::Show { source, colours })
}

/// The experiments on the command line.
fn recorded(matches: &ArgMatches) -> Result<Source, String> {
    let paths = matches.get_many::<PathBuf>("experiments");
    let paths: Vec<PathBuf> = paths.into_iter().flatten().cloned().collect();
    if paths.is_empty() {
        return Err("which experiment? name its directory: analyzer EXPERIMENT".to_owned());
    }
    if !matches.get_flag("live") {
        return Ok(Source::Experiments(paths));
    }
    match paths.as_slice() {
        [path] => Ok(Source::Growing(path.clone())),
        _ => Err(
            "--live follows one experiment; to record a program write analyzer --live -- PROGRAM"
                .to_owned(),
        ),
    }
}

/// Splits off the words after `--live` if they contain `--` and a program: they are for `collect`.
fn after_live(words: &mut Vec<OsString>) -> Option<Vec<OsString>> {
    let live = words.iter().position(|word| word == "--live")?;
    let has_program = words[live..].iter().any(|word| word == "--");
    has_program.then(|| words.split_off(live + 1))
}

/// The value of `--color`; `None` for `auto`.
fn colours_of(word: &str) -> Option<Colours> {
    match word {
        "never" => Some(Colours::None),
        "16" => Some(Colours::Sixteen),
        "256" => Some(Colours::Many),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Invocation, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn experiments_and_colours() {
        let shown = read(&["--color=16", "a.er", "b.er"]).unwrap();
        let source = Source::Experiments(vec!["a.er".into(), "b.er".into()]);
        let colours = Some(Colours::Sixteen);
        assert_eq!(shown, Invocation::Show { source, colours });
        assert!(read(&[]).unwrap_err().contains("which experiment"));
        assert!(read(&["--colour"]).unwrap_err().contains("--help"));
        assert!(
            read(&["--color", "red", "a"])
                .unwrap_err()
                .contains("'red'")
        );
    }

    #[test]
    fn what_stands_after_live_is_for_collect() {
        let recorded = read(&["--color=16", "--live", "-p", "lo", "--", "./app", "--live"]);
        let words = ["-p", "lo", "--", "./app", "--live"]
            .map(OsString::from)
            .to_vec();
        let source = Source::Program(words);
        let colours = Some(Colours::Sixteen);
        assert_eq!(recorded, Ok(Invocation::Show { source, colours }));
        let followed = read(&["--live", "test.1.er"]);
        let source = Source::Growing("test.1.er".into());
        let colours = None;
        assert_eq!(followed, Ok(Invocation::Show { source, colours }));
        assert!(
            read(&["--live", "a", "b"])
                .unwrap_err()
                .contains("one experiment")
        );
        assert!(read(&["--live"]).unwrap_err().contains("which experiment"));
    }

    #[test]
    fn help_and_the_manual_page_tell_of_the_same_options() {
        let Ok(Invocation::Print(help)) = read(&["--help"]) else {
            panic!("it is printed");
        };
        let page = include_str!("../../docs/man/analyzer.1").replace('\\', "");
        for option in ["--live", "--color", "--help", "--version"] {
            assert!(help.contains(option), "{help}");
            assert!(page.contains(option), "{option}");
        }
        let options = help
            .split_whitespace()
            .filter(|word| word.starts_with("--"));
        let long = options.map(|word| word.trim_end_matches(','));
        for option in long.filter(|word| *word != "--") {
            assert!(page.contains(option), "{option} is not in the manual page");
        }
    }
}
