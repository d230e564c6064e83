//! Strands and the order between them: the pure model.
//!
//! A *strand* is what runs without a synchronisation that others could come between: an implicit
//! task, an explicit task, a chunk of a worksharing loop, a section, a single, a thread of the
//! program. Which thread executed it does not matter: two chunks that one thread executed one after
//! the other have no order, for with other timing two threads would have.
//!
//! A strand is divided into *segments*, numbered from 0, at each point where it gets an order with
//! another strand. The order has four sources:
//!
//! - within a strand, segments come one after the other;
//! - a strand comes after the segment in which its parent created it;
//! - a strand comes before the segment in which another one has waited for its end;
//! - an *edge*: what stands up to one segment comes before what stands from another one on.
//!
//! Edges are certain (a dependence, a release that an acquisition reads, `ordered`) or by chance (a
//! lock that happened to be handed over from one to the other).

use std::cell::Cell;

use hashbrown::{HashMap, HashSet};

/// A strand. No number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrandId(pub u32);

/// A place in a strand: everything in it up to this segment, or from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    /// The strand.
    pub strand: StrandId,
    /// Its segment; [`END`]: all of them.
    pub segment: u32,
}

/// The segment behind all others.
pub const END: u32 = u32::MAX;

/// Whether an order would be there with other timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It would.
    Certain,
    /// It would not need to be.
    Chance,
}

/// How two points are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Not at all.
    None,
    /// By chance only.
    Chance,
    /// With certainty.
    Certain,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: Point,
    /// The segment from which on it orders.
    to: u32,
    certainty: Certainty,
}

#[derive(Clone, Debug, Default)]
struct Strand {
    created: Option<Point>,
    /// How many strands are around it.
    depth: u32,
    /// Strands created by it that are known.
    children: u32,
    /// Others may come after a point of it.
    is_source: bool,
    joined: Option<Point>,
    segment: u32,
    /// The number of the event at which it began, and of that at which it ended.
    begin: u64,
    end: u64,
    /// By `to`.
    edges: Vec<Edge>,
    /// Strands whose end this one has waited for, with the segment behind the wait.
    waited: Vec<(u32, StrandId)>,
}

impl Strand {
    fn has_ended(&self) -> bool {
        self.end != u64::MAX
    }
}

/// All strands that can still take part in a race.
#[derive(Clone, Debug, Default)]
pub struct Strands {
    strands: HashMap<StrandId, Strand>,
    begun: u32,
    /// Edges that there are. Without any, creations and waits decide alone.
    edges: usize,
    /// Waits by strands that are not around the one that has ended.
    waits_by_others: usize,
    /// Points of strands that are forgotten, of which others may still be kept: what the strand did is done by
    /// the strand around its region, up to there.
    forgotten: HashMap<StrandId, Point>,
    /// How many of these there were when unused ones were left out last.
    forgotten_before: usize,
    /// Questions that were given up: see [`Strands::order`].
    given_up: Cell<u64>,
}

/// Steps after which the search for a path is given up.
const MOST_STEPS: usize = 200_000;

impl Strands {
    /// A new strand, created at `parent`, at the event with this number.
    pub fn begin(&mut self, parent: Option<Point>, number: u64) -> StrandId {
        let around = parent.and_then(|point| self.strands.get_mut(&point.strand));
        let depth = around.map_or(0, |around| {
            around.children += 1;
            around.depth + 1
        });
        let strand = Strand {
            created: parent,
            depth,
            begin: number,
            end: u64::MAX,
            ..Strand::default()
        };
        let id = StrandId(self.begun);
        self.begun += 1;
        self.strands.insert(id, strand);
        id
    }

    /// The strand has ended, at the event with this number.
    pub fn end(&mut self, strand: StrandId, number: u64) {
        if let Some(strand) = self.strands.get_mut(&strand) {
            strand.end = number;
        }
    }

    /// All that the strand did has been compared, and counts from now on as done by another one up to
    /// `point`.
    pub fn forget_as(&mut self, strand: StrandId, point: Point) {
        let is_source = self.strands.get(&strand).is_some_and(|it| it.is_source);
        self.forget(strand);
        if is_source {
            self.forgotten.insert(strand, point);
        }
    }

    /// Whether there are many strands that were forgotten as another one's.
    pub fn are_many_forgotten(&self) -> bool {
        const FEW: usize = 1 << 12;
        self.forgotten.len() > 2 * self.forgotten_before + FEW
    }

    /// Leaves out those of them of which no point is kept, in edges or in `kept`.
    pub fn clear_forgotten(&mut self, kept: impl Iterator<Item = StrandId>) {
        let edges = self.strands.values().flat_map(|strand| &strand.edges);
        let used: HashSet<StrandId> = edges.map(|edge| edge.from.strand).chain(kept).collect();
        let resolved = |(strand, point): (&StrandId, &Point)| (*strand, self.resolve(*point));
        let of_used = self
            .forgotten
            .iter()
            .filter(|(strand, _)| used.contains(*strand));
        self.forgotten = of_used.map(resolved).collect();
        self.forgotten_before = self.forgotten.len();
    }

