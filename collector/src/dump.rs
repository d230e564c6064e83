//! The events of the program's threads as text, as they are read from their rings: `--dump-events FILE`, for those who
//! look for a fault in what a library in the program says.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use omp_ring::consumer::Item;

use crate::say::say;

/// A file that gets a line for each event.
#[derive(Debug)]
pub struct Dump {
    /// `None` once it could not be written.
    file: Option<BufWriter<File>>,
}

impl Dump {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// One sentence.
    pub fn create(path: &Path) -> Result<Dump, String> {
        let file = File::create(path)
            .map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        let file = Some(BufWriter::new(file));
        Ok(Dump { file })
    }

    /// An event of a thread: its number, or that of its slot.
    pub fn line(&mut self, thread: u32, event: impl Display) {
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{thread} {event}")
        {
            say(format!("--dump-events: what follows is missing: {error}"));
            self.file = None;
        }
    }

    /// A record of a profile, with its time in the arena's clock; or a calling context.
    pub(crate) fn item(&mut self, thread: i32, item: &Item) {
        let thread = thread.cast_unsigned();
        match item {
            Item::Record(record) => {
                let kind = record.kind();
                let payload = kind.map(|kind| kind.text(record.payload));
                let name = kind.map_or_else(|| "?".to_owned(), |kind| format!("{kind:?}"));
                let payload = payload.unwrap_or_default();
                self.line(thread, format_args!("{} {name} {payload}", record.time()));
            }
            Item::Context(id, context) => self.line(thread, format_args!("{id:?} {context:x?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omp_ring::record::{Kind, MutexPayload, Record};

    #[test]
    fn a_record_is_a_line_with_its_payload() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        let mut dump = Dump::create(&path).unwrap();
        let payload = MutexPayload { lock: 16, kind: 5 }.pack();
        dump.item(
            7,
            &Item::Record(Record::new(Kind::MutexAcquired, 99, payload)),
        );
        dump.line(8, "Leave");
        drop(dump);
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "7 99 MutexAcquired MutexPayload { lock: 10, kind: 5 }\n8 Leave\n"
        );
        assert!(Dump::create(folder.path()).is_err());
    }
}
