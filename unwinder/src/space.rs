//! The address space of one process: which load object is mapped where.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module as FramehopModule, Unwinder};

use crate::image::Image;
use crate::text::Call;

/// The index of a load object in its [`AddressSpace`]. Indices are never reused, so one stays
/// valid after its mapping was replaced, after [`AddressSpace::clear`], and in a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleIdx(pub u32);

/// A load object of a process.
#[derive(Clone, Debug)]
pub struct Module {
    /// The path under which it was mapped.
    pub path: PathBuf,
    /// Its parsed file, if that could be read.
    pub image: Option<Arc<Image>>,
}

/// Code of a file that is or was mapped.
#[derive(Clone, Debug)]
pub struct MappedCode {
    /// Its addresses.
    pub range: Range<u64>,
    /// The offset in the file of the first byte.
    pub offset: u64,
    /// The file.
    pub image: Arc<Image>,
    /// The path under which it was mapped.
    pub path: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    /// Address = svma + bias, in wrapping arithmetic.
    bias: u64,
    module: ModuleIdx,
}

/// Counts the changes of all address spaces, so that (address, generation) identifies one rule. It
/// orders nothing between threads.
static GENERATION: AtomicU64 = AtomicU64::new(1);

fn next_generation() -> u64 {
    GENERATION.fetch_add(1, Ordering::Relaxed)
}

/// One process: its executable mappings, and the unwinder over them.
///
/// [`Clone`] is `fork`, [`AddressSpace::clear`] is `exec`.
#[derive(Clone)]
pub struct AddressSpace {
    /// Sorted by start, without overlap.
    mappings: Vec<Mapping>,
    modules: Vec<Module>,
    /// Generated code, by address and apart from each other.
    generated: BTreeMap<u64, Arc<[u8]>>,
    unwinder: UnwinderX86_64<Arc<[u8]>>,
    generation: u64,
}

impl Default for AddressSpace {
    fn default() -> Self {
        Self::new()
    }
}

impl AddressSpace {
    /// An address space with nothing mapped.
    #[must_use]
    pub fn new() -> Self {
        Self {
            mappings: Vec::new(),
            modules: Vec::new(),
            generated: BTreeMap::new(),
            unwinder: UnwinderX86_64::new(),
            generation: next_generation(),
        }
    }

    /// Adds an executable mapping of `len` bytes at `start`; what it overlaps is unmapped first.
    ///
    /// `file_offset` is that of the mapping's first byte, in bytes. Without an image the mapping
    /// is still known by its path, and [`AddressSpace::locate`] then gives file offsets for svmas.
    /// An empty path, or a pseudo-path of the kernel (`//anon`, `[heap]`), is anonymous memory.
    /// Mappings that are not executable need not be given.
    pub fn map(
        &mut self,
        start: u64,
        len: u64,
        file_offset: u64,
        image: Option<Arc<Image>>,
        path: &Path,
    ) {
        self.unmap(start, len);
        let end = start.saturating_add(len);
        if start == end || (image.is_none() && is_anonymous(path)) {
            return;
        }
        let svma = image
            .as_ref()
            .and_then(|image| image.svma_of_offset(file_offset))
            .unwrap_or(file_offset);
        let module = self.module_for(image, path);
        let mapping = Mapping {
            start,
            end,
            bias: start.wrapping_sub(svma),
            module,
        };
        self.insert(mapping);
    }

    /// Adds what a program generated at `start`, where something without a file is mapped.
    pub fn add_generated(&mut self, start: u64, code: Arc<[u8]>) {
        self.generated.insert(start, code);
        self.generation = next_generation();
    }

    /// The generated code before and from an address on.
    pub(crate) fn generated_at(&self, address: u64) -> Option<(&[u8], &[u8])> {
        let (start, code) = self.generated.range(..=address).next_back()?;
        code.split_at_checked(usize::try_from(address - start).ok()?)
            .filter(|(_, rest)| !rest.is_empty())
    }

    /// Removes what is mapped in `len` bytes from `start`; mappings that reach over either end
    /// keep the rest.
    pub fn unmap(&mut self, start: u64, len: u64) {
        let end = start.saturating_add(len);
        self.generated
            .retain(|at, code| *at >= end || at.saturating_add(code.len() as u64) <= start);
        let first = self
            .mappings
            .partition_point(|mapping| mapping.end <= start);
        let after = self.mappings.partition_point(|mapping| mapping.start < end);
        if first >= after {
            return;
        }
        let cut: Vec<Mapping> = self.mappings.drain(first..after).collect();
        for old in cut {
            self.unwinder.remove_module(old.start);
            self.generation = next_generation();
            if old.start < start {
                self.insert(Mapping { end: start, ..old });
            }
            if old.end > end {
                self.insert(Mapping { start: end, ..old });
            }
        }
    }

