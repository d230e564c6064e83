//! Split debug information (`-gsplit-dwarf`): a `.dwo` file for each unit, or a `.dwp` file with those of
//! all units (DWARF 5, section 7.3).

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{
    Dwarf, DwarfPackage, DwoId, LittleEndian, Reader as _, Section as _, SectionId,
    UnitSectionOffset,
};
use unwinder::elf::ElfFile;

use crate::debugfile::{ObjectFile, SymbolsMiss, real};
use crate::debuginfo::{ReadSection, Reader, named_section};

/// What the skeleton of a unit tells of its split debug information.
pub(crate) struct Skeleton<'a> {
    pub(crate) id: DwoId,
    /// The name of its file.
    pub(crate) name: &'a Reader,
    /// The folder in which the compiler ran.
    pub(crate) folder: Option<&'a Reader>,
    pub(crate) parent: &'a Dwarf<Reader>,
}

/// The files of split debug information of one load object.
#[derive(Debug)]
pub(crate) struct SplitFiles {
    /// The load object.
    path: PathBuf,
    /// Where the package may be.
    packages: Vec<PathBuf>,
    read: ReadSection,
    package: OnceCell<Option<DwarfPackage<Reader>>>,
    missing: RefCell<Missing>,
}

/// The units whose split debug information was asked for and is not there.
#[derive(Debug, Default)]
struct Missing {
    units: usize,
    /// The file of the first of them, as its skeleton names it.
    file: PathBuf,
    /// A damaged file, or one of another build, that has the name of one that is missing.
    unfit: Option<PathBuf>,
}

impl SplitFiles {
    /// Those of a load object whose debug information is in the file at `debug_file`.
    pub(crate) fn of(object: &ObjectFile, debug_file: &Path, read: ReadSection) -> SplitFiles {
        SplitFiles {
            path: object.path.clone(),
            packages: packages(object, debug_file),
            read,
            package: OnceCell::new(),
            missing: RefCell::default(),
        }
    }

    /// The split debug information of a unit: in the file that the compiler wrote, in one of its name
    /// beside the load object, or in the package.
    pub(crate) fn find(&self, unit: &Skeleton<'_>) -> Option<Dwarf<Reader>> {
        let path = |text: &Reader| Some(PathBuf::from(text.to_string_lossy().ok()?.as_ref()));
        let named = path(unit.name).unwrap_or_default();
        let written = match unit.folder.and_then(path) {
            Some(folder) => folder.join(&named),
            None => named.clone(),
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let beside = named.file_name().map(|name| folder.join(name));
        let mut unfit = None;
        for path in [Some(written), beside].into_iter().flatten() {
            let Ok(file) = ElfFile::open(&path) else {
                continue;
            };
            match self.open(&file, unit) {
                Some(found) => return Some(found),
                None => unfit = Some(path),
            }
        }
        if let Some(package) = self.package()
            && let Ok(Some(found)) = package.find_cu(unit.id, unit.parent)
        {
            return Some(found);
        }
        let mut missing = self.missing.borrow_mut();
        missing.units += 1;
        if missing.units == 1 {
            missing.file = named;
        }
        missing.unfit = missing.unfit.take().or(unfit);
        None
    }

    /// What is in a `.dwo` file, from the unit on, if it has that. Type units may stand before it.
    fn open(&self, file: &ElfFile, unit: &Skeleton<'_>) -> Option<Dwarf<Reader>> {
        let elf = file.parse().ok()?;
        let read = |id: SectionId| match id.dwo_name() {
            Some(name) if id == SectionId::DebugInfo => {
                Ok(Reader::new(Arc::from(elf.all_bytes(name)), LittleEndian))
            }
            Some(name) => (self.read)(&elf, id, name),
            None => Ok(empty()),
        };
        let mut dwarf = Dwarf::load(read).ok()?;
        dwarf.make_dwo(unit.parent);
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let own = dwarf.unit(header.clone()).ok()?;
            if own.dwo_id == Some(unit.id) {
                let UnitSectionOffset(offset) = header.offset();
                let mut from = dwarf.debug_info.reader().clone();
                from.skip(offset).ok()?;
                dwarf.debug_info = from.into();
                return Some(dwarf);
            }
        }
        None
    }

    /// The first package that can be read. A unit is found in it by its id, so that one of another build
    /// does no harm.
    fn package(&self) -> Option<&DwarfPackage<Reader>> {
        let open = |path: &PathBuf| {
            let file = ElfFile::open(path).ok()?;
            let elf = file.parse().ok()?;
            // The index tells of parts of all sections.
            let read = |id: SectionId| match id.dwo_name() {
                Some(name) => named_section(&elf, id, name).map_err(|_| gimli::Error::Io),
                None => Ok(empty()),
            };
            let package = DwarfPackage::load(read, empty()).ok();
            if package.is_none() {
                self.missing.borrow_mut().unfit = Some(path.clone());
            }
            package
        };
        self.package
            .get_or_init(|| self.packages.iter().find_map(open))
            .as_ref()
    }

    /// What was asked for in vain.
    pub(crate) fn miss(&self) -> Option<SymbolsMiss> {
        let missing = self.missing.borrow();
        let package = match self.package.get() {
            Some(Some(_)) => None,
            _ => self.packages.first().cloned(),
        };
        (missing.units > 0).then(|| SymbolsMiss::NoSplitFile {
            path: self.path.clone(),
            units: missing.units,
            file: missing.file.clone(),
            unfit: missing.unfit.clone(),
            package,
        })
    }
}

fn empty() -> Reader {
    Reader::new(Arc::from([]), LittleEndian)
}

/// Where GDB and LLDB look for a package: `app.dwp` beside the load object, beside its debug file, also
/// for one that is called `app.debug`, and in the folders of debug files.
fn packages(object: &ObjectFile, debug_file: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let with_ending = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".dwp");
        PathBuf::from(name)
    };
    for path in [&object.path, &real(&object.path), debug_file] {
        all.push(with_ending(path));
        if path.extension().is_some_and(|ending| ending == "debug") {
            all.push(path.with_extension("dwp"));
        }
    }
    if let Some(name) = object.path.file_name() {
        let roots = object.folders.roots.iter();
        all.extend(roots.map(|root| with_ending(&root.join(name))));
    }
    all
}
