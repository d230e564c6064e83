//! The results: runs by measure and tool, stored as JSON, from which tables are made.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::Outcome;

/// The goal of a measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// At most this much above another tool's value of the same measure.
    Above(f64, &'static str),
}

/// The runs of one measure by one tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The group of measures, as named on the command line.
    pub(super) group: String,
    /// The measure's name.
    pub(super) measure: String,
    /// The tool's name.
    pub(super) tool: String,
    /// The unit of the values.
    pub(super) unit: String,
    /// Each run's value.
    pub(super) runs: Vec<f64>,
    /// The goal, for Parallax's own rows.
    pub(super) goal: Option<Goal>,
}

impl Row {
    /// The median.
    pub(super) fn median(&self) -> f64 {
        quantile(&self.runs, 0.5)
    }

    /// The first and the last quartile.
    pub(super) fn spread(&self) -> (f64, f64) {
        (quantile(&self.runs, 0.25), quantile(&self.runs, 0.75))
    }
}

/// The value below which a fraction of all values lies, interpolated between neighbours.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = part * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// All rows, in the order in which they were measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    /// The rows.
    pub(super) rows: Vec<Row>,
}

impl Results {
    /// Adds a run to its row.
    pub(super) fn add(&mut self, group: &str, what: &Measure<'_>, tool: &str, value: f64) {
        let of_row = |row: &&mut Row| {
            (row.group.as_str(), row.measure.as_str(), row.tool.as_str())
                == (group, what.name, tool)
        };
        if let Some(row) = self.rows.iter_mut().find(of_row) {
            row.runs.push(value);
            row.goal = goal_of(what, tool);
            return;
        }
        // Keep the tools of a measure together.
        let of_measure =
            |row: &Row| (row.group.as_str(), row.measure.as_str()) == (group, what.name);
        let last = self.rows.iter().rposition(of_measure);
        let at = last.map_or(self.rows.len(), |last| last + 1);
        let row = Row {
            group: group.to_owned(),
            measure: what.name.to_owned(),
            tool: tool.to_owned(),
            unit: what.unit.to_owned(),
            runs: vec![value],
            goal: goal_of(what, tool),
        };
        self.rows.insert(at, row);
    }

    /// The median of a tool in a measure.
    fn median(&self, group: &str, measure: &str, tool: &str) -> Option<f64> {
        let is = |row: &&Row| {
            (row.group.as_str(), row.measure.as_str(), row.tool.as_str()) == (group, measure, tool)
        };
        self.rows.iter().find(is).map(Row::median)
    }

    /// A row's goal in words, and whether it is met; `None` without one.
    pub(super) fn verdict(&self, row: &Row) -> Option<(String, bool)> {
        let median = row.median();
        match row.goal.as_ref()? {
            Goal::AtMost(most) => Some((format!("at most {}", number(*most)), median <= *most)),
            Goal::AtLeast(least) => {
                Some((format!("at least {}", number(*least)), median >= *least))
            }
            Goal::Above(by, tool) => {
                let most = self.median(&row.group, &row.measure, tool)? + by;
                let words = if *by == 0.0 {
                    format!("at most {tool}'s {}", number(most))
                } else {
                    format!("at most {} ({tool}'s and {})", number(most), number(*by))
                };
                Some((words, median <= most))
            }
        }
    }

    /// Reads the results of a file; none if it does not exist.
    pub(super) fn load(path: &Path) -> Outcome<Results> {
        let Ok(text) = std::fs::read_to_string(path) else {
            return Ok(Results::default());
        };
        let value: Value = serde_json::from_str(&text)
            .map_err(|e| format!("{} is no JSON: {e}; remove it", path.display()))?;
        let rows = value["rows"].as_array();
        Ok(Results {
            rows: rows.into_iter().flatten().filter_map(row_of).collect(),
        })
    }

    /// Replaces the rows of the groups that `other` has.
    pub(super) fn renew(&mut self, other: &Results) {
        let measured = |row: &Row| other.rows.iter().any(|new| new.group == row.group);
        self.rows.retain(|row| !measured(row));
        self.rows.extend(other.rows.iter().cloned());
    }

