//! What is done after the program's end. The first signal by which a user, a terminal or a batch system ends a
//! command ends it, and a terminal shows it once it takes long.

use std::io::IsTerminal;
use std::rc::Rc;
use std::time::{Duration, Instant};

use experiment::tables::Module;
use symbolize::{Generated, KernelFunction, SymbolSource, Symbols};

use crate::say::{clear_line, show_line};
use crate::signals::Signals;
use crate::sys;

/// The time after which a terminal shows what is done.
const QUIET: Duration = Duration::from_secs(2);
/// The time between two changes of what it shows.
const CHANGE: Duration = Duration::from_millis(250);
/// The time between two looks for signals, each of which is a system call.
const LOOK: Duration = Duration::from_millis(5);

/// Work after the program's end.
pub struct After<'a> {
    signals: &'a mut Signals,
    /// The program, if it goes on: signals are for it, too.
    program: Option<i32>,
    look_at: Instant,
    /// When the line is shown next; `None` without a terminal.
    show_at: Option<Instant>,
    is_shown: bool,
    is_ended: bool,
}

impl<'a> After<'a> {
    /// Begins. Signals that have arrived before were for the program.
    pub fn new(signals: &'a mut Signals, program: Option<i32>) -> After<'a> {
        let now = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        let mut after = After {
            signals,
            program,
            look_at: now,
            show_at: is_terminal.then(|| now + QUIET),
            is_shown: false,
            is_ended: false,
        };
        after.look();
        after
    }

    /// Whether to go on, asked before each of many steps; `doing`: what is done, for the terminal.
    pub fn goes_on(&mut self, doing: impl FnOnce() -> String) -> bool {
        let now = Instant::now();
        if self.is_ended || now < self.look_at {
            return !self.is_ended;
        }
        self.look_at = now + LOOK;
        self.is_ended = self.look();
        if self.show_at.is_some_and(|at| now >= at) && !self.is_ended {
            self.show_at = Some(now + CHANGE);
            self.is_shown = true;
            show_line(&format!(
                "collect: {}; Ctrl-C ends this, not the experiment",
                doing()
            ));
        }
        !self.is_ended
    }

    /// Whether a signal has ended it.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Passes on what has arrived for the program. Returns whether a signal told to end.
    fn look(&mut self) -> bool {
        let arrived = self.signals.arrived();
        if let Some(pid) = self.program {
            for signal in arrived.for_program {
                sys::send(pid, signal);
            }
        }
        arrived.ending
    }
}

impl Drop for After<'_> {
    fn drop(&mut self) {
        if self.is_shown {
            clear_line();
        }
    }
}

/// A source of symbols that is asked after the program's end.
pub struct Watched<'a, 's, S> {
    /// The source itself.
    pub source: S,
    /// The work that asks it.
    pub after: &'a mut After<'s>,
}

impl<S: SymbolSource> SymbolSource for Watched<'_, '_, S> {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        self.source.symbols(module)
    }

    fn generated(&mut self, module: &Module) -> Option<Rc<Generated>> {
        self.source.generated(module)
    }

    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        self.source.kernel(addresses)
    }

    fn goes_on(&mut self, what: &str) -> bool {
        self.after.goes_on(|| format!("naming functions, {what}"))
    }

    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        self.source.source(path)
    }
}
