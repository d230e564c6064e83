//! MPI programs: each rank has an experiment in its job's folder, with its own work; the launcher prints and ends as
//! it does without collect.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use end_to_end::{Outcome, finish, folder, reports, rows, tools};
use fixtures::Mpi;

/// An implementation, a folder for a test, and a program of `programs` in it.
struct Place {
    mpi: Mpi,
    folder: PathBuf,
}

fn places(test: &str) -> Vec<Place> {
    places_of(test, "ranks")
}

/// The same for another program.
fn places_of(test: &str, program: &str) -> Vec<Place> {
    let implementations = fixtures::mpi();
    assert!(
        !implementations.is_empty(),
        "these tests need Open MPI or MPICH"
    );
    let each = implementations.into_iter().map(|mpi| {
        let name = format!("mpi-{test}-{}-{}", mpi.name, std::process::id());
        let folder = folder().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let built = Command::new(&mpi.compiler)
            .args(["-O2", "-g", "-w", "-fopenmp", "-o"])
            .arg(folder.join(program))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{program}.c")))
            .status()
            .unwrap();
        assert!(built.success());
        Place { mpi, folder }
    });
    each.collect()
}

impl Place {
    /// Runs a line of the shell: `$C` is collect, `$M` the launcher.
    fn shell(&self, line: &str) -> Outcome {
        // Ranks wait by polling: each run needs the CPUs.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock();
        let mut shell = Command::new("bash");
        shell
            .args(["-c", line])
            .current_dir(&self.folder)
            .env("C", &tools().collect)
            .env("M", &self.mpi.launcher)
            .env("OMP_WAIT_POLICY", "passive")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        let outcome = finish(shell);
        eprintln!("{}: {line}\n{}", self.mpi.name, outcome.stderr);
        outcome
    }

    fn experiments(&self) -> Vec<String> {
        self.experiments_in("")
    }

    fn experiments_in(&self, job: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(job)).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".er")).collect();
        names.sort();
        names
    }

    /// The experiments NAME/rK.er are those of the ranks that printed `stdout`: their processes, and
    /// their work as they measured it.
    #[track_caller]
    fn check(&self, name: &str, stdout: &str, ranks: usize) {
        let lines: Vec<&str> = stdout.lines().collect();
        assert_eq!(lines.len(), ranks, "{stdout}");
        for line in lines {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap().parse::<f64>().unwrap();
            let (rank, pid, spent) = (next(), next(), next());
            let experiment = self.folder.join(format!("{name}/r{rank}.er"));
            let views = reports(&experiment, "user", &["-header", "-functions"]);
            let header = &views[0]["header"];
            assert_eq!(header["rank"]["number"], rank as u64);
            assert_eq!(header["rank"]["size"], ranks as u64);
            assert_eq!(header["exit_status"], 0);
            let spin = rows(&views[1]).iter().find(|row| row["name"] == "spin");
            let found = spin.unwrap()["values"]["i.ompwork"].as_f64().unwrap();
            assert!(
                (found - spent).abs() < 0.04 * spent + 0.01,
                "rank {rank}: {found} s in spin by the experiment, {spent} s by its own clock"
            );
            let processes = &views[0]["processes"];
            let text = tools().print(&experiment, &["-header"]);
            assert!(
                text.contains(&format!("Process pid {pid}:")),
                "{pid}: {processes} {text}"
            );
            assert!(
                text.contains(&format!("Rank {rank} of {ranks}\n")),
                "{text}"
            );
        }
    }
}

