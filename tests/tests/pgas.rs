//! Programs of OpenSHMEM, of coarrays and of UPC: calls, bytes and pairs of ranks are those that the programs know.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use end_to_end::{Outcome, finish, folder, reports, rows, tools};
use serde_json::Value;

/// A folder for a test.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let folder = folder().join(format!("pgas-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Place(folder)
    }

    /// Builds a program of `programs` in the folder.
    fn build(&self, compiler: &str, source: &str, words: &[&str], needs: &str) {
        let mut build = Command::new(compiler);
        build
            .args(["-O2", "-g", "-w", "-o"])
            .arg(self.0.join("app"))
            .arg(programs().join(source))
            .args(words);
        let built = build
            .status()
            .unwrap_or_else(|error| panic!("{compiler}: {error}: {needs}"));
        assert!(built.success(), "{needs}");
    }

    /// Runs a line of the shell: `$C` is collect, `$S` and `$M` the launchers.
    fn shell(&self, line: &str) -> Outcome {
        // Ranks wait by polling: each run needs the CPUs.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock();
        let mut shell = Command::new("bash");
        shell
            .args(["-c", line])
            .current_dir(&self.0)
            .env("C", &tools().collect)
            .env("S", "oshrun --mca opal_common_ucx_opal_mem_hooks 0")
            .env("M", "mpirun.openmpi")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        let outcome = finish(shell);
        eprintln!("{line}\n{}", outcome.stderr);
        outcome
    }

    fn report(&self, experiment: &str, name: &str) -> Value {
        reports(&self.0.join(experiment), "user", &[name]).remove(0)
    }
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

fn sink() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../collector/gasp")
}

/// Calls, bytes sent and received of each function in a `pgas` report.
fn functions(report: &Value) -> BTreeMap<String, [u64; 3]> {
    let functions = rows(report)
        .iter()
        .flat_map(|row| row["functions"].as_array().unwrap());
    let row = |it: &Value| {
        let numbers = ["calls", "sent", "received"].map(|key| it[key].as_u64().unwrap());
        (it["name"].as_str().unwrap().to_owned(), numbers)
    };
    let mut sums = BTreeMap::<String, [u64; 3]>::new();
    for (name, numbers) in functions.map(row) {
        let sum = sums.entry(name).or_default();
        for (sum, number) in sum.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
    sums
}

fn lines_of(path: &Path) -> Vec<(String, Vec<u64>)> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next().unwrap().to_owned();
        (name, words.map(|word| word.parse().unwrap()).collect())
    };
    text.lines().map(line).collect()
}

