//! An instance of a construct: whether it is compared, and what is counted.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use divergence::record::{CONSTRUCTS, Cause, Construct, FINDINGS, Finding, Head, Memory};
use divergence::sampling::{Budget, is_chosen};
use divergence::words::{Class, Difference, are_reordered, ranges};

use crate::board::Board;
use crate::classes::{Outcome, PerThread};
use crate::compare::{Comparison, Group, Span};
use crate::entry::Call;
use crate::keeper::{self, Keeper};
use crate::output::Output;
use crate::pages::{self, Area};
use crate::{blocks, objects, symbols, threads};

/// Instances are compared.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// The initial thread is in a region.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);
/// The thread register of the initial thread.
static INITIAL: AtomicU64 = AtomicU64::new(0);
static STATE: Mutex<Option<State>> = Mutex::new(None);

/// What is known of a construct besides what is told.
#[derive(Default)]
struct Known {
    told: Construct,
    /// Nanoseconds that the last comparison took.
    cost: u64,
    /// Instances in a row that were not comparable.
    failures: u32,
    last_cause: Option<Cause>,
}

struct State {
    output: &'static Output,
    board: &'static Board,
    begin: Instant,
    spent: Duration,
    is_all: bool,
    constructs: Vec<Known>,
    numbers: HashMap<u64, usize>,
    findings: Vec<Finding>,
    known: HashMap<(u64, Class, u64, u64), usize>,
    /// Arrays with a part for each thread, by their places.
    per_thread: PerThread,
    /// The program's variables, of as many objects as the loader had loaded.
    variables: Vec<Span>,
    loads: u64,
    /// The upper end of the initial thread's stack.
    stack_end: u64,
}

/// An instance that is being compared.
struct Instance {
    number: usize,
    threads: u64,
    areas: Vec<Area>,
    keeper: Keeper,
    /// When the region began.
    begin: Instant,
}

pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Nothing is compared any more.
pub(crate) fn stop() {
    IS_ON.store(false, Relaxed);
}

fn is_initial() -> bool {
    inside::stack::thread_register() == INITIAL.load(Relaxed)
}

/// Whether the calling thread is in the serial part of the program.
pub(crate) fn is_serial() -> bool {
    is_on() && is_initial() && !IS_INSIDE.load(Relaxed)
}

/// Called as the library is loaded.
pub(crate) fn start(output: &'static Output) {
    let Some(board) = Board::new() else {
        return;
    };
    let state = State {
        output,
        board: Box::leak(Box::new(board)),
        begin: Instant::now(),
        spent: Duration::ZERO,
        is_all: output.get(Head::All) != 0,
        constructs: Vec::new(),
        numbers: HashMap::new(),
        findings: Vec::new(),
        known: HashMap::new(),
        per_thread: PerThread::new(),
        variables: Vec::new(),
        loads: 0,
        stack_end: inside::stack::initial_top(),
    };
    INITIAL.store(inside::stack::thread_register(), Relaxed);
    if let Ok(mut place) = STATE.lock() {
        place.insert(state).look();
        IS_ON.store(true, Relaxed);
    }
}

/// Called as the process exits.
pub(crate) fn end() {
    if is_on()
        && let Ok(mut state) = STATE.lock()
        && let Some(state) = state.as_mut()
    {
        state.tell_time();
        (0..state.constructs.len()).for_each(|number| state.tell(number));
    }
}

/// Runs `f`; if that panics, nothing is compared any more.
fn guarded<T>(f: impl FnOnce(&mut State) -> T) -> Option<T> {
    let run = || {
        let mut state = STATE.lock().ok()?;
        state.as_mut().map(f)
    };
    let result = catch_unwind(AssertUnwindSafe(run));
    result.unwrap_or_else(|_| {
        stop();
        if let Some(output) = crate::output::output() {
            output.set(Head::Broken, 1);
        }
        None
    })
}

/// Runs a region. `None`: the call goes on to the runtime.
///
/// # Safety
/// The call of an entry point.
pub(crate) unsafe fn run(call: &Call<'_>) -> Option<usize> {
    if keeper::is_peer() {
        // SAFETY: the caller's promise. Regions within the region are run by its one thread.
        return Some(unsafe { call.forward(Some(1)) });
    }
    if !is_on() {
        return None;
    }
    if !is_initial() {
        if !IS_INSIDE.load(Relaxed) {
            guarded(|state| state.count_other(call));
        }
        return None;
    }
    if IS_INSIDE.swap(true, Relaxed) {
        return None;
    }
    // SAFETY: the calling thread's own; what the program had there must stay.
    let error = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *error };
    let instance = guarded(|state| state.begin(call)).flatten();
    // SAFETY: as above.
    unsafe { *error = before };
    // SAFETY: the caller's promise.
    let result = unsafe { call.forward(None) };
    if let Some(instance) = instance {
        // SAFETY: as above.
        let before = unsafe { *error };
        guarded(|state| state.end(call, instance));
        // SAFETY: as above.
        unsafe { *error = before };
    }
    IS_INSIDE.store(false, Relaxed);
    Some(result)
}

