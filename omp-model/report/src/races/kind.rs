//! The kinds of findings, by their words.

use experiment::findings::Check;

/// A kind of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// Races of both classes.
    Race,
    /// Deadlocks that happened or may.
    Deadlock,
    /// What the specification forbids.
    Misuse,
    /// Reads of memory that nothing has written.
    Uninit,
    /// Memory that a region leaves different with one thread.
    Divergence,
}

impl FindingKind {
    /// Every kind, in the order of documents.
    pub const ALL: [FindingKind; 5] = [
        FindingKind::Race,
        FindingKind::Deadlock,
        FindingKind::Misuse,
        FindingKind::Uninit,
        FindingKind::Divergence,
    ];

    /// Its word in files of suppressions.
    pub const fn word(self) -> &'static str {
        match self {
            FindingKind::Race => "race",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Misuse => "misuse",
            FindingKind::Uninit => "uninit",
            FindingKind::Divergence => "divergence",
        }
    }

    /// The command that lists it, which is also the word of its budget.
    pub const fn view(self) -> &'static str {
        match self {
            FindingKind::Race => "races",
            FindingKind::Deadlock => "deadlocks",
            FindingKind::Misuse => "misuse",
            FindingKind::Uninit => "uninit",
            FindingKind::Divergence => "divergence",
        }
    }

    /// One or several, in words.
    pub const fn noun(self, count: usize) -> &'static str {
        match (self, count) {
            (FindingKind::Race, 1) => "race",
            (FindingKind::Race, _) => "races",
            (FindingKind::Deadlock, 1) => "deadlock",
            (FindingKind::Deadlock, _) => "deadlocks",
            (FindingKind::Misuse, 1) => "misuse",
            (FindingKind::Misuse, _) => "kinds of misuse",
            (FindingKind::Uninit, 1) => "uninitialised read",
            (FindingKind::Uninit, _) => "uninitialised reads",
            (FindingKind::Divergence, 1) => "divergence",
            (FindingKind::Divergence, _) => "divergences",
        }
    }

    /// What is to be looked for to find it.
    pub const fn check(self) -> Check {
        match self {
            FindingKind::Race => Check::Race,
            FindingKind::Deadlock | FindingKind::Misuse => Check::Deadlock,
            FindingKind::Uninit => Check::Init,
            FindingKind::Divergence => Check::Compare,
        }
    }

    /// The word of `collect -r` for that.
    pub const fn option(self) -> &'static str {
        match self.check() {
            Check::Race => "race",
            Check::Deadlock => "deadlock",
            Check::Init => "init",
            Check::Compare => "compare",
        }
    }
}