    /// The point that stands for one of a strand that may be forgotten.
    fn resolve(&self, mut point: Point) -> Point {
        // The strand around a region is older than those in it.
        while let Some(around) = self.forgotten.get(&point.strand) {
            point = *around;
        }
        point
    }

    /// All that the strand did has been compared. A point of it is ordered with nothing.
    pub fn forget(&mut self, strand: StrandId) {
        if let Some(old) = self.strands.remove(&strand) {
            self.edges -= old.edges.len();
            let around = old.created.map(|point| point.strand);
            if let Some(around) = around.and_then(|around| self.strands.get_mut(&around)) {
                around.children -= 1;
            }
        }
    }

    /// Others may come after a point of the strand, which is kept somewhere else.
    pub fn keep(&mut self, strand: StrandId) {
        if let Some(strand) = self.strands.get_mut(&strand) {
            strand.is_source = true;
        }
    }

    /// Whether the strand has ended, and the order between others does not need it.
    pub fn is_spent(&self, strand: StrandId) -> bool {
        self.strands.get(&strand).is_some_and(|strand| {
            strand.has_ended()
                && strand.children == 0
                && !strand.is_source
                && strand.edges.is_empty()
        })
    }

    /// Whether the strand has ended.
    pub fn is_over(&self, strand: StrandId) -> bool {
        let strand = self.strands.get(&strand);
        strand.is_none_or(Strand::has_ended)
    }

    /// Whether the strand, or the one around it, can still take part in a race.
    pub fn is_known(&self, strand: StrandId) -> bool {
        self.strands.contains_key(&strand) || self.forgotten.contains_key(&strand)
    }

    /// The strand's current place.
    pub fn here(&self, strand: StrandId) -> Point {
        let segment = self.strands.get(&strand).map_or(0, |known| known.segment);
        Point { strand, segment }
    }

    /// Where the strand was created.
    pub fn created(&self, strand: StrandId) -> Option<Point> {
        self.strands.get(&strand)?.created
    }

    /// Ends the strand's current segment, and returns it as a point from which an order goes out.
    pub fn divide(&mut self, strand: StrandId) -> Point {
        let here = self.here(strand);
        if let Some(strand) = self.strands.get_mut(&strand) {
            strand.segment += 1;
        }
        here
    }

    /// `waiter` has waited for the end of `strand`. The first wait counts.
    pub fn join(&mut self, strand: StrandId, waiter: StrandId) {
        let here = self.here(waiter);
        let depth = self.strands.get(&waiter).map_or(0, |waiter| waiter.depth);
        match self.strands.get_mut(&strand) {
            Some(known) if known.joined.is_none() && strand != waiter => {
                known.joined = Some(here);
                self.waits_by_others += usize::from(depth >= known.depth);
            }
            _ => return,
        }
        if let Some(waiter) = self.strands.get_mut(&waiter) {
            waiter.waited.push((here.segment, strand));
        }
    }

    /// Everything up to `from` comes before what `to` does from its current segment on.
    pub fn order_after(&mut self, from: Point, to: StrandId, certainty: Certainty) {
        let from = self.resolve(from);
        if from.strand == to {
            return;
        }
        self.keep(from.strand);
        let Some(strand) = self.strands.get_mut(&to) else {
            return;
        };
        let is_known = |edge: &Edge| edge.from == from && edge.certainty <= certainty;
        if strand.edges.iter().rev().take(8).any(is_known) {
            return;
        }
        let to = strand.segment;
        strand.edges.push(Edge {
            from,
            to,
            certainty,
        });
        self.edges += 1;
    }

    /// Forgets the edges to `strand`, for all that they order has been compared, and returns where they came
    /// from.
    pub fn take_edges(&mut self, strand: StrandId) -> Vec<(Point, Certainty)> {
        let Some(strand) = self.strands.get_mut(&strand) else {
            return Vec::new();
        };
        self.edges -= strand.edges.len();
        strand.waited.clear();
        let edges = std::mem::take(&mut strand.edges).into_iter();
        edges
            .map(|edge| (self.resolve(edge.from), edge.certainty))
            .collect()
    }