#[test]
fn a_job_is_a_folder_of_its_ranks_with_their_own_work() {
    for place in places("each") {
        let inside = place.shell("$M -n 2 $C -o exp.er ./ranks");
        assert_eq!(inside.status, 0);
        assert_eq!(place.experiments(), ["exp.er"]);
        assert_eq!(place.experiments_in("exp.er"), ["r0.er", "r1.er"]);
        place.check("exp.er", &inside.stdout, 2);
        // Without -O it stays. What is said then is tested elsewhere: Hydra at times loses the last words of any program that
        // fails at once.
        let again = place.shell("$M -n 2 $C -o exp.er ./ranks");
        assert_ne!(again.status, 0);
        place.check("exp.er", &inside.stdout, 2);
        // Nor does a program that does not start replace it.
        let none = place.shell("$M -n 2 $C -O exp.er ./missing");
        assert_ne!(none.status, 0);
        assert_eq!(place.experiments(), ["exp.er"]);
        place.check("exp.er", &inside.stdout, 2);
        let before = place.shell("$C -O exp.er $M -n 3 ./ranks");
        assert_eq!(before.status, 0);
        place.check("exp.er", &before.stdout, 3);
        // A smaller job replaces the whole of a larger one.
        let smaller = place.shell("$M -n 2 $C -O exp.er ./ranks");
        assert_eq!(smaller.status, 0);
        assert_eq!(place.experiments(), ["exp.er"]);
        assert_eq!(place.experiments_in("exp.er"), ["r0.er", "r1.er"]);
        place.check("exp.er", &smaller.stdout, 2);
        let job = place.folder.join("exp.er");
        let together = &reports(&job, "user", &["-ranks"])[0];
        let ranks: Vec<_> = rows(together)
            .iter()
            .map(|row| row["rank"].as_u64())
            .collect();
        assert_eq!(ranks, [Some(0), Some(1)]);
        // Of a rank whose disk was full the others are read.
        fs::write(job.join("r0.er/records"), "").unwrap();
        let text = tools().print(&job, &["-ranks"]);
        assert!(text.contains("no recording"), "{text}");
    }
}

/// A function of MPI as a rank knows its own calls: their number, seconds, and bytes sent and received.
#[derive(Debug, PartialEq)]
struct Calls {
    function: String,
    count: u64,
    seconds: f64,
    bytes: [u64; 2],
}

fn own_calls(place: &Place, rank: usize) -> Vec<Calls> {
    let text = fs::read_to_string(place.folder.join(format!("calls.{rank}"))).unwrap();
    let lines = text.lines().map(|line| {
        let (function, numbers) = line.split_once(' ').unwrap();
        let mut numbers = numbers.split(' ').map(|it| it.parse::<u64>().unwrap());
        let mut next = || numbers.next().unwrap();
        Calls {
            function: function.to_owned(),
            count: next(),
            seconds: next() as f64 / 1e9,
            bytes: [next(), next()],
        }
    });
    lines.collect()
}

#[test]
fn calls_bytes_and_times_of_each_function_are_those_that_the_rank_knows() {
    const RANKS: usize = 4;
    for place in places_of("messages", "messages") {
        let outcome = place.shell("$M -n 4 $C -o m.er ./messages");
        assert_eq!(outcome.status, 0);
        for rank in 0..RANKS {
            let experiment = place.folder.join(format!("m.er/r{rank}.er"));
            let view = &reports(&experiment, "user", &["-mpi"])[0];
            let own = own_calls(&place, rank);
            assert!(own.len() > 40, "{own:?}");
            let [mut known, mut found] = [0.0; 2];
            for calls in own {
                let row = rows(view).iter().find(|row| row["name"] == *calls.function);
                let values =
                    &row.unwrap_or_else(|| panic!("{} is missing", calls.function))["values"];
                let number = |key: &str| values[key].as_u64().unwrap();
                assert_eq!(
                    (number("calls"), [number("sent"), number("received")]),
                    (calls.count, calls.bytes),
                    "{} of rank {rank}, {}",
                    calls.function,
                    place.mpi.name
                );
                let seconds = values["seconds"].as_f64().unwrap();
                // The rank's own clock is read around ours.
                assert!(seconds <= calls.seconds + 1e-5, "{calls:?}: {seconds}");
                // What recording adds to a poll is as long as the poll.
                if calls.function != "MPI_Test" {
                    known += calls.seconds;
                    found += seconds;
                }
            }
            // Between the readings of the two clocks a rank may lose its CPU to another one.
            assert!(known - found < 0.02 * known + 0.01, "{known} s, {found} s");
        }
    }
}

