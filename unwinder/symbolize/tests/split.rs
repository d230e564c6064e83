//! Split debug information: `.dwo` files, and packages of them (`.dwp`) in both forms of the index.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use compile::fresh_path;
use symbolize::{Symbols, SymbolsMiss};
use unwinder::elf::ElfFile;

/// `main` and `second` have an inlined function each, in a unit each.
const UNITS: [(&str, &str); 2] = [
    (
        "one.c",
        "volatile int v; int second(int);\n\
         static inline __attribute__((always_inline)) int inlined_one(int n) { v = n; return v; }\n\
         int main(void) { return inlined_one(1) + second(2); }\n",
    ),
    (
        "two.c",
        "extern volatile int v;\n\
         static inline __attribute__((always_inline)) int inlined_two(int n) { v = n; return v; }\n\
         __attribute__((noinline)) int second(int n) { return inlined_two(n) + 1; }\n",
    ),
];

fn run(folder: &Path, command: &str) {
    let mut words = command.split_whitespace();
    let output = Command::new(words.next().expect("a command"))
        .args(words)
        .current_dir(folder)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {said}");
}

/// A folder with the program `app` and its `.dwo` files.
fn built(compiler: &str, version: u8) -> PathBuf {
    let folder = fresh_path("split");
    fs::create_dir(&folder).expect("a folder");
    for (name, text) in UNITS {
        fs::write(folder.join(name), text).expect("a source");
        run(
            &folder,
            &format!("{compiler} -O2 -g -gdwarf-{version} -gsplit-dwarf -c {name}"),
        );
    }
    run(&folder, &format!("{compiler} one.o two.o -o app"));
    folder
}

/// The innermost functions at the instructions of `main` and `second`, each once, and what was missed.
fn inlined(app: &Path) -> (Vec<String>, Option<SymbolsMiss>) {
    let symbols = Symbols::open(app, None).expect("symbols");
    let mut found = Vec::new();
    for name in ["main", "second"] {
        let function = symbols.named(name).expect("a symbol");
        for svma in function.start..function.start + function.size {
            let locations = symbols.locations(svma);
            let inlined = locations.len() > 1;
            found.extend(
                locations
                    .into_iter()
                    .next()
                    .and_then(|it| it.function)
                    .filter(|_| inlined),
            );
        }
    }
    found.sort();
    found.dedup();
    (found, symbols.debug_miss())
}

fn remove_dwo(folder: &Path) {
    for name in ["one.dwo", "two.dwo"] {
        fs::remove_file(folder.join(name)).expect("it was there");
    }
}

const BOTH: [&str; 2] = ["inlined_one", "inlined_two"];

#[test]
fn a_package_of_the_gnu_form_tells_of_all_units() {
    for compiler in ["gcc", "clang"] {
        let folder = built(compiler, 4);
        let app = folder.join("app");
        assert_eq!(inlined(&app), (BOTH.map(str::to_owned).to_vec(), None));
        run(&folder, "dwp -e app -o app.dwp");
        remove_dwo(&folder);
        assert_eq!(inlined(&app), (BOTH.map(str::to_owned).to_vec(), None));
        // Beside the debug file, by its name without `.debug`.
        run(&folder, "objcopy --only-keep-debug app app.debug");
        run(&folder, "strip --strip-all app");
        fs::create_dir(folder.join("moved")).expect("a folder");
        run(
            &folder,
            "objcopy --add-gnu-debuglink=app.debug app moved/app",
        );
        fs::create_dir(folder.join("moved/.debug")).expect("a folder");
        for name in ["app.debug", "app.dwp"] {
            let to = folder.join("moved/.debug").join(name);
            fs::rename(folder.join(name), to).expect("moved");
        }
        let found = inlined(&folder.join("moved/app"));
        assert_eq!(found, (BOTH.map(str::to_owned).to_vec(), None));
    }
}

