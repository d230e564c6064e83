//! Visibility of load objects: all functions, only entry points, or one function for the object.

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::FunctionId;
use experiment::tables::{Interner, RuntimeKind, Tables};
use rustc_hash::FxHashMap;

use super::names::Names;
use crate::kernel;
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

/// How a load object is shown unless the user chooses: the kernel and our own library, which are no
/// part of the program, as one function each.
pub fn default_of(tables: &Tables, module: ModuleId) -> Visibility {
    let collector = tables.runtime(module) == RuntimeKind::Collector;
    if module == ModuleId::KERNEL || collector {
        Visibility::Hide
    } else {
        Visibility::Show
    }
}

/// A profile with some load objects hidden. Times do not change, only the functions that have them.
/// The hidden kernel is one function for each reason of entry.
pub fn apply(
    profile: &Profile,
    names: &Names<'_>,
    visibility: impl Fn(ModuleId) -> Visibility,
) -> Profile {
    let (paths, moved) = hide(&profile.paths, names, visibility);
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

/// Display stacks with some load objects hidden, and what became of each stack.
pub fn hide(
    paths: &Interner<Path>,
    names: &Names<'_>,
    visibility: impl Fn(ModuleId) -> Visibility,
) -> (Interner<Path>, Vec<PathId>) {
    let rows = paths.rows();
    let Some(&root) = rows.first() else {
        return (paths.clone(), Vec::new());
    };
    let mut paths = Interner::with([root]);
    let mut moved: Vec<Moved<'_>> = Vec::with_capacity(rows.len());
    moved.push(Moved::default());
    let mut reasons = FxHashMap::<&str, FunctionId>::default();
    for path in &rows[1..] {
        let object = object_of(names, path.frame);
        let callers = moved[path.callers.0 as usize];
        let entered = callers.object != object;
        let outer = if entered { callers.path } else { callers.outer };
        let mut here = Moved {
            path: callers.path,
            object,
            outer,
            reason: callers.reason.filter(|_| !entered),
        };
        let shown = object.map(|object| (object, visibility(object)));
        let hidden = |callee| DisplayFrame {
            callee,
            frame: FrameId::NONE,
            kind: FrameKind::Called,
        };
        let (callers, frame) = match shown {
            Some((ModuleId::KERNEL, Visibility::Hide)) => {
                let function = match path.frame.callee {
                    Callee::Function(id) => {
                        names.symbols.functions.get(id.0 as usize).zip(Some(id))
                    }
                    _ => None,
                };
                if let Some((function, id)) = function {
                    here.reason = kernel::inward(here.reason, &function.name);
                    if let Some(reason) = here.reason {
                        reasons.entry(reason).or_insert(id);
                    }
                }
                let told = here.reason.and_then(|reason| reasons.get(reason).copied());
                (outer, hidden(Callee::Kernel(told)))
            }
            Some((_, Visibility::Hide | Visibility::Api)) if !entered => {
                moved.push(here);
                continue;
            }
            Some((object, Visibility::Hide)) => (callers.path, hidden(Callee::Object(object))),
            _ => (callers.path, path.frame),
        };
        here.path = PathId(paths.intern(Path { callers, frame }));
        moved.push(here);
    }
    (paths, moved.into_iter().map(|it| it.path).collect())
}

/// What became of a path.
#[derive(Clone, Copy, Default)]
struct Moved<'a> {
    path: PathId,
    /// The load object at its leaf.
    object: Option<ModuleId>,
    /// What called the innermost run of frames in that object.
    outer: PathId,
    /// In the kernel: why the thread entered it, as far as this path tells.
    reason: Option<&'a str>,
}

fn object_of(names: &Names<'_>, frame: DisplayFrame) -> Option<ModuleId> {
    match frame.callee {
        Callee::Pseudo(_) | Callee::Cut(_) | Callee::Construct(_) => None,
        Callee::Object(module) => Some(module),
        Callee::Kernel(_) => Some(ModuleId::KERNEL),
        Callee::ParentOf(id) => names
            .symbols
            .functions
            .get(id.0 as usize)
            .map(|function| function.module),
        Callee::Inlined(frame, _) => names.tables.frames.get(frame.0).map(|at| at.module),
        callee => names.code(callee).map(|code| code.module),
    }
}

#[cfg(test)]
mod tests {
    use experiment::tables::Module;

    use super::*;
    use crate::states::RefinedState;
    use crate::views::calltree::calltree;
    use crate::views::test_profile::{TestProfile, by_total};

    /// A program that frees memory and waits, with the kernel's frames and our library's.
    fn in_the_kernel() -> TestProfile {
        let mut test = TestProfile::new();
        let fault = "asm_exc_page_fault";
        let call = "entry_SYSCALL_64";
        for (stack, seconds) in [
            (&["main", "free"][..], 1.0),
            (&["main", fault, "exc_page_fault"], 2.0),
            (&["main", fault, "exc_page_fault", "clear_page"], 4.0),
            (&["main", "free", call, "__do_sys_brk", "unmap"], 8.0),
            (&["main", "free", call, "ksys_mmap_pgoff"], 16.0),
            (&["main", "free", call, "exit_to_user_mode_loop"], 32.0),
            (&["main", "free", "finish_task_switch"], 64.0),
            (&["main", "wrap", "inner", "body", "wrap"], 128.0),
        ] {
            test.add(stack, RefinedState::Serial, seconds);
        }
        let collector = test.tables.module(Module {
            path: "/lib/libcollector.so".to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::Collector,
        });
        for function in &mut test.symbols.functions {
            function.module = match function.name.as_str() {
                "main" | "free" | "body" => continue,
                "wrap" | "inner" => collector,
                _ => ModuleId::KERNEL,
            };
        }
        test
    }

    fn tree(test: &TestProfile, visibility: impl Fn(ModuleId) -> Visibility) -> Vec<String> {
        let shown = apply(&test.profile, &test.names(), visibility);
        let rows = calltree(&shown, &test.names(), &by_total())
            .rows
            .into_iter();
        rows.map(|row| {
            let depth = row.depth as usize;
            let (name, seconds) = (row.name, (row.exclusive[0], row.attributed[0]));
            format!("{:depth$}{name} {} {}", "", seconds.0, seconds.1)
        })
        .collect()
    }

    #[test]
    fn the_kernel_is_one_frame_for_each_reason_of_entry() {
        let test = in_the_kernel();
        let found = tree(&test, |module| default_of(&test.tables, module));
        assert_eq!(
            found,
            [
                "<Total> 0 255",
                " main 0 255",
                "  <collector> 0 128",
                "   body 0 128",
                "    <collector> 128 128",
                "  free 1 121",
                "   <kernel> 64 64",
                "   <kernel: system call> 32 32",
                "   <kernel: mmap> 16 16",
                "   <kernel: brk> 8 8",
                "  <kernel: page fault> 6 6",
            ]
        );
    }

    #[test]
    fn a_shown_kernel_has_all_its_functions_and_the_same_total() {
        let test = in_the_kernel();
        let shown = |module| match module {
            ModuleId::KERNEL => Visibility::Show,
            module => default_of(&test.tables, module),
        };
        let found = tree(&test, shown);
        assert_eq!(found[0], "<Total> 0 255");
        assert!(
            found.contains(&"   exc_page_fault 2 6".to_owned()),
            "{found:#?}"
        );
        assert!(
            !found.iter().any(|row| row.contains("<kernel")),
            "{found:#?}"
        );
    }
}
