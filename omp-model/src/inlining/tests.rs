use experiment::symbols::Construct;
use experiment::symbols::{FrameSymbol, Outlined, SourceLine};
use experiment::tables::{Frame, Module, RuntimeKind};

use super::*;
use crate::views::names::{NameStyle, Names};

/// Functions and frames of a program, and display stacks of them.
struct Program {
    tables: Tables,
    symbols: SymbolTable,
    paths: Interner<Path>,
    module: ModuleId,
}

const NOWHERE: DisplayFrame = DisplayFrame {
    callee: Callee::Static(ModuleId::NONE, 0),
    frame: FrameId::NONE,
    kind: FrameKind::Called,
};

impl Program {
    fn new() -> Program {
        let mut tables = Tables::default();
        let module = tables.module(Module {
            path: "/app/prog".to_owned(),
            build_id: "ab".to_owned(),
            runtime: RuntimeKind::None,
        });
        Program {
            tables,
            symbols: SymbolTable {
                files: vec!["/src/a.c".to_owned(), "/src/b.c".to_owned()],
                ..SymbolTable::default()
            },
            paths: Interner::with([Path {
                callers: PathId::EMPTY,
                frame: NOWHERE,
            }]),
            module,
        }
    }

    /// A function written in a file; the body of a construct of `parent` if there is one.
    fn function(&mut self, name: &str, file: u32, parent: Option<&str>) -> FunctionId {
        let id = FunctionId(self.symbols.functions.len() as u32);
        self.symbols.functions.push(Function {
            module: self.module,
            address: 0x1000 * u64::from(id.0 + 1),
            size: 0x1000,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source: Some(SourceLine {
                file: FileId(file),
                line: 1,
            }),
            outlined: parent.map(|parent| Outlined {
                construct: Construct::Parallel,
                parent: Some(parent.to_owned()),
                line: Some(5),
            }),
        });
        id
    }

    /// A frame of a function with lines of `(function, file, line)`, innermost first.
    fn frame(&mut self, function: FunctionId, lines: &[(&str, u32, u32)]) -> FrameId {
        let frame = self.tables.frame(Frame {
            module: self.module,
            address: 0x1000 * u64::from(function.0 + 1) + self.symbols.frames.len() as u64,
        });
        let count = frame.index() + 1;
        self.symbols.frames.resize(count, FrameSymbol::default());
        self.symbols.frames[frame.index()] = FrameSymbol {
            function: Some(function),
            lines: lines
                .iter()
                .map(|&(name, file, line)| InlinedLine {
                    function: Some(name.to_owned()),
                    source: SourceLine {
                        file: FileId(file),
                        line,
                    },
                })
                .collect(),
        };
        frame
    }

    fn push(&mut self, callers: PathId, callee: Callee, frame: FrameId) -> PathId {
        let frame = DisplayFrame {
            callee,
            frame,
            kind: FrameKind::Called,
        };
        PathId(self.paths.intern(Path { callers, frame }))
    }

    /// A stack after expansion, outermost first: names, lines, and `!` before inlined ones.
    fn expanded(&mut self, path: PathId) -> Vec<String> {
        let moved = expand_paths(&mut self.paths, &self.tables, &self.symbols);
        let names = Names {
            tables: &self.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        };
        let mut stack = Vec::new();
        let mut at = moved[path.0 as usize];
        while at != PathId::EMPTY {
            let path = self.paths.get(at.0).unwrap();
            let mark = match path.frame.kind {
                FrameKind::Called => "",
                FrameKind::Inlined(_) => "!",
            };
            let line = names.source_of(path.frame).map_or(0, |source| source.line);
            stack.push(format!("{mark}{}:{line}", names.name(path.frame.callee)));
            at = path.callers;
        }
        stack.reverse();
        stack
    }
}

