//! The oldest C library that a program or the library runs with.

use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::command::stdout_of;
use crate::install::{self, PROGRAMS};

/// The version of glibc, 2.N, whose symbols the library may need. It is loaded into other people's
/// programs.
const FLOOR_OF_LIBRARY: u32 = 17;

/// The version of glibc, 2.N, whose symbols programs may need. Packages ask for it.
pub(crate) const FLOOR_OF_PROGRAMS: u32 = 28;

/// The libraries that every system has, besides the C library's own.
const LIBRARIES: [&str; 6] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
];

/// Checks what was built into cargo's folder of a profile.
///
/// # Errors
/// One sentence that names the symbols newer than the floor, and other libraries that are needed.
pub(crate) fn check(folder: &Path) -> Outcome {
    for name in PROGRAMS {
        check_file(&folder.join(name), FLOOR_OF_PROGRAMS)?;
    }
    for name in install::LIBRARIES {
        check_file(&folder.join(name), FLOOR_OF_LIBRARY)?;
    }
    Ok(())
}

fn check_file(path: &Path, floor: u32) -> Outcome {
    let listed = stdout_of(
        Command::new("objdump")
            .args(["--private-headers", "--dynamic-syms"])
            .arg(path)
            // Its words are read.
            .env("LC_ALL", "C"),
    )?;
    let faults = faults(&listed, floor);
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} needs {}; an old version of a function can be chosen in glibc-floor",
        path.display(),
        faults.join(", ")
    ))
}

/// What a file needs beyond glibc 2.`floor`, by the output of objdump.
fn faults(listed: &str, floor: u32) -> Vec<String> {
    let mut faults = Vec::new();
    let mut symbols = 0;
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["NEEDED", library] if !LIBRARIES.contains(&library) => faults.push(library.into()),
            // In the list of versions, which has also those that no symbol has.
            [.., version] if version.starts_with("GLIBC_") && !within(version, floor) => {
                faults.push(version.into());
            }
            [.., version, symbol] if line.contains("*UND*") => {
                let version = version.trim_matches(['(', ')']);
                if version.starts_with("GLIBC_") {
                    symbols += 1;
                    if !within(version, floor) {
                        faults.push(format!("{symbol} of {version}"));
                    }
                }
            }
            _ => {}
        }
    }
    if symbols == 0 {
        faults.push("no symbol of the C library, which cannot be".into());
    }
    faults
}

/// Whether `GLIBC_2.N` or `GLIBC_2.N.M` is no newer than 2.`floor`. Other words are new: they stand for
/// abilities of the dynamic linker.
fn within(version: &str, floor: u32) -> bool {
    version
        .strip_prefix("GLIBC_2.")
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok())
        .is_some_and(|minor| minor <= floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask test` builds them before the tests.
    #[test]
    fn what_was_built_runs_with_old_c_libraries() {
        let built = crate::target().join("debug");
        assert_eq!(
            check(&built),
            Ok(()),
            "`cargo build --workspace` builds what this test looks at"
        );
    }

    #[test]
    fn newer_symbols_and_other_libraries_are_told() {
        let listed = "\
Dynamic Section:
  NEEDED               libgcc_s.so.1
  NEEDED               libz.so.1
  SONAME               libcollector.so
Version References:
  required from libc.so.6:
    0x09691a75 0x00 02 GLIBC_2.2.5
    0x069691b4 0x00 06 GLIBC_2.34
    0x0fd0e42d 0x00 03 GLIBC_ABI_DT_RELR
DYNAMIC SYMBOL TABLE:
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) getenv
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) dlsym
0000000000000000  w   DF *UND*\t0000000000000000 (GLIBC_2.18) weak
0000000000001000 g    DF .text\t0000000000000006  Base        omp_control_tool
";
        assert_eq!(
            faults(listed, 17),
            [
                "libz.so.1",
                "GLIBC_2.34",
                "GLIBC_ABI_DT_RELR",
                "dlsym of GLIBC_2.34",
                "weak of GLIBC_2.18"
            ]
        );
        assert_eq!(
            faults("not an ELF file", 17),
            ["no symbol of the C library, which cannot be"]
        );
        assert!(within("GLIBC_2.28", 28) && !within("GLIBC_2.29", 28));
    }
}
