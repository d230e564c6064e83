//! Packets, with names and texts that are written once.

use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key};
use rustc_hash::FxHashMap;

use super::messages::{
    BEGIN, CLEARED, DebugAnnotation, END, INSTANT, InternedBytes, InternedData, NEEDED, Named,
    PerfSample, TracePacket, TrackDescriptor, TrackEvent,
};

/// All packets are of one sequence, so that they share what is interned.
const SEQUENCE: u32 = 1;

/// A field of an event.
pub(super) enum Field<'a> {
    Number(&'static str, u64),
    Text(&'static str, &'a str),
}

/// Writes packets.
pub(super) struct PacketWriter<'o> {
    out: &'o mut dyn Write,
    buffer: Vec<u8>,
    begun: bool,
    /// What the next packet has to define.
    pub(super) pending: InternedData,
    event_names: FxHashMap<String, u64>,
    field_names: FxHashMap<&'static str, u64>,
    texts: FxHashMap<String, u64>,
}

impl<'o> PacketWriter<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> PacketWriter<'o> {
        PacketWriter {
            out,
            buffer: Vec::new(),
            begun: false,
            pending: InternedData::default(),
            event_names: FxHashMap::default(),
            field_names: FxHashMap::default(),
            texts: FxHashMap::default(),
        }
    }

    /// Defines a track.
    pub(super) fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.put(TracePacket {
            track_descriptor: Some(track),
            ..TracePacket::default()
        })
    }

    /// Begins a slice.
    pub(super) fn begin(
        &mut self,
        track: u64,
        time: u64,
        name: &str,
        fields: &[Field<'_>],
    ) -> io::Result<()> {
        self.event(track, time, BEGIN, Some(name), fields)
    }

    /// Ends the innermost slice of a track.
    pub(super) fn end(&mut self, track: u64, time: u64) -> io::Result<()> {
        self.event(track, time, END, None, &[])
    }

    /// Marks a point in time.
    pub(super) fn instant(&mut self, track: u64, time: u64, name: &str) -> io::Result<()> {
        self.event(track, time, INSTANT, Some(name), &[])
    }

    /// Writes a sample.
    pub(super) fn sample(&mut self, time: u64, sample: PerfSample) -> io::Result<()> {
        self.put(TracePacket {
            timestamp: time,
            perf_sample: Some(sample),
            ..TracePacket::default()
        })
    }

    /// Writes what is left.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn event(
        &mut self,
        track_uuid: u64,
        timestamp: u64,
        r#type: i32,
        name: Option<&str>,
        fields: &[Field<'_>],
    ) -> io::Result<()> {
        let name_iid = name.map(|name| self.event_name(name));
        let debug_annotations = fields.iter().map(|field| self.annotation(field)).collect();
        self.put(TracePacket {
            timestamp,
            track_event: Some(TrackEvent {
                debug_annotations,
                r#type,
                name_iid,
                track_uuid,
            }),
            ..TracePacket::default()
        })
    }

    fn event_name(&mut self, name: &str) -> u64 {
        if let Some(&known) = self.event_names.get(name) {
            return known;
        }
        let iid = self.event_names.len() as u64 + 1;
        let name = name.to_owned();
        self.event_names.insert(name.clone(), iid);
        self.pending.event_names.push(Named { iid, name });
        iid
    }

    fn annotation(&mut self, field: &Field<'_>) -> DebugAnnotation {
        let (Field::Number(name, _) | Field::Text(name, _)) = *field;
        let next = self.field_names.len() as u64 + 1;
        let pending = &mut self.pending;
        let name_iid = *self.field_names.entry(name).or_insert_with(|| {
            let name = name.to_owned();
            pending
                .debug_annotation_names
                .push(Named { iid: next, name });
            next
        });
        let (number, text) = match *field {
            Field::Number(_, number) => (Some(number), None),
            Field::Text(_, text) => (None, Some(self.text(text))),
        };
        DebugAnnotation {
            name_iid,
            uint_value: number,
            string_value_iid: text,
        }
    }

    fn text(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let iid = self.texts.len() as u64 + 1;
        self.texts.insert(text.to_owned(), iid);
        let str = text.as_bytes().to_vec();
        let texts = &mut self.pending.debug_annotation_string_values;
        texts.push(InternedBytes { iid, str });
        iid
    }

    /// `Trace.packet`, the first field.
    fn put(&mut self, mut packet: TracePacket) -> io::Result<()> {
        const FULL: usize = 1 << 16;
        if self.pending != InternedData::default() {
            packet.interned_data = Some(std::mem::take(&mut self.pending));
        }
        packet.trusted_packet_sequence_id = SEQUENCE;
        packet.sequence_flags = if self.begun { NEEDED } else { CLEARED };
        self.begun = true;
        encode_key(1, WireType::LengthDelimited, &mut self.buffer);
        let encoded = packet.encode_length_delimited(&mut self.buffer);
        encoded.map_err(io::Error::other)?;
        if self.buffer.len() >= FULL {
            self.flush()?;
        }
        Ok(())
    }
}
