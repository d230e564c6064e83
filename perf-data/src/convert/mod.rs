//! Converts a file into an experiment.

pub(crate) mod counters;
mod header;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use experiment::header::{Counter, Header, Sampling};
use experiment::ids::{Nanos, ThreadId, ThreadStateId};
use experiment::losses::{LossKind, Lost};
use experiment::rows::{LONG, SLICE, Sample, SampleKind, Within};
use experiment::state::Scheduling;
use experiment::tables::{Module, Tables};
use experiment::{Batch, Writer};
use omp_model::omp::{Machine, TimeAccounting};
use omp_model::stream::{Event as StreamEvent, What};
use processes::records::{self, Fields, Side, SideRecord};
use processes::{LoadObjects, Processes};
use rustc_hash::FxHashMap;
use symbolize::{Files, Generated, KernelFunction, SymbolSource, Symbols};

use counters::{OfCounter, Weighed, counters_of, evened};

use crate::PerfDataError;
use crate::event::{Common, Event, RawSample};
use crate::file::{About, Next, PerfFile, Record};
use crate::sample::{Stacks, is_in_kernel};
use crate::sort::{Held, Sorter};

const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
/// PERF_RECORD_MISC_LOST_SAMPLES_BPF: a filter of the user's dropped them.
const BY_FILTER: u16 = 1 << 15;

/// The kernel's own mapping, by which perf tells where it lies.
const KERNEL_MAP: &[u8] = b"[kernel.kallsyms]";

/// A row of samples is written once there are so many.
const WRITTEN_AT: usize = 1 << 18;

/// The most mappings of a process, and the most that forks copy in all: the file may say anything. The kernel
/// allows 65,530 (`vm.max_map_count`).
const MOST_MAPPINGS: usize = 1 << 16;
const MOST_COPIED: usize = 1 << 21;

/// The most rows of time, and so many more for each record: a thread that sleeps has none.
const MOST_ROWS: u64 = 1 << 20;
const ROWS_EACH: u64 = 16;

/// A year, the longest time of an experiment, in nanoseconds.
const LONGEST: u64 = 365 * 86_400 * 1_000_000_000;

/// What is known of a thread on CPUs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Running {
    /// No event has told of it.
    #[default]
    Unknown,
    On,
    Off,
}

struct Conversion<'a> {
    path: &'a Path,
    writer: Writer,
    tables: Tables,
    processes: Processes,
    machine: Machine,
    accounting: TimeAccounting,
    stacks: Stacks,
    build_ids: FxHashMap<Vec<u8>, Vec<u8>>,
    /// The number of the event whose samples stand for time.
    clock: Option<usize>,
    clock_period: u64,
    /// Events that are no clock.
    counters: Vec<OfCounter>,
    /// Samples of events beyond [`MOST_COUNTERS`].
    uncounted: u64,
    has_switches: bool,
    /// By thread.
    running: Vec<Running>,
    /// The time of the first record that has one.
    start: Option<u64>,
    /// The latest time so far, since the start.
    latest: u64,
    samples: Vec<Sample>,
    clock_samples: u64,
    /// Time on CPUs by samples of the clock, and by switches.
    on_cpu_ns: u64,
    measured_ns: u64,
    /// Records so far, and the most rows of time that those before have made.
    taken: u64,
    rows: u64,
    /// Mappings that forks have copied.
    copied: usize,
    /// Records of mappings, forks and times beyond all measure.
    left_out: u64,
    late: u64,
    throttled: u64,
    lost: Lost,
    /// The samples and other records of which LOST tells, and the samples of which LOST_SAMPLES tells.
    told_lost: (u64, u64),
    /// The last values of events that are read at samples, by id, and by thread where children share it.
    values: FxHashMap<(u64, i32), u64>,
    side_band: u64,
    without_cpu: bool,
    other_abi: u64,
    /// Where the kernel's code began when it was recorded.
    kernel_at: Option<u64>,
}

