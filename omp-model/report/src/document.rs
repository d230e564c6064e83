//! A document: what a report says, as data.

use experiment::ids::{ContextId, ThreadId};
use omp_model::metrics::{self, Metric, Quantity};
use omp_model::profile::ViewMode;
use omp_model::views::annotated::Happened;
use omp_model::views::compare::groups::Groups;
use omp_model::views::openmp::bars::Use;
use omp_model::views::openmp::locations::ConstructLocation;
use omp_model::views::{Code, Marks};
use serde_json::{Map, Value as Json};

use crate::caveats::{self, RunCaveats};
use crate::settings::Compare;

/// A report before it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The command that shows it: `view` in JSON.
    pub view: String,
    /// What a reader must know of the runs before any of their numbers: the first lines of each form.
    pub caveats: Vec<RunCaveats>,
    /// The lines above the first block.
    pub title: String,
    /// The experiments that it is about; `None` for reports that need none.
    pub about: Option<About>,
    /// Fields of JSON before the rows, after those of [`Document::about`].
    pub facts: Map<String, Json>,
    /// Its tables and lines, in order.
    pub blocks: Vec<Block>,
    /// The first of those that a page folds; `None`: it shows all of them.
    pub details: Option<usize>,
    /// Fields of JSON after the rows.
    pub more: Map<String, Json>,
    /// Faults of the experiment's files.
    pub warnings: Vec<String>,
    /// Limits of the numbers that a reader must know.
    pub notices: Vec<String>,
    /// Whether a text shows the blocks alone: no empty line after each, no warnings and notices at
    /// the end.
    pub is_bare: bool,
    /// Documents of further experiments, which cannot share a table with the first.
    pub others: Vec<Document>,
}

/// The experiments that a document is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The viewpoint.
    pub mode: ViewMode,
    /// The experiments' names.
    pub experiments: Vec<String>,
    /// The label of each in a text, `(1)`: the same for all recordings of one side; empty if they are
    /// not compared.
    pub numbers: Vec<String>,
    /// The sides of the experiments, where one of them has several.
    pub groups: Option<Groups>,
    /// Seconds that a sample stands for, the longest of all experiments; 0 without `groups`.
    pub period: f64,
    /// How they are shown.
    pub compare: Compare,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Rows and columns.
    Table(Table),
    /// Lines of text.
    Lines(Vec<Line>),
}

/// A line of text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The line, indented as in a text.
    pub text: String,
    /// How much it matters.
    pub mark: Mark,
    /// The thing that it is about, for a program that opens it.
    pub target: Option<Target>,
}

/// How a line or row stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// As any other.
    #[default]
    Plain,
    /// A heading, the row that others are about, or a hot line.
    Strong,
    /// A warning.
    Warning,
}

/// Rows and columns. Everything that a form tells of a row is a column of it: a text shows those
/// with a heading, JSON those with a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// How a text lays it out.
    pub style: Style,
    /// How the values of several experiments are shown; [`Compare::Off`]: each row has one set.
    pub compare: Compare,
    /// The columns, in the order of JSON.
    pub columns: Vec<Column>,
    /// The tables that a text shows, each with its columns in this order; empty: one table of all
    /// columns with a heading.
    pub parts: Vec<TablePart>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// What is 100 % of each column, by experiment; shorter where none is shown as a percentage.
    pub whole: Vec<Vec<f64>>,
    /// The text in place of a table without rows; empty: the headings alone.
    pub empty: String,
    /// Lines under the rows.
    pub foot: Vec<Line>,
}

/// How a text lays a table out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Three lines of heading, numbers with their points under each other.
    #[default]
    Metrics,
    /// Two lines of heading; columns that have a value in no row are left out.
    Sparse,
    /// Numbers to the right, the name last.
    Right,
    /// One line of heading with a rule under it.
    Ruled,
    /// Each row by itself: its name, and a line for each column.
    Records,
    /// Advice: each row is numbered, its sentences stand under its name.
    Cards,
    /// Lines of source or instructions with their times before them, hot ones marked. JSON tells
    /// what is 100 %, too.
    Annotated,
    /// Facts with their values, without heading: a row stands in by its depth, the row of
    /// everything is left out, and each cell of a line is written as told here. The values of
    /// several experiments have a heading and stand as in [`Style::Right`].
    Facts(&'static [Cell]),
}

