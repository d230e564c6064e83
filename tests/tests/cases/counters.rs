//! Counters, held against what the kernel tells the program itself.

use end_to_end::{metrics, reports, rows, sum, value};

use crate::run::{Recorded, Run};
use crate::shown::{Faults, numbers};

/// The events of functions are those that the program counted, in both modes and in each view.
pub(crate) fn known_events(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let [faults_of_touch, switches_of_nap] = numbers(&outcome.stdout)[..] else {
        panic!("the program prints two counts: {}", outcome.stdout);
    };
    let mut faults = Faults::default();
    // A thread has up to 210 faults and 4 switches on each CPU without a sample.
    let mut near = |what: String, found: f64, truth: f64| {
        faults.unless((found - truth).abs() <= 0.05 * truth + 20.0, || {
            format!("{what}: {found}, and the program counted {truth}")
        });
    };
    let each = ["page-faults", "context-switches"];
    let spec = "e.page-faults:i.page-faults:e.context-switches:i.context-switches:name";
    for mode in ["user", "machine"] {
        let views = ["-metrics", spec, "-functions", "-Threads", "-calltree"];
        let found = reports(&experiment, mode, &views);
        let [.., functions, threads, tree] = &found[..] else {
            panic!("three reports: {found:?}");
        };
        assert_eq!(metrics(functions), each);
        let of = |name: &str, metric: &str| {
            let row = rows(functions).iter().find(|row| row["name"] == name);
            row.map_or(0.0, |row| value(row, "i", metric))
        };
        let told = |what: &str| format!("{what} in {mode} mode");
        near(told("touch"), of("touch", "page-faults"), faults_of_touch);
        near(told("nap"), of("nap", "context-switches"), switches_of_nap);
        for metric in each {
            let all = of("<Total>", metric);
            near(told("threads"), sum(rows(threads), "e", metric), all);
            near(told("tree"), value(&rows(tree)[0], "a", metric), all);
        }
    }
    let region = &reports(&experiment, "user", &["-OMP_preg"])[0];
    let region = &rows(region)[0];
    near(
        "region".to_owned(),
        value(region, "e", each[0]),
        faults_of_touch,
    );
    let overview = &reports(&experiment, "user", &["-overview"])[0];
    let header = &reports(&experiment, "user", &["-header"])[0];
    for (at, metric) in each.into_iter().enumerate() {
        let counted = &header["header"]["counters"][at];
        assert_eq!(counted["name"], metric);
        let counted = counted["events"].as_f64().expect("the kernel's count");
        let shown = overview["counters"][metric].as_f64().expect("a count");
        near(format!("all {metric}"), shown, counted);
    }
    faults.found()
}