/// Converts the file into an experiment in `directory`.
pub(crate) fn convert(path: &Path, directory: &Path) -> Result<(), PerfDataError> {
    let refused = |why: &str| PerfDataError::Refused(path.to_owned(), why.to_owned());
    let mut file = PerfFile::open(path)?;
    if !matches!(file.about.machine.as_str(), "" | "x86_64") {
        return Err(refused(&format!(
            "it was recorded on a machine of type {}, and this program reads stacks of x86_64",
            file.about.machine
        )));
    }
    let mut sorter = Sorter::default();
    let mut conversion: Option<Conversion<'_>> = None;
    let mut has_trace = false;
    loop {
        let due = match file.next() {
            Next::Record(record) => {
                if file.events.is_empty() {
                    return Err(refused("it describes no event: record it again"));
                }
                let event = event_of(&file.events, &record);
                let layout = &file.events[event];
                let time = match record.kind {
                    SAMPLE => layout.sample_time(&record.body),
                    _ => layout.split(&record.body).1.time,
                };
                sorter.add(Held {
                    time,
                    event,
                    record,
                })
            }
            Next::Round => sorter.round(),
            Next::Trace => {
                has_trace = true;
                Vec::new()
            }
            Next::End => break,
        };
        if !due.is_empty() {
            let conversion = match &mut conversion {
                Some(begun) => begun,
                none => none.insert(Conversion::new(path, directory, &file)?),
            };
            conversion.take(&file.events, due)?;
        }
    }
    let due = sorter.end();
    let mut conversion = match conversion {
        Some(begun) => begun,
        None => Conversion::new(path, directory, &file)?,
    };
    conversion.take(&file.events, due)?;
    let counted = conversion.counters.iter().any(|it| !it.samples.is_empty());
    let sampled = conversion.clock_samples > 0 || counted;
    if !sampled {
        let why = match &file.damage {
            _ if has_trace => {
                "it is a trace of the processor (Intel PT, ARM SPE and the like) without samples: record with -e cpu-clock".to_owned()
            }
            Some(damage) => format!("it has no samples: {damage}"),
            None => match conversion.told_lost {
                (0, 0) => "it has no samples".to_owned(),
                (records, samples) => format!(
                    "it has no samples, {} were lost: record with a longer period or a larger -m",
                    records.max(samples)
                ),
            },
        };
        return Err(refused(&why));
    }
    conversion.finish(&file, has_trace)
}

/// The number of the event that a record belongs to.
fn event_of(events: &[Event], record: &Record) -> usize {
    if events.len() == 1 {
        return 0;
    }
    // perf makes sure that the id lies at the same place for all events.
    let id = events[0].id_in(&record.body, record.kind == SAMPLE);
    let known = |id: u64| events.iter().position(|event| event.ids.contains(&id));
    id.and_then(known).unwrap_or(0)
}

/// The ELF image of the vDSO of this process, which is that of all processes of this kernel.
fn vdso() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

/// Whether the kernel that was recorded is of the release that runs now.
fn is_same_release(about: &About) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    !about.release.is_empty() && about.release == release.trim()
}