/// How a cell of facts is written; nothing where the row has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The text before it.
    pub before: &'static str,
    /// Its least width.
    pub width: usize,
    /// The text behind it.
    pub after: &'static str,
}

impl Cell {
    /// A cell at the left, filled up to a width.
    pub const fn left(before: &'static str, width: usize) -> Cell {
        Cell {
            before,
            width,
            after: "",
        }
    }

    /// A cell of a width at the right, and its unit.
    pub const fn right(width: usize, after: &'static str) -> Cell {
        Cell {
            before: "",
            width,
            after,
        }
    }
}

/// A part of a table as a text shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablePart {
    /// The line above it; may be empty.
    pub caption: String,
    /// The keys of its columns.
    pub columns: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its key: that of JSON, and the word by which rows are sorted.
    pub id: String,
    /// The full name.
    pub label: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The heading's lines; none: a text does not show it.
    pub heading: Vec<String>,
    /// Its quantity in the command language, if it has one.
    pub quantity: Option<Quantity>,
    /// Whether its value is shown.
    pub value: bool,
    /// Whether its percentage of [`Table::whole`] is shown.
    pub percent: bool,
    /// Decimals of its numbers in a text.
    pub decimals: usize,
    /// Where JSON has it.
    pub json: InJson,
}

/// Where JSON has a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InJson {
    /// In `values`.
    #[default]
    Values,
    /// In the row itself, by the column's key.
    Row,
    /// Likewise, as a list of the values of all experiments.
    Each,
    /// In an object of the row, whose keys lead to it.
    Under(&'static [&'static str]),
    /// Nowhere.
    Nowhere,
}

/// The unit of a column's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Counts, ratios, words.
    #[default]
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// `s`, `B`, or nothing.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
        }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its depth in a tree; `None` in a list.
    pub node: Option<Node>,
    /// Its relation to the row that its table is about.
    pub role: Role,
    /// Whether its name has a star before it.
    pub is_starred: bool,
    /// How its function came to be on its stacks.
    pub marks: Marks,
    /// How much it matters.
    pub mark: Mark,
    /// Its values: by experiment, then by column.
    pub values: Vec<Vec<Value>>,
    /// Decimals in a text where they are not the column's.
    pub decimals: Option<usize>,
    /// The thing that it is about, for a program that opens it.
    pub target: Option<Target>,
    /// Lines above it in a text.
    pub notes: Vec<Note>,
}

/// A line above a row of annotated source or instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// The line, indented as in a text.
    pub text: String,
    /// What happened at the row, if the line is about that.
    pub happened: Option<Happened>,
}

/// A row's place in a tree that is written in preorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The root is at 0.
    pub depth: u32,
    /// Whether it is the last of its siblings.
    pub last: bool,
}

/// The relation of a row to the one that its table is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// One of many.
    #[default]
    Any,
    /// The row of everything.
    Total,
    /// The same where JSON has it apart from the others, as `total`.
    Sum,
    /// The function that the others call or are called by.
    Centre,
    /// It calls it.
    Caller,
    /// It is called by it.
    Callee,
}

/// The thing that a row is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A function, by its name in the list of functions.
    Function(String),
    /// A source line.
    Line(CodeLocation),
    /// An instruction.
    Instruction {
        /// Its link-time address.
        address: u64,
        /// Where it came from: the line, and the calls that were inlined there, innermost first.
        locations: Vec<CodeLocation>,
    },
    /// A region or task.
    Construct(Construct),
    /// A thread.
    Thread(ThreadId),
    /// A metric.
    Metric(Metric),
    /// A finding of `collect -r`.
    Finding(Finding),
}

/// A finding in detail, for a program that shows what the selected row is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What it is, and what to do about it.
    pub head: Vec<String>,
    /// Its two sides, such as the accesses of a race: place, source, thread, stack. The second may be
    /// empty.
    pub sides: [Vec<String>; 2],
    /// The memory that it is about.
    pub foot: Vec<String>,
}

