//! The events that can be counted, by perf's names, and how their counts are scaled.
//!
//! A counter samples: each time that a thread has had so many of its events on a CPU, the kernel
//! takes its stack. The kernel also keeps the whole count, of all threads. Where more events are counted
//! than the processor can at a time, the kernel lets them take turns (multiplexing), and tells for how
//! long it counted each.

use experiment::header::{Counter as Counted, LONGEST_COUNTER, MOST_COUNTERS};
use omp_model::spelling::nearest;

use super::plan::{Impossible, Situation};

/// An event of the kernel's (`perf_event_attr` in `include/uapi/linux/perf_event.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The number of its PMU: `type`.
    pub pmu: u32,
    /// `config`, `config1`, `config2`.
    pub config: [u64; 3],
}

/// A counter that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// perf's name of its event.
    pub name: String,
    /// The event.
    pub event: Event,
    /// Events from one sample to the next.
    pub interval: u64,
}

/// Numbers of PMUs that every kernel has: PERF_TYPE_*.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const HW_CACHE: u32 = 3;
const RAW: u32 = 4;

/// Intervals of `hi`, `on` and `lo`. At its usual rate, an event makes about 1000, 100 and 10 samples a
/// second and CPU; each costs some microseconds. Primes, so that code which repeats something after a
/// round number of events is not hit at the same place each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Intervals {
    hi: u64,
    on: u64,
    lo: u64,
}

const fn intervals(hi: u64, on: u64, lo: u64) -> Intervals {
    Intervals { hi, on, lo }
}

/// Some in each cycle.
const CYCLES: Intervals = intervals(2_000_003, 20_000_003, 200_000_033);
/// One in some cycles: branches, references to caches.
const ACCESSES: Intervals = intervals(500_009, 5_000_011, 50_000_017);
/// One in hundreds of cycles: misses, and raw events, of which nothing is known.
const MISSES: Intervals = intervals(20_011, 200_003, 2_000_003);
/// Nanoseconds: as the periods of `-p`.
const CLOCK: Intervals = intervals(997_000, 10_007_000, 100_000_000);
/// Up to a million in a second.
const FAULTS: Intervals = intervals(11, 101, 1009);
/// Up to tens of thousands in a second.
const SWITCHES: Intervals = intervals(1, 11, 101);
/// Few.
const RARE: Intervals = intervals(1, 1, 11);

/// The shortest interval of a clock, in nanoseconds, as that of `-p`.
const SHORTEST_CLOCK: u64 = 50_000;

/// The longest interval: the kernel refuses those with the highest bit.
const LONGEST: u64 = (1 << 63) - 1;

/// An event of a fixed name.
struct Named {
    name: &'static str,
    /// perf's other name of it, or nothing.
    alias: &'static str,
    pmu: u32,
    config: u64,
    intervals: Intervals,
}

const fn named(
    name: &'static str,
    alias: &'static str,
    pmu: u32,
    config: u64,
    intervals: Intervals,
) -> Named {
    Named {
        name,
        alias,
        pmu,
        config,
        intervals,
    }
}

/// PERF_COUNT_HW_* and PERF_COUNT_SW_*. Not formatted, to be read as a table.
#[rustfmt::skip]
const NAMED: [Named; 19] = [
    named("cycles", "cpu-cycles", HARDWARE, 0, CYCLES),
    named("instructions", "", HARDWARE, 1, CYCLES),
    named("cache-references", "", HARDWARE, 2, ACCESSES),
    named("cache-misses", "", HARDWARE, 3, MISSES),
    named("branches", "branch-instructions", HARDWARE, 4, ACCESSES),
    named("branch-misses", "", HARDWARE, 5, MISSES),
    named("bus-cycles", "", HARDWARE, 6, ACCESSES),
    named("stalled-cycles-frontend", "idle-cycles-frontend", HARDWARE, 7, CYCLES),
    named("stalled-cycles-backend", "idle-cycles-backend", HARDWARE, 8, CYCLES),
    named("ref-cycles", "", HARDWARE, 9, CYCLES),
    named("cpu-clock", "", SOFTWARE, 0, CLOCK),
    named("task-clock", "", SOFTWARE, 1, CLOCK),
    named("page-faults", "faults", SOFTWARE, 2, FAULTS),
    named("context-switches", "cs", SOFTWARE, 3, SWITCHES),
    named("cpu-migrations", "migrations", SOFTWARE, 4, RARE),
    named("minor-faults", "", SOFTWARE, 5, FAULTS),
    named("major-faults", "", SOFTWARE, 6, RARE),
    named("alignment-faults", "", SOFTWARE, 7, RARE),
    named("emulation-faults", "", SOFTWARE, 8, RARE),
];

