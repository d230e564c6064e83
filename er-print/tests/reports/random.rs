//! Random words on whole and damaged experiments: each line works, or ends with one line that says
//! what is wrong.

use std::path::Path;

use fastrand::Rng;

use crate::program::{Ended, er_print, er_print_reading, folder};

const COMMANDS: &[&str] = &[
    "functions",
    "compare",
    "calltree",
    "ctree",
    "callers-callees",
    "gprof",
    "fsingle main",
    "fsingle 'foo -- OMP'",
    "fsingle bar 1",
    "fsingle <Total> 0",
    "lines",
    "header",
    "overview",
    "thread_list",
    "Threads",
    "object_list",
    "metric_list",
    "version",
    "help",
    "limit 3",
    "no_source",
    "redact",
    "limit 0",
    "limit 99999999999999999999",
    "viewmode user",
    "viewmode machine",
    "viewmode EXPERT",
    "name long",
    "name short:soname",
    "name mangled:nosoname",
    "printmode json",
    "printmode text",
    "metrics all",
    "metrics e.%all",
    "metrics default",
    "metrics name",
    "metrics !any",
    "metrics e!total:i%ompibar:size",
    "metrics ompwork:ompwait",
    "sort name",
    "sort -e.total",
    "sort size",
    "sort address",
    "sort i.omptskwt",
    "quit",
    "Seconds",
    "filters 1",
    "filters THRID==2 && \"bar\" IN STACK",
    "filters (TSTAMP < 3000000) || !CPUID",
    "filters THRID IN (1,",
    "filters ((((((1)",
    "describe",
    "thread_select 1,2-9",
    "lwp_select 101",
    "cpu_select 0",
    "sample_select all",
    "object_hide libc.so.6",
    "object_select app",
    "object_api all",
    "object_show <plain>",
    "objects_default",
    "pcs",
    "fsummary",
    "lsummary",
    "psummary",
    "source bar",
    "source foo.c",
    "source main 2",
    "disasm bar",
    "disasm <Total>",
    "sthresh 10",
    "dthresh 101",
    "setpath /:.",
    "addpath src",
    "pathmap / x",
    "scc basic:none",
    "cc parallel",
    "dcc xyz",
    "csingle main",
    "csingle bar 1",
    "cprepend main",
    "cappend bar",
    "crmfirst",
    "crmlast",
    "experiment_list",
    "lwp_list",
    "cpu_list",
    "sample_list",
    "cmetric_list",
    "indx_metric_list",
    "statistics",
    "objects",
    "sample_detail",
    "procstats",
    "printmode html",
    "printmode ,",
    "inline on",
    "inline off",
    "compare on",
    "compare delta",
    "compare ratio",
    "compare scaling",
    "compare off",
    "add_exp omp.er",
    "add_exp plain.er",
    "open_exp omp.er",
    "drop_exp omp.er",
    "drop_exp plain.er",
    "check ompwait < 90%",
    "check total(bar) < base",
    "check total(each line) < 2 * base",
    "check total(each function) < 10%",
    "dmetrics e.total",
    "dsort size",
    "en_desc on",
    "tabs x",
    "tlmode x",
    "tldata x",
    "ifreq",
    "leaks",
    "OMP_preg",
    "OMP_task",
    "OMP_loop",
    "OMP_lock",
    "ranks",
    "mpi",
    "waits",
    "causes",
    "critical",
    "pgas",
    "pairs",
    "memory",
    "races",
    "rdetail all",
    "rdetail 2",
    "rsummary",
    "deadlocks",
    "ddetail",
    "dsummary",
    "misuse",
    "uninit",
    "udetail 1",
    "divergence",
    "vdetail all",
    "vsummary",
    "check races <= 3",
    "check",
    "CPUs",
    "Samples",
    "Phases",
    "Processes",
    "Experiment_IDs",
    "Rank_IDs",
    "Hosts",
    "indxobj Threads",
    "indxobj_list",
    "indxobj_define pairs THRID/2",
];

