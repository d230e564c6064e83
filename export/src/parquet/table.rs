//! A file with the rows of a table.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use experiment::ids::ThreadId;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::schema::{Column, Kind, VERSION};
use crate::subject::EXPORTER;

/// The most rows of a batch.
const BATCH_ROWS: usize = 1 << 14;

/// The most rows of a row group. They are held in memory until it is written.
const GROUP_ROWS: usize = 1 << 16;

/// As many bytes of texts and lists end a batch.
const BATCH_BYTES: usize = 1 << 20;

/// The fastest: columns are small before they are compressed.
const GZIP_LEVEL: u32 = 1;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Null,
    Integer(i32),
    Long(i64),
    Unsigned(u64),
    Double(f64),
    Boolean(bool),
    Text(&'a str),
    /// Microseconds since 1970, in UTC.
    Timestamp(i64),
    Integers(&'a [i32]),
    Texts(&'a [String]),
}

impl<'a> Value<'a> {
    /// A number of the recording, which is below 2³¹.
    pub(super) const fn id(number: u32) -> Value<'a> {
        Value::Integer(number as i32)
    }

    /// A thread by the number that it has in reports, from 1.
    pub(super) const fn thread(thread: ThreadId) -> Value<'a> {
        Value::id(thread.0 + 1)
    }

    /// Nanoseconds or a count.
    pub(super) fn count(number: u64) -> Value<'a> {
        Value::Long(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// An instance id, of which 0 is none.
    pub(super) fn instance(number: u64) -> Value<'a> {
        match number {
            0 => Value::Null,
            number => Value::count(number),
        }
    }

    /// A text, or nothing for an empty one.
    pub(super) const fn text(text: &'a str) -> Value<'a> {
        if text.is_empty() {
            Value::Null
        } else {
            Value::Text(text)
        }
    }

    /// A value, or nothing.
    pub(super) fn of<T>(value: Option<T>, make: impl FnOnce(T) -> Value<'a>) -> Value<'a> {
        value.map_or(Value::Null, make)
    }
}

/// Values by Parquet's types.
#[derive(Debug)]
enum Cells {
    Integers(Vec<i32>),
    Longs(Vec<i64>),
    Doubles(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Vec<ByteArray>),
}

/// The values of a column that are not written yet, with their levels (Parquet's words): whether each is there,
/// and whether it continues a list.
#[derive(Debug)]
struct Values {
    cells: Cells,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    is_list: bool,
    is_nullable: bool,
}

impl Values {
    fn new(column: &Column) -> Values {
        Values {
            cells: match column.kind {
                Kind::Integer | Kind::Integers => Cells::Integers(Vec::new()),
                Kind::Long | Kind::Unsigned | Kind::Timestamp => Cells::Longs(Vec::new()),
                Kind::Double => Cells::Doubles(Vec::new()),
                Kind::Boolean => Cells::Booleans(Vec::new()),
                Kind::Text | Kind::Texts => Cells::Texts(Vec::new()),
            },
            definition: Vec::new(),
            repetition: Vec::new(),
            is_list: is_list(column.kind),
            is_nullable: column.is_nullable,
        }
    }

    /// Adds a value of its kind, or nothing; returns the bytes of a text or a list.
    fn add(&mut self, value: Value<'_>) -> usize {
        let mut bytes = 0;
        match (&mut self.cells, value) {
            (Cells::Integers(cells), Value::Integer(value)) => cells.push(value),
            (Cells::Longs(cells), Value::Long(value) | Value::Timestamp(value)) => {
                cells.push(value);
            }
            // The column's type says that it has no sign.
            (Cells::Longs(cells), Value::Unsigned(value)) => cells.push(value as i64),
            (Cells::Doubles(cells), Value::Double(value)) => cells.push(value),
            (Cells::Booleans(cells), Value::Boolean(value)) => cells.push(value),
            (Cells::Texts(cells), Value::Text(value)) => {
                cells.push(value.into());
                bytes = value.len();
            }
            (Cells::Integers(cells), Value::Integers(values)) => {
                cells.extend(values);
                self.add_list(values.len());
                return size_of_val(values);
            }
            (Cells::Texts(cells), Value::Texts(values)) => {
                cells.extend(values.iter().map(|it| ByteArray::from(it.as_str())));
                self.add_list(values.len());
                return values.iter().map(String::len).sum();
            }
            (_, value) => {
                let is_null = matches!(value, Value::Null) && self.is_nullable;
                debug_assert!(is_null, "a value of another column's kind");
                self.definition.push(0);
                return 0;
            }
        }
        if self.is_nullable {
            self.definition.push(1);
        }
        bytes
    }

    /// Adds the levels of a list with this many values. An empty list has one level, which says so.
    fn add_list(&mut self, values: usize) {
        let levels = values.max(1);
        self.definition
            .resize(self.definition.len() + levels, i16::from(values > 0));
        self.repetition.push(0);
        self.repetition
            .resize(self.repetition.len() + levels - 1, 1);
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Result<usize, ParquetError> {
        match &self.cells {
            Cells::Integers(cells) => self.write_as::<Int32Type>(column, cells),
            Cells::Longs(cells) => self.write_as::<Int64Type>(column, cells),
            Cells::Doubles(cells) => self.write_as::<DoubleType>(column, cells),
            Cells::Booleans(cells) => self.write_as::<BoolType>(column, cells),
            Cells::Texts(cells) => self.write_as::<ByteArrayType>(column, cells),
        }
    }

    fn write_as<T: DataType>(
        &self,
        column: &mut SerializedColumnWriter<'_>,
        cells: &[T::T],
    ) -> Result<usize, ParquetError> {
        let has_definition = self.is_nullable || self.is_list;
        let definition = has_definition.then_some(&self.definition[..]);
        let repetition = self.is_list.then_some(&self.repetition[..]);
        column
            .typed::<T>()
            .write_batch(cells, definition, repetition)
    }
}

const fn is_list(kind: Kind) -> bool {
    matches!(kind, Kind::Integers | Kind::Texts)
}

/// The schema of a file in Parquet's notation.
fn schema(columns: &[Column]) -> String {
    let mut schema = "message parallax {\n".to_owned();
    for Column {
        name,
        kind,
        is_nullable,
    } in columns
    {
        let presence = if *is_nullable { "optional" } else { "required" };
        let list = |element: &str| {
            format!("{presence} group {name} (LIST) {{ repeated group list {{ {element}; }} }}\n")
        };
        schema += &match kind {
            Kind::Integer => format!("{presence} int32 {name};\n"),
            Kind::Long => format!("{presence} int64 {name};\n"),
            Kind::Unsigned => format!("{presence} int64 {name} (INTEGER(64,false));\n"),
            Kind::Double => format!("{presence} double {name};\n"),
            Kind::Boolean => format!("{presence} boolean {name};\n"),
            Kind::Text => format!("{presence} binary {name} (STRING);\n"),
            Kind::Timestamp => format!("{presence} int64 {name} (TIMESTAMP(MICROS,false));\n"),
            Kind::Integers => list("required int32 element"),
            Kind::Texts => list("required binary element (STRING)"),
        };
    }
    schema + "}"
}

/// Rows of a table with `N` columns that are not written yet.
#[derive(Debug)]
pub(super) struct Batch<const N: usize> {
    columns: [Values; N],
    rows: usize,
    /// Bytes of texts and lists among the rows.
    bytes: usize,
}

impl<const N: usize> Batch<N> {
    fn new(columns: &[Column; N]) -> Batch<N> {
        Batch {
            columns: std::array::from_fn(|at| Values::new(&columns[at])),
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds a row: the values in the order of the columns, each of its column's kind.
    pub(super) fn row(&mut self, values: [Value<'_>; N]) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            self.bytes += column.add(value);
        }
        self.rows += 1;
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Makes batches of rows: `add` adds the next one, until it has none.
    pub(super) fn all(
        columns: &[Column; N],
        mut add: impl FnMut(&mut Batch<N>) -> bool,
    ) -> Vec<Batch<N>> {
        let mut batch = Batch::new(columns);
        let mut batches = Vec::new();
        while add(&mut batch) {
            if batch.is_full() {
                batches.push(std::mem::replace(&mut batch, Batch::new(columns)));
            }
        }
        batches.push(batch);
        batches
    }
}

/// A file that is being written, with `N` columns.
pub(super) struct Table<const N: usize> {
    columns: &'static [Column; N],
    batch: Batch<N>,
    /// The batches of the next row group.
    group: Vec<Batch<N>>,
    writer: SerializedFileWriter<File>,
}

impl<const N: usize> Table<N> {
    /// Makes the file of a table.
    pub(super) fn create(
        folder: &Path,
        name: &str,
        columns: &'static [Column; N],
    ) -> io::Result<Table<N>> {
        let level = GzipLevel::try_new(GZIP_LEVEL).map_err(error)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(EXPORTER.to_owned())
            .set_compression(Compression::GZIP(level))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "parallax.schema".to_owned(),
                VERSION.to_string(),
            )]));
        // Times and instances go up, mostly.
        for column in columns.iter().filter(|it| it.kind == Kind::Long) {
            let path = || ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path(), false)
                .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
        }
        let file = File::create_new(folder.join(name))?;
        let schema = parse_message_type(&schema(columns)).map_err(error)?;
        let properties = Arc::new(properties.build());
        let writer =
            SerializedFileWriter::new(file, Arc::new(schema), properties).map_err(error)?;
        Ok(Table {
            columns,
            batch: Batch::new(columns),
            group: Vec::new(),
            writer,
        })
    }

    /// Adds a row, as [`Batch::row`] does.
    pub(super) fn row(&mut self, values: [Value<'_>; N]) -> io::Result<()> {
        self.batch.row(values);
        if self.batch.is_full() {
            let batch = std::mem::replace(&mut self.batch, Batch::new(self.columns));
            self.write(batch)?;
        }
        Ok(())
    }

    /// Adds rows that were made elsewhere.
    pub(super) fn write(&mut self, batch: Batch<N>) -> io::Result<()> {
        self.group.push(batch);
        let (rows, bytes) = (self.group.iter()).fold((0, 0), |(rows, bytes), it| {
            (rows + it.rows, bytes + it.bytes)
        });
        if rows >= GROUP_ROWS || bytes >= BATCH_BYTES * (GROUP_ROWS / BATCH_ROWS) {
            self.write_group().map_err(error)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for at in 0..N {
            let column = group.next_column()?;
            let mut column = column.expect("the schema has each column");
            for batch in &self.group {
                batch.columns[at].write(&mut column)?;
            }
            column.close()?;
        }
        self.group.clear();
        group.close().map(drop)
    }

    /// Writes what is left, and the end of the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.group.push(self.batch);
        self.batch = Batch::new(self.columns);
        if self.group.iter().any(|batch| batch.rows > 0) {
            self.write_group().map_err(error)?;
        }
        self.writer.close().map(drop).map_err(error)
    }
}

/// The cause of an error, which is mostly the file's.
fn error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => {
            let cause: Box<dyn Error> = cause;
            match cause.downcast::<io::Error>() {
                Ok(cause) => *cause,
                Err(cause) => io::Error::other(cause.to_string()),
            }
        }
        other => io::Error::other(other),
    }
}