    /// How `first` and `second` are ordered, in whichever direction. Points of one strand are always
    /// ordered.
    ///
    /// Where the search takes more than 200,000 steps, the answer is `Certain`, and counted
    /// ([`given_up`](Self::given_up)): what is not known to be a race is none.
    pub fn order(&self, first: Point, second: Point) -> Order {
        if self.precedes_by_nesting(first, second) || self.precedes_by_nesting(second, first) {
            return Order::Certain;
        }
        let mut best = Order::None;
        if self.edges == 0 && self.waits_by_others == 0 {
            return best;
        }
        for (from, to) in [(first, second), (second, first)] {
            for (certainty, order) in [
                (Certainty::Certain, Order::Certain),
                (Certainty::Chance, Order::Chance),
            ] {
                if order > best && self.precedes(from, to, certainty) {
                    best = order;
                }
            }
        }
        best
    }

    /// How many questions were given up.
    pub fn given_up(&self) -> u64 {
        self.given_up.get()
    }

    /// Whether `from` comes before `to` by creations and waits alone: the end of a strand in which it
    /// lies, or it itself, comes before the creation of one in which `to` lies.
    fn precedes_by_nesting(&self, from: Point, to: Point) -> bool {
        let depth = |point: Point| self.strands.get(&point.strand).map(|strand| strand.depth);
        let (mut from, mut to) = (from, to);
        loop {
            if from.strand == to.strand {
                return from.segment <= to.segment;
            }
            let (Some(of_from), Some(of_to)) = (depth(from), depth(to)) else {
                return false;
            };
            let next = |point: Point, outward: fn(&Strand) -> Option<Point>| {
                self.strands.get(&point.strand).and_then(outward)
            };
            if of_from > of_to {
                let joined = next(from, |strand| strand.joined);
                // Else it is for the search.
                let is_around = |joined: &Point| depth(*joined).is_some_and(|at| at < of_from);
                let Some(joined) = joined.filter(is_around) else {
                    return false;
                };
                from = joined;
            } else {
                let Some(created) = next(to, |strand| strand.created) else {
                    return false;
                };
                to = created;
            }
        }
    }

