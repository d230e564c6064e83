//! What `collect -r` found in a run.
//!
//! All names are resolved, so a reader needs neither the program nor its debug information. Nothing here
//! knows how a finding was made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The most findings of a kind that are stored, whatever their length.
const MOST: usize = 50_000;

/// The most bytes of JSON that are stored and read. Unpacked, they take many times as much.
pub(crate) const LONGEST: u64 = 16 << 20;

/// Everything that `collect -r` found, and how much of the program it saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// What was looked for: the words of `collect -r`, without `all`.
    pub checks: Vec<Check>,
    /// How much of the program the checks saw.
    pub coverage: Coverage,
    /// Accesses of two strands to one variable without an order between them. The most certain
    /// first, then by count.
    pub races: Vec<Race>,
    /// Cycles of waits for locks, and barriers that a thread never reaches.
    pub deadlocks: Vec<Deadlock>,
    /// Calls and constructs that the OpenMP specification forbids.
    pub misuse: Vec<Misuse>,
    /// Reads of memory that nothing has written.
    pub uninitialised: Vec<Uninitialised>,
    /// Memory that a region leaves different with one thread.
    #[serde(default)]
    pub divergences: Vec<Divergence>,
    /// What was compared with executions by one thread; `None` if nothing was to be.
    #[serde(default)]
    pub comparison: Option<Comparison>,
}

/// A kind of error that `collect -r` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// `-r race`.
    Race,
    /// `-r deadlock`, and misuse with it.
    Deadlock,
    /// `-r init`.
    Init,
    /// `-r compare`.
    Compare,
}

/// How much of the program was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Accesses that were recorded.
    pub accesses: u64,
    /// Threads that recorded.
    pub threads: u64,
    /// Seconds that threads waited, in sum, because their ring was full.
    pub waited: f64,
    /// Load objects whose code was executed by the program and is not instrumented.
    pub uninstrumented: Vec<String>,
    /// Those of them that are the program's own: no libraries of the system.
    pub own_uninstrumented: Vec<String>,
    /// Sentences about what was not checked, such as a checker that ended early.
    pub losses: Vec<String>,
}

/// How a loss begins where there is nothing else.
const NOTHING: &str = "nothing was checked";

impl Coverage {
    /// Whether nothing of the program was checked.
    pub fn is_nothing_checked(&self) -> bool {
        self.losses.iter().any(|it| it.starts_with(NOTHING))
    }

    /// What of the program itself was not checked, as a sentence; `None`: nothing. Libraries of the system
    /// do not count.
    pub fn shortfall(&self) -> Option<String> {
        let nothing = self.losses.iter().find_map(|it| it.strip_prefix(NOTHING));
        if let Some(why) = nothing {
            return Some(format!("Nothing was checked{why}"));
        }
        let objects = self.own_uninstrumented.join(", ");
        let objects = (!objects.is_empty()).then(|| format!("not instrumented: {objects}"));
        let parts: Vec<String> = objects.into_iter().chain(self.losses.clone()).collect();
        (!parts.is_empty()).then(|| format!("Not all was checked: {}", parts.join("; ")))
    }
}

/// One pair of lines that race for one variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// How certain it is.
    pub class: Class,
    /// What is accessed.
    pub variable: Variable,
    /// How many pairs of unordered accesses were found; at least 1.
    pub count: u64,
    /// The two accesses. A write comes before a read; of two of a kind, the one on the lower line.
    pub accesses: [Access; 2],
    /// What to do about it, if the accesses prove it: one sentence.
    pub advice: Option<String>,
}

/// How certain a race is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// No order and no common lock: certain for this input.
    #[serde(rename = "race")]
    Race,
    /// Ordered in this run only by a lock's or a flag's hand-over.
    #[serde(rename = "order by chance")]
    OrderByChance,
}

impl Class {
    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Class::Race => "race",
            Class::OrderByChance => "order by chance",
        }
    }
}

