//! Worksharing constructs.

use std::rc::Rc;

use ompt::numbers::work::{LOOP, LOOP_OTHER, LOOP_STATIC, SECTIONS};

use super::{Info, Replay};
use crate::site::{Base, ConstructKind, StrandKind};

pub(super) use ompt::numbers::work::{SINGLE_EXECUTOR as SINGLE, TASKLOOP};

impl Replay {
    pub(super) fn begin_work(
        &mut self,
        slot: u32,
        number: u64,
        kind: u8,
        (code, context): (u64, u32),
    ) {
        self.end_work_strand(slot, number);
        let Some(task) = self.top(slot) else {
            return;
        };
        let construct = match kind {
            SECTIONS => ConstructKind::Sections,
            SINGLE => ConstructKind::Single,
            LOOP | LOOP_STATIC..=LOOP_OTHER => ConstructKind::Loop,
            _ => return,
        };
        let base = self.construct(slot, task.main, construct, (code, 0), context);
        if let Some(task) = self.top_mut(slot) {
            task.work = Some((kind, base.clone()));
        }
        if kind == SINGLE {
            self.begin_work_strand(slot, number, StrandKind::Single, base);
        }
    }

    pub(super) fn chunk(&mut self, slot: u32, number: u64, first: u64, count: u64) {
        self.end_work_strand(slot, number);
        let Some((kind, base)) = self.top(slot).and_then(|task| task.work.clone()) else {
            return;
        };
        let strand = match kind {
            SECTIONS => StrandKind::Section,
            // The thread of each chunk is known beforehand.
            LOOP_STATIC => return,
            _ => StrandKind::Iterations(first, count),
        };
        self.begin_work_strand(slot, number, strand, base);
    }

    /// A chunk, section or single begins. Any thread of the team could execute it, so it comes after
    /// the begin of the region alone.
    pub(super) fn begin_work_strand(
        &mut self,
        slot: u32,
        number: u64,
        kind: StrandKind,
        base: Rc<Base>,
    ) {
        let Some(task) = self.top(slot) else {
            return;
        };
        let (region, main) = (task.region, task.main);
        let Some(team) = self.teams.get_mut(&region).filter(|team| team.size > 1) else {
            return;
        };
        let after = self.strands.divide(main).segment;
        let strand = self.strands.begin(team.parent, number);
        team.strands.push(strand);
        let (index, asked) = self
            .infos
            .get(&main)
            .map_or((0, false), |info| (info.index, info.asked));
        self.infos.insert(
            strand,
            Info {
                kind,
                thread: slot,
                index,
                region,
                base: Some(base),
                asked,
                implicit: main,
                after,
                born: None,
                rounds: None,
            },
        );
        if let Some(task) = self.top_mut(slot) {
            task.current = strand;
        }
    }

    pub(super) fn end_work_strand(&mut self, slot: u32, number: u64) {
        let Some(task) = self.top_mut(slot) else {
            return;
        };
        if task.current != task.main {
            let ended = std::mem::replace(&mut task.current, task.main);
            self.strands.end(ended, number);
        }
    }
}
