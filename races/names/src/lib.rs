//! Names what the checkers found: addresses become functions, lines and variables.
//!
//! A *user stack* shows the program as its author wrote it: the frames of the strand without those of
//! runtimes, then those of the code that created it, and so on down to `main`. A *machine stack* has
//! the frames of the thread alone.

mod advice;
mod debug;
mod divergences;
mod loop_variables;
mod loops;
mod places;
mod pointers;
mod source;
mod stacks;
mod synchronisation;
mod types;
mod uninitialised;
mod updates;
mod variables;

use std::path::Path;
use std::rc::Rc;

use experiment::findings::{Access, Class, Construct, Frame, Kind, Origin, Race, Variable};
use experiment::symbols::Workshare;
use hashbrown::{HashMap, HashSet};
use race_checker::contexts::Contexts;
use race_checker::lock_order::Lock;
use race_checker::races;
use race_checker::site::{Base, Block, ConstructKind, Place, Site, Spread, StrandKind};
use race_stream::record::{ATOMIC, WRITE};

use advice::Advisor;
pub use divergences::{comparison, divergences};
pub use places::Places;
use places::{Body, UserFrame};
use pointers::Memory;
pub use synchronisation::{deadlocks, misuses};
pub use uninitialised::uninitialised;

/// Asked before each finding is named, with how many are, and how many there are: whether to go on. If not, the
/// rest stands at its addresses.
pub type GoesOn<'a> = &'a mut dyn FnMut(usize, usize) -> bool;

/// Names the races of a program, whose load objects are in `places`.
pub fn races(
    found: &[races::Race],
    contexts: &Contexts,
    places: &mut Places,
    goes_on: GoesOn<'_>,
) -> Vec<Race> {
    let mut flags: HashSet<u64> = HashSet::new();
    for race in found {
        places.set_nameless(!goes_on(0, found.len()));
        if race.sites.iter().any(|site| places.is_in_wait(site.code)) {
            flags.insert(race.address);
        }
    }
    let mut namer = Namer::new(contexts, places);
    namer.flags = flags;
    let mut all: Vec<Race> = Vec::new();
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    for (at, race) in found.iter().enumerate() {
        namer.places.set_nameless(!goes_on(at, found.len()));
        let named = namer.race(race);
        // No source assigns to a reference: GCC writes back what it has passed to an inner region.
        if let Place::Stack(Some(frame)) = &race.place
            && namer.places.is_reference(&named.variable, frame)
        {
            continue;
        }
        // Nor does a statement stand where Fortran declares a variable: flang copies a threadprivate one
        // to all threads there for `copyin`, also to itself.
        if matches!(race.place, Place::Static | Place::Heap(_)) && namer.is_declared(&named) {
            continue;
        }
        let number = *numbers.entry(key(&named)).or_insert(all.len());
        match all.get_mut(number) {
            None => all.push(named),
            Some(known) => {
                known.count += named.count;
                if named.class < known.class {
                    let count = known.count;
                    *known = named;
                    known.count = count;
                }
            }
        }
    }
    let advice: Vec<_> = {
        let mut advisor = Advisor::new(&all, &mut namer.places.sources);
        let is_named = |race: &Race| race.advice.as_deref() != Some(NAMELESS);
        let mut advice = |race: &Race| is_named(race).then(|| advisor.of(race))?;
        all.iter().map(&mut advice).collect()
    };
    for (race, advice) in all.iter_mut().zip(advice) {
        race.advice = advice.or(race.advice.take());
    }
    namer.places.set_nameless(false);
    let mut all = one_of_chance_each(all);
    all.sort_by(|one, other| {
        let order = |race: &Race| (race.class, std::cmp::Reverse(race.count));
        order(one)
            .cmp(&order(other))
            .then_with(|| place_of(one).cmp(&place_of(other)))
    });
    all
}

/// The place of a race's first access.
fn place_of(race: &Race) -> Option<(&str, u32)> {
    let first = race.accesses[0].stack.first();
    first.map(|frame| (frame.file.as_str(), frame.line))
}