#[test]
fn calls_of_mpi_are_not_recorded_if_they_are_not_wanted() {
    let place = places_of("off", "messages").remove(0);
    let outcome = place.shell("$M -n 2 $C -M off -o m.er ./messages");
    assert_eq!(outcome.status, 0);
    let experiment = place.folder.join("m.er/r0.er");
    assert!(rows(&reports(&experiment, "user", &["-mpi"])[0]).is_empty());
    let text = tools().print(&experiment, &["-mpi"]);
    assert!(text.contains("No MPI calls were recorded"), "{text}");
    // What MPI does for itself is still no code of the program.
    let functions = &reports(&experiment, "user", &["-functions"])[0];
    let is_of_mpi = |row: &&serde_json::Value| row["name"] == "<MPI work>";
    assert_eq!(rows(functions).iter().filter(is_of_mpi).count(), 1);
}

#[test]
fn without_a_name_all_ranks_take_the_same_number() {
    for place in places("names") {
        for line in [
            "$M -n 2 $C ./ranks",
            "$C $M -n 3 ./ranks",
            "$M -n 2 sh -c '$C ./ranks'",
            "$C $M -n 1 ./ranks : -n 1 ./ranks",
        ] {
            assert_eq!(place.shell(line).status, 0);
        }
        let names = [1, 2, 3, 4].map(|number| format!("test.{number}.er"));
        assert_eq!(place.experiments(), names);
        let ranks = names.map(|name| place.experiments_in(&name).len());
        assert_eq!(ranks, [2, 3, 2, 2]);
    }
}

#[test]
fn the_status_is_the_launcher_s() {
    for place in places("status") {
        for status in [3, 99] {
            let alone = place.shell(&format!("$M -n 2 ./ranks {status}"));
            let before = place.shell(&format!("$C -O e.er $M -n 2 ./ranks {status}"));
            let inside = place.shell(&format!("$M -n 2 $C -O e.er ./ranks {status}"));
            assert_ne!(alone.status, 0);
            let (before, inside) = (before.status, inside.status);
            assert_eq!((before, inside), (alone.status, alone.status));
            // An abort kills the recordings as it does the ranks: what they had can be read.
            for experiment in place.experiments_in("e.er") {
                let experiment = place.folder.join("e.er").join(experiment);
                assert!(!rows(&reports(&experiment, "user", &["-functions"])[0]).is_empty());
            }
        }
    }
}

#[test]
fn a_dry_run_says_what_would_run_and_an_unclear_line_how_to_write_it() {
    let place = places("dry").remove(0);
    let dry = place.shell("$C -n -o e.er $M -n 2 ./ranks");
    assert_eq!((dry.status, dry.stdout.as_str()), (0, ""));
    assert!(dry.stderr.contains("-o e.er -d "), "{}", dry.stderr);
    let unclear = place.shell("$C $M --strange true -n 2 ./ranks");
    assert_eq!(unclear.status, 1);
    let said = "it is not certain whether true is the program to record; write `";
    assert!(unclear.stderr.contains(said), "{}", unclear.stderr);
    assert_eq!(place.experiments(), [""; 0]);
}

/// What each rank of `causes` knows: seconds in calls that wait, in `slow_here`, and from the first to the last barrier.
fn own_times(stdout: &str) -> Vec<[f64; 3]> {
    let mut ranks: Vec<[f64; 4]> = stdout
        .lines()
        .map(|line| {
            let mut words = line.split(' ').map(|it| it.parse().unwrap());
            std::array::from_fn(|_| words.next().unwrap())
        })
        .collect();
    ranks.sort_by(|one, other| one[0].total_cmp(&other[0]));
    ranks.iter().map(|it| [it[1], it[2], it[3]]).collect()
}

impl Place {
    /// The reports of a job as JSON, and the sentences of `causes`.
    fn of_all_ranks(&self, name: &str) -> ([serde_json::Value; 2], String) {
        let job = self.folder.join(name);
        let json = tools().print(&job, &["-printmode", "json", "-causes", "-critical"]);
        let mut reports = json.lines().map(|line| serde_json::from_str(line).unwrap());
        let text = tools().print(&job, &["-causes"]);
        eprintln!("{}: {text}", self.mpi.name);
        let reports = std::array::from_fn(|_| reports.next().unwrap());
        (reports, text)
    }
}