#[test]
fn an_inlined_function_stands_under_the_function_that_holds_its_code() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let frame = test.frame(main, &[("square", 0, 3), ("norm", 0, 7), ("main", 0, 20)]);
    let path = test.push(PathId::EMPTY, Callee::Function(main), frame);
    assert_eq!(test.expanded(path), ["main:20", "!norm:7", "!square:3"]);
}

#[test]
fn an_inlined_function_is_the_row_of_the_function_by_itself() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let other = test.function("helper", 1, None);
    let helper = test.function("helper", 0, None);
    let here = test.frame(main, &[("helper", 0, 3), ("main", 0, 20)]);
    let there = test.frame(main, &[("helper", 1, 4), ("main", 0, 21)]);
    let [here, there] =
        [here, there].map(|frame| test.push(PathId::EMPTY, Callee::Function(main), frame));
    let moved = expand_paths(&mut test.paths, &test.tables, &test.symbols);
    let leaf = |path: PathId| {
        test.paths
            .get(moved[path.0 as usize].0)
            .unwrap()
            .frame
            .callee
    };
    assert_eq!(leaf(here), Callee::Function(helper));
    assert_eq!(leaf(there), Callee::Function(other));
}

/// The call tree called a function recursive that calls an overload of itself.
#[test]
fn an_inlined_overload_is_not_the_function_that_it_was_inlined_into() {
    let mut test = Program::new();
    let volume = test.function("volume(double*)", 0, None);
    // A static function of C++: debug information has no parameters.
    let lines = [("volume", 0, 3), ("volume(double*)", 0, 7)];
    let frame = test.frame(volume, &lines);
    let path = test.push(PathId::EMPTY, Callee::Function(volume), frame);
    assert_eq!(test.expanded(path), ["volume(double*):7", "!volume:3"]);
}

#[test]
fn a_static_function_inlined_into_itself_is_one_row() {
    let mut test = Program::new();
    let fib = test.function("fib(int)", 0, None);
    let frame = test.frame(fib, &[("fib", 0, 3), ("fib", 0, 3)]);
    let path = test.push(PathId::EMPTY, Callee::Function(fib), frame);
    assert_eq!(test.expanded(path), ["fib(int):3", "!fib(int):3"]);
}

#[test]
fn static_functions_of_one_name_in_two_files_are_two_rows() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let lines = [("f", 0, 3), ("f", 1, 3), ("f", 0, 4)];
    let paths = lines.map(|line| {
        let frame = test.frame(main, &[line, ("main", 0, 20)]);
        test.push(PathId::EMPTY, Callee::Function(main), frame)
    });
    let moved = expand_paths(&mut test.paths, &test.tables, &test.symbols);
    let leaf = |path: PathId| {
        test.paths
            .get(moved[path.0 as usize].0)
            .unwrap()
            .frame
            .callee
    };
    let [first, second, third] = paths.map(leaf);
    assert_ne!(first, second);
    assert_eq!(first, third);
}

#[test]
fn outlined_functions_inlined_into_each_other_are_one_frame() {
    let mut test = Program::new();
    let body = test.function("foo.omp_outlined", 0, Some("foo"));
    let frame = test.frame(
        body,
        &[
            ("square", 0, 3),
            ("foo.omp_outlined_debug__", 0, 9),
            ("foo.omp_outlined", 0, 8),
        ],
    );
    let path = test.push(PathId::EMPTY, Callee::Function(body), frame);
    let name = "foo -- OMP parallel region from line 5 [foo.omp_outlined]";
    assert_eq!(
        test.expanded(path),
        [format!("{name}:9"), "!square:3".to_owned()]
    );
}

#[test]
fn a_body_inlined_into_its_parent_has_its_own_line_and_not_its_parents_callers() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let body = test.function("foo.omp_outlined", 0, Some("foo"));
    let lines = [
        ("square", 0, 3),
        ("foo.omp_outlined", 0, 9),
        ("foo", 0, 8),
        ("main", 0, 20),
    ];
    let frame = test.frame(main, &lines);
    let path = test.push(PathId::EMPTY, Callee::Function(body), frame);
    let name = "foo -- OMP parallel region from line 5 [foo.omp_outlined]";
    assert_eq!(
        test.expanded(path),
        [format!("{name}:9"), "!square:3".to_owned()]
    );
}

