//! Linker options for build scripts, by which a program or library needs no symbol of a newer C library
//! than its floor: glibc 2.28 for programs, 2.17 for the library that is loaded into other people's
//! programs.
//!
//! The linker binds each function to its newest version in the C library of the machine that builds, and
//! the dynamic linker of an older system refuses to load the result. Only some thirty functions that are
//! called have a version newer than the floors, and most of those only because they moved from
//! `libpthread` and `libdl` into `libc`, the others are of `libm`. So the linker is given these libraries as they
//! were ([`FORMER`]), and `floor.c` defines the rest. Every build has the floors, by whichever linker, and no old system or
//! second toolchain is needed to build a release. `cargo xtask test` checks what was built, and names a
//! function that is missing here.
//!
//! Zig's linker, which chooses versions by an option, brings LLVM's unwinder into the library, and the
//! unwinder of the program has to walk through the library's frames when a thread ends by `pthread_exit`.

use std::path::{Path, PathBuf};

/// A library as it was when its functions had their old versions: since glibc 2.34 it is a part of `libc`,
/// but for `libm`.
struct Former {
    /// The name by which it is linked, and by which programs name it.
    name: &'static str,
    soname: &'static str,
    /// The functions that are called, by their version. What `libc` had, too, is not among them.
    functions: &'static [(&'static str, &'static [&'static str])],
}

/// The former libraries. Newer systems have the first two without functions, for programs that name them; the
/// functions are then found in `libc`, which has their old versions. Until glibc 2.29 a function was
/// found only in the library that the program names with it: jumps to the old versions in `libc` would not do.
const FORMER: [Former; 3] = [
    Former {
        name: "libdl.so",
        soname: "libdl.so.2",
        functions: &[("GLIBC_2.2.5", &["dlclose", "dlopen", "dlsym", "dlvsym"])],
    },
    Former {
        name: "libpthread.so",
        soname: "libpthread.so.0",
        functions: &[
            (
                "GLIBC_2.2.5",
                &[
                    "pthread_attr_getguardsize",
                    "pthread_attr_getstack",
                    "pthread_attr_getstacksize",
                    "pthread_attr_setstacksize",
                    "pthread_create",
                    "pthread_detach",
                    "pthread_getattr_np",
                    "pthread_getcpuclockid",
                    "pthread_getspecific",
                    "pthread_join",
                    "pthread_key_create",
                    "pthread_key_delete",
                    "pthread_setspecific",
                ],
            ),
            ("GLIBC_2.12", &["pthread_setname_np"]),
        ],
    },
    Former {
        name: "libm.so",
        soname: "libm.so.6",
        functions: &[(
            "GLIBC_2.2.5",
            &["cos", "log", "log10", "log2", "pow", "sin", "sincos", "tan"],
        )],
    },
];

/// For a package's build script: links its programs for glibc 2.28.
pub fn programs() {
    link("bins", &[("PROGRAM", "1")]);
}

/// For a package's build script: links its library for C, `libNAME.so`, for glibc 2.17.
pub fn library() {
    link("cdylib", &[]);
}

/// Prints the linker options for targets of a kind. Other architectures than x86-64 have other versions,
/// and are linked as usual.
fn link(targets: &str, macros: &[(&str, &str)]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/floor.c");
    println!("cargo::rerun-if-changed={}", source.display());
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|it| it == value);
    if !is("CARGO_CFG_TARGET_ARCH", "x86_64") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let mut build = cc::Build::new();
    build.cargo_metadata(false).pic(true).debug(false);
    // The folder is searched for `-lpthread`, `-ldl` and `-lm` of Rust's standard library before the system's.
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for library in &FORMER {
        library.make(&folder, &build);
    }
    println!("cargo::rustc-link-arg-{targets}=-L{}", folder.display());
    build.file(source).flag("-fvisibility=hidden");
    for (name, value) in macros {
        build.define(name, *value);
    }
    // As objects, which are always linked: the linker would take nothing out of an archive for names
    // that it has found in the C library.
    for object in build.compile_intermediates() {
        println!("cargo::rustc-link-arg-{targets}={}", object.display());
    }
}

impl Former {
    /// Makes a library for the linker with these functions, which do nothing.
    fn make(&self, folder: &Path, build: &cc::Build) {
        let mut source = String::new();
        let mut versions = String::new();
        for (version, functions) in self.functions {
            for function in *functions {
                source += &format!("void {function}(void) {{}}\n");
            }
            versions += &format!("{version} {{ {}; }};\n", functions.join("; "));
        }
        let code = folder.join(self.name).with_extension("c");
        let map = folder.join(self.name).with_extension("map");
        for (path, text) in [(&code, source), (&map, versions)] {
            if let Err(error) = std::fs::write(path, text) {
                panic!("{} cannot be written: {error}", path.display());
            }
        }
        let mut compiler = build.get_compiler().to_command();
        compiler.args(["-shared", "-nostdlib", "-w"]).arg(&code);
        compiler.arg(format!("-Wl,-soname,{}", self.soname));
        compiler.arg("-Xlinker").arg("--version-script");
        compiler.arg("-Xlinker").arg(&map);
        compiler.arg("-o").arg(folder.join(self.name));
        match compiler.status() {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{compiler:?}: {status}"),
            Err(error) => panic!("{compiler:?} cannot be started: {error}"),
        }
    }
}
