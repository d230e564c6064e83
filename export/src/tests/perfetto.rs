//! Perfetto's traces, read back by their own messages.

use std::collections::BTreeMap;

use prost::Message;
use report::Settings;

use super::made::{MS, Made, settings};
use crate::perfetto::messages::{BEGIN, END, InternedData, TracePacket, TrackDescriptor};

/// `Trace`.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

/// A trace by tracks.
#[derive(Default)]
pub(super) struct Read {
    tracks: BTreeMap<u64, TrackDescriptor>,
    /// Name, start and end, by the name of the track.
    slices: BTreeMap<String, Vec<(String, u64, u64)>>,
    instants: Vec<String>,
    pub(super) samples: u64,
    interned: InternedData,
}

impl Read {
    pub(super) fn of(made: &mut Made, settings: &Settings) -> Read {
        let bytes = made.export("perfetto", settings);
        let trace = Trace::decode(bytes.as_slice()).unwrap();
        let mut read = Read::default();
        let mut open = BTreeMap::<u64, Vec<(String, u64)>>::new();
        for packet in trace.packet {
            assert_eq!(packet.trusted_packet_sequence_id, 1);
            if let Some(new) = packet.interned_data {
                // Lists are joined.
                read.interned.merge(new.encode_to_vec().as_slice()).unwrap();
            }
            if let Some(track) = packet.track_descriptor {
                let known = track
                    .parent_uuid
                    .is_none_or(|it| read.tracks.contains_key(&it));
                assert!(known, "{track:?}");
                read.tracks.insert(track.uuid, track);
            }
            if let Some(event) = packet.track_event {
                let name = event.name_iid.map(|iid| {
                    let names = &read.interned.event_names;
                    names.iter().find(|it| it.iid == iid).unwrap().name.clone()
                });
                let open = open.entry(event.track_uuid).or_default();
                let track = read.name(event.track_uuid);
                match event.r#type {
                    BEGIN => open.push((name.unwrap(), packet.timestamp)),
                    END => {
                        let (name, start) = open.pop().unwrap();
                        assert!(packet.timestamp >= start);
                        let slices = read.slices.entry(track).or_default();
                        slices.push((name, start, packet.timestamp));
                    }
                    _ => read.instants.push(name.unwrap()),
                }
            }
            if let Some(sample) = packet.perf_sample {
                let stacks = &read.interned.callstacks;
                assert!(stacks.iter().any(|it| it.iid == sample.callstack_iid));
                read.samples += 1;
            }
        }
        assert!(open.values().all(Vec::is_empty));
        read
    }

    fn name(&self, uuid: u64) -> String {
        let track = &self.tracks[&uuid];
        let thread = track.thread.as_ref().map(|it| it.thread_name.clone());
        thread.or_else(|| track.name.clone()).unwrap_or_default()
    }

    fn sums(&self, track: &str) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (name, start, end) in &self.slices[track] {
            *sums.entry(name.as_str()).or_default() += (end - start) / MS;
        }
        sums
    }
}

#[test]
fn the_states_of_a_thread_are_its_life() {
    let read = Read::of(&mut Made::new(), &Settings::default());
    // A period of 100 ms before and after each sample; the rest has no sample.
    let initial = [
        ("critical", 200),
        ("not listed", 500),
        ("serial", 450),
        ("work", 850),
    ];
    assert_eq!(read.sums("Thread 100 (initial)"), BTreeMap::from(initial));
    let worker = [("idle", 500), ("implicit barrier", 500), ("work", 1000)];
    assert_eq!(read.sums("Thread 101 (worker)"), BTreeMap::from(worker));
}

#[test]
fn regions_tasks_phases_and_notes_have_tracks() {
    let read = Read::of(&mut Made::new(), &Settings::default());
    let of = |track: &str| -> Vec<(u64, u64)> {
        let slices = read.slices[track].iter();
        slices
            .map(|(_, start, end)| (start / MS, end / MS))
            .collect()
    };
    assert_eq!(of("Regions"), [(500, 2000)]);
    assert_eq!(of("Tasks"), [(600, 900)]);
    assert_eq!(of("Phases"), [(100, 1100)]);
    assert_eq!(read.slices["Phases"][0].0, "solve");
    assert!(
        read.instants
            .iter()
            .any(|it| it.starts_with("lost: 2 samples"))
    );
    assert!(read.instants.iter().any(|it| it.contains("is inferred")));
}

#[test]
fn clock_samples_have_stacks() {
    let mut made = Made::new();
    let read = Read::of(&mut made, &Settings::default());
    assert_eq!(read.samples, 23);
    let interned = &read.interned;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let functions: Vec<String> = interned
        .function_names
        .iter()
        .map(|it| text(&it.str))
        .collect();
    assert!(functions.contains(&"tiny".to_owned()), "{functions:?}");
    assert!(
        interned
            .source_paths
            .iter()
            .any(|it| it.str == b"/home/ann/app/foo.c")
    );
    assert!(interned.build_ids.iter().any(|it| it.str == [0x00, 0x11]));
    for frame in &interned.frames {
        assert!(
            interned
                .mappings
                .iter()
                .any(|it| it.iid == frame.mapping_id)
        );
        assert!(frame.function_name_id as usize <= functions.len());
    }
    let line = |name: &str| {
        let function = functions.iter().position(|it| it == name).unwrap() as u64 + 1;
        let frame = interned
            .frames
            .iter()
            .find(|it| it.function_name_id == function);
        frame.unwrap().line_number
    };
    assert_eq!(
        (line("tiny"), line("bar"), line("main")),
        (Some(2), Some(4), Some(20))
    );
    // A filter leaves samples out.
    assert_eq!(Read::of(&mut made, &settings()[2]).samples, 10);
    assert_eq!(Read::of(&mut made, &settings()[4]).samples, 5 + 2 + 2);
    assert_eq!(Read::of(&mut made, &settings()[6]).samples, 0);
}
