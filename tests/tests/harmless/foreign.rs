//! Programs into which the library cannot be loaded: they run as alone, and it is said that they were
//! recorded without events.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use end_to_end::{Outcome, finish, folder};

use crate::{collect, command, has_records, is_readable, notes, place, program, record, text};

/// A program of `tests/programs`, built for musl.
fn by_musl(name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let product = format!(
        "built-{name}-musl{}-{}",
        options.concat(),
        std::process::id()
    );
    let product = folder().join(product);
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if product.exists() {
        return product;
    }
    let built = Command::new("musl-gcc")
        .args(["-O2", "-g", "-pthread"])
        .args(options)
        .arg(source.join(name).with_extension("c"))
        .arg("-o")
        .arg(&product)
        .status();
    let built = built.expect("these tests need musl-gcc");
    assert!(built.success(), "musl-gcc {name}");
    product
}

const MUSL: &str = "its dynamic linker, /lib/ld-musl-x86_64.so.1, is not that of the GNU C library";

#[track_caller]
fn ran_as_alone(outcome: &Outcome) {
    let ended = (outcome.status, outcome.stdout.as_str());
    assert_eq!(ended, (5, "word done\n"), "{}", outcome.stderr);
    assert_eq!(outcome.said_by_program(), "");
}

/// collect has said one line, which has all of these words.
#[track_caller]
fn said(outcome: &Outcome, words: &[&str]) {
    let lines: Vec<&str> = outcome.said_by_collect().collect();
    let has_all = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(matches!(lines[..], [line] if has_all(line)), "{lines:?}");
}

#[test]
fn a_program_of_another_c_library() {
    let place = place("musl");
    let experiment = place.join("run.er");
    let program = by_musl("foreign", &[]);
    let outcome = record(&experiment, &[text(&program), "word"]);
    ran_as_alone(&outcome);
    said(&outcome, &[MUSL, "without OpenMP events"]);
    is_readable(&experiment);
    let noted = notes(&experiment);
    assert!(noted.iter().any(|note| note.contains(MUSL)), "{noted:?}");
    let script = place.join("script");
    fs::write(&script, format!("#!{} -x\n", text(&program))).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let outcome = record(&experiment, &[text(&script)]);
    assert_eq!(
        (outcome.status, outcome.said_by_program().as_str()),
        (5, "")
    );
    said(&outcome, &[MUSL, "without OpenMP events"]);
    fs::remove_dir_all(place).unwrap();
}

