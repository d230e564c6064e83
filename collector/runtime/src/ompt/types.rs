//! The specification's C types, as far as our callbacks need them. OpenMP API Specification 5.2,
//! section 19.4.

use std::ffi::{c_char, c_int, c_uint};

/// `ompt_data_t`: a word for the tool, zero until the tool writes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Data {
    pub(crate) value: u64,
}

/// `ompt_frame_t`: where a task's code was entered from the runtime, and where it left to the
/// runtime.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct TaskFrame {
    pub(crate) exit_frame: u64,
    pub(crate) enter_frame: u64,
    pub(crate) exit_frame_flags: c_int,
    pub(crate) enter_frame_flags: c_int,
}

/// `ompt_interface_fn_t` and `ompt_callback_t`: functions that must be cast before a call.
pub(crate) type Function = unsafe extern "C" fn();
/// `ompt_frame_application` of `ompt_frame_flag_t`: the frame belongs to the program.
pub(crate) const FRAME_APPLICATION: c_int = 0x1;

/// `ompt_function_lookup_t`.
pub(crate) type Lookup = unsafe extern "C" fn(name: *const c_char) -> Option<Function>;
/// `ompt_set_callback_t`; returns `ompt_set_result_t`.
pub(crate) type SetCallback = unsafe extern "C" fn(number: c_int, callback: Function) -> c_int;
/// The return type of `ompt_initialize_t`.
pub(crate) type InitializeResult = c_int;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub(crate) struct StartToolResult {
    pub(crate) initialize:
        unsafe extern "C" fn(Lookup, initial_device: c_int, *mut Data) -> InitializeResult,
    pub(crate) finalize: unsafe extern "C" fn(*mut Data),
    pub(crate) tool_data: Data,
}

/// `ompt_set_sometimes`: with this result or a higher one, the callback will be called.
pub(crate) const SET_SOMETIMES: c_int = 3;

/// `ompt_scope_endpoint_t`.
pub(crate) const SCOPE_BEGIN: c_int = 1;
/// `ompt_scope_endpoint_t`.
pub(crate) const SCOPE_END: c_int = 2;

/// `ompt_parallel_league` of `ompt_parallel_flag_t`: the region is a league of teams.
pub(crate) const PARALLEL_LEAGUE: c_int = 0x4000_0000;

/// `ompt_task_initial | ompt_task_implicit`: not an explicit task.
pub(crate) const TASK_NOT_EXPLICIT: c_int = 0x3;

/// `ompt_task_taskwait`: stands for a `taskwait` with dependences.
pub(crate) const TASK_TASKWAIT: c_int = 0x10;
/// `ompt_task_untied`.
pub(crate) const TASK_UNTIED: c_int = 0x1000_0000;
/// `ompt_task_switch` of `ompt_task_status_t`.
pub(crate) const STATUS_SWITCH: c_uint = 7;
/// `ompt_taskwait_complete` of `ompt_task_status_t`.
pub(crate) const STATUS_TASKWAIT_COMPLETE: c_uint = 8;
/// `ompt_mutex_critical` of `ompt_mutex_t`.
pub(crate) const MUTEX_CRITICAL: c_uint = 5;
/// `ompt_sync_region_taskwait` of `ompt_sync_region_t`.
pub(crate) const SYNC_TASKWAIT: c_uint = 5;

/// The numbers of `ompt_callbacks_t`.
pub(crate) mod number {
    use std::ffi::c_int;

    pub(crate) const THREAD_BEGIN: c_int = 1;
    pub(crate) const THREAD_END: c_int = 2;
    pub(crate) const PARALLEL_BEGIN: c_int = 3;
    pub(crate) const PARALLEL_END: c_int = 4;
    pub(crate) const TASK_CREATE: c_int = 5;
    pub(crate) const TASK_SCHEDULE: c_int = 6;
    pub(crate) const IMPLICIT_TASK: c_int = 7;
    pub(crate) const CONTROL_TOOL: c_int = 11;
    pub(crate) const SYNC_REGION_WAIT: c_int = 16;
    pub(crate) const MUTEX_RELEASED: c_int = 17;
    pub(crate) const LOCK_INIT: c_int = 24;
    pub(crate) const MUTEX_ACQUIRE: c_int = 26;
    pub(crate) const MUTEX_ACQUIRED: c_int = 27;
    pub(crate) const NEST_LOCK: c_int = 28;
    pub(crate) const REDUCTION: c_int = 31;
}