/// A piece of memory in the program's own words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Name with its element or field, such as `a[17]`, `p.next`; `None` if nothing names it.
    pub name: Option<String>,
    /// The address of one instance, in the recorded process.
    pub address: u64,
    /// The size of the access in bytes.
    pub size: u64,
    /// The size of the whole variable or block in bytes; 0 if unknown.
    pub whole: u64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where memory comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Unknown.
    #[default]
    Unknown,
    /// A global or static variable, declared here.
    Global(Declaration),
    /// A thread's copy of a threadprivate variable, declared here.
    Thread(Declaration),
    /// A variable of a function, declared here.
    Stack(Declaration),
    /// A heap block, and the stack of its allocation, innermost frame first.
    Heap(Vec<Frame>),
}

/// The place of a declaration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    /// The function that declares it; empty for globals.
    pub function: String,
    /// Source file as the debug information names it; empty if unknown.
    pub file: String,
    /// 0 if unknown.
    pub line: u32,
}

/// A frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The function's name as reports show it; the program's own name for it, not the compiler's
    /// for an outlined body, in user stacks.
    pub function: String,
    /// Source file as the debug information names it; empty if unknown.
    pub file: String,
    /// 0 if unknown.
    pub line: u32,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Whether it reads or writes.
    pub kind: Kind,
    /// User mode: innermost frame first, down to `main`. The first frame is the access.
    pub stack: Vec<Frame>,
    /// Machine mode: innermost frame first, down to the thread's first frame.
    pub machine_stack: Vec<Frame>,
    /// The constructs around it, innermost first.
    pub constructs: Vec<Construct>,
    /// The number of the thread in its team.
    pub thread: u32,
    /// What ran without synchronisation, in words: `iterations 0 to 499`, `task created at f.c:12`.
    pub strand: String,
    /// Names of the locks held.
    pub locks: Vec<String>,
    /// The compiler has given the access no line: the stacks begin with that of the code beside it.
    pub is_line_inferred: bool,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A plain load.
    #[serde(rename = "read")]
    Read,
    /// A plain store.
    #[serde(rename = "write")]
    Write,
    /// An atomic load.
    #[serde(rename = "atomic read")]
    AtomicRead,
    /// An atomic store, or one that reads and writes.
    #[serde(rename = "atomic write")]
    AtomicWrite,
}

impl Kind {
    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::AtomicRead => "atomic read",
            Kind::AtomicWrite => "atomic write",
        }
    }
}

/// An OpenMP construct.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Construct {
    /// Such as `parallel`, `for`, `task`.
    pub name: String,
    /// Source file as the debug information names it; empty if unknown.
    pub file: String,
    /// 0 if unknown.
    pub line: u32,
}

/// A cycle of waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deadlock {
    /// The program hung in it; else it is possible with other timing.
    pub happened: bool,
    /// Its edges: each thread holds one and wants the next.
    pub edges: Vec<Edge>,
    /// What it is, in one sentence.
    pub detail: String,
}

/// A thread that holds one thing and waits for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The number of the thread in its team.
    pub thread: u32,
    /// The lock that it holds; empty if it holds none, as at a barrier.
    pub holds: String,
    /// The stack of the call by which it took that lock, innermost first.
    pub held: Vec<Frame>,
    /// The lock or barrier that it wants.
    pub wants: String,
    /// The stack of the call by which it waits, innermost first.
    pub wanted: Vec<Frame>,
}

/// Something that the specification forbids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misuse {
    /// What kind, in a few words: `lock released by another thread`.
    pub kind: String,
    /// What happened, in one sentence with names and places.
    pub detail: String,
    /// Where, innermost frame first.
    pub stack: Vec<Frame>,
    /// How often; at least 1.
    pub count: u64,
}

/// Reads of memory that nothing has written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uninitialised {
    /// What the memory holds.
    pub class: Content,
    /// What is read.
    pub variable: Variable,
    /// User mode: where, innermost frame first.
    pub stack: Vec<Frame>,
    /// The constructs around it, innermost first.
    pub constructs: Vec<Construct>,
    /// How often; at least 1.
    pub count: u64,
}

/// What memory holds that nothing has written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Content {
    /// No value of the program.
    #[default]
    #[serde(rename = "uninitialised")]
    Undefined,
    /// Zero, as static memory does at first. C defines that, Fortran does not.
    #[serde(rename = "initial value")]
    Initial,
}

