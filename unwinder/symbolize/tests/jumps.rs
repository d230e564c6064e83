//! Functions that left the stack by a jump, in programs of gcc and clang at -O2.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use experiment::ids::{ContextId, FrameId, ModuleId, StackId};
use experiment::tables::{
    Context, ContextKind, Frame, Module, RuntimeKind, Stack, StackEntry, Tables,
};
use symbolize::{Files, Symbols, find_jumps, resolve};

const SOURCE: &str = r#"
#include <string.h>
#define APART __attribute__((noinline))
volatile int sink;
APART void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void second(int n)
{
    sink += 1;
    leaf(n);
}
APART void first(int n) { sink += 2; second(n + 1); }

APART void twin(int n) { for (int i = 0; i < n; i++) sink ^= i; }
APART void left(int n) { sink += 3; twin(n); }
APART void right(int n) { sink += 4; twin(n + 1); }
APART void either(int n) { sink += 5; if (n & 1) left(n); else right(n); }

APART void last(int n) { for (int i = 0; i < n; i++) sink |= i; }
APART void ping(int n);
APART void pong(int n) { sink += 6; if (n > 9) last(n); else ping(n + 1); }
APART void ping(int n) { sink += 7; pong(n + 2); }

APART void both(int n) { sink += 8; if (n & 1) { last(n); return; } sink += 9; last(n + 1); }

APART void through(void (*f)(int), int n) { sink += 10; f(n); }
APART void fill(char *p, int n) { sink += 11; memset(p, n, n); }
APART void run(int n)
{
    #pragma omp parallel
    leaf(1000);
}
APART void two(int n)
{
    if (n & 1) {
        #pragma omp parallel
        leaf(1000);
    } else {
        #pragma omp parallel
        twin(1000);
    }
}
char bytes[64];
int main(int argc, char **argv)
{
    first(argc); sink++;
    either(argc); sink++;
    ping(argc); sink++;
    both(argc); sink++;
    through(argc > 1 ? leaf : twin, argc); sink++;
    fill(bytes, argc); sink++;
    run(argc); sink++;
    two(argc); sink++;
    leaf(argc); sink++;
    return sink;
}
"#;

struct Program {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Program {
    fn build(compiler: &str, flags: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("jumps.c");
        fs::write(&source, SOURCE).unwrap();
        let path = folder.path().join("program");
        let built = Command::new(compiler)
            .args(["-O2", "-fopenmp", "-o"])
            .arg(&path)
            .args(flags)
            .arg(&source)
            .status()
            .expect("the compiler is installed where the tests run");
        assert!(built.success());
        Program {
            path,
            _folder: folder,
        }
    }

    fn module(&self, tables: &mut Tables) -> ModuleId {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let build_id = symbols.build_id();
        tables.module(Module {
            path: self.path.to_str().unwrap().to_owned(),
            build_id: build_id.map_or_else(String::new, ToString::to_string),
            runtime: RuntimeKind::None,
        })
    }

    /// A stack for each address of `main`.
    fn callers(&self, tables: &mut Tables) -> Vec<StackId> {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let main = symbols.named("main").unwrap();
        let module = self.module(tables);
        let addresses = main.start..main.start + main.size;
        let stack = |address| {
            let frame = tables.frame(Frame { module, address });
            tables.stack(Stack {
                callers: StackId::EMPTY,
                entry: StackEntry::Frame(frame),
            })
        };
        addresses.map(stack).collect()
    }

    fn frame(&self, tables: &mut Tables, function: &str) -> FrameId {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let module = self.module(tables);
        let address = symbols.named(function).unwrap().start;
        tables.frame(Frame { module, address })
    }

    /// The chains from the calls in `main` to a function: names and lines.
    fn to(&self, function: &str) -> Vec<String> {
        let mut tables = Tables::default();
        let callee = self.frame(&mut tables, function);
        self.to_frame(tables, callee)
    }

    fn to_frame(&self, mut tables: Tables, callee: FrameId) -> Vec<String> {
        for callers in self.callers(&mut tables) {
            tables.stack(Stack {
                callers,
                entry: StackEntry::Frame(callee),
            });
        }
        found(tables)
    }

    /// The chains from the calls in `main` to a fork that passes a body; `None`: an unknown one.
    fn to_fork(&self, body: Option<&str>) -> Vec<String> {
        let mut tables = Tables::default();
        let body = body.map_or(FrameId::NONE, |body| self.frame(&mut tables, body));
        for stack in self.callers(&mut tables) {
            tables.context(Context {
                parent: ContextId::ROOT,
                kind: ContextKind::Region,
                stack,
                python: StackId::EMPTY,
                body,
            });
        }
        found(tables)
    }

