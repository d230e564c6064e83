//! The options that tell which part of a run is recorded, its sample points, and what is kept with it.

use std::time::Duration;

use clap::{Arg, ArgMatches};

/// These options, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlOptions {
    /// `-t`: when recording begins, and when it ends, since the start of the program.
    pub span: Option<(Duration, Option<Duration>)>,
    /// `-y`: the signal that pauses recording and lets it go on, and whether it is paused at first.
    pub pause_signal: Option<(i32, bool)>,
    /// `-l`: the signal that makes a sample point.
    pub sample_signal: Option<i32>,
    /// `-S`: the time between sample points; `None` for none.
    pub sample_period: Option<Duration>,
    /// `-L`: the bytes of records at which recording ends.
    pub most_bytes: Option<u64>,
    /// `-A`: what is copied into the experiment.
    pub archive: Archive,
}

/// What is copied into the experiment when recording ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// Load objects that were seen.
    pub objects: bool,
    /// Sources that their symbols name.
    pub sources: bool,
}

/// The longest time of `-t` and `-S`.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// The options for the command line.
pub(crate) fn args() -> [Arg; 6] {
    let option = |id: &'static str, letter: char, value: &'static str, help: &'static str| {
        Arg::new(id).short(letter).value_name(value).help(help)
    };
    [
        option(
            "time",
            't',
            "TIME|FROM-[TO]",
            "Record for this time alone: N[s|m|h], or from one time to another; the program goes on",
        ),
        option(
            "pause-signal",
            'y',
            "SIGNAL[,r]",
            "Begin paused (with ,r: recording); the signal lets recording go on, and pauses it",
        ),
        option(
            "sample-signal",
            'l',
            "SIGNAL",
            "Make a sample point at each such signal",
        ),
        option(
            "sample-period",
            'S',
            "on|off|SECONDS",
            "Make a sample point each second, or so many [default: on]",
        ),
        option(
            "archive",
            'A',
            "on|off|src|ldobjects",
            "Copy sources, load objects or both into the experiment [default: off]",
        ),
        option(
            "size",
            'L',
            "MB",
            "End the recording when its records have this size; the program goes on",
        ),
    ]
}

impl ControlOptions {
    /// # Errors
    /// One sentence that states the usage error.
    pub(crate) fn of(matches: &ArgMatches) -> Result<ControlOptions, String> {
        let word = |id| matches.get_one::<String>(id).map(String::as_str);
        let pause_signal = word("pause-signal").map(pause_signal).transpose()?;
        let sample_signal = word("sample-signal").map(|word| signal('l', word));
        let sample_signal = sample_signal.transpose()?;
        if let (Some((pause, _)), Some(sample)) = (pause_signal, sample_signal)
            && pause == sample
        {
            return Err("-y and -l name the same signal: choose two".to_owned());
        }
        Ok(ControlOptions {
            span: word("time").map(span).transpose()?,
            pause_signal,
            sample_signal,
            sample_period: sample_period(word("sample-period").unwrap_or("on"))?,
            most_bytes: word("size").map(megabytes).transpose()?.flatten(),
            archive: archive(word("archive").unwrap_or("off"))?,
        })
    }

    /// Whether recording is paused at first.
    pub fn begins_paused(&self) -> bool {
        let later = |(from, _): (Duration, _)| from > Duration::ZERO;
        self.span.is_some_and(later) || self.pause_signal.is_some_and(|(_, paused)| paused)
    }

    /// The value of [`SIGNALS_VARIABLE`](omp_ring::control::SIGNALS_VARIABLE); `None` without signals.
    pub fn signals(&self) -> Option<String> {
        let pause = self.pause_signal.map_or(0, |(signal, _)| signal);
        let sample = self.sample_signal.unwrap_or(0);
        (pause != 0 || sample != 0).then(|| format!("{pause} {sample}"))
    }
}

