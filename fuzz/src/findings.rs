//! What `collect -r` found.

use std::fs;
use std::io;

use experiment::{Experiment, RECORDS};
use export::{FORMATS, Writer};
use omp_model::analysis::Analysis;
use omp_model::metrics::{Column, SortKey};
use omp_model::profile::ViewMode;
use report::query::{Source, Subset};
use report::reports::{Build, REPORTS};
use report::text::Layout;
use report::{Query, Settings, json, races, text};

use crate::records::{file_of, folder, push_number};

/// The kind of frame that holds them.
const FRAME: u8 = 32;

/// The input is an experiment's findings as JSON. Every report of them is made, in both modes, as text
/// and JSON, and they are exported.
pub(crate) fn findings(input: &[u8]) {
    let folder = folder();
    let mut contents = Vec::new();
    push_number(&mut contents, input.len() as u64);
    contents.extend(input);
    let [low, high, ..] = contents.len().to_le_bytes();
    let frames = [&[FRAME, 1, low, high][..], &contents].concat();
    fs::write(folder.join(RECORDS), file_of(&frames)).expect("a file in memory");
    let Ok(experiment) = Experiment::open(&folder) else {
        return;
    };
    let analysis = Analysis::of(experiment, 1);
    for mode in [ViewMode::User, ViewMode::Machine] {
        let settings = Settings {
            mode,
            ..Settings::default()
        };
        let all = Source {
            analysis: &analysis,
            subset: &Subset::default(),
            settings: &settings,
        };
        let columns = Column::parse_list("e.total:name", analysis.available());
        let columns = columns.expect("every experiment has thread time");
        let sort = SortKey::of_list(&columns);
        let query = Query::new(&settings, all, &[all], columns, sort);
        let are_findings =
            |build: &Build| matches!(build, Build::IfRecorded(_) | Build::Numbered(_));
        for report in REPORTS.iter().filter(|it| are_findings(&it.build)) {
            if let Ok(document) = report.document(&query, None) {
                text::render(&document, Layout::Aligned);
                json::render(&document);
            }
        }
        races::view(&query);
        let sarif = FORMATS.iter().find(|format| format.name == "sarif");
        if let Some(Writer::File(write)) = sarif.map(|format| format.write) {
            write(&query, &mut io::sink()).expect("there is room for everything");
        }
    }
}