/// Of what is ordered by chance, one for each object: who hands an object over by a flag or a queue accesses
/// it on many lines. The one on the lowest line stands for all.
fn one_of_chance_each(all: Vec<Race>) -> Vec<Race> {
    let mut kept: Vec<Race> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for race in all {
        let known = match race.class {
            Class::Race => None,
            Class::OrderByChance => {
                let number = numbers.entry(object(&race));
                let number = number.or_insert(kept.len());
                kept.get_mut(*number)
            }
        };
        match known {
            None => kept.push(race),
            Some(known) => {
                let count = known.count + race.count;
                if place_of(&race) < place_of(known) {
                    *known = race;
                }
                known.count = count;
            }
        }
    }
    kept
}

/// What distinguishes an object for a reader: where it is declared and its name, or where it was allocated.
fn object(race: &Race) -> String {
    let name = race.variable.name.as_deref().map(whole);
    let name = name.unwrap_or_default();
    match &race.variable.origin {
        Origin::Heap(stack) => match stack.first() {
            Some(frame) => format!("{}:{}", frame.file, frame.line),
            None => format!("{name} {:#x}", race.variable.address),
        },
        Origin::Global(at) | Origin::Thread(at) | Origin::Stack(at) => {
            format!("{name} {} {}:{}", at.function, at.file, at.line)
        }
        Origin::Unknown => format!("{name} {:#x}", race.variable.address),
    }
}

/// What is advised where names are missing, and with them what excuses an access.
const NAMELESS: &str = "record it to its end: how certain this is, only the names tell";

/// What is advised where nothing but a read that a compiler may have moved races.
const PROMOTED: &str =
    "see with -O0 whether the program makes the read: the compiler may have put it before a loop";

/// What distinguishes a race for a reader: two lines with kinds, functions where there are no lines, and a
/// variable.
type Key = ([(String, u32, Kind); 2], String);

fn key(race: &Race) -> Key {
    let side = |access: &Access| {
        let (place, line) = place_key(&access.stack);
        (place, line, access.kind)
    };
    let mut sides = [side(&race.accesses[0]), side(&race.accesses[1])];
    sides.sort();
    (sides, variable_key(&race.variable))
}

/// What distinguishes the place of a stack for a reader: the file and the line, else the function.
fn place_key(stack: &[Frame]) -> (String, u32) {
    let frame = stack.first().cloned().unwrap_or_default();
    match frame.line {
        0 => (frame.function, 0),
        line => (frame.file, line),
    }
}

/// Likewise a variable: its name, or where its block was allocated.
fn variable_key(variable: &Variable) -> String {
    let name = variable.name.as_deref().unwrap_or_default();
    match &variable.origin {
        Origin::Heap(stack) if !stack.is_empty() => {
            format!("{}:{}", stack[0].file, stack[0].line)
        }
        _ => whole(name).to_owned(),
    }
}

/// The variable of which `name` is an element or a field: `a` of `a[17].x`, `a(3)%x` and `a+8`.
fn whole(name: &str) -> &str {
    let ends = |(at, letter): &(usize, char)| *at > 0 && "[(.%+".contains(*letter);
    let end = name.char_indices().find(ends).map(|(at, _)| at);
    &name[..end.unwrap_or(name.len())]
}

struct Namer<'a> {
    contexts: &'a Contexts,
    places: &'a mut Places,
    /// Addresses for whose values loops wait.
    flags: HashSet<u64>,
}

impl<'a> Namer<'a> {
    fn new(contexts: &'a Contexts, places: &'a mut Places) -> Self {
        Namer {
            contexts,
            places,
            flags: HashSet::new(),
        }
    }

