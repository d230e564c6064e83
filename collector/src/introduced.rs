//! OpenMP runtimes, and tools in our library's place, as they introduced themselves in the arena.

use experiment::header::Runtime;
use omp_ring::consumer::{Consumer, RuntimeView};
use omp_ring::layout::RuntimeKind;

use crate::processes::Processes;

/// An OMPT tool that is served in place of our library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTool {
    /// The process.
    pub pid: i32,
    /// What it is called: its file, or a name.
    pub name: String,
}

/// The entries of the arena's table so far.
#[derive(Debug, Default)]
pub struct Introduced {
    /// Runtimes that are listened to.
    pub runtimes: Vec<Runtime>,
    /// OMPT tools of the programs' own.
    pub other_tools: Vec<OtherTool>,
    /// The number of entries read.
    entries: usize,
}

impl Introduced {
    /// Reads the new entries of the arena's table. `time` is that of the processes' mappings, in
    /// nanoseconds since the start.
    pub fn take(&mut self, arena: &Consumer, processes: &mut Processes, time: u64) {
        for view in arena.runtimes().skip(self.entries) {
            self.entries += 1;
            let Some(runtime) = runtime(&view, processes, time) else {
                continue;
            };
            match view.kind {
                RuntimeKind::OtherTool => self.other_tools.push(OtherTool {
                    pid: view.pid,
                    name: match view.version.as_str() {
                        "" => runtime.path,
                        name => name.to_owned(),
                    },
                }),
                RuntimeKind::Ompt | RuntimeKind::Gomp => self.runtimes.push(runtime),
            }
        }
    }
}

/// A runtime that introduced itself, with its file; `None` of a process that is none of those
/// recorded.
fn runtime(view: &RuntimeView, processes: &mut Processes, time: u64) -> Option<Runtime> {
    let (program, _) = processes.program_at(view.pid, time)?;
    let (path, build_id) = program.module_at(view.address)?;
    Some(Runtime {
        pid: view.pid,
        path,
        build_id,
        version: view.version.clone(),
        interface: match view.kind {
            RuntimeKind::Gomp => "interposed".into(),
            RuntimeKind::Ompt | RuntimeKind::OtherTool => "OMPT".into(),
        },
    })
}