/// A region's or task's directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Construct {
    /// The word of filters that its contexts are values of.
    pub word: &'static str,
    /// Its contexts: one for each way that the program came to it.
    pub contexts: Vec<ContextId>,
    /// Where it stands in the source.
    pub location: ConstructLocation,
    /// What is known of it beyond the columns, on one line.
    pub detail: String,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLocation {
    /// The function that it was written in, if that is known.
    pub function: Option<String>,
    /// The path as it was recorded, if it was.
    pub file: Option<String>,
    /// From 1.
    pub line: u32,
}

/// A value of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// There is none: `-` in a text, null in JSON.
    #[default]
    Absent,
    /// The column is not of this row: nothing in a text, no field in JSON.
    Omitted,
    /// A number with the column's unit and decimals.
    Number(f64),
    /// Seconds or events, of which some stand where they were inferred to be: no sample shows them there.
    Placed {
        /// All of them.
        seconds: f64,
        /// Those that were inferred.
        inferred: f64,
    },
    /// The mean of several recordings of a side. Recordings that lack the row have 0.
    Mean(Mean),
    /// A whole number.
    Count(u64),
    /// Seconds on the experiment's clock: a text shows 0 as `0.000`, for it is no absence of time.
    Clock(f64),
    /// A word.
    Text(String),
    /// Where code begins; `None` for what has no code.
    Address(Option<Code>),
    /// Seconds by use: a text draws them with letters. JSON has the numbers elsewhere.
    Bar(Bar),
    /// A value for JSON alone.
    Json(Json),
}

/// A stacked bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Seconds by use, in the order in which they stand.
    pub parts: Vec<(Use, f64)>,
    /// The seconds for which the full width stands.
    pub whole: f64,
}

impl Bar {
    /// The cells of a text that a bar can have.
    pub const WIDTH: usize = 40;

    /// How many of so many cells each part has. The ends of the parts are rounded, not their lengths: so the
    /// bar is as long as its sum.
    pub fn cells(&self, width: usize) -> Vec<(Use, usize)> {
        let (mut end, mut drawn) = (0.0, 0);
        let cells = self.parts.iter().map(|&(what, seconds)| {
            end += seconds;
            let to = (width as f64 * end / self.whole).round() as usize;
            let count = to.min(width).saturating_sub(drawn);
            drawn += count;
            (what, count)
        });
        cells.filter(|cell| cell.1 > 0).collect()
    }

    /// A letter a cell.
    pub fn letters(&self) -> String {
        let cells = self.cells(Bar::WIDTH).into_iter();
        cells
            .flat_map(|(what, count)| std::iter::repeat_n(what.letter(), count))
            .collect()
    }
}

/// The mean of a side's recordings, beside the first side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mean {
    /// The mean, in the column's unit.
    pub mean: f64,
    /// The inferred part of it.
    pub inferred: f64,
    /// The values of the recordings.
    pub runs: Vec<f64>,
    /// How far its difference from the first side's mean may be chance; `None` for the first side.
    pub chance: Option<f64>,
    /// Whether the difference is larger.
    pub differs: bool,
}

impl Value {
    /// Its number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) | Value::Clock(number) => Some(*number),
            Value::Placed { seconds, .. } => Some(*seconds),
            Value::Mean(it) => Some(it.mean),
            Value::Count(count) => Some(*count as f64),
            _ => None,
        }
    }

    /// Whether it says anything.
    pub fn is_told(&self) -> bool {
        !matches!(self, Value::Absent | Value::Omitted) && self.number() != Some(0.0)
    }

    /// Seconds, of which some are inferred. What is left by the rounding of sums is none.
    pub fn placed(seconds: f64, inferred: f64) -> Value {
        const LEAST: f64 = 0.5e-9;
        if inferred > LEAST {
            Value::Placed { seconds, inferred }
        } else {
            Value::Number(seconds)
        }
    }

    /// The part of its number that is inferred.
    pub(crate) fn inferred(&self) -> f64 {
        match self {
            Value::Placed { inferred, .. } | Value::Mean(Mean { inferred, .. }) => *inferred,
            _ => 0.0,
        }
    }

    /// A number, or nothing.
    pub fn known(number: Option<f64>) -> Value {
        number.map_or(Value::Absent, Value::Number)
    }

    /// A count, or nothing.
    pub fn counted(count: Option<u64>) -> Value {
        count.map_or(Value::Absent, Value::Count)
    }
}