    fn race(&mut self, race: &races::Race) -> Race {
        let variable = self.variable(race);
        let mut accesses = [self.access(&race.sites[0]), self.access(&race.sites[1])];
        let order = |access: &Access| {
            let is_read = matches!(access.kind, Kind::Read | Kind::AtomicRead);
            (is_read, access.stack.first().map(|frame| frame.line))
        };
        accesses.sort_by_key(order);
        let may_be_promoted = self.may_be_promoted(&race.sites);
        let is_excused = self.flags.contains(&race.address) || may_be_promoted;
        let is_nameless = self.places.is_nameless();
        let advice = match () {
            () if is_nameless => Some(NAMELESS.to_owned()),
            () if may_be_promoted => Some(PROMOTED.to_owned()),
            () => None,
        };
        Race {
            class: if race.is_certain() && !is_excused && !is_nameless {
                Class::Race
            } else {
                Class::OrderByChance
            },
            variable,
            count: race.count,
            accesses,
            advice,
        }
    }

    /// Whether both accesses stand in one declaration of Fortran.
    fn is_declared(&mut self, race: &Race) -> bool {
        let [one, other] = race.accesses.each_ref().map(|it| it.stack.first());
        let sources = &mut self.places.sources;
        one == other && one.is_some_and(|one| sources.is_declaration(&one.file, one.line))
    }

    /// Whether one side may be a read that the compiler has put before a loop which writes the same memory in
    /// some of its iterations: then the program need not make it. Before a loop that writes elsewhere in each
    /// round, it is what the first round reads: so does `x[i] += x[i - 1]`, where each round has the value of
    /// the one before.
    fn may_be_promoted(&mut self, [one, other]: &[Site; 2]) -> bool {
        [(one, other), (other, one)]
            .into_iter()
            .any(|(read, write)| {
                let is_of_first = (read.spread, write.spread) == (Spread::One, Spread::Rounds);
                read.kind & (WRITE | ATOMIC) == 0
                    && write.kind & (WRITE | ATOMIC) == WRITE
                    && !is_of_first
                    && self.places.may_be_moved(read.code, write.code)
            })
    }

    fn access(&mut self, site: &Site) -> Access {
        let own = self.contexts.codes(site.code, site.context);
        let mut stack = self.user_stack(&own, site.base.as_ref());
        // GCC and flang give it the line of the directive.
        if site.kind & ATOMIC != 0
            && let Some(first) = stack.first_mut()
            && let sources = &mut self.places.sources
            && let Some(line) = sources.atomic_statement(&first.file, first.line)
        {
            first.line = line;
        }
        Access {
            kind: match (site.kind & WRITE != 0, site.kind & ATOMIC != 0) {
                (false, false) => Kind::Read,
                (true, false) => Kind::Write,
                (false, true) => Kind::AtomicRead,
                (true, true) => Kind::AtomicWrite,
            },
            stack,
            machine_stack: own
                .iter()
                .flat_map(|code| self.places.machine_frames(*code))
                .collect(),
            constructs: self.constructs(&own, site.base.as_ref()),
            thread: site.thread,
            strand: strand(site),
            locks: site.locks.iter().map(|held| self.lock(held.lock)).collect(),
            is_line_inferred: self.places.is_line_inferred(site.code),
        }
    }

    /// The frames of a strand's own calls, innermost first, and those of what created it.
    fn user_stack(&mut self, own: &[u64], base: Option<&Rc<Base>>) -> Vec<Frame> {
        let mut stack = Vec::new();
        let mut is_guess = false;
        self.add_frames(&mut stack, own, false, &mut is_guess);
        let mut next = base;
        while let Some(base) = next {
            if is_strand(base.kind) {
                let calls = self.contexts.codes(base.code, base.context);
                self.add_frames(&mut stack, &calls, true, &mut is_guess);
            }
            next = base.outer.as_ref();
        }
        // What calls `main` is not the program's.
        let is_main = |frame: &Frame| matches!(frame.function.as_str(), "main" | "main program");
        if let Some(main) = stack.iter().position(is_main) {
            stack.truncate(main + 1);
        }
        if stack.is_empty() {
            // A thread whose function is one of a library.
            let machine = own.iter().map(|code| self.places.machine_frames(*code));
            return machine.flatten().collect();
        }
        stack
    }