#[test]
fn functions_bytes_pairs_and_memory_of_openshmem_are_those_that_each_rank_knows() {
    const RANKS: usize = 4;
    let place = Place::new("shmem");
    let needs = "these tests need oshcc of Open MPI: `cargo xtask test` installs it";
    place.build("oshcc", "pgas_shmem.c", &["-lm"], needs);
    let outcome = place.shell("$S -n 4 $C -o s.er ./app");
    assert_eq!(outcome.status, 0);
    for rank in 0..RANKS {
        let experiment = format!("s.er/r{rank}.er");
        let found = functions(&place.report(&experiment, "-pgas"));
        let known = lines_of(&place.0.join(format!("calls.{rank}")));
        assert!(known.len() > 40);
        let known: BTreeMap<String, [u64; 3]> = known
            .into_iter()
            .map(|(name, numbers)| (name, numbers.try_into().unwrap()))
            .collect();
        assert_eq!(found, known, "rank {rank}");
    }
    // Pairs, of the whole job.
    let pairs = place.report("s.er", "-pairs");
    let mut found = BTreeMap::new();
    for row in rows(&pairs) {
        let rank = |end: &str| row["is"][end]["rank"].as_u64().unwrap();
        let bytes = ["sent", "received"].map(|key| row["values"][key].as_u64().unwrap());
        assert_eq!(row["is"]["is_local"], rank("from") == rank("to"));
        found.insert((rank("from"), rank("to")), bytes);
    }
    for from in 0..RANKS {
        for (to, bytes) in lines_of(&place.0.join(format!("pairs.{from}"))) {
            let key = (from as u64, to.parse().unwrap());
            let found = found.get(&key).copied().unwrap_or_default();
            assert_eq!(found.to_vec(), bytes, "{key:?}");
        }
    }
    // Memory, by name.
    let memory = place.report("s.er", "-memory");
    let row = |name: &str| {
        let found = rows(&memory)
            .iter()
            .find(|row| row["name"].as_str().unwrap().contains(name));
        let row = found.unwrap_or_else(|| panic!("{name}: {memory}"));
        ["sent", "received", "allocated"].map(|key| row["values"][key].as_u64().unwrap())
    };
    assert_eq!(row("few_floats"), [4 * 4, 4 * 4, 0]);
    assert_eq!(row("long_doubles"), [4 * 32, 4 * 16, 0]);
    assert_eq!(row("pgas_shmem.c:128"), [4 * 240, 0, 4 * 8000]);
    assert_eq!(row("pgas_shmem.c:129"), [4 * 8, 0, 4 * 80]);
    let text = tools().print(&place.0.join("s.er"), &["-pgas"]);
    assert!(
        text.contains("shmem_collect32: the bytes that they get from other ranks are not known"),
        "{text}"
    );
}

#[test]
fn waits_of_openshmem_stand_at_leaves_and_interfaces_are_selected() {
    let place = Place::new("leaves");
    let needs = "these tests need oshcc of Open MPI: `cargo xtask test` installs it";
    place.build("oshcc", "pgas_waits.c", &[], needs);
    let outcome = place.shell("$S -n 2 $C -o w.er ./app");
    assert_eq!(outcome.status, 0);
    let text = tools().print(&place.0.join("w.er/r0.er"), &["-functions"]);
    for leaf in ["barrier", "lock", "flag"] {
        assert!(
            text.contains(&format!("<PGAS wait: {leaf}>")),
            "{leaf}: {text}"
        );
    }
    // Rank 1 comes 100 ms late to a barrier, holds a lock for 100 ms, and sets a flag as late.
    let metrics = place.report("w.er/r0.er", "-functions");
    for leaf in ["barrier", "lock", "flag"] {
        let name = format!("<PGAS wait: {leaf}>");
        let row = rows(&metrics)
            .iter()
            .find(|row| row["name"] == *name)
            .unwrap();
        let total = row["values"]["i.ompwait"].as_f64().unwrap();
        assert!((0.08..0.35).contains(&total), "{leaf}: {total}");
    }
    // Whom it waited for.
    let waits = place.report("w.er", "-waits");
    let row = rows(&waits)
        .iter()
        .find(|row| row["mpi_function"] == "shmem_barrier_all");
    let row = row.unwrap_or_else(|| panic!("{waits}"));
    assert_eq!(row["kind"], "barrier");
    let seconds = row["values"]["seconds"].as_f64().unwrap_or_default();
    assert!((0.08..0.2).contains(&seconds), "{row}");
    let outcome = place.shell("$S -n 2 $C -M mpi,caf -o off.er ./app");
    assert_eq!(outcome.status, 0);
    assert!(rows(&place.report("off.er", "-pgas")).is_empty());
    let text = tools().print(&place.0.join("off.er"), &["-header"]);
    assert!(
        text.contains("not to be recorded (collect -M): shmem, gasp"),
        "{text}"
    );
}

