//! The command line.

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
    },
    /// Print this and end well.
    Print(String),
}

/// What `--help` prints.
pub const HELP: &str = "\
analyzer [OPTIONS] EXPERIMENT...

Shows what collect has recorded; several experiments are added up. In it, ? lists the keys of a
view, q quits.

      --color WHEN   auto, never, 16 or 256; auto goes by NO_COLOR and TERM
  -h, --help         print this
  -V, --version      print the version
";

/// Reads the words after the program's name.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Invocation, String> {
    let mut words = words.into_iter();
    let mut experiments = Vec::new();
    let mut colours = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" | "-help" => return Ok(Invocation::Print(HELP.to_owned())),
            "-V" | "--version" | "-version" => {
                let version = env!("CARGO_PKG_VERSION");
                return Ok(Invocation::Print(format!("analyzer: Parallax {version}\n")));
            }
            "--color" => {
                let value = words.next();
                colours = colours_of(value.as_deref().unwrap_or_default())?;
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
    match experiments.is_empty() {
        false => Ok(Invocation::Show {
            experiments,
            colours,
        }),
        true => Err("which experiment? name its directory: analyzer EXPERIMENT".to_owned()),
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
        parse(words.iter().map(|word| (*word).to_owned()))
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
                colours
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