    /// Adds the user's frames of some calls. The body of a construct, which the compiler has made a
    /// function, is a part of the function around it: both together are one frame, at the line of the
    /// inner one.
    /// `is_guess`: the function of the last frame is one.
    fn add_frames(
        &mut self,
        stack: &mut Vec<Frame>,
        codes: &[u64],
        is_around: bool,
        is_guess: &mut bool,
    ) {
        let mut is_around = is_around;
        for code in self.places.without_start(codes) {
            for found in self.places.user_frames(*code) {
                let UserFrame { frame, body } = found;
                match stack.last_mut() {
                    // The function around a body whose name does not tell it.
                    Some(last) if is_around && *is_guess && !frame.function.is_empty() => {
                        last.function = frame.function;
                        *is_guess = body == Body::Guessed;
                    }
                    Some(last)
                        if (is_around || body != Body::None)
                            && (frame.function.is_empty() || last.function == frame.function) => {}
                    _ => {
                        *is_guess = body == Body::Guessed;
                        stack.push(frame);
                    }
                }
                is_around = false;
            }
        }
    }

    /// The constructs around some code of a strand, with the return addresses `own` of its calls,
    /// innermost first.
    fn constructs(&mut self, own: &[u64], base: Option<&Rc<Base>>) -> Vec<Construct> {
        let mut constructs = Vec::new();
        if base.is_some_and(|base| base.kind == ConstructKind::Parallel) {
            // No call of the program's tells which static loop it is in.
            let found = own.iter().find_map(|code| self.places.static_loop(*code));
            constructs.extend(found.map(|(file, line)| Construct {
                name: construct(ConstructKind::Loop, &file).to_owned(),
                file,
                line,
            }));
        }
        let mut next = base;
        while let Some(base) = next {
            // Of what the C++ library creates, the call of that.
            let calls = self.contexts.codes(base.code, base.context);
            let mut frames = calls
                .into_iter()
                .flat_map(|code| self.places.user_frames(code));
            let frame = frames.next();
            let frame = frame.map(|found| found.frame).unwrap_or_default();
            // GCC gives the calls no lines of their own.
            let line = match workshare(base.kind) {
                Some(construct) => self.places.line_of_directive(base.code, Some(construct)),
                None => self.places.line_of_construct(base.code, base.body),
            };
            constructs.push(Construct {
                name: construct(base.kind, &frame.file).to_owned(),
                file: frame.file,
                line: line.unwrap_or(frame.line),
            });
            next = base.outer.as_ref();
        }
        constructs
    }

    fn variable(&mut self, race: &races::Race) -> Variable {
        let [one, other] = &race.sites;
        self.variable_at(race.address, &race.place, [one, other])
    }

    /// The variable at an address of this kind, which these sides access.
    fn variable_at(&mut self, address: u64, place: &Place, sites: [&Site; 2]) -> Variable {
        let size = sites[0].size.max(sites[1].size).into();
        let mut variable = Variable {
            address,
            size,
            ..Variable::default()
        };
        let codes = sites.map(|site| site.code);
        let mut memory = Memory::Other;
        match place {
            Place::Heap(block) => {
                variable.whole = block.bytes;
                variable.origin = Origin::Heap(self.allocation(block));
                memory = Memory::Block {
                    offset: address - block.address,
                    bytes: block.bytes,
                };
            }
            Place::Static => {
                self.places.name_static(&mut variable, &codes);
            }
            Place::ThreadLocal { before_end } => {
                self.places
                    .name_thread_local(&mut variable, *before_end, &codes);
            }
            Place::Stack(frame) => {
                self.places.name_local(&mut variable, frame.as_ref());
                memory = Memory::Stack;
            }
        }
        if variable.name.is_none() {
            let accesses = sites.map(|site| (site.code, site.kind & WRITE != 0));
            let origin = &variable.origin;
            let name = self.places.pointer_name(accesses, size, memory, origin);
            variable.name = name;
            if variable.name.is_none() && matches!(place, Place::Stack(_)) {
                self.places.name_assigned(&mut variable, accesses);
            }
        }
        variable
    }

