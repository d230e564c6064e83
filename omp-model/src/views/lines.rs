//! The list of source lines.

use super::functions::{List, Sums, total_row};
use super::names::{Names, base_name};
use super::tree::Tree;
use super::{Request, Row, sort_rows};
use crate::ids::FrameId;
use crate::profile::{Callee, DisplayFrame, Profile, Pseudo};
use crate::symbols::{InlinedPlace, Place};

/// What the list groups by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    callee: Callee,
    place: Option<Place>,
}

/// The list of lines: `foo, line 12 in "a.c"`. Code inlined from elsewhere counts at the line
/// where it is written, under the name of the function that it is written in; what has no line
/// keeps its name.
pub fn lines(profile: &Profile, names: &Names<'_>, request: &Request) -> List {
    let mut canonical = names.canonical();
    let unknown = Line {
        callee: Callee::Pseudo(Pseudo::Unknown),
        place: None,
    };
    let mut written_in = rustc_hash::FxHashMap::default();
    let tree = Tree::new(profile, &request.metrics, unknown, |path| {
        let DisplayFrame { callee, frame } = path.frame;
        let at = innermost(names, callee, frame);
        let place = at.map(|at| at.place);
        let line = Line {
            callee: canonical.of(callee),
            place: place.or_else(|| directive(names, callee, frame)),
        };
        if let Some(function) = at.and_then(|at| inlined_function(names, frame, at)) {
            written_in.entry(line).or_insert(function);
        }
        line
    });
    let mut rows: Vec<Row> = Sums::new(&tree)
        .zip(&tree)
        .map(|(line, exclusive, inclusive)| Row {
            name: line_name(names, line, written_in.get(line).copied()),
            code: names.code(line.callee),
            exclusive,
            inclusive,
        })
        .collect();
    sort_rows(&mut rows, request);
    List {
        total: total_row(&tree),
        rows,
    }
}

fn innermost<'a>(names: &Names<'a>, callee: Callee, frame: FrameId) -> Option<&'a InlinedPlace> {
    names.code(callee)?;
    names.symbols.frame(frame).places.first()
}

/// The line of the directive, for a construct whose wait was placed there without an address.
pub(super) fn directive(names: &Names<'_>, callee: Callee, frame: FrameId) -> Option<Place> {
    let function = names.function_of(callee)?;
    let line = function.outlined.as_ref()?.line?;
    let file = function.place?.file;
    (frame == FrameId::NONE).then_some(Place { file, line })
}

/// The inlined function that holds a place, if it is not the frame's own function: clang's
/// `foo.omp_outlined_debug__` inside `foo.omp_outlined` is one with it.
fn inlined_function<'a>(
    names: &Names<'a>,
    frame: FrameId,
    at: &'a InlinedPlace,
) -> Option<&'a str> {
    let inlined = names.symbols.frame(frame).places.len() > 1;
    at.function
        .as_deref()
        .filter(|name| inlined && !name.contains(".omp_outlined"))
}

fn line_name(names: &Names<'_>, line: &Line, inlined: Option<&str>) -> String {
    let function = match inlined {
        Some(name) => name.to_owned(),
        None => names.name(line.callee),
    };
    match line.place {
        Some(place) => {
            let file = names.symbols.files.get(place.file.0 as usize);
            let file = file.map_or("<Unknown>", |path| base_name(path));
            format!("{function}, line {} in \"{file}\"", place.line)
        }
        None if names.code(line.callee).is_some() => {
            format!("<Function: {function}, instructions without line numbers>")
        }
        None => function,
    }
}
