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
        "er_print: export takes one of folded, speedscope, pprof, hatchet, firefox, perfetto, sarif, parquet, not \"svg\"\n"
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

/// SARIF by values: levels, places relative to the program's folder, suppressions with their reasons.
#[test]
fn findings_become_sarif() {
    let folder = folder();
    let sarif = |words: &[&str]| -> serde_json::Value {
        let words = [words, &["-export", "sarif", "-", "race.er"]].concat();
        let ended = er_print(folder.path(), &words);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let log = sarif(&["-suppressions", "known.txt"]);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(
        run["originalUriBaseIds"]["SRCROOT"]["uri"],
        "file:///home/ann/app/"
    );
    let results = run["results"].as_array().unwrap();
    let told: Vec<(&str, &str, u64)> = results
        .iter()
        .map(|result| {
            let (rule, level) = (&result["ruleId"], &result["level"]);
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            let rules = &run["tool"]["driver"]["rules"];
            assert_eq!(rules[index]["id"], *rule);
            let at = &result["locations"][0]["physicalLocation"];
            assert_eq!(at["artifactLocation"]["uri"], "foo.c");
            assert_eq!(at["artifactLocation"]["uriBaseId"], "SRCROOT");
            let line = at["region"]["startLine"].as_u64().unwrap();
            (rule.as_str().unwrap(), level.as_str().unwrap(), line)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("race", "error", 12),
            ("race", "error", 12),
            ("order-by-chance", "warning", 14),
            ("deadlock", "warning", 14),
            ("deadlock", "error", 16),
            ("misuse", "error", 15),
            ("uninitialised-read", "error", 12),
            ("initial-value", "note", 14),
        ]
    );
    let second = &results[1];
    assert_eq!(
        second["message"]["text"],
        "atomic write of a[17] is not ordered with the read at foo.c:14 (add)"
    );
    let related = second["relatedLocations"].as_array().unwrap();
    let words: Vec<&str> = related
        .iter()
        .map(|it| it["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        words,
        ["read by thread 1, iterations 50 to 99", "allocated"]
    );
    assert_eq!(related[0]["physicalLocation"]["region"]["startLine"], 14);
    let stacks = second["stacks"].as_array().unwrap();
    assert_eq!(
        (stacks.len(), &stacks[1]["message"]["text"]),
        (2, &"read".into())
    );
    let frame = &stacks[1]["frames"][1]["location"];
    assert_eq!(frame["logicalLocations"][0]["name"], "main");
    // The first is suppressed, the others are not.
    assert_eq!(
        results[0]["suppressions"][0]["justification"],
        "the sum is printed only"
    );
    assert!(
        results[1..]
            .iter()
            .all(|it| it.get("suppressions").is_none())
    );
    let said = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(
        said.contains("libblas.so.3")
            && said.contains("libsolver.so")
            && said.contains("suppresses nothing"),
        "{said}"
    );
    // A finding is known again by code hosts: elements of an array are one variable.
    let prints = |log: &serde_json::Value| -> Vec<String> {
        let results = log["runs"][0]["results"].as_array().unwrap().iter();
        results
            .map(|it| it["partialFingerprints"].to_string())
            .collect()
    };
    let later = er_print(folder.path(), &["-export", "sarif", "-", "later.er"]);
    let later: serde_json::Value = serde_json::from_str(&later.stdout).unwrap();
    assert_eq!(prints(&log)[1], prints(&later)[1]);
    assert_eq!(later["runs"][0]["results"][0]["ruleId"], "race");
    // Paths from the root of a repository.
    let mapped = sarif(&["-pathmap", "/home/ann", "/src"]);
    let at = &mapped["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(at["artifactLocation"]["uri"], "file:///src/app/foo.c");
    let mapped = sarif(&["-pathmap", "/home/ann/", "project/"]);
    let at = &mapped["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(at["artifactLocation"]["uri"], "project/app/foo.c");
}

#[test]
fn without_findings_there_is_no_sarif() {
    let folder = folder();
    let ended = er_print(folder.path(), &["-export", "sarif", "out", "omp.er"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "er_print: export sarif writes findings, and the experiment has none; record it with `collect -r race`\n"
    );
    assert!(!folder.path().join("out").exists());
}