    fn lock(&mut self, lock: Lock) -> String {
        let own = match self.places.lock_place(lock) {
            Some(Place::Heap(block)) if self.places.is_flangs(block.code) => None,
            Some(Place::Heap(block)) => Some(self.lock_in_block(lock.1, &block)),
            Some(Place::Stack(frame)) => {
                let mut variable = Variable {
                    address: lock.1,
                    size: 1,
                    ..Variable::default()
                };
                self.places.name_local(&mut variable, frame.as_ref());
                variable.name
            }
            _ => None,
        };
        self.places.lock(lock, own)
    }

    /// A lock in a heap block: where that was allocated, and the offset of the lock.
    fn lock_in_block(&mut self, address: u64, block: &Block) -> String {
        let place = synchronisation::at(&self.allocation(block));
        match address - block.address {
            0 => format!("<lock allocated at {place}>"),
            offset => format!("<lock at byte {offset} of the block allocated at {place}>"),
        }
    }

    /// The user's stack at which a block was allocated.
    fn allocation(&mut self, block: &Block) -> Vec<Frame> {
        // flang's runtime tells of no function, so that its caller is in no context.
        let code = match block.caller {
            caller @ 1.. if self.places.is_flangs(block.code) => caller,
            _ => block.code,
        };
        let own = self.contexts.codes(code, block.context);
        self.user_stack(&own, block.base.as_ref())
    }
}

/// Whether code of the construct has a stack of its own below that of the code around it.
fn is_strand(kind: ConstructKind) -> bool {
    matches!(
        kind,
        ConstructKind::Parallel
            | ConstructKind::Teams
            | ConstructKind::Task
            | ConstructKind::Thread
    )
}

/// The worksharing construct that this is.
fn workshare(kind: ConstructKind) -> Option<Workshare> {
    match kind {
        ConstructKind::Loop => Some(Workshare::Loop),
        ConstructKind::Sections => Some(Workshare::Sections),
        ConstructKind::Single => Some(Workshare::Single),
        _ => None,
    }
}

/// The name of a construct in the language of its source.
fn construct(kind: ConstructKind, file: &str) -> &'static str {
    match kind {
        ConstructKind::Loop if symbolize::is_fortran(file) => "do",
        ConstructKind::Parallel => "parallel",
        ConstructKind::Teams => "teams",
        ConstructKind::Task => "task",
        ConstructKind::Loop => "for",
        ConstructKind::Sections => "sections",
        ConstructKind::Single => "single",
        ConstructKind::Thread => "thread",
    }
}

fn strand(site: &Site) -> String {
    match site.strand {
        StrandKind::Initial => "the initial thread".to_owned(),
        StrandKind::Thread => "a thread of its own".to_owned(),
        StrandKind::Implicit => format!("implicit task of thread {}", site.thread),
        StrandKind::Iterations(first, 1) => format!("iteration {first}"),
        StrandKind::Iterations(first, count) => {
            format!(
                "iterations {first} to {}",
                first.wrapping_add(count).wrapping_sub(1)
            )
        }
        StrandKind::Round(number) => {
            format!("iteration {} of thread {}'s", number + 1, site.thread)
        }
        StrandKind::Section => "a section".to_owned(),
        StrandKind::Single => "a single".to_owned(),
        StrandKind::Task => "an explicit task".to_owned(),
    }
}

/// Whether a file is a header of the C++ library.
fn is_library_source(file: &str) -> bool {
    let headers = file.split_once("/include/").map(|(_, rest)| rest);
    headers.is_some_and(|path| path.starts_with("c++/") || path.contains("/c++/"))
        || file.contains("/libstdc++")
}

/// Whether a load object is the C++ library.
fn is_cpp_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with("libstdc++.so") || name.starts_with("libc++.so"))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn elements_and_fields_are_of_their_variable() {
        let cases = ["a", "a[17].x", "a(3)%x", "a.b[2]", "a+8"];
        assert_eq!(cases.map(whole), ["a"; 5]);
        assert_eq!(whole("(*a)[3]"), "(*a)");
    }
}
