//! The bytes of a recording, read in pieces, since an experiment can be larger than memory.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::frame::{self, Found};
use crate::stored::Known;
use crate::union::Ids;

/// Bytes to read at a time while going through a file.
const AHEAD: u64 = 1 << 20;

/// Where packed rows lie.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// In memory.
    Memory(Vec<u8>),
    /// In the record file.
    File(Arc<File>),
}

impl Default for Store {
    fn default() -> Self {
        Store::Memory(Vec::new())
    }
}

impl Store {
    /// Some of the bytes; `None` if they cannot be read.
    pub(crate) fn bytes(&self, range: &Range<u64>) -> Option<Cow<'_, [u8]>> {
        match self {
            Store::Memory(all) => {
                let range = range.start as usize..range.end as usize;
                all.get(range).map(Cow::Borrowed)
            }
            Store::File(file) => {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                file.read_exact_at(&mut bytes, range.start).ok()?;
                Some(Cow::Owned(bytes))
            }
        }
    }
}

/// The packed rows of one experiment.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) store: Store,
    /// What they may point to.
    pub(crate) known: Known,
    /// Maps of its ids into those of several experiments as one; several if such are nested.
    pub(crate) ids: Vec<Arc<Ids>>,
}

impl Source {
    pub(crate) fn new(store: Store, known: Known) -> Source {
        Source {
            store,
            known,
            ids: Vec::new(),
        }
    }

    /// The same rows as part of several experiments.
    pub(crate) fn among(&self, ids: &Arc<Ids>) -> Source {
        let mut source = self.clone();
        source.ids.push(Arc::clone(ids));
        source
    }
}

/// A record file that is read from its beginning, with a buffer.
pub(crate) struct Reading {
    file: Arc<File>,
    length: u64,
    /// Where in the file the buffer begins.
    start: u64,
    bytes: Vec<u8>,
}

/// A frame as found in the file.
pub(crate) struct Framed<'a> {
    /// What it is.
    pub(crate) found: Found,
    /// Its payload, if it is whole.
    pub(crate) payload: &'a [u8],
}

impl Reading {
    pub(crate) fn new(file: File) -> io::Result<Reading> {
        Ok(Reading {
            length: file.metadata()?.len(),
            file: Arc::new(file),
            start: 0,
            bytes: Vec::new(),
        })
    }

    /// The file's length when it was last asked for. A recording may have made it longer since.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The same, with length 0, so that [`Reading::look`] finds it longer.
    pub(crate) fn unseen(mut self) -> Reading {
        self.length = 0;
        self
    }

    /// Asks for the file's length, and returns whether it has grown.
    pub(crate) fn look(&mut self) -> io::Result<bool> {
        let before = std::mem::replace(&mut self.length, self.file.metadata()?.len());
        Ok(self.length > before)
    }

    /// The file, to be read again later.
    pub(crate) fn store(&self) -> Store {
        Store::File(Arc::clone(&self.file))
    }

    /// `count` bytes from `offset`, fewer at the end of the file.
    pub(crate) fn at(&mut self, offset: u64, count: u64) -> io::Result<&[u8]> {
        let count = count.min(self.length.saturating_sub(offset));
        let have = self.start..self.start + self.bytes.len() as u64;
        if offset < have.start || have.end < offset + count {
            let ahead = count.max(AHEAD).min(self.length - offset);
            self.bytes.resize(ahead as usize, 0);
            self.start = offset;
            if let Err(error) = self.file.read_exact_at(&mut self.bytes, offset) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let from = (offset - self.start) as usize;
        Ok(&self.bytes[from..from + count as usize])
    }

    /// The frame at an offset before the end.
    pub(crate) fn frame(&mut self, offset: u64) -> io::Result<Framed<'_>> {
        let mark = self.at(offset, frame::FRAME_MARK as u64)?;
        let length = frame::length_at(mark).unwrap_or(0);
        let bytes = self.at(offset, length)?;
        Ok(Framed {
            found: frame::frame_at(bytes, offset),
            payload: bytes.get(frame::FRAME_MARK..).unwrap_or(&[]),
        })
    }

    /// The number of frames from `offset` on, as far as their lengths lead.
    pub(crate) fn count_from(&mut self, offset: u64) -> u64 {
        let (mut at, mut count) = (offset, 0);
        while at < self.length {
            count += 1;
            let mark = self.at(at, frame::FRAME_MARK as u64);
            match mark.ok().and_then(frame::length_at) {
                Some(length) => at += length,
                None => break,
            }
        }
        count
    }
}
