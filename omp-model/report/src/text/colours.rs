//! How many colours a terminal has.

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

/// Those of the terminal, by `NO_COLOR` (<https://no-color.org>), `TERM` and `COLORTERM`.
pub fn of_terminal(variable: impl Fn(&str) -> Option<String>) -> Colours {
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

    #[test]
    fn colours_by_the_environment() {
        let with = |pairs: &[(&str, &str)]| {
            of_terminal(|name| {
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