    /// Forgets all mappings, as `exec` does.
    pub fn clear(&mut self) {
        self.mappings.clear();
        self.generated.clear();
        self.unwinder = UnwinderX86_64::new();
        self.generation = next_generation();
    }

    /// The load object that is mapped at `address`, and the address in that file's own terms.
    /// `None` for anonymous and unknown memory.
    #[must_use]
    pub fn locate(&self, address: u64) -> Option<(ModuleIdx, u64)> {
        let mapping = self.mapping_at(address)?;
        Some((mapping.module, address.wrapping_sub(mapping.bias)))
    }

    /// The load object whose data or code `address` belongs to, mapped or about to be, and the address
    /// in that file's own terms. Only what the file states is known of it: there are mappings of code
    /// alone.
    #[must_use]
    pub fn locate_data(&self, address: u64) -> Option<(ModuleIdx, u64)> {
        let located = self.mappings.iter().map(|mapping| {
            let svma = address.wrapping_sub(mapping.bias);
            (mapping.module, svma)
        });
        let mut located = located.filter(|&(module, svma)| {
            let image = self.module(module).and_then(|it| it.image.as_deref());
            image.is_some_and(|image| image.holds(svma))
        });
        located.next()
    }

    /// The start of the function at `address`, or of the part of it that the compiler put there, by
    /// its call frame information.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<u64> {
        let (image, svma) = self.image_at(address)?;
        let bounds = image.cfi()?.bounds(svma)?;
        Some(address - (svma - bounds.start))
    }

    /// Whether the call before `return_address` can have entered the function at `callee`: directly,
    /// through a pointer, or through a PLT stub. A function that ends in a jump to `callee` does not
    /// count.
    #[must_use]
    pub fn may_call(&self, return_address: u64, callee: u64) -> bool {
        let Some((image, svma)) = self.image_at(return_address) else {
            return false;
        };
        match image.call_before(svma) {
            Some(Call::Direct(target)) => {
                let target = return_address.wrapping_add(target.wrapping_sub(svma));
                let begins = self.function_at(target);
                let module = |address| self.locate(address).map(|(module, _)| module);
                // PLT stubs have no FDE, or one for all of them.
                let is_stub = begins != Some(target);
                is_stub && module(return_address) != module(callee)
                    || !is_stub && begins == self.function_at(callee)
            }
            Some(Call::Indirect) => true,
            None => false,
        }
    }

    /// The code of files that is mapped in `len` bytes from `start`, by address.
    #[must_use]
    pub fn code_in(&self, start: u64, len: u64) -> Vec<MappedCode> {
        let end = start.saturating_add(len);
        let inside = self.mappings.iter().filter_map(|mapping| {
            let range = mapping.start.max(start)..mapping.end.min(end);
            let module = self.module(mapping.module)?;
            let image = module.image.clone().filter(|_| !range.is_empty())?;
            let offset = image.offset_of_code(range.start.wrapping_sub(mapping.bias))?;
            Some(MappedCode {
                range,
                offset,
                image,
                path: module.path.clone(),
            })
        });
        inside.collect()
    }

    /// A load object by its index.
    #[must_use]
    pub fn module(&self, index: ModuleIdx) -> Option<&Module> {
        self.modules.get(index.0 as usize)
    }

    /// All load objects that were ever mapped, by index.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The mapped address ranges with their load objects, by address.
    pub fn mappings(&self) -> impl Iterator<Item = (Range<u64>, ModuleIdx)> {
        self.mappings
            .iter()
            .map(|mapping| (mapping.start..mapping.end, mapping.module))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn unwinder(&self) -> &UnwinderX86_64<Arc<[u8]>> {
        &self.unwinder
    }

    /// The image at `address` and the svma there.
    pub(crate) fn image_at(&self, address: u64) -> Option<(&Image, u64)> {
        let (index, svma) = self.locate(address)?;
        Some((self.module(index)?.image.as_deref()?, svma))
    }

    fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let after = self
            .mappings
            .partition_point(|mapping| mapping.start <= address);
        let mapping = &self.mappings[after.checked_sub(1)?];
        (address < mapping.end).then_some(mapping)
    }

    fn module_for(&mut self, image: Option<Arc<Image>>, path: &Path) -> ModuleIdx {
        let same = |module: &Module| match (&module.image, &image) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => module.path == path,
            _ => false,
        };
        let index = self.modules.iter().rposition(same).unwrap_or_else(|| {
            self.modules.push(Module {
                path: path.to_owned(),
                image,
            });
            self.modules.len() - 1
        });
        ModuleIdx(u32::try_from(index).expect("a process maps fewer than 2^32 files"))
    }

    fn insert(&mut self, mapping: Mapping) {
        let at = self
            .mappings
            .partition_point(|other| other.start < mapping.start);
        self.mappings.insert(at, mapping);
        self.generation = next_generation();
        let image = self.modules[mapping.module.0 as usize].image.as_deref();
        if let Some(image) = image.filter(|image| image.has_unwind_info()) {
            self.unwinder.add_module(framehop_module(&mapping, image));
        }
    }
}

