//! The numbers of the tools interface. OpenMP API Specification 5.2, section 19.4.4.
#![allow(missing_docs, reason = "they have the specification's names")]

/// `ompt_sync_region_t`: what a thread waits for.
pub mod sync_region {
    /// A barrier of unspecified kind.
    pub const BARRIER: u8 = 1;
    /// What older runtimes report for every implicit barrier.
    pub const IMPLICIT: u8 = 2;
    pub const EXPLICIT: u8 = 3;
    pub const IMPLEMENTATION: u8 = 4;
    pub const TASKWAIT: u8 = 5;
    pub const TASKGROUP: u8 = 6;
    pub const REDUCTION: u8 = 7;
    pub const WORKSHARE: u8 = 8;
    /// The join barrier of a region.
    pub const PARALLEL: u8 = 9;
    pub const TEAMS: u8 = 10;
}

/// `ompt_mutex_t`.
pub mod mutex {
    pub const LOCK: u8 = 1;
    pub const TEST_LOCK: u8 = 2;
    pub const NEST_LOCK: u8 = 3;
    pub const TEST_NEST_LOCK: u8 = 4;
    pub const CRITICAL: u8 = 5;
    pub const ATOMIC: u8 = 6;
    pub const ORDERED: u8 = 7;
}

/// `ompt_work_t`. LLVM's runtime tells the schedule of a loop by the last four.
pub mod work {
    pub const LOOP: u8 = 1;
    pub const SECTIONS: u8 = 2;
    pub const SINGLE_EXECUTOR: u8 = 3;
    pub const SINGLE_OTHER: u8 = 4;
    pub const TASKLOOP: u8 = 7;
    pub const SCOPE: u8 = 8;
    pub const LOOP_STATIC: u8 = 10;
    pub const LOOP_DYNAMIC: u8 = 11;
    pub const LOOP_GUIDED: u8 = 12;
    pub const LOOP_OTHER: u8 = 13;
}

/// `ompt_thread_t`.
pub mod thread {
    /// Created by the program.
    pub const INITIAL: u8 = 1;
    /// Created by the runtime.
    pub const WORKER: u8 = 2;
    pub const OTHER: u8 = 3;
}

/// `ompt_scope_endpoint_t`.
pub mod endpoint {
    pub const BEGIN: u8 = 1;
    pub const END: u8 = 2;
}

/// `ompt_parallel_flag_t`.
pub mod parallel {
    /// The runtime calls the region's function, not the program.
    pub const INVOKER_RUNTIME: u32 = 0x2;
    /// The region is a league of teams.
    pub const LEAGUE: u32 = 0x4000_0000;
    /// `ompt_parallel_invoker_program | ompt_parallel_team`.
    pub const TEAM_BY_PROGRAM: u32 = 0x8000_0001;
    /// `ompt_parallel_invoker_program | ompt_parallel_league`.
    pub const LEAGUE_BY_PROGRAM: u32 = LEAGUE | 1;
}

/// `ompt_task_flag_t`.
pub mod task {
    pub const INITIAL: u32 = 0x1;
    /// `ompt_task_initial | ompt_task_implicit`: not an explicit task.
    pub const NOT_EXPLICIT: u32 = 0x3;
    pub const EXPLICIT: u32 = 0x4;
    pub const TARGET: u32 = 0x8;
    /// Stands for a `taskwait` with dependences.
    pub const TASKWAIT: u32 = 0x10;
    pub const UNDEFERRED: u32 = 0x0800_0000;
    pub const UNTIED: u32 = 0x1000_0000;
    pub const FINAL: u32 = 0x2000_0000;
    pub const MERGEABLE: u32 = 0x4000_0000;
}

/// `ompt_task_status_t`.
pub mod task_status {
    pub const COMPLETE: u8 = 1;
    pub const CANCEL: u8 = 3;
    pub const DETACH: u8 = 4;
    pub const EARLY_FULFILL: u8 = 5;
    pub const LATE_FULFILL: u8 = 6;
    pub const SWITCH: u8 = 7;
    pub const TASKWAIT_COMPLETE: u8 = 8;
}

/// `ompt_dependence_type_t`.
pub mod dependence {
    pub const IN: u8 = 1;
    pub const INOUT: u8 = 3;
    pub const MUTEXINOUTSET: u8 = 4;
    /// Of doacross loops.
    pub const SOURCE: u8 = 5;
    pub const SINK: u8 = 6;
    pub const INOUTSET: u8 = 7;
    /// `inout` on all memory.
    pub const INOUT_ALL_MEMORY: u8 = 35;
}

/// `ompt_dispatch_t`.
pub mod dispatch {
    /// The thread begins a section; the instance is the address of its code.
    pub const SECTION: u8 = 2;
}

/// `ompt_callbacks_t`.
pub mod callback {
    pub const THREAD_BEGIN: u8 = 1;
    pub const THREAD_END: u8 = 2;
    pub const PARALLEL_BEGIN: u8 = 3;
    pub const PARALLEL_END: u8 = 4;
    pub const TASK_CREATE: u8 = 5;
    pub const TASK_SCHEDULE: u8 = 6;
    pub const IMPLICIT_TASK: u8 = 7;
    pub const CONTROL_TOOL: u8 = 11;
    pub const SYNC_REGION_WAIT: u8 = 16;
    pub const MUTEX_RELEASED: u8 = 17;
    pub const DEPENDENCES: u8 = 18;
    pub const WORK: u8 = 20;
    pub const MASKED: u8 = 21;
    pub const SYNC_REGION: u8 = 23;
    pub const LOCK_INIT: u8 = 24;
    pub const LOCK_DESTROY: u8 = 25;
    pub const MUTEX_ACQUIRE: u8 = 26;
    pub const MUTEX_ACQUIRED: u8 = 27;
    pub const NEST_LOCK: u8 = 28;
    pub const REDUCTION: u8 = 31;
    pub const DISPATCH: u8 = 32;
}
