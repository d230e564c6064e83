//! Mutexes: their names, acquisitions, holders, and who waited for whom.

use end_to_end::{reports, rows, value};
use serde_json::Value;

use crate::run::{Recorded, Run};
use crate::shown::{Construct, Faults, constructs, numbers};

/// What a mutex of `locks.c` should show: its name, the line of its initialisation or directive, how
/// many mutexes it stands for, and its acquisitions.
const EXPECTED: [(&str, u64, u64, u64); 6] = [
    ("OMP lock guard", 120, 1, 140),
    ("OMP lock table", 121, 16, 40),
    ("OMP lock nodes[i].lock", 123, 3, 40),
    ("OMP nestable lock nest", 101, 1, 40),
    ("OMP critical section update", 68, 1, 100),
    ("OMP critical section", 114, 1, 40),
];

/// Acquisitions of mutexes that no other thread holds may take long all the same: the thread can lose
/// its CPU meanwhile.
const INTERRUPTED: u64 = 4;

/// The list of mutexes agrees with the source, and its times with the program's clock.
pub(crate) fn locks(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let truth: Vec<Vec<f64>> = outcome.stdout.lines().map(numbers).collect();
    let found = constructs(&experiment, "-OMP_lock");
    let names: Vec<&str> = found.iter().map(|row| row.name.as_str()).collect();
    let mut faults = Faults::default();
    faults.unless(names.len() == EXPECTED.len(), || {
        format!("the rows are {names:#?}")
    });
    for (name, line, mutexes, acquisitions) in EXPECTED {
        let Some(Construct { row, .. }) = found.iter().find(|row| row.name == name) else {
            faults.unless(false, || format!("no row is {name}, of {names:#?}"));
            continue;
        };
        let value = |id: &str| row["values"][id].as_u64();
        let is = (
            row["line"].as_u64(),
            value("mutexes"),
            value("acquisitions"),
        );
        faults.unless(
            is == (Some(line), Some(mutexes), Some(acquisitions)),
            || format!("{name} has line, mutexes and acquisitions {is:?}"),
        );
        match name {
            "OMP lock guard" => waits(&mut faults, row, &truth[0], (59, 50)),
            "OMP critical section update" => waits(&mut faults, row, &truth[1], (68, 68)),
            _ => faults.unless(value("contended") <= Some(INTERRUPTED), || {
                format!("{name}: {:?} acquisitions waited", value("contended"))
            }),
        }
    }
    faults.found()
}

/// Rounds in which thread 1 waits for thread 0.
const ROUNDS: u64 = 50;

/// Thread 1 waited as often and as long as it measured, in the one place for the other.
fn waits(faults: &mut Faults, row: &Value, truth: &[f64], (waiter, holder): (u64, u64)) {
    let name = row["name"].as_str().unwrap_or_default();
    let values = |id: &str| row["values"][id].as_f64().unwrap_or_default();
    let [_, waited, held, longest] = truth[..] else {
        panic!("the program prints three times for each mutex");
    };
    faults.near(&format!("{name}, wait"), values("wait"), waited, 0.02);
    faults.near(&format!("{name}, held"), values("held"), held, 0.02);
    let of_longest = values("longest_ms") / 1e3;
    faults.near(&format!("{name}, longest hold"), of_longest, longest, 0.02);
    // A free mutex may take the holder more than the microsecond from which an acquisition has waited, on a
    // CPU that is only just awake.
    let of_waiter = |part: &&Value| {
        let wait = part["wait"].as_f64().unwrap_or_default();
        part["contended"].as_u64() >= Some(ROUNDS) && wait > 0.02 * waited
    };
    let threads = row["by_thread"].as_array();
    faults.unless(
        threads.is_some_and(|all| all.iter().filter(of_waiter).count() == 1),
        || format!("{name}: one thread waits in each round, not as in {threads:?}"),
    );
    let pair = &row["waits"][0];
    let lines = (
        pair["waiter"]["line"].as_u64(),
        pair["holder"]["line"].as_u64(),
    );
    faults.unless(lines == (Some(waiter), Some(holder)), || {
        format!("{name}: {lines:?} waits for another place first")
    });
    let seconds = pair["seconds"].as_f64().unwrap_or_default();
    faults.near(
        &format!("{name}, wait for the holder"),
        seconds,
        waited,
        0.02,
    );
}

/// Time stands in the function that holds a lock for a microsecond and in the one that does not, as
/// often as the program calls them: four times and once. A hold with a sample in it takes longer than
/// others do.
pub(crate) fn short_holds(run: &Run) -> Result<(), String> {
    let found = reports(&run.record().experiment, "user", &["-functions"]);
    let of = |name: &str| -> f64 {
        // gcc calls its copy for these arguments `inside.constprop.0`.
        let is = |row: &&Value| row["name"].as_str().is_some_and(|it| it.starts_with(name));
        let found = rows(&found[0]).iter().filter(is);
        found.map(|row| value(row, "e", "ompwork")).sum()
    };
    let (inside, outside) = (of("inside"), of("outside"));
    let share = inside / (inside + outside);
    let mut faults = Faults::default();
    faults.unless((0.72..0.86).contains(&share), || {
        format!("{inside} s of work are inside and {outside} s outside of the lock")
    });
    faults.found()
}
