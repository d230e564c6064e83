//! Instances of regions and tasks on the timeline: told apart, selected, filtered by.

use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::state::app::{App, Effect};
use analyzer::view::View;
use experiment::ids::{ContextId, Nanos, StackId, ThreadId};
use experiment::rows::{Interval, RegionSpan, Sample, SampleKind, Sum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, ThreadKind};
use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use test_support::Builder;

use super::{app, is_golden, press, text};

const MS: u64 = 1_000_000;

/// Four threads in an outer region, in which the first and the second one fork the same inner
/// region at the same time: the third thread is in the first one's team, the fourth in the second's.
pub(crate) fn nested() -> Arc<Experiments> {
    let mut make = Builder::default();
    make.header.duration_ns = 100 * MS;
    make.process(100, "app", "/app");
    make.thread(100, ThreadKind::Initial);
    for tid in 101..104 {
        make.thread(tid, ThreadKind::Worker);
    }
    let outer = make.context(ContextId::ROOT, ContextKind::Region, StackId::EMPTY);
    let inner = make.context(outer, ContextKind::Region, StackId::EMPTY);
    let thread_state = make.thread_state(State::Work, inner);
    let span = |context, thread, region, (from, to)| RegionSpan {
        context,
        thread: ThreadId(thread),
        start: Nanos(from * MS),
        length: Nanos((to - from) * MS),
        team: 2,
        within: Within { region, task: 0 },
    };
    let spans = [
        span(outer, 0, 16, (0, 100)),
        span(inner, 0, 17, (5, 90)),
        span(inner, 1, 18, (10, 95)),
    ];
    let instances = [17, 18, 17, 18].map(|region| Within { region, task: 0 });
    let own = |thread: u32| (ThreadId(thread), instances[thread as usize]);
    let sum = |thread| Sum {
        slice: 0,
        thread: own(thread).0,
        thread_state,
        scheduling: Scheduling::Running,
        time: Nanos(100 * MS),
        count: 1,
    };
    let interval = |thread| Interval {
        thread: own(thread).0,
        start: Nanos(0),
        length: Nanos(100 * MS),
        thread_state,
        scheduling: Scheduling::Running,
        within: own(thread).1,
    };
    let sample = |thread| Sample {
        time: Nanos(50 * MS),
        thread: own(thread).0,
        cpu: 0,
        kind: SampleKind::User,
        stack: StackId::EMPTY,
        thread_state,
        within: own(thread).1,
    };
    make.samples.extend((0..4).map(sample));
    make.sums.extend((0..4).map(sum));
    make.intervals.extend((0..4).map(interval));
    make.region_spans.extend(spans);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nested.er");
    make.write(&path);
    Arc::new(Experiments::open(&[path]).unwrap())
}

pub(crate) fn seconds(app: &App) -> f64 {
    let kept = app.documents.profile(&app.experiments);
    kept.items.iter().map(|item| item.seconds).sum()
}

#[test]
fn two_teams_of_one_nested_region_are_two_bands_and_can_be_told_apart() {
    let mut app = App::new(nested(), (110, 32));
    press(&mut app, "9");
    press(&mut app, &"l".repeat(30));
    press(&mut app, "i");
    let screen = text(&app);
    assert!(screen.contains("selected: instance 17 of"), "{screen}");
    is_golden("timeline_nested.txt", &screen);
    // Each thread is in its own team's instance alone.
    for (row, here, other) in [
        (0, "17", "18"),
        (1, "18", "17"),
        (2, "17", "18"),
        (3, "18", "17"),
    ] {
        press(&mut app, "g");
        press(&mut app, &"j".repeat(row));
        let screen = text(&app);
        let told = |number: &str| screen.contains(&format!("in instance {number} of"));
        assert!(told(here) && !told(other), "{row}: {screen}");
    }
}

#[test]
fn teams_are_groups_by_instance() {
    let mut app = App::new(nested(), (110, 30));
    press(&mut app, "9");
    press(&mut app, &"l".repeat(30));
    press(&mut app, "t");
    let screen = text(&app);
    for number in [17, 18] {
        let label = format!("team of instance {number} of");
        assert!(screen.contains(&label), "{label}: {screen}");
    }
    let starts: Vec<usize> = app
        .thread_order()
        .groups
        .iter()
        .map(|group| group.start)
        .collect();
    assert_eq!(starts, [0, 2], "{screen}");
}

#[test]
fn a_filter_by_the_selected_instance_keeps_its_time() {
    let mut app = App::new(nested(), (110, 32));
    press(&mut app, "9");
    press(&mut app, &"l".repeat(30));
    // A click on the second inner team's band.
    let lines: Vec<String> = text(&app).lines().map(str::to_owned).collect();
    let top = lines.iter().position(|line| line.contains("regions"));
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 60,
        row: top.unwrap() as u16 + 2,
        modifiers: KeyModifiers::NONE,
    };
    app.mouse(click);
    let screen = text(&app);
    assert!(screen.contains("selected: instance 18 of"), "{screen}");
    press(&mut app, "f");
    assert!(text(&app).contains("CPRID==18"), "{}", text(&app));
    press(&mut app, "⏎");
    let filter = app.settings.filter().unwrap();
    assert_eq!(filter, "CPRID==18");
    assert_eq!(press(&mut app, "y"), Effect::Copy("CPRID==18".to_owned()));
    press(&mut app, "2");
    assert_eq!(app.view, View::Functions);
    assert!((seconds(&app) - 0.2).abs() < 1e-9, "{}", seconds(&app));
}

#[test]
fn keys_go_round_the_instances_at_the_cursor() {
    let mut app = app(110, 26);
    press(&mut app, "9j");
    // The worker runs the task from 1.2 to 1.4 s.
    app.timeline.time = 1_300 * MS;
    let mut seen = Vec::new();
    for _ in 0..4 {
        press(&mut app, "i");
        let screen = text(&app);
        let line = screen.lines().find(|line| line.contains("elected"));
        let line = line.unwrap_or_default().trim().to_owned();
        let start = line.find("instance").unwrap_or(line.len());
        seen.push(line[start..].split(" of ").next().unwrap().to_owned());
    }
    assert_eq!(seen[0], "instance 17", "{seen:?}");
    assert_eq!(seen[1], "instance 3", "{seen:?}");
    assert!(!seen[2].starts_with("instance 3"), "{seen:?}");
    assert_eq!(seen[3], "instance 17", "{seen:?}");
}
