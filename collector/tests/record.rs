//! `collect` on real programs: what it records against what the programs measure themselves, and
//! how it behaves as a command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::OnceLock;

use experiment::Experiment;
use experiment::ids::{FrameId, ModuleId, ThreadId};
use experiment::losses::LossKind;
use experiment::rows::FAULTS_EACH;
use experiment::rows::SampleKind;
use experiment::state::Scheduling;
use experiment::tables::StackEntry;

/// A folder of this test run's own.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the target folder is ours");
        folder
    })
}

/// Compiles a program of `tests/programs` with gcc at -O2, without debug information.
fn program(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    let built = folder().join(name).with_extension("");
    let status = Command::new("gcc")
        .args(["-O2", "-pthread", "-o"])
        .arg(&built)
        .arg(source)
        .status()
        .expect("gcc is installed");
    assert!(status.success());
    built
}

fn collect(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_collect"))
        .args(arguments)
        .current_dir(folder())
        .output()
        .expect("collect runs");
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn open(name: &str) -> Experiment {
    Experiment::open(folder().join(name)).expect("an experiment")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths here are ASCII")
}

/// Seconds accounted in a scheduling state, of one thread or all.
fn seconds(
    experiment: &Experiment,
    thread: Option<ThreadId>,
    scheduling: Option<Scheduling>,
) -> f64 {
    experiment
        .sums
        .iter()
        .filter(|sum| thread.is_none_or(|thread| sum.thread == thread))
        .filter(|sum| scheduling.is_none_or(|scheduling| sum.scheduling == scheduling))
        .map(|sum| sum.time.seconds())
        .sum()
}

fn near(what: &str, found: f64, expected: f64, slack: f64) {
    assert!(
        (found - expected).abs() <= slack,
        "{what}: {found} and not {expected} +- {slack}"
    );
}

/// The functions of a program by `nm`: start, end, name.
fn functions(program: &Path) -> Vec<(u64, u64, String)> {
    let output = Command::new("nm")
        .arg("-S")
        .arg(program)
        .output()
        .expect("binutils");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let start = u64::from_str_radix(words.next()?, 16).ok()?;
            let size = u64::from_str_radix(words.next()?, 16).ok()?;
            (words.next()? == "T").then_some(())?;
            Some((start, start + size, words.next()?.to_owned()))
        })
        .collect()
}

/// Inclusive clock samples of each function of the program.
fn shares(experiment: &Experiment, program: &Path) -> HashMap<String, u32> {
    let functions = functions(program);
    let mut shares = HashMap::new();
    for sample in &experiment.samples {
        if sample.kind.scheduling() != Scheduling::Running {
            continue;
        }
        let mut seen = Vec::new();
        for entry in experiment.tables.walk(sample.stack) {
            let StackEntry::Frame(FrameId(frame)) = entry else {
                continue;
            };
            let frame = experiment
                .tables
                .frames
                .get(frame)
                .expect("checked by the reader");
            let module = experiment
                .tables
                .modules
                .get(frame.module.0)
                .expect("checked");
            if module.path != text(program) {
                continue;
            }
            let holds = |f: &&(u64, u64, String)| (f.0..f.1).contains(&frame.address);
            seen.extend(functions.iter().find(holds).map(|f| f.2.clone()));
        }
        seen.sort();
        seen.dedup();
        for name in seen {
            *shares.entry(name).or_insert(0) += 1;
        }
    }
    shares
}

