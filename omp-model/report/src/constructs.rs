//! The common part of lists of regions and lists of tasks. Columns of the same key mean the same
//! in both, so that a program may show both in one list: `kind`, `instances`, the times.

use experiment::ids::ContextId;
use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::TOTAL;
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::{Joined, Rank, join_adding};
use omp_model::views::openmp::gain::REGION_METRICS;
use omp_model::views::openmp::locations::ConstructLocation;
use serde_json::{Map, Value as Json, json};

use crate::document::{Column, Construct, InJson, Role, Row, Style, Table, Target, Value};
use crate::functions::numbers;
use crate::json;
use crate::list::{self, Field};
use crate::query::{Query, Source};

/// A row of a list of constructs.
pub(crate) trait ConstructRow: Sized {
    /// The word of filters that contexts are values of.
    const WORD: &'static str;

    /// Every one of an experiment, in the order of the list.
    fn all(source: &Source<'_>) -> Vec<Self>;

    /// Its name.
    fn name(&self) -> &str;

    /// The name that compared experiments share.
    fn shared_name(&self, shared: &Shared<'_>, side: usize) -> String;

    /// Its location in the source.
    fn location(&self) -> &ConstructLocation;

    /// One for each way that the program came to it.
    fn contexts(&self) -> &[ContextId];

    /// Its seconds or events by a metric; nothing for a metric or a flavour that such rows do not
    /// have.
    fn value(&self, flavour: Flavour, metric: Metric) -> Option<f64>;

    /// The number by which rows are in their own order, largest first.
    fn weight(&self) -> f64;

    /// Data beyond the columns, in words.
    fn detail(&self) -> String;

    /// Adds another directive's row.
    fn absorb(&mut self, other: Self);

    /// The row of all of an experiment's; `None` if there are none, or they do not add up.
    fn total<'r>(rows: impl Iterator<Item = &'r Self> + Clone) -> Option<Self>
    where
        Self: 'r;
}

/// Constructs under their names, by experiment where they are compared.
pub(crate) struct List<T> {
    /// All of them together, if they add up.
    pub(crate) total: Option<Joined<T>>,
    /// As many as the limit leaves, in order.
    pub(crate) joined: Vec<Joined<T>>,
    /// The label of the quantity that they are sorted by; `None` for their own order.
    pub(crate) by: Option<String>,
}

impl<T> List<T> {
    /// The rows of all experiments.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &T> {
        self.joined.iter().flat_map(|it| it.rows.iter().flatten())
    }
}

/// Advice is given for this part of the wall time and these seconds, or more.
const WORTHWHILE: (f64, f64) = (0.01, 0.001);

/// `up to 0.500 s (5.0 % of the run)`, the end of advice; `None` where so little deserves none.
pub(crate) fn worth(gain: f64, wall: f64) -> Option<String> {
    let is_worthwhile = gain >= WORTHWHILE.1 && gain >= WORTHWHILE.0 * wall;
    let percent = 100.0 * gain / wall;
    is_worthwhile.then(|| format!("up to {gain:.3} s ({percent:.1} % of the run)"))
}

/// Adds advice to what the program shows of a selected row.
pub(crate) fn advise<T>(table: &mut Table, list: &List<T>, advice: impl Fn(&T) -> Option<String>) {
    for (shown, joined) in table.rows.iter_mut().zip(&list.joined) {
        let advice = joined.rows.iter().flatten().find_map(&advice);
        if let (Some(Target::Construct(construct)), Some(advice)) = (&mut shown.target, advice) {
            construct.detail = format!("{}: {advice}", construct.detail);
        }
    }
}

/// The constructs of the query.
pub(crate) fn sorted<T: ConstructRow>(query: &Query<'_>) -> List<T> {
    let mut rows = all(query);
    let total = total(&rows);
    let ranking = query.ranking();
    let by = list::sort_as_asked(&mut rows, query.settings.sort, ranking, T::value);
    if by.is_none() && ranking.rank == Rank::Change {
        let rank = |joined: &Joined<T>| ranking.of(joined, T::weight);
        rows.sort_by(|left, right| rank(right).total_cmp(&rank(left)));
    }
    rows.truncate(query.limited(rows.len()));
    List {
        total,
        joined: rows,
        by,
    }
}