/// What the kernel itself does to a thread: nothing of it is in user code.
const OF_THE_KERNEL: [(u32, u64); 2] = [(SOFTWARE, 3), (SOFTWARE, 4)];

/// PERF_COUNT_HW_CACHE_*: the cache, its number, and how many of the operations it has.
const CACHES: [(&str, u64, usize); 7] = [
    ("L1-dcache", 0, 3),
    ("L1-icache", 1, 1),
    ("LLC", 2, 3),
    ("dTLB", 3, 3),
    ("iTLB", 4, 1),
    ("branch", 5, 1),
    ("node", 6, 3),
];

/// PERF_COUNT_HW_CACHE_OP_*: one and several.
const OPERATIONS: [(&str, &str); 3] = [
    ("load", "loads"),
    ("store", "stores"),
    ("prefetch", "prefetches"),
];

/// An event by its name, with its usual intervals.
struct Known {
    name: String,
    event: Event,
    intervals: Intervals,
}

/// The events that have names of their own.
fn known() -> Vec<Known> {
    let event = |pmu, config| Event {
        pmu,
        config: [config, 0, 0],
    };
    let named = NAMED.iter().map(|it| Known {
        name: it.name.to_owned(),
        event: event(it.pmu, it.config),
        intervals: it.intervals,
    });
    let mut all: Vec<Known> = named.collect();
    for (cache, number, operations) in CACHES {
        for ((one, several), operation) in OPERATIONS.into_iter().zip(0_u64..).take(operations) {
            let config = number | operation << 8;
            all.push(Known {
                name: format!("{cache}-{several}"),
                event: event(HW_CACHE, config),
                intervals: ACCESSES,
            });
            all.push(Known {
                name: format!("{cache}-{one}-misses"),
                event: event(HW_CACHE, config | 1 << 16),
                intervals: MISSES,
            });
        }
    }
    all
}

/// Reads a file of `/sys/bus/event_source/devices`.
pub fn sysfs(path: &str) -> Option<String> {
    std::fs::read_to_string(format!("/sys/bus/event_source/devices/{path}")).ok()
}

/// The counters of arguments of `-h`: names, each with an interval or without. `sysfs` is [`sysfs`].
///
/// # Errors
/// One sentence that states the usage error.
pub fn parse<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    sysfs: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Counter>, String> {
    let mut counters: Vec<Counter> = Vec::new();
    for argument in arguments {
        let mut words = words(argument).into_iter().peekable();
        while let Some(name) = words.next() {
            if name.is_empty() || interval_of(name, MISSES).is_some() {
                return Err(format!(
                    "-h {argument}: expected the name of an event before \"{name}\""
                ));
            }
            // One name for each event, so that metrics of two recordings are the same.
            let alias = NAMED.iter().find(|it| it.alias == name);
            let name = alias.map_or(name, |it| it.name);
            let (event, usual) = event_of(name, &sysfs)?;
            if !Counted::is_name(name) {
                return Err(format!(
                    "-h {name}: a name is at most {LONGEST_COUNTER} letters, digits and signs of -_/,="
                ));
            }
            let given = words.peek().copied();
            let given = given.and_then(|word| interval_of(word, usual));
            if given.is_some() {
                words.next();
            }
            let interval = given.unwrap_or(usual.on);
            check_interval(name, interval, usual)?;
            if counters.iter().any(|known| known.event == event) {
                return Err(format!("-h {name}: asked for twice"));
            }
            counters.push(Counter {
                name: name.to_owned(),
                event,
                interval,
            });
        }
    }
    if counters.len() > MOST_COUNTERS {
        return Err(format!("-h: at most {MOST_COUNTERS} events"));
    }
    Ok(counters)
}

/// The words between commas; those of `cpu/event=1,umask=2/` are one.
fn words(argument: &str) -> Vec<&str> {
    let mut is_inside = false;
    let is_end = |letter: char| {
        is_inside ^= letter == '/';
        letter == ',' && !is_inside
    };
    argument.split(is_end).collect()
}

