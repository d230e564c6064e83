//! Deadlocks and misuse in the program's own words.

use experiment::findings::{Deadlock, Edge, Frame, Misuse};
use experiment::symbols::Workshare;
use hashbrown::{HashMap, HashSet};
use ompt::numbers::sync_region::{EXPLICIT, PARALLEL as JOIN};
use race_checker::contexts::Contexts;
use race_checker::misuse::{self, Inside, Kind};
use race_checker::site::{Call, ConstructKind};
use race_checker::synchronisation::{self, Waiter};

use crate::{GoesOn, Namer, Places, loop_variables};

/// Names the deadlocks of a program: those that happened first, then by place.
pub fn deadlocks(
    found: &[synchronisation::Deadlock],
    contexts: &Contexts,
    places: &mut Places,
    goes_on: GoesOn<'_>,
) -> Vec<Deadlock> {
    let mut namer = Namer::new(contexts, places);
    let mut all: Vec<Deadlock> = Vec::new();
    let mut known = HashSet::new();
    for (at, deadlock) in found.iter().enumerate() {
        namer.places.set_nameless(!goes_on(at, found.len()));
        let named = namer.deadlock(deadlock);
        let edges = named.edges.iter();
        let key: Vec<_> = edges
            .map(|edge| {
                let places = [&edge.held, &edge.wanted].map(|stack| owned(place(stack)));
                (edge.holds.clone(), edge.wants.clone(), places)
            })
            .collect();
        if known.insert(key) {
            all.push(named);
        }
    }
    namer.places.set_nameless(false);
    all.sort_by_key(|deadlock| {
        let edges = deadlock.edges.iter();
        let places: Vec<(String, String, u32)> = edges
            .map(|edge| {
                let (file, line) = place(&edge.wanted);
                (edge.wants.clone(), file.to_owned(), line)
            })
            .collect();
        (!deadlock.happened, places)
    });
    all
}

/// Names the misuse of a program, by kind and place. What only differs in its machine code is one.
pub fn misuses(
    found: &[misuse::Misuse],
    contexts: &Contexts,
    places: &mut Places,
    goes_on: GoesOn<'_>,
) -> Vec<Misuse> {
    let mut namer = Namer::new(contexts, places);
    let mut all: Vec<Misuse> = Vec::new();
    let mut numbers: HashMap<_, usize> = HashMap::new();
    for (at, misuse) in found.iter().enumerate() {
        namer.places.set_nameless(!goes_on(at, found.len()));
        let Some(named) = namer.misuse(misuse) else {
            continue;
        };
        let key = (named.detail.clone(), owned(place(&named.stack)));
        let number = *numbers.entry(key).or_insert(all.len());
        match all.get_mut(number) {
            // What the text tells is told of it once.
            Some(_) if misuse.kind.rests_on_text() => {}
            Some(known) => known.count += named.count,
            None => all.push(named),
        }
    }
    namer.places.set_nameless(false);
    all.sort_by_key(|misuse| {
        let (file, line) = place(&misuse.stack);
        (
            misuse.kind.clone(),
            file.to_owned(),
            line,
            misuse.detail.clone(),
        )
    });
    all
}

fn place(stack: &[Frame]) -> (&str, u32) {
    let first = stack.first();
    first.map_or(("", 0), |frame| (frame.file.as_str(), frame.line))
}

fn owned((file, line): (&str, u32)) -> (String, u32) {
    (file.to_owned(), line)
}

/// `f.c:12`, or the function where no line is known.
pub(crate) fn at(stack: &[Frame]) -> String {
    match stack.first() {
        Some(frame) if frame.line != 0 => {
            let name = frame.file.rsplit('/').next().unwrap_or(&frame.file);
            format!("{name}:{}", frame.line)
        }
        Some(frame) => frame.function.clone(),
        None => "an unknown place".to_owned(),
    }
}

/// Numbers as words: `thread 1`, `threads 1, 2 and 3`.
fn threads(numbers: &[u32]) -> String {
    match numbers {
        [] => "a thread".to_owned(),
        [one] => format!("thread {one}"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            format!("threads {} and {last}", first.join(", "))
        }
    }
}