/// Nothing has to be said of a program that loads nothing.
#[test]
fn a_static_program_of_another_c_library() {
    let place = place("musl-static");
    let program = by_musl("foreign", &["-static"]);
    let outcome = record(&place.join("run.er"), &[text(&program), "word"]);
    assert_eq!(outcome.status, 5, "{}", outcome.stderr);
    assert_eq!(outcome.said_by_program(), "");
    assert_eq!(outcome.said_by_collect().count(), 0, "{}", outcome.stderr);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_program_of_another_c_library_under_checks() {
    let place = place("musl-checks");
    let program = by_musl("foreign", &[]);
    let words = ["-r", "all", text(&program), "word"];
    let outcome = record(&place.join("run.er"), &words);
    ran_as_alone(&outcome);
    said(&outcome, &[MUSL, "nothing was checked"]);
    fs::remove_dir_all(place).unwrap();
}

/// All ways to start a program.
const WAYS: [&str; 18] = [
    "execl",
    "execl short",
    "execlp",
    "execle",
    "execv",
    "execvp",
    "execve",
    "execve none",
    "execvpe",
    "fexecve",
    "fexecve path",
    "execveat",
    "execveat file",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "vfork",
];

/// With these options of collect, `starts` starts the program as it does without collect, and one that is
/// not there.
#[track_caller]
fn starts_as_bare(options: &[&str], started: &Path, ways: &[&str]) {
    let place = place(&format!("starts{}", options.concat()));
    let experiment = place.join("run.er");
    let starts = program("starts", &[]);
    let name = started.file_name().unwrap().to_str().unwrap();
    let folders = format!("/none:{}:{}", text(folder()), env!("PATH"));
    let run = |words: &[&str]| {
        let mut command = command(words);
        command.env("PATH", &folders);
        command.env("OMP_TOOL_LIBRARIES", "/none.so");
        command.env("ASAN_OPTIONS", "verbosity=0:verify_asan_link_order=1");
        finish(command)
    };
    for way in ways {
        for [path, name] in [[text(started), name], ["/none/none", "none"]] {
            let words = [text(&starts), way, path, name];
            let bare = run(&words);
            let with = run(&[&collect(&experiment)[..], options, &words].concat());
            assert_eq!(with.status, bare.status, "{words:?}: {}", with.stderr);
            assert_eq!(with.stdout, bare.stdout, "{words:?}: {}", with.stderr);
            assert_eq!(with.said_by_program(), bare.stderr, "{words:?}");
        }
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn every_way_to_start_a_program_of_another_c_library() {
    starts_as_bare(&[], &by_musl("foreign", &[]), &WAYS);
}

#[test]
fn every_way_to_start_one_under_checks() {
    starts_as_bare(&["-r", "deadlock"], &by_musl("foreign", &[]), &WAYS);
}

/// The library takes itself out of the environment, of whatever is started.
#[test]
fn every_way_to_start_one_that_is_not_recorded() {
    starts_as_bare(&["-F", "off"], &by_musl("foreign", &[]), &WAYS);
    starts_as_bare(
        &["-F", "off", "-r", "deadlock"],
        &by_musl("foreign", &[]),
        &WAYS,
    );
}

/// A filter of system calls that permits no look at a file.
#[test]
fn a_program_that_is_started_under_a_filter() {
    let place = place("filter");
    let starts = program("starts", &[]);
    // It makes none of the calls that a dynamic linker makes.
    let started = by_musl("foreign", &["-static"]);
    for way in ["filter", "filter by prctl"] {
        let words = [text(&starts), way, text(&started), "foreign"];
        let outcome = record(&place.join("run.er"), &words);
        let ended = outcome.stdout.lines().last();
        assert_eq!(ended, Some(&*format!("{way}: 5")), "{}", outcome.stderr);
    }
    fs::remove_dir_all(place).unwrap();
}

/// That of a program that starts another one in its own process is recorded, too.
#[test]
fn a_program_that_becomes_another_one() {
    let place = place("becomes");
    let experiment = place.join("run.er");
    let busy = program("busy", &[]);
    let lines: [&[&str]; 2] = [
        &["sh", "-c", "exec \"$0\" 50", text(&busy)],
        &["env", "LD_PRELOAD=libm.so.6", text(&busy), "50"],
    ];
    for words in lines {
        let outcome = record(&experiment, &[&["-F", "off"], words].concat());
        assert_eq!(outcome.status, 4, "{}", outcome.stderr);
        assert!(has_records(&experiment), "{words:?}");
    }
    fs::remove_dir_all(place).unwrap();
}

/// Where the library cannot be seen, the dynamic linker would complain on standard error.
#[test]
fn a_root_folder_without_the_library() {
    let place = place("root");
    let busy = program("busy", &[]);
    let script = "mkdir root && for file in $(ldd \"$0\" | grep -o '/[^ ]*') \"$0\"; do \
                  mkdir -p root$(dirname $file) && cp $file root$file; done; \
                  exec $C -O run.er unshare -r chroot root \"$0\" 150";
    let mut shell = command(&["bash", "-c", script, text(&busy)]);
    shell.current_dir(&place);
    shell.env("C", &end_to_end::tools().collect);
    let outcome = finish(shell);
    crate::ran_to_its_end(&outcome);
    assert_eq!(outcome.said_by_program(), "");
    said(&outcome, &["its root folder or mount namespace"]);
    fs::remove_dir_all(place).unwrap();
}
