//! A running recording: rounds over the rings until the program has ended, and what is written.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use experiment::header::Header;
use experiment::ids::Nanos;
use experiment::{Batch, ExperimentError, Writer};
use symbolize::Files;

use crate::merge::Merge;
use crate::perf::open::Rings;
use crate::progress::WithProgress;
use crate::say::say;
use crate::schedule::{LOOK, SHORTEST_ROUND, WAITING, flush_after, wait_after};
use crate::shortfall::Shortfall;
use crate::signals::Signals;
use crate::sys::{self, Ended};
use crate::{clock, header};

/// The time between two writes of the header: the age that a killed recording's header can have. It
/// takes a kilobyte.
const HEADER_INTERVAL: Duration = Duration::from_secs(1);

/// A running recording.
pub struct Session {
    pid: i32,
    merge: Merge,
    writer: Writer,
    header: Header,
    flushed: Instant,
    headed: Instant,
    /// Whether the library records OpenMP events, or why not.
    library: Result<(), String>,
    ended: Option<Ended>,
}

/// Why the rounds have ended.
enum RoundsEnd {
    /// The program has ended.
    Program(Ended),
    /// The experiment cannot be written any further.
    Write(ExperimentError),
}

impl Session {
    /// A recording of the program that runs as process `pid`.
    pub fn new(
        pid: i32,
        merge: Merge,
        writer: Writer,
        header: Header,
        library: Result<(), String>,
    ) -> Self {
        Session {
            pid,
            merge,
            writer,
            header,
            flushed: Instant::now(),
            headed: Instant::now(),
            library,
            ended: None,
        }
    }

    /// How the program has ended, if that is known.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Records until the program has ended, and finishes the experiment.
    ///
    /// # Errors
    /// If the program's rings or its end cannot be waited for.
    pub fn run(
        &mut self,
        mut rings: Rings,
        signals: &mut Signals,
        verbose: bool,
    ) -> io::Result<Ended> {
        match self.record_rounds(&mut rings, signals)? {
            RoundsEnd::Program(ended) => {
                self.ended = Some(ended);
                self.end(rings, ended, verbose);
                Ok(ended)
            }
            RoundsEnd::Write(error) => {
                self.stop(rings, &error);
                let ended = wait(self.pid, signals);
                self.ended = Some(ended);
                self.header.exit_status = Some(ended.status());
                self.writer.stop(&self.header);
                Ok(ended)
            }
        }
    }

