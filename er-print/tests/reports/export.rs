//! `export`: whole files and folders or none.

use std::fs;
use std::path::Path;

use crate::program::{er_print, folder};

/// The formats of one file.
const FORMATS: [&str; 6] = [
    "folded",
    "speedscope",
    "pprof",
    "hatchet",
    "firefox",
    "perfetto",
];

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_wrong_format_lists_the_formats() {
    let folder = folder();
    let ended = er_print(folder.path(), &["-export", "svg", "out", "omp.er"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "er_print: export takes one of folded, speedscope, pprof, hatchet, firefox, perfetto, parquet, not \"svg\"\n"
    );
    assert!(!folder.path().join("out").exists());
    let ended = er_print(folder.path(), &["-export", "folded", "omp.er"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

#[test]
fn each_format_is_written_to_a_file_or_to_standard_output() {
    let folder = folder();
    let before = names(folder.path());
    for format in FORMATS {
        let words = ["-export", format, "out", "omp.er"];
        let ended = er_print(folder.path(), &words);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{format}"
        );
        assert_eq!(ended.stdout, "", "{format}");
        let file = folder.path().join("out");
        let written = fs::read(&file).unwrap();
        assert!(written.len() > 100, "{format}");
        let ended = er_print(folder.path(), &["-export", format, "-", "omp.er"]);
        assert_eq!(ended.stdout, String::from_utf8_lossy(&written), "{format}");
        fs::remove_file(file).unwrap();
        assert_eq!(names(folder.path()), before, "{format}");
    }
}

#[test]
fn a_format_obeys_the_view_mode_the_filter_and_the_metric() {
    let folder = folder();
    let folded = |words: &[&str]| -> (String, u64) {
        let words = [words, &["-export", "folded", "-", "omp.er"]].concat();
        let ended = er_print(folder.path(), &words);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{words:?}"
        );
        // `metrics` and `sort` print what is in force.
        let lines = ended
            .stdout
            .lines()
            .filter(|line| !line.starts_with("Current"));
        let lines: Vec<&str> = lines.collect();
        let counts = lines.iter().map(|line| line.rsplit_once(' ').unwrap().1);
        let sum = counts.map(|count| count.parse::<u64>().unwrap()).sum();
        (lines.join("\n"), sum)
    };
    let (user, total) = folded(&[]);
    assert_eq!(total, 4_400_000);
    assert!(
        user.contains("<OMP critical section wait> 300000"),
        "{user}"
    );
    let (machine, total) = folded(&["-viewmode", "machine"]);
    assert_eq!(total, 4_400_000);
    assert!(!machine.contains("<OMP critical"), "{machine}");
    assert_eq!(folded(&["-filters", "THRID==2"]).1, 2_200_000);
    assert_eq!(folded(&["-metrics", "e.ompwork"]).1, 2_600_000);
    assert_eq!(
        folded(&["-metrics", "e.ompwork", "-sort", "e.ompwait"]).1,
        1_800_000
    );
}

#[test]
fn a_file_that_cannot_be_written_gets_one_line_and_leaves_nothing() {
    let folder = folder();
    let before = names(folder.path());
    for file in ["missing/out", "/dev/full", "omp.er"] {
        for format in FORMATS {
            let ended = er_print(folder.path(), &["-export", format, file, "omp.er"]);
            assert_eq!(ended.code, Some(1), "{format} {file}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
            let begins = format!("er_print: cannot write {file}: ");
            assert!(ended.stderr.starts_with(&begins), "{}", ended.stderr);
        }
    }
    assert_eq!(names(folder.path()), before);
}

#[test]
fn a_link_stays_one_and_its_file_is_replaced() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old"), "old").unwrap();
    std::os::unix::fs::symlink("old", at("link")).unwrap();
    let ended = er_print(folder.path(), &["-export", "folded", "link", "omp.er"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert!(fs::read_to_string(at("old")).unwrap().contains("main"));
}

/// The files of a folder of Parquet.
const PARQUET: [&str; 7] = [
    "frames.parquet",
    "intervals.parquet",
    "recording.parquet",
    "regions.parquet",
    "samples.parquet",
    "stacks.parquet",
    "threads.parquet",
];

#[test]
fn a_folder_is_written_whole_and_replaced_if_it_was_exported() {
    let folder = folder();
    let before = names(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    for (name, words) in [
        ("new", &[][..]),
        ("new", &["-viewmode", "machine"]),
        ("new/", &["-filters", "THRID==2"]),
        ("new", &["-filters", "THRID==99"]),
        ("empty", &[]),
    ] {
        for experiment in ["omp.er", "plain.er", "cnt.er", "marked.er"] {
            let words = [words, &["-export", "parquet", name, experiment]].concat();
            let ended = er_print(folder.path(), &words);
            assert_eq!(
                (ended.code, ended.stderr.as_str()),
                (Some(0), ""),
                "{words:?}"
            );
            assert_eq!(names(&at(name)), PARQUET, "{words:?}");
        }
    }
    let ended = er_print(
        folder.path(),
        &["-export", "parquet", "new", "omp.er", "plain.er"],
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    // What a link leads to is replaced.
    std::os::unix::fs::symlink("new", at("link")).unwrap();
    let ended = er_print(folder.path(), &["-export", "parquet", "link", "omp.er"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    for name in ["new", "empty"] {
        fs::remove_dir_all(at(name)).unwrap();
    }
    fs::remove_file(at("link")).unwrap();
    assert_eq!(names(folder.path()), before);
}

#[test]
fn a_folder_that_cannot_be_written_gets_one_line_and_leaves_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/notes"), "mine").unwrap();
    fs::create_dir(at("part")).unwrap();
    fs::write(at("part/samples.parquet"), "of someone else").unwrap();
    fs::write(at("file"), "").unwrap();
    let before = names(folder.path());
    let cause = [
        ("other", "it has other files, such as notes"),
        ("part", "it has files that were not exported"),
        ("omp.er", "it has other files, such as "),
        ("file", "it is there and is no folder"),
        ("missing/out", "No such file or directory"),
        ("/dev/full", "it is there and is no folder"),
    ];
    for (name, cause) in cause {
        let ended = er_print(folder.path(), &["-export", "parquet", name, "omp.er"]);
        assert_eq!(ended.code, Some(1), "{name}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        let begins = format!("er_print: cannot write {name}: ");
        assert!(ended.stderr.starts_with(&begins), "{}", ended.stderr);
        assert!(ended.stderr.contains(cause), "{}", ended.stderr);
    }
    assert_eq!(names(folder.path()), before);
    assert_eq!(fs::read_to_string(at("other/notes")).unwrap(), "mine");
    assert_eq!(names(&at("part")), ["samples.parquet"]);
    let ended = er_print(folder.path(), &["-export", "parquet", "-", "omp.er"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "er_print: export parquet writes a folder: name a directory instead of -\n"
    );
}
