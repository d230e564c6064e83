//! Visibility of load objects: all functions, only entry points, or one function for the object.

use experiment::ids::{FrameId, ModuleId};
use experiment::tables::Interner;

use super::names::Names;
use crate::profile::{Callee, DisplayFrame, FrameKind, Path, PathId, Profile};

/// The part of a load object that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Every function.
    #[default]
    Show,
    /// The functions by which the object is entered.
    Api,
    /// One function with the object's name.
    Hide,
}

/// A profile with some load objects hidden. Times do not change, only the functions that have them.
pub fn apply(
    profile: &Profile,
    names: &Names<'_>,
    visibility: impl Fn(ModuleId) -> Visibility,
) -> Profile {
    let rows = profile.paths.rows();
    let Some(&root) = rows.first() else {
        return profile.clone();
    };
    let mut paths = Interner::with([root]);
    let mut moved: Vec<PathId> = Vec::with_capacity(rows.len());
    // The load object at the leaf of each path.
    let mut objects: Vec<Option<ModuleId>> = Vec::with_capacity(rows.len());
    moved.push(PathId::EMPTY);
    objects.push(None);
    for path in &rows[1..] {
        let object = object_of(names, path.frame);
        let callers = moved[path.callers.0 as usize];
        let entered = objects[path.callers.0 as usize] != object;
        objects.push(object);
        let frame = match object.map(|object| (object, visibility(object))) {
            Some((_, Visibility::Hide | Visibility::Api)) if !entered => {
                moved.push(callers);
                continue;
            }
            Some((object, Visibility::Hide)) => DisplayFrame {
                callee: Callee::Object(object),
                frame: FrameId::NONE,
                kind: FrameKind::Called,
            },
            _ => path.frame,
        };
        moved.push(PathId(paths.intern(Path { callers, frame })));
    }
    let mut items = profile.items.clone();
    for item in &mut items {
        item.path = moved[item.path.0 as usize];
    }
    Profile {
        mode: profile.mode,
        paths,
        items,
    }
}

fn object_of(names: &Names<'_>, frame: DisplayFrame) -> Option<ModuleId> {
    match frame.callee {
        Callee::Pseudo(_) | Callee::Cut(_) | Callee::Construct(_) => None,
        Callee::ParentOf(id) => names
            .symbols
            .functions
            .get(id.0 as usize)
            .map(|function| function.module),
        Callee::Inlined(frame, _) => names.tables.frames.get(frame.0).map(|at| at.module),
        callee => names.code(callee).map(|code| code.module),
    }
}