impl Content {
    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Content::Undefined => "uninitialised",
            Content::Initial => "initial value",
        }
    }
}

/// Memory that a parallel region leaves different with one thread than with as many as the program asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// How it differs.
    pub class: Difference,
    /// The first element that differs.
    pub variable: Variable,
    /// The last element that differs, if it is another one.
    pub last: Option<String>,
    /// How many elements differ in the first instance; of unknown size, how many words of 8 bytes.
    pub elements: u64,
    /// Bytes of an element; 0 if unknown.
    pub element_bytes: u64,
    /// More elements differ than are counted.
    pub is_cut: bool,
    /// Differing bytes: the distance from the begin of the variable or block, and how many. The first ones.
    pub ranges: Vec<(u64, u64)>,
    /// The first values that differ.
    pub values: Vec<Values>,
    /// How far another direction of rounding changes the variable at most; 0: not at all.
    pub spread: f64,
    /// The frame that executes the construct, as far as it is known.
    pub stack: Vec<Frame>,
    /// The construct.
    pub constructs: Vec<Construct>,
    /// The first instance of the construct in which it was found, from 1.
    pub instance: u64,
    /// In how many of the compared instances it was found; at least 1.
    pub count: u64,
    /// How many threads the program asked for.
    pub threads: u64,
    /// What to do about it.
    pub advice: Option<String>,
}

/// How memory differs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Difference {
    /// Both executions changed it, to different values.
    #[default]
    #[serde(rename = "different")]
    Different,
    /// One thread changed it, several threads did not.
    #[serde(rename = "written by nobody")]
    Unwritten,
    /// Several threads changed it, one thread did not.
    #[serde(rename = "written only with N threads")]
    Extra,
    /// The variable holds the same values in another order, as a list that threads fill one after the other.
    #[serde(rename = "in another order")]
    Order,
}

impl Difference {
    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Difference::Different => "different",
            Difference::Unwritten => "written by nobody",
            Difference::Extra => "written only with N threads",
            Difference::Order => "in another order",
        }
    }
}

/// The values of one element, as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// The element; `None` if nothing names it.
    pub name: Option<String>,
    /// Before the region.
    pub before: String,
    /// After it with one thread.
    pub one: String,
    /// After it with several threads.
    pub several: String,
}

/// What was compared with executions by one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Each parallel construct that the program executed.
    pub constructs: Vec<Compared>,
    /// Seconds that comparing took.
    pub spent: f64,
    /// Seconds from the program's start to the last comparison, or its end.
    pub elapsed: f64,
}

/// How much of a construct was compared. Words have 8 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The construct.
    pub construct: Construct,
    /// The function that has it; empty if unknown.
    pub function: String,
    /// How often it was executed.
    pub instances: u64,
    /// How many instances were compared.
    pub compared: u64,
    /// Instances that could not be compared, by cause.
    pub not: Vec<(String, u64)>,
    /// Words that were compared.
    pub words: u64,
    /// Words that two executions with one thread leave different as well.
    pub varying: u64,
    /// Words that differ within rounding.
    pub rounded: u64,
    /// Words of arrays with a part for each thread, and numbers of threads.
    pub per_thread: u64,
    /// Pointers to blocks that the region allocates.
    pub pointers: u64,
    /// The largest change by another direction of rounding where a difference was taken for rounding.
    pub spread: f64,
}

impl Comparison {
    /// Instances that were compared, and all.
    pub fn instances(&self) -> (u64, u64) {
        let sum = |of: fn(&Compared) -> u64| {
            let each = self.constructs.iter().map(of);
            each.fold(0, u64::saturating_add)
        };
        (sum(|it| it.compared), sum(|it| it.instances))
    }
}

