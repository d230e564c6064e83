//! `resymbolize`: names for a recording whose debug files came later, from this machine or from debuginfod.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use end_to_end::{compiler, folder, tools};
use fixtures::Family;

/// A stripped program, recorded, and its debug file in a place that nobody looks at.
struct Stripped {
    place: PathBuf,
}

impl Stripped {
    fn recorded(test: &str) -> Stripped {
        let place = folder().join(format!("resymbolize-{test}-{}", std::process::id()));
        fs::create_dir_all(place.join("hidden")).unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/inlined.c");
        let stripped = Stripped { place };
        let compiler = compiler(Family::Gcc);
        stripped.run(
            Command::new(&compiler.path)
                .args(["-O2", "-g", "-fopenmp", "-Wl,--build-id", source])
                .args(["-o", "app"]),
        );
        let keep = ["--only-keep-debug", "app", "hidden/app.debug"];
        stripped.run(Command::new("objcopy").args(keep));
        stripped.run(Command::new("strip").args(["--strip-all", "app"]));
        stripped.client(&stripped.place.join("hidden/app.debug"));
        let mut collect = Command::new(&tools().collect);
        collect.args(["-O", "test.er", "./app"]);
        stripped.run(&mut collect);
        stripped
    }

    /// A stand-in for debuginfod's client that notes what it is asked for.
    fn client(&self, debug_file: &Path) {
        let script = format!(
            "#!/bin/sh\necho \"$1\" >> {}\n[ \"$1\" = debuginfo ] && echo {} && exit 0\nexit 1\n",
            self.place.join("asked").display(),
            debug_file.display()
        );
        let path = self.place.join("bin/debuginfod-find");
        fs::create_dir_all(self.place.join("bin")).unwrap();
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a command that succeeds, with a server and the client, and no caches.
    fn run(&self, command: &mut Command) -> Output {
        let path = std::env::var("PATH").unwrap();
        let bin = self.place.join("bin");
        command
            .current_dir(&self.place)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", &self.place)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("DEBUGINFOD_CACHE_PATH")
            .env("DEBUGINFOD_URLS", "http://127.0.0.1:1")
            .env("OMP_NUM_THREADS", "2");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        output
    }

    fn print(&self, commands: &[&str]) -> String {
        let mut er_print = Command::new(&tools().er_print);
        let output = self.run(er_print.args(commands).arg("test.er"));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Whether the functions of the program have their names, inlined ones too.
    fn is_named(&self) -> bool {
        let functions = self.print(&["-inline", "on", "-functions"]);
        let has = |name: &str| functions.contains(name);
        assert_eq!(has("innermost (inlined)"), has("descend"), "{functions}");
        has("descend")
    }

    /// The records, and the names of all files of the experiment.
    fn stored(&self) -> (Vec<u8>, Vec<std::ffi::OsString>) {
        let folder = self.place.join("test.er");
        let files = fs::read_dir(&folder).unwrap();
        let mut names: Vec<_> = files.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        (fs::read(folder.join("records")).unwrap(), names)
    }

    fn asked(&self) -> Option<String> {
        fs::read_to_string(self.place.join("asked")).ok()
    }
}

#[test]
fn debuginfod_is_asked_for_what_is_not_here_and_never_by_collect() {
    let recorded = Stripped::recorded("debuginfod");
    assert_eq!(recorded.asked(), None, "collect asked");
    assert!(!recorded.is_named());
    let header = recorded.print(&["-header"]);
    assert!(header.contains("app is stripped"), "{header}");
    assert_eq!(recorded.asked(), None, "a report asked");
    // What a call that was killed left behind.
    fs::write(recorded.place.join("test.er/records.new"), "half").unwrap();
    let said = recorded.print(&["-resymbolize"]);
    assert!(said.contains("more names than before: app"), "{said}");
    assert!(recorded.asked().unwrap().contains("debuginfo"));
    assert!(recorded.is_named());
    let header = recorded.print(&["-header"]);
    assert!(!header.contains("app is stripped"), "{header}");
    let mut left = fs::read_dir(recorded.place.join("test.er")).unwrap();
    assert!(left.all(|it| it.unwrap().file_name() != "records.new"));
    // The debug file is gone again, and the program with it: the names stay.
    fs::remove_dir_all(recorded.place.join("hidden")).unwrap();
    fs::remove_file(recorded.place.join("app")).unwrap();
    recorded.print(&["-resymbolize"]);
    assert!(recorded.is_named());
    fs::remove_dir_all(&recorded.place).unwrap();
}

#[test]
fn ctrl_c_ends_a_download_and_the_experiment_is_as_it_was() {
    let recorded = Stripped::recorded("ctrl-c");
    let before = recorded.stored();
    let script = "#!/bin/sh\necho \"$1\" >> asked\nexec sleep 600\n";
    fs::write(recorded.place.join("bin/debuginfod-find"), script).unwrap();
    let path = std::env::var("PATH").unwrap();
    let bin = recorded.place.join("bin");
    let mut er_print = Command::new(&tools().er_print);
    er_print.args(["-resymbolize", "test.er"]);
    er_print.current_dir(&recorded.place);
    er_print.env("PATH", format!("{}:{path}", bin.display()));
    er_print.env("HOME", &recorded.place);
    er_print.env("DEBUGINFOD_URLS", "http://127.0.0.1:1");
    let mut running = er_print.process_group(0).spawn().unwrap();
    while recorded.asked().is_none() {
        assert_eq!(running.try_wait().unwrap(), None, "nobody was asked");
        std::thread::sleep(Duration::from_millis(20));
    }
    // As a terminal does.
    let group = format!("-{}", running.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
    assert_eq!(running.wait().unwrap().signal(), Some(2));
    assert_eq!(recorded.stored(), before);
    fs::remove_dir_all(&recorded.place).unwrap();
}

#[test]
fn without_the_client_one_sentence_says_so_and_files_of_this_machine_serve() {
    let recorded = Stripped::recorded("no-client");
    fs::create_dir(recorded.place.join(".debug")).unwrap();
    let lines = recorded.print(&["-printmode", "json", "-object_list"]);
    let list: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let rows = list["rows"].as_array().unwrap();
    let is_app =
        |row: &&serde_json::Value| row["path"].as_str().is_some_and(|it| it.ends_with("/app"));
    let id = rows.iter().find(is_app).unwrap()["build_id"]
        .as_str()
        .unwrap();
    let cache = recorded.place.join(".debug/.build-id");
    let cache = cache.join(&id[..2]).join(&id[2..]);
    fs::create_dir_all(&cache).unwrap();
    fs::copy(recorded.place.join("hidden/app.debug"), cache.join("debug")).unwrap();
    let mut er_print = Command::new(&tools().er_print);
    er_print.args(["-resymbolize", "test.er"]);
    er_print.current_dir(&recorded.place);
    er_print
        .env("PATH", "/nowhere")
        .env("HOME", &recorded.place);
    er_print.env("DEBUGINFOD_URLS", "http://127.0.0.1:1");
    let output = er_print.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let missing = "debuginfod-find is not installed";
    assert_eq!(said.matches(missing).count(), 1, "{said}");
    assert!(recorded.is_named());
    fs::remove_dir_all(&recorded.place).unwrap();
}
