//! The terminal is given back, whatever happens.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::*;

/// What tests run as processes, in terminals of their own.
mod children {
    use super::*;

    #[test]
    #[ignore = "a test runs it, in a terminal"]
    fn panics_on_its_screen() {
        let _screen = Screen::new(Colours::Many).unwrap();
        panic!("of a test");
    }

    #[test]
    #[ignore = "a test runs it, in a terminal that is closed"]
    fn outlives_its_terminal() {
        let mut screen = Screen::new(Colours::Many).unwrap();
        while screen.terminal.draw(|_| {}).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(screen);
        // Nothing can be told of the test's end.
        std::process::exit(0);
    }
}

/// Both ends of a terminal, and one of [`children`] that runs in it.
fn in_a_terminal(test: &str) -> (OwnedFd, OwnedFd, Child) {
    // A child that had our end, too, would keep the terminal open.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("terminal::tests::children::{test}")])
        .args(["--ignored", "--nocapture"])
        .env("TERM", "xterm")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    (ours, theirs, child)
}

#[test]
fn a_terminal_that_is_closed_is_no_panic() {
    let (ours, theirs, mut child) = in_a_terminal("outlives_its_terminal");
    drop(theirs);
    let mut terminal = File::from(ours);
    let (mut seen, mut bytes) = (Vec::new(), [0; 1 << 12]);
    // Until something is drawn.
    while !String::from_utf8_lossy(&seen).contains("\u{1b}[?25l") {
        let count = terminal.read(&mut bytes).unwrap();
        seen.extend_from_slice(&bytes[..count]);
    }
    drop(terminal);
    let ended = child.wait().unwrap();
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let (ours, theirs, mut child) = in_a_terminal("panics_on_its_screen");
    let reader = std::thread::spawn(move || {
        let (mut seen, mut bytes) = (Vec::new(), [0; 1 << 12]);
        // Reading fails when nobody has the other end any more.
        while let Ok(count @ 1..) = File::from(ours.try_clone().unwrap()).read(&mut bytes) {
            seen.extend_from_slice(&bytes[..count]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    assert!(!child.wait().unwrap().success());
    let modes = tcgetattr(&theirs).unwrap().local_modes;
    drop(theirs);
    let seen = reader.join().unwrap();
    assert!(
        modes.contains(LocalModes::ECHO | LocalModes::ICANON),
        "{modes:?}"
    );
    let at = |what: &str| {
        seen.find(what)
            .unwrap_or_else(|| panic!("no {what:?} in {seen}"))
    };
    assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"), "{seen}");
    assert!(at("\u{1b}[?1049l") < at("of a test"), "{seen}");
    assert!(
        seen.contains("\u{1b}[?1000l"),
        "the mouse is the terminal's again"
    );
}

#[test]
fn where_nothing_can_be_drawn_nothing_is_begun() {
    assert!(usable(Some("xterm"), true).is_ok());
    assert!(usable(None, true).is_ok());
    assert!(usable(Some("xterm"), false).is_err());
    let why = Failure::from(usable(Some("dumb"), true).unwrap_err()).to_string();
    assert!(
        why.contains("TERM=dumb") && why.contains("er_print"),
        "{why}"
    );
}
