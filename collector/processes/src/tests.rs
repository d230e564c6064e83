//! Applies hand-made side-band records and checks the processes and threads derived from them.

use super::*;

struct Setup {
    processes: Processes,
    tables: Tables,
    events: Vec<(u64, u32, What)>,
}

fn setup() -> Setup {
    Setup {
        processes: Processes::new(LoadObjects::recorded(None), false),
        tables: Tables::default(),
        events: Vec::new(),
    }
}

impl Setup {
    fn apply(&mut self, time: u64, (pid, tid): (i32, i32), what: Side) {
        let record = SideRecord {
            cpu: 0,
            time,
            pid,
            tid,
            what,
        };
        self.processes
            .apply(&mut self.tables, record, &mut |event| {
                self.events.push((event.time.0, event.thread.0, event.what));
            });
    }

    fn exec(&mut self, time: u64, (pid, tid): (i32, i32), name: &str) {
        self.apply(
            time,
            (pid, tid),
            Side::Comm {
                exec: true,
                name: name.into(),
            },
        );
    }

    fn map(&mut self, time: u64, pid: i32, start: u64, path: &str) {
        let mapping = Mapping {
            start,
            length: 0x1000,
            offset: 0,
            path: path.as_bytes().into(),
            inode: 0,
            build_id: [].into(),
        };
        self.apply(time, (pid, pid), Side::Map(Box::new(mapping)));
    }

    fn file_at(&mut self, pid: i32, time: u64, address: u64) -> Option<String> {
        let (program, _) = self.processes.program_at(pid, time)?;
        program.module_at(address).map(|(path, _)| path)
    }
}

const RUNNING: What = What::Birth(Scheduling::Running);
const WAITING: What = What::Birth(Scheduling::Preempted);

#[test]
fn the_first_thread_is_born_by_exec_and_the_first_mapping_is_the_executable() {
    let mut setup = setup();
    setup.exec(5, (10, 10), "app");
    setup.map(6, 10, 0x1000, "/nowhere/app");
    setup.map(7, 10, 0x8000, "/nowhere/ld.so");
    assert_eq!(setup.events, [(5, 0, RUNNING)]);
    let process = &setup.tables.processes[0];
    assert_eq!(
        (process.name.as_str(), process.executable.as_str()),
        ("app", "/nowhere/app")
    );
}

#[test]
fn a_child_has_its_parent_s_mappings_until_it_execs_and_the_past_stays_known() {
    let mut setup = setup();
    setup.exec(5, (10, 10), "sh");
    setup.map(6, 10, 0x1000, "/nowhere/sh");
    setup.apply(
        10,
        (20, 20),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    assert_eq!(
        setup.file_at(20, 11, 0x1000).as_deref(),
        Some("/nowhere/sh")
    );
    setup.exec(12, (20, 20), "app");
    setup.map(13, 20, 0x2000, "/nowhere/app");
    assert_eq!(
        setup.file_at(20, 11, 0x1000).as_deref(),
        Some("/nowhere/sh")
    );
    assert_eq!(setup.file_at(20, 14, 0x1000), None);
    assert_eq!(
        setup.file_at(20, 14, 0x2000).as_deref(),
        Some("/nowhere/app")
    );
    assert_eq!(
        setup.file_at(10, 14, 0x1000).as_deref(),
        Some("/nowhere/sh")
    );
    assert_eq!(setup.tables.processes[1].parent, Some(ProcessId(0)));
    assert_eq!(setup.events, [(5, 0, RUNNING), (10, 1, WAITING)]);
    setup.processes.forget_before(14);
    assert_eq!(
        setup.file_at(20, 14, 0x2000).as_deref(),
        Some("/nowhere/app")
    );
}

#[test]
fn a_thread_id_that_is_used_again_is_another_thread() {
    let mut setup = setup();
    setup.exec(5, (10, 10), "app");
    setup.apply(
        10,
        (10, 11),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    setup.apply(20, (10, 11), Side::Exit);
    setup.apply(
        30,
        (10, 11),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    setup.apply(35, (10, 11), Side::SwitchIn);
    assert_eq!(setup.processes.thread_at(11, 15), Some(ThreadId(1)));
    assert_eq!(setup.processes.thread_at(11, 25), Some(ThreadId(1)));
    assert_eq!(setup.processes.thread_at(11, 30), Some(ThreadId(2)));
    assert!(!setup.processes.is_alive(ThreadId(1)) && setup.processes.is_alive(ThreadId(2)));
    assert_eq!(setup.events[4], (35, 2, What::SwitchIn));
}

#[test]
fn exec_by_another_thread_ends_all_and_begins_one_with_the_process_s_id() {
    let mut setup = setup();
    setup.exec(5, (10, 10), "app");
    setup.apply(
        10,
        (10, 11),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    setup.apply(
        12,
        (10, 12),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    // Thread 12 execs: the first thread and 11 end, 12 continues as 10.
    setup.apply(20, (10, 10), Side::Exit);
    setup.exec(21, (10, 10), "new");
    let events = &setup.events[3..];
    assert_eq!(
        events,
        [
            (20, 0, What::Exit),
            (21, 1, What::Exit),
            (21, 2, What::Exit),
            (21, 3, RUNNING)
        ]
    );
    assert_eq!(setup.processes.thread_at(10, 21), Some(ThreadId(3)));
}

#[test]
fn with_the_first_process_only_others_are_not_recorded() {
    let mut setup = setup();
    setup.processes = Processes::new(LoadObjects::recorded(None), true);
    setup.exec(5, (10, 10), "sh");
    setup.apply(
        10,
        (20, 20),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    setup.apply(11, (20, 20), Side::SwitchIn);
    setup.apply(
        12,
        (10, 11),
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    assert_eq!(setup.tables.processes.len(), 1);
    assert_eq!(setup.tables.threads.len(), 2);
    assert!(setup.processes.is_recorded(10) && !setup.processes.is_recorded(20));
}

#[test]
fn a_thread_without_a_fork_record_begins_at_its_first_record() {
    let mut setup = setup();
    setup.apply(40, (10, 15), Side::SwitchOut { preempted: false });
    assert_eq!(
        setup.events,
        [
            (40, 0, RUNNING),
            (40, 0, What::SwitchOut(Scheduling::Blocked))
        ]
    );
    assert_eq!(setup.tables.threads[0].tid, 15);
}