#[test]
fn a_parent_that_was_inlined_is_not_restored_beside_its_frame() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let body = test.function("foo.omp_outlined", 0, Some("foo(double*)"));
    // A static function of C++: debug information has no parameters.
    let fork = test.frame(main, &[("foo", 0, 8), ("main", 0, 20)]);
    let inside = test.frame(body, &[("foo.omp_outlined", 0, 9)]);
    let path = test.push(PathId::EMPTY, Callee::Function(main), fork);
    let path = test.push(path, Callee::ParentOf(body), FrameId::NONE);
    let path = test.push(path, Callee::Function(body), inside);
    let name = "foo(double*) -- OMP parallel region from line 5 [foo.omp_outlined]";
    assert_eq!(
        test.expanded(path),
        [
            "main:20".to_owned(),
            "!foo:8".to_owned(),
            format!("{name}:9")
        ]
    );
}

/// The call tree called such a function recursive.
#[test]
fn a_function_with_code_of_its_own_is_not_restored_beside_its_inlined_frame() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let foo = test.function("foo(double*)", 0, None);
    let body = test.function("foo(double*) [clone ._omp_fn.0]", 0, Some("foo(double*)"));
    // The code of `init`, called before the directive in `foo`, goes on around the fork.
    let lines = [("init", 0, 3), ("foo(double*)", 0, 8), ("main", 0, 20)];
    let inside = test.frame(body, &[("foo", 0, 9)]);
    for around in [&lines[1..], &lines[..]] {
        let fork = test.frame(main, around);
        let path = test.push(PathId::EMPTY, Callee::Function(main), fork);
        let path = test.push(path, Callee::Function(foo), FrameId::NONE);
        let path = test.push(path, Callee::Function(body), inside);
        let found = test.expanded(path);
        assert_eq!(found[..2], ["main:20", "!foo(double*):8"]);
        assert!(found[2].contains(" -- OMP parallel region"), "{found:?}");
        assert_eq!(found.len(), 3);
    }
}

#[test]
fn a_parent_that_a_jump_removed_is_the_row_of_its_inlined_copies() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let body = test.function("foo.omp_outlined", 0, Some("foo"));
    let jump = test.frame(main, &[("main", 0, 21)]);
    test.frame(main, &[("foo", 0, 8), ("main", 0, 20)]);
    let path = test.push(PathId::EMPTY, Callee::Function(main), jump);
    let path = test.push(path, Callee::ParentOf(body), FrameId::NONE);
    assert_eq!(test.expanded(path), ["main:21", "foo:0"]);
}

#[test]
fn a_function_inlined_beside_a_construct_is_not_its_caller() {
    let mut test = Program::new();
    let main = test.function("main", 0, None);
    let body = test.function("foo._omp_fn.0", 0, Some("foo"));
    // The code of `init`, called before the directive in `foo`, goes on around the fork.
    let fork = test.frame(main, &[("init", 0, 3), ("foo", 0, 8), ("main", 0, 20)]);
    let path = test.push(PathId::EMPTY, Callee::Function(main), fork);
    let inside = test.frame(body, &[("foo._omp_fn.0", 0, 9)]);
    let region = test.push(path, Callee::Function(body), inside);
    let name = "foo -- OMP parallel region from line 5 [foo._omp_fn.0]:9";
    assert_eq!(test.expanded(region), ["main:20", "!foo:8", name]);
    // Where no caller is the directive's function, all of them stay.
    let other = test.function("bar._omp_fn.0", 0, Some("bar"));
    let inside = test.frame(other, &[("bar._omp_fn.0", 0, 9)]);
    let region = test.push(path, Callee::Function(other), inside);
    let callers = test.expanded(region).len() - 1;
    assert_eq!(callers, 3);
}