impl Namer<'_> {
    /// The user's frames of a call, innermost first.
    fn stack(&mut self, call: &Call) -> Vec<Frame> {
        let own = self.contexts.codes(call.code, call.context);
        self.user_stack(&own, call.base.as_ref())
    }

    /// The user's frames of the call by which a thread waits at a barrier of this kind. The end of a region
    /// stands at its directive, for its call is that of the fork.
    fn barrier_stack(&mut self, kind: u8, call: &Call) -> Vec<Frame> {
        let mut stack = self.stack(call);
        let region = call.base.as_ref().filter(|_| kind == JOIN);
        let line = region.and_then(|base| self.places.line_of_construct(base.code, base.body));
        if let Some(first) = stack.first_mut() {
            first.line = line.unwrap_or(first.line);
            if kind == EXPLICIT && self.places.sources.is_no_barrier(&first.file, first.line) {
                first.line = 0;
            }
        }
        stack
    }

    fn edge(&mut self, waiter: &Waiter) -> Edge {
        let wanted = match waiter.barrier {
            Some(kind) => self.barrier_stack(kind, &waiter.wanted),
            None => self.stack(&waiter.wanted),
        };
        let (holds, held) = match &waiter.holds {
            Some((lock, call)) => (self.lock(*lock), self.stack(call)),
            None => (String::new(), Vec::new()),
        };
        Edge {
            thread: waiter.wanted.thread,
            holds,
            held,
            wants: match (waiter.wants, waiter.barrier) {
                (Some(lock), _) => self.lock(lock),
                (None, Some(JOIN)) => "end of parallel".to_owned(),
                _ => "barrier".to_owned(),
            },
            wanted,
        }
    }

    fn deadlock(&mut self, deadlock: &synchronisation::Deadlock) -> Deadlock {
        let mut edges: Vec<Edge> = Vec::new();
        let mut sentences: Vec<String> = Vec::new();
        let mut waiters: Vec<&Waiter> = deadlock.waiters.iter().collect();
        // A cycle has no first edge.
        let first = (0..waiters.len()).min_by_key(|at| waiters[*at].wanted.thread);
        waiters.rotate_left(first.unwrap_or(0));
        for waiter in waiters {
            let edge = self.edge(waiter);
            let is_alike = |known: &&mut Edge| {
                (&known.holds, &known.wants) == (&edge.holds, &edge.wants)
                    && (&known.held, &known.wanted) == (&edge.held, &edge.wanted)
            };
            if deadlock.happened && edges.iter_mut().find(is_alike).is_some() {
                continue;
            }
            sentences.push(sentence(&edge, waiter, deadlock.happened));
            edges.push(edge);
        }
        let others = match deadlock.others {
            0 => String::new(),
            1 => "; 1 other thread waits for them".to_owned(),
            count => format!("; {count} other threads wait for them"),
        };
        let begin = if deadlock.happened {
            "the program hung: "
        } else {
            "with other timing these wait for each other forever: "
        };
        Deadlock {
            happened: deadlock.happened,
            edges,
            detail: format!("{begin}{}{others}", sentences.join("; ")),
        }
    }

    /// The user's frames of a call of a misuse, innermost first; a worksharing construct stands at its
    /// directive.
    fn misuse_stack(&mut self, kind: Kind, call: &Call) -> Vec<Frame> {
        let mut stack = self.stack(call);
        let line = match kind {
            Kind::WorkInside(_) | Kind::DifferentWork => {
                self.places.line_of_directive(call.code, None)
            }
            Kind::NothingOrdered => {
                let construct = Some(Workshare::Loop);
                self.places.line_of_directive(call.code, construct)
            }
            _ => None,
        };
        if let (Some(first), Some(line)) = (stack.first_mut(), line) {
            first.line = line;
        }
        stack
    }

    /// A loop that changes its own variable, where a loop or a region with it begins.
    fn changed_variable(&mut self, misuse: &misuse::Misuse) -> Option<Misuse> {
        let call = &misuse.call;
        let line = match misuse.kind {
            Kind::LoopBegins => {
                let construct = Some(Workshare::Loop);
                self.places.line_of_directive(call.code, construct)?
            }
            Kind::RegionBegins(body) => self.places.line_of_construct(call.code, body)?,
            _ => return None,
        };
        let mut stack = self.stack(call);
        let first = stack.first_mut()?;
        let sources = &mut self.places.sources;
        let changes = loop_variables::changes(&first.file, line, sources);
        let change = changes.into_iter().next()?;
        first.line = change.of;
        let of = at(&stack);
        stack.first_mut()?.line = change.line;
        Some(Misuse {
            kind: "loop variable changed in its loop".to_owned(),
            detail: format!(
                "{} is changed within the loop at {of}, whose iterations it counts",
                change.variable
            ),
            stack,
            count: 1,
        })
    }

    fn misuse(&mut self, misuse: &misuse::Misuse) -> Option<Misuse> {
        if misuse.kind.rests_on_text() {
            return self.changed_variable(misuse);
        }
        let stack = self.misuse_stack(misuse.kind, &misuse.call);
        let other = misuse.other.as_ref();
        let other = other.map(|call| (self.misuse_stack(misuse.kind, call), call.thread));
        // Elsewhere another lock may have been there before.
        let is_variable = misuse.lock.is_none_or(|lock| self.places.is_data(lock));
        if misuse.kind == Kind::InitialisedTwice && !is_variable {
            return None;
        }
        let lock = misuse.lock.map(|lock| self.lock(lock)).unwrap_or_default();
        let thread = misuse.call.thread;
        let here = at(&stack);
        let (there, owner) = other
            .as_ref()
            .map_or((String::new(), 0), |(stack, thread)| (at(stack), *thread));
        let words = Words {
            thread,
            owner,
            lock: &lock,
            here: &here,
            there: &there,
        };
        let (kind, detail) = match misuse.kind {
            Kind::DifferentBarriers | Kind::DifferentWork => {
                // Compilers make several calls of one construct.
                let (other, _) = other.as_ref()?;
                let (one, two) = (place(&stack), place(other));
                let is_known = one.1 != 0 && two.1 != 0;
                if misuse.kind == Kind::DifferentWork && (!is_known || one == two) {
                    return None;
                }
                words.of_team(misuse.kind)?
            }
            kind => words.of_lock(kind).or_else(|| words.of_team(kind))?,
        };
        Some(Misuse {
            kind,
            detail,
            stack,
            count: misuse.count,
        })
    }
}

