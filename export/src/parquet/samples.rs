//! The table of samples, and of what has no sample of its own.

use std::io;
use std::path::Path;

use experiment::Samples;
use experiment::rows::{SLICE, Sample, SampleKind};
use omp_model::metrics::{CounterName, Metric};

use super::code::{Code, StackNumbers};
use super::regions::Regions;
use super::schema::SAMPLES;
use super::table::{Batch, Table, Value};
use crate::places::{PlaceNumber, Places};
use crate::subject::{Constructs, Subject, scheduling};

type Rows = Table<{ SAMPLES.len() }>;

/// What all rows need.
struct Context<'a> {
    regions: &'a Regions,
    constructs: Constructs,
}

pub(super) fn write(
    subject: &Subject<'_>,
    regions: &Regions,
    code: &mut Code<'_>,
    folder: &Path,
) -> io::Result<()> {
    let context = Context {
        regions,
        constructs: subject.constructs(),
    };
    let experiment = &subject.analysis().experiment;
    let mut table = Table::create(folder, "samples.parquet", &SAMPLES)?;
    let places = Places::new(subject);
    let own = [&experiment.samples];
    Of::new(&places, &own, None, code).write(&context, &mut table)?;
    for metric in subject.analysis().available().counters() {
        let Metric::Counter(name) = metric else {
            continue;
        };
        let counters = experiment.counters.iter();
        let own = counters.filter(|counter| counter.name == name.as_str());
        let own: Vec<&Samples> = own.map(|counter| &counter.samples).collect();
        let places = Places::of_counter(subject, name);
        Of::new(&places, &own, Some(name), code).write(&context, &mut table)?;
    }
    table.finish()
}

/// The rows of time, or of a counter.
struct Of<'a> {
    places: &'a Places<'a>,
    samples: &'a [&'a Samples],
    counter: Option<CounterName>,
    /// The number of samples by place.
    counts: Vec<u32>,
    stacks: StackNumbers,
}

impl<'a> Of<'a> {
    fn new(
        places: &'a Places<'a>,
        samples: &'a [&'a Samples],
        counter: Option<CounterName>,
        code: &mut Code<'_>,
    ) -> Of<'a> {
        let mut counts = vec![0_u32; places.len()];
        for samples in samples {
            samples.in_order(
                |rows| -> Vec<PlaceNumber> {
                    let seen = rows.iter();
                    seen.filter_map(|row| places.of(row)).collect()
                },
                |_, seen| {
                    for place in seen {
                        counts[place as usize] += 1;
                    }
                },
            );
        }
        let stacks = code.add(places.profile);
        for place in places.iter() {
            code.mark(stacks.get(place.path));
        }
        Of {
            places,
            samples,
            counter,
            counts,
            stacks,
        }
    }

    fn write(&self, context: &Context<'_>, table: &mut Rows) -> io::Result<()> {
        for samples in self.samples {
            let mut written = Ok(());
            samples.in_order(
                |rows| {
                    let seen = rows.iter();
                    let seen = seen.filter_map(|row| Some((self.places.of(row)?, row)));
                    self.batches(context, seen)
                },
                |_, made| {
                    if written.is_ok() {
                        written = made.into_iter().try_for_each(|batch| table.write(batch));
                    }
                },
            );
            written?;
        }
        for (place, _) in (0..).zip(&self.counts).filter(|(_, count)| **count == 0) {
            table.row(self.row(context, place, None))?;
        }
        Ok(())
    }

    fn batches<'s>(
        &self,
        context: &Context<'_>,
        mut seen: impl Iterator<Item = (PlaceNumber, &'s Sample)>,
    ) -> Vec<Batch<{ SAMPLES.len() }>> {
        Batch::all(&SAMPLES, |batch| {
            let next = seen.next();
            if let Some((place, sample)) = next {
                batch.row(self.row(context, place, Some(sample)));
            }
            next.is_some()
        })
    }

    /// What a sample stands for, or all of a place that has none.
    fn row<'r>(
        &self,
        context: &'r Context<'_>,
        number: PlaceNumber,
        sample: Option<&Sample>,
    ) -> [Value<'r>; SAMPLES.len()] {
        let place = self.places.get(number);
        let each = 1.0 / f64::from(self.counts[number as usize].max(1));
        let second = match sample {
            _ if !self.places.by_second => Value::Null,
            Some(sample) => Value::id((sample.time.0 / SLICE.0) as u32),
            None => Value::id(place.slice),
        };
        let construct = context.constructs.name(place.context);
        [
            Value::Text(match sample {
                _ if self.counter.is_some() => "counter",
                None => "no sample",
                Some(sample) => match sample.kind {
                    SampleKind::User | SampleKind::Kernel => "clock",
                    SampleKind::Preempted | SampleKind::Blocked => "switch-out",
                },
            }),
            Value::thread(place.thread),
            Value::id(self.stacks.get(place.path)),
            Value::of(sample, |it| Value::count(it.time.0)),
            second,
            Value::Double(place.seconds * each),
            Value::Text(place.activity.words()),
            Value::Text(scheduling(place.scheduling)),
            Value::Boolean(place.kernel),
            Value::Boolean(place.is_work),
            context.regions.of(place.context),
            Value::of(construct, Value::Text),
            Value::of(sample, |it| Value::instance(it.within.region)),
            Value::of(sample, |it| Value::instance(it.within.task)),
            Value::of(sample, |it| Value::id(it.cpu.into())),
            Value::Boolean(place.inferred),
            Value::Double(place.blame * each),
            Value::of(self.counter, |it| Value::Text(it.as_str())),
            Value::of(self.counter, |_| Value::Double(place.events * each)),
        ]
    }
}
