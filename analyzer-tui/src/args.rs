//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

/// How many colours to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None: letters, bold and reverse.
    None,
    /// The terminal's own sixteen.
    Sixteen,
    /// The fixed part of a terminal's 256.
    Many,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Show an experiment.
    Show {
        /// Its directory; several are added up.
        experiments: Vec<PathBuf>,
        /// Colours, if they were named.
        colours: Option<Colours>,
        /// Whether it is being recorded: it is read again and again until its end.
        live: bool,
    },
    /// Record a program, and show the experiment from its beginning.
    Record {
        /// The words for `collect`: its options, then the program and its own.
        words: Vec<OsString>,
        /// Colours, if they were named.
        colours: Option<Colours>,
    },
    /// Print this and end well.
    Print(String),
}

/// What `--help` prints.
pub const HELP: &str = "\
analyzer [OPTIONS] EXPERIMENT...
analyzer --live EXPERIMENT
analyzer --live [COLLECT OPTIONS] -- PROGRAM [ARGUMENTS]...

Shows what collect has recorded; several experiments are added up, and c compares them. In it,
? lists the keys of a view, q quits.

      --live         show an experiment while it is recorded; with -- record a program, for
                     which collect gets the options before and the words after it
      --color WHEN   auto, never, 16 or 256; auto goes by NO_COLOR and TERM
  -h, --help         print this
  -V, --version      print the version
";

/// Reads the words after the program's name.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    let all: Vec<OsString> = words.into_iter().collect();
    let mut words = all.into_iter();
    let mut experiments = Vec::new();
    let mut colours = None;
    let mut live = false;
    while let Some(word) = words.next() {
        // Options are text; the names of files may be anything.
        match &*word.to_string_lossy() {
            "-h" | "--help" | "-help" => return Ok(Invocation::Print(HELP.to_owned())),
            "-V" | "--version" | "-version" => {
                let version = env!("CARGO_PKG_VERSION");
                return Ok(Invocation::Print(format!("analyzer: Parallax {version}\n")));
            }
            "--live" => {
                live = true;
                // Up to the program all is for collect.
                let rest: Vec<OsString> = words.collect();
                if rest.iter().any(|word| word == "--") {
                    return Ok(Invocation::Record {
                        words: rest,
                        colours,
                    });
                }
                words = rest.into_iter();
            }
            "--color" => {
                let value = words.next().unwrap_or_default();
                colours = colours_of(&value.to_string_lossy())?;
            }
            option if option.starts_with("--color=") => {
                colours = colours_of(&option["--color=".len()..])?;
            }
            option if option.starts_with('-') && option.len() > 1 => {
                return Err(format!(
                    "there is no option {option}: analyzer --help lists them"
                ));
            }
            _ => experiments.push(PathBuf::from(word)),
        }
    }
    match (experiments.len(), live) {
        (0, _) => Err("which experiment? name its directory: analyzer EXPERIMENT".to_owned()),
        (1, _) | (_, false) => Ok(Invocation::Show {
            experiments,
            colours,
            live,
        }),
        (_, true) => Err(
            "--live follows one experiment; to record a program write analyzer --live -- PROGRAM"
                .to_owned(),
        ),
    }
}

fn colours_of(word: &str) -> Result<Option<Colours>, String> {
    match word {
        "auto" => Ok(None),
        "never" => Ok(Some(Colours::None)),
        "16" => Ok(Some(Colours::Sixteen)),
        "256" => Ok(Some(Colours::Many)),
        _ => Err(format!(
            "--color takes auto, never, 16 or 256, not \"{word}\""
        )),
    }
}

/// The colours that a terminal has, by its environment: <https://no-color.org>, and what names in
/// `TERM` promise.
pub fn colours_of_terminal(variable: impl Fn(&str) -> Option<String>) -> Colours {
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return Colours::None;
    }
    let term = variable("TERM").unwrap_or_default();
    let many = variable("COLORTERM").is_some_and(|value| !value.is_empty());
    match term.as_str() {
        "" | "dumb" => Colours::None,
        term if term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-m") => {
            Colours::None
        }
        term if many || term.contains("256color") || term.contains("direct") => Colours::Many,
        _ => Colours::Sixteen,
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
        let experiments = vec!["a.er".into(), "b.er".into()];
        let colours = Some(Colours::Sixteen);
        assert_eq!(
            shown,
            Invocation::Show {
                experiments,
                colours,
                live: false,
            }
        );
        assert!(read(&[]).unwrap_err().contains("which experiment"));
        assert!(read(&["--colour"]).unwrap_err().contains("--help"));
        assert!(
            read(&["--color", "red", "a"])
                .unwrap_err()
                .contains("not \"red\"")
        );
    }

    #[test]
    fn what_stands_after_live_is_for_collect() {
        let recorded = read(&["--color=16", "--live", "-p", "lo", "--", "./app", "--live"]);
        let words = ["-p", "lo", "--", "./app", "--live"]
            .map(OsString::from)
            .to_vec();
        let colours = Some(Colours::Sixteen);
        assert_eq!(recorded, Ok(Invocation::Record { words, colours }));
        let followed = read(&["--live", "test.1.er"]).unwrap();
        assert!(matches!(followed, Invocation::Show { live: true, .. }));
        assert!(
            read(&["--live", "a", "b"])
                .unwrap_err()
                .contains("one experiment")
        );
        assert!(read(&["--live"]).unwrap_err().contains("which experiment"));
    }

    #[test]
    fn colours_by_the_environment() {
        let with = |pairs: &[(&str, &str)]| {
            colours_of_terminal(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("TERM", "xterm-256color")]), Colours::Many);
        assert_eq!(with(&[("TERM", "xterm")]), Colours::Sixteen);
        assert_eq!(
            with(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]),
            Colours::Many
        );
        assert_eq!(
            with(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]),
            Colours::None
        );
        assert_eq!(
            with(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]),
            Colours::Many
        );
        assert_eq!(with(&[("TERM", "vt100")]), Colours::None);
        assert_eq!(with(&[]), Colours::None);
    }
}
