//! The list of threads.

use experiment::ids::{Nanos, ThreadId};
use experiment::tables::{Tables, Thread, ThreadKind};

use super::Seconds;
use super::tree::add_item;
use crate::metrics::Metric;
use crate::profile::Profile;

/// A thread and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRow {
    /// Its number in the experiment.
    pub thread: ThreadId,
    /// The kernel's process id.
    pub pid: i32,
    /// The kernel's thread id.
    pub tid: i32,
    /// The name that the program gave it; empty if it has its process's.
    pub name: String,
    /// Its role in OpenMP.
    pub kind: ThreadKind,
    /// Its birth, or the experiment's start.
    pub birth: Nanos,
    /// Its end; `None` if the experiment ended before it.
    pub death: Option<Nanos>,
    /// Its time by the requested metrics.
    pub seconds: Seconds,
}

/// Every thread, in the order of appearance.
pub fn threads(profile: &Profile, tables: &Tables, metrics: &[Metric]) -> Vec<ThreadRow> {
    let zero = || Seconds::from(vec![0.0; metrics.len()]);
    let mut sums = vec![zero(); tables.threads.len()];
    for item in &profile.items {
        if let Some(sums) = sums.get_mut(item.thread.index()) {
            add_item(sums, item, metrics);
        }
    }
    let ids = (0..).map(ThreadId);
    ids.zip(tables.threads.iter().zip(sums))
        .map(|(thread, (row, seconds))| ThreadRow {
            thread,
            pid: tables
                .processes
                .get(row.process.index())
                .map_or(0, |process| process.pid),
            tid: row.tid,
            name: tables.names.get(row.name.0).cloned().unwrap_or_default(),
            kind: row.kind,
            birth: row.birth,
            death: row.death,
            seconds,
        })
        .collect()
}

/// A kind's name in reports: OMPT's word; `outside` for a thread that no runtime registered, and
/// `helper` for one that a runtime has for itself.
pub const fn kind_name(kind: ThreadKind) -> &'static str {
    match kind {
        ThreadKind::Outside => "outside",
        ThreadKind::Initial => "initial",
        ThreadKind::Worker => "worker",
        ThreadKind::Other => "helper",
    }
}

/// What a thread is called beside others of its process: `1234 worker name`.
pub fn thread_name(tables: &Tables, thread: &Thread) -> String {
    let name = tables.names.get(thread.name.0).map_or("", String::as_str);
    let all = format!("{} {} {name}", thread.tid, kind_name(thread.kind));
    all.trim_end().to_owned()
}
