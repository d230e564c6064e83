//! Phases, pauses and sample points above the timeline.

use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::state::app::App;
use experiment::ids::{NameId, Nanos, PhaseId, ProcessId, ThreadId, ThreadStateId};
use experiment::rows::{PointKind, SamplePoint, Span, SpanKind, Sum};
use experiment::state::Scheduling;
use experiment::tables::{Phase, ThreadKind};
use test_support::Builder;

use super::{press, text};

const MS: u64 = 1_000_000;

#[test]
fn phases_pauses_and_sample_points_lie_above_the_threads() {
    let mut make = Builder::default();
    make.header.duration_ns = 1000 * MS;
    make.process(100, "app", "/app");
    make.thread(100, ThreadKind::Initial);
    make.sums.push(Sum {
        slice: 0,
        thread: ThreadId(0),
        thread_state: ThreadStateId::OUTSIDE,
        scheduling: Scheduling::Running,
        time: Nanos(800 * MS),
        count: 1,
    });
    let mut phase = |parent, name: &str| {
        let name = make.tables.name(name.to_owned());
        make.tables.phase(Phase { parent, name })
    };
    let outer = phase(PhaseId::NONE, "assembly of the matrix");
    let inner = phase(outer, "exchange of halos");
    let span = |kind, phase, start: u64, end: u64| Span {
        process: ProcessId(0),
        kind,
        phase,
        start: Nanos(start * MS),
        length: Nanos((end - start) * MS),
    };
    make.spans = vec![
        span(SpanKind::Phase, inner, 300, 500),
        span(SpanKind::Phase, outer, 0, 500),
        span(SpanKind::Pause, PhaseId::NONE, 600, 800),
    ];
    let point = |ms: u64, kind| SamplePoint {
        time: Nanos(ms * MS),
        process: ProcessId(0),
        kind,
        name: NameId::NONE,
        user: Nanos(0),
        system: Nanos(0),
        minor_faults: 0,
        major_faults: 0,
    };
    make.sample_points = vec![point(550, PointKind::Call), point(900, PointKind::Period)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marked.er");
    make.write(&path);
    let experiments = Arc::new(Experiments::open(&[path]).unwrap());
    let mut app = App::new(experiments, (115, 30));
    press(&mut app, "9");
    let screen = text(&app);
    let line = screen.lines().find(|line| line.contains("phases")).unwrap();
    let (assembly, halos) = (
        line.find("├assembly").unwrap(),
        line.find("├exchange").unwrap(),
    );
    let (point, pause) = (line.find('•').unwrap(), line.find("├paused").unwrap());
    assert!(assembly < halos && halos < point && point < pause, "{line}");
    assert_eq!(line.matches('•').count(), 1, "{line}");
}
