//! The Firefox Profiler's processed profile, gzip
//! (`docs-developer/processed-profile-format.md` and `src/types/profile.ts` of firefox-devtools/profiler).
//!
//! Each OpenMP state is a category. A sample's weight is the time that it stands for ([`crate::places`]), so
//! that the profile's totals are `er_print`'s, and its CPU use is that time if the thread was on a CPU.
//! Regions, tasks, long waits and phases are markers. The version is 55, the last one with tables of their own
//! for each thread. The profiler upgrades it as it loads it.

mod columns;
mod markers;
mod meta;
mod thread;
mod track;

use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use report::Query;

use crate::places::{PlaceNumber, Places};
use crate::subject::Subject;
use markers::Marker;
use thread::Context;
use track::Track;

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let places = Places::new(&subject);
    let (tracks, counts) = tracks(&subject, &places);
    let threads = subject.threads(places.profile);
    let out = GzEncoder::new(out, Compression::fast());
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let merged = !places.by_second;
    write!(out, "{{\"meta\":{},", meta::meta(&subject, merged))?;
    let mut context = Context::new(&subject, &places, &counts);
    write!(out, "\"libs\":{},\"threads\":[", context.libs)?;
    let mut markers = markers::by_thread(&subject, &threads);
    let mut tracks = tracks;
    for (at, &id) in threads.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        let track = std::mem::take(&mut tracks[id.index()]);
        let markers: Vec<Marker> = markers.remove(&id).unwrap_or_default();
        thread::write(&mut out, &mut context, id, &track, &markers)?;
    }
    write!(
        out,
        "],\"pages\":[],\"profilerOverhead\":[],\"counters\":[]}}"
    )?;
    out.into_inner()?.finish().map(drop)
}

/// The samples of each thread by time, and their number by place; a place without samples has one.
fn tracks(subject: &Subject<'_>, places: &Places<'_>) -> (Vec<Track>, Vec<u32>) {
    let experiment = &subject.analysis().experiment;
    let mut tracks: Vec<Track> = Vec::new();
    tracks.resize_with(experiment.tables.threads.len(), Track::default);
    let mut counts = vec![0_u32; places.len()];
    experiment.samples.in_order(
        |rows| -> Vec<(u64, PlaceNumber)> {
            let seen = rows.iter();
            seen.filter_map(|row| Some((row.time.0, places.of(row)?)))
                .collect()
        },
        |_, seen| {
            for (time, place) in seen {
                counts[place as usize] += 1;
                let track = &mut tracks[places.get(place).thread.index()];
                track.push(time, place, !places.by_second);
            }
        },
    );
    for (place, time) in places.alone(subject, &counts) {
        counts[place as usize] = 1;
        tracks[places.get(place).thread.index()].push(time, place, false);
    }
    tracks.iter_mut().for_each(Track::sort);
    (tracks, counts)
}
