//! The memory that two executions of a region left.
#![allow(unsafe_code)]

use std::time::Duration;

use divergence::record::{Cause, Memory};
use divergence::spans::{self, Pages};
use divergence::words::{Difference, differing};

use crate::blocks;
use crate::board::{Box, ROOM};
use crate::classes::{self, Outcome, PerThread};
use crate::keeper::{Keeper, Mode};
use crate::pages::{self, Area};

/// Most differing words of an instance that are kept.
const MOST: usize = 1 << 22;

/// Words that differ with fewer bytes between them are of one variable, where no symbols tell.
const GAP: u64 = 64;

/// Memory that is compared as one: a variable, a block, or a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) memory: Memory,
    /// The call that allocated it; of a stack, where the frame begins that forks the region.
    pub(crate) code: u64,
    /// It holds several variables that nobody knows.
    pub(crate) is_mixed: bool,
}

impl Span {
    /// What is the same in other instances: blocks of one call are one.
    pub(crate) fn place(&self) -> u64 {
        match self.memory {
            Memory::Heap | Memory::Mapping => self.code,
            Memory::Static | Memory::Stack => self.begin,
        }
    }
}

/// The differences in a variable or block.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) span: Span,
    pub(crate) differences: Vec<Difference>,
    /// The largest change by another direction of rounding.
    pub(crate) spread: f64,
    pub(crate) is_cut: bool,
}

/// What an instance is compared with.
pub(crate) struct Comparison<'a> {
    pub(crate) keeper: &'a mut Keeper,
    pub(crate) areas: &'a [Area],
    /// The program's variables, and the stack above the frame of the runtime.
    pub(crate) variables: &'a [Span],
    pub(crate) threads: u64,
    /// The most time that the region may take with one thread.
    pub(crate) limit: Duration,
    /// Arrays that have had a part for each thread.
    pub(crate) per_thread: &'a mut PerThread,
}

impl Comparison<'_> {
    /// Compares what the region has left with what it leaves with one thread.
    pub(crate) fn compare(&mut self) -> Result<Outcome, Cause> {
        let of_peer = self.keeper.run(Mode::Plain, self.limit)?;
        let own = pages::unshared(self.areas).ok_or(Cause::Refused)?;
        let shared = self.areas.iter().filter(|area| area.is_shared);
        let shared: Pages = shared.map(|area| (area.begin, area.end)).collect();
        let pages = spans::union(&spans::union(&of_peer, &own), &shared);
        let spans = self.spans(&pages);
        let mut outcome = Outcome::default();
        let mut groups = self.differences(&pages, &spans, &mut outcome)?;
        if groups.is_empty() {
            return Ok(outcome);
        }
        classes::without_pointers(self.keeper, &mut groups, &mut outcome)?;
        let keeper = &mut *self.keeper;
        let team = (self.threads, &mut *self.per_thread);
        classes::without_team(keeper, &pages, team, &mut groups, &mut outcome)?;
        if !groups.is_empty() {
            classes::without_noise(keeper, self.limit, &mut groups, &mut outcome)?;
        }
        outcome.groups = groups;
        Ok(outcome)
    }

    /// What is compared on these pages, by address.
    fn spans(&self, pages: &Pages) -> Vec<Span> {
        let variables = self.variables.iter().copied();
        let variables = variables.filter(|span| spans::touches(pages, span.begin, span.end));
        let of_block = |block: blocks::Block| Span {
            begin: block.address,
            end: block.address.saturating_add(block.bytes),
            memory: block.memory(),
            code: block.code,
            is_mixed: false,
        };
        let blocks = blocks::on(pages).into_iter().map(of_block);
        let mut all: Vec<Span> = variables.chain(blocks).collect();
        all.sort_by_key(|span| span.begin);
        all
    }

    /// The words in which the peer and this process differ.
    fn differences(
        &self,
        pages: &Pages,
        spans: &[Span],
        outcome: &mut Outcome,
    ) -> Result<Vec<Group>, Cause> {
        let mut owners = Vec::new();
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for (number, span) in spans.iter().enumerate() {
            for (begin, end) in spans::within(pages, span.begin, span.end) {
                let mut at = begin;
                while at < end {
                    let to = end.min(at + ROOM as u64);
                    pieces.push((at, to));
                    owners.push(number);
                    at = to;
                }
            }
        }
        let mut found: Vec<(usize, Difference)> = Vec::new();
        let mut is_cut = false;
        self.keeper.fetch(Box::Peer, &pieces, |number, reference| {
            let (Some((begin, end)), Some(owner)) = (pieces.get(number), owners.get(number)) else {
                return;
            };
            outcome.words += (end - begin).div_ceil(8);
            // SAFETY: memory of the program: variables, its stack above this frame, and blocks in use, on pages that
            // are in memory. Its threads wait for work.
            let result =
                unsafe { std::slice::from_raw_parts(*begin as *const u8, (end - begin) as usize) };
            differing(*begin, reference, result, |address, reference, result| {
                is_cut |= found.len() == MOST;
                if found.len() < MOST {
                    let difference = Difference {
                        address,
                        before: 0,
                        reference,
                        result,
                    };
                    found.push((*owner, difference));
                }
            });
        })?;
        Ok(grouped(spans, found, is_cut))
    }
}

/// Differences by the memory in which they are.
fn grouped(spans: &[Span], found: Vec<(usize, Difference)>, is_cut: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut last = usize::MAX;
    for (owner, difference) in found {
        let Some(span) = spans.get(owner) else {
            continue;
        };
        match groups.last_mut() {
            Some(group)
                if owner == last
                    && !(span.is_mixed && difference.address > group.span.end + GAP) =>
            {
                if span.is_mixed {
                    group.span.end = difference.address + 8;
                }
                group.differences.push(difference);
            }
            _ => {
                let mut span = *span;
                if span.is_mixed {
                    (span.begin, span.end) = (difference.address, difference.address + 8);
                }
                groups.push(Group {
                    span,
                    differences: vec![difference],
                    spread: 0.0,
                    is_cut: false,
                });
            }
        }
        last = owner;
    }
    if let Some(group) = groups.last_mut() {
        group.is_cut = is_cut;
    }
    groups
}
