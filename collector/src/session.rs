//! A running recording: rounds over the rings until the program has ended, and what is written.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use experiment::header::Header;
use experiment::ids::Nanos;
use experiment::losses::LossKind;
use experiment::rows::PointKind;
use experiment::{Batch, ExperimentError, Writer};
use symbolize::Files;

use crate::affinity::Affinity;
use crate::after::{After, Watched};
use crate::calls_notes;
use crate::control_options::{ControlOptions, signal_name};
use crate::merge::Merge;
use crate::no_events::Cause;
use crate::python::{self, Recorded};
use crate::say::say;
use crate::schedule::{LOOK, SHORTEST_ROUND, WAITING, flush_after, wait_after};
use crate::shortfall::{Shortfall, named};
use crate::signals::{Signals, is_handled};
use crate::source::Source;
use crate::sys::{self, Ended};
use crate::{archive, clock, control, header};

/// The time between two writes of the header: the age that a killed recording's header can have. It
/// takes a kilobyte.
const HEADER_INTERVAL: Duration = Duration::from_secs(1);

/// A running recording.
pub struct Session {
    pid: i32,
    /// The process ran already, and goes on after the recording.
    is_attached: bool,
    merge: Merge,
    affinity: Affinity,
    /// What is recorded of Python and of generated code.
    pub python: Recorded,
    /// The interfaces between ranks whose calls are recorded, a bit for each.
    pub recorded_calls: u32,
    writer: Writer,
    header: Header,
    flushed: Instant,
    headed: Instant,
    /// Whether the library records OpenMP events, or why not.
    library: Result<(), Cause>,
    /// How the program has ended. Processes that it started may be recorded on.
    ended: Option<Ended>,
    /// When that was known.
    ended_at: (Instant, Nanos),
    /// A signal told to end.
    is_told_to_end: bool,
    /// The user knows that other processes are recorded on.
    is_announced: bool,
    options: ControlOptions,
    /// When the next periodic sample point is due.
    sample_due: Option<Instant>,
}

/// Why the rounds have ended.
enum RoundsEnd {
    /// The program has ended, and all that it started, or the user wanted no more.
    Program(Ended),
    /// The experiment cannot be written any further.
    Write(ExperimentError),
    /// Recording ends at this time although nothing failed, and why.
    Limit(Nanos, String),
}

impl Session {
    /// A recording of the program that runs as process `pid`.
    pub fn new(
        pid: i32,
        merge: Merge,
        writer: Writer,
        header: Header,
        library: Result<(), Cause>,
        options: ControlOptions,
    ) -> Self {
        let sample_due = options.sample_period.map(|period| Instant::now() + period);
        Session {
            options,
            sample_due,
            pid,
            is_attached: library == Err(Cause::Attached),
            merge,
            affinity: Affinity::default(),
            python: Recorded::default(),
            recorded_calls: 0,
            writer,
            header,
            flushed: Instant::now(),
            headed: Instant::now(),
            library,
            ended: None,
            ended_at: (Instant::now(), Nanos(0)),
            is_told_to_end: false,
            is_announced: false,
        }
    }

    /// How the program has ended, if that is known.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Records until the program and all processes that it started have ended, and finishes the
    /// experiment. A signal after the program's end ends the recording.
    ///
    /// # Errors
    /// If the program's rings or its end cannot be waited for.
    pub fn run(
        &mut self,
        mut source: Source,
        signals: &mut Signals,
        verbose: bool,
    ) -> io::Result<Ended> {
        match self.record_rounds(&mut source, signals)? {
            RoundsEnd::Program(ended) => {
                self.end(source, signals, Some(ended), verbose);
                Ok(ended)
            }
            RoundsEnd::Limit(end, why) => {
                say(format!(
                    "the recording ends here: {why}; the program goes on"
                ));
                self.header.limit = Some(why);
                let pause = self.options.pause_signal.map(|(signal, _)| signal);
                let own = pause.into_iter().chain(self.options.sample_signal);
                signals.discard(own.filter(|&signal| !is_handled(self.pid, signal)));
                self.header.duration_ns = end.0;
                self.merge.openmp.pause();
                self.end(source, signals, None, verbose);
                let ended = self.await_end(signals);
                self.ended = Some(ended);
                header::end(&mut self.header, ended);
                self.writer.stop(&self.header);
                Ok(ended)
            }
            RoundsEnd::Write(error) => {
                self.stop(source, &error);
                let ended = self.await_end(signals);
                self.ended = Some(ended);
                header::end(&mut self.header, ended);
                self.writer.stop(&self.header);
                Ok(ended)
            }
        }
    }