impl<'a> Conversion<'a> {
    fn new(
        path: &'a Path,
        directory: &Path,
        file: &PerfFile,
    ) -> Result<Conversion<'a>, PerfDataError> {
        let vdso = is_same_release(&file.about).then(vdso).flatten();
        let clock = file.events.iter().position(Event::is_clock);
        let clock_period = clock.map_or(0, |at| file.events[at].clock_period());
        let counters = counters_of(&file.events, clock);
        let row = |counter: &OfCounter| Counter {
            name: counter.name.clone(),
            ..Counter::default()
        };
        let header = Header {
            counters: counters.iter().map(row).collect(),
            sampling: Sampling {
                period_us: clock_period as f64 / 1e3,
                ..Sampling::default()
            },
            ..Header::default()
        };
        let writer = Writer::create(directory, &header);
        Ok(Conversion {
            path,
            writer: writer.map_err(|error| PerfDataError::writing(path, &error))?,
            tables: Tables::default(),
            processes: Processes::new(LoadObjects::recorded(vdso.as_deref()), false),
            machine: Machine::new(),
            accounting: TimeAccounting::new(LONG),
            stacks: Stacks::default(),
            build_ids: file.about.build_ids.clone(),
            clock,
            clock_period,
            counters,
            uncounted: 0,
            has_switches: file.events.iter().any(Event::has_switches),
            running: Vec::new(),
            start: None,
            latest: 0,
            samples: Vec::new(),
            clock_samples: 0,
            on_cpu_ns: 0,
            measured_ns: 0,
            taken: 0,
            rows: 0,
            copied: 0,
            left_out: 0,
            late: 0,
            throttled: 0,
            lost: Lost::default(),
            told_lost: (0, 0),
            values: FxHashMap::default(),
            side_band: 0,
            without_cpu: false,
            other_abi: 0,
            kernel_at: None,
        })
    }

    /// Takes records in the order of time.
    fn take(&mut self, events: &[Event], due: Vec<Held>) -> Result<(), PerfDataError> {
        for Held {
            time,
            event,
            record,
        } in due
        {
            if time > 0 && self.start.is_none() {
                self.start = Some(time);
            }
            // What was there before the recording has no time.
            let time = time.saturating_sub(self.start.unwrap_or(0));
            self.taken += 1;
            if time > LONGEST || !self.has_room_until(time) {
                self.left_out += 1;
                continue;
            }
            self.late += u64::from(time < self.latest && time > 0);
            let before = self.latest;
            self.latest = before.max(time);
            let layout = &events[event];
            match record.kind {
                SAMPLE => self.sample(events, event, &record, time),
                THROTTLE => self.throttled += 1,
                _ => {
                    let (body, common) = layout.split(&record.body);
                    self.other(&record, (body, common), (before, time));
                }
            }
        }
        if self.samples.len() >= WRITTEN_AT {
            self.write(None)?;
        }
        Ok(())
    }

    /// Takes a record that is no sample: its own fields and its `struct sample_id`, the time of the record before and
    /// its own.
    fn other(
        &mut self,
        record: &Record,
        (body, common): (&[u8], Common),
        (before, time): (u64, u64),
    ) {
        let mut fields = Fields::new(body);
        match record.kind {
            LOST => {
                fields.u64();
                let count = fields.u64();
                self.told_lost.0 = self.told_lost.0.saturating_add(count);
                self.lost.add(LossKind::Samples, (before, time), count);
            }
            LOST_SAMPLES if record.misc & BY_FILTER != 0 => {}
            LOST_SAMPLES => self.told_lost.1 = self.told_lost.1.saturating_add(fields.u64()),
            _ => {
                let ids = (common.pid, common.tid);
                let side = records::side(record.kind, record.misc, ids, fields);
                let Some(((pid, tid), what)) = side else {
                    return;
                };
                self.side_band += 1;
                self.side(SideRecord {
                    time,
                    pid,
                    tid,
                    cpu: common.cpu.unwrap_or(0) as u16,
                    what,
                });
            }
        }
    }

    fn side(&mut self, mut record: SideRecord) {
        match &mut record.what {
            // All idle CPUs have the number 0.
            Side::SwitchIn | Side::SwitchOut { .. } if record.tid == 0 => return,
            Side::Map(mapping) => {
                if mapping.path.starts_with(KERNEL_MAP) {
                    self.kernel_at.get_or_insert(mapping.offset);
                }
                if record.pid == -1 {
                    return;
                }
                if mapping.build_id.is_empty()
                    && let Some(id) = self.build_ids.get(&*mapping.path)
                {
                    mapping.build_id = id.as_slice().into();
                }
            }
            // The thread was there before the recording.
            Side::Fork { .. } if record.time == 0 => {
                let scheduling = Scheduling::Blocked;
                record.what = Side::Found { scheduling };
            }
            _ => {}
        }
        if !self.has_room_for(&record) {
            self.left_out += 1;
            return;
        }
        let mut emitted = Vec::new();
        self.processes
            .apply(&mut self.tables, record, &mut |event| emitted.push(event));
        for event in emitted {
            self.thread_event(event);
        }
    }

    /// Whether time until then makes no more rows than a file of so many records may. With switches, each thread
    /// has a row for each second.
    fn has_room_until(&mut self, time: u64) -> bool {
        let seconds = (time / SLICE.0).saturating_sub(self.latest / SLICE.0);
        let threads = self.tables.threads.len() as u64;
        let rows = self.rows.saturating_add(seconds.saturating_mul(threads));
        let has_room = !self.has_switches || rows <= MOST_ROWS + ROWS_EACH * self.taken;
        if has_room {
            self.rows = rows;
        }
        has_room
    }

    /// Whether the address spaces stay as small as those of a machine.
    fn has_room_for(&mut self, record: &SideRecord) -> bool {
        let mut mappings = |pid| {
            let program = self.processes.program_at(pid, record.time);
            program.map_or(0, |(program, _)| program.space().mappings().count())
        };
        match record.what {
            Side::Map(_) => mappings(record.pid) < MOST_MAPPINGS,
            Side::Fork { parent, .. } if parent != record.pid => {
                self.copied += mappings(parent) + 1;
                self.copied < MOST_COPIED
            }
            _ => true,
        }
    }

    fn thread_event(&mut self, event: StreamEvent) {
        let at = event.thread.index();
        if self.running.len() <= at {
            self.running.resize(at + 1, Running::Unknown);
        }
        self.running[at] = match event.what {
            What::Birth(Scheduling::Running) | What::SwitchIn => Running::On,
            _ => Running::Off,
        };
        if self.has_switches {
            self.machine
                .apply(&mut self.tables, &mut self.accounting, &event);
        } else if event.what == What::Exit
            && let Some(row) = self.tables.threads.get_mut(at)
        {
            row.death = Some(event.time);
        }
    }

    fn sample(&mut self, events: &[Event], number: usize, record: &Record, time: u64) {
        let event = &events[number];
        let sample = event.sample(&record.body);
        let Common { pid, tid, cpu, .. } = sample.common;
        let thread = match self.processes.thread_at(tid, time) {
            Some(thread) => thread,
            None => self.processes.adopt(&mut self.tables, pid, tid, time),
        };
        let is_running = self.running.get(thread.index()) == Some(&Running::On);
        let is_clock = Some(number) == self.clock;
        if self.has_switches && is_clock && !is_running && tid != 0 {
            self.runs(thread, time);
        }
        self.without_cpu |= cpu.is_none();
        self.other_abi += u64::from(sample.abi == 1);
        let places = (&mut self.tables, &mut self.processes);
        let stack = self.stacks.of(places, event, (&sample, record.misc), time);
        let row = Sample {
            time: Nanos(time),
            thread,
            cpu: cpu.unwrap_or(0) as u16,
            kind: if is_in_kernel(record.misc) {
                SampleKind::Kernel
            } else {
                SampleKind::User
            },
            stack,
            thread_state: ThreadStateId::OUTSIDE,
            within: Within::default(),
        };
        let own = self.read(events, number, &sample, row);
        if is_clock {
            self.clock_samples += 1;
            self.on_cpu_ns += self.clock_period;
            self.samples.push(row);
        } else if !event.is_dummy() {
            let events = own.or(sample.period).or(event.period());
            self.count(number, row, events.unwrap_or(1));
        }
    }

    /// Takes the values that a sample read: what an event has counted since its last value stands at this
    /// sample, as in perf's reports. Returns that of the sample's own event.
    fn read(
        &mut self,
        events: &[Event],
        number: usize,
        sample: &RawSample<'_>,
        row: Sample,
    ) -> Option<u64> {
        let mut own = None;
        let is_inherited = events[number].is_inherited();
        let tid = if is_inherited { sample.common.tid } else { 0 };
        for (id, value) in sample.values.all() {
            let Some(event) = events.iter().position(|event| event.ids.contains(&id)) else {
                continue;
            };
            let before = self.values.insert((id, tid), value).unwrap_or(0);
            let counted = value.saturating_sub(before);
            if event == number {
                own = Some(counted);
            } else {
                self.count(event, row, counted);
            }
        }
        own
    }

    /// Takes events of a counter that stand at a sample.
    fn count(&mut self, number: usize, sample: Sample, events: u64) {
        if events == 0 {
            return;
        }
        match self.counters.iter_mut().find(|it| it.event == number) {
            Some(counter) => counter.samples.push(Weighed { sample, events }),
            None => self.uncounted += 1,
        }
    }

    /// Adds the lost samples of which no other record has told. Those of which perf writes the number at its
    /// end are the same as those of LOST where the kernel counts both.
    fn add_lost(&mut self, events: &[Event]) {
        let (records, samples) = self.told_lost;
        let is_same = events.iter().any(Event::counts_lost);
        let told = if is_same { records } else { 0 };
        let others = samples.saturating_sub(told);
        if others > 0 {
            self.lost.add(LossKind::Samples, (0, self.latest), others);
        }
    }

    /// A thread is on a CPU by its sample, although no switch has told so: it was there before the recording, or
    /// the record was lost.
    fn runs(&mut self, thread: ThreadId, time: u64) {
        let running = Scheduling::Running;
        let is_known = self.accounting.is_alive(thread);
        self.thread_event(StreamEvent {
            time: Nanos(time),
            thread,
            what: if is_known {
                What::SwitchIn
            } else {
                What::Birth(running)
            },
        });
    }

    /// Writes what is new.
    fn write(&mut self, counters: Option<&[Vec<Sample>]>) -> Result<(), PerfDataError> {
        let end = Nanos(self.latest);
        if counters.is_some() {
            self.machine
                .finish(&mut self.tables, &mut self.accounting, end);
            self.accounting.finish(end);
        } else {
            self.accounting.advance(end);
        }
        let rows = self.accounting.take();
        let running = rows.sums.iter();
        let running = running.filter(|sum| sum.scheduling == Scheduling::Running);
        self.measured_ns += running.map(|sum| sum.time.0).sum::<u64>();
        let is_end = counters.is_some() && self.has_switches;
        let uses = if is_end {
            self.processes.usage.rows()
        } else {
            Vec::new()
        };
        let batch = Batch {
            samples: &self.samples,
            counters: counters.unwrap_or_default(),
            sums: &rows.sums,
            intervals: &rows.intervals,
            cpu_uses: &uses,
            ..Batch::default()
        };
        let written = self.writer.append(&self.tables, &batch);
        self.samples.clear();
        written.map_err(|error| PerfDataError::writing(self.path, &error))
    }

    /// Writes the end, with names and header.
    fn finish(mut self, file: &PerfFile, has_trace: bool) -> Result<(), PerfDataError> {
        let path = self.path;
        let failed = |error| PerfDataError::writing(path, &error);
        self.add_lost(&file.events);
        let mut header = self.header(file, has_trace);
        let mut of_counters = Vec::new();
        for counter in std::mem::take(&mut self.counters) {
            let event = &file.events[counter.event];
            let (row, samples) = evened(event, &counter);
            header.counters.push(row);
            of_counters.push(samples);
        }
        // The header says how many counters there are.
        self.writer.header(&header).map_err(failed)?;
        self.write(Some(&of_counters))?;
        if self.has_switches {
            header.sampling.cpu_ns = self.measured_ns;
        }
        let mut source = Source {
            files: Files {
                vdso: is_same_release(&file.about)
                    .then(vdso)
                    .flatten()
                    .map(Into::into),
                paths: self.processes.objects.paths(),
                generated: self.processes.generated(true),
                ..Files::default()
            },
            kernel_at: self.kernel_at.filter(|_| is_same_release(&file.about)),
        };
        let jumps = symbolize::find_jumps(&mut self.tables, &mut source);
        self.writer
            .append(&self.tables, &Batch::default())
            .map_err(failed)?;
        let mut symbols = symbolize::named(&self.tables, &mut source);
        symbols.jumps = jumps;
        self.writer.symbols(&symbols).map_err(failed)?;
        self.writer.finish(&header).map_err(failed)
    }
}

/// The files as they are now; the kernel's names only if it is the one that was recorded, where it was then.
struct Source {
    files: Files,
    kernel_at: Option<u64>,
}

impl SymbolSource for Source {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        self.files.symbols(module)
    }

    fn generated(&mut self, module: &Module) -> Option<Rc<Generated>> {
        self.files.generated(module)
    }

    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        match self.kernel_at {
            Some(at) if is_kernel_at(at) => self.files.kernel(addresses),
            _ => Err("another kernel was recorded than the one that runs now".to_owned()),
        }
    }

    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        self.files.source(path)
    }
}

/// Whether one of the first symbols of the kernel that runs now is at an address, which is random at each start.
fn is_kernel_at(address: u64) -> bool {
    let Ok(listing) = File::open("/proc/kallsyms") else {
        return false;
    };
    let names = [" T _text", " T _stext"];
    let lines = BufReader::new(listing).lines().map_while(Result::ok);
    let found = lines.filter(|line| names.iter().any(|name| line.ends_with(name)));
    found.take(2).any(|line| {
        let start = line.split(' ').next().unwrap_or_default();
        u64::from_str_radix(start, 16) == Ok(address)
    })
}
