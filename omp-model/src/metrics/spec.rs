//! The words of a metric list: `e.%ompwork:i.%ompwait:name`.

use std::fmt;

use super::metric::{Available, Metric};
use crate::spelling::nearest;

/// The frames of a stack for which its time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// The leaf.
    Exclusive,
    /// Every function on the stack, once.
    Inclusive,
    /// The part of a function's inclusive time that comes by a caller or goes to a callee; in a
    /// call tree, the time at a node and below it.
    Attributed,
}

impl Flavour {
    /// Its letter.
    pub const fn letter(self) -> char {
        match self {
            Flavour::Exclusive => 'e',
            Flavour::Inclusive => 'i',
            Flavour::Attributed => 'a',
        }
    }

    /// `Exclusive` …
    pub const fn label(self) -> &'static str {
        match self {
            Flavour::Exclusive => "Exclusive",
            Flavour::Inclusive => "Inclusive",
            Flavour::Attributed => "Attributed",
        }
    }

    /// `Excl.` …
    pub const fn heading(self) -> &'static str {
        match self {
            Flavour::Exclusive => "Excl.",
            Flavour::Inclusive => "Incl.",
            Flavour::Attributed => "Attr.",
        }
    }
}

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Seconds of thread time, or the events of a counter.
    Time(Flavour, Metric),
    /// Bytes of the function's code.
    Size,
    /// The address of the function's first instruction, `module:offset`.
    Address,
    /// The row's name.
    Name,
}

impl Quantity {
    /// `e.ompwork`, `size` …: the name without visibility, as JSON keys have it.
    pub fn id(self) -> String {
        match self {
            Quantity::Time(flavour, metric) => format!("{}.{}", flavour.letter(), metric.id()),
            Quantity::Size => "size".to_owned(),
            Quantity::Address => "address".to_owned(),
            Quantity::Name => "name".to_owned(),
        }
    }

    /// `Exclusive OMP Work Time`, `Size` …
    pub fn label(self) -> String {
        match self {
            Quantity::Time(flavour, metric) => format!("{} {}", flavour.label(), metric.label()),
            Quantity::Size => "Size".to_owned(),
            Quantity::Address => "PC Address".to_owned(),
            Quantity::Name => "Name".to_owned(),
        }
    }
}

/// One entry of a metric list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it shows.
    pub quantity: Quantity,
    /// Whether it shows the value.
    pub value: bool,
    /// Whether it shows the percentage of the total (times only).
    pub percent: bool,
}

impl Column {
    /// Whether it is shown at all. A hidden column can still be the sort key.
    pub const fn visible(&self) -> bool {
        self.value || self.percent
    }

    /// Parses a list, with `:` between its entries. The name comes last if it is not in the list.
    /// `available` tells what `all` and `default` stand for; others are taken by their names.
    pub fn parse_list(list: &str, available: &Available) -> Result<Vec<Column>, MetricSpecError> {
        let list = list.trim();
        if list.eq_ignore_ascii_case("default") {
            return Column::parse_list(&available.default_spec(), available);
        }
        let mut columns: Vec<Column> = Vec::new();
        for word in list.split(':') {
            for column in parse_entry(word.trim(), available)? {
                let known = columns
                    .iter()
                    .any(|known| known.quantity == column.quantity);
                if !known {
                    columns.push(column);
                } else if !names_all(word) {
                    // `e.all:i.all` has size and address once.
                    return Err(MetricSpecError::Twice(column.quantity.id()));
                }
            }
        }
        if !columns
            .iter()
            .any(|column| column.quantity == Quantity::Name)
        {
            columns.push(Column::plain(Quantity::Name));
        }
        Ok(columns)
    }

    const fn plain(quantity: Quantity) -> Column {
        Column {
            quantity,
            value: true,
            percent: false,
        }
    }
}

impl fmt::Display for Column {
    /// As it would be typed: `e.%ompwork`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let visibility = if self.value && self.percent {
            ".%"
        } else if self.value {
            "."
        } else if self.percent {
            "%"
        } else {
            "!"
        };
        match self.quantity {
            Quantity::Time(flavour, metric) => {
                write!(f, "{}{visibility}{}", flavour.letter(), metric.id())
            }
            other if self.visible() => write!(f, "{}", other.id()),
            other => write!(f, "!{}", other.id()),
        }
    }
}

/// What a table is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The quantity.
    pub quantity: Quantity,
    /// Whether the smallest value, for names the last one, comes first.
    pub reversed: bool,
}

impl SortKey {
    /// Parses the argument of `sort`: a metric with or without a flavour (exclusive if without), or
    /// `name`, `size`, `address`; a `-` before it reverses the order.
    pub fn parse(word: &str, available: &Available) -> Result<SortKey, MetricSpecError> {
        let word = word.trim();
        let (reversed, word) = match word.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let mut columns = parse_entry(word, available)?.into_iter();
        match columns.next() {
            Some(column) if !names_all(word) => Ok(SortKey {
                quantity: column.quantity,
                reversed,
            }),
            _ => Err(MetricSpecError::NotOne(word.to_owned())),
        }
    }

