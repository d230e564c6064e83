//! What the analyzer shows is what `er_print` prints: every number of its views, as `e` writes
//! them, on a real recording in both modes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::state::app::{App, Effect};
use end_to_end::{Cell, compiler, tools};
use fixtures::{Family, WaitPolicy, program};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

fn record() -> PathBuf {
    let cell = Cell {
        program: program("moments").expect("in the catalogue"),
        compiler: compiler(Family::Clang).clone(),
        library: None,
        threads: 3,
        policy: WaitPolicy::Passive,
        perf: true,
    };
    let recorded = cell.record();
    recorded
        .unwrap_or_else(|error| panic!("{error}"))
        .experiment
}

fn press(app: &mut App, keys: &str) -> Effect {
    let mut effect = Effect::None;
    for letter in keys.chars() {
        let code = match letter {
            '⏎' => KeyCode::Enter,
            '↓' => KeyCode::Down,
            letter => KeyCode::Char(letter),
        };
        effect = app.key(KeyEvent::new(code, KeyModifiers::NONE));
        app.finish_jobs();
    }
    effect
}

/// The view in sight, as it writes itself.
fn written(app: &mut App) -> Value {
    let Effect::Write { contents, .. } = press(app, "e↓⏎") else {
        panic!("e asks for a form and writes it");
    };
    serde_json::from_str(&contents).expect("what is written is JSON")
}

fn printed(experiment: &Path, mode: &str, commands: &[&str]) -> Value {
    let all = [&["-printmode", "json", "-viewmode", mode], commands].concat();
    let text = tools().print(experiment, &all);
    serde_json::from_str(&text).expect("reports are JSON")
}

/// Holds all that the analyzer says against what `er_print` says; numbers told.
fn compare(at: &str, shown: &Value, printed: &Value) -> usize {
    match (shown, printed) {
        (Value::Object(shown), Value::Object(printed)) => {
            // What the analyzer calls a view of two tables is no command.
            let fields = shown
                .iter()
                .filter(|(key, _)| !matches!(key.as_str(), "metrics" | "view"));
            fields
                .map(|(key, value)| {
                    let other = printed.get(key);
                    let other = other.unwrap_or_else(|| panic!("{at}.{key} is not printed"));
                    compare(&format!("{at}.{key}"), value, other)
                })
                .sum()
        }
        (Value::Array(shown), Value::Array(printed)) => {
            assert_eq!(shown.len(), printed.len(), "{at}");
            let pairs = shown.iter().zip(printed).enumerate();
            pairs
                .map(|(number, (shown, printed))| {
                    compare(&format!("{at}[{number}]"), shown, printed)
                })
                .sum()
        }
        (Value::Number(shown), Value::Number(printed)) => {
            let (shown, printed) = (shown.as_f64(), printed.as_f64());
            let (shown, printed) = (shown.expect("finite"), printed.expect("finite"));
            let least = 1e-9 * printed.abs().max(1e-3);
            assert!(
                (shown - printed).abs() <= least,
                "{at}: {shown} is {printed}"
            );
            1
        }
        (shown, printed) => {
            assert_eq!(shown, printed, "{at}");
            0
        }
    }
}

/// Holds the regions' rows against those of `er_print`; tasks follow them.
fn regions(shown: &Value, printed: &Value) {
    let all = printed["rows"].as_array().expect("regions");
    assert!(all.len() > 1);
    for other in all {
        let rows = shown["rows"].as_array().expect("regions, then tasks");
        let row = rows.iter().find(|row| row["name"] == other["name"]);
        let row = row.unwrap_or_else(|| panic!("{} is not shown", other["name"]));
        let told = compare("-OMP_preg", row, other);
        assert!(told > 10, "{}: only {told} numbers", other["name"]);
    }
}

#[test]
fn every_number_of_the_analyzer_is_er_prints() {
    let path = record();
    let experiments = Experiments::open(std::slice::from_ref(&path)).expect("it was just recorded");
    let mut app = App::new(Arc::new(experiments), (160, 50));
    for (turns, mode) in [("", "user"), ("mm", "machine")] {
        press(&mut app, turns);
        for (key, command, least) in [
            ("1", "-overview", 10),
            ("2", "-functions", 40),
            ("4", "-calltree", 40),
            ("8", "-threads", 6),
            ("0", "-header", 3),
        ] {
            press(&mut app, key);
            let told = compare(
                command,
                &written(&mut app),
                &printed(&path, mode, &[command]),
            );
            assert!(told >= least, "{mode} {command}: only {told} numbers");
        }
        press(&mut app, "7");
        let shown = written(&mut app);
        regions(&shown, &printed(&path, mode, &["-OMP_preg"]));
        // The selected function between its neighbours; all of them are printed.
        press(&mut app, "2gjjj⏎");
        let shown = written(&mut app);
        let block = &shown["rows"][0];
        let all = printed(&path, mode, &["-callers-callees"]);
        let all = all["rows"].as_array().expect("blocks");
        let same = all.iter().find(|one| one["name"] == block["name"]);
        let same = same.unwrap_or_else(|| panic!("{block} is not printed"));
        assert!(compare("-callers-callees", block, same) > 0);
    }
}
