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
    let mut stderr = std::io::stderr().lock();
    let mut polled = [sys::writable(stderr.as_raw_fd())];
    // A pipe that is ready takes PIPE_BUF bytes without blocking; a line is shorter.
    if sys::poll(&mut polled, LONGEST_WAIT_MS).is_ok() && polled[0].revents != 0 {
        let _ = stderr.write_all(&line);
    }
}
