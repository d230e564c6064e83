//! The messages of `perfetto_trace.proto` that are written, with the fields that are used
//! (<https://github.com/google/perfetto/blob/main/protos/perfetto/trace>).

use prost::Message;

/// `TracePacket.sequence_flags`: interned data begin here.
pub(crate) const CLEARED: u32 = 1;
/// `TracePacket.sequence_flags`: interned data are referred to.
pub(crate) const NEEDED: u32 = 2;

/// `TrackEvent.Type`.
pub(crate) const BEGIN: i32 = 1;
pub(crate) const END: i32 = 2;
pub(crate) const INSTANT: i32 = 3;

/// `Profiling.CpuMode`.
pub(crate) const KERNEL: i32 = 1;
pub(crate) const USER: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(uint64, tag = "8")]
    pub(crate) timestamp: u64,
    #[prost(uint32, tag = "10")]
    pub(crate) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(crate) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(crate) interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    pub(crate) sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    pub(crate) track_descriptor: Option<TrackDescriptor>,
    #[prost(message, optional, tag = "66")]
    pub(crate) perf_sample: Option<PerfSample>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(crate) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    pub(crate) r#type: i32,
    #[prost(uint64, optional, tag = "10")]
    pub(crate) name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    pub(crate) track_uuid: u64,
}

/// A field of an event: a number or a text.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    pub(crate) name_iid: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) uint_value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    pub(crate) string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(crate) uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub(crate) thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub(crate) pid: i32,
    #[prost(string, repeated, tag = "2")]
    pub(crate) cmdline: Vec<String>,
    #[prost(string, tag = "6")]
    pub(crate) process_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub(crate) pid: i32,
    #[prost(int32, tag = "2")]
    pub(crate) tid: i32,
    #[prost(string, tag = "5")]
    pub(crate) thread_name: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct PerfSample {
    #[prost(uint32, tag = "1")]
    pub(crate) cpu: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) pid: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) tid: u32,
    #[prost(uint64, tag = "4")]
    pub(crate) callstack_iid: u64,
    #[prost(int32, tag = "5")]
    pub(crate) cpu_mode: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(crate) event_names: Vec<Named>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) debug_annotation_names: Vec<Named>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) function_names: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) frames: Vec<Frame>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) callstacks: Vec<Callstack>,
    #[prost(message, repeated, tag = "16")]
    pub(crate) build_ids: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "17")]
    pub(crate) mapping_paths: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "18")]
    pub(crate) source_paths: Vec<InternedBytes>,
    #[prost(message, repeated, tag = "19")]
    pub(crate) mappings: Vec<Mapping>,
    #[prost(message, repeated, tag = "29")]
    pub(crate) debug_annotation_string_values: Vec<InternedBytes>,
}

/// `EventName` and `DebugAnnotationName`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Named {
    #[prost(uint64, tag = "1")]
    pub(crate) iid: u64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

/// `InternedString`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedBytes {
    #[prost(uint64, tag = "1")]
    pub(crate) iid: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) str: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Frame {
    #[prost(uint64, tag = "1")]
    pub(crate) iid: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) function_name_id: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) mapping_id: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) rel_pc: u64,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) source_path_iid: Option<u64>,
    #[prost(uint32, optional, tag = "6")]
    pub(crate) line_number: Option<u32>,
}

/// A stack: its outermost frame first.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Callstack {
    #[prost(uint64, tag = "1")]
    pub(crate) iid: u64,
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub(crate) frame_ids: Vec<u64>,
}

/// A load object.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(crate) iid: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) build_id: u64,
    #[prost(uint64, repeated, packed = "false", tag = "7")]
    pub(crate) path_string_ids: Vec<u64>,
}