/// One experiment, or several, which are added up or compared; some are damaged.
const EXPERIMENTS: &[&str] = &[
    "job.r0.er job.r1.er job.r2.er",
    "part.r1.er far.r2.er job.r0.er",
    "omp.er",
    "omp.er",
    "plain.er",
    "omp.er one.er",
    "one.er plain.er omp.er",
    "omp.er -- one.er plain.er",
    "one.er one.er -- omp.er omp.er",
    "broken0.er",
    "race.er",
    "race.er later.er",
    "race.er omp.er clean.er",
    "omp.er broken1.er",
    "broken2.er",
    "broken3.er plain.er",
];

/// How many of [`EXPERIMENTS`] are damaged.
const BROKEN: usize = 4;

/// What may stand in a filter, in no order; a number of it makes one.
const FILTER_PARTS: &[&str] = &[
    "EXPID",
    "PID",
    "THRID",
    "LWPID",
    "CPUID",
    "TSTAMP",
    "SAMPLE",
    "MSTATE",
    "OMPSTATE",
    "CPRID",
    "TSKID",
    "REGION",
    "TASK",
    "LEAF",
    "STACK",
    "IN",
    "SOME IN",
    "ORDERED IN",
    "USER",
    "BLOCKED",
    "SERIAL",
    "OMPIBAR",
    "OMPTSKWT",
    "WORK",
    "\"foo\"",
    "\"b*\"",
    "(\"main\", \"bar\")",
    "(1, 3-5)",
    "0",
    "1",
    "-1",
    "0x7f",
    "99999999999999999999",
    "!",
    "~",
    "-",
    "*",
    "/",
    "%",
    "+",
    "<<",
    ">>",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "&",
    "^",
    "|",
    "&&",
    "||",
    "(",
    ")",
    ",",
    "\"",
    "é",
];

/// Filters with every word as it should be.
const FILTERS: &[&str] = &[
    "EXPID==1",
    "PID>0",
    "THRID IN (1, 3-5)",
    "LWPID%2",
    "CPUID==-1",
    "CPUID<1",
    "TSTAMP<1000000",
    "SAMPLE==1",
    "MSTATE==BLOCKED",
    "MSTATE!=USER",
    "OMPSTATE==OMPIBAR",
    "OMPSTATE==WORK",
    "CPRID>0",
    "TSKID==0",
    "REGION>0",
    "TASK==0",
    "LEAF==\"bar\"",
    "LEAF IN (\"bar\", \"f*\")",
    "\"main\" IN STACK",
    "(\"main\", \"bar\") IN STACK",
    "(\"main\", \"bar\") SOME IN STACK",
    "(\"main\", \"bar\") ORDERED IN STACK",
    "1",
    "0",
    "1<<3 & 8",
    "~0",
    "-THRID<0",
];

/// The names of metrics, and some that are none.
const METRICS: &[&str] = &[
    "total",
    "totalcpu",
    "user",
    "system",
    "offcpu",
    "ompwork",
    "ompwait",
    "offcpuwork",
    "ompovhd",
    "omprduc",
    "ompibar",
    "ompebar",
    "ompidle",
    "omplkwt",
    "ompctwt",
    "ompodwt",
    "ompatwt",
    "omptskwt",
    "blame",
    "size",
    "address",
    "name",
    "any",
    "all",
    "ompwrok",
    "",
];

const NOISE: &[&str] = &[
    "", "-", "--", "é", "e.", "%", ":", "name:", "-1", "0", "\"", "'", "#", "<Total>", "…",
    "metrics", "sort", "limit", "e.%", "any:any", "\u{0}x", "a b", "fsingle", "script", "x",
];

