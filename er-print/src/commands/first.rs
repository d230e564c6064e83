//! What `overview` begins with: what to do first, and how well the threads were used.

use std::ops::Deref;

use omp_model::views::openmp::advice::Loss;
use omp_model::views::openmp::efficiency::Efficiency;
use omp_model::views::openmp::first;
use serde_json::{Map, Value, json};

use crate::session::Scene;
use crate::text;

/// How many losses an overview tells.
const LARGEST: usize = 3;

/// The losses of a run and its efficiencies; `None` without OpenMP, or under a filter, which
/// leaves no whole run.
pub(super) struct First(first::First);

impl Deref for First {
    type Target = first::First;

    fn deref(&self) -> &first::First {
        &self.0
    }
}

impl First {
    pub(super) fn of(scene: &Scene<'_>) -> Option<First> {
        scene.source.first().map(First)
    }

    pub(super) fn losses_text(&self) -> String {
        let mut report = "What to do first\n".to_owned();
        for sentence in self.before() {
            report.push_str(&format!("  {sentence}\n"));
        }
        if self.losses.is_empty() {
            report.push_str(&format!("  {}\n", first::First::nothing()));
        }
        for (number, loss) in (1..).zip(self.losses.iter().take(LARGEST)) {
            let to = loss.reason.words();
            report.push_str(&format!(
                "  {number}. {}: {} s of {} s ({:.1} %) lost to {to}: {}",
                loss.spot.short(),
                text::seconds(loss.seconds),
                text::seconds(self.run.wall),
                100.0 * loss.share,
                loss.finding,
            ));
            if let Some(hint) = self.hint(loss) {
                report.push_str(&format!("; {hint}"));
            }
            report.push('\n');
        }
        report
    }

    /// What became of the wall time.
    pub(super) fn budget_text(&self) -> String {
        if self.budget.is_none() {
            return String::new();
        }
        let mut report = format!(
            "Where {} s on {} threads went\n",
            text::seconds(self.run.wall),
            self.run.threads
        );
        for (words, seconds, percent) in self.parts() {
            report.push_str(&format!(
                "  {words:<28}{:>10} s{percent:>8.1} %\n",
                text::seconds(seconds)
            ));
        }
        report + "\n"
    }

    pub(super) fn efficiency_text(&self) -> String {
        let serial = self.run.serial;
        let mut report = format!(
            "Efficiency of {} threads over {} s (each line loses what the lines under it lose)\n",
            self.run.threads,
            text::seconds(self.run.wall)
        );
        describe(&self.run.efficiency, 1, &mut report);
        report.push_str(&format!(
            "Serial time: {} s of {} s",
            text::seconds(serial.seconds),
            text::seconds(serial.wall)
        ));
        report.push_str(&match serial.seconds > 0.0 {
            true => format!(
                "; by Amdahl's law, with twice the threads at most {:.2} times as fast as now, \
                 with any number {:.2} times\n",
                serial.bound(2.0),
                serial.limit()
            ),
            false => "\n".to_owned(),
        });
        report
    }

    /// The fields that it adds to the overview's object.
    pub(super) fn json(&self) -> Map<String, Value> {
        let loss = |loss: &Loss| {
            json!({
                "place": loss.spot.short(),
                "function": loss.spot.function,
                "file": loss.spot.file,
                "line": loss.spot.line,
                "reason": loss.reason.id(),
                "seconds": loss.seconds,
                "share": loss.share,
                "speedup_without": self.run.serial.without(loss.seconds),
                "finding": loss.finding,
                "hint": loss.hint,
            })
        };
        let (all, ready) = self.ready;
        let ready = json!({"seconds": ready, "of": all, "cpus": self.cpus});
        let budget = self.budget.map(|budget| {
            let parts = budget.parts().into_iter();
            let parts = parts.map(|(_, id, seconds)| (id.to_owned(), json!(seconds)));
            Value::Object(parts.collect())
        });
        let serial = self.run.serial;
        let losses: Vec<Value> = self.losses.iter().map(loss).collect();
        let spins = self.spins.as_ref().map(|spins| {
            json!({
                "seconds": spins.seconds,
                "of": spins.all,
                "place": spins.spot.short(),
                "function": spins.spot.function,
                "file": spins.spot.file,
                "line": spins.spot.line,
            })
        });
        let mut object = Map::new();
        object.insert("ready_without_cpu".to_owned(), ready);
        object.insert("flush_spin".to_owned(), json!(spins));
        object.insert("wall_time".to_owned(), json!(budget));
        object.insert("losses".to_owned(), json!(losses));
        object.insert("efficiency".to_owned(), node(&self.run.efficiency));
        object.insert(
            "serial".to_owned(),
            json!({
                "seconds": serial.seconds,
                "on_cpu": serial.useful,
                "wall": serial.wall,
                "threads": serial.threads,
                "amdahl_twice_the_threads": serial.bound(2.0),
                // JSON has no infinity: null.
                "amdahl_limit": serial.limit(),
            }),
        );
        object
    }
}

fn describe(efficiency: &Efficiency, depth: usize, report: &mut String) {
    let label = format!("{:indent$}{}", "", efficiency.label, indent = 2 * depth);
    report.push_str(&format!(
        "{label:<52}{:>8.2} %   loses {:>6.2} %\n",
        100.0 * efficiency.value(),
        100.0 * efficiency.loss
    ));
    for child in &efficiency.children {
        describe(child, depth + 1, report);
    }
}

fn node(efficiency: &Efficiency) -> Value {
    let children: Vec<Value> = efficiency.children.iter().map(node).collect();
    json!({
        "id": efficiency.id,
        "label": efficiency.label,
        "efficiency": efficiency.value(),
        "loss": efficiency.loss,
        "children": children,
    })
}
