//! Messages on standard error, which may be closed, full, or read by nobody.

use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsRawFd;

use crate::sys;

/// How long a message waits for a reader before it is dropped. The header has what it tells.
const LONGEST_WAIT_MS: i32 = 200;

/// Prints one line, if it can be written: a recording never fails or waits for lack of a reader.
pub fn say(message: impl Display) {
    let line = format!("collect: {message}");
    print_line(untrusted::printable(&line).into_owned().into_bytes());
}

/// The same without our name, as gprofng prints it. File names in it need not be UTF-8.
pub fn print_line(mut line: Vec<u8>) {
    line.push(b'\n');
    write(&line);
}

fn write(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let mut polled = [sys::writable(stderr.as_raw_fd())];
    // A pipe that is ready takes PIPE_BUF bytes without blocking; a line is shorter.
    if sys::poll(&mut polled, LONGEST_WAIT_MS).is_ok() && polled[0].revents != 0 {
        let _ = stderr.write_all(bytes);
    }
}

/// The longest line that is shown for a while: a longer one would take two rows of most terminals.
const SHOWN: usize = 79;

/// Shows a line on a terminal in the place of the one that was shown before.
pub fn show_line(line: &str) {
    let line = untrusted::printable(line);
    let cut: String = line.chars().take(SHOWN).collect();
    write(format!("\r{cut}{CLEAR}").as_bytes());
}

/// Removes the line that is shown.
pub fn clear_line() {
    write(format!("\r{CLEAR}").as_bytes());
}

/// Clears what is right of the cursor (ECMA-48, EL).
const CLEAR: &str = "\x1b[K";