#[test]
fn accesses_of_coarrays_are_exact_and_mpi_below_them_is_not_counted() {
    const IMAGES: u64 = 4;
    let place = Place::new("coarrays");
    let needs = "these tests need OpenCoarrays' library: `cargo xtask test` installs libcoarrays-openmpi-dev";
    let library = fixtures::coarrays().expect(needs);
    let library = library.display();
    let dynamic = [
        "-fcoarray=lib",
        &format!("-L{library}"),
        "-lcaf_mpi",
        &format!("-Wl,-rpath,{library}"),
    ];
    place.build("mpif90.openmpi", "pgas_coarrays.f90", &dynamic, needs);
    let outcome = place.shell("$M -n 4 $C -o c.er ./app");
    assert_eq!(outcome.status, 0);
    assert!(outcome.stdout.contains("done"));
    for rank in 0..IMAGES {
        let report = place.report(&format!("c.er/r{rank}.er"), "-pgas");
        let found = functions(&report);
        let of = |name: &str| {
            found
                .get(&format!("_gfortran_caf_{name}"))
                .copied()
                .unwrap_or_default()
        };
        let (sent, received) = if rank == 0 { (80, 0) } else { (0, 80) };
        for (name, numbers) in [
            ("send", [3, 240, 0]),
            ("get", [2, 0, 88]),
            ("atomic_define", [1, 4, 0]),
            ("lock", [2, 0, 0]),
            ("unlock", [2, 0, 0]),
            ("event_post", [1, 0, 0]),
            ("event_wait", [1, 0, 0]),
            ("co_sum", [1, 4, 4]),
            ("co_broadcast", [1, sent, received]),
            ("sync_all", [4, 0, 0]),
            ("sync_images", [1, 0, 0]),
            ("sync_memory", [1, 0, 0]),
        ] {
            assert_eq!(of(name), numbers, "{name} of image {}: {found:?}", rank + 1);
        }
        assert_eq!(of("atomic_op")[0], 2);
        // What libcaf calls of MPI is in these calls.
        let mpi = place.report(&format!("c.er/r{rank}.er"), "-mpi");
        assert!(rows(&mpi).is_empty(), "{mpi}");
    }
    let pairs = place.report("c.er", "-pairs");
    let next = rows(&pairs)
        .iter()
        .find(|row| row["name"] == "0 to 1")
        .unwrap();
    assert_eq!(next["values"]["sent"], 240);
    // Statically, as the wrapper `caf` links it, nothing of it can be seen, which is said.
    let archive = format!("{library}/libcaf_openmpi.a");
    let archive = if Path::new(&archive).exists() {
        archive
    } else {
        format!("{library}/libcaf_mpi.a")
    };
    place.build(
        "mpif90.openmpi",
        "pgas_coarrays.f90",
        &["-fcoarray=lib", &archive],
        needs,
    );
    let outcome = place.shell("$M -n 2 $C -o static.er ./app");
    assert_eq!(outcome.status, 0);
    let text = tools().print(&place.0.join("static.er/r0.er"), &["-header"]);
    assert!(
        text.contains("linked into") && text.contains("its calls are not recorded"),
        "{text}"
    );
    assert!(!rows(&place.report("static.er", "-mpi")).is_empty());
}