    /// Whether `from` comes before `to` by orders of this certainty or a higher one.
    ///
    /// Forward there is one chain: the strand's end, the end of the one that waited for it, and so
    /// on. The search goes backward from `to` until it meets the chain. Strands of a broken stream may have
    /// waited for each other: their chain ends where it comes to itself.
    fn precedes(&self, from: Point, to: Point, certainty: Certainty) -> bool {
        let mut chain: HashMap<StrandId, u32> = HashMap::new();
        let mut next = Some(from);
        while let Some(point) = next {
            let known = chain.get(&point.strand);
            if known.is_some_and(|segment| *segment <= point.segment) {
                break;
            }
            chain.insert(point.strand, point.segment);
            next = self
                .strands
                .get(&point.strand)
                .and_then(|strand| strand.joined);
        }
        let begin = self
            .strands
            .get(&from.strand)
            .map_or(0, |strand| strand.begin);
        let mut seen: HashMap<StrandId, u32> = HashMap::new();
        let mut open = vec![to];
        let mut steps = 0;
        while let Some(point) = open.pop() {
            if chain
                .get(&point.strand)
                .is_some_and(|segment| *segment <= point.segment)
            {
                return true;
            }
            let Some(strand) = self.strands.get(&point.strand) else {
                continue;
            };
            let known = seen.insert(point.strand, point.segment);
            if known.is_some_and(|known| known >= point.segment) {
                seen.insert(point.strand, known.unwrap_or_default());
                continue;
            }
            // What ended before `from` began is not after it.
            if strand.end < begin {
                continue;
            }
            open.extend(strand.created.filter(|_| known.is_none()));
            if self.edges == 0 {
                continue;
            }
            let is_new = |to: u32| to <= point.segment && known.is_none_or(|known| to > known);
            for edge in &strand.edges {
                if is_new(edge.to) && edge.certainty <= certainty {
                    open.push(self.resolve(edge.from));
                }
            }
            for (segment, ended) in &strand.waited {
                if is_new(*segment) {
                    open.push(Point {
                        strand: *ended,
                        segment: END,
                    });
                }
            }
            steps += 1 + strand.edges.len() + strand.waited.len();
            if steps > MOST_STEPS {
                self.given_up.set(self.given_up.get() + 1);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root and its children `a` and `b`, created one after the other.
    fn two_children() -> (Strands, StrandId, StrandId, StrandId) {
        let mut strands = Strands::default();
        let root = strands.begin(None, 0);
        let first = strands.divide(root);
        let a = strands.begin(Some(first), 1);
        let second = strands.divide(root);
        let b = strands.begin(Some(second), 2);
        (strands, root, a, b)
    }

    fn at(strand: StrandId, segment: u32) -> Point {
        Point { strand, segment }
    }

    #[test]
    fn a_child_comes_after_its_creation_alone() {
        let (strands, root, a, b) = two_children();
        assert_eq!(strands.order(at(root, 0), at(a, 0)), Order::Certain);
        assert_eq!(strands.order(at(root, 1), at(a, 0)), Order::None);
        assert_eq!(strands.order(at(root, 1), at(b, 0)), Order::Certain);
        assert_eq!(strands.order(at(a, 0), at(b, 0)), Order::None);
    }

    #[test]
    fn a_wait_orders_what_was_created_before_it() {
        let (mut strands, root, a, b) = two_children();
        strands.divide(root);
        strands.join(a, root);
        let here = strands.here(root);
        assert_eq!(strands.order(at(a, 7), here), Order::Certain);
        assert_eq!(strands.order(at(b, 0), here), Order::None);
        let third = strands.divide(root);
        let c = strands.begin(Some(third), 3);
        assert_eq!(strands.order(at(a, 0), at(c, 0)), Order::Certain);
        assert_eq!(strands.order(at(b, 0), at(c, 0)), Order::None);
    }

    #[test]
    fn a_wait_for_children_does_not_wait_for_grandchildren() {
        let (mut strands, root, a, _) = two_children();
        let created = strands.divide(a);
        let grandchild = strands.begin(Some(created), 3);
        strands.divide(root);
        strands.join(a, root);
        let here = strands.here(root);
        assert_eq!(strands.order(at(a, 1), here), Order::Certain);
        assert_eq!(strands.order(at(grandchild, 0), here), Order::None);
        strands.divide(a);
        strands.join(grandchild, a);
        assert_eq!(strands.order(at(grandchild, 0), here), Order::Certain);
    }

    #[test]
    fn edges_chain_across_strands() {
        let (mut strands, root, a, b) = two_children();
        let released = strands.divide(a);
        strands.divide(b);
        strands.order_after(released, b, Certainty::Certain);
        assert_eq!(strands.order(at(a, 0), at(b, 1)), Order::Certain);
        assert_eq!(strands.order(at(a, 1), at(b, 1)), Order::None);
        assert_eq!(strands.order(at(a, 0), at(b, 0)), Order::None);
        // The root waits for `b` alone, and so for what `b` came after.
        strands.divide(root);
        strands.join(b, root);
        let here = strands.here(root);
        assert_eq!(strands.order(at(a, 0), here), Order::Certain);
        assert_eq!(strands.order(at(a, 1), here), Order::None);
    }

    #[test]
    fn one_link_by_chance_makes_the_order_chance() {
        let (mut strands, root, a, b) = two_children();
        let third = strands.divide(root);
        let c = strands.begin(Some(third), 3);
        let released = strands.divide(a);
        strands.divide(b);
        strands.order_after(released, b, Certainty::Chance);
        let released = strands.divide(b);
        strands.divide(c);
        strands.order_after(released, c, Certainty::Certain);
        assert_eq!(strands.order(at(a, 0), at(b, 1)), Order::Chance);
        assert_eq!(strands.order(at(b, 1), at(c, 1)), Order::Certain);
        assert_eq!(strands.order(at(a, 0), at(c, 1)), Order::Chance);
        strands.take_edges(c);
        assert_eq!(strands.order(at(a, 0), at(c, 1)), Order::None);
    }

    #[test]
    fn a_region_that_has_ended_still_orders_what_is_around_it() {
        let (mut strands, root, member, other) = two_children();
        // The member hands something over to the other strand, which does so to the root.
        let handed = strands.divide(member);
        strands.keep(member);
        strands.divide(other);
        strands.order_after(handed, other, Certainty::Chance);
        let here = strands.here(root);
        strands.forget_as(member, here);
        assert_eq!(strands.order(here, at(other, 1)), Order::Chance);
        assert_eq!(strands.order(here, at(other, 0)), Order::None);
        // A point that is kept elsewhere still orders, if nobody has left it out.
        strands.clear_forgotten([member].into_iter());
        let third = strands.divide(root);
        let late = strands.begin(Some(at(third.strand, 0)), 9);
        strands.order_after(handed, late, Certainty::Chance);
        assert_eq!(strands.order(here, at(late, 0)), Order::Chance);
        strands.take_edges(other);
        strands.take_edges(late);
        strands.clear_forgotten([].into_iter());
        strands.order_after(handed, late, Certainty::Chance);
        assert_eq!(strands.order(here, at(late, 0)), Order::None);
    }

    #[test]
    fn a_forgotten_strand_orders_nothing() {
        let (mut strands, root, a, b) = two_children();
        let released = strands.divide(a);
        strands.divide(b);
        strands.order_after(released, b, Certainty::Certain);
        strands.forget(a);
        let c = strands.begin(None, 3);
        assert!(c != a && c != b && c != root);
        assert_eq!(strands.order(at(c, 0), at(b, 1)), Order::None);
        assert_eq!(strands.order(at(root, 0), at(b, 1)), Order::Certain);
    }
}