impl State {
    /// The construct that a call forks.
    fn number(&mut self, call: &Call<'_>) -> Option<usize> {
        // Compilers copy calls, as in unrolled loops; the outlined function is one.
        let key = call.body();
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        if self.constructs.len() == CONSTRUCTS {
            self.output.add(Head::LostConstructs, 1);
            return None;
        }
        let mut known = Known::default();
        (known.told.code, known.told.body) = (call.code(), key);
        self.constructs.push(known);
        let number = self.constructs.len() - 1;
        self.numbers.insert(key, number);
        self.output
            .set(Head::Constructs, self.constructs.len() as u64);
        self.output.maps(&pages::text());
        Some(number)
    }

    fn tell(&self, number: usize) {
        if let Some(known) = self.constructs.get(number) {
            self.output.construct(number, &known.told.to_words());
        }
    }

    fn tell_time(&self) {
        self.output
            .set(Head::Elapsed, self.begin.elapsed().as_nanos() as u64);
        self.output.set(Head::Spent, self.spent.as_nanos() as u64);
    }

    /// A region that another thread than the initial one forks.
    fn count_other(&mut self, call: &Call<'_>) {
        if let Some(number) = self.number(call) {
            self.count(number);
            self.refuse(number, Cause::OtherThread);
        }
    }

    /// One more instance. Returns its number.
    fn count(&mut self, number: usize) -> u64 {
        let Some(known) = self.constructs.get_mut(number) else {
            return 0;
        };
        known.told.instances += 1;
        let instances = known.told.instances;
        // The program may end without telling.
        if instances.is_power_of_two() || instances % 1024 == 0 {
            self.tell(number);
        }
        instances
    }

    /// An instance is not comparable.
    fn refuse(&mut self, number: usize, cause: Cause) {
        if let Some(known) = self.constructs.get_mut(number) {
            if let Some(count) = known.told.not.get_mut(cause as usize) {
                *count += 1;
            }
            known.failures += 1;
            known.last_cause = Some(cause);
        }
        self.tell(number);
    }

    /// The cause that a construct has shown so often that it is not tried again.
    fn hopeless(&self, number: usize) -> Option<Cause> {
        /// Failures in a row, and those by a cause that costs time.
        const OFTEN: u32 = 3;
        let known = self.constructs.get(number)?;
        let often = if known.last_cause == Some(Cause::Time) {
            1
        } else {
            OFTEN
        };
        known.last_cause.filter(|_| known.failures >= often)
    }

    fn begin(&mut self, call: &Call<'_>) -> Option<Instance> {
        let start = Instant::now();
        let number = self.number(call)?;
        let instance = self.count(number);
        let threads = call.threads();
        if threads == 1 {
            self.refuse(number, Cause::Alone);
            return None;
        }
        if threads::are_running() {
            self.refuse(number, Cause::OtherThread);
            return None;
        }
        let budget = Budget {
            own: (self.begin.elapsed() - self.spent).as_nanos() as u64,
            spent: self.spent.as_nanos() as u64,
            next: self.constructs.get(number).map_or(0, |known| known.cost),
        };
        if !self.is_all && !is_chosen(instance, budget) {
            return None;
        }
        if let Some(cause) = self.hopeless(number) {
            self.refuse(number, cause);
            return None;
        }
        self.look();
        let own = [self.output.place(), self.board.place()];
        let areas = pages::areas(&pages::text(), &own);
        if areas.iter().any(|area| area.is_device) {
            self.refuse(number, Cause::Device);
            return None;
        }
        blocks::begin_instance();
        match Keeper::new(self.board, &areas, call) {
            Ok(keeper) => {
                self.spent += start.elapsed();
                Some(Instance {
                    number,
                    threads: threads.into(),
                    areas,
                    keeper,
                    begin: Instant::now(),
                })
            }
            Err(cause) => {
                self.refuse(number, cause);
                None
            }
        }
    }

