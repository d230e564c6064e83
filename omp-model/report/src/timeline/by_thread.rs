//! Rows by thread.

use experiment::ids::ThreadId;

/// Rows sorted by thread, and where each thread's begin.
#[derive(Debug)]
pub(super) struct ByThread<T> {
    rows: Vec<T>,
    starts: Vec<usize>,
}

impl<T> ByThread<T> {
    /// `rows` must be sorted by thread.
    pub(super) fn new(
        rows: Vec<T>,
        threads: usize,
        thread: impl Fn(&T) -> ThreadId,
    ) -> ByThread<T> {
        let starts = (0..=threads)
            .map(|at| rows.partition_point(|row| thread(row).index() < at))
            .collect();
        ByThread { rows, starts }
    }

    pub(super) fn of(&self, thread: ThreadId) -> &[T] {
        let at = thread.index();
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.rows[start..end],
            _ => &[],
        }
    }
}