    /// Records round by round until the end.
    fn record_rounds(
        &mut self,
        source: &mut Source,
        signals: &mut Signals,
    ) -> io::Result<RoundsEnd> {
        let mut polled: Vec<libc::pollfd> = [signals.as_raw_fd()]
            .into_iter()
            .chain(source.descriptors())
            .map(sys::readable)
            .collect();
        let has_rings = polled.len() > 1;
        let begun = Instant::now();
        let mut due = begun + SHORTEST_ROUND;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let is_ready = sys::poll(&mut polled, left.min(LOOK).as_millis() as i32)?;
            if !is_ready && left > LOOK && self.merge.openmp.waiting() < WAITING {
                continue;
            }
            // A ring reports a hang-up from the end of its last thread on.
            polled.retain(|entry| entry.revents & (libc::POLLHUP | libc::POLLERR) == 0);
            let arrived = signals.arrived();
            self.is_told_to_end |= arrived.ending;
            // Each thread of an attached process has events of its own, and one of them is polled.
            let is_last = has_rings && polled.len() <= 1 && !self.is_attached;
            self.make_periodic_point();
            if self.ended.is_none() {
                for signal in arrived.for_program {
                    self.forward(signal);
                }
                if self.is_attached {
                    self.look_at_attached();
                } else if arrived.child || is_last {
                    self.look_for_end()?;
                }
            }
            if let Some(ended) = self.ended
                && (is_last || self.is_told_to_end || !source.plan().follow)
            {
                return Ok(RoundsEnd::Program(ended));
            }
            let truncated = self.merge.truncated_stacks();
            self.merge.round(source);
            self.affinity.look(&self.merge.tables);
            let truncated = truncated < self.merge.truncated_stacks();
            if let Some((end, why)) = self.merge.control.end() {
                return Ok(RoundsEnd::Limit(end, why.to_owned()));
            }
            if let Some(ended) = self.ended
                && !self.others_run()
                && self.ended_at.0.elapsed() >= source.settles_after()
            {
                // A process may have ended since the rings were read, and before that have made another one.
                self.merge.round(source);
                if !self.others_run() {
                    return Ok(RoundsEnd::Program(ended));
                }
            }
            let longest = source.longest_round();
            due = Instant::now() + wait_after(truncated, begun.elapsed()).min(longest);
            let waiting = self.merge.samples_waiting();
            if self.flushed.elapsed() >= flush_after(waiting, begun.elapsed()) {
                let written = self.flush(None).and_then(|()| self.refresh_header(source));
                if let Err(error) = written {
                    return Ok(RoundsEnd::Write(error));
                }
                if let Some(most) = self.options.most_bytes
                    && self.writer.bytes() >= most
                {
                    let why = format!("-L: its size is {} MB", most >> 20);
                    return Ok(RoundsEnd::Limit(self.now(), why));
                }
            }
        }
    }

    /// Notes the program's end, if it has ended.
    fn look_for_end(&mut self) -> io::Result<()> {
        // Reaping the process removes its CPU time.
        let cpu_time = sys::cpu_time(self.pid);
        self.ended = sys::try_wait(self.pid)?;
        if let Some(ended) = self.ended {
            self.ended_at = (Instant::now(), self.now());
            if let Some(cpu_time) = cpu_time {
                self.merge.ended(cpu_time);
            }
            header::end(&mut self.header, ended);
        }
        Ok(())
    }

    /// Notes the end of an attached process, or of its recording.
    fn look_at_attached(&mut self) {
        if self.is_told_to_end || !sys::is_running(self.pid) {
            self.ended = Some(Ended::Unknown);
        }
    }

    /// Whether processes that the program started run on, after its end. Says so once.
    fn others_run(&mut self) -> bool {
        let others = self.merge.other_processes();
        if others.is_empty() {
            return false;
        }
        if !std::mem::replace(&mut self.is_announced, true) {
            let (processes, they) = match others.as_slice() {
                [_] => ("a process", "it ends"),
                _ => ("processes", "they end"),
            };
            say(format!(
                "the program has ended and left {processes} that {} recorded until {they} or you \
                 press Ctrl-C: {} (with -F off only the program is recorded)",
                if others.len() == 1 { "is" } else { "are" },
                named(&others)
            ));
        }
        true
    }

    /// How the program ends, of which nothing more is recorded.
    fn await_end(&self, signals: &mut Signals) -> Ended {
        match self.ended {
            Some(ended) => ended,
            None if self.is_attached => Ended::Unknown,
            None => wait(self.pid, signals),
        }
    }

    /// Passes a signal on to the program, if `collect` has started it. A signal of `-y` or `-l` that the
    /// program does not handle would end it: what the signal stands for is done instead.
    fn forward(&mut self, signal: i32) {
        let ControlOptions {
            pause_signal,
            sample_signal,
            ..
        } = self.options;
        let is_pause = pause_signal.is_some_and(|(known, _)| known == signal);
        let is_control = is_pause || sample_signal == Some(signal);
        if self.is_attached && !is_control {
            return;
        }
        if !is_control || is_handled(self.pid, signal) {
            sys::send(self.pid, signal);
            return;
        }
        let now = self.now().0;
        if is_pause {
            let paused = !self.merge.control.is_paused_at(now);
            self.merge.control.pause_at(now, paused);
        } else if let Some(used) = control::used_by(self.pid) {
            let kind = PointKind::Signal;
            self.merge.control.point_at(now, self.pid, kind, used);
        }
    }

    fn make_periodic_point(&mut self) {
        let (Some(due), Some(period)) = (self.sample_due, self.options.sample_period) else {
            return;
        };
        if Instant::now() < due {
            return;
        }
        self.sample_due = Some(due.max(Instant::now() - period) + period);
        if let Some(used) = control::used_by(self.pid) {
            let now = clock::raw_now().saturating_sub(self.header.started_raw_ns);
            let kind = PointKind::Period;
            self.merge.control.point_at(now, self.pid, kind, used);
        }
    }

    /// Writes the header again from time to time, so that a killed recording tells what it lost.
    fn refresh_header(&mut self, source: &Source) -> Result<(), ExperimentError> {
        let new_runtime = self.header.runtimes.len() < self.merge.registered.runtimes.len();
        if !new_runtime && self.headed.elapsed() < HEADER_INTERVAL {
            return Ok(());
        }
        self.headed = Instant::now();
        header::update(&mut self.header, &source.plan(), &self.merge);
        header::count(&mut self.header, source, &self.merge);
        self.header.process_cpus = self.affinity.by_process(&self.merge.tables);
        self.writer.header(&self.header)
    }

    /// Writes what is new.
    fn flush(&mut self, end: Option<Nanos>) -> Result<(), ExperimentError> {
        self.flushed = Instant::now();
        let rows = self.merge.take_rows(end);
        let loops = self.merge.take_loops();
        let (lock_sums, lock_waits) = self.merge.take_locks(end.is_some());
        let (mpi_calls, mpi_messages) = self.merge.take_mpi(end.is_some());
        let (samples, counters) = self.merge.take_samples_out();
        let cpu_uses = match end {
            Some(_) => self.merge.processes.usage.rows(),
            None => Vec::new(),
        };
        let (spans, sample_points) = self.merge.control.take();
        let batch = Batch {
            samples: &samples,
            counters: &counters,
            sums: &rows.sums,
            blames: &rows.blames,
            intervals: &rows.intervals,
            region_sums: &rows.region_sums,
            region_works: &rows.region_works,
            region_spans: &rows.region_spans,
            task_sums: &rows.task_sums,
            task_spans: &rows.task_spans,
            loop_sums: &loops,
            lock_sums: &lock_sums,
            lock_waits: &lock_waits,
            mpi_calls: &mpi_calls,
            mpi_messages: &mpi_messages,
            cpu_uses: &cpu_uses,
            spans: &spans,
            phase_sums: &rows.phase_sums,
            sample_points: &sample_points,
        };
        self.writer.append(&self.merge.tables, &batch)
    }

    /// Nanoseconds since the start.
    fn now(&self) -> Nanos {
        let now = clock::raw_now().saturating_sub(self.header.started_raw_ns);
        Nanos(now.max(self.merge.merged_to()))
    }

    /// Ends the recording while the program continues, since the experiment cannot be written.
    fn stop(&mut self, source: Source, error: &ExperimentError) {
        let plan = source.plan();
        header::count(&mut self.header, &source, &self.merge);
        drop(source);
        self.merge.openmp.pause();
        say(format!(
            "{error}; the program goes on, the recording ends here"
        ));
        self.header.duration_ns = self.now().0;
        self.header.stopped = Some(error.to_string());
        header::update(&mut self.header, &plan, &self.merge);
        self.writer.stop(&self.header);
    }

    /// The last round, the symbols and the final header. `ended` is `None` if the program goes on.
    fn end(
        &mut self,
        mut source: Source,
        signals: &mut Signals,
        ended: Option<Ended>,
        verbose: bool,
    ) {
        self.merge.last_round(&mut source);
        sys::lower_priority();
        let (has_minor, has_major) = (source.counts_faults(), source.counts_major_faults());
        let end = self.now();
        let has_settled = !source.settles_after().is_zero() && !self.is_announced;
        let limit = match ended {
            Some(_) if has_settled => self.ended_at.1,
            Some(_) => end,
            None => Nanos(self.header.duration_ns),
        };
        self.merge.close(end);
        self.merge.control.close(&self.merge.tables, limit.0);
        let flushed = self.flush(Some(end));
        let plan = source.plan();
        header::count(&mut self.header, &source, &self.merge);
        let missing_cpu_ns = source.missing_cpu_time();
        drop(source);

        let header = &mut self.header;
        header.duration_ns = limit.0;
        header.process_cpus = self.affinity.by_process(&self.merge.tables);
        header::end(header, ended.unwrap_or(Ended::Unknown));
        header
            .notes
            .extend(control_notes(&self.options, &self.merge));
        let misused = &self.merge.control.misused;
        header.notes.extend(calls_notes::misuses(misused));
        let coarrays = calls_notes::static_coarrays(&self.merge.tables, self.recorded_calls);
        header.notes.extend(coarrays);
        let pythons = self.merge.openmp.pythons().keys().copied();
        header.notes.extend(python::notes(self.python, pythons));
        header::update(header, &plan, &self.merge);
        // A lost record may have told of them.
        let is_whole = self.merge.counts.lost.of(LossKind::SideBand).is_none();
        header.sampling.minor_faults = is_whole && has_minor;
        header.sampling.major_faults = is_whole && has_major;
        let library = self.library.as_ref().copied();
        let silent = header::close_runtimes(header, &self.merge, library);
        let shortfall = Shortfall {
            missing_cpu_ns,
            ..Shortfall::of(header, &self.merge, silent)
        };
        header.notes.extend(shortfall.notes());
        let recording_cpu = sys::own_cpu_seconds();
        if let Err(error) = flushed {
            say(format!("{error}; the end of the recording is missing"));
            self.header.stopped = Some(error.to_string());
            self.writer.stop(&self.header);
        } else if let Err(error) = self.name_and_finish(signals, ended) {
            let missing =
                format!("{error}; the experiment is whole but for the names of functions");
            say(&missing);
            self.header.notes.push(missing);
            self.writer.stop(&self.header);
        }
        if self.python == Recorded::All {
            self.merge.processes.remove_maps_of_python();
        }
        if let Some(line) = shortfall.line() {
            say(line);
        }
        if verbose {
            self.summarize(recording_cpu);
        }
    }

    /// Writes the symbols and the end. A signal ends that with a whole experiment.
    fn name_and_finish(
        &mut self,
        signals: &mut Signals,
        ended: Option<Ended>,
    ) -> Result<(), ExperimentError> {
        // Symbols can take seconds. If collect is killed meanwhile, only the symbols are missing.
        self.writer.header(&self.header)?;
        let files = Files {
            vdso: sys::vdso().map(Into::into),
            paths: self.merge.processes.objects.paths(),
            generated: self
                .merge
                .processes
                .generated(self.python != Recorded::Nothing),
            ..Files::default()
        };
        let goes_on = ended.is_none() && !self.is_attached;
        let mut after = After::new(signals, goes_on.then_some(self.pid));
        let mut files = Watched {
            source: files,
            after: &mut after,
        };
        let jumps = symbolize::find_jumps(&mut self.merge.tables, &mut files);
        self.writer.append(&self.merge.tables, &Batch::default())?;
        let mut symbols = symbolize::resolve(&self.merge.tables, &mut files);
        symbols.jumps = jumps;
        let files = files.source;
        if after.is_ended() {
            // A reader that finds no symbols resolves all itself.
            self.remark("a signal ended the naming of functions: they have the names that they have in the files where the experiment is read");
            return self.writer.finish(&self.header);
        }
        self.writer.symbols(&symbols)?;
        let (archive, folder) = (self.options.archive, self.writer.folder());
        let named = (&self.merge.tables, &symbols);
        let failed = archive::copy(folder, archive, named, &files, &mut after);
        drop(after);
        if let Some(failed) = failed {
            self.remark(&failed);
        }
        self.writer.finish(&self.header)
    }

    /// Where the experiment is.
    pub(crate) fn directory(&self) -> &Path {
        self.writer.directory()
    }

    /// Says something that the header says, too.
    fn remark(&mut self, what: &str) {
        say(what);
        self.header.notes.push(what.to_owned());
    }

    /// Prints the recording in a few lines, for `-v`.
    fn summarize(&self, recording_cpu: f64) {
        let Header {
            sampling,
            losses,
            notes,
            duration_ns,
            ..
        } = &self.header;
        let directory = self.directory();
        say(format!(
            "{}: {} samples, {} at switch-out, {} OpenMP records of {} calling contexts in {:.3} s",
            directory.display(),
            sampling.samples,
            sampling.switch_samples,
            losses.omp_taken,
            self.merge.openmp.contexts,
            Nanos(*duration_ns).seconds()
        ));
        say(format!(
            "used {recording_cpu:.3} s of CPU time to record, {:.3} s to resolve symbols",
            sys::own_cpu_seconds() - recording_cpu
        ));
        notes.iter().for_each(say);
    }
}

/// Notes on signals that could not control the recording.
fn control_notes(options: &ControlOptions, merge: &Merge) -> Vec<String> {
    let pause = options.pause_signal.map(|(signal, _)| ("-y", signal));
    let sample = options.sample_signal.map(|signal| ("-l", signal));
    let replaced = &merge.control.replaced;
    let lost = pause.into_iter().chain(sample);
    let lost = lost.filter(|(_, signal)| replaced.contains(signal));
    lost.map(|(option, signal)| {
        let name = signal_name(signal);
        format!(
            "{option} {name}: the program has a handler of its own for {name}, which then no longer \
             controlled the recording; choose another signal"
        )
    })
    .collect()
}

/// Waits for the program, of which nothing more is recorded.
pub(crate) fn wait(pid: i32, signals: &mut Signals) -> Ended {
    loop {
        let arrived = signals.wait();
        for signal in arrived.for_program {
            sys::send(pid, signal);
        }
        match sys::try_wait(pid) {
            Ok(None) => {}
            Ok(Some(ended)) => return ended,
            // There is no such child, and no way to know its status.
            Err(_) => return Ended::Exited(1),
        }
    }
}