    /// Writes the results as JSON, with facts about the machine.
    pub(super) fn save(&self, path: &Path, facts: &[(String, String)]) -> Outcome {
        let facts: Map<String, Value> = facts
            .iter()
            .map(|(name, fact)| (name.clone(), json!(fact)))
            .collect();
        let rows: Vec<Value> = self.rows.iter().map(|row| self.json(row)).collect();
        let value = json!({ "machine": facts, "rows": rows });
        let text = serde_json::to_string_pretty(&value).map_err(|e| e.to_string())?;
        std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))
    }

    fn json(&self, row: &Row) -> Value {
        let (low, high) = row.spread();
        let goal = row.goal.as_ref().map(|goal| match goal {
            Goal::AtMost(most) => json!({ "at_most": most }),
            Goal::AtLeast(least) => json!({ "at_least": least }),
            Goal::Above(by, tool) => json!({ "above": by, "tool": tool }),
        });
        json!({
            "group": row.group,
            "measure": row.measure,
            "tool": row.tool,
            "unit": row.unit,
            "median": row.median(),
            "quartiles": [low, high],
            "goal": goal,
            "met": self.verdict(row).map(|(_, met)| met),
            "runs": row.runs,
        })
    }
}

/// A measure: its name, its unit, and Parallax's goal.
#[derive(Clone, Debug)]
pub(super) struct Measure<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The unit of its values.
    pub(super) unit: &'a str,
    /// The goal of Parallax's own rows.
    pub(super) goal: Option<Goal>,
}

/// Parallax's tools, whose rows have goals.
pub(super) const OURS: [&str; 4] = ["collect", "er_print", "analyzer", "library"];

fn goal_of(what: &Measure<'_>, tool: &str) -> Option<Goal> {
    what.goal.clone().filter(|_| OURS.contains(&tool))
}

fn row_of(value: &Value) -> Option<Row> {
    let text = |name: &str| Some(value[name].as_str()?.to_owned());
    let goal = &value["goal"];
    let goal = match (&goal["at_most"], &goal["at_least"], &goal["above"]) {
        (Value::Number(most), ..) => Some(Goal::AtMost(most.as_f64()?)),
        (_, Value::Number(least), _) => Some(Goal::AtLeast(least.as_f64()?)),
        (.., Value::Number(by)) => {
            let name = goal["tool"].as_str()?;
            let tool = super::tools::ALL.iter().find(|tool| tool.name == name)?;
            Some(Goal::Above(by.as_f64()?, tool.name))
        }
        _ => None,
    };
    Some(Row {
        group: text("group")?,
        measure: text("measure")?,
        tool: text("tool")?,
        unit: text("unit")?,
        runs: value["runs"]
            .as_array()?
            .iter()
            .filter_map(Value::as_f64)
            .collect(),
        goal,
    })
}

/// A number with three significant digits or three decimals.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(goal: Goal) -> Measure<'static> {
        Measure {
            name: "CPU",
            unit: "ratio",
            goal: Some(goal),
        }
    }

    #[test]
    fn medians_and_quartiles_lie_between_neighbours() {
        let values = [4.0, 1.0, 2.0, 3.0];
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 0.25), 1.75);
        assert_eq!(quantile(&[7.0], 0.75), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn a_goal_beside_a_peer_is_held_against_that_peer_s_median() {
        let mut results = Results::default();
        let what = measure(Goal::Above(0.01, "perf"));
        for value in [1.04, 1.05, 1.03] {
            results.add("cpu", &what, "perf", value);
        }
        results.add("cpu", &what, "collect", 1.045);
        assert_eq!(results.rows[0].goal, None);
        let (words, met) = results.verdict(&results.rows[1]).unwrap();
        assert_eq!(words, "at most 1.050 (perf's and 0.010)");
        assert!(met);
        results.add("cpu", &what, "collect", 1.2);
        assert!(!results.verdict(&results.rows[1]).unwrap().1);
    }

    #[test]
    fn rows_come_back_from_their_file_and_new_groups_replace_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("benchmarks.json");
        let mut results = Results::default();
        results.add("cpu", &measure(Goal::Above(0.0, "perf -g")), "collect", 1.5);
        results.add("size", &measure(Goal::AtMost(4.0)), "collect", 3.5);
        results.add("reader", &measure(Goal::AtLeast(10.0)), "er_print", 12.5);
        results
            .save(&path, &[("cpus".to_owned(), "2".to_owned())])
            .unwrap();
        let mut read = Results::load(&path).unwrap();
        assert_eq!(read.rows, results.rows);
        let mut new = Results::default();
        new.add("size", &measure(Goal::AtMost(4.0)), "collect", 5.0);
        read.renew(&new);
        let groups: Vec<&str> = read.rows.iter().map(|row| row.group.as_str()).collect();
        assert_eq!(groups, ["cpu", "reader", "size"]);
        assert_eq!(read.rows[2].runs, [5.0]);
    }
}
