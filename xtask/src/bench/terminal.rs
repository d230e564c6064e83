//! A pseudo-terminal, to measure when a program's screen shows a word.
#![allow(unsafe_code)] // openpty, for which the standard library has nothing.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::usage::{Usage, reap};
use crate::Outcome;
use crate::command::{cannot_start, typed};

/// Lines and columns.
const SIZE: (u16, u16) = (40, 120);

/// Starts a program in a terminal, waits until `word` is on its screen, and presses `q`. The wall
/// time is that until the word appeared; the other values are of the whole run.
pub(super) fn until_shown(command: &mut Command, word: &str, folder: &Path) -> Outcome<Usage> {
    let (ours, theirs) = pair().map_err(|e| format!("no terminal can be made: {e}"))?;
    let again = |fd: &OwnedFd| fd.try_clone().map_err(|e| e.to_string());
    let errors = folder.join("stderr");
    command
        .env("TERM", "xterm-256color")
        .stdin(Stdio::from(again(&theirs)?))
        .stdout(Stdio::from(theirs))
        .stderr(File::create(&errors).map_err(|e| format!("{}: {e}", errors.display()))?);
    let start = Instant::now();
    let child = command.spawn().map_err(|e| cannot_start(command, &e))?;
    // An open copy of the program's end would keep the terminal open.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut terminal = File::from(ours);
    let mut screen = vt100::Parser::new(SIZE.0, SIZE.1, 0);
    let mut shown = None;
    let mut bytes = [0; 1 << 16];
    // Reading fails when the program has closed its end.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        screen.process(&bytes[..count]);
        if shown.is_none() && screen.screen().contents().contains(word) {
            shown = Some(start.elapsed().as_secs_f64());
            terminal.write_all(b"q").map_err(|e| e.to_string())?;
        }
    }
    let used = reap(child.id(), command, &errors)?;
    match shown {
        Some(wall) => Ok(Usage { wall, ..used }),
        None => Err(format!("`{}` never showed {word}", typed(command))),
    }
}

/// Both ends of a new terminal: ours, and the program's.
fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize {
        ws_row: SIZE.0,
        ws_col: SIZE.1,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let (name, modes) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: the pointers to the ends and the size are to variables that outlive the call; a name
    // and modes may be null.
    let made = unsafe { libc::openpty(&mut ours, &mut theirs, name, modes, &size) };
    if made != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: both were just opened, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_waited_for_until_its_word_comes_and_told_to_quit() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        // The word is drawn in two steps, as a terminal interface draws what has changed.
        let draws = "stty raw; printf 'Xeady\\033[1;1Hr'; head -c 1 >/dev/null";
        shell.args(["-c", draws]);
        let used = until_shown(&mut shell, "ready", folder.path()).unwrap();
        assert!(used.wall > 0.0 && used.peak_mib > 0.5);
        let mut silent = Command::new("true");
        let error = until_shown(&mut silent, "ready", folder.path()).unwrap_err();
        assert!(error.ends_with("never showed ready"), "{error}");
    }
}
