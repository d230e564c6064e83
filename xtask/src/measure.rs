//! `cargo xtask fixtures`: builds and runs the fixtures and prints their measurements.

use std::collections::BTreeMap;

use fixtures::{CATALOGUE, Compiler, Opt, Program, Run, Truth, WaitPolicy};

use crate::{Outcome, target};

/// Runs the named programs (all if none is named), built by the newest compiler of each family, under
/// both wait policies, with 2 and 4 threads, and prints a line for each run.
pub(crate) fn fixtures(names: &[&str]) -> Outcome {
    if let Some(unknown) = names.iter().find(|n| fixtures::program(n).is_none()) {
        let known: Vec<&str> = CATALOGUE.iter().map(|p| p.name).collect();
        return Err(format!(
            "no fixture is named {unknown}; there are {}",
            known.join(", ")
        ));
    }
    let mut compilers = fixtures::compilers();
    compilers.dedup_by_key(|c| c.family);
    let wanted = |p: &&Program| p.measured && (names.is_empty() || names.contains(&p.name));
    for program in CATALOGUE.iter().filter(wanted) {
        println!("{}: {}", program.name, program.about);
        for compiler in compilers.iter().filter(|c| c.builds(program)) {
            measure(program, compiler)?;
        }
    }
    Ok(())
}

fn measure(program: &'static Program, compiler: &Compiler) -> Outcome {
    let folder = target().join("fixtures");
    let exe = fixtures::build(program, compiler, Opt::O2, &folder).map_err(|e| e.to_string())?;
    let counts = if program.fixed_threads {
        vec![program.threads]
    } else {
        vec![2, 4]
    };
    for policy in [WaitPolicy::Active, WaitPolicy::Passive] {
        for &threads in &counts {
            let run = Run::new(program, &exe).threads(threads).policy(policy);
            let truth = run.execute().map_err(|e| e.to_string())?;
            // Each run writes a file of its own name, so nothing overwrites an old one.
            let _ = std::fs::remove_file(run.truth_path());
            println!(
                "  {:<10} {:<7} {threads}  {}",
                compiler.name,
                policy.value(),
                line(&truth)
            );
        }
    }
    Ok(())
}

/// Wall time, the percentage of the threads' lifetimes that the truth accounts for, and seconds by
/// kind.
fn line(truth: &Truth) -> String {
    let mut kinds: BTreeMap<&str, f64> = BTreeMap::new();
    for entry in &truth.entries {
        *kinds.entry(&entry.kind).or_default() += entry.time.seconds;
    }
    let explained = 100.0 * kinds.values().sum::<f64>() / truth.lifetimes();
    let mut line = format!("{:6.3} s  {explained:5.1} %", truth.wall);
    for (kind, seconds) in kinds {
        line.push_str(&format!("  {kind} {seconds:.3}"));
    }
    line
}
