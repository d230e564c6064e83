//! Regions and tasks as documents, which programs that draw them lead on from.

use experiment::ids::ContextId;
use omp_model::analysis::Analysis;
use omp_model::metrics::SortKey;
use report::Settings;
use report::document::{Block, Column, Document, Table, Target};
use report::query::{Query, Source, Subset};
use report::regions::regions;
use report::tasks::tasks;

use crate::program::folder;

/// The table of a document over the hand-made experiment with OpenMP.
fn table(make: fn(&Query<'_>) -> Document) -> Table {
    let folder = folder();
    let path = folder.path().join("omp.er");
    let experiment = Analysis::open(&path, 1, symbolize::from_files).unwrap();
    let (settings, subset) = (Settings::default(), Subset::default());
    let source = Source {
        analysis: &experiment,
        subset: &subset,
        settings: &settings,
    };
    let sort = SortKey::of_list(&[]);
    let query = Query::new(&settings, source, &[], Vec::new(), sort);
    let document = make(&query);
    let mut tables = document.blocks.into_iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        Block::Lines(_) => None,
    });
    tables.next_back().unwrap()
}

#[test]
fn a_construct_leads_to_its_contexts_and_its_directive() {
    let target = |table: &Table| match &table.rows[..] {
        [total, row] if total.target.is_none() => match &row.target {
            Some(Target::Construct(construct)) => construct.clone(),
            other => panic!("{other:?}"),
        },
        rows => panic!("{rows:?}"),
    };
    let region = target(&table(regions));
    assert_eq!(region.word, "REGION");
    assert_eq!(region.contexts, [ContextId(1)]);
    assert_eq!(region.location.line, Some(9));
    assert_eq!(
        region.detail,
        "foo.c:9  to save: imbalance 0.450 s, locks and critical sections 0.150 s, threads off \
         the CPU 0.050 s"
    );
    let task = target(&table(tasks));
    assert_eq!(task.word, "TASK");
    assert_eq!(task.contexts, [ContextId(2)]);
    assert_eq!(task.location.line, Some(4));
    assert_eq!(
        task.detail,
        "foo.c:4  work 0.080 s, mean 40.000 ms, from 20.000 to 60.000 ms, 1 by another thread"
    );
}

/// A program may show both in one list: what has one key in both is the same.
#[test]
fn regions_and_tasks_share_their_columns() {
    let (regions, tasks) = (table(regions), table(tasks));
    let form = |column: &Column| (column.label.clone(), column.unit, column.heading.clone());
    let mut shared = Vec::new();
    for column in &regions.columns {
        let same = tasks.columns.iter().find(|other| other.id == column.id);
        if let Some(other) = same {
            assert_eq!(form(column), form(other), "{}", column.id);
            shared.push(column.id.as_str());
        }
    }
    for id in [
        "kind",
        "name",
        "line",
        "instances",
        "e.ompwork",
        "e.ompwait",
    ] {
        assert!(shared.contains(&id), "{id}: {shared:?}");
    }
}