fn sentence(edge: &Edge, waiter: &Waiter, happened: bool) -> String {
    let around = waiter.wanted.base.iter();
    let is_task = around.clone().any(|base| base.kind == ConstructKind::Task);
    let thread = if is_task {
        format!("a task of thread {}", edge.thread)
    } else {
        format!("thread {}", edge.thread)
    };
    let wanted = at(&edge.wanted);
    let held = if edge.holds.is_empty() {
        String::new()
    } else {
        format!(" holds {} since {} and", edge.holds, at(&edge.held))
    };
    if !happened {
        return format!("{thread}{held} waits for {} at {wanted}", edge.wants);
    }
    let whom = match (waiter.wants, waiter.is_left) {
        (Some(_), true) => "which was never released".to_owned(),
        (Some(_), false) if waiter.waits_for == [edge.thread] => "which it holds itself".to_owned(),
        (Some(_), false) => format!("which {} holds", threads(&waiter.waits_for)),
        (None, _) => {
            let come = if waiter.waits_for.len() > 1 {
                "come"
            } else {
                "comes"
            };
            format!("to which {} never {come}", threads(&waiter.waits_for))
        }
    };
    match waiter.wants {
        Some(_) => format!(
            "{thread}{held} waits for {} at {wanted}, {whom}",
            edge.wants
        ),
        None => format!(
            "{thread}{held} waits at the {} at {wanted}, {whom}",
            edge.wants
        ),
    }
}

