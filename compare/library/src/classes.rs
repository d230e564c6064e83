//! What differences are: errors, or what differs in right programs, too.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::time::Duration;

use divergence::parts::{Changed, is_per_thread, per_thread_arrays};
use divergence::record::Cause;
use divergence::rounding::{Repeated, rounding};
use divergence::spans::{self, Pages};
use divergence::words::Difference;

use crate::blocks::{self, Block};
use crate::board::{Box, ROOM};
use crate::compare::{Group, Span};
use crate::keeper::{Keeper, Mode};

/// Arrays with a part for each thread: the frame in which they are, or 0, and their places.
pub(crate) type PerThread = HashSet<(u64, u64)>;

/// What an instance has shown.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Words that were compared.
    pub(crate) words: u64,
    /// Words that differ, and are no errors.
    pub(crate) varying: u64,
    pub(crate) rounded: u64,
    pub(crate) per_thread: u64,
    pub(crate) pointers: u64,
    /// The largest spread of rounding that was accepted.
    pub(crate) spread: f64,
    /// The others.
    pub(crate) groups: Vec<Group>,
}

/// Takes out words for which `is_out` is true, and groups without others. Returns how many words.
fn take_out(groups: &mut Vec<Group>, mut is_out: impl FnMut(&Difference) -> bool) -> u64 {
    let mut count = 0;
    for group in groups.iter_mut() {
        let before = group.differences.len();
        group.differences.retain(|difference| !is_out(difference));
        count += (before - group.differences.len()) as u64;
    }
    groups.retain(|group| !group.differences.is_empty());
    count
}

/// The block that holds an address.
fn holding(blocks: &[(u64, u64, u64)], address: u64) -> Option<(u64, u64, u64)> {
    let after = blocks.partition_point(|(begin, ..)| *begin <= address);
    let (begin, bytes, code) = *blocks.get(after.checked_sub(1)?)?;
    (address < begin.saturating_add(bytes)).then_some((begin, bytes, code))
}

/// Takes out pointers into blocks that the region allocated: in both executions by the same call, to the same
/// distance from the begin. The peer lives.
pub(crate) fn without_pointers(
    keeper: &Keeper,
    groups: &mut Vec<Group>,
    outcome: &mut Outcome,
) -> Result<(), Cause> {
    let tuple = |block: Block| (block.address, block.bytes, block.code);
    let own: Vec<_> = blocks::born().into_iter().map(tuple).collect();
    if own.is_empty() {
        return Ok(());
    }
    let mut of_peer = keeper.born()?;
    of_peer.sort_unstable();
    outcome.pointers += take_out(groups, |difference| {
        let one = holding(&of_peer, difference.reference);
        let other = holding(&own, difference.result);
        let (Some(one), Some(other)) = (one, other) else {
            return false;
        };
        (one.1, one.2) == (other.1, other.2)
            && difference.reference - one.0 == difference.result - other.0
    });
    Ok(())
}

/// Takes out the size of the team, and arrays with a part for each thread. Then the peer is ended, and differences
/// have their values from before.
pub(crate) fn without_team(
    keeper: &mut Keeper,
    pages: &Pages,
    (threads, per_thread): (u64, &mut PerThread),
    groups: &mut Vec<Group>,
    outcome: &mut Outcome,
) -> Result<(), Cause> {
    for group in groups.iter_mut() {
        let before = keeper.words(Box::Keeper, &group.differences, group.span.end)?;
        for (difference, before) in group.differences.iter_mut().zip(before) {
            difference.before = before;
        }
    }
    outcome.per_thread += take_out(groups, |difference| difference.is_team_size(threads));
    let mut kept = Vec::new();
    for mut group in groups.drain(..) {
        let before = group.differences.len();
        if group.span.is_mixed {
            without_arrays(keeper, pages, (threads, &mut *per_thread), &mut group)?;
        } else if is_of_team(keeper, pages, (threads, &mut *per_thread), &group.span)? {
            group.differences.clear();
        }
        outcome.per_thread += (before - group.differences.len()) as u64;
        if !group.differences.is_empty() {
            kept.push(group);
        }
    }
    *groups = kept;
    keeper.end_peer()
}

/// Bytes of what may be an element.
const UNITS: [u64; 2] = [8, 4];