    /// Records round by round until the program has ended.
    fn record_rounds(&mut self, rings: &mut Rings, signals: &mut Signals) -> io::Result<RoundsEnd> {
        let mut polled: Vec<libc::pollfd> = [signals.as_raw_fd()]
            .into_iter()
            .chain(rings.descriptors())
            .map(sys::readable)
            .collect();
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
            for signal in arrived.for_program {
                sys::send(self.pid, signal);
            }
            if arrived.child || polled.len() <= 1 {
                // Reaping the process removes its CPU time.
                let cpu_time = sys::cpu_time(self.pid);
                if let Some(ended) = sys::try_wait(self.pid)? {
                    if let Some(cpu_time) = cpu_time {
                        self.merge.ended(cpu_time);
                    }
                    return Ok(RoundsEnd::Program(ended));
                }
            }
            let truncated = self.merge.truncated_stacks();
            self.merge.round(rings);
            let truncated = truncated < self.merge.truncated_stacks();
            due = Instant::now() + wait_after(truncated, begun.elapsed());
            let waiting = self.merge.samples_waiting();
            if self.flushed.elapsed() >= flush_after(waiting, begun.elapsed()) {
                let written = self.flush(None).and_then(|()| self.refresh_header(rings));
                if let Err(error) = written {
                    return Ok(RoundsEnd::Write(error));
                }
            }
        }
    }

    /// Writes the header again from time to time, so that a killed recording tells what it lost.
    fn refresh_header(&mut self, rings: &Rings) -> Result<(), ExperimentError> {
        let new_runtime = self.header.runtimes.len() < self.merge.registered.runtimes.len();
        if !new_runtime && self.headed.elapsed() < HEADER_INTERVAL {
            return Ok(());
        }
        self.headed = Instant::now();
        header::update(&mut self.header, &rings.plan, &self.merge);
        header::count(&mut self.header, rings, &self.merge);
        self.writer.header(&self.header)
    }

    /// Writes what is new.
    fn flush(&mut self, end: Option<Nanos>) -> Result<(), ExperimentError> {
        self.flushed = Instant::now();
        let rows = self.merge.take_rows(end);
        let loops = self.merge.take_loops();
        let (lock_sums, lock_waits) = self.merge.take_locks(end.is_some());
        let (samples, counters) = self.merge.take_samples_out();
        let cpu_uses = match end {
            Some(_) => self.merge.processes.usage.rows(),
            None => Vec::new(),
        };
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
            cpu_uses: &cpu_uses,
        };
        self.writer.append(&self.merge.tables, &batch)
    }

    /// Nanoseconds since the start.
    fn now(&self) -> Nanos {
        let now = clock::raw_now().saturating_sub(self.header.started_raw_ns);
        Nanos(now.max(self.merge.merged_to()))
    }

    /// Ends the recording while the program continues, since the experiment cannot be written.
    fn stop(&mut self, rings: Rings, error: &ExperimentError) {
        let plan = rings.plan;
        header::count(&mut self.header, &rings, &self.merge);
        drop(rings);
        self.merge.openmp.pause();
        say(format!(
            "{error}; the program goes on, the recording ends here"
        ));
        self.header.duration_ns = self.now().0;
        self.header.stopped = Some(error.to_string());
        header::update(&mut self.header, &plan, &self.merge);
        self.writer.stop(&self.header);
    }

    /// The last round, the symbols and the final header.
    fn end(&mut self, mut rings: Rings, ended: Ended, verbose: bool) {
        self.merge.last_round(&mut rings);
        let has_major = !rings.major_faults.is_empty();
        let end = self.now();
        self.merge.close(end);
        let flushed = self.flush(Some(end));
        let plan = rings.plan;
        header::count(&mut self.header, &rings, &self.merge);
        drop(rings);

        let header = &mut self.header;
        header.duration_ns = end.0;
        header.exit_status = Some(ended.status());
        header::update(header, &plan, &self.merge);
        // A lost record may have told of them.
        let is_whole = self.merge.counts.lost_side_band == 0;
        header.sampling.minor_faults = is_whole;
        header.sampling.major_faults = is_whole && has_major;
        let library = self.library.as_ref().copied().map_err(String::as_str);
        let silent = header::close_runtimes(header, &self.merge, library);
        let shortfall = Shortfall::of(header, &self.merge, silent);
        header.notes.extend(shortfall.notes());
        let recording_cpu = sys::own_cpu_seconds();
        if let Err(error) = flushed {
            say(format!("{error}; the end of the recording is missing"));
            self.header.stopped = Some(error.to_string());
            self.writer.stop(&self.header);
        } else if let Err(error) = self.name_and_finish() {
            let missing =
                format!("{error}; the experiment is whole but for the names of functions");
            say(&missing);
            self.header.notes.push(missing);
            self.writer.stop(&self.header);
        }
        if let Some(line) = shortfall.line() {
            say(line);
        }
        if verbose {
            self.summarize(recording_cpu);
        }
    }

    /// Writes the symbols and the end.
    fn name_and_finish(&mut self) -> Result<(), ExperimentError> {
        // Symbols can take seconds. If collect is killed meanwhile, only the symbols are missing.
        self.writer.header(&self.header)?;
        let files = Files {
            vdso: sys::vdso().map(Into::into),
            paths: self.merge.processes.objects.non_utf8_paths(),
        };
        let mut files = WithProgress::new(files, |path| {
            say(format!("reading the symbols of {path} ..."));
        });
        let jumps = symbolize::find_jumps(&mut self.merge.tables, &mut files);
        self.writer.append(&self.merge.tables, &Batch::default())?;
        let mut symbols = symbolize::resolve(&self.merge.tables, &mut files);
        symbols.jumps = jumps;
        self.writer.symbols(&symbols)?;
        self.writer.finish(&self.header)
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
        let directory: &Path = self.writer.directory();
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