#[test]
fn a_plain_program_s_time_is_measured_and_its_samples_are_in_its_functions() {
    let mix = program("mix.c");
    let output = collect(&["-o", "mix.er", text(&mix)]);
    assert_eq!(output.status.code(), Some(7), "the program's own status");
    let said: Vec<f64> = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .map(|word| word.parse().expect("the program prints numbers"))
        .collect();
    let [wall, user, system, slept] = said[..] else {
        panic!("four numbers: {said:?}")
    };

    let experiment = open("mix.er");
    assert!(
        experiment.finished && experiment.warnings.is_empty(),
        "{:?}",
        experiment.warnings
    );
    assert_eq!(experiment.header.exit_status, Some(7));
    let lost = &experiment.header.losses.lost;
    assert_eq!(lost.count(LossKind::Samples), 0, "{lost:?}");
    let threads = &experiment.tables.threads;
    assert_eq!(threads.len(), 1);
    let death = threads[0].death.expect("the thread has ended");
    let life = death.since(threads[0].birth).seconds();
    near(
        "accounted time and lifetime",
        seconds(&experiment, None, None),
        life,
        1e-9,
    );
    near("lifetime", life, wall, 0.01 * wall);
    // getrusage is read before the end, and the program's start is outside its wall time.
    let running = seconds(&experiment, None, Some(Scheduling::Running));
    near(
        "CPU time",
        running,
        user + system,
        0.01 * (user + system) + 0.003,
    );
    let blocked = seconds(&experiment, None, Some(Scheduling::Blocked));
    near("sleep", blocked, slept, 0.01 * slept + 0.005);

    let mut kinds = HashMap::new();
    experiment
        .samples
        .iter()
        .for_each(|sample| *kinds.entry(sample.kind).or_insert(0_u32) += 1);
    let clock = f64::from(kinds[&SampleKind::User] + kinds[&SampleKind::Kernel]);
    near("samples", clock * 997e-6, running, 0.02 * running);
    let complete = experiment.header.losses.stacks_complete as f64;
    assert!(
        complete >= 0.999 * clock,
        "{complete} of {clock} stacks are complete"
    );
    if experiment.header.sampling.kernel_frames {
        let in_kernel = f64::from(kinds[&SampleKind::Kernel]);
        // Kernels that account by ticks split getrusage's sum into user and system by guesses,
        // so the program's own measure of its CPU time in read() is what holds. The slack is for
        // its page faults and interrupts.
        near("system time", in_kernel * 997e-6, 0.4, 0.07);
    }
    let shares = shares(&experiment, &mix);
    let time = |name: &str| f64::from(shares.get(name).copied().unwrap_or(0)) * 997e-6;
    near("busy_a", time("busy_a"), 0.6, 0.03);
    near("busy_b", time("busy_b"), 0.2, 0.03);
    near("in_kernel", time("in_kernel"), 0.4, 0.03);
    near("main", time("main"), 1.2, 0.04);
    if experiment.header.sampling.switch_stacks {
        // How many of the sleeps have one depends on how busy the machine is.
        assert!(kinds[&SampleKind::Blocked] >= 1, "{kinds:?}");
    }
}

#[test]
fn stacks_deeper_than_what_is_copied_have_the_callers_that_their_functions_have() {
    let deep = program("deep.c");
    collect(&["-o", "deep.er", text(&deep)]);
    let experiment = open("deep.er");
    let losses = &experiment.header.losses;
    let samples = experiment.samples.iter();
    let clock = samples.filter(|sample| sample.kind.scheduling() == Scheduling::Running);
    let clock = clock.count() as f64;
    let complete = losses.stacks_complete as f64;
    assert!(complete >= 0.98 * clock, "{losses:?}");
    // Not all can be read in time. The others must be completed by those that were.
    assert!(losses.stacks_later > 0, "{losses:?}");
    let shares = shares(&experiment, &deep);
    let count = |name: &str| f64::from(shares.get(name).copied().unwrap_or(0));
    for name in ["a", "b"] {
        let (wide, outer) = (
            count(&format!("wide_{name}")),
            count(&format!("outer_{name}")),
        );
        assert!(wide > 0.4 * clock, "{shares:?}");
        near("callers of wide", outer, wide, 0.02 * wide);
    }
    near(
        "main",
        count("main"),
        count("outer_a") + count("outer_b"),
        0.02 * clock,
    );
}

#[test]
fn threads_live_from_their_birth_to_their_end_and_exec_ends_all_but_one() {
    let threads = program("threads.c");
    let output = collect(&["-o", "threads.er", text(&threads)]);
    assert_eq!(output.stdout, b"done\n");
    let experiment = open("threads.er");
    assert_eq!(experiment.tables.threads.len(), 4);
    assert_eq!(experiment.tables.processes.len(), 1);
    assert_eq!(experiment.tables.processes[0].name, "echo");
    for (number, expected) in [(1, 0.1), (2, 0.2), (3, 0.3)] {
        let thread = ThreadId(number);
        let row = &experiment.tables.threads[thread.index()];
        let life = row.death.expect("it has ended").since(row.birth).seconds();
        near(
            "accounted",
            seconds(&experiment, Some(thread), None),
            life,
            1e-9,
        );
        let running = seconds(&experiment, Some(thread), Some(Scheduling::Running));
        // The thread's own clock leaves out what interrupts and the host take, switches do not: on
        // a machine with more to do than CPUs that was up to a tenth.
        near("CPU time of a thread", running, expected, 0.03);
    }
    // The main thread waited, asleep, for the three.
    let main = ThreadId(0);
    let workers: f64 = (1..4)
        .map(|number| {
            let row = &experiment.tables.threads[number];
            row.death.expect("it has ended").since(row.birth).seconds()
        })
        .sum();
    let blocked = seconds(&experiment, Some(main), Some(Scheduling::Blocked));
    // While they live it runs only briefly. Later it waits for the disk that holds the new program, for
    // a time that depends on the machine.
    let awake = seconds(&experiment, Some(main), None) - blocked;
    assert!(
        (workers - awake..workers + 0.25).contains(&blocked),
        "{blocked} s asleep and {awake} s awake of {workers} s"
    );
}

