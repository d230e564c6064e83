//! The tasks of this repository: `cargo xtask demo | test | install | dist | fixtures | bench | lines | pictures | ci`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use checks::Suite;

mod bench;
mod checks;
mod command;
mod counts;
mod demo;
mod dist;
mod floors;
mod install;
mod lines;
mod measure;
mod packages;
mod pictures;
mod third_party;

const USAGE: &str = "\
usage: cargo xtask TASK

  demo                   build collect and er_print (minutes), record an OpenMP program and read it
  test                   install what the tests need, then run every check; minutes
  test --all             the same, and the tests of hours: every compiler, faults at random
  ci                     the same as test: what .ci/run calls is what a person runs
  install --prefix DIR [--debug-files]
                         build in release mode and install under DIR, stripped; debug information
                         beside the programs if it is asked for
  dist                   build target/dist/*.tar.xz, *.deb, *.rpm and *.whl, for this and older systems
  fixtures [NAME...]     build and run the fixtures and print what they measured
  bench [GROUP...]       measure what Parallax costs beside other profilers; --help says more
  lines                  count the lines of the product, by crate
  pictures [EXPERIMENT]  make docs/pictures from analyzer in a terminal, of the demo's run or another";

/// The result of a task; the error is one sentence that says what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the repository's root")
}

/// Cargo's folder of build products, which a variable may place elsewhere.
pub(crate) fn target() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    // Cargo runs in the root.
    root().join(folder)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["demo"] => demo::demo(),
        ["test" | "ci"] => return checks::test(Suite::Quick),
        ["test", "--all"] => return checks::test(Suite::All),
        ["install", ref words @ ..] => match install_words(words) {
            Some((prefix, debug_files)) => install::install(prefix, debug_files),
            None => return usage(),
        },
        ["dist"] => dist::dist(),
        ["lines"] => lines::lines(),
        ["fixtures", ref names @ ..] => measure::fixtures(names),
        ["bench", ref words @ ..] => bench::bench(words),
        ["pictures"] => pictures::pictures(None),
        ["pictures", experiment] => pictures::pictures(Some(experiment)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("\nxtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The prefix to install under, and whether debug files are asked for.
fn install_words<'a>(words: &[&'a str]) -> Option<(&'a Path, bool)> {
    let (words, debug_files) = match words {
        [words @ .., "--debug-files"] => (words, true),
        words => (words, false),
    };
    let prefix = match words {
        ["--prefix", prefix] => prefix,
        [word] => word.strip_prefix("--prefix=")?,
        _ => return None,
    };
    Some((Path::new(prefix), debug_files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_has_a_prefix_and_perhaps_debug_files() {
        let prefix = Path::new("/opt/p");
        for (words, read) in [
            (&["--prefix", "/opt/p"][..], Some((prefix, false))),
            (&["--prefix=/opt/p", "--debug-files"], Some((prefix, true))),
            (&["--debug-files"], None),
            (&["/opt/p"], None),
        ] {
            assert_eq!(install_words(words), read, "{words:?}");
        }
    }
}
