//! OpenMP runtimes, and tools in our library's place, that the library has registered in the arena.

use experiment::header::Runtime;
use omp_ring::consumer::{Consumer, RuntimeView};
use omp_ring::layout::RuntimeKind;

use processes::Processes;

/// An OMPT tool that is served in place of our library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTool {
    /// The process.
    pub pid: i32,
    /// Its file, or a name.
    pub name: String,
}

/// The entries of the arena's table so far.
#[derive(Debug, Default)]
pub struct Registered {
    /// Runtimes whose events are recorded.
    pub runtimes: Vec<Runtime>,
    /// OMPT tools of the programs.
    pub other_tools: Vec<OtherTool>,
    /// Number of entries read.
    entries: usize,
    /// Entries to look at again: the merge has not reached their process or load object yet.
    unknown: Vec<RuntimeView>,
}

impl Registered {
    /// Reads the new entries of the arena's table, and looks again for what was unknown. `time` is that
    /// of the processes' mappings, in nanoseconds since the start.
    pub fn take(&mut self, arena: &Consumer, processes: &mut Processes, time: u64) {
        let mut views = std::mem::take(&mut self.unknown);
        let waiting = views.len();
        views.extend(arena.runtimes().skip(self.entries));
        self.entries += views.len() - waiting;
        for view in views {
            let Some(runtime) = runtime(&view, processes, time) else {
                self.unknown.push(view);
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

/// A registered runtime with its file; `None` if its process is not recorded, or the merge has not
/// reached the mapping of the file.
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
