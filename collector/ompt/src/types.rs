//! The C types of the tools interface, as far as our callbacks need them. OpenMP API Specification 5.2,
//! section 19.4.
#![allow(missing_docs, reason = "they have the specification's names")]

use std::ffi::{c_char, c_int, c_uint};

/// `ompt_data_t`: a word for the tool, zero until the tool writes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Data {
    pub value: u64,
}

/// `ompt_frame_t`: where a task's code was entered from the runtime, and where it left to the
/// runtime.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TaskFrame {
    pub exit_frame: u64,
    pub enter_frame: u64,
    pub exit_frame_flags: c_int,
    pub enter_frame_flags: c_int,
}

/// `ompt_frame_application` of `ompt_frame_flag_t`: the frame belongs to the program.
pub const FRAME_APPLICATION: c_int = 0x1;

/// `ompt_dependence_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dependence {
    pub variable: u64,
    /// `ompt_dependence_type_t`.
    pub kind: c_uint,
}

/// `ompt_dispatch_chunk_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ChunkBounds {
    pub first: u64,
    pub count: u64,
}

/// `ompt_interface_fn_t` and `ompt_callback_t`: functions that must be cast before a call.
pub type Function = unsafe extern "C" fn();
/// `ompt_function_lookup_t`.
pub type Lookup = unsafe extern "C" fn(name: *const c_char) -> Option<Function>;
/// `ompt_set_callback_t`; returns `ompt_set_result_t`.
pub type SetCallback = unsafe extern "C" fn(number: c_int, callback: Function) -> c_int;

/// `ompt_set_sometimes` of `ompt_set_result_t`: with this result or a higher one, the callback will be called.
pub const SET_SOMETIMES: c_int = 3;

/// `ompt_start_tool_result_t`.
#[derive(Debug)]
#[repr(C)]
pub struct StartToolResult {
    /// Returns zero if the tool declines.
    pub initialize: unsafe extern "C" fn(Lookup, initial_device: c_int, *mut Data) -> c_int,
    pub finalize: unsafe extern "C" fn(*mut Data),
    pub tool_data: Data,
}
