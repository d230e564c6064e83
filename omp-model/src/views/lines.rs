//! The list of source lines.

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::SourceLine;
use experiment::tables::Interner;
use rustc_hash::FxHashMap;

use super::functions::{self, List};
use super::names::{Names, base_name};
use super::tree::Tree;
use super::{Code, Request};
use crate::profile::{Callee, DisplayFrame, FrameKind, Profile};
use crate::states::Pseudo;

/// The key that the list groups by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    name: String,
    /// The load object of a function without lines: functions of one name in several load objects
    /// are separate rows.
    module: Option<ModuleId>,
}

/// The list of lines: `foo, line 12 in "a.c"`. Inlined code counts like a call: its row is the line
/// where it is written, under the name of the function that contains it in the source, and its time
/// is inclusive time of the line that calls it. A function without lines keeps its name.
pub fn lines(profile: &Profile, names: &Names<'_>, request: &Request) -> List {
    let mut canonical = names.canonical();
    lines_by(profile, names, request, |callee| Function {
        name: names.name(canonical.of(callee)),
        module: names.code(callee).map(|code| code.module),
    })
}

/// The identity of a function in the list of lines.
pub(super) struct Function {
    pub(super) name: String,
    /// `None` if functions of one name are the same in all load objects.
    pub(super) module: Option<ModuleId>,
}

/// The list of lines, with functions identified by `function`.
pub(super) fn lines_by(
    profile: &Profile,
    names: &Names<'_>,
    request: &Request,
    mut function: impl FnMut(Callee) -> Function,
) -> List {
    let mut lines = Interner::<Line>::with([]);
    let mut codes: Vec<Option<Code>> = Vec::new();
    let mut known = FxHashMap::<(Callee, Option<SourceLine>), u32>::default();
    let mut line_of = |at: DisplayFrame| {
        let source = names.source_of(at);
        *known.entry((at.callee, source)).or_insert_with(|| {
            let code = names.code(at.callee).or_else(|| names.code_around(at));
            let Function { name, module } = function(at.callee);
            let line = lines.intern(Line {
                name: line_name(names, name, source, code.is_some()),
                module: module.filter(|_| source.is_none()),
            });
            if line as usize == codes.len() {
                codes.push(code);
            }
            line
        })
    };
    let unknown = line_of(DisplayFrame {
        callee: Callee::Pseudo(Pseudo::Unknown),
        frame: FrameId::NONE,
        kind: FrameKind::Called,
    });
    let tree = Tree::new(profile, &request.metrics, unknown, |path| {
        line_of(path.frame)
    });
    functions::list(&tree, request, |&line| {
        let name = lines.get(line).map(|line| line.name.clone());
        (name.unwrap_or_default(), codes[line as usize])
    })
}

fn line_name(
    names: &Names<'_>,
    function: String,
    source: Option<SourceLine>,
    code: bool,
) -> String {
    match source {
        Some(line) => {
            let file = names.symbols.files.get(line.file.0 as usize);
            let file = file.map_or("<Unknown>", |path| base_name(path));
            format!("{function}, line {} in \"{file}\"", line.line)
        }
        None if code => format!("<Function: {function}, instructions without line numbers>"),
        None => function,
    }
}

#[cfg(test)]
mod tests {
    use experiment::symbols::{FileId, FrameSymbol, InlinedLine, SourceLine};

    use super::*;
    use crate::inlining::expand;
    use crate::profile::{Path, PathId};
    use crate::states::RefinedState;
    use crate::views::test_profile::{TestProfile, by_total};

    #[test]
    fn lines_group_by_source_line_and_inlined_functions_are_calls() {
        let mut test = TestProfile::new();
        let line_of = |line| SourceLine {
            file: FileId(0),
            line,
        };
        let at = |function: &str, line| InlinedLine {
            function: Some(function.to_owned()),
            source: line_of(line),
        };
        let main = test.function("main");
        let known = |lines| FrameSymbol {
            function: Some(main),
            lines,
        };
        test.symbols.frames = vec![
            FrameSymbol::default(),
            known(vec![at("main", 7)]),
            known(vec![at("square", 2), at("main", 8)]),
            known(Vec::new()),
        ];
        for (frame, seconds) in [(1, 1.0), (2, 2.0), (2, 2.0), (3, 0.5)] {
            let frame = DisplayFrame {
                callee: Callee::Function(main),
                frame: FrameId(frame),
                kind: FrameKind::Called,
            };
            let path = test.profile.paths.intern(Path {
                callers: PathId::EMPTY,
                frame,
            });
            test.add(&[], RefinedState::Serial, seconds).path = PathId(path);
        }
        test.add(&["<OMP idle>"], RefinedState::Idle, 0.25);
        expand(&mut test.profile, &test.tables, &test.symbols);
        let list = lines(&test.profile, &test.names(), &by_total());
        let rows: Vec<(&str, f64, f64)> = list
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.exclusive[0], row.inclusive[0]))
            .collect();
        let expected = [
            ("square, line 2 in \"a.c\"", 4.0, 4.0),
            ("main, line 7 in \"a.c\"", 1.0, 1.0),
            (
                "<Function: main, instructions without line numbers>",
                0.5,
                0.5,
            ),
            ("<OMP idle>", 0.25, 0.25),
            // The line that calls the inlined function.
            ("main, line 8 in \"a.c\"", 0.0, 4.0),
        ];
        assert_eq!(rows, expected);
    }
}