/// The row of all constructs, by experiment.
fn total<T: ConstructRow>(joined: &[Joined<T>]) -> Option<Joined<T>> {
    let sides = 0..joined.first()?.rows.len();
    let of = |side: usize| T::total(joined.iter().filter_map(move |it| it.rows[side].as_ref()));
    let rows: Vec<Option<T>> = sides.map(of).collect();
    let is_known = rows.iter().any(Option::is_some);
    is_known.then(|| Joined {
        name: TOTAL.to_owned(),
        rows,
    })
}

/// Every construct of the query.
fn all<T: ConstructRow>(query: &Query<'_>) -> Vec<Joined<T>> {
    if !query.is_comparison() {
        return list::by_name(query, vec![T::all(&query.all)], |row| row.name().to_owned());
    }
    let shared = query.shared();
    let named = |(side, source): (usize, &Source<'_>)| -> Vec<(String, T)> {
        let rows = T::all(source).into_iter();
        rows.map(|row| (row.shared_name(&shared, side), row))
            .collect()
    };
    let joined = join_adding(
        query.each.iter().enumerate().map(named).collect(),
        |(name, _)| name.clone(),
        |(_, row), (_, other)| row.absorb(other),
    );
    let bare = |row: Option<(String, T)>| row.map(|(_, row)| row);
    let joined = joined.into_iter().map(|it| Joined {
        name: it.name,
        rows: it.rows.into_iter().map(bare).collect(),
    });
    joined.collect()
}

/// What stands in place of a table without constructs: why they are not known, or that there are none.
pub(crate) fn none(query: &Query<'_>, none: &str) -> String {
    let unknown = query.sides().iter().find_map(Source::unknown_constructs);
    unknown.unwrap_or(none).to_owned()
}

/// The same as a field of JSON.
pub(crate) fn facts(query: &Query<'_>) -> Map<String, Json> {
    let unknown = query.sides().iter().find_map(Source::unknown_constructs);
    let fact = unknown.map(|why| ("not_known".to_owned(), json!(why)));
    fact.into_iter().collect()
}

/// The table of constructs. A comparison has the columns of these keys alone.
pub(crate) fn table<T: ConstructRow>(
    query: &Query<'_>,
    mut fields: Vec<Field<'_, T>>,
    compared: &[impl AsRef<str>],
    list: &List<T>,
) -> Table {
    let is_comparison = query.is_comparison();
    if is_comparison {
        let at = |field: &Field<'_, T>| {
            compared
                .iter()
                .position(|id| id.as_ref() == field.column.id)
        };
        fields.retain(|field| at(field).is_some());
        fields.sort_by_key(at);
        let columns = fields.iter_mut().map(|field| &mut field.column);
        columns.for_each(compare);
    }
    fields.push(if is_comparison {
        Field::of(Column::name(), |_| Value::Absent)
    } else {
        Field::of(Column::name(), |row| Value::Text(located(row)))
    });
    let mut shown = list::rows(&list.joined, &fields);
    if !is_comparison {
        for (row, joined) in shown.iter_mut().zip(&list.joined) {
            row.target = joined.rows[0].as_ref().map(target);
        }
    }
    let whole = sums(&shown);
    let total = list::rows(list.total.as_slice(), &fields).into_iter();
    let total = total.map(|row| Row {
        role: Role::Sum,
        ..row
    });
    shown.splice(..0, total);
    Table {
        style: if is_comparison {
            Style::Right
        } else {
            Style::Sparse
        },
        compare: query.compare,
        whole,
        rows: shown,
        columns: fields.into_iter().map(|field| field.column).collect(),
        ..Table::default()
    }
}

/// The sums of all rows, by experiment and column.
fn sums(rows: &[Row]) -> Vec<Vec<f64>> {
    let mut sums: Vec<Vec<f64>> = Vec::new();
    for row in rows {
        sums.resize(row.values.len(), Vec::new());
        for (sums, values) in sums.iter_mut().zip(&row.values) {
            sums.resize(values.len(), 0.0);
            for (sum, number) in sums.iter_mut().zip(numbers(values)) {
                *sum += number;
            }
        }
    }
    sums
}