impl Findings {
    /// The source files that they name.
    pub fn files(&self) -> BTreeSet<&str> {
        let variables = self.races.iter().map(|race| &race.variable);
        let mut frames: Vec<&Frame> = Vec::new();
        let mut constructs: Vec<&Construct> = Vec::new();
        let mut files = BTreeSet::new();
        let read = self.uninitialised.iter().map(|read| &read.variable);
        let differing = self.divergences.iter().map(|it| &it.variable);
        for variable in variables.chain(read).chain(differing) {
            match &variable.origin {
                Origin::Unknown => {}
                Origin::Global(it) | Origin::Thread(it) | Origin::Stack(it) => {
                    files.insert(it.file.as_str());
                }
                Origin::Heap(stack) => frames.extend(stack),
            }
        }
        for read in &self.uninitialised {
            frames.extend(&read.stack);
            constructs.extend(&read.constructs);
        }
        for divergence in &self.divergences {
            frames.extend(&divergence.stack);
            constructs.extend(&divergence.constructs);
        }
        let compared = self.comparison.iter().flat_map(|it| &it.constructs);
        constructs.extend(compared.map(|it| &it.construct));
        for access in self.races.iter().flat_map(|race| &race.accesses) {
            frames.extend(&access.stack);
            constructs.extend(&access.constructs);
        }
        for edge in self.deadlocks.iter().flat_map(|it| &it.edges) {
            frames.extend(edge.held.iter().chain(&edge.wanted));
        }
        frames.extend(self.misuse.iter().flat_map(|it| &it.stack));
        files.extend(frames.into_iter().map(|frame| frame.file.as_str()));
        files.extend(constructs.into_iter().map(|it| it.file.as_str()));
        files.remove("");
        files
    }

    /// The findings as JSON. Of more than is read, the last of each kind are left out, and that is said.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        self.fitting(MOST, LONGEST)
    }

    /// At most that many of each kind, and bytes.
    fn fitting(&self, most: usize, longest: u64) -> Vec<u8> {
        let all: usize = self.lengths().iter().sum();
        let mut kept = self.clone();
        let mut most = most;
        loop {
            kept.races.truncate(most);
            kept.deadlocks.truncate(most);
            kept.misuse.truncate(most);
            kept.uninitialised.truncate(most);
            kept.divergences.truncate(most);
            let lengths = kept.lengths();
            let left_out = all - lengths.iter().sum::<usize>();
            if left_out > 0 {
                let losses = &mut kept.coverage.losses;
                losses.truncate(self.coverage.losses.len());
                losses.push(format!(
                    "{left_out} more findings are not stored: no report could show as many"
                ));
            }
            let json = serde_json::to_vec(&kept).expect("findings are numbers and strings");
            if json.len() as u64 <= longest || most == 0 {
                return json;
            }
            most = lengths.into_iter().max().unwrap_or(0) / 2;
        }
    }

    fn lengths(&self) -> [usize; 5] {
        let Findings {
            races,
            deadlocks,
            misuse,
            uninitialised,
            divergences,
            ..
        } = self;
        [
            races.len(),
            deadlocks.len(),
            misuse.len(),
            uninitialised.len(),
            divergences.len(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_is_read_is_not_written_but_counted() {
        let row = |number: u64| Misuse {
            kind: "a kind".to_owned(),
            detail: number.to_string(),
            stack: Vec::new(),
            count: 1,
        };
        let all = Findings {
            misuse: (0..300).map(row).collect(),
            ..Findings::default()
        };
        let kept = |most, longest| {
            let json = all.fitting(most, longest);
            let read: Findings = serde_json::from_slice(&json).expect("what was written");
            assert!(json.len() as u64 <= longest);
            assert_eq!(read.misuse, all.misuse[..read.misuse.len()]);
            (read.misuse.len(), read.coverage.losses)
        };
        assert_eq!(kept(300, 1 << 20), (300, Vec::new()));
        for (most, longest) in [(300, 10_000), (100, 1 << 20), (200, 5_000)] {
            let (count, losses) = kept(most, longest);
            assert!(count > 0 && count <= most, "{count} of {most}, {longest}");
            let [loss] = losses.as_slice() else {
                panic!("{losses:?}");
            };
            assert!(
                loss.starts_with(&format!("{} more findings", 300 - count)),
                "{loss}"
            );
        }
    }
}
