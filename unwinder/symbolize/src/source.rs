//! Where symbols and sources come from.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use experiment::tables::Module;
use rustc_hash::FxHashMap;

use crate::debugfile::DebugFolders;
use crate::directives::Text;
use crate::generated::Generated;
use crate::kallsyms::{self, KernelFunction};
use crate::symbols::Symbols;

/// The longest source file that is read, in bytes.
pub const LONGEST_SOURCE: u64 = 64 << 20;

/// Where the symbols of load objects come from.
pub trait SymbolSource {
    /// The symbols of a load object that is neither the kernel nor unknown memory.
    ///
    /// # Errors
    /// Why there are none, in one clause.
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String>;

    /// The kernel's functions that hold the sorted addresses; asked for only if there are some.
    ///
    /// # Errors
    /// Why there are none, in one clause.
    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String>;

    /// The functions of a load object that no file holds: code that a program generated. `None` for others.
    fn generated(&mut self, module: &Module) -> Option<Rc<Generated>> {
        let _ = module;
        None
    }

    /// Asked before each step, of which there are many: whether to go on with `what`, such as a load object, by
    /// its path. If not, what is not resolved yet stays without names.
    fn goes_on(&mut self, what: &str) -> bool {
        let _ = what;
        true
    }

    /// The contents of a source file, by its path in the debug information.
    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        let _ = path;
        None
    }
}

/// The files as they are on this machine.
#[derive(Clone, Debug)]
pub struct Files {
    /// The vDSO's bytes, which no file holds.
    pub vdso: Option<Arc<[u8]>>,
    /// Files that their paths in the tables do not lead to, by path and build id: where they are.
    pub paths: FxHashMap<(String, String), PathBuf>,
    /// The code that programs generated, by the names of such load objects.
    pub generated: FxHashMap<String, Rc<Generated>>,
    /// Where their debug files are.
    pub folders: DebugFolders,
}

impl Default for Files {
    fn default() -> Files {
        Files {
            vdso: None,
            paths: FxHashMap::default(),
            generated: FxHashMap::default(),
            folders: DebugFolders::of_user(),
        }
    }
}

impl Files {
    /// Where the file of a load object is.
    #[must_use]
    pub fn place_of<'a>(&'a self, module: &'a Module) -> &'a Path {
        let row = (module.path.clone(), module.build_id.clone());
        let path = Path::new(&module.path);
        self.paths.get(&row).map_or(path, PathBuf::as_path)
    }
}

impl SymbolSource for Files {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        let path = Path::new(&module.path);
        let place = self.place_of(module);
        let opened = if module.path == "[vdso]" {
            let bytes = self.vdso.clone().ok_or("its bytes were not kept")?;
            Symbols::from_bytes(path, bytes)
        } else {
            Symbols::open_recorded(path, place, &module.build_id, &self.folders)
        };
        opened.map_err(|miss| miss.to_string())
    }

    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        kallsyms::find(addresses)
    }

    fn generated(&mut self, module: &Module) -> Option<Rc<Generated>> {
        self.generated.get(&module.path).cloned()
    }

    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        untrusted::read(Path::new(path), LONGEST_SOURCE).ok()
    }
}

/// A source of symbols whose source files are read once each.
pub(crate) struct Texts<'s, S> {
    pub(crate) source: &'s mut S,
    texts: FxHashMap<String, Option<Rc<Text>>>,
}

impl<'s, S: SymbolSource> Texts<'s, S> {
    pub(crate) fn new(source: &'s mut S) -> Self {
        Texts {
            source,
            texts: FxHashMap::default(),
        }
    }

    /// The text of a source file; a barrier or a construct of Fortran may stand in it.
    pub(crate) fn of(&mut self, path: &str) -> Option<Rc<Text>> {
        if let Some(known) = self.texts.get(path) {
            return known.clone();
        }
        let bytes = self.source.source(path);
        let text = bytes.map(|bytes| Rc::new(Text::new(&bytes)));
        self.texts.insert(path.to_owned(), text.clone());
        text
    }
}
