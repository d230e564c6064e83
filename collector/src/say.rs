//! Messages on standard error, which may be closed, full, or read by nobody.

use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsRawFd;

use crate::sys;

/// How long a message waits for a reader; then it is not said. What it tells stands in the header.
const PATIENCE_MS: i32 = 200;

/// Says one line, or nothing: a recording never fails, and never waits, for want of a reader.
pub fn say(message: impl Display) {
    tell(format!("collect: {message}").into_bytes());
}

/// The same without our name, as users of the command language know it; names of files in it may be
/// no text.
pub fn tell(mut line: Vec<u8>) {
    line.push(b'\n');
    let mut stderr = std::io::stderr().lock();
    let mut polled = [sys::writable(stderr.as_raw_fd())];
    // A pipe that is ready takes PIPE_BUF bytes without a wait: a line is shorter.
    if sys::poll(&mut polled, PATIENCE_MS).is_ok() && polled[0].revents != 0 {
        let _ = stderr.write_all(&line);
    }
}
