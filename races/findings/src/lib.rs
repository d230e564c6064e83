//! What `collect -r` found in a run, as an experiment stores it: the file [`FILE`].
//!
//! All names are resolved, so a reader needs neither the program nor its debug information. The
//! checkers write it, `report` makes documents of it. Nothing here knows how a finding was made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The name of the file in the experiment's folder.
pub const FILE: &str = "findings.json";

/// The version of the file's form. A reader refuses another one.
pub const VERSION: u32 = 1;

/// Everything that `collect -r` found, and how much of the program it saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// [`VERSION`].
    pub version: u32,
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
    /// The sources that findings name, as they were when the run was recorded. A reader shows the lines
    /// of no other file, unless its user says where it is: anybody may have made an experiment.
    #[serde(default)]
    pub sources: Vec<Source>,
}

/// A source file as it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its path, as frames and declarations have it.
    pub file: String,
    /// The MD5 digest of its contents.
    pub digest: [u8; 16],
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
    #[serde(default)]
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
    #[serde(default)]
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
    #[serde(default)]
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

impl Findings {
    /// The source files that they name.
    pub fn files(&self) -> BTreeSet<&str> {
        let variables = self.races.iter().map(|race| &race.variable);
        let mut frames: Vec<&Frame> = Vec::new();
        let mut constructs: Vec<&Construct> = Vec::new();
        let mut files = BTreeSet::new();
        for variable in variables.chain(self.uninitialised.iter().map(|read| &read.variable)) {
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

    /// The content of the file, as JSON.
    ///
    /// # Errors
    /// Those of the JSON writer.
    pub fn to_json(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec_pretty(self).map_err(|error| error.to_string())
    }

    /// Reads the content of the file.
    ///
    /// # Errors
    /// A phrase that says what is wrong with it.
    pub fn from_json(text: &[u8]) -> Result<Findings, String> {
        let findings: Findings = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if findings.version == VERSION {
            Ok(findings)
        } else {
            Err(format!("version {} is not known", findings.version))
        }
    }

    /// Changes every text of it, as a reader does that shows the text of others on a terminal.
    pub fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        let coverage = &mut self.coverage;
        let words = coverage.uninstrumented.iter_mut();
        let words = words.chain(&mut coverage.own_uninstrumented);
        words.chain(&mut coverage.losses).for_each(&mut *change);
        for race in &mut self.races {
            of_variable(&mut race.variable, change);
            race.advice.iter_mut().for_each(&mut *change);
            for access in &mut race.accesses {
                of_frames(&mut access.stack, change);
                of_frames(&mut access.machine_stack, change);
                of_constructs(&mut access.constructs, change);
                change(&mut access.strand);
                access.locks.iter_mut().for_each(&mut *change);
            }
        }
        for deadlock in &mut self.deadlocks {
            change(&mut deadlock.detail);
            for edge in &mut deadlock.edges {
                change(&mut edge.holds);
                change(&mut edge.wants);
                of_frames(&mut edge.held, change);
                of_frames(&mut edge.wanted, change);
            }
        }
        for misuse in &mut self.misuse {
            change(&mut misuse.kind);
            change(&mut misuse.detail);
            of_frames(&mut misuse.stack, change);
        }
        for read in &mut self.uninitialised {
            of_variable(&mut read.variable, change);
            of_frames(&mut read.stack, change);
            of_constructs(&mut read.constructs, change);
        }
        for source in &mut self.sources {
            change(&mut source.file);
        }
    }
}

fn of_frames(frames: &mut [Frame], change: &mut impl FnMut(&mut String)) {
    for frame in frames {
        change(&mut frame.function);
        change(&mut frame.file);
    }
}

fn of_constructs(constructs: &mut [Construct], change: &mut impl FnMut(&mut String)) {
    for construct in constructs {
        change(&mut construct.name);
        change(&mut construct.file);
    }
}

fn of_variable(variable: &mut Variable, change: &mut impl FnMut(&mut String)) {
    variable.name.iter_mut().for_each(&mut *change);
    match &mut variable.origin {
        Origin::Unknown => {}
        Origin::Global(it) | Origin::Thread(it) | Origin::Stack(it) => {
            change(&mut it.function);
            change(&mut it.file);
        }
        Origin::Heap(stack) => of_frames(stack, change),
    }
}
