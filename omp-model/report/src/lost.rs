//! Words for what was lost, and when.

use std::ops::Range;

use experiment::header::Header;
use experiment::losses::{Loss, LossKind, Stretch, Stretches};

use crate::document::Line;
use crate::text::seconds;

/// A text shows so many stretches of a loss.
const MOST: usize = 4;

/// What was lost, as a text: a line for each kind.
pub(crate) fn lines(header: &Header) -> Vec<Line> {
    let losses = header.losses.lost.iter();
    let lines = losses.map(|loss| {
        let (what, when) = (words(loss.kind), when(&loss.stretches));
        Line::warning(format!("  {} {what}: {when}", loss.stretches.count()))
    });
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() {
        return vec![Line::plain("Lost: nothing")];
    }
    let head = std::iter::once(Line::warning("Lost:"));
    head.chain(lines).collect()
}

/// When something was lost, in a few stretches: `from 0.210 to 0.740 s`, or `3 from 0.210 to 0.740 s, 1
/// at 0.900 s`.
pub fn when(stretches: &Stretches) -> String {
    let few = stretches.coarse(MOST);
    let is_one = few.iter().len() == 1;
    let told = few.iter().map(|it| {
        let count = if is_one {
            String::new()
        } else {
            format!("{} ", it.count)
        };
        format!("{count}{}", times(it))
    });
    told.collect::<Vec<_>>().join(", ")
}

fn times(stretch: &Stretch) -> String {
    let [from, to] = [stretch.from_ns, stretch.to_ns].map(|it| seconds(it as f64 / 1e9));
    if from == to {
        format!("at {from} s")
    } else {
        format!("from {from} to {to} s")
    }
}

/// What was lost in a range of time, in nanoseconds: the stretches that overlap it.
pub fn within(header: &Header, range: &Range<u64>) -> Vec<Loss> {
    let losses = header.losses.lost.iter().map(|loss| Loss {
        kind: loss.kind,
        stretches: loss.stretches.within(range.start, range.end),
    });
    losses.filter(|it| it.stretches.span().is_some()).collect()
}

/// A loss in a line: `lost: 3 samples, from 0.210 to 0.740 s`.
pub fn line(loss: &Loss) -> String {
    let Loss { kind, stretches } = loss;
    format!(
        "lost: {} {}, {}",
        stretches.count(),
        words(*kind),
        when(stretches)
    )
}

/// What was lost, behind its number.
fn words(kind: LossKind) -> &'static str {
    match kind {
        LossKind::Samples => "samples",
        LossKind::SwitchStacks => "stacks at context switches",
        LossKind::SideBand => "records of mappings, threads, switches and page faults",
        LossKind::OmpConstructs => "OpenMP records of regions and tasks",
        LossKind::OmpWaits => "OpenMP records of waits",
        LossKind::Contexts => "calling contexts",
        LossKind::Calls => "calls that control the recording, as for phases",
        LossKind::ThreadsRefused => "threads without a ring for their OpenMP records",
        LossKind::ThreadsGivenUp => "threads whose OpenMP records made no sense",
        LossKind::ThreadsUnsampled => "threads that could not sample themselves",
        LossKind::Loops => "threads with more loops than are counted (256 each)",
        LossKind::Locks => {
            "threads with more calls that acquire mutexes than are counted (256 each)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(header: &Header) -> String {
        let lines = lines(header);
        let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }

    #[test]
    fn each_loss_is_told_with_its_times() {
        const MS: u64 = 1_000_000;
        let mut header = Header::default();
        assert_eq!(text(&header), "Lost: nothing");
        let lost = &mut header.losses.lost;
        lost.add(LossKind::OmpConstructs, (210 * MS, 740 * MS), 340_000);
        lost.add(LossKind::Samples, (100 * MS, 120 * MS), 3);
        lost.add(LossKind::Samples, (900 * MS, 900 * MS), 1);
        for at in 0..9 {
            // Two are closer to each other than the rest, and then the next two.
            lost.add(LossKind::Contexts, (at * at * MS, at * at * MS + 1), 1);
        }
        assert_eq!(
            text(&header),
            "Lost:\n  \
             4 samples: 3 from 0.100 to 0.120 s, 1 at 0.900 s\n  \
             340000 OpenMP records of regions and tasks: from 0.210 to 0.740 s\n  \
             9 calling contexts: 6 from 0.000 to 0.025 s, 1 at 0.036 s, 1 at 0.049 s, 1 at 0.064 s"
        );
    }
}