/// What a misuse is told with: the threads, the lock, and the places of both calls.
struct Words<'a> {
    thread: u32,
    owner: u32,
    lock: &'a str,
    here: &'a str,
    there: &'a str,
}

impl Words<'_> {
    /// A misuse of a lock, and its detail.
    fn of_lock(&self, kind: Kind) -> Option<(String, String)> {
        let Words {
            thread,
            owner,
            lock,
            here,
            there,
        } = self;
        let (kind, detail) = match kind {
            Kind::ReleasedByOther => (
                "lock released by another thread",
                format!("thread {thread} unsets {lock}, which thread {owner} has set at {there}"),
            ),
            Kind::ReleasedFree if there.is_empty() => (
                "lock released that is not set",
                format!("thread {thread} unsets {lock}, which nobody has set"),
            ),
            Kind::ReleasedFree => (
                "lock released that is not set",
                format!("thread {thread} unsets {lock}, which was unset at {there}"),
            ),
            Kind::NeverReleased => (
                "lock never released",
                format!(
                    "thread {thread} sets {lock} at {here} in a task that ends without unsetting it"
                ),
            ),
            Kind::TakenTwice => (
                "lock taken twice",
                format!("thread {thread} waits for {lock}, which its task holds since {there}"),
            ),
            Kind::DestroyedHeld => (
                "lock destroyed while set",
                format!("{lock} is destroyed, which thread {owner} has set at {there}"),
            ),
            Kind::NotInitialised if there.is_empty() => (
                "lock not initialised",
                format!("thread {thread} uses {lock}, which no call has initialised"),
            ),
            Kind::NotInitialised => (
                "lock not initialised",
                format!("thread {thread} uses {lock}, which was destroyed at {there}"),
            ),
            Kind::InitialisedTwice => (
                "lock initialised twice",
                format!("{lock} is initialised, which was initialised at {there}"),
            ),
            _ => return None,
        };
        Some((kind.to_owned(), detail))
    }

    /// What a thread must not do in its team, and its detail.
    fn of_team(&self, kind: Kind) -> Option<(String, String)> {
        let Words {
            thread,
            owner,
            here,
            there,
            ..
        } = self;
        let entered = if there.is_empty() {
            String::new()
        } else {
            format!(" that was entered at {there}")
        };
        let different = |what: &str| {
            (
                format!("threads at different {what}"),
                format!(
                    "thread {thread} comes to the one at {here}, thread {owner} of its team to the one at {there}"
                ),
            )
        };
        Some(match kind {
            Kind::BarrierInside(what) => (
                format!("barrier inside {}", inside(what)),
                format!(
                    "thread {thread} comes to a barrier in {}{entered}",
                    inside(what)
                ),
            ),
            Kind::WorkInside(what) => (
                format!("worksharing inside {}", inside(what)),
                format!(
                    "thread {thread} comes to a worksharing construct in {}{entered}",
                    inside(what)
                ),
            ),
            Kind::NothingOrdered => (
                "ordered clause without an ordered region".to_owned(),
                "no iteration of the loop came to an ordered region: nothing in it is ordered"
                    .to_owned(),
            ),
            Kind::NestingRefused(threads) => (
                "nested region refused".to_owned(),
                format!(
                    "thread {thread} asks for {threads} threads for a region within this one, and gets one: see \
                     OMP_MAX_ACTIVE_LEVELS and OMP_THREAD_LIMIT"
                ),
            ),
            Kind::ThreadsInside => (
                "number of threads set inside a region".to_owned(),
                format!(
                    "thread {thread} sets the number of threads for regions within this one, and none follows"
                ),
            ),
            Kind::DifferentBarriers => different("barriers"),
            Kind::DifferentWork => different("worksharing constructs"),
            _ => return None,
        })
    }
}

const fn inside(inside: Inside) -> &'static str {
    match inside {
        Inside::Critical => "a critical section",
        Inside::Ordered => "an ordered region",
        Inside::Single => "a single",
        Inside::Task => "an explicit task",
        Inside::Masked => "a master region",
        Inside::Loop => "a loop",
        Inside::Section => "a section",
    }
}
