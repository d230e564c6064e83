//! Packages that the tasks install with the system's package manager.

use std::process::Command;

use fixtures::{Compiler, Family};

use crate::Outcome;
use crate::command::{run, works};

/// A package manager and its package names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manager {
    program: &'static str,
    /// Words between the program's name and the packages.
    install: &'static [&'static str],
    /// Updates the list of packages, where that is a separate step.
    update: Option<&'static [&'static str]>,
    clang: &'static [&'static str],
    gfortran: &'static str,
    /// Open MPI, and MPICH where it can be installed beside it.
    mpi: &'static [&'static str],
    /// OpenCoarrays' library over Open MPI, where there is a package.
    coarrays: Option<&'static str>,
    cxx: &'static str,
}

const MANAGERS: &[Manager] = &[
    Manager {
        program: "apt-get",
        install: &["install", "-y", "--no-install-recommends"],
        update: Some(&["update"]),
        clang: &["clang", "libomp-dev"],
        gfortran: "gfortran",
        mpi: &["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev"],
        coarrays: Some("libcoarrays-openmpi-dev"),
        cxx: "g++",
    },
    Manager {
        program: "dnf",
        install: &["install", "-y"],
        update: None,
        clang: &["clang", "libomp-devel"],
        gfortran: "gcc-gfortran",
        mpi: &["openmpi-devel", "mpich-devel"],
        coarrays: Some("OpenCoarrays-openmpi-devel"),
        cxx: "gcc-c++",
    },
    Manager {
        program: "zypper",
        install: &["--non-interactive", "install"],
        update: None,
        clang: &["clang", "libomp-devel"],
        gfortran: "gcc-fortran",
        mpi: &["openmpi4-devel", "mpich-devel"],
        coarrays: None,
        cxx: "gcc-c++",
    },
    Manager {
        program: "pacman",
        install: &["-S", "--noconfirm", "--needed"],
        update: None,
        clang: &["clang", "openmp"],
        gfortran: "gcc-fortran",
        mpi: &["openmpi"],
        coarrays: None,
        cxx: "gcc",
    },
];

/// The first manager that this machine has.
fn manager() -> Option<&'static Manager> {
    MANAGERS
        .iter()
        .find(|m| works(Command::new(m.program).arg("--version")))
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// The command line by which an ordinary user installs `packages`.
fn install_line(manager: &Manager, packages: &[String]) -> String {
    let install = format!("{} {}", manager.install.join(" "), packages.join(" "));
    match manager.update {
        Some(update) => {
            let program = manager.program;
            format!(
                "sudo {program} {} && sudo {program} {install}",
                update.join(" ")
            )
        }
        None => format!("sudo {} {install}", manager.program),
    }
}

/// Installs packages as root; for other users the error names the command.
fn install(packages: &[String], for_what: &str) -> Outcome {
    let Some(manager) = manager() else {
        return Err(format!(
            "{for_what} needs {}; no package manager that this task knows is here to install it",
            packages.join(" and ")
        ));
    };
    if !is_root() {
        let line = install_line(manager, packages);
        return Err(format!(
            "{for_what} needs one more command, run by you:\n\n    {line}\n"
        ));
    }
    if let Some(update) = manager.update {
        run(Command::new(manager.program).args(update))?;
    }
    let mut command = Command::new(manager.program);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    run(command.args(manager.install).args(packages))
}

/// The packages for clang with OpenMP, given the version of an installed clang without it.
fn clang_packages(manager: &Manager, lonely_clang: Option<u32>) -> Vec<String> {
    match lonely_clang {
        // Debian's libomp packages exclude each other, so it must be the one for this clang.
        Some(major) if manager.program == "apt-get" => vec![format!("libomp-{major}-dev")],
        _ => manager.clang.iter().map(|&p| p.to_owned()).collect(),
    }
}

/// The newest versioned clang in `PATH`, whether it has OpenMP or not.
fn versioned_clang() -> Option<u32> {
    (14..=24)
        .rev()
        .find(|v| works(Command::new(format!("clang-{v}")).arg("--version")))
}

/// A clang with libomp, installed if need be.
pub(crate) fn clang(for_what: &str) -> Outcome<Compiler> {
    let find = || {
        fixtures::compilers()
            .into_iter()
            .find(|c| c.family == Family::Clang)
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    let packages = manager().map_or_else(
        || vec!["clang".to_owned(), "libomp".to_owned()],
        |m| clang_packages(m, versioned_clang()),
    );
    install(&packages, for_what)?;
    find().ok_or_else(|| {
        format!(
            "{} are installed, and still no clang compiles OpenMP programs",
            packages.join(", ")
        )
    })
}

/// A gfortran, installed if need be.
pub(crate) fn gfortran(for_what: &str) -> Outcome {
    let package = manager().map_or("gfortran", |m| m.gfortran);
    program("gfortran", package, for_what)
}

/// A g++, installed if need be.
pub(crate) fn cxx(for_what: &str) -> Outcome {
    let package = manager().map_or("g++", |m| m.cxx);
    program("g++", package, for_what)
}

/// The library of coarrays, installed if need be.
pub(crate) fn coarrays(for_what: &str) -> Outcome {
    if fixtures::coarrays().is_some() {
        return Ok(());
    }
    let package = manager().and_then(|it| it.coarrays);
    let package =
        package.unwrap_or("OpenCoarrays (https://github.com/sourceryinstitute/OpenCoarrays)");
    install(&[package.to_owned()], for_what)?;
    match fixtures::coarrays() {
        Some(_) => Ok(()),
        None => Err(format!(
            "{package} is installed, and still there is no libcaf_mpi.so"
        )),
    }
}

/// An implementation of MPI, installed if need be.
pub(crate) fn mpi(for_what: &str) -> Outcome {
    if !fixtures::mpi().is_empty() {
        return Ok(());
    }
    let packages = manager().map_or(&["openmpi"][..], |m| m.mpi);
    let packages: Vec<String> = packages.iter().map(|&p| p.to_owned()).collect();
    install(&packages, for_what)?;
    if fixtures::mpi().is_empty() {
        let packages = packages.join(", ");
        return Err(format!(
            "{packages} are installed, and still there is no mpicc with its mpirun"
        ));
    }
    Ok(())
}

/// A program of a package, or a file of it by its whole path, installed if need be.
pub(crate) fn program(name: &str, package: &str, for_what: &str) -> Outcome {
    if fixtures::in_path(name).is_some() {
        return Ok(());
    }
    install(&[package.to_owned()], for_what)?;
    if fixtures::in_path(name).is_some() {
        return Ok(());
    }
    Err(format!(
        "{package} is installed, and still there is no {name}: {for_what} cannot run"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(program: &str) -> &'static Manager {
        MANAGERS.iter().find(|m| m.program == program).unwrap()
    }

    #[test]
    fn the_line_to_type_is_whole() {
        let apt = named("apt-get");
        let line = install_line(apt, &clang_packages(apt, None));
        assert_eq!(
            line,
            "sudo apt-get update && \
             sudo apt-get install -y --no-install-recommends clang libomp-dev"
        );
        let dnf = named("dnf");
        let line = install_line(dnf, &clang_packages(dnf, Some(18)));
        assert_eq!(line, "sudo dnf install -y clang libomp-devel");
    }

    #[test]
    fn a_clang_without_openmp_gets_its_own_runtime() {
        assert_eq!(
            clang_packages(named("apt-get"), Some(16)),
            ["libomp-16-dev"]
        );
    }
}