impl Column {
    /// A quantity of the command language, shown as the user chose.
    pub fn metric(column: metrics::Column) -> Column {
        let quantity = column.quantity;
        let heading = match quantity {
            Quantity::Time(flavour, metric) => vec![flavour.heading(), metric.words()],
            Quantity::Size => vec!["Size"],
            Quantity::Address => vec!["PC Addr."],
            Quantity::Name => vec!["Name"],
        };
        Column {
            id: quantity.id(),
            label: quantity.label(),
            unit: match quantity {
                Quantity::Time(_, metric) if metric.is_time() => Unit::Seconds,
                Quantity::Time(..) => Unit::None,
                Quantity::Size => Unit::Bytes,
                Quantity::Address | Quantity::Name => Unit::None,
            },
            heading: heading.into_iter().map(str::to_owned).collect(),
            quantity: Some(quantity),
            value: column.value,
            percent: column.percent,
            decimals: match quantity {
                Quantity::Time(_, metric) if !metric.is_time() => 0,
                _ => 3,
            },
            json: match quantity {
                Quantity::Name => InJson::Nowhere,
                _ => InJson::Values,
            },
        }
    }

    /// A time of the command language, shown as a value.
    pub fn time(quantity: Quantity) -> Column {
        Column::metric(metrics::Column {
            quantity,
            value: true,
            percent: false,
        })
    }

    /// The same with a label.
    pub fn word(id: &str, label: &str) -> Column {
        Column {
            label: label.to_owned(),
            ..Column::fact(id)
        }
    }

    /// The names of rows.
    pub fn name() -> Column {
        Column::time(Quantity::Name)
    }

    /// The name where JSON alone tells it.
    pub fn hidden_name() -> Column {
        Column::name().without_heading()
    }

    /// A field of JSON in the row; a text does not show it.
    pub fn fact(id: &str) -> Column {
        Column {
            id: id.to_owned(),
            value: true,
            json: InJson::Row,
            ..Column::default()
        }
    }

    /// The same column for JSON alone.
    #[must_use]
    pub fn without_heading(self) -> Column {
        Column {
            heading: Vec::new(),
            ..self
        }
    }

    /// Whether a text shows it.
    pub fn is_visible(&self) -> bool {
        !self.heading.is_empty() && (self.value || self.percent)
    }

    /// One of its numbers with its unit: `0.250 s`, `4000`.
    pub fn amount(&self, value: f64) -> String {
        let number = format!("{value:.*}", self.decimals);
        match self.unit.word() {
            "" => number,
            unit => format!("{number} {unit}"),
        }
    }

    /// Whether it is the name.
    pub fn is_name(&self) -> bool {
        self.quantity == Some(Quantity::Name)
    }
}

impl TablePart {
    /// Columns by their keys, under a line.
    pub fn new(caption: &str, columns: impl IntoIterator<Item: Into<String>>) -> TablePart {
        TablePart {
            caption: caption.to_owned(),
            columns: columns.into_iter().map(Into::into).collect(),
        }
    }
}

impl About {
    /// Experiments, with numbers where they are compared.
    pub fn new(mode: ViewMode, experiments: Vec<String>, compare: Compare) -> About {
        let numbers = (1..=experiments.len()).map(|number| format!("({number})"));
        About {
            mode,
            numbers: match compare {
                Compare::Off => Vec::new(),
                _ => numbers.collect(),
            },
            experiments,
            compare,
            ..About::default()
        }
    }

    /// The same with several recordings of a side.
    #[must_use]
    pub(crate) fn grouped(self, groups: &Groups, period: f64) -> About {
        let sides = groups.sides().iter();
        About {
            numbers: sides.map(|side| format!("({})", side + 1)).collect(),
            groups: Some(groups.clone()),
            period,
            ..self
        }
    }

    /// The compared experiments, each a line of a text.
    pub fn numbered(&self) -> impl Iterator<Item = String> {
        let named = self.numbers.iter().zip(&self.experiments);
        named.map(|(number, name)| format!("  {number} {name}"))
    }
}

