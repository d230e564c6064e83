//! The analyzer as people use it: the program in a real terminal (tmux), on real recordings.
//!
//! A key is answered when the screen shows what it should: nothing waits a fixed time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use end_to_end::{Cell, compiler, folder, tools};
use fixtures::{Family, WaitPolicy, program};

/// How long the screen may take: long, since the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(30);

/// A terminal in which the analyzer runs.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Starts `analyzer` with words, in a folder, on a screen of a size.
    fn start(name: &str, words: &[&Path], size: (u16, u16), place: &Path) -> Terminal {
        let command = [&[tools().analyzer.as_path()], words].concat();
        Terminal::run(name, &command, size, place)
    }

    /// Starts a program with words, in a folder, on a screen of a size.
    fn run(name: &str, command: &[&Path], size: (u16, u16), place: &Path) -> Terminal {
        let settings = place.join(format!("{name}.conf"));
        // What a program says that ends when it should not stays to be read.
        let text = "set -g default-terminal tmux-256color\nset -g status off\n\
                    set -g escape-time 0\nset -g remain-on-exit on\n";
        fs::write(&settings, text).expect("the folder is writable");
        let terminal = Terminal {
            socket: format!("parallax-{name}-{}", std::process::id()),
        };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let mut tmux = terminal.tmux();
        tmux.arg("-f").arg(&settings);
        tmux.args(["new-session", "-d", "-x", &width, "-y", &height, "-c"]);
        tmux.arg(place).args(command);
        let started = tmux
            .output()
            .expect("this test needs tmux; `cargo xtask test` installs it");
        let said = String::from_utf8_lossy(&started.stderr);
        assert!(started.status.success(), "{said}");
        terminal
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket]);
        tmux.env_remove("NO_COLOR").env_remove("TMUX");
        tmux
    }

    fn ask(&self, words: &[&str]) -> Output {
        self.tmux().args(words).output().expect("tmux is here")
    }

    /// What is on the screen.
    fn screen(&self) -> String {
        let output = self.ask(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until the screen shows what it should, and nothing is being made any more.
    fn until(&self, what: &str, shows: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if shows(&screen) && !screen.contains("making ") && !screen.contains("Reading ") {
                return screen;
            }
            assert!(begin.elapsed() < PATIENCE, "no {what} on\n{screen}");
            std::thread::sleep(LOOK);
        }
    }

    fn until_it_says(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Presses keys, by tmux's names.
    fn press(&self, keys: &[&str]) {
        let sent = self.ask(&[&["send-keys"], keys].concat());
        let said = String::from_utf8_lossy(&sent.stderr);
        assert!(sent.status.success(), "{keys:?}: {said}");
    }

    /// Types a text.
    fn type_in(&self, text: &str) {
        self.press(&["-l", text]);
    }

    /// The mouse's left button at a cell, counted from 0, in the words that terminals send.
    fn click(&self, column: u16, line: u16) {
        let at = format!("{};{}", column + 1, line + 1);
        self.type_in(&format!("\u{1b}[<0;{at}M"));
        self.type_in(&format!("\u{1b}[<0;{at}m"));
    }

    /// The process that runs in it.
    fn process(&self) -> u32 {
        let output = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse().expect("tmux tells a process's number")
    }

    /// Waits until its program has ended.
    fn ends(&self, process: u32) {
        let begin = Instant::now();
        while is_alive(process) {
            assert!(begin.elapsed() < PATIENCE, "{process} runs on");
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

/// Whether a process is there and no zombie.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    !matches!(state.trim().chars().next(), None | Some('Z' | 'X'))
}

/// A recording of a program on two threads, in a folder; recorded once for all tests.
fn record(name: &str, place: &Path) -> PathBuf {
    static RECORDED: OnceLock<PathBuf> = OnceLock::new();
    let recorded = RECORDED.get_or_init(recording);
    let path = place.join(name);
    fs::create_dir(&path).expect("the folder is new");
    for file in fs::read_dir(recorded).expect("collect made it").flatten() {
        fs::copy(file.path(), path.join(file.file_name())).expect("there is room");
    }
    path
}

fn recording() -> PathBuf {
    let cell = Cell {
        program: program("moments").expect("in the catalogue"),
        compiler: compiler(Family::Clang).clone(),
        library: None,
        threads: 2,
        policy: WaitPolicy::Passive,
        perf: true,
    };
    let recorded = cell.record();
    recorded
        .unwrap_or_else(|error| panic!("{error}"))
        .experiment
}

/// A folder of its own.
fn place(name: &str) -> PathBuf {
    let place = folder().join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("the folder is writable");
    place
}

/// The line that tells of the selected row, `2/37 foo`; nothing if there is none.
fn selected(screen: &str) -> &str {
    let counts = |line: &&str| {
        let count = line.split(' ').next().unwrap_or_default().split_once('/');
        count.is_some_and(|(at, all)| at.parse::<u32>().is_ok() && all.parse::<u32>().is_ok())
    };
    screen.lines().rev().find(counts).unwrap_or_default()
}

#[test]
fn every_view_of_a_real_recording_in_a_real_terminal() {
    let place = place("walk");
    let one = record("one.er", &place);
    let terminal = Terminal::start("walk", &[&one], (100, 30), &place);
    terminal.until_it_says("Where the time went");
    for (key, title) in [
        ("2", "Functions sorted by metric: Exclusive OMP Work Time"),
        ("3", "Callers and callees of "),
        ("4", "Functions Call Tree. Metric: Attributed OMP Work Time"),
        ("5", "Attributed Total Thread Time"),
        ("7", "Parallel regions sorted by potential gain"),
        ("8", "Threads"),
        ("9", "a column, cursor at"),
        ("0", "Experiment /"),
        ("1", "What to do first"),
    ] {
        terminal.press(&[key]);
        terminal.until_it_says(title);
        terminal.press(&["?"]);
        terminal.until("the help", |screen| screen.contains("these keys"));
        terminal.press(&["Escape"]);
        terminal.until("the view again", |screen| !screen.contains("these keys"));
    }

    // Names are found, and lead to their callers, source and instructions.
    terminal.press(&["2", "g", "/"]);
    terminal.type_in("OMP parallel");
    terminal.press(&["Enter"]);
    let screen = terminal.until("a region", |screen| {
        selected(screen).contains("OMP parallel")
    });
    let region = selected(&screen).to_owned();
    terminal.press(&["Enter"]);
    let screen = terminal.until_it_says("Callers and callees of ");
    let named = screen.lines().nth(1).expect("a title");
    let words = region.split_whitespace().nth(1).expect("a name");
    assert!(named.contains(words), "{named} is not of {region}");
    terminal.press(&["6"]);
    terminal.until("the source", |screen| screen.contains("#pragma omp"));
    terminal.press(&["d"]);
    terminal.until("instructions", |screen| screen.contains("%r"));

    // Each step can be taken back.
    terminal.press(&["Escape"]);
    terminal.until("the source again", |screen| screen.contains("Source of "));
    terminal.press(&["BSpace"]);
    terminal.until_it_says("Callers and callees of ");
    terminal.press(&["BSpace"]);
    terminal.until("the selected region", |screen| selected(screen) == region);

    // The order is the one that is chosen.
    terminal.press(&["2", "s"]);
    terminal.until_it_says("Order by");
    terminal.press(&["End", "Up", "Enter"]);
    terminal.until_it_says("Functions sorted by metric: Name");

    // The two modes show the same time under other callers.
    terminal.press(&["4", "+"]);
    let user = terminal.until_it_says("<OMP ");
    terminal.press(&["m", "m"]);
    terminal.until_it_says("machine mode");
    terminal.press(&["g", "/"]);
    terminal.type_in("clone");
    terminal.press(&["Enter"]);
    terminal.until("a worker's first function", |screen| {
        selected(screen).contains("clone")
    });
    assert!(!user.contains("clone"), "{user}");
    terminal.press(&["m"]);
    terminal.until_it_says("user mode");

    // On the timeline down to one sample, whose stack the mode rewrites.
    terminal.press(&["9", "g", "j"]);
    for _ in 0..16 {
        terminal.press(&["+", "."]);
    }
    let mut screen = terminal.until("a narrow window", |screen| screen.contains(" us a column"));
    // A step leads to the next sample or border of an interval, whichever comes first.
    for _ in 0..200 {
        if screen.contains("sample at ") {
            break;
        }
        terminal.press(&["."]);
        screen = terminal.until("another moment", |next| next != screen);
    }
    assert!(screen.contains("sample at "), "{screen}");
    let below = |screen: &str| {
        let at = screen.find("sample at ").unwrap_or(0);
        screen[at..].lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    let user = below(&screen);
    terminal.press(&["m", "m"]);
    let machine = below(&terminal.until_it_says("machine mode"));
    assert_ne!(user, machine);
    terminal.press(&["m", "a"]);
    terminal.until_it_says("user mode");

    // A filter is made of what is selected, and taken off.
    terminal.press(&["8", "j", "f"]);
    terminal.until_it_says("LWPID==");
    terminal.press(&["Enter"]);
    terminal.until("the filter", |screen| screen.contains("[LWPID=="));
    terminal.press(&["2"]);
    terminal.until_it_says("Functions sorted by");
    terminal.press(&["F"]);
    terminal.until("no filter", |screen| !screen.contains("[LWPID=="));

    // The mouse selects views and rows.
    terminal.click(1, 0);
    terminal.until_it_says("Where the time went");
    terminal.press(&["2", "g"]);
    terminal.until("the first row", |screen| selected(screen).starts_with("1/"));
    terminal.click(40, 7);
    terminal.until("another row", |screen| !selected(screen).starts_with("1/"));

    // What is written is what er_print prints.
    terminal.press(&["e", "Down", "Enter"]);
    terminal.until_it_says("wrote one.er-functions.json");
    let written = place.join("one.er-functions.json");
    assert!(fs::metadata(written).is_ok_and(|file| file.len() > 0));

    // Any size will do.
    for (width, height) in [(80, 24), (300, 80), (30, 6), (100, 30)] {
        let (width, height) = (width.to_string(), height.to_string());
        terminal.ask(&["resize-window", "-x", &width, "-y", &height]);
        for key in ["9", "5", "4", "1"] {
            terminal.press(&[key]);
            terminal.until("the view", |screen| screen.contains("user mode"));
        }
    }
    // Keys that come before the news of another size find the terminal smaller than it was.
    for turn in 0..6 {
        let (width, height) = [("200", "60"), ("24", "6")][turn % 2];
        terminal.press(&["9", "j"]);
        terminal.ask(&["resize-window", "-x", width, "-y", height]);
        terminal.press(&["k", "l", "5", "j", "4", "j", "1"]);
    }
    terminal.ask(&["resize-window", "-x", "100", "-y", "30"]);
    terminal.until_it_says("Where the time went");
    let process = terminal.process();
    terminal.press(&["q"]);
    terminal.ends(process);
}

#[test]
fn experiments_are_compared_in_every_view() {
    let place = place("compare");
    let (one, two) = (record("one.er", &place), record("two.er", &place));
    let terminal = Terminal::start("compare", &[&one, &two], (160, 40), &place);
    terminal.until_it_says("may be chance");
    terminal.press(&["2"]);
    terminal.until_it_says("Differences from (1) one.er: (2) two.er");
    for (key, shows) in [
        ("3", "Callers and callees"),
        ("4", "Call Tree"),
        ("5", "Attributed"),
        ("7", "Parallel regions"),
        ("8", "Threads"),
        // Its end: how many losses stand above the efficiencies is the machine's doing.
        ("1 G", "Efficiency of the threads, percent"),
    ] {
        terminal.press(&key.split(' ').collect::<Vec<_>>());
        terminal.until(shows, |screen| {
            screen.contains(shows) && screen.contains("Differences from (1) one.er: (2) two.er")
        });
    }
    terminal.press(&["0"]);
    terminal.until_it_says("One below the other: (1) one.er (2) two.er");
    terminal.press(&["9"]);
    // One experiment's rows may stand there before those of the other are made.
    terminal.until("each thread's rows under each other", |screen| {
        let labels: Vec<&str> = screen
            .lines()
            .filter(|line| line.contains("initial") || line.contains("worker"))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let mut pairs = labels.chunks(2);
        labels.len() >= 4 && pairs.all(|pair| pair == ["(1)", "(2)"])
    });
    terminal.press(&["2", "g", "/"]);
    terminal.type_in("OMP parallel");
    terminal.press(&["Enter", "6"]);
    terminal.until("both columns", |screen| {
        screen.contains("Differences from (1) one.er: (2) two.er") && screen.contains("#pragma omp")
    });
    terminal.press(&["d"]);
    terminal.until("both columns", |screen| {
        screen.contains("One below the other: (1) one.er (2) two.er") && screen.contains("%r")
    });
    terminal.press(&["q"]);
}

#[test]
fn a_program_is_recorded_and_shown_up_to_its_end() {
    let place = place("live");
    let shell = [
        "--live",
        "--",
        "sh",
        "-c",
        "sleep 1; echo said; kill -KILL $$",
    ];
    let words: Vec<&Path> = shell.iter().map(Path::new).collect();
    let terminal = Terminal::start("live", &words, (100, 30), &place);
    terminal.until_it_says("the recording is complete: test.1.er; the program ended with 137");
    terminal.press(&["0"]);
    terminal.until("the status", |screen| screen.contains("Exit status: 137"));
    let process = terminal.process();
    terminal.press(&["q"]);
    terminal.ends(process);
    terminal.until("what the program printed", |screen| screen.contains("said"));
    assert!(place.join("test.1.er").is_dir());
}

#[test]
fn a_program_that_runs_on_is_ended_or_left() {
    let place = place("ended");
    let words = ["--live", "--", "sh", "-c", "while sleep 0.2; do :; done"];
    let words: Vec<&Path> = words.iter().map(Path::new).collect();
    let terminal = Terminal::start("ended", &words, (100, 30), &place);
    terminal.until_it_says("recording: ");
    let process = terminal.process();
    terminal.press(&["q"]);
    terminal.until_it_says("The program is still running");
    terminal.press(&["Enter"]);
    terminal.until("it goes on", |screen| !screen.contains("still running"));
    assert!(is_alive(process));
    terminal.press(&["C-c"]);
    terminal.until_it_says("The program is still running");
    terminal.press(&["Down", "Enter"]);
    terminal.ends(process);
    let header = fs::read_to_string(place.join("test.1.er/header.json"));
    assert!(header.is_ok_and(|text| text.contains("exit_status")));
}

#[test]
fn a_damaged_experiment_is_shown_as_far_as_it_is_whole() {
    let place = place("damaged");
    let one = record("one.er", &place);
    let records = one.join("records");
    let length = fs::metadata(&records).expect("it was recorded").len();
    let file = fs::OpenOptions::new().write(true).open(&records);
    let cut = file.and_then(|file| file.set_len(length / 2));
    cut.expect("it is ours");
    let terminal = Terminal::start("damaged", &[&one], (80, 24), &place);
    terminal.until_it_says("! The run was recorded in part");
    for key in ["2", "3", "4", "5", "6", "d", "7", "8", "9", "m", "0"] {
        terminal.press(&[key]);
        terminal.until("the view", |screen| screen.contains(" mode"));
    }
    terminal.until_it_says("Warning: ");
    let process = terminal.process();
    terminal.press(&["q"]);
    terminal.ends(process);
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let place = place("closed");
    let one = record("one.er", &place);
    let terminal = Terminal::start("closed", &[&one], (80, 24), &place);
    terminal.until_it_says("Where the time went");
    let process = terminal.process();
    terminal.ask(&["kill-session"]);
    terminal.ends(process);
}

#[test]
fn what_cannot_be_drawn_on_is_told_before_anything_is_recorded() {
    let place = place("nowhere");
    let output = Command::new(&tools().analyzer)
        .args(["--live", "--", "touch", "begun"])
        .current_dir(&place)
        .output()
        .expect("the analyzer was built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot use this terminal"), "{said}");
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(!place.join("begun").exists() && !place.join("test.1.er").exists());
}

#[test]
fn what_is_no_experiment_is_told_where_the_shell_was() {
    let place = place("nowhere");
    // Run by a shell that stays: tmux loses the last words of a program that ends with its terminal.
    let script = place.join("shell");
    let text = format!("'{}' x.er; read -r line", tools().analyzer.display());
    fs::write(&script, text).expect("the folder is writable");
    let command = [Path::new("sh"), &script];
    let terminal = Terminal::run("nowhere", &command, (100, 30), &place);
    // In the terminal that the shell had, not on a screen that is gone with the program.
    terminal.until("its sentence", |screen| {
        screen.starts_with("analyzer: there is no experiment x.er: ")
    });
}