fn is_anonymous(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    path.is_empty() || path.starts_with(b"//") || path.starts_with(b"[")
}

fn framehop_module(mapping: &Mapping, image: &Image) -> FramehopModule<Arc<[u8]>> {
    let sections = image.sections();
    let svma_range = |section: &Option<(u64, Arc<[u8]>)>| {
        section
            .as_ref()
            .map(|(svma, data)| *svma..svma.saturating_add(data.len() as u64))
    };
    let data = |section: &Option<(u64, Arc<[u8]>)>| section.as_ref().map(|(_, data)| data.clone());
    let base_svma = image.base_svma();
    let info = ExplicitModuleSectionInfo {
        base_svma,
        text_svma: Some(sections.text..sections.text),
        got_svma: Some(sections.got..sections.got),
        eh_frame_svma: svma_range(&sections.eh_frame),
        eh_frame: data(&sections.eh_frame),
        eh_frame_hdr_svma: svma_range(&sections.eh_frame_hdr),
        eh_frame_hdr: data(&sections.eh_frame_hdr),
        debug_frame: data(&sections.debug_frame),
        ..Default::default()
    };
    let name = image.path().to_string_lossy().into_owned();
    let base = base_svma.wrapping_add(mapping.bias);
    FramehopModule::new(name, mapping.start..mapping.end, base, info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_space(mappings: &[(u64, u64, u64, &str)]) -> AddressSpace {
        let mut space = AddressSpace::new();
        for (start, len, offset, path) in mappings {
            space.map(*start, *len, *offset, None, Path::new(path));
        }
        space
    }

    fn at(space: &AddressSpace, address: u64) -> Option<(String, u64)> {
        let (index, svma) = space.locate(address)?;
        let module = space.module(index).expect("located");
        Some((module.path.to_string_lossy().into_owned(), svma))
    }

    #[test]
    fn a_new_mapping_wins_over_the_middle_of_an_old_one() {
        let space = file_space(&[(0x1000, 0x3000, 0, "/old"), (0x2000, 0x1000, 0x500, "/new")]);
        assert_eq!(at(&space, 0x1fff), Some(("/old".into(), 0xfff)));
        assert_eq!(at(&space, 0x2000), Some(("/new".into(), 0x500)));
        assert_eq!(at(&space, 0x3000), Some(("/old".into(), 0x2000)));
        assert_eq!(at(&space, 0x4000), None);
        assert_eq!(space.mappings().count(), 3);
    }

    #[test]
    fn anonymous_memory_hides_what_was_there() {
        let space = file_space(&[(0x1000, 0x2000, 0, "/lib"), (0x1000, 0x1000, 0, "//anon")]);
        assert_eq!(at(&space, 0x1800), None);
        assert_eq!(at(&space, 0x2800), Some(("/lib".into(), 0x1800)));
    }

    #[test]
    fn a_fork_keeps_its_mappings_when_the_parent_execs() {
        let mut parent = file_space(&[(0x1000, 0x1000, 0, "/a")]);
        let child = parent.clone();
        parent.clear();
        parent.map(0x1000, 0x1000, 0, None, Path::new("/b"));
        assert_eq!(at(&parent, 0x1000), Some(("/b".into(), 0)));
        assert_eq!(at(&child, 0x1000), Some(("/a".into(), 0)));
        assert_eq!(parent.modules().len(), 2, "indices outlive exec");
    }

    #[test]
    fn the_pieces_of_one_file_are_one_load_object() {
        let space = file_space(&[(0x1000, 0x1000, 0, "/a"), (0x9000, 0x1000, 0x8000, "/a")]);
        assert_eq!(space.modules().len(), 1);
        assert_eq!(at(&space, 0x9010), Some(("/a".into(), 0x8010)));
    }

    #[test]
    fn unmapping_at_the_end_of_the_address_space_does_not_overflow() {
        let mut space = file_space(&[(u64::MAX - 0x10, 0x100, 0, "/top")]);
        assert_eq!(at(&space, u64::MAX - 1), Some(("/top".into(), 0xf)));
        space.unmap(0, u64::MAX);
        assert_eq!(space.mappings().count(), 0);
    }
}
