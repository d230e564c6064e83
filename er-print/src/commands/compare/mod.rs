//! Experiments side by side: what has rows in one report has the rows of all in another, joined by
//! the names that they share.

mod table;

use omp_model::metrics::{Metric, Quantity};
use omp_model::views::Request;
use omp_model::views::compare::Shared;
use serde_json::{Map, Value, json};

use crate::failure::Stop;
use crate::json;
use crate::session::{Scene, Session};
use report::settings::Compare;

/// The experiments that are compared.
pub(super) struct Beside<'s> {
    /// How.
    pub(super) mode: Compare,
    /// Each by itself.
    pub(super) scenes: Vec<Scene<'s>>,
    /// The metrics and the order of all of them together.
    pub(super) request: Request,
    /// The metrics that they have together.
    available: Vec<Metric>,
}

impl<'s> Beside<'s> {
    /// The experiments if they are to be compared; nothing if they are added up.
    pub(super) fn of(session: &'s Session<'_>) -> Result<Option<Beside<'s>>, Stop> {
        let mode = session.settings.compare;
        if mode == Compare::Off {
            return Ok(None);
        }
        if session.recordings().len() < 2 {
            return Err(Stop::words(
                "compare needs two experiments or more: name them last, or compare off",
            ));
        }
        let scenes = session
            .recordings()
            .iter()
            .map(|recording| session.scene_of(recording));
        Ok(Some(Beside {
            mode,
            scenes: scenes.collect::<Result<_, _>>()?,
            request: session.scene()?.request,
            available: session.recording()?.available().metrics().to_vec(),
        }))
    }

    /// What every command that compares has of [`Scene`]: the first experiment's.
    fn first(&self) -> &Scene<'s> {
        &self.scenes[0]
    }

    fn shared(&self) -> Shared<'_> {
        let sides: Vec<_> = self
            .scenes
            .iter()
            .map(|scene| (scene.profile(), scene.names))
            .collect();
        Shared::new(&sides)
    }

    /// The visible times, as views of attributed times have them.
    fn attributed(&self) -> Vec<Quantity> {
        let columns = self.first().attributed();
        let visible = columns.iter().filter(|it| it.visible());
        visible
            .map(|column| column.quantity)
            .filter(|quantity| matches!(quantity, Quantity::Time(..)))
            .collect()
    }

    /// The experiments by number, as a text names them.
    fn experiments(&self) -> String {
        let names = self.scenes.iter().zip(1..);
        names
            .map(|(scene, number)| format!("  ({number}) {}\n", scene.recording.name))
            .collect()
    }

    /// What must be said under a report, by experiment.
    fn said(&self, of: impl Fn(&Scene<'_>) -> Vec<String>) -> Vec<String> {
        let scenes = self.scenes.iter().zip(1..);
        scenes
            .flat_map(|(scene, number)| {
                let said = of(scene).into_iter();
                said.map(move |text| format!("({number}) {text}"))
            })
            .collect()
    }

    fn footer(&self) -> String {
        let warnings = self.said(|scene| scene.recording.warnings.clone());
        let notices = self.said(|scene| scene.notices());
        let warnings = warnings.iter().map(|text| format!("Warning: {text}\n"));
        let notices = notices.iter().map(|text| format!("Note: {text}\n"));
        let lines: String = warnings.chain(notices).collect();
        match lines.is_empty() {
            true => lines,
            false => format!("{lines}\n"),
        }
    }

    fn envelope(&self, view: &str) -> Map<String, Value> {
        let mut object = json::envelope(self.first(), view);
        let names: Vec<&str> = self
            .scenes
            .iter()
            .map(|scene| scene.recording.name.as_str())
            .collect();
        let mode = match self.mode {
            Compare::Off => "off",
            Compare::On => "on",
            Compare::Delta => "delta",
            Compare::Ratio => "ratio",
            Compare::Scaling => "scaling",
        };
        object.insert("experiments".to_owned(), json!(names));
        object.insert("compare".to_owned(), json!(mode));
        object
    }

    /// A report's JSON: what is in `object`, then the rows, which are JSON already, and what must
    /// be said under them.
    fn json(&self, object: Map<String, Value>, rows: &str) -> String {
        let head = Value::Object(object).to_string();
        let warnings = json!(self.said(|scene| scene.recording.warnings.clone()));
        let notices = json!(self.said(|scene| scene.notices()));
        format!(
            "{},\"rows\":{rows},\"warnings\":{warnings},\"notices\":{notices}}}\n",
            &head[..head.len() - 1]
        )
    }
}

/// Why a view has no scaling.
pub(super) fn scaling_of_others(view: &str) -> Stop {
    Stop::Words(format!(
        "compare scaling is for functions and OMP_preg: for {view} choose compare on, delta or ratio"
    ))
}
