//! What the rules of [`synchronisation`](crate::synchronisation) ask about the program.

use super::Replay;
use super::explicit::EXCLUSIVE_DEPENDENCE;
use super::work::SINGLE;
use crate::holders::Owner;
use crate::locksets::Held;
use crate::position::{Level, Position};
use crate::site::{Block, Call, StrandKind};
use crate::synchronisation::{Program, Task};

impl Program for Replay {
    fn task(&self, slot: u32) -> Option<Task> {
        let task = self.top(slot)?;
        // A team's own thread executes an explicit task with the number that it has there.
        let index = self.infos.get(&task.main).map_or(0, |info| info.index);
        let team = self.teams.get(&task.region);
        Some(Task {
            owner: Owner {
                slot,
                task: task.main,
                region: task.region,
            },
            explicit: task.task,
            index,
            is_in_single: task.current != task.main
                && task.work.as_ref().is_some_and(|(kind, _)| *kind == SINGLE)
                && team.is_some_and(|team| team.tells_ends),
        })
    }

    fn call(&self, slot: u32, code: u64, context: u32) -> Call {
        let task = self.top(slot);
        let info = task.and_then(|task| self.infos.get(&task.current));
        Call {
            code,
            context: self.contexts.of_thread(slot, context),
            base: info.and_then(|info| info.base.clone()),
            thread: info.map_or(0, |info| match info.kind {
                // It has no number in a team.
                StrandKind::Thread => slot,
                _ => info.index,
            }),
        }
    }

    fn position(&self, slot: u32) -> Position {
        let mut levels = Vec::new();
        let mut asked = false;
        let mut next = self.top(slot).map(|task| {
            let is_asking = |strand| self.infos.get(strand).is_some_and(|info| info.asked);
            let implicit = self.infos.get(&task.current).map(|info| info.implicit);
            asked = is_asking(&task.current) || implicit.as_ref().is_some_and(is_asking);
            (task.region, self.strands.here(task.current))
        });
        while let Some((region, point)) = next {
            let team = self.teams.get(&region);
            levels.push(Level {
                region,
                phase: team.map_or(0, |team| team.phase),
                point,
                is_concurrent: team.is_some_and(|team| match team.parent {
                    Some(_) => team.size > 1,
                    None => team.is_concurrent,
                }),
            });
            next = team.and_then(|team| team.parent).and_then(|parent| {
                let region = self.region_of(parent.strand)?;
                Some((region, parent))
            });
        }
        Position {
            slot,
            asked,
            levels,
        }
    }

    fn may_coincide(&self, one: &Position, other: &Position) -> bool {
        one.may_coincide(other, &self.strands, |region| {
            self.teams.get(&region).map(|team| team.phase)
        })
    }

    fn is_lasting(&self, address: u64) -> bool {
        /// Bytes of a nest lock.
        const LARGEST: u64 = 16;
        let is_on_stack = self.stack_owner(address).is_some();
        let block = self.heap.block(address);
        let is_own = |block: &Block| block.address == address && block.bytes <= LARGEST;
        !is_on_stack && block.is_none_or(is_own)
    }

    fn exclusions(&self, slot: u32) -> Vec<Held> {
        let locks = self.top(slot).map(|task| self.locksets.locks(task.locks));
        let locks = locks.into_iter().flatten().copied();
        locks
            .filter(|held| held.lock.0 == EXCLUSIVE_DEPENDENCE)
            .collect()
    }
}