/// Makes a package with the index of DWARF 5 (section 7.3.5) of one `.dwo` file: GNU's tool makes none.
fn package(dwo: &Path, package: &Path) {
    let file = ElfFile::open(dwo).expect("a file");
    let elf = file.parse().expect("an ELF file");
    let info = elf.bytes(".debug_info.dwo").expect("units");
    // Behind the length, the version, the types of unit and address, and the offset of abbreviations.
    let id: [u8; 8] = info[12..20].try_into().expect("eight bytes");
    let names = [
        (1_u32, ".debug_info.dwo"),
        (3, ".debug_abbrev.dwo"),
        (4, ".debug_line.dwo"),
        (6, ".debug_str_offsets.dwo"),
        (8, ".debug_rnglists.dwo"),
    ];
    let sections: Vec<(u32, u32)> = names
        .iter()
        .filter_map(|(number, name)| Some((*number, elf.section(name)?.size as u32)))
        .collect();
    let mut index = Vec::new();
    let words = |index: &mut Vec<u8>, words: &[u32]| {
        index.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    // One unit in a table of two slots.
    words(&mut index, &[5, sections.len() as u32, 1, 2]);
    let slot = usize::from(id[0] & 1);
    let mut ids = [[0; 8]; 2];
    ids[slot] = id;
    index.extend(ids.concat());
    let mut rows = [0; 2];
    rows[slot] = 1;
    words(&mut index, &rows);
    words(
        &mut index,
        &sections.iter().map(|it| it.0).collect::<Vec<_>>(),
    );
    words(&mut index, &vec![0; sections.len()]);
    words(
        &mut index,
        &sections.iter().map(|it| it.1).collect::<Vec<_>>(),
    );
    let folder = dwo.parent().expect("a folder");
    fs::write(folder.join("index"), index).expect("written");
    let [dwo, package] = [dwo, package].map(Path::display);
    run(
        folder,
        &format!("objcopy --add-section .debug_cu_index=index {dwo} {package}"),
    );
}

#[test]
fn a_package_of_dwarf_5_is_read_and_the_units_that_it_lacks_are_counted() {
    for compiler in ["gcc", "clang"] {
        let folder = built(compiler, 5);
        let app = folder.join("app");
        package(&folder.join("one.dwo"), &folder.join("app.dwp"));
        remove_dwo(&folder);
        let (found, miss) = inlined(&app);
        assert_eq!(found, ["inlined_one"], "{compiler}");
        let miss = miss.expect("the unit of two.c is missing").to_string();
        assert_eq!(
            miss,
            "the debug information of 1 of its units was not found: two.dwo, nor in the .dwp file"
        );
    }
}

#[test]
fn missing_files_are_told_once_for_the_object_with_a_count() {
    let folder = built("gcc", 5);
    let app = folder.join("app");
    remove_dwo(&folder);
    let (found, miss) = inlined(&app);
    assert_eq!(found, [""; 0]);
    let miss = miss.expect("both are missing").to_string();
    let package = format!("{}.dwp", app.display());
    let expected =
        format!("the debug information of 2 of its units was not found: one.dwo or {package}");
    assert_eq!(miss, expected);
}

#[test]
fn files_of_other_builds_and_damaged_ones_are_told() {
    let folder = built("gcc", 5);
    let app = folder.join("app");
    fs::copy(folder.join("two.dwo"), folder.join("one.dwo")).expect("copied");
    let (found, miss) = inlined(&app);
    assert_eq!(found, ["inlined_two"]);
    let miss = miss.expect("one is missing").to_string();
    assert!(
        miss.contains("one.dwo is damaged or of another build"),
        "{miss}"
    );
    // A package without an index that makes sense.
    fs::remove_file(folder.join("one.dwo")).expect("it was there");
    fs::write(folder.join("index"), "no index").expect("written");
    run(
        &folder,
        "objcopy --add-section .debug_cu_index=index two.dwo app.dwp",
    );
    let (_, miss) = inlined(&app);
    let miss = miss.expect("one is missing").to_string();
    assert!(miss.contains("app.dwp is damaged"), "{miss}");
}

#[test]
fn type_units_may_stand_before_the_unit() {
    let text = "struct pair { int one; double two; int sum() const { return one; } };\n\
        static inline __attribute__((always_inline)) int inlined_one(const pair &p)\n\
        { volatile int v = p.sum(); return v; }\n\
        extern \"C\" __attribute__((noinline)) int second(int n) { return inlined_one({n, 1.0}); }\n\
        int main(int n, char **) { return second(n); }\n";
    for compiler in ["g++", "clang++"] {
        let folder = fresh_path("types");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("one.cpp"), text).expect("a source");
        let options = "-O2 -g -gdwarf-5 -gsplit-dwarf -fdebug-types-section";
        run(&folder, &format!("{compiler} {options} -c one.cpp"));
        run(&folder, &format!("{compiler} one.o -o app"));
        let (found, miss) = inlined(&folder.join("app"));
        assert_eq!(miss, None, "{compiler}");
        assert!(!found.is_empty(), "{compiler}");
    }
}
