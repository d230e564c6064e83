//! The table of parallel regions: the rows of `OMP_preg`.

use std::io;
use std::path::Path;

use experiment::ids::ContextId;
use omp_model::views::openmp::gain::{Cause, REGION_METRICS};
use omp_model::views::openmp::innermost_regions;
use omp_model::views::openmp::regions::{RegionRow, regions};

use super::schema::REGIONS;
use super::table::{Table, Value};
use crate::subject::Subject;

/// The regions, and which of them each context lies in.
pub(super) struct Regions {
    rows: Vec<RegionRow>,
    of_context: Vec<Option<u32>>,
}

impl Regions {
    pub(super) fn new(subject: &Subject<'_>) -> Regions {
        let (profile, measured) = subject.source.measured();
        let rows = regions(profile, &subject.names, &measured);
        let innermost = innermost_regions(subject.names.tables);
        let mut of_region: Vec<Option<u32>> = vec![None; innermost.len()];
        for (row, number) in rows.iter().zip(1..) {
            for context in &row.contexts {
                of_region[context.index()] = Some(number);
            }
        }
        let of_context = innermost.iter().map(|region| of_region[region.index()]);
        Regions {
            of_context: of_context.collect(),
            rows,
        }
    }

    /// The innermost region of a context.
    pub(super) fn of(&self, context: ContextId) -> Value<'static> {
        let region = self.of_context.get(context.index()).copied().flatten();
        Value::of(region, Value::id)
    }

    pub(super) fn write(&self, subject: &Subject<'_>, folder: &Path) -> io::Result<()> {
        // As in the report: instances are not known of a part of the time.
        let is_filtered = subject.source.settings.filter.is_some();
        let counted = |value| if is_filtered { Value::Null } else { value };
        let mut table = Table::create(folder, "regions.parquet", &REGIONS)?;
        for (row, number) in self.rows.iter().zip(1..) {
            let balance = match row.instances {
                0 => Value::Null,
                _ => Value::Double(row.load_balance()),
            };
            let of = |it: &Option<String>| it.clone().unwrap_or_default();
            let (function, file) = (of(&row.location.function), of(&row.location.file));
            let head = [
                Value::id(number),
                Value::Text(&row.name),
                Value::text(&function),
                Value::text(&file),
                Value::of(row.location.line, Value::id),
                Value::Boolean(row.teams),
                Value::id(row.nesting),
                counted(Value::count(row.instances)),
                counted(Value::id(row.threads.into())),
                Value::Double(row.own.elapsed),
                counted(balance),
                Value::Double(row.own.total()),
            ];
            let gains = Cause::ALL.map(|cause| Value::Double(row.own.part(cause)));
            let times = REGION_METRICS.map(|metric| Value::Double(row.time(metric)));
            let mut values = head.into_iter().chain(gains).chain(times);
            table.row(std::array::from_fn(|_| {
                values.next().unwrap_or(Value::Null)
            }))?;
        }
        table.finish()
    }
}