    /// The names of the outlined functions of regions, by their directives.
    fn bodies(&self) -> Vec<String> {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let outlined = symbols
            .functions()
            .filter(|it| !it.name.contains("_debug__"))
            .filter_map(|it| Some((symbols.origin(it.start)?.line?, it.name)));
        let mut outlined: Vec<(u32, String)> = outlined.collect();
        outlined.sort();
        outlined.into_iter().map(|(_, name)| name).collect()
    }
}

fn found(mut tables: Tables) -> Vec<String> {
    let jumps = find_jumps(&mut tables, &mut Files::default());
    let symbols = resolve(&tables, &mut Files::default());
    let step = |&frame: &FrameId| {
        if frame == FrameId::NONE {
            return "?".to_owned();
        }
        let (_, function) = symbols.function_of(frame).unwrap();
        let line = symbols.frame(frame).lines.last().map(|at| at.source.line);
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}", function.linkage)
    };
    let chain = |jump: &experiment::symbols::Jump| {
        let steps: Vec<String> = jump.frames.iter().map(step).collect();
        steps.join(" ")
    };
    jumps.iter().map(chain).collect()
}

#[test]
fn the_one_chain_of_jumps_to_a_function_is_found() {
    for compiler in ["gcc", "clang"] {
        let program = Program::build(compiler, &["-g"]);
        assert_eq!(program.to("leaf"), ["first:11 second:9"], "{compiler}");
        assert_eq!(program.to("second"), ["first:11"], "{compiler}");
        assert_eq!(program.to("first"), [""; 0], "called, not jumped to");
    }
}

#[test]
fn debug_information_is_not_needed() {
    for compiler in ["gcc", "clang"] {
        for flags in [&[][..], &["-fPIC", "-pie", "-fno-plt"]] {
            let program = Program::build(compiler, flags);
            assert_eq!(program.to("leaf"), ["first second"], "{compiler} {flags:?}");
        }
    }
}

#[test]
fn of_two_chains_and_loops_what_is_common_is_found_and_pointers_give_nothing() {
    for compiler in ["gcc", "clang"] {
        let program = Program::build(compiler, &[]);
        assert_eq!(program.to("twin"), ["either ?"], "{compiler}: two chains");
        // Both jumps of one function lead there: the function is certain, the line is not.
        assert_eq!(program.to("last"), ["ping ?", "both"], "{compiler}: a loop");
    }
}

#[test]
fn a_jump_to_another_load_object_is_found() {
    for compiler in ["gcc", "clang"] {
        let program = Program::build(compiler, &[]);
        let mut tables = Tables::default();
        let module = tables.module(Module {
            path: "/nowhere/libc.so.6".to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::None,
        });
        let address = 0x1000;
        let callee = tables.frame(Frame { module, address });
        let found = program.to_frame(tables, callee);
        assert!(found.contains(&"fill".to_owned()), "{compiler}: {found:?}");
        // `first` does not leave the program.
        assert!(!found.contains(&"first".to_owned()), "{compiler}");
    }
}

#[test]
fn the_function_of_a_fork_is_found_by_the_body_that_was_passed() {
    for compiler in ["gcc", "clang"] {
        let program = Program::build(compiler, &["-g"]);
        let bodies = program.bodies();
        let [run, odd, even] = bodies.as_slice() else {
            panic!("{bodies:?}");
        };
        let of = |body: &str| -> Vec<String> {
            let found = program.to_fork(Some(body)).into_iter();
            found
                .map(|at| at.split(':').next().unwrap().to_owned())
                .collect()
        };
        // gcc has one jump for both regions of `two`, so that it may pass any body.
        assert!(of(run).contains(&"run".to_owned()), "{compiler}");
        assert_eq!(of(odd), ["two"], "{compiler}");
        assert_eq!(of(even), ["two"], "{compiler}");
        let names: Vec<String> = program.to_fork(None);
        assert_eq!(names.len(), 2, "{compiler}: {names:?}");
    }
}

#[test]
fn main_is_found_where_the_c_library_called_it() {
    let source = "int sink; __attribute__((noinline)) int run(int n) { return sink += n; }\n\
                  int main(int n, char **v) { sink = 3; return run(n); }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(folder.path().join("main.c"), source).unwrap();
    let mut gcc = Command::new("gcc");
    let built = gcc
        .args(["-O2", "-o"])
        .arg(&path)
        .arg(folder.path().join("main.c"));
    assert!(built.status().unwrap().success());
    let program = Program {
        path,
        _folder: folder,
    };
    let symbols = Symbols::open(&program.path, None).unwrap();
    let start = symbols.named("_start").unwrap();
    let mut tables = Tables::default();
    let own = program.module(&mut tables);
    let libc = tables.module(Module {
        path: "/nowhere/libc.so.6".to_owned(),
        build_id: String::new(),
        runtime: RuntimeKind::None,
    });
    let run = program.frame(&mut tables, "run");
    for address in start.start..start.start + start.size {
        let mut stack = StackId::EMPTY;
        for (module, address) in [(own, address), (libc, 0x1000), (libc, 0x2000)] {
            let frame = tables.frame(Frame { module, address });
            let entry = StackEntry::Frame(frame);
            stack = tables.stack(Stack {
                callers: stack,
                entry,
            });
        }
        let entry = StackEntry::Frame(run);
        tables.stack(Stack {
            callers: stack,
            entry,
        });
    }
    assert_eq!(found(tables), ["main"]);
}