/// Whether an array has a part for each thread, or had.
fn is_of_team(
    keeper: &Keeper,
    pages: &Pages,
    (threads, per_thread): (u64, &mut PerThread),
    span: &Span,
) -> Result<bool, Cause> {
    // Where a sum is the same as before, nothing is seen of it.
    if per_thread.contains(&(0, span.place())) {
        return Ok(true);
    }
    for unit in UNITS {
        let changed = changed(keeper, pages, (span.begin, span.end), unit)?;
        if changed.is_some_and(|changed| is_per_thread(&changed, threads, unit)) {
            per_thread.insert((0, span.place()));
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes out what is in arrays with a part for each thread, among variables that nobody knows.
fn without_arrays(
    keeper: &Keeper,
    pages: &Pages,
    (threads, per_thread): (u64, &mut PerThread),
    group: &mut Group,
) -> Result<(), Cause> {
    const HALF: u64 = 4;
    /// Bytes before the first difference in which the first part may be.
    const BEFORE: u64 = 64;
    for unit in UNITS {
        let range = (
            (group.span.begin / 8 * 8).saturating_sub(BEFORE),
            group.span.end,
        );
        let Some(changed) = changed(keeper, pages, range, unit)? else {
            return Ok(());
        };
        // Where a number is the same as before, nothing is seen of it: so they are known from then on.
        for (begin, end) in per_thread_arrays(&changed, threads, unit) {
            let units = (begin..end).step_by(HALF as usize);
            per_thread.extend(units.map(|at| (group.span.code, at)));
        }
    }
    group.differences.retain(|difference| {
        let (at, bytes) = difference.bytes();
        let mut units = (at..at + bytes).step_by(HALF as usize);
        !units.all(|at| per_thread.contains(&(group.span.code, at)))
    });
    Ok(())
}

/// The units in a range that an execution changed; `None`: they are too many for a part for each thread.
fn changed(
    keeper: &Keeper,
    pages: &Pages,
    (begin, end): (u64, u64),
    unit: u64,
) -> Result<Option<Vec<Changed>>, Cause> {
    const MOST: u64 = 1 << 20;
    let pieces: Vec<(u64, u64)> = spans::within(pages, begin, end).collect();
    let bytes: u64 = pieces.iter().map(|(begin, end)| end - begin).sum();
    if bytes > MOST.min(ROOM as u64) {
        return Ok(None);
    }
    let copy = |of: Box| {
        let mut all: Vec<Vec<u8>> = Vec::new();
        keeper.fetch(of, &pieces, |_, bytes| all.push(bytes.to_vec()))?;
        Ok::<_, Cause>(all)
    };
    let (before, reference) = (copy(Box::Keeper)?, copy(Box::Peer)?);
    let mut changed = Vec::new();
    for ((begin, end), (before, reference)) in pieces.iter().zip(before.iter().zip(&reference)) {
        // SAFETY: as in `compare`.
        let result =
            unsafe { std::slice::from_raw_parts(*begin as *const u8, (end - begin) as usize) };
        let units = |bytes| <[u8]>::chunks(bytes, unit as usize);
        let all = units(before).zip(units(reference)).zip(units(result));
        for (number, ((before, reference), result)) in all.enumerate() {
            let by_one = before != reference;
            if by_one || before != result {
                changed.push(Changed {
                    address: begin + unit * number as u64,
                    by_one,
                });
            }
        }
    }
    Ok(Some(changed))
}

/// The words of all groups in a peer that runs the region once more.
fn repeated(
    keeper: &mut Keeper,
    mode: Mode,
    limit: Duration,
    groups: &[Group],
) -> Result<Vec<Vec<u64>>, Cause> {
    keeper.run(mode, limit)?;
    let words = |group: &Group| keeper.words(Box::Peer, &group.differences, group.span.end);
    let all = groups.iter().map(words).collect::<Result<_, _>>()?;
    keeper.end_peer()?;
    Ok(all)
}

/// Takes out what two executions with one thread leave different as well, and what is rounding.
pub(crate) fn without_noise(
    keeper: &mut Keeper,
    limit: Duration,
    groups: &mut Vec<Group>,
    outcome: &mut Outcome,
) -> Result<(), Cause> {
    let again = repeated(keeper, Mode::Again, limit, groups)?;
    let mut kept = Vec::new();
    for (group, again) in groups.drain(..).zip(again) {
        let mut pairs = group.differences.iter().zip(again);
        if pairs.any(|(difference, again)| difference.reference != again) {
            outcome.varying += group.differences.len() as u64;
        } else {
            kept.push(group);
        }
    }
    *groups = kept;
    if groups.is_empty() {
        return Ok(());
    }
    let up = repeated(keeper, Mode::Up, limit, groups)?;
    let down = repeated(keeper, Mode::Down, limit, groups)?;
    for ((group, up), down) in groups.iter_mut().zip(up).zip(down) {
        let (is_rounding, spread) = rounding(&group.differences, &Repeated { up, down });
        group.spread = spread;
        let before = group.differences.len();
        let mut is_rounding = is_rounding.into_iter();
        group
            .differences
            .retain(|_| is_rounding.next() != Some(true));
        let rounded = before - group.differences.len();
        if rounded > 0 {
            outcome.rounded += rounded as u64;
            outcome.spread = outcome.spread.max(spread);
        }
    }
    groups.retain(|group| !group.differences.is_empty());
    Ok(())
}
