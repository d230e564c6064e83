//! The messages of `perfetto_trace.proto` that are written, with the fields that are used
//! (<https://github.com/google/perfetto/blob/main/protos/perfetto/trace>).

use prost::Message;

/// `TracePacket.sequence_flags`: interned data begin here.
pub(super) const CLEARED: u32 = 1;
/// `TracePacket.sequence_flags`: interned data are referred to.
pub(super) const NEEDED: u32 = 2;

/// `TrackEvent.Type`.
pub(super) const BEGIN: i32 = 1;
pub(super) const END: i32 = 2;
pub(super) const INSTANT: i32 = 3;

/// `Profiling.CpuMode`.
pub(super) const KERNEL: i32 = 1;
pub(super) const USER: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, tag = "8")]
    pub(super) timestamp: u64,
    #[prost(uint32, tag = "10")]
    pub(super) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    pub(super) sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
    #[prost(message, optional, tag = "66")]
    pub(super) perf_sample: Option<PerfSample>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    pub(super) r#type: i32,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    pub(super) track_uuid: u64,
    #[prost(string, repeated, tag = "22")]
    pub(super) categories: Vec<String>,
}

/// A field of an event: a number or a text.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    pub(super) name_iid: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    pub(super) string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub(super) thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, repeated, tag = "2")]
    pub(super) cmdline: Vec<String>,
    #[prost(string, tag = "6")]
    pub(super) process_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(int32, tag = "2")]
    pub(super) tid: i32,
    #[prost(string, tag = "5")]
    pub(super) thread_name: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct PerfSample {
    #[prost(uint32, tag = "1")]
    pub(super) cpu: u32,
    #[prost(uint32, tag = "2")]
    pub(super) pid: u32,
    #[prost(uint32, tag = "3")]
    pub(super) tid: u32,
    #[prost(uint64, tag = "4")]
    pub(super) callstack_iid: u64,
    #[prost(int32, tag = "5")]
    pub(super) cpu_mode: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Named>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<Named>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function_names: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "6")]
    pub(super) frames: Vec<Frame>,
    #[prost(message, repeated, tag = "7")]
    pub(super) callstacks: Vec<Callstack>,
    #[prost(message, repeated, tag = "16")]
    pub(super) build_ids: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "17")]
    pub(super) mapping_paths: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "18")]
    pub(super) source_paths: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "19")]
    pub(super) mappings: Vec<Mapping>,
    #[prost(message, repeated, tag = "29")]
    pub(super) debug_annotation_string_values: Vec<InternedBytes>,
}

/// `EventName` and `DebugAnnotationName`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Named {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}

/// `InternedString`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedBytes {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) str: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Frame {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(uint64, tag = "2")]
    pub(super) function_name_id: u64,
    #[prost(uint64, tag = "3")]
    pub(super) mapping_id: u64,
    #[prost(uint64, tag = "4")]
    pub(super) rel_pc: u64,
    #[prost(uint64, optional, tag = "5")]
    pub(super) source_path_iid: Option<u64>,
    #[prost(uint32, optional, tag = "6")]
    pub(super) line_number: Option<u32>,
}

/// A stack: its outermost frame first.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Callstack {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub(super) frame_ids: Vec<u64>,
}

/// A load object.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(uint64, tag = "2")]
    pub(super) build_id: u64,
    #[prost(uint64, repeated, packed = "false", tag = "7")]
    pub(super) path_string_ids: Vec<u64>,
}
