//! The file of memory that `collect` reads.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use divergence::record::{
    CONSTRUCT_WORDS, CONSTRUCTS_AT, FINDING_WORDS, FINDINGS_AT, Head, MAGIC, MAPS_AT, MAPS_BYTES,
    VARIABLE, WORDS,
};
use omp_ring::shm::{self, Mapping};

/// The file, mapped.
pub(crate) struct Output(Mapping<'static>);

static OUTPUT: OnceLock<Option<Output>> = OnceLock::new();

/// The file that the environment names, if no other process has taken it. From the first call on, this process has.
pub(crate) fn output() -> Option<&'static Output> {
    OUTPUT.get_or_init(Output::attach).as_ref()
}

impl Output {
    fn attach() -> Option<Output> {
        let mut name = VARIABLE.as_bytes().to_vec();
        name.push(0);
        let name = CStr::from_bytes_with_nul(&name).ok()?;
        // SAFETY: C strings; the environment is not changed while a program starts.
        let file = unsafe {
            let path = libc::getenv(name.as_ptr());
            if path.is_null() {
                return None;
            }
            shm::open(CStr::from_ptr(path)).ok()?
        };
        if file.bytes().ok()? != (WORDS * 8) as u64 {
            return None;
        }
        let output = Output(Mapping::new(&file, 0, WORDS * 8).ok()?);
        // SAFETY: takes nothing, and cannot fail.
        let process = unsafe { libc::getpid() } as u64;
        let taken = output.head(Head::Process)?;
        let is_first = taken.compare_exchange(0, process, Relaxed, Relaxed).is_ok();
        if output.get(Head::Magic) != MAGIC || !is_first {
            output.add(Head::Processes, 1);
            return None;
        }
        Some(output)
    }

    /// Where it is mapped, and its length.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.0.start().as_ptr() as u64, self.0.bytes() as u64)
    }

    fn head(&self, word: Head) -> Option<&AtomicU64> {
        self.0.values::<AtomicU64>(word as usize * 8, 1).first()
    }

    pub(crate) fn get(&self, word: Head) -> u64 {
        self.head(word).map_or(0, |word| word.load(Relaxed))
    }

    pub(crate) fn set(&self, word: Head, value: u64) {
        if let Some(word) = self.head(word) {
            word.store(value, Relaxed);
        }
    }

    pub(crate) fn add(&self, word: Head, value: u64) {
        if let Some(word) = self.head(word) {
            word.fetch_add(value, Relaxed);
        }
    }

    fn write(&self, at: usize, words: &[u64]) {
        let to = self.0.values::<AtomicU64>(at * 8, words.len());
        for (to, word) in to.iter().zip(words) {
            to.store(*word, Relaxed);
        }
    }

    pub(crate) fn construct(&self, number: usize, words: &[u64]) {
        self.write(CONSTRUCTS_AT + number * CONSTRUCT_WORDS, words);
    }

    pub(crate) fn finding(&self, number: usize, words: &[u64]) {
        self.write(FINDINGS_AT + number * FINDING_WORDS, words);
    }

    /// The text of what is mapped.
    pub(crate) fn maps(&self, text: &[u8]) {
        let text = text.get(..MAPS_BYTES).unwrap_or(text);
        let words: Vec<u64> = text.chunks(8).map(divergence::words::word).collect();
        self.write(MAPS_AT, &words);
        self.set(Head::Maps, text.len() as u64);
    }
}