    /// The default sort key of a list: its first exclusive time, else its first time, else its
    /// first column.
    pub fn of_list(columns: &[Column]) -> SortKey {
        let exclusive =
            |column: &&Column| matches!(column.quantity, Quantity::Time(Flavour::Exclusive, _));
        let time = |column: &&Column| matches!(column.quantity, Quantity::Time(..));
        let quantity = columns
            .iter()
            .find(exclusive)
            .or_else(|| columns.iter().find(time))
            .or_else(|| columns.first())
            .map_or(Quantity::Name, |column| column.quantity);
        SortKey {
            quantity,
            reversed: false,
        }
    }
}

/// Why a metric list could not be parsed. Each message says how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricSpecError {
    /// An empty entry.
    #[error("the metric list has an empty entry: write names with one \":\" between two of them")]
    Empty,
    /// A name that no metric has.
    #[error("there is no metric \"{word}\"{}", did_you_mean(.nearest))]
    Unknown {
        /// The name.
        word: String,
        /// The nearest name that this experiment has.
        nearest: Option<&'static str>,
    },
    /// An entry that is no `<flavour><visibility><name>`.
    #[error(
        "\"{0}\" is not a metric: write flavour (e, i), visibility (. % + !) and name, as in \
         e.%{1}"
    )]
    Malformed(String, &'static str),
    /// An attributed metric in the list of functions.
    #[error(
        "\"{0}\" is attributed: callers-callees and calltree derive those from e and i, write \
         e{1} or i{1}"
    )]
    Attributed(String, String),
    /// An entry that names the same column as an earlier one.
    #[error("\"{0}\" is in the metric list twice: remove one")]
    Twice(String),
    /// `sort all`.
    #[error("\"{0}\" is more than one metric: sort by one of metric_list")]
    NotOne(String),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!(": did you mean \"{name}\"?"),
        None => ": metric_list shows the names".to_owned(),
    }
}

const FLAVOURS: &str = "eia";
const VISIBILITIES: &str = ".%+!";

/// An entry's parts: flavour letters, visibility signs, name.
fn split(word: &str) -> (&str, &str, &str) {
    let Some(at) = word.find(|c| VISIBILITIES.contains(c)) else {
        return ("", "", word);
    };
    let (flavours, rest) = word.split_at(at);
    let end = rest
        .find(|c| !VISIBILITIES.contains(c))
        .unwrap_or(rest.len());
    let (visibility, name) = rest.split_at(end);
    (flavours, visibility, name)
}

fn names_all(word: &str) -> bool {
    let name = split(word).2;
    name.eq_ignore_ascii_case("any") || name.eq_ignore_ascii_case("all")
}

fn parse_entry(word: &str, available: &Available) -> Result<Vec<Column>, MetricSpecError> {
    if word.is_empty() {
        return Err(MetricSpecError::Empty);
    }
    let example = if available.openmp() {
        Metric::OmpWork
    } else {
        Metric::Total
    };
    let malformed = || MetricSpecError::Malformed(word.to_owned(), example.id());
    let (letters, signs, name) = split(word);
    let lower = letters.to_lowercase();
    if name.is_empty() || !lower.chars().all(|letter| FLAVOURS.contains(letter)) {
        return Err(malformed());
    }
    if lower.contains('a') {
        return Err(MetricSpecError::Attributed(
            word.to_owned(),
            format!("{signs}{name}"),
        ));
    }
    let hidden = signs.contains('!');
    let percent = !hidden && signs.contains('%');
    let value = !hidden && (!percent || signs.contains(['.', '+']));
    let plain = |quantity| Column {
        quantity,
        value: !hidden,
        percent: false,
    };

    let name = name.to_lowercase();
    let metrics: Vec<Metric> = match name.as_str() {
        "size" | "address" | "name" if !letters.is_empty() => return Err(malformed()),
        "size" => return Ok(vec![plain(Quantity::Size)]),
        "address" => return Ok(vec![plain(Quantity::Address)]),
        // A table without names is useless, so the name is never hidden.
        "name" => return Ok(vec![Column::plain(Quantity::Name)]),
        "any" | "all" => available.metrics().to_vec(),
        name => vec![find(name, available)?],
    };
    let flavours: Vec<Flavour> = match lower.as_str() {
        "" => vec![Flavour::Exclusive, Flavour::Inclusive],
        letters => [Flavour::Exclusive, Flavour::Inclusive]
            .into_iter()
            .filter(|flavour| letters.contains(flavour.letter()))
            .collect(),
    };
    let mut columns: Vec<Column> = metrics
        .into_iter()
        .flat_map(|metric| {
            flavours
                .iter()
                .map(move |&flavour| Quantity::Time(flavour, metric))
        })
        .map(|quantity| Column {
            quantity,
            value,
            percent,
        })
        .collect();
    if names_all(word) {
        columns.push(plain(Quantity::Size));
        columns.push(plain(Quantity::Address));
    }
    Ok(columns)
}

fn find(name: &str, available: &Available) -> Result<Metric, MetricSpecError> {
    let mut all = Metric::ALL.into_iter().chain(available.counters());
    match all.find(|metric| metric.id().eq_ignore_ascii_case(name)) {
        Some(metric) => Ok(metric),
        None => {
            let times = available.metrics().iter().map(|metric| metric.id());
            let known = times.chain(["size", "address", "name", "any", "all"]);
            Err(MetricSpecError::Unknown {
                word: name.to_owned(),
                nearest: nearest(name, known),
            })
        }
    }
}