fn random_line(random: &mut Rng) -> String {
    let mut line = match random.usize(..3) {
        0 => random_argument(random),
        _ => choose(random, COMMANDS).to_owned(),
    };
    match random.usize(..6) {
        0 => {
            // One letter more, less or other.
            let at = random.usize(..line.chars().count());
            let noise = choose(random, NOISE);
            let letters = line.chars().enumerate();
            line = letters
                .map(|(i, letter)| {
                    if i == at {
                        noise.to_owned()
                    } else {
                        letter.to_string()
                    }
                })
                .collect();
        }
        1 => {
            line.push(' ');
            line.push_str(choose(random, NOISE));
        }
        2 => line.truncate(
            line.char_indices()
                .nth(random.usize(..9))
                .map_or(line.len(), |(at, _)| at),
        ),
        _ => {}
    }
    line
}

/// A filter: as it should be, two of them joined, or parts in no order.
fn random_filter(random: &mut Rng) -> String {
    match random.usize(..4) {
        0 => choose(random, FILTERS).to_owned(),
        1 => {
            let (left, right) = (random_filter(random), choose(random, FILTERS));
            let operator = choose(random, &["&&", "||", "==", "&", "+", "<<"]);
            format!("({left}) {operator} !({right})")
        }
        _ => {
            let parts = (0..=random.usize(..6)).map(|_| choose(random, FILTER_PARTS));
            parts.collect::<Vec<_>>().join(" ")
        }
    }
}

/// A list of metrics.
fn random_metrics(random: &mut Rng) -> String {
    let entries = (0..=random.usize(..4)).map(|_| {
        let flavour = choose(random, &["e", "i", "a", "ei", "", "x"]);
        let visibility = choose(random, &[".", "%", "+", "!", ".%", "", "?"]);
        format!("{flavour}{visibility}{}", choose(random, METRICS))
    });
    entries.collect::<Vec<_>>().join(":")
}

/// A command with an argument made up on the spot.
fn random_argument(random: &mut Rng) -> String {
    match random.usize(..6) {
        0 => format!("filters {}", random_filter(random)),
        1 => format!("indxobj_define own {}", random_filter(random)),
        2 => format!("metrics {}", random_metrics(random)),
        3 => format!("sort {}", random_metrics(random)),
        4 => format!(
            "check {} < {}%",
            random_metrics(random),
            random.usize(..120)
        ),
        _ => format!("dmetrics {}", random_metrics(random)),
    }
}

/// Damages copies of the experiment: cut short, bytes changed, a header that is none, no header.
fn damage(folder: &Path, random: &mut Rng) {
    for number in 0..BROKEN {
        let broken = folder.join(format!("broken{number}.er"));
        let _ = std::fs::remove_dir_all(&broken);
        std::fs::create_dir(&broken).unwrap();
        for entry in std::fs::read_dir(folder.join("omp.er")).unwrap() {
            let entry = entry.unwrap();
            let mut bytes = std::fs::read(entry.path()).unwrap();
            let name = entry.file_name();
            match (number, name.to_str()) {
                (0, Some("records")) => bytes.truncate(random.usize(..bytes.len())),
                (1, Some("records")) => {
                    for _ in 0..=random.usize(..8) {
                        let at = random.usize(..bytes.len());
                        bytes[at] = random.u8(..);
                    }
                }
                (2, Some("records")) => bytes.rotate_left(random.usize(..64)),
                (3, Some("records")) => {}
                (3, _) if random.usize(..2) == 0 => continue,
                (3, _) => bytes.truncate(random.usize(..bytes.len())),
                _ => {}
            }
            std::fs::write(broken.join(name), bytes).unwrap();
        }
    }
}

fn choose<'a>(random: &mut Rng, words: &[&'a str]) -> &'a str {
    words[random.usize(..words.len())]
}

