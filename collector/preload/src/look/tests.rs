use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::*;

/// What is said of a file.
fn said(path: &Path) -> Option<String> {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
    obstacle(Program::Name(&path)).map(|it| it.to_string())
}

/// A program built by this compiler.
fn built(folder: &Path, compiler: &str, options: &[&str]) -> std::path::PathBuf {
    let (source, program) = (folder.join("p.c"), folder.join("p"));
    fs::write(&source, "int main(void) { return 0; }").expect("a file");
    let mut build = Command::new(compiler);
    build.args(options).arg(&source).arg("-o").arg(&program);
    assert!(build.status().expect("a compiler").success(), "{build:?}");
    program
}

fn script(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    path
}

#[test]
fn programs_of_the_c_library_and_static_ones_have_no_obstacle() {
    let folder = tempfile::tempdir().expect("there is room");
    for options in [&[][..], &["-static"], &["-static-pie"], &["-no-pie"]] {
        let program = built(folder.path(), "gcc", options);
        assert_eq!(said(&program), None, "{options:?}");
    }
    assert_eq!(said(Path::new("/lib64/ld-linux-x86-64.so.2")), None);
}

#[test]
fn another_c_library_is_told_through_scripts_too() {
    let folder = tempfile::tempdir().expect("there is room");
    let program = built(folder.path(), "musl-gcc", &[]);
    let expected = "its dynamic linker, /lib/ld-musl-x86_64.so.1, is not that of the GNU C library";
    assert_eq!(said(&program).as_deref(), Some(expected));
    let first = format!("#! \t{} -x\n", program.display());
    let first = script(folder.path(), "first", &first);
    let second = script(folder.path(), "second", &format!("#!{}", first.display()));
    assert_eq!(said(&second).as_deref(), Some(expected));
    let itself = Path::new("/lib/ld-musl-x86_64.so.1");
    assert!(said(itself).is_some_and(|it| it.contains("the dynamic linker of another C library")));
    let is_static = built(folder.path(), "musl-gcc", &["-static"]);
    assert_eq!(said(&is_static), None);
}

/// A linker is known by what it is, not by its name.
#[test]
fn linkers_of_other_names_are_looked_into() {
    let folder = tempfile::tempdir().expect("there is room");
    for (linker, is_gnu) in [
        ("/lib64/ld-linux-x86-64.so.2", true),
        ("/lib/ld-musl-x86_64.so.1", false),
    ] {
        let copy = folder.path().join("linker");
        fs::copy(linker, &copy).expect("readable by all");
        let option = format!("-Wl,--dynamic-linker={}", copy.display());
        let program = built(folder.path(), "gcc", &[&option]);
        assert_eq!(said(&program).is_none(), is_gnu, "{linker}");
    }
}

#[test]
fn another_word_size_is_told() {
    let folder = tempfile::tempdir().expect("there is room");
    let program = built(folder.path(), "gcc", &[]);
    let mut bytes = fs::read(&program).expect("our own file");
    bytes[4] = 1;
    fs::write(&program, &bytes).expect("our own file");
    let expected = "it is made for another processor or word size";
    assert_eq!(said(&program).as_deref(), Some(expected));
}

#[test]
fn what_is_no_program_has_no_obstacle() {
    let folder = tempfile::tempdir().expect("there is room");
    assert_eq!(said(&script(folder.path(), "text", "echo a\n")), None);
    assert_eq!(said(&script(folder.path(), "empty", "")), None);
    assert_eq!(said(&script(folder.path(), "none", "#!\n")), None);
    assert_eq!(said(&script(folder.path(), "short", "\x7fELF")), None);
    let own = folder.path().join("own");
    assert_eq!(
        said(&script(
            folder.path(),
            "own",
            &format!("#!{}", own.display())
        )),
        None
    );
    assert_eq!(said(folder.path()), None);
    assert_eq!(said(Path::new("/no/such/file")), None);
    assert_eq!(said(Path::new("")), None);
    assert_eq!(said(Path::new("sh")), None);
}
