//! A file with the rows of a table.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use experiment::ids::ThreadId;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::schema::{Column, Kind, VERSION};
use crate::subject::EXPORTER;

/// So many rows are encoded at a time.
const BATCH: usize = 1 << 14;

/// So many entries of lists are encoded at a time.
const BATCH_ENTRIES: usize = 1 << 18;

/// The most rows of a row group.
const GROUP_ROWS: usize = 1 << 18;

/// The most bytes of a row group, about.
const GROUP_BYTES: usize = 16 << 20;

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

/// The values of a column that are not written yet.
enum Values {
    Integer(Int32Builder),
    Long(Int64Builder),
    Unsigned(UInt64Builder),
    Double(Float64Builder),
    Boolean(BooleanBuilder),
    Text(StringBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Integers(ListBuilder<Int32Builder>),
    Texts(ListBuilder<StringBuilder>),
}

impl Values {
    fn new(kind: Kind) -> Values {
        match kind {
            Kind::Integer => Values::Integer(Int32Builder::new()),
            Kind::Long => Values::Long(Int64Builder::new()),
            Kind::Unsigned => Values::Unsigned(UInt64Builder::new()),
            Kind::Double => Values::Double(Float64Builder::new()),
            Kind::Boolean => Values::Boolean(BooleanBuilder::new()),
            Kind::Text => Values::Text(StringBuilder::new()),
            Kind::Timestamp => Values::Timestamp(TimestampMicrosecondBuilder::new()),
            Kind::Integers => {
                Values::Integers(ListBuilder::new(Int32Builder::new()).with_field(element(kind)))
            }
            Kind::Texts => {
                Values::Texts(ListBuilder::new(StringBuilder::new()).with_field(element(kind)))
            }
        }
    }

    /// Adds a value of its kind, or nothing; returns the entries of a list.
    fn add(&mut self, value: Value<'_>) -> usize {
        let is_null = matches!(value, Value::Null);
        match (&mut *self, value) {
            (Values::Integer(rows), Value::Integer(value)) => rows.append_value(value),
            (Values::Long(rows), Value::Long(value)) => rows.append_value(value),
            (Values::Unsigned(rows), Value::Unsigned(value)) => rows.append_value(value),
            (Values::Double(rows), Value::Double(value)) => rows.append_value(value),
            (Values::Boolean(rows), Value::Boolean(value)) => rows.append_value(value),
            (Values::Text(rows), Value::Text(value)) => rows.append_value(value),
            (Values::Timestamp(rows), Value::Timestamp(value)) => rows.append_value(value),
            (Values::Integers(rows), Value::Integers(values)) => {
                rows.values().append_slice(values);
                rows.append(true);
                return values.len();
            }
            (Values::Texts(rows), Value::Texts(values)) => {
                for value in values {
                    rows.values().append_value(value);
                }
                rows.append(true);
                return values.len();
            }
            _ => {
                debug_assert!(is_null, "a value of another column's kind");
                self.add_null();
            }
        }
        0
    }

    fn add_null(&mut self) {
        match self {
            Values::Integer(rows) => rows.append_null(),
            Values::Long(rows) => rows.append_null(),
            Values::Unsigned(rows) => rows.append_null(),
            Values::Double(rows) => rows.append_null(),
            Values::Boolean(rows) => rows.append_null(),
            Values::Text(rows) => rows.append_null(),
            Values::Timestamp(rows) => rows.append_null(),
            Values::Integers(rows) => rows.append_null(),
            Values::Texts(rows) => rows.append_null(),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Values::Integer(rows) => Arc::new(rows.finish()),
            Values::Long(rows) => Arc::new(rows.finish()),
            Values::Unsigned(rows) => Arc::new(rows.finish()),
            Values::Double(rows) => Arc::new(rows.finish()),
            Values::Boolean(rows) => Arc::new(rows.finish()),
            Values::Text(rows) => Arc::new(rows.finish()),
            Values::Timestamp(rows) => Arc::new(rows.finish()),
            Values::Integers(rows) => Arc::new(rows.finish()),
            Values::Texts(rows) => Arc::new(rows.finish()),
        }
    }
}

fn element(kind: Kind) -> Field {
    let of = match kind {
        Kind::Integers => DataType::Int32,
        _ => DataType::Utf8,
    };
    Field::new("element", of, false)
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Integer => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Unsigned => DataType::UInt64,
        Kind::Double => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Text => DataType::Utf8,
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Kind::Integers | Kind::Texts => DataType::List(Arc::new(element(kind))),
    }
}

/// Rows of a table with `N` columns that are not encoded yet.
pub(super) struct Batch<const N: usize> {
    columns: [Values; N],
    schema: Arc<Schema>,
    rows: usize,
    /// Entries of lists among the rows.
    entries: usize,
}

impl<const N: usize> Batch<N> {
    fn new(columns: &[Column; N]) -> Batch<N> {
        let fields = columns.iter();
        let fields = fields.map(|it| Field::new(it.name, data_type(it.kind), it.is_nullable));
        Batch {
            columns: std::array::from_fn(|at| Values::new(columns[at].kind)),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            rows: 0,
            entries: 0,
        }
    }

    /// Adds a row: the values in the order of the columns, each of its column's kind.
    pub(super) fn row(&mut self, values: [Value<'_>; N]) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            self.entries += column.add(value);
        }
        self.rows += 1;
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH || self.entries >= BATCH_ENTRIES
    }

    fn take(&mut self) -> io::Result<RecordBatch> {
        (self.rows, self.entries) = (0, 0);
        let columns = self.columns.iter_mut().map(Values::take).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)
    }

    /// Makes batches of rows: `add` adds the next one, until it has none.
    pub(super) fn all(
        columns: &[Column; N],
        mut add: impl FnMut(&mut Batch<N>) -> bool,
    ) -> io::Result<Vec<RecordBatch>> {
        let mut batch = Batch::new(columns);
        let mut batches = Vec::new();
        while add(&mut batch) {
            if batch.is_full() {
                batches.push(batch.take()?);
            }
        }
        batches.push(batch.take()?);
        Ok(batches)
    }
}

/// A file that is being written, with `N` columns.
pub(super) struct Table<const N: usize> {
    batch: Batch<N>,
    writer: ArrowWriter<File>,
}

impl<const N: usize> Table<N> {
    /// Makes the file of a table.
    pub(super) fn create(folder: &Path, name: &str, columns: &[Column; N]) -> io::Result<Table<N>> {
        let batch = Batch::new(columns);
        let level = GzipLevel::try_new(GZIP_LEVEL).map_err(error)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(EXPORTER.to_owned())
            .set_compression(Compression::GZIP(level))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
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
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            // The types of Parquet say it all.
            .with_skip_arrow_metadata(true);
        let file = File::create_new(folder.join(name))?;
        let schema = Arc::clone(&batch.schema);
        let writer = ArrowWriter::try_new_with_options(file, schema, options).map_err(error)?;
        Ok(Table { batch, writer })
    }

    /// Adds a row, as [`Batch::row`] does.
    pub(super) fn row(&mut self, values: [Value<'_>; N]) -> io::Result<()> {
        self.batch.row(values);
        if self.batch.is_full() {
            let batch = self.batch.take()?;
            self.write(&batch)?;
        }
        Ok(())
    }

    /// Adds rows that were made elsewhere.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.writer.write(batch).map_err(error)
    }

    /// Writes what is left, and the end of the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let batch = self.batch.take()?;
        self.write(&batch)?;
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