/// No compiler of UPC can be installed everywhere: the program plays the part of one's runtime.
#[test]
fn events_of_gasp_are_exact_by_the_numbers_of_each_runtime() {
    for numbers in ["1", "2"] {
        let place = Place::new(&format!("gasp{numbers}"));
        let played = format!("-DNUMBERS={numbers}");
        let include = format!("-I{}", sink().display());
        let object = place.0.join("sink.o");
        let sink_source = sink().join("parallax_gasp.c");
        let built = Command::new("cc")
            .args(["-O2", "-fPIC", "-fno-omit-frame-pointer", "-c"])
            .arg(&sink_source)
            .arg("-o")
            .arg(&object)
            .status()
            .unwrap();
        assert!(built.success());
        let words = [&*played, &*include, object.to_str().unwrap()];
        place.build(
            "cc",
            "pgas_gasp.c",
            &words,
            "these tests need a compiler of C",
        );
        let alone = place.shell("./app");
        assert_eq!(
            (alone.status, &*alone.stdout),
            (0, "0 0 0 0\n"),
            "without collect"
        );
        let outcome = place.shell("$C -o g.er ./app");
        let own = if numbers == "1" { 100 } else { 1000 };
        assert_eq!(outcome.stdout, format!("{own} {} 1 0\n", own + 1));
        let report = place.report("g.er", "-pgas");
        let found = functions(&report);
        for (name, expected) in [
            (
                "UPC_GET",
                [
                    if numbers == "1" { 11 } else { 12 },
                    0,
                    if numbers == "1" { 640 } else { 641 },
                ],
            ),
            ("UPC_PUT", [11, 80, 0]),
            ("UPC_MEMGET", [2, 0, 4096]),
            ("UPC_NOTIFY", [2, 0, 0]),
            ("UPC_WAIT", [2, 0, 0]),
            ("UPC_ALL_ALLOC", [2, 0, 0]),
            ("UPC_LOCK", [1, 0, 0]),
            ("C_FUNC", [1, 0, 0]),
        ] {
            assert_eq!(found.get(name), Some(&expected), "{name}: {found:?}");
        }
        let all = if numbers == "1" { 40 } else { 43 };
        assert_eq!(found.len(), all, "each event once: {found:?}");
        let of_class = |name: &str| {
            let row = rows(&report).iter().find(|row| row["name"] == name);
            row.map(|row| row["values"]["seconds"].as_f64().unwrap())
        };
        let barrier = of_class("GASP barrier").unwrap();
        assert!((0.03..0.06).contains(&barrier), "{barrier}");
        if numbers == "2" {
            let forall = of_class("GASP forall").unwrap();
            assert!((0.02..0.05).contains(&forall), "{forall}");
        }
        let phases = place.report("g.er", "-Phases");
        let names: Vec<&str> = rows(&phases)
            .iter()
            .filter_map(|row| row["name"].as_str())
            .collect();
        assert!(
            names
                .iter()
                .any(|name| name.contains("solve: step 3 of nine, 0.50")),
            "{names:?}"
        );
        let text = tools().print(&place.0.join("g.er"), &["-header"]);
        for said in [
            "event plain ends without having started",
            "event UPC_LOCK ends without having started",
            "event solve ends before others that started in it",
            "the description of event wrong has a conversion that is not known",
            "no event has the number 77777",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
}

#[test]
fn the_wrapper_adds_the_sink_and_says_what_is_missing() {
    let place = Place::new("upcc");
    // A compiler of C under the name of one of UPC, which shows what it is given.
    fs::write(
        place.0.join("clang-upc"),
        "#!/bin/sh\necho \"$@\" >> words\nexec cc $(echo \"$@\" | sed 's/-fupc-instrument[a-z-]*//g')\n",
    )
    .unwrap();
    let source = programs().join("pgas_gasp.c");
    let wrapper = sink().join("parallax-upcc");
    let line = format!(
        "chmod +x clang-upc; UPCC=./clang-upc {} --inst --inst-functions -w -DNUMBERS=2 {} -o app && ./app && $C -o g.er ./app",
        wrapper.display(),
        source.display()
    );
    let outcome = place.shell(&line);
    assert_eq!(outcome.status, 0);
    assert!(
        outcome.stdout.contains("1000 1001 1 0"),
        "{}",
        outcome.stdout
    );
    let words = fs::read_to_string(place.0.join("words")).unwrap();
    assert!(
        words.contains("-fupc-instrument -fupc-instrument-functions"),
        "{words}"
    );
    assert_eq!(
        functions(&place.report("g.er", "-pgas"))["UPC_NOTIFY"],
        [2, 0, 0]
    );
    let missing = place.shell(&format!(
        "UPCC=no-such-compiler {} a.upc",
        wrapper.display()
    ));
    assert_eq!(missing.status, 1);
    assert!(
        missing
            .stderr
            .contains("no-such-compiler cannot be run: set UPCC"),
        "{}",
        missing.stderr
    );
}