/// Makes a column one of several experiments: the last line of its heading is the experiment's,
/// with the unit.
fn compare(column: &mut Column) {
    if column.json != InJson::Nowhere {
        column.json = InJson::Values;
    }
    column
        .heading
        .retain(|line| !matches!(&**line, "" | "sec." | "#"));
    if column.heading.len() == 1 {
        column.heading.insert(0, String::new());
    }
}

/// `foo -- OMP parallel region from line 9 [foo.omp_outlined], foo.c:9`.
pub(crate) fn located<T: ConstructRow>(row: &T) -> String {
    let location = row.location();
    match (&location.file, location.line) {
        (Some(_), Some(_)) => format!("{}, {}", row.name(), location.short()),
        _ => row.name().to_owned(),
    }
}

fn target<T: ConstructRow>(row: &T) -> Target {
    Target::Construct(Construct {
        word: T::WORD,
        contexts: row.contexts().to_vec(),
        location: row.location().clone(),
        detail: format!("{}  {}", row.location().short(), row.detail())
            .trim_end()
            .to_owned(),
    })
}

/// The location of a construct, for JSON.
pub(crate) fn location<'a, T: ConstructRow>() -> [Field<'a, T>; 3] {
    [
        Field::new("function", "Function", |row: &T| {
            let function = row.location().function.clone();
            function.map_or(Value::Absent, Value::Text)
        }),
        Field::new("file", "File", |row: &T| {
            let file = row.location().file.clone();
            file.map_or(Value::Absent, Value::Text)
        }),
        Field::new("line", "Line", |row: &T| {
            Value::counted(row.location().line.map(u64::from))
        }),
    ]
}

/// The same as fields of an object.
pub(crate) fn location_fields(location: &ConstructLocation) -> Map<String, Json> {
    json::fields([
        ("function", json!(location.function)),
        ("file", json!(location.file)),
        ("line", json!(location.line)),
    ])
}

/// The number of contexts of a construct in a text; JSON has all.
const LONGEST: usize = 3;

/// The numbers that a filter knows a construct's contexts by: all for JSON, the first few for a
/// text.
pub(crate) fn contexts<'a, T: ConstructRow>(id: &str) -> [Field<'a, T>; 2] {
    let numbers = |row: &T| -> Vec<u32> { row.contexts().iter().map(|it| it.0).collect() };
    let text = move |row: &T| Value::Text(first_few(&numbers(row)));
    [
        Field::new(id, "Contexts", move |row| Value::Json(json!(numbers(row)))),
        Field::new(T::WORD, T::WORD, text)
            .heading([T::WORD, ""])
            .json(InJson::Nowhere),
    ]
}

/// `2,3,8 and 1 more`.
fn first_few(numbers: &[u32]) -> String {
    let shown = numbers.iter().take(LONGEST).map(ToString::to_string);
    let shown = shown.collect::<Vec<_>>().join(",");
    match numbers.len().saturating_sub(LONGEST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The times of [`REGION_METRICS`] and the events of counters in these flavours.
pub(crate) fn times<'a, T: ConstructRow>(
    query: &Query<'_>,
    flavours: &'static [Flavour],
) -> impl Iterator<Item = Field<'a, T>> {
    let available = query.all.analysis.available();
    let counters: Vec<Metric> = available.counters().collect();
    let is_of_mpi = |metric: &Metric| matches!(metric, Metric::State(state) if state.is_mpi());
    let known = |metric: &Metric| !is_of_mpi(metric) || available.has(*metric);
    let times: Vec<Metric> = REGION_METRICS.into_iter().filter(known).collect();
    let metrics = times.into_iter().chain(counters);
    metrics.flat_map(|metric| {
        flavours.iter().map(move |&flavour| {
            let column = Column::time(Quantity::Time(flavour, metric));
            let value = move |row: &T| Value::known(row.value(flavour, metric));
            Field::of(column, value).heading(heading(metric))
        })
    })
}

/// The columns of the counters, by their keys.
pub(crate) fn counters(query: &Query<'_>) -> Vec<String> {
    let counters = query.all.analysis.available().counters();
    let id = |metric| Quantity::Time(Flavour::Exclusive, metric).id();
    counters.map(id).collect()
}