/// What may come of random commands: they work, or end with one line and status 2. A damaged
/// experiment is told of in a line before that, or cannot be read at all, which is status 1.
fn check_random(ended: &Ended, broken: bool, what: &str) {
    let said = ended.stderr.lines();
    let warned = |line: &&str| line.starts_with("er_print: warning: ");
    let lines: Vec<&str> = said.filter(|line| !(broken && warned(line))).collect();
    let what = format!("{what}: {}", ended.stderr);
    match ended.code {
        Some(0) => assert!(lines.is_empty(), "{what}"),
        Some(2) => assert_eq!(lines.len(), 1, "{what}"),
        Some(1) if broken => assert!(lines.len() < 2, "{what}"),
        other => panic!("status {other:?}: {what}"),
    }
    assert!(!ended.stderr.contains("panicked"), "{what}");
}

/// The generator draws from every command of the table but those that write or read files of any
/// name, or write the experiments that the tests share.
#[test]
fn random_lines_have_every_command() {
    const APART: [&str; 8] = [
        "outfile",
        "appendfile",
        "export",
        "report",
        "script",
        "budgets",
        "suppressions",
        "resymbolize",
    ];
    let folder = folder();
    let help = er_print(folder.path(), &["-printmode", "json", "-help"]);
    let help: serde_json::Value = serde_json::from_str(&help.stdout).unwrap();
    for command in help["rows"].as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        let drawn = |line: &&str| line.split(' ').next() == Some(name);
        assert!(
            COMMANDS.iter().any(drawn) || APART.contains(&name) || command["supported"] == false,
            "{name} is not drawn"
        );
    }
}

#[test]
fn random_scripts_work_or_end_with_one_line() {
    let folder = folder();
    for seed in 0..5000 {
        let mut random = Rng::with_seed(seed);
        if seed % 50 == 0 {
            damage(folder.path(), &mut random);
        }
        let lines: Vec<String> = (0..=random.usize(..6))
            .map(|_| random_line(&mut random))
            .collect();
        let input = lines.join("\n");
        let experiments: Vec<&str> = choose(&mut random, EXPERIMENTS).split(' ').collect();
        let ended = er_print_reading(folder.path(), &experiments, &input);
        // `script x` reads a file, which is not there.
        let names_a_file = ["script", "_exp"].iter().any(|word| input.contains(word));
        // A condition that does not hold has status 1 and its verdict on standard output.
        let unmet = ended.code == Some(1) && ended.stdout.contains("FAIL ")
            || ended.stdout.contains("\"passed\":false");
        // So has one that cannot be told, because not all of the program was checked, with status 2.
        let untold =
            ended.code == Some(2) && ended.stderr.is_empty() && input.contains("check races");
        if !(ended.code == Some(1) && names_a_file || unmet || untold) {
            let broken = experiments.iter().any(|name| name.contains("broken"));
            check_random(
                &ended,
                broken,
                &format!("seed {seed}: {experiments:?} {input:?}"),
            );
        }
    }
}

#[test]
fn random_command_lines_work_or_end_with_one_line() {
    let folder = folder();
    for seed in 0..5000 {
        let mut random = Rng::with_seed(seed);
        if seed % 50 == 0 {
            damage(folder.path(), &mut random);
        }
        let mut words = Vec::new();
        for _ in 0..=random.usize(..4) {
            let line = random_line(&mut random).replace('\0', "");
            let split = line.split(' ').map(str::to_owned);
            words.extend(split.enumerate().map(|(at, word)| match at {
                0 => format!("-{word}"),
                _ => word,
            }));
        }
        // An experiment that is not there has status 1: only the last word may be one.
        let experiments = choose(&mut random, EXPERIMENTS).split(' ');
        words.extend(experiments.map(str::to_owned));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = er_print(folder.path(), &words);
        let missing = ended.code == Some(1) && ended.stderr.contains(" experiment");
        let unmet = ended.code == Some(1) && ended.stderr.is_empty();
        if !missing && !unmet {
            let broken = words.iter().any(|word| word.contains("broken"));
            check_random(&ended, broken, &format!("seed {seed}: {words:?}"));
        }
    }
}