/// A number of seconds, or with a suffix of minutes or hours.
fn duration(word: &str) -> Option<Duration> {
    let (number, unit) = match word.strip_suffix(['s', 'm', 'h']) {
        Some(number) if word.ends_with('m') => (number, 60.0),
        Some(number) if word.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (word, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (duration <= LONGEST).then_some(duration)
}

fn span(word: &str) -> Result<(Duration, Option<Duration>), String> {
    let wrong =
        || format!("-t {word}: expected a time such as 30, 5m or 1h, or two as in 10-30 or 1m-");
    let span = match word.split_once('-') {
        None => (Duration::ZERO, Some(duration(word).ok_or_else(wrong)?)),
        Some((from, "")) => (duration(from).ok_or_else(wrong)?, None),
        Some((from, to)) => {
            let (from, to) = duration(from).zip(duration(to)).ok_or_else(wrong)?;
            (from, Some(to))
        }
    };
    match span {
        (from, Some(to)) if to <= from => Err(format!("-t {word}: this is no time to record")),
        span => Ok(span),
    }
}

fn pause_signal(word: &str) -> Result<(i32, bool), String> {
    match word.split_once(',') {
        None => Ok((signal('y', word)?, true)),
        Some((name, "r")) => Ok((signal('y', name)?, false)),
        Some(_) => Err(format!("-y {word}: expected a signal, or a signal and ,r")),
    }
}

/// The signals that a program may be sent for this, by their names.
const SIGNALS: [(&str, i32); 17] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

/// Signals that can end a program, but not control a recording.
const FATAL: [(&str, i32); 7] = [
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("SEGV", libc::SIGSEGV),
];

/// A signal by name, with or without `SIG`, or by number.
fn signal(letter: char, word: &str) -> Result<i32, String> {
    let upper = word.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = SIGNALS.iter().find(|(known, _)| *known == name);
    let numbered = word.parse().ok().filter(|number| {
        let is_named = SIGNALS.iter().any(|(_, known)| known == number);
        is_named || (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(number)
    });
    let found = named.map(|&(_, number)| number).or(numbered);
    found.ok_or_else(|| {
        format!(
            "-{letter} {word}: expected a signal that a program can handle, such as USR1 or USR2"
        )
    })
}

/// The name of a signal.
pub fn signal_name(signal: i32) -> String {
    let mut all = SIGNALS.iter().chain(&FATAL);
    let named = all.find(|(_, known)| *known == signal);
    named.map_or_else(
        || format!("signal {signal}"),
        |(name, _)| format!("SIG{name}"),
    )
}

fn sample_period(word: &str) -> Result<Option<Duration>, String> {
    match word {
        "on" => Ok(Some(Duration::from_secs(1))),
        "off" => Ok(None),
        _ => duration(word)
            .filter(|period| *period >= Duration::from_millis(100))
            .map(Some)
            .ok_or_else(|| format!("-S {word}: expected on, off or a number of seconds from 0.1")),
    }
}

fn megabytes(word: &str) -> Result<Option<u64>, String> {
    match word.parse::<u64>() {
        _ if word == "unlimited" || word == "none" => Ok(None),
        Ok(0) | Err(_) => Err(format!(
            "-L {word}: expected a number of megabytes from 1, or unlimited"
        )),
        Ok(megabytes) => Ok(Some(megabytes.saturating_mul(1 << 20))),
    }
}

fn archive(word: &str) -> Result<Archive, String> {
    let (objects, sources) = match word {
        "off" => (false, false),
        "on" | "copy" | "used" => (true, true),
        "src" | "usedsrc" => (false, true),
        "ldobjects" | "usedldobjects" => (true, false),
        _ => return Err(format!("-A {word}: expected on, off, src or ldobjects")),
    };
    Ok(Archive { objects, sources })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_ends() {
        let seconds = Duration::from_secs;
        assert_eq!(span("5"), Ok((seconds(0), Some(seconds(5)))));
        assert_eq!(span("2m"), Ok((seconds(0), Some(seconds(120)))));
        assert_eq!(span("10-1m"), Ok((seconds(10), Some(seconds(60)))));
        assert_eq!(span("1.5s-"), Ok((Duration::from_millis(1500), None)));
        for wrong in [
            "", "-", "-5", "5-5", "9-2", "x", "1d", "-1-2", "nan", "9e99",
        ] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn signals_have_names_and_numbers() {
        for word in ["USR1", "SIGUSR1", "sigusr1", "10"] {
            assert_eq!(signal('y', word), Ok(libc::SIGUSR1), "{word}");
        }
        for word in ["KILL", "9", "SEGV", "11", "CHLD", "0", "-1", "99", ""] {
            assert!(signal('y', word).is_err(), "{word}");
        }
        assert_eq!(pause_signal("USR2"), Ok((libc::SIGUSR2, true)));
        assert_eq!(pause_signal("USR2,r"), Ok((libc::SIGUSR2, false)));
        assert!(pause_signal("USR2,x").is_err());
        assert_eq!(signal_name(libc::SIGUSR1), "SIGUSR1");
    }

    #[test]
    fn periods_and_sizes_are_bounded() {
        assert_eq!(sample_period("off"), Ok(None));
        assert_eq!(sample_period("0.5"), Ok(Some(Duration::from_millis(500))));
        assert!(sample_period("0").is_err() && sample_period("x").is_err());
        assert_eq!(megabytes("3"), Ok(Some(3 << 20)));
        assert_eq!(megabytes("unlimited"), Ok(None));
        assert!(megabytes("0").is_err() && megabytes("-1").is_err());
    }
}
