//! The first lines of every report: what sets its runs apart from whole and undisturbed ones.

use omp_model::analysis::Analysis;
use omp_model::views::caveats::Caveat;
use serde_json::{Value as Json, json};

/// What a reader must know of a run before any of its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCaveats {
    /// The experiment's name.
    pub experiment: String,
    /// The number of its side, from 1, in a comparison.
    pub side: Option<usize>,
    /// Its caveats, one or more.
    pub caveats: Vec<Caveat>,
}

impl RunCaveats {
    /// Those of a run; `None` if there are none.
    pub(crate) fn of(analysis: &Analysis, side: Option<usize>) -> Option<RunCaveats> {
        let caveats = analysis.caveats();
        (!caveats.is_empty()).then(|| RunCaveats {
            experiment: analysis.name.clone(),
            side,
            caveats: caveats.to_vec(),
        })
    }

    fn is_like(&self, other: &RunCaveats) -> bool {
        let ids = |it: &RunCaveats| it.caveats.iter().map(Caveat::id).collect::<Vec<_>>();
        self.side == other.side && ids(self) == ids(other)
    }
}

/// The lines of a text: one for all runs of a side of which the same is to be said, as the first of them
/// has it. `runs` is the number of all runs.
pub fn lines(all: &[RunCaveats], runs: usize) -> Vec<String> {
    let mut alike: Vec<(&RunCaveats, usize)> = Vec::new();
    for one in all {
        match alike.iter_mut().find(|(known, _)| known.is_like(one)) {
            Some((_, count)) => *count += 1,
            None => alike.push((one, 1)),
        }
    }
    let line = |(first, count): (&RunCaveats, usize)| {
        let about = match (first.side, count) {
            _ if runs < 2 => String::new(),
            (Some(side), 1) => format!("({side}) "),
            (Some(side), count) => format!("({side}) {count} runs, as this: "),
            (None, 1) => format!("{}: ", first.experiment),
            (None, count) => format!("{} and {} more: ", first.experiment, count - 1),
        };
        Some(format!("{about}{}", Caveat::line(&first.caveats)?))
    };
    alike.into_iter().filter_map(line).collect()
}

/// The same for JSON, each by itself.
pub(crate) fn json(all: &[RunCaveats]) -> Json {
    let each = all.iter().flat_map(|run| {
        let of = |caveat: &Caveat| {
            json!({"experiment": run.experiment, "id": caveat.id(), "text": caveat.words()})
        };
        run.caveats.iter().map(of)
    });
    each.collect()
}