fn heading(metric: Metric) -> [&'static str; 2] {
    if let Metric::State(state) = metric
        && let Some(shown) = state.row().shown
    {
        return shown.heading;
    }
    match metric {
        Metric::OmpWork => ["OMP Work", "sec."],
        Metric::OmpWait => ["OMP Wait", "sec."],
        Metric::OffCpuWork => ["Off CPU", "sec."],
        Metric::Total => ["Total", "sec."],
        other if other.is_time() => [other.words(), "sec."],
        other => [other.words(), "#"],
    }
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::SortKey;
    use omp_model::views::compare::groups::Groups;
    use omp_model::views::compare::join::Ranking;

    use super::*;

    struct Waiting {
        name: &'static str,
        seconds: Vec<f64>,
    }

    impl ConstructRow for Waiting {
        const WORD: &'static str = "";

        fn all(_: &Source<'_>) -> Vec<Self> {
            Vec::new()
        }

        fn name(&self) -> &str {
            self.name
        }

        fn shared_name(&self, _: &Shared<'_>, _: usize) -> String {
            self.name.to_owned()
        }

        fn location(&self) -> &ConstructLocation {
            const {
                &ConstructLocation {
                    file: None,
                    line: None,
                    function: None,
                }
            }
        }

        fn contexts(&self) -> &[ContextId] {
            &[]
        }

        fn value(&self, flavour: Flavour, metric: Metric) -> Option<f64> {
            let at = REGION_METRICS.iter().position(|known| *known == metric)?;
            (flavour == Flavour::Exclusive).then_some(self.seconds[at])
        }

        fn weight(&self) -> f64 {
            0.0
        }

        fn detail(&self) -> String {
            String::new()
        }

        fn absorb(&mut self, _: Self) {}

        fn total<'r>(_: impl Iterator<Item = &'r Self> + Clone) -> Option<Self> {
            None
        }
    }

    #[test]
    fn a_list_that_is_cut_tells_how_much_is_missing() {
        assert_eq!(first_few(&[]), "");
        assert_eq!(first_few(&[2, 3, 8]), "2,3,8");
        assert_eq!(first_few(&[2, 3, 8, 9, 11]), "2,3,8 and 2 more");
    }

    /// The names of three constructs in the order of a key, and what they are then sorted by.
    fn order(key: Option<SortKey>) -> (String, String) {
        let waits = [("b", 1.0), ("c", 3.0), ("a", 1.0)];
        let mut rows = waits.map(|(name, seconds)| {
            let of = |metric| match metric {
                Metric::OmpWait => seconds,
                _ => 0.0,
            };
            let seconds = REGION_METRICS.map(of).to_vec();
            Joined {
                name: name.to_owned(),
                rows: vec![Some(Waiting { name, seconds })],
            }
        });
        let ranking = Ranking {
            rank: Rank::Largest,
            groups: &Groups::alone(1),
        };
        let by = list::sort_as_asked(&mut rows, key, ranking, Waiting::value);
        let names = rows.map(|row| row.name);
        (names.concat(), by.unwrap_or_default())
    }

    #[test]
    fn rows_are_as_asked_for_or_stay_as_they_are() {
        let order = |quantity, reversed| order(Some(SortKey { quantity, reversed }));
        let wait = |flavour| Quantity::Time(flavour, Metric::OmpWait);
        let words = "Exclusive OMP Wait Time";
        let exclusive = wait(Flavour::Exclusive);
        assert_eq!(
            order(exclusive, false),
            ("cba".to_owned(), words.to_owned())
        );
        assert_eq!(order(exclusive, true), ("bac".to_owned(), words.to_owned()));
        let names = order(Quantity::Name, false);
        assert_eq!(names, ("abc".to_owned(), "Name".to_owned()));
        let unknown = ("bca".to_owned(), String::new());
        assert_eq!(order(wait(Flavour::Inclusive), false), unknown);
        assert_eq!(order(Quantity::Size, false), unknown);
        assert_eq!(super::tests::order(None), unknown);
    }
}