/// Seconds that each rank's waits are charged to another one, whatever that one did.
fn charged_to(causes: &serde_json::Value, rank: u64) -> Vec<f64> {
    let mut seconds = vec![0.0; 4];
    let charged = causes["charged"].as_array().unwrap().iter();
    for row in charged.filter(|row| row["rank"] == rank) {
        for waited in row["waited"].as_array().unwrap() {
            let waiter = waited["rank"].as_u64().unwrap() as usize;
            seconds[waiter] += waited["seconds"].as_f64().unwrap();
        }
    }
    seconds
}

/// A late rank is named first with its function, and the others' waits are charged to it as they measured them.
#[track_caller]
fn check_named(causes: &serde_json::Value, text: &str, late: usize, own: &[[f64; 3]]) {
    let first = text.lines().find(|it| it.starts_with("rank")).unwrap();
    assert!(first.contains(&format!("rank {late} on host")), "{first}");
    assert!(first.contains("times the mean, in slow_here"), "{first}");
    assert_eq!(rows(causes)[0]["rank"], late);
    let charged = charged_to(causes, late as u64);
    for rank in (0..own.len()).filter(|rank| *rank != late) {
        let (known, found) = (own[rank][0], charged[rank]);
        assert!(found < 1.01 * known + 0.01, "{rank}: {found} of {known}");
        assert!(found > 0.8 * known, "{rank}: {found} of {known}");
    }
}

/// The parts of a path, and its ranks, add up to it; it is as long as the run.
#[track_caller]
fn check_path(critical: &serde_json::Value, own: &[[f64; 3]]) {
    let seconds = critical["seconds"].as_f64().unwrap();
    let close = |sum: f64| assert!((sum - seconds).abs() < 0.01 * seconds, "{sum}, {seconds}");
    let by_rank = critical["by_rank"].as_array().unwrap().iter();
    close(by_rank.map(|it| it["seconds"].as_f64().unwrap()).sum());
    close(critical["total"]["values"]["seconds"].as_f64().unwrap());
    let parts = rows(critical).iter();
    close(
        parts
            .map(|it| it["values"]["seconds"].as_f64().unwrap())
            .sum(),
    );
    assert!(own.iter().all(|it| it[2] < seconds), "{own:?}, {seconds}");
}

#[test]
fn a_cause_three_ranks_away_is_named_first() {
    for place in places_of("chain", "causes") {
        let outcome = place.shell("$M -n 4 $C -o c.er ./causes chain");
        assert_eq!(outcome.status, 0);
        let own = own_times(&outcome.stdout);
        let ([causes, critical], text) = place.of_all_ranks("c.er");
        check_named(&causes, &text, 3, &own);
        assert_eq!(causes["charged"][0]["farthest"], 3);
        let computes = rows(&causes).iter().find(|it| it["does"] == "computes");
        assert_eq!(computes.unwrap()["function"], "slow_here");
        check_path(&critical, &own);
        // Nothing else is on it while that rank is late.
        let of_rank = critical["by_rank"].as_array().unwrap().iter();
        let of_rank = of_rank.filter(|it| it["rank"] == 3);
        let of_rank: f64 = of_rank.map(|it| it["seconds"].as_f64().unwrap()).sum();
        assert!(of_rank > 0.95 * own[3][1], "{of_rank} of {}", own[3][1]);
    }
}

#[test]
fn a_rank_that_works_more_than_the_others_is_named_first() {
    for place in places_of("slow", "causes") {
        let outcome = place.shell("$M -n 4 $C -o c.er ./causes slow");
        assert_eq!(outcome.status, 0);
        let own = own_times(&outcome.stdout);
        let ([causes, critical], text) = place.of_all_ranks("c.er");
        check_named(&causes, &text, 2, &own);
        check_path(&critical, &own);
    }
}

