use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

const PROGRAM: &str = "
struct pair { int one; double two[3]; union { int three; float four; }; };
int counter;
char many[200];
double grid[8][16];
struct pair pairs[5];
static const char *texts[4];
__thread int own[7];
int f(struct pair *p, int n) {
  static long calls[2];
  int local[10];
  for (int i = 0; i < n; i++) { int deep = i; local[i] = deep + p[i].one; }
  return local[n - 1] + ++calls[1];
}
int main(void) { return f(pairs, 5); }
";

fn built(folder: &Path, options: &[&str]) -> PathBuf {
    let (source, program) = (folder.join("a.c"), folder.join("a.out"));
    std::fs::write(&source, PROGRAM).expect("a file");
    let status = Command::new("gcc")
        .args(["-g", "-no-pie"])
        .args(options)
        .args([&source, Path::new("-o"), &program])
        .current_dir(folder)
        .status()
        .expect("gcc");
    assert!(status.success());
    program
}

fn opened(program: &Path) -> (Symbols, Variables) {
    let symbols = Symbols::open(program, None).expect("symbols");
    let variables = Variables::open(&symbols).expect("debug information");
    (symbols, variables)
}

/// The name at an offset in the variable of a symbol.
fn name(variables: &Variables, begin: u64, offset: u64, size: u64) -> Option<String> {
    variables
        .global(begin + offset, size, &[])
        .map(|named| named.name)
}

#[test]
fn elements_and_fields_of_globals_have_the_names_of_the_source() {
    for options in [
        &["-O0"][..],
        &["-O2"],
        &["-O1", "-gdwarf-4"],
        &["-O1", "-gsplit-dwarf"],
        &["-O1", "-gz"],
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (_symbols, variables) = opened(&built(folder.path(), options));
        let begin = |name: &str| {
            let all = &variables.statics().globals;
            let is_it = |key| variables.debug.name(key).as_deref() == Some(name);
            let (range, _) = all.iter().find(|(_, one)| is_it(one.key)).expect(name);
            range.start
        };
        let of = |symbol: &str, offset, size| name(&variables, begin(symbol), offset, size);
        assert_eq!(of("counter", 0, 4).as_deref(), Some("counter"));
        // From 128 on, a count of one byte looks like a negative number.
        assert_eq!(of("many", 150, 1).as_deref(), Some("many[150]"));
        let element = 8 * (3 * 16 + 4);
        assert_eq!(of("grid", element, 8).as_deref(), Some("grid[3][4]"));
        assert_eq!(of("grid", 0, 1024).as_deref(), Some("grid"));
        assert_eq!(of("pairs", 40 + 16, 8).as_deref(), Some("pairs[1].two[1]"));
        // Which one of the union, no access tells.
        assert_eq!(of("pairs", 32, 4).as_deref(), Some("pairs[0]"));
        assert_eq!(of("calls", 8, 8).as_deref(), Some("calls[1]"));
        let calls = variables.global(begin("calls"), 8, &[]).expect("calls");
        assert_eq!(calls.whole, 16);
        assert_eq!(calls.declaration.function, "f");
        assert_eq!(calls.declaration.line, 10);
        // The table of files of split debug information is not read.
        let is_split = options.contains(&"-gsplit-dwarf");
        assert_eq!(calls.declaration.file.ends_with("a.c"), !is_split);
        // Nor are the addresses of its thread-local variables.
        let own = variables.thread_local(8, 4, &[]).map(|own| own.name);
        assert_eq!(own.as_deref(), Some("own[2]").filter(|_| !is_split));
        assert_eq!(variables.program_tls, Some(28));
    }
}

#[test]
fn locals_are_found_in_the_frame_of_their_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let (symbols, variables) = opened(&built(folder.path(), &["-O0"]));
    let function = symbols.named("f").expect("a symbol");
    let key = variables.debug.function_at(function.start).expect("f");
    let variable = |name: &str| {
        let all = variables.debug.children(key, &[DW_TAG_variable]);
        let is_it = |key: &Key| variables.debug.name(*key).as_deref() == Some(name);
        all.into_iter().find(is_it).expect("a variable")
    };
    // The function calls nothing; so the frame address is given.
    let registers = Registers {
        svma: function.start + function.size - 1,
        stack: 0x1000,
        base: 0x2000,
    };
    let base = variables.frame_base(key, registers, 0x2010);
    assert_eq!(base, Some(0x2010));
    let (_, expression) = variables
        .locations(variable("local"))
        .pop()
        .expect("a location");
    let parts = variables.parts(key.unit, &expression);
    let [part] = &parts[..] else {
        panic!("{parts:?}");
    };
    assert!(
        matches!(part.spot, Spot::Frame(offset) if offset < 0),
        "{part:?}"
    );
    assert_eq!((part.offset, part.size), (0, None));
    let names = |svma| -> Vec<_> {
        let all = variables.in_scope(key, svma).into_iter();
        all.filter_map(|(key, _)| variables.debug.name(key))
            .collect()
    };
    assert_eq!(names(registers.svma), ["p", "n", "calls", "local"]);
}

#[test]
fn damaged_debug_information_ends_in_no_loop() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built(folder.path(), &["-O1"]);
    let bytes = std::fs::read(&program).expect("a program");
    let ranges: Vec<_> = {
        let file = unwinder::elf::ElfFile::open(&program).expect("a file");
        let elf = file.parse().expect("an ELF file");
        [
            ".debug_info",
            ".debug_abbrev",
            ".debug_loclists",
            ".debug_line",
        ]
        .iter()
        .filter_map(|name| {
            let section = elf.bytes(name)?.into_owned();
            let at = bytes.windows(section.len()).position(|it| it == section)?;
            Some(at..at + section.len())
        })
        .collect()
    };
    assert!(ranges.len() >= 3);
    let random = &mut fastrand::Rng::with_seed(20);
    let damaged = folder.path().join("damaged");
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        for _ in 0..random.usize(1..6) {
            let range = ranges[random.usize(..ranges.len())].clone();
            bytes[random.usize(range)] = random.u8(..);
        }
        std::fs::write(&damaged, &bytes).expect("a file");
        let Ok(symbols) = Symbols::open(&damaged, None) else {
            continue;
        };
        let Some(variables) = Variables::open(&symbols) else {
            continue;
        };
        let function = symbols.named("f").expect("a symbol");
        for svma in (function.start..function.start + function.size).step_by(16) {
            let registers = Registers {
                svma,
                stack: 0x1000,
                base: 0x2000,
            };
            let _ = variables.local(&symbols, registers, (0x1010, 4));
            let _ = variables.variable_array(svma);
            let _ = variables.passed(svma, 8, 4);
            let _ = variables.reached(svma, "local[i] = deep + p[i].one;");
        }
        let all = variables.statics().globals.iter();
        let all: Vec<u64> = all.map(|(range, _)| range.start).collect();
        for begin in all {
            let _ = variables.global(begin, 4, &[]);
        }
    }
}
