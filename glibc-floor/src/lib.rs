//! Linker options for build scripts, by which a program or library needs no symbol of a newer C library
//! than its floor: glibc 2.28 for programs, 2.17 for the library that is loaded into other people's
//! programs.
//!
//! The linker binds each function to its newest version in the C library of the machine that builds, and
//! the dynamic linker of an older system refuses to load the result. Only some thirty functions of those
//! that Rust's standard library calls have a version newer than the floors, and nearly all of those only
//! because they moved from `libpthread` and `libdl` into `libc`, where their old versions are kept.
//! `floor.c` defines these functions, hidden, as calls of the old versions. So every build has the
//! floors, by whichever linker, and no old system or second toolchain is needed to build a release.
//! `cargo xtask test` checks what was built: a function that is missing in `floor.c` is named there.
//!
//! Zig's linker, which chooses versions by an option, brings LLVM's unwinder into the library, and the
//! unwinder of the program has to walk through the library's frames when a thread ends by `pthread_exit`.

use std::path::{Path, PathBuf};

/// The libraries that hold functions of threads and of the dynamic linker before glibc 2.34. Later they
/// are empty, so the linker has to be told to keep them.
const FORMER: &str = "-Wl,--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state";

/// For a package's build script: links its programs for glibc 2.28.
pub fn programs() {
    link("bins", &[("PROGRAM", "1")]);
}

/// For a package's build script: links its library for C, `libNAME.so`, for glibc 2.17.
pub fn library() {
    link("cdylib", &[]);
}

/// Compiles `floor.c` and prints the linker options for targets of a kind. Other architectures than
/// x86-64 have other versions, and are linked as usual.
fn link(targets: &str, macros: &[(&str, &str)]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/floor.c");
    println!("cargo::rerun-if-changed={}", source.display());
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|it| it == value);
    if !is("CARGO_CFG_TARGET_ARCH", "x86_64") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let mut build = cc::Build::new();
    build.file(source).cargo_metadata(false).pic(true);
    build.debug(false).flag("-fvisibility=hidden");
    for (name, value) in macros {
        build.define(name, *value);
    }
    // As objects, which are always linked: the linker would take nothing out of an archive for names
    // that it has found in the C library.
    let objects: Vec<PathBuf> = build.compile_intermediates();
    for object in objects {
        println!("cargo::rustc-link-arg-{targets}={}", object.display());
    }
    println!("cargo::rustc-link-arg-{targets}={FORMER}");
}
