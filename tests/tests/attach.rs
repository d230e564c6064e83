//! `collect -P` records a process that runs already, as it measures itself, and leaves it as it was.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use end_to_end::{Outcome, finish, folder, reports, rows, stolen, tools};
use serde_json::Value;

/// `programs/attached.c`, running in a folder of its own.
struct Running {
    place: PathBuf,
    program: Child,
    /// What a hypervisor had taken of the CPUs before, in seconds.
    stolen: f64,
}

impl Running {
    fn start(name: &str) -> Running {
        // Built before the program's time begins.
        tools();
        let place = folder().join(format!("attach-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        let built = Command::new("gcc")
            .args(["-O2", "-g", "-fopenmp", "-pthread", "-o"])
            .arg(place.join("attached"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/attached.c"))
            .status()
            .unwrap();
        assert!(built.success());
        let rounds = File::create(place.join("rounds")).unwrap();
        let program = Command::new("./attached")
            .current_dir(&place)
            .env("OMP_WAIT_POLICY", "passive")
            .stdout(rounds)
            .spawn()
            .unwrap();
        let running = Running {
            place,
            program,
            stolen: stolen(),
        };
        running.wait_for("rounds", |text| text.lines().count() >= 10);
        running
    }

    fn pid(&self) -> String {
        self.program.id().to_string()
    }

    fn wait_for(&self, file: &str, is_ready: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        while !is_ready(&fs::read_to_string(self.place.join(file)).unwrap_or_default()) {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{file} is not ready"
            );
            sleep(Duration::from_millis(5));
        }
    }

    /// Stops the program, and returns its status.
    fn stop(&mut self) -> Option<i32> {
        File::create(self.place.join("stop")).unwrap();
        self.program.wait().unwrap().code()
    }

    /// Records `seconds` of the process, until a signal.
    fn record(&self, seconds: f64) -> Outcome {
        let mut shell = Command::new("bash");
        let line = "$C -P $P -o run.er & until [ -e run.er/header.json ]; do sleep 0.01; done; \
                    sleep $S; kill -INT $!; wait $!";
        shell
            .args(["-c", line])
            .current_dir(&self.place)
            .env("C", &tools().collect)
            .env("P", self.pid())
            .env("S", seconds.to_string());
        finish(shell)
    }

    /// The least and the most CPU time in `spin` from `begin` to `end` by what the program measured itself, in
    /// seconds: where in a round its work was is not known, as other programs may have had the CPUs.
    fn measured(&self, begin: f64, end: f64) -> (f64, f64) {
        let rounds = fs::read_to_string(self.place.join("rounds")).unwrap();
        let (mut least, mut most) = (0.0, 0.0);
        for line in rounds.lines() {
            let numbers: Vec<f64> = line.split(' ').filter_map(|it| it.parse().ok()).collect();
            let &[from, to, spent] = numbers.as_slice() else {
                panic!("{line}");
            };
            if begin <= from && to <= end {
                least += spent;
            }
            if begin < to && from < end {
                most += spent;
            }
        }
        (least, most)
    }
}

impl Running {
    /// Compares the time in `spin` of a recording, by `-header` and `-functions`, with that of the program.
    /// Returns how long the recording was, in seconds.
    #[track_caller]
    fn check_work(&self, views: &[Value]) -> f64 {
        let number = |name: &str| views[0]["header"][name].as_f64().unwrap() / 1e9;
        let (start, duration) = (number("started_raw_ns"), number("duration_ns"));
        let (least, most) = self.measured(start, start + duration);
        let found = value(&views[1], "spin", "i.totalcpu");
        // Up to a timer tick of a hypervisor's time is not seen while a thread runs.
        let stolen = stolen() - self.stolen;
        assert!(
            found > 0.96 * least - 0.01 && found < 1.04 * most + 0.01 + stolen,
            "{found} s in spin by the experiment, {least} to {most} s by the program's own clock, \
             {stolen} s stolen"
        );
        duration
    }
}

/// A value of a function in the table of functions.
fn value(functions: &Value, name: &str, metric: &str) -> f64 {
    let row = rows(functions).iter().find(|row| row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("there is no {name}"));
    row["values"][metric].as_f64().unwrap()
}

#[test]
fn a_running_process_is_recorded_as_it_measures_itself_and_goes_on_unharmed() {
    let mut running = Running::start("window");
    let descriptors = || {
        let all = fs::read_dir(format!("/proc/{}/fd", running.pid())).unwrap();
        all.count()
    };
    let before = descriptors();
    let outcome = running.record(2.0);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let said: Vec<&str> = outcome.said_by_collect().collect();
    let [line] = said[..] else {
        panic!("one line: {said:?}");
    };
    assert!(line.contains("no OpenMP events from libgomp"), "{line}");
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0\n"), "{status}");
    assert_eq!(descriptors(), before);
    let lines = || {
        let rounds = fs::read_to_string(running.place.join("rounds")).unwrap();
        rounds.lines().count()
    };
    let count = lines();
    running.wait_for("rounds", |text| text.lines().count() > count + 10);
    assert_eq!(running.stop(), Some(7));

    let experiment = running.place.join("run.er");
    let views = reports(
        &experiment,
        "user",
        &["-header", "-functions", "-thread_list"],
    );
    let header = &views[0]["header"];
    assert_eq!(
        (&header["attached"], &header["exit_status"]),
        (&true.into(), &Value::Null)
    );
    let duration = running.check_work(&views);
    // A thread that slept from before to after the recording stands where it slept.
    let slept = value(&views[1], "doze", "i.total");
    assert!(
        (slept - duration).abs() < 0.02 * duration,
        "{slept} of {duration} s"
    );
    let regions = rows(&views[1]).iter();
    let mut names = regions.filter_map(|row| row["name"].as_str());
    assert!(names.any(|name| name.starts_with("main -- OMP parallel region from line")));
    let text = tools().print(&experiment, &["-header", "-thread_list"]);
    let program = running.place.join("attached");
    let process = format!("Process pid {}: {}\n", running.pid(), program.display());
    assert!(text.contains(&process), "{text}");
    assert!(text.contains("Target command: './attached'\n"), "{text}");
    assert!(text.contains("  OMP_WAIT_POLICY=passive\n"), "{text}");
    // Three from the start, and others that began meanwhile.
    let threads = rows(&views[2]);
    let from_start = threads.iter().filter(|row| row["start"] == 0.0).count();
    assert!(
        from_start >= 3 && threads.len() > 10,
        "{from_start} of {}",
        threads.len()
    );
}

#[test]
fn a_recording_ends_with_its_process() {
    let mut running = Running::start("end");
    let mut collect = Command::new(&tools().collect)
        .args(["-P", &running.pid(), "-o", "run.er"])
        .current_dir(&running.place)
        .spawn()
        .unwrap();
    running.wait_for("run.er/header.json", |text| !text.is_empty());
    sleep(Duration::from_millis(500));
    assert_eq!(running.stop(), Some(7));
    assert_eq!(collect.wait().unwrap().code(), Some(0));
    let views = reports(
        &running.place.join("run.er"),
        "user",
        &["-header", "-functions"],
    );
    assert!(views[0]["warnings"].as_array().unwrap().is_empty());
    running.check_work(&views);
}

#[test]
fn what_cannot_be_recorded_gets_a_sentence_and_leaves_nothing() {
    let mut running = Running::start("refused");
    let refused = |pid: &str, uid: Option<u32>| {
        let mut collect = Command::new(&tools().collect);
        collect
            .args(["-P", pid, "-o", "none.er"])
            .current_dir(&running.place);
        uid.into_iter().for_each(|uid| {
            collect.uid(uid);
        });
        let outcome = finish(collect);
        assert_eq!(
            (outcome.status, outcome.stderr.lines().count()),
            (1, 1),
            "{}",
            outcome.stderr
        );
        assert!(!running.place.join("none.er").exists());
        outcome.stderr
    };
    assert!(refused("2000000000", None).contains("no process has this id"));
    let threads = fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let mut names = threads.map(|it| it.unwrap().file_name().into_string().unwrap());
    let thread = names.find(|name| *name != running.pid()).unwrap();
    assert!(refused(&thread, None).contains("it is a thread of process"));
    // Root may record all, others may not record what is root's.
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let said = refused("1", is_root.then_some(65534));
    assert!(said.contains("belongs to another user (uid 0)"), "{said}");
    let mut dry = Command::new(&tools().collect);
    dry.args(["-n", "-P", &running.pid(), "-o", "none.er"])
        .current_dir(&running.place);
    let dry = finish(dry);
    assert_eq!(dry.status, 0);
    assert!(dry.stderr.contains("would make none.er"), "{}", dry.stderr);
    assert!(!running.place.join("none.er").exists());
    assert_eq!(running.stop(), Some(7));
}

#[test]
fn children_that_run_already_are_named_and_not_recorded() {
    let place = folder().join(format!("attach-children-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    let mut parent = Command::new("sh")
        .args(["-c", "sleep 60 & echo started > started; wait"])
        .current_dir(&place)
        .process_group(0)
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !place.join("started").exists() && begin.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(5));
    }
    let mut collect = Command::new(&tools().collect);
    let pid = parent.id().to_string();
    collect
        .args(["-t", "0.5", "-o", "run.er", "-P", &pid])
        .current_dir(&place);
    let outcome = finish(collect);
    let group = format!("-{}", parent.id());
    Command::new("kill").args(["--", &group]).status().unwrap();
    parent.wait().unwrap();
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let said = "a child process that runs already is not recorded: sleep (";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let views = reports(&place.join("run.er"), "user", &["-header", "-thread_list"]);
    assert!(views[0].to_string().contains(said));
    assert_eq!(rows(&views[1]).len(), 1);
}

/// Another program lies at the same path outside, and the process has ended when its symbols are read.
#[test]
fn a_process_in_a_mount_namespace_of_its_own_has_the_names_of_its_own_files() {
    let mut outside = Running::start("namespace");
    let place = outside.place.clone();
    fs::create_dir(place.join("inner")).unwrap();
    fs::copy("/bin/true", place.join("inner/program")).unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let script = "cp attached copy && mount -t tmpfs none inner && cp copy inner/program && \
                  cd inner && exec ./program > ../inside";
    let mut inside = Command::new("unshare")
        .args([if is_root { "-m" } else { "-rm" }, "sh", "-c", script])
        .current_dir(&place)
        .spawn()
        .unwrap();
    outside.wait_for("inside", |text| text.lines().count() >= 10);
    let mut collect = Command::new(&tools().collect)
        .args(["-P", &inside.id().to_string(), "-o", "run.er"])
        .current_dir(&place)
        .spawn()
        .unwrap();
    outside.wait_for("run.er/header.json", |text| !text.is_empty());
    sleep(Duration::from_millis(700));
    inside.kill().unwrap();
    inside.wait().unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(0));
    let views = reports(&place.join("run.er"), "user", &["-functions"]);
    let spun = value(&views[0], "spin", "i.totalcpu");
    let total = value(&views[0], "<Total>", "i.totalcpu");
    assert!(spun > 0.3 * total, "{spun} of {total} s in spin");
    assert_eq!(outside.stop(), Some(7));
}