#[test]
fn a_rank_without_a_cpu_is_named_first() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(cpus >= 2, "this test needs two CPUs");
    for place in places_of("preempted", "causes") {
        // Three others want the CPU of rank 1, each in a session of its own: the kernel shares CPUs out by session.
        let outcome = place.shell(
            "export OMPI_MCA_hwloc_base_binding_policy=none; \
             cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//'); \
             for other in 1 2 3; do \
               setsid taskset -c $cpu sh -c 'while :; do :; done' & others=\"$others $!\"; done; \
             $M -n 2 $C -o c.er ./causes pinned $cpu; status=$?; kill $others; exit $status",
        );
        assert_eq!(outcome.status, 0);
        let own = own_times(&outcome.stdout);
        let ([causes, critical], text) = place.of_all_ranks("c.er");
        let first = text.lines().find(|it| it.starts_with("rank")).unwrap();
        assert!(first.contains("is ready to run without a CPU"), "{first}");
        let row = &rows(&causes)[0];
        assert_eq!((&row["rank"], &row["does"]), (&1.into(), &"ready".into()));
        let charged = charged_to(&causes, 1)[0];
        let known = own[0][0];
        assert!(
            (charged - known).abs() < 0.2 * known,
            "{charged} of {known}"
        );
        check_path(&critical, &own);
    }
}

/// Waits at windows, and for collective operations that are begun, are as long as the times at which ranks came say.
#[test]
fn waits_of_one_sided_and_of_begun_operations_are_as_planted() {
    for place in places_of("onesided", "onesided") {
        let outcome = place.shell("$M -n 4 $C -o w.er ./onesided");
        assert_eq!(outcome.status, 0);
        let mut planted = [0.0; 6];
        for line in outcome.stdout.lines() {
            let times = line.split(' ').skip(1).map(|it| it.parse::<f64>().unwrap());
            planted
                .iter_mut()
                .zip(times)
                .for_each(|(sum, it)| *sum += it);
        }
        let job = place.folder.join("w.er");
        let json = tools().print(&job, &["-printmode", "json", "-waits"]);
        let waits: serde_json::Value = serde_json::from_str(&json).unwrap();
        let of = |kinds: &[&str], function: &str| -> f64 {
            let rows = rows(&waits).iter();
            let rows = rows.filter(|row| {
                let is_kind = |kind: &&str| row["kind"] == *kind;
                kinds.iter().any(is_kind) && row["mpi_function"] == function
            });
            rows.map(|row| row["values"]["seconds"].as_f64().unwrap())
                .sum()
        };
        let complete = of(&["late post"], "MPI_Win_complete");
        let found = [
            of(&["fence"], "MPI_Win_fence"),
            of(&["late post"], "MPI_Win_start") + complete,
            of(&["late complete"], "MPI_Win_wait"),
            of(&["lock"], "MPI_Win_lock") + of(&["lock"], "MPI_Win_flush"),
            of(&["barrier"], "MPI_Wait"),
            of(&["collective", "early root"], "MPI_Waitall"),
        ];
        // The first fence and the last one are not among what the ranks measured.
        for (planted, found) in planted.into_iter().zip(found) {
            assert!(
                planted > 0.03 && (found - planted).abs() < 0.1 * planted + 0.01,
                "{}: {planted} s planted, {found} s found\n{json}",
                place.mpi.name
            );
        }
    }
}

/// Ranks in time namespaces have clocks that are as far apart as the namespaces say.
#[test]
fn clocks_are_compared_by_the_ranks_messages_and_waits_between_them_are_as_planted() {
    /// Seconds by which the clock of the last two ranks is ahead.
    const AHEAD: f64 = 70_000.0;
    for place in places_of("clocks", "causes") {
        let one = "unshare $user -T --fork --monotonic 70000 $C -o c.er ./causes chain";
        let line = format!(
            "[ $(id -u) = 0 ] || user='-U -r'; \
             $M -n 2 $C -o c.er ./causes chain : -n 1 {one} : -n 1 {one}"
        );
        let outcome = place.shell(&line);
        assert_eq!(outcome.status, 0);
        let job = place.folder.join("c.er");
        let view = &reports(&job, "user", &["-ranks"])[0];
        let clocks = view["clocks"].as_array().unwrap();
        assert_eq!(
            clocks.len(),
            2,
            "each namespace has its own clock: {clocks:?}"
        );
        for clock in clocks {
            let [ahead, error] = ["ahead", "error"].map(|it| clock[it].as_f64().unwrap());
            assert!((ahead - AHEAD).abs() <= error, "{clock}");
            // Ranks that lose their CPU answer late.
            assert!(error < 0.01, "{clock}");
        }
        let causes = &reports(&job, "user", &["-causes"])[0];
        assert_eq!(rows(causes)[1]["rank"], 3, "{}", rows(causes)[1]);
    }
}
