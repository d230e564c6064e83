//! The CPU time of collect after the program has ended.

use std::path::PathBuf;

use super::readers::generate;
use super::recorder::{add, record};
use super::results::Goal;
use super::run::Bench;
use super::tools::built;
use crate::Outcome;

/// Numbers of functions of the generated programs, of about 1 and 5 MB.
const FUNCTIONS: [u32; 2] = [2_000, 8_000];

/// The number of functions that one caller calls.
const CALLED: u32 = 100;

/// Measures the time to resolve the sampled addresses of ever larger programs, whose code is all
/// called and sparsely sampled. The largest is `er_print`, with 45 MB.
pub(super) fn symbols(bench: &mut Bench) -> Outcome {
    let mut programs = Vec::new();
    for functions in FUNCTIONS {
        programs.push(vec![large_program(bench, functions)?]);
    }
    let read = generate(bench, 10, 8, 20_000)?;
    programs.push(vec![built("er_print"), "-functions".into(), read]);
    for words in programs {
        let size = std::fs::metadata(&words[0]).map_or(0, |data| data.len());
        let words: Vec<String> = words.iter().map(|it| it.display().to_string()).collect();
        bench.progress(&format!("a program of {:.0} MB", size as f64 / 1e6));
        for _ in 0..bench.runs {
            let recorded = record(bench, &words, &[])?;
            let megabytes = (size as f64 / 1e6).round();
            let name = format!("symbols at the end, {megabytes} MB with debug information");
            let goal = Some(Goal::AtMost(0.5));
            add(
                bench,
                "end",
                (&name, "s of CPU time"),
                goal,
                recorded.resolving,
            )?;
        }
    }
    Ok(())
}

/// Builds a program of this many functions, each with a few lines and inlined calls.
fn large_program(bench: &Bench, functions: u32) -> Outcome<PathBuf> {
    let source = bench.folder().join(format!("large-{functions}.c"));
    let mut text = String::from(
        "static volatile double sink;\n\
         static inline double twice(double x) { return x * 2 + sink; }\n",
    );
    let begin = |name: &str, number: u32| {
        format!("__attribute__((noinline)) static double {name}_{number}(double x, int n) {{\n")
    };
    for number in 0..functions {
        text.push_str(&begin("function", number));
        text.push_str(&format!(
            "\tfor (int i = 0; i < n; i++) {{\n\
             \t\tx = twice(x) / {}.0 + i;\n\
             \t\tif (x > {number}.5)\n\t\t\tx = twice(x - {number}.25) * 0.1;\n\
             \t}}\n\treturn x;\n}}\n",
            number % 7 + 2
        ));
    }
    // Compilers are slow on a function with very many calls.
    for caller in 0..functions / CALLED {
        text.push_str(&begin("caller", caller));
        for number in caller * CALLED..(caller + 1) * CALLED {
            text.push_str(&format!("\tx += function_{number}(x, n);\n"));
        }
        text.push_str("\treturn x;\n}\n");
    }
    text.push_str("int main(void) {\n\tdouble x = 1;\n\tfor (int r = 0; r < 20; r++) {\n");
    for caller in 0..functions / CALLED {
        let times = 2_000_000 / functions;
        text.push_str(&format!("\t\tx += caller_{caller}(x, {times});\n"));
    }
    text.push_str("\t}\n\treturn x == 0.5;\n}\n");
    std::fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    bench.compiled(&source.display().to_string(), &["-O1", "-g3"])
}