#[test]
fn page_faults_and_switches_are_counted_for_each_thread() {
    let faults = program("faults.c");
    for follow in ["on", "off"] {
        let output = collect(&["-F", follow, "-O", "faults.er", text(&faults)]);
        let experiment = open("faults.er");
        assert!(
            experiment.header.sampling.minor_faults,
            "{:?}",
            experiment.header
        );
        let mut known = 0;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let words: Vec<i64> = line.split(' ').filter_map(|it| it.parse().ok()).collect();
            let &[tid, minor, voluntary] = words.as_slice() else {
                continue;
            };
            let threads = (0..).map(ThreadId).zip(&experiment.tables.threads);
            let mut threads = threads.filter(|(_, thread)| i64::from(thread.tid) == tid);
            let Some((thread, _)) = threads.next() else {
                continue;
            };
            known += 1;
            let uses = experiment.cpu_uses.iter().filter(|it| it.thread == thread);
            let sum = uses.fold([0; 2], |[faults, switches], it| {
                [faults + it.minor_faults, switches + it.voluntary]
            });
            // A thread's end takes a few more of both, and what led to the `exec` is not counted. On
            // each CPU some faults have no sample yet.
            let after = [
                (sum[0], minor, 60 + 4 * FAULTS_EACH as i64),
                (sum[1], voluntary, 10),
            ];
            for (found, expected, slack) in after {
                let more = found as i64 - expected;
                assert!(more.abs() <= slack, "{tid}: {found}, {expected}");
            }
        }
        assert_eq!(known, if follow == "on" { 10 } else { 9 });
    }
}

/// Where several CPUs write to a ring it is soon destroyed, and its reader comes to no end.
#[test]
fn of_ten_thousand_threads_each_is_recorded_from_begin_to_end() {
    let moments = program("moments.c");
    let output = collect(&["-O", "moments.er", text(&moments)]);
    assert_eq!(output.status.code(), Some(0));
    let experiment = open("moments.er");
    let losses = &experiment.header.losses;
    assert_eq!(losses.lost.count(LossKind::SideBand), 0, "{losses:?}");
    let threads = &experiment.tables.threads;
    assert_eq!(threads.len(), 10_001);
    assert!(threads.iter().all(|thread| thread.death.is_some()));
}

