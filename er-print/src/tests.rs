use std::path::{Path, PathBuf};

use expect_test::expect_file;
use omp_model::defaults;

use crate::args::Invocation;
use crate::commands::{self, COMMANDS};
use crate::stop::Stop;
use crate::{completions, man};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn message<T>(result: Result<T, Stop>) -> String {
    match result {
        Err(stop) => stop.to_string(),
        Ok(_) => panic!("this should not be understood"),
    }
}

#[test]
fn every_command_is_found_by_its_names_in_any_case() {
    for command in COMMANDS.iter() {
        for name in std::iter::once(&command.name).chain(command.aliases) {
            assert_eq!(commands::find(name).unwrap().name, command.name);
            assert_eq!(
                commands::find(&name.to_uppercase()).unwrap().name,
                command.name
            );
        }
    }
}

#[test]
fn names_and_aliases_are_distinct() {
    let all = COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(&command.name).chain(command.aliases));
    let mut names: Vec<String> = all.map(|name| name.to_lowercase()).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_word_of_the_language_is_known() {
    let language = "functions metrics sort fsummary fsingle callers-callees gprof csingle cprepend \
        cappend crmfirst crmlast calltree ctree lines lsummary pcs psummary source disasm sthresh \
        dthresh setpath addpath pathmap scc dcc cc indxobj indxobj_list indxobj_define Threads \
        CPUs Samples Seconds Processes Experiment_IDs OMP_preg OMP_task experiment_list \
        sample_list thread_list lwp_list cpu_list object_list filters describe thread_select \
        lwp_select cpu_select sample_select object_select object_show object_hide object_api \
        objects_default metric_list cmetric_list indx_metric_list outfile appendfile limit name \
        viewmode compare printmode header overview statistics objects ifreq sample_detail \
        procstats version help open_exp add_exp drop_exp dmetrics dsort en_desc tabs tlmode \
        tldata leaks allocs heap heapstat ioactivity iodetail iocallstack iostat races rsummary \
        rdetail deadlocks dsummary ddetail script quit exit";
    for word in words(language) {
        assert!(commands::find(&word).is_ok(), "{word}");
    }
}

#[test]
fn an_unambiguous_beginning_does() {
    assert_eq!(commands::find("func").unwrap().name, "functions");
    assert_eq!(commands::find("CallT").unwrap().name, "calltree");
    assert_eq!(commands::find("gp").unwrap().name, "callers-callees");
    assert_eq!(
        commands::find("object")
            .unwrap_err()
            .to_string()
            .lines()
            .count(),
        1
    );
    let ambiguous = message(commands::find("fs"));
    assert!(ambiguous.contains("fsummary, fsingle"), "{ambiguous}");
}

#[test]
fn an_unknown_word_gets_its_nearest() {
    assert_eq!(
        message(commands::find("fucntions")),
        "there is no command \"fucntions\": did you mean \"functions\"?"
    );
    assert!(message(commands::find("xyzzy")).contains("er_print -help"));
    assert!(message(commands::find("")).contains("there is no command"));
}

#[test]
fn arguments_go_to_their_commands_and_the_rest_are_experiments() {
    let line = "-metrics e.total -fsingle main 2 -limit 3 -fsingle foo 7 -lines a.er b.er";
    let invocation = Invocation::parse(&words(line)).unwrap();
    let steps: Vec<(&str, Vec<&str>)> = invocation
        .steps
        .iter()
        .map(|step| {
            (
                step.command.name,
                step.arguments.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    let expected = [
        ("metrics", vec!["e.total"]),
        ("fsingle", vec!["main", "2"]),
        ("limit", vec!["3"]),
        ("fsingle", vec!["foo", "7"]),
        ("lines", vec![]),
    ];
    assert_eq!(steps, expected);
    assert_eq!(
        invocation.experiments,
        [(PathBuf::from("a.er"), 0), (PathBuf::from("b.er"), 1)]
    );
}

#[test]
fn an_experiment_named_by_a_number_is_not_an_optional_argument() {
    let invocation = Invocation::parse(&words("-fsingle main 1")).unwrap();
    assert_eq!(invocation.steps[0].arguments, ["main"]);
    assert_eq!(invocation.experiments, [(PathBuf::from("1"), 0)]);
}

#[test]
fn a_comparison_needs_no_mode() {
    let parsed = |line: &str| {
        let invocation = Invocation::parse(&words(line)).unwrap();
        let arguments = invocation.steps[0].arguments.clone();
        let sides = invocation.experiments.iter().map(|it| it.1);
        (arguments, sides.collect::<Vec<_>>())
    };
    let none: [&str; 0] = [];
    assert_eq!(
        parsed("-compare A1 A2 -- B1 C"),
        (none.map(str::to_owned).into(), vec![0, 0, 1, 1])
    );
    assert_eq!(
        parsed("-compare del A1 B1"),
        (vec!["del".to_owned()], vec![0, 1])
    );
    assert_eq!(
        parsed("A1 B1 -compare on"),
        (vec!["on".to_owned()], vec![0, 1])
    );
}

#[test]
fn a_missing_argument_is_asked_for() {
    assert_eq!(
        message(Invocation::parse(&words("-functions -limit"))),
        "limit needs an argument: write limit N"
    );
}

#[test]
fn lines_split_at_spaces_outside_quotation_marks() {
    let split = |line| defaults::words(line).unwrap();
    assert_eq!(
        split("  fsingle  main 2 # the second"),
        ["fsingle", "main", "2"]
    );
    assert_eq!(
        split("fsingle \"foo -- OMP\" 'a \"b\"'"),
        ["fsingle", "foo -- OMP", "a \"b\""]
    );
    assert_eq!(split("fsingle \"\""), ["fsingle", ""]);
    assert!(split("# nothing").is_empty());
    assert!(defaults::words("fsingle \"foo").is_err());
}

/// `docs/completions` is made from the table; `UPDATE_EXPECT=1` writes it anew.
#[test]
fn completions_are_those_of_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/completions");
    for (name, made) in [
        ("er_print.bash", completions::bash()),
        ("_er_print", completions::zsh()),
        ("er_print.fish", completions::fish()),
    ] {
        expect_file![folder.join(name)].assert_eq(&made);
    }
}

/// `docs/man/er_print.1` is made from the table; `UPDATE_EXPECT=1` writes it anew.
#[test]
fn the_manual_page_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/man/er_print.1");
    expect_file![path].assert_eq(&man::page());
}