    fn end(&mut self, call: &Call<'_>, instance: Instance) {
        let took = instance.begin.elapsed();
        let start = Instant::now();
        let Instance {
            number,
            threads,
            areas,
            mut keeper,
            ..
        } = instance;
        let stack = Span {
            begin: call.stack(),
            end: self.stack_end,
            memory: Memory::Stack,
            code: call.stack(),
            is_mixed: true,
        };
        self.variables.retain(|span| span.memory != Memory::Stack);
        self.variables.push(stack);
        let outcome = Comparison {
            keeper: &mut keeper,
            areas: &areas,
            variables: &self.variables,
            threads,
            limit: Duration::from_secs(2) + took * 20 * threads as u32,
            per_thread: &mut self.per_thread,
        }
        .compare();
        drop(keeper);
        match outcome {
            Ok(outcome) => self.add(call, number, threads, outcome),
            Err(cause) => self.refuse(number, cause),
        }
        self.spent += start.elapsed();
        if let Some(known) = self.constructs.get_mut(number) {
            known.cost = start.elapsed().as_nanos() as u64;
        }
        self.tell_time();
    }

    /// Adds what an instance has shown.
    fn add(&mut self, call: &Call<'_>, number: usize, threads: u64, outcome: Outcome) {
        let Some(known) = self.constructs.get_mut(number) else {
            return;
        };
        (known.failures, known.last_cause) = (0, None);
        let told = &mut known.told;
        told.compared += 1;
        told.words += outcome.words;
        told.varying += outcome.varying;
        told.rounded += outcome.rounded;
        told.per_thread += outcome.per_thread;
        told.pointers += outcome.pointers;
        told.spread = f64::from_bits(told.spread).max(outcome.spread).to_bits();
        let instance = told.instances;
        self.tell(number);
        for group in &outcome.groups {
            let mut by_class = HashMap::<Class, Vec<Difference>>::new();
            let is_order = are_reordered(&group.differences);
            for difference in &group.differences {
                let class = if is_order {
                    Class::Order
                } else {
                    difference.class()
                };
                by_class.entry(class).or_default().push(*difference);
            }
            for (class, own) in by_class {
                self.find(call, (number, instance, threads), group, (class, own));
            }
        }
    }

    /// Adds a finding, or counts that it was there again.
    fn find(
        &mut self,
        call: &Call<'_>,
        (construct, instance, threads): (usize, u64, u64),
        group: &Group,
        (class, own): (Class, Vec<Difference>),
    ) {
        let span = &group.span;
        let key = (construct as u64, class, span.memory as u64, span.place());
        if let Some(finding) = self.known.get(&key)
            && let Some(known) = self.findings.get_mut(*finding)
        {
            if known.instance != instance {
                known.count += 1;
                self.output.finding(*finding, &known.to_words());
            }
            return;
        }
        if self.findings.len() == FINDINGS {
            self.output.add(Head::LostFindings, 1);
            return;
        }
        let finding = Finding {
            construct: construct as u64,
            instance,
            count: 1,
            class,
            threads,
            memory: span.memory,
            whole: (span.begin, span.end - span.begin),
            allocated: if span.memory == Memory::Stack {
                0
            } else {
                span.code
            },
            frame: call.frame(),
            units: own.iter().map(|it| it.bytes().1 / 4).sum(),
            words: own.len() as u64,
            spread: group.spread.to_bits(),
            ranges: ranges(own.iter().map(|it| it.bytes())),
            values: own,
            is_cut: group.is_cut,
        };
        self.known.insert(key, self.findings.len());
        self.output
            .finding(self.findings.len(), &finding.to_words());
        self.findings.push(finding);
        self.output.set(Head::Findings, self.findings.len() as u64);
    }

    /// Learns which variables there are, if the loader has loaded other objects.
    fn look(&mut self) {
        let loads = inside::objects::loads();
        if self.loads == loads && !self.variables.is_empty() {
            return;
        }
        self.loads = loads;
        self.variables.clear();
        self.output.maps(&pages::text());
        for object in objects::own() {
            let span = |begin, end, is_mixed| Span {
                begin,
                end,
                memory: Memory::Static,
                code: 0,
                is_mixed,
            };
            let is_writable = |address: u64| {
                let mut all = object.writable.iter();
                all.any(|range| range.contains(&address))
            };
            match symbols::variables(&object.path) {
                Some(symbols) => {
                    let all = symbols
                        .into_iter()
                        .map(|(at, bytes)| (at + object.base, bytes));
                    let all = all.filter(|(at, _)| is_writable(*at));
                    self.variables
                        .extend(all.map(|(at, bytes)| span(at, at + bytes, false)));
                }
                None => {
                    let all = object.writable.iter();
                    self.variables
                        .extend(all.map(|it| span(it.start / 8 * 8, it.end, true)));
                }
            }
        }
    }
}