#[test]
fn a_launcher_s_child_is_recorded_as_a_process_of_its_own() {
    let mix = program("mix.c");
    let script = format!("{} > /dev/null; exit 3", text(&mix));
    let output = collect(&["-o", "launcher.er", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(3));
    let experiment = open("launcher.er");
    let processes = &experiment.tables.processes;
    assert_eq!(processes.len(), 2);
    assert_eq!(processes[1].executable, text(&mix));
    assert_eq!(processes[1].parent.map(|parent| parent.index()), Some(0));
    let losses = &experiment.header.losses;
    let all = losses.stacks_complete + losses.stacks_cut.iter().map(|(_, n)| n).sum::<u64>();
    assert!(losses.stacks_complete * 1000 >= all * 999, "{losses:?}");
    let busy = shares(&experiment, &mix)["busy_a"];
    near("busy_a", f64::from(busy) * 997e-6, 0.6, 0.03);
}

#[test]
fn only_the_first_process_is_recorded_on_request() {
    let script = "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done";
    let output = collect(&["-F", "off", "-o", "alone.er", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0));
    let experiment = open("alone.er");
    assert_eq!(experiment.tables.processes.len(), 1);
    assert_eq!(experiment.tables.threads.len(), 1);

    collect(&["-o", "all.er", "sh", "-c", script]);
    assert_eq!(open("all.er").tables.processes.len(), 21);
}

#[test]
fn without_samples_time_is_measured_all_the_same() {
    let output = collect(&[
        "-p", "off", "-C", "no clock", "-o", "off.er", "sleep", "0.2",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let experiment = open("off.er");
    assert_eq!(
        (
            experiment.header.sampling.samples,
            experiment.header.sampling.event.as_str()
        ),
        (0, "")
    );
    assert_eq!(experiment.header.sampling.switch_samples, 0);
    assert_eq!(experiment.header.comments, ["no clock"]);
    near(
        "sleep",
        seconds(&experiment, None, Some(Scheduling::Blocked)),
        0.2,
        0.02,
    );
}

#[test]
fn a_program_killed_by_a_signal_gives_128_and_its_number() {
    let output = collect(&["-o", "killed.er", "sh", "-c", "kill -SEGV $$"]);
    assert_eq!(output.status.code(), Some(128 + 11));
    assert_eq!(open("killed.er").header.exit_status, Some(139));
}

#[test]
fn a_program_that_is_not_there_leaves_no_experiment() {
    let output = collect(&["-o", "missing.er", "./no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(!folder().join("missing.er").exists());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("cannot run ./no-such-program: No such file"),
        "{said}"
    );

    std::fs::write(folder().join("plain"), "no program").expect("our folder");
    let output = collect(&["-o", "missing.er", "./plain"]);
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn an_experiment_is_replaced_only_on_request_and_a_foreign_folder_never() {
    assert_eq!(collect(&["-o", "twice.er", "true"]).status.code(), Some(0));
    let again = collect(&["-o", "twice.er", "true"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("-O"));
    assert_eq!(collect(&["-O", "twice.er", "false"]).status.code(), Some(1));
    assert_eq!(open("twice.er").header.command, ["false"]);

    let missing = collect(&["-O", "twice.er", "./no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert_eq!(
        open("twice.er").header.command,
        ["false"],
        "the old one is back"
    );

    std::fs::write(folder().join("twice.er/notes.txt"), "mine").expect("our folder");
    assert_eq!(collect(&["-O", "twice.er", "true"]).status.code(), Some(1));
    assert_eq!(
        open("twice.er").header.command,
        ["false"],
        "nothing was touched"
    );
}

#[test]
fn default_names_count_on_and_a_dry_run_makes_nothing() {
    let inner = folder().join("names");
    std::fs::create_dir_all(inner.join("test.7.er")).expect("our folder");
    let output = collect(&["-n", "-d", "names", "true"]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("would make names/test.8.er"), "{said}");
    assert!(!inner.join("test.8.er").exists());
    collect(&["-d", "names", "true"]);
    assert!(inner.join("test.8.er").exists());
}

/// Starts `collect true` with these variables.
fn in_environment(place: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    let place = folder().join(place);
    std::fs::create_dir_all(&place).expect("our folder");
    Command::new(env!("CARGO_BIN_EXE_collect"))
        .args(arguments)
        .arg("true")
        .envs(variables.iter().copied())
        .current_dir(place)
        .spawn()
        .expect("collect runs")
}

#[test]
fn tasks_of_srun_are_ranks_and_the_shell_of_sbatch_is_none() {
    let job = [
        ("SLURM_JOB_ID", "9"),
        ("SLURM_PROCID", "0"),
        ("SLURM_NTASKS", "4"),
    ];
    let step = [
        ("SLURM_JOB_ID", "9"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "3"),
        ("SLURM_STEP_NUM_TASKS", "4"),
    ];
    for (variables, name) in [(&job[..], "shell.er"), (&step, "step.er")] {
        let mut running = in_environment("slurm", &["-o", name], variables);
        assert!(running.wait().expect("it ends").success());
    }
    assert_eq!(open("slurm/shell.er").header.rank, None);
    let rank = open("slurm/step.er/r3.er").header.rank.expect("a rank");
    assert_eq!((rank.number, rank.size), (3, Some(4)));
}

#[test]
fn sixteen_ranks_that_start_at_once_take_the_same_number() {
    std::fs::create_dir_all(folder().join("ranks/test.3.r20.er")).expect("our folder");
    for round in 4..=6 {
        let ranks = (0..16).map(|rank| rank.to_string());
        let running: Vec<Child> = ranks
            .map(|rank| in_environment("ranks", &[], &[("PMI_RANK", &rank), ("PMI_SIZE", "16")]))
            .collect();
        for mut rank in running {
            assert!(rank.wait().expect("it ends").success());
        }
        for rank in 0..16 {
            let experiment = open(&format!("ranks/test.{round}.r{rank}.er"));
            assert_eq!(experiment.header.rank.expect("a rank").number, rank);
        }
    }
}

#[test]
fn what_a_process_sends_to_collect_goes_to_the_program() {
    let script = "trap 'exit 42' TERM; touch ready; while :; do sleep 0.01; done";
    let mut running = Command::new(env!("CARGO_BIN_EXE_collect"))
        .args(["-o", "signal.er", "sh", "-c", script])
        .current_dir(folder())
        .spawn()
        .expect("collect runs");
    wait_for(&folder().join("ready"));
    let pid = running.id().to_string();
    assert!(
        Command::new("sh")
            .args(["-c", "kill $0", &pid])
            .status()
            .expect("kill")
            .success()
    );
    assert_eq!(running.wait().expect("it ends").code(), Some(42));
    assert_eq!(open("signal.er").header.exit_status, Some(42));
}

#[test]
fn a_killed_collect_leaves_what_it_had_and_lets_the_program_go_on() {
    let script = "touch going; sleep 4; touch went-on";
    let mut running = Command::new(env!("CARGO_BIN_EXE_collect"))
        .args(["-o", "cut.er", "sh", "-c", script])
        .current_dir(folder())
        .spawn()
        .expect("collect runs");
    wait_for(&folder().join("going"));
    std::thread::sleep(std::time::Duration::from_millis(2600));
    running.kill().expect("it runs");
    running.wait().expect("it was killed");
    let experiment = open("cut.er");
    assert!(!experiment.finished);
    assert!(!experiment.tables.threads.is_empty());
    assert!(
        seconds(&experiment, None, None) > 0.9,
        "all but the last slice is there"
    );
    wait_for(&folder().join("went-on"));
}

fn wait_for(file: &Path) {
    for _ in 0..2000 {
        if file.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{} did not appear", file.display());
}

#[test]
fn kernel_frames_stand_at_the_leaf_where_they_are_permitted() {
    let mix = program("mix.c");
    collect(&["-o", "kernel.er", text(&mix)]);
    let experiment = open("kernel.er");
    let mut samples = experiment.samples.iter();
    let sample = samples.find(|sample| sample.kind == SampleKind::Kernel);
    if !experiment.header.sampling.kernel_frames {
        assert!(sample.is_none(), "none is permitted: {sample:?}");
        return;
    }
    let sample = sample.expect("0.4 s of system time");
    let modules: Vec<ModuleId> = experiment
        .tables
        .walk(sample.stack)
        .filter_map(|entry| match entry {
            StackEntry::Frame(frame) => experiment.tables.frames.get(frame.0).map(|f| f.module),
            StackEntry::Cut(_) => None,
        })
        .collect();
    let kernel = modules
        .iter()
        .take_while(|module| **module == ModuleId::KERNEL)
        .count();
    assert!(kernel >= 2, "{modules:?}");
    assert!(
        modules[kernel..]
            .iter()
            .all(|module| *module != ModuleId::KERNEL),
        "{modules:?}"
    );
    assert!(modules.len() > kernel, "the user's frames follow");
}

/// What was asked for by name is not left out.
#[test]
fn a_counter_that_cannot_be_had_ends_collect_before_the_program_starts() {
    let touched = folder().join("touched-by-refused");
    // No processor has such an event.
    for (event, status) in [
        ("rffffffffffffffff", 1),
        ("nothing/event=1/", 2),
        ("cycels", 2),
    ] {
        let output = collect(&["-o", "refused.er", "-h", event, "touch", text(&touched)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        let last = said.lines().last().expect("a sentence");
        assert!(last.contains(&format!("-h {event}: ")), "{said}");
        assert!(!touched.exists() && !folder().join("refused.er").exists());
    }
}

#[test]
fn a_bare_h_lists_the_events_of_the_machine() {
    let output = collect(&["-h"]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stdout);
    // The kernel has it on every machine on which collect can record.
    let line = said.lines().find(|line| line.contains("page-faults"));
    let words: Vec<&str> = line.expect("page-faults").split_whitespace().collect();
    assert_eq!(words, ["page-faults", "101", "11", "1009"]);
    assert!(said.contains("LLC-load-misses") && said.contains("Raw events: rNNN"));
}