/// The interval that a word stands for, if it does; an empty one stands for the default.
fn interval_of(word: &str, usual: Intervals) -> Option<u64> {
    match word {
        "hi" | "high" => Some(usual.hi),
        "on" | "" => Some(usual.on),
        "lo" | "low" => Some(usual.lo),
        // A number too large for any interval is one nevertheless.
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(word.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

fn check_interval(name: &str, interval: u64, usual: Intervals) -> Result<(), String> {
    let (least, unit) = match usual {
        CLOCK => (SHORTEST_CLOCK, " nanoseconds"),
        _ => (1, ""),
    };
    if (least..=LONGEST).contains(&interval) {
        Ok(())
    } else {
        Err(format!(
            "-h {name},{interval}: an interval is between {least} and {LONGEST}{unit}"
        ))
    }
}

/// The event of a name.
fn event_of(
    name: &str,
    sysfs: &impl Fn(&str) -> Option<String>,
) -> Result<(Event, Intervals), String> {
    let known = known();
    if let Some(known) = known.iter().find(|it| it.name == name) {
        return Ok((known.event, known.intervals));
    }
    if let Some(config) = name.strip_prefix('r').and_then(hexadecimal) {
        let event = Event {
            pmu: RAW,
            config: [config, 0, 0],
        };
        return Ok((event, MISSES));
    }
    if let Some((pmu, terms)) = name.split_once('/')
        && is_file(pmu)
    {
        let event = of_pmu(pmu, terms, sysfs).map_err(|why| format!("-h {name}: {why}"))?;
        return Ok((event, MISSES));
    }
    let names = known.iter().map(|it| it.name.as_str());
    let near =
        nearest(name, names).map_or_else(String::new, |it| format!(" (did you mean \"{it}\"?)"));
    Err(format!(
        "-h {name}: there is no event of that name{near}; `collect -h` lists those of this machine"
    ))
}

fn hexadecimal(digits: &str) -> Option<u64> {
    // `from_str_radix` takes a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

/// Whether a name leads to no other folder.
fn is_file(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// The event that `event=0x3c,umask=1/` or `mem-loads/` is for a PMU, by what its files say.
fn of_pmu(
    pmu: &str,
    terms: &str,
    sysfs: &impl Fn(&str) -> Option<String>,
) -> Result<Event, String> {
    let terms = terms
        .strip_suffix('/')
        .ok_or("it has no \"/\" at its end")?;
    let number = sysfs(&format!("{pmu}/type"));
    let number = number.and_then(|text| text.trim().parse().ok());
    let mut event = Event {
        pmu: number.ok_or_else(|| {
            format!("this machine has no PMU \"{pmu}\"; many virtual machines have none")
        })?,
        ..Event::default()
    };
    let mut all: Vec<String> = Vec::new();
    for term in terms.split(',').filter(|term| !term.is_empty()) {
        // An event's own name stands for its terms.
        let alias = is_file(term).then(|| sysfs(&format!("{pmu}/events/{term}")));
        match alias.flatten() {
            Some(text) => all.extend(text.trim().split(',').map(str::to_owned)),
            None => all.push(term.to_owned()),
        }
    }
    for term in &all {
        let (name, value) = match term.split_once('=') {
            Some((name, value)) => (name, number_of(value)),
            None => (term.as_str(), Some(1)),
        };
        let value = value.ok_or_else(|| format!("\"{term}\" has no number behind its \"=\""))?;
        let format = match name {
            "config" | "config1" | "config2" => Some(format!("{name}:0-63")),
            _ if is_file(name) => sysfs(&format!("{pmu}/format/{name}")),
            _ => None,
        };
        let format = format.ok_or_else(|| format!("the PMU {pmu} has no term \"{name}\""))?;
        put(&mut event.config, format.trim(), value)
            .ok_or_else(|| format!("{value:#x} is too large for \"{name}\" ({})", format.trim()))?;
    }
    Ok(event)
}

fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => hexadecimal(digits),
        None => text.parse().ok(),
    }
}

/// Puts a value into the bits that a format says: `config:0-7,32-35`.
fn put(config: &mut [u64; 3], format: &str, mut value: u64) -> Option<()> {
    let (word, ranges) = format.split_once(':')?;
    let word = match word {
        "config" => &mut config[0],
        "config1" => &mut config[1],
        "config2" => &mut config[2],
        _ => return None,
    };
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > 63 {
            return None;
        }
        let width = last - first + 1;
        let mask = u64::MAX >> (64 - width);
        *word = *word & !(mask << first) | (value & mask) << first;
        value = value.checked_shr(width).unwrap_or(0);
    }
    (value == 0).then_some(())
}

impl Counter {
    /// Whether its events are the kernel's doing, so that it counts none where the kernel may not be
    /// looked into.
    pub fn is_of_the_kernel(&self) -> bool {
        OF_THE_KERNEL.contains(&(self.event.pmu, self.event.config[0]))
    }

    /// The header's row, without counts.
    pub fn row(&self) -> Counted {
        Counted {
            name: self.name.clone(),
            interval: self.interval,
            counted: 1.0,
            ..Counted::default()
        }
    }
}

/// Why the kernel refused a counter, and what to do. What a user asked for is not left out silently:
/// there is no recording without it.
pub fn refused(counter: &Counter, errno: i32, situation: Situation) -> Impossible {
    let name = &counter.name;
    let why = why_not(counter, errno, situation);
    Impossible(format!(
        "-h {name}: {why}; `collect -h` lists what this machine counts"
    ))
}

/// The reason as a clause.
fn why_not(counter: &Counter, errno: i32, situation: Situation) -> String {
    let paranoid = match situation.paranoid {
        Some(level) => format!("kernel.perf_event_paranoid is {level}"),
        None => "kernel.perf_event_paranoid cannot be read".into(),
    };
    match errno {
        libc::EACCES | libc::EPERM if counter.is_of_the_kernel() => format!(
            "it is counted in the kernel, which is not permitted ({paranoid}): `sysctl \
             kernel.perf_event_paranoid=1` as root permits it"
        ),
        libc::EACCES | libc::EPERM => format!(
            "not permitted ({paranoid}): `sysctl kernel.perf_event_paranoid=1` as root permits it, \
             unless a container or security module forbids perf events"
        ),
        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO => {
            "this machine's processor, or the virtual machine, does not count it".into()
        }
        libc::EINVAL => "the kernel or the processor does not know such an event".into(),
        libc::EMFILE | libc::ENFILE => {
            "too few open files are allowed for it on each CPU: raise the limit with `ulimit -n`"
                .into()
        }
        errno => {
            let error = std::io::Error::from_raw_os_error(errno);
            format!("the kernel refused it: {error}")
        }
    }
}

/// What the kernel counted on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnCpu {
    /// The events.
    pub events: u64,
    /// For how long they were counted, in nanoseconds.
    pub counted: u64,
    /// For how long the threads ran there: an event that is always counted was counted so long.
    pub ran: u64,
}

/// The events of all CPUs, scaled to the whole time of the threads, and for which part of it they were
/// counted.
pub fn scaled(all: impl IntoIterator<Item = OnCpu>) -> (u64, f64) {
    let (mut events, mut counted, mut ran) = (0_u128, 0_u128, 0_u128);
    for on in all {
        events += u128::from(on.events);
        counted += u128::from(on.counted);
        ran += u128::from(on.ran);
    }
    // The two are read one after the other: a difference of a hundredth tells nothing.
    if counted == 0 || counted + ran / 100 >= ran {
        return (events.try_into().unwrap_or(u64::MAX), 1.0);
    }
    let whole = events.saturating_mul(ran) / counted;
    let part = counted as f64 / ran as f64;
    (whole.try_into().unwrap_or(u64::MAX), part)
}

/// The table that bare `-h` prints: `open` tries to open an event on this process, and gives `errno` if the
/// kernel refuses.
pub fn list(open: impl Fn(&Counter) -> Result<(), i32>, situation: Situation) -> String {
    let mut text =
        "Events for -h NAME[,on|hi|lo|N]; N events from one sample to the next\n\n".to_owned();
    let columns = |cells: [&str; 4], said: &str| {
        let [name, on, hi, lo] = cells;
        format!(
            "{:<79}",
            format!("  {name:<26}{on:>12}{hi:>12}{lo:>12}  {said}")
        )
        .trim_end()
        .to_owned()
            + "\n"
    };
    text.push_str(&columns(["name", "on", "hi", "lo"], ""));
    let mut refused: Vec<(String, Vec<String>)> = Vec::new();
    for known in known() {
        let Intervals { hi, on, lo } = known.intervals;
        let counter = Counter {
            name: known.name,
            event: known.event,
            interval: on,
        };
        match open(&counter) {
            Ok(()) => {
                let unit = if known.intervals == CLOCK {
                    "nanoseconds"
                } else {
                    ""
                };
                let numbers = [on, hi, lo].map(|it| it.to_string());
                let [on, hi, lo] = numbers.each_ref().map(String::as_str);
                text.push_str(&columns([&counter.name, on, hi, lo], unit));
            }
            Err(errno) => {
                let why = why_not(&counter, errno, situation);
                match refused.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, names)) => names.push(counter.name),
                    None => refused.push((why, vec![counter.name])),
                }
            }
        }
    }
    for (why, names) in refused {
        text.push_str(&format!("\nNot available ({why}):\n"));
        let mut line = String::new();
        for name in names {
            if line.len() + name.len() > 76 {
                text.push_str(&format!(" {line}\n"));
                line.clear();
            }
            line.push_str(&format!(" {name}"));
        }
        text.push_str(&format!(" {line}\n"));
    }
    text.push_str(
        "\nRaw events: rNNN, in hexadecimal, and PMU/TERM=VALUE,.../ with the terms that\n\
         /sys/bus/event_source/devices/PMU/format lists: cpu/event=0x3c,umask=0/\n",
    );
    text
}

#[cfg(test)]
mod tests;