impl Document {
    /// The lines above everything else: what sets its runs apart from whole and undisturbed ones.
    pub fn first_lines(&self) -> Vec<String> {
        let runs = self.about.as_ref().map_or(1, |it| it.experiments.len());
        caveats::lines(&self.caveats, runs)
    }

    /// Lines alone.
    pub fn of_lines(view: &str, lines: Vec<String>) -> Document {
        Document {
            view: view.to_owned(),
            blocks: vec![Block::Lines(lines.into_iter().map(Line::plain).collect())],
            is_bare: true,
            ..Document::default()
        }
    }
}

impl Table {
    /// Whether each row has values by experiment.
    pub fn has_sides(&self) -> bool {
        self.compare != Compare::Off
    }

    /// Whether there is a row of whose times at least half is inferred.
    pub fn has_inferred(&self) -> bool {
        self.rows.iter().any(|row| row.is_inferred(&self.columns))
    }

    /// Whether a cell is compared with the first side by several recordings.
    pub fn has_means(&self) -> bool {
        let mut values = self.rows.iter().flat_map(|row| row.values.iter().flatten());
        values.any(|value| {
            matches!(
                value,
                Value::Mean(Mean {
                    chance: Some(_),
                    ..
                })
            )
        })
    }

    /// Whether it draws its rows as bars.
    pub fn has_bars(&self) -> bool {
        let mut values = self.rows.iter().flat_map(|row| row.values.iter().flatten());
        values.any(|value| matches!(value, Value::Bar(_)))
    }

    /// Whether it is one of facts.
    pub fn is_facts(&self) -> bool {
        matches!(self.style, Style::Facts(_))
    }
}

impl Row {
    /// A row about a function.
    pub fn function(name: String) -> Row {
        Row {
            target: Some(Target::Function(name.clone())),
            name,
            ..Row::default()
        }
    }

    /// A row with a name.
    pub fn named(name: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            ..Row::default()
        }
    }

    /// A row that stands in so far.
    pub fn at(depth: u32, name: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            node: Some(Node { depth, last: false }),
            ..Row::default()
        }
    }

    /// What a text has behind its name: its marks, and a tilde if at least half of its times
    /// that are shown is inferred.
    pub fn tail(&self, columns: &[Column]) -> String {
        let Marks { inlined, recursive } = self.marks;
        let words = [
            (inlined, " (inlined)"),
            (recursive, " (recursive)"),
            (self.is_inferred(columns), " ~"),
        ];
        let told = words.into_iter().filter(|(is, _)| *is);
        told.map(|(_, word)| word).collect()
    }

    /// Whether at least half of its times in visible columns is inferred. A little time of one metric
    /// does not make a row inferred whose other times are measured.
    pub fn is_inferred(&self, columns: &[Column]) -> bool {
        let in_side = |values: &Vec<Value>| {
            let both = columns.iter().zip(values);
            let times = both
                .filter(|(column, _)| column.is_visible() && column.unit == Unit::Seconds)
                .map(|(_, value)| (value.number().unwrap_or(0.0), value.inferred()));
            let (all, inferred) =
                times.fold((0.0, 0.0), |sum, time| (sum.0 + time.0, sum.1 + time.1));
            inferred > 0.0 && 2.0 * inferred >= all
        };
        self.values.iter().any(in_side)
    }

    /// What a text has before its name, outside of trees.
    pub fn lead(&self) -> &'static str {
        if self.is_starred || self.role == Role::Centre {
            "*"
        } else {
            " "
        }
    }
}

impl Line {
    /// A line like any other.
    pub fn plain(text: impl Into<String>) -> Line {
        Line {
            text: text.into(),
            ..Line::default()
        }
    }

    /// A line that others stand under.
    pub fn strong(text: impl Into<String>) -> Line {
        Line {
            mark: Mark::Strong,
            ..Line::plain(text)
        }
    }

    /// A warning.
    pub fn warning(text: impl Into<String>) -> Line {
        Line {
            mark: Mark::Warning,
            ..Line::plain(text)
        }
    }
}
/// `2:0x00001139`: the number of the load object and the offset in it; 0 for what has no code.
pub fn address(code: Option<Code>) -> String {
    let (module, address) = code.map_or((0, 0), |code| (code.module.0, code.address));
    format!("{module}:0x{address:08x}")
}
