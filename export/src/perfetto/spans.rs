//! Slices that lie in each other: regions, tasks and phases.

use std::cmp::Reverse;
use std::io;
use std::ops::Range;

use super::writer::{Field, PacketWriter};

/// A slice with its fields.
pub(super) struct Span<'a> {
    pub(super) range: Range<u64>,
    pub(super) name: String,
    pub(super) fields: Vec<Field<'a>>,
}

/// Writes the slices of a track. One that begins in another ends with it at the latest.
pub(super) fn write(
    packets: &mut PacketWriter<'_>,
    track: u64,
    mut spans: Vec<Span<'_>>,
) -> io::Result<()> {
    spans.sort_by_key(|span| (span.range.start, Reverse(span.range.end)));
    let mut open: Vec<u64> = Vec::new();
    for span in &spans {
        while let Some(&end) = open.last()
            && end <= span.range.start
        {
            packets.end(track, end)?;
            open.pop();
        }
        packets.begin(track, span.range.start, &span.name, &span.fields)?;
        let around = open.last().copied().unwrap_or(u64::MAX);
        open.push(span.range.end.min(around));
    }
    while let Some(end) = open.pop() {
        packets.end(track, end)?;
    }
    Ok(())
}
