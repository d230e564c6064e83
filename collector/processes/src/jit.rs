//! What just-in-time compilers tell debuggers: a list of object files in the memory of the process ("JIT Compilation
//! Interface" of GDB's manual). LLVM's compilers do, and so numba and Julia.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use symbolize::Generated;
use unwinder::elf::ElfFile;

/// Most object files of a list, and the longest one in bytes: what is there may be nonsense.
const MOST: usize = 1 << 16;
const LONGEST: u64 = 64 << 20;

/// The lists of a process, and what was read of them.
#[derive(Default)]
pub(crate) struct Lists {
    /// The addresses of their variables.
    descriptors: Vec<u64>,
    /// The addresses of the entries that were read. A compiler puts new ones in front.
    known: HashSet<u64>,
}

impl Lists {
    /// Notes a list by the address of its variable.
    pub(crate) fn add(&mut self, descriptor: u64) {
        if !self.descriptors.contains(&descriptor) {
            self.descriptors.push(descriptor);
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Adds the functions of the object files that are new. What cannot be read is passed over: the process may be
    /// about to change the list. The lists of a process that is gone are not read again.
    pub(crate) fn read(&mut self, pid: i32, functions: &mut Generated) {
        let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else {
            self.descriptors.clear();
            return;
        };
        for &descriptor in &self.descriptors {
            // Version, action and the entry that it is about; the first entry.
            let mut next = words::<3>(&memory, descriptor).map_or(0, |words| words[2]);
            while next != 0 && self.known.len() < MOST && self.known.insert(next) {
                let Some([after, _, start, length]) = words::<4>(&memory, next) else {
                    break;
                };
                if length <= LONGEST
                    && let Some(file) = bytes(&memory, start, length)
                {
                    add_functions(&file, functions);
                }
                next = after;
            }
        }
    }
}

fn words<const N: usize>(memory: &File, address: u64) -> Option<[u64; N]> {
    let mut words = [0; N];
    for (number, word) in (0..).zip(&mut words) {
        let mut bytes = [0; 8];
        memory
            .read_exact_at(&mut bytes, address.checked_add(8 * number)?)
            .ok()?;
        *word = u64::from_le_bytes(bytes);
    }
    Some(words)
}

fn bytes(memory: &File, start: u64, length: u64) -> Option<Arc<[u8]>> {
    let mut bytes = vec![0; length as usize];
    memory.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes.into())
}

/// Adds the functions of an object file that is in memory. Its sections have their addresses there.
fn add_functions(file: &Arc<[u8]>, functions: &mut Generated) {
    let file = ElfFile::in_memory(file.clone());
    let Ok(elf) = file.parse() else {
        return;
    };
    for (range, name) in elf.functions_by_section() {
        functions.add(range, &name);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Our own process has a list of one object file, as gcc made it.
    #[test]
    fn the_functions_of_an_object_file_in_memory_are_found_once() {
        let folder = std::env::temp_dir().join(format!("jit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let (source, object) = (folder.join("code.c"), folder.join("code.o"));
        std::fs::write(&source, "int square(int n) { return n * n; }\n").expect("writable");
        let gcc = Command::new("gcc")
            .args(["-O2", "-c", "-Wl,-Ttext=0x5000", "-o"])
            .args([&object, &source])
            .status();
        assert!(gcc.expect("gcc").success());
        let file = std::fs::read(&object).expect("it was made");
        std::fs::remove_dir_all(folder).expect("it is there");
        let mut entry = [0, 0, file.as_ptr() as u64, file.len() as u64];
        let mut descriptor = [1, 0, (&raw const entry) as u64];
        let mut lists = Lists::default();
        lists.add((&raw const descriptor) as u64);
        let mut functions = Generated::default();
        let pid = std::process::id() as i32;
        lists.read(pid, &mut functions);
        // Its section has no address yet.
        assert_eq!(functions.at(0).map(|(_, name)| name), Some("square"));
        // A list that leads back to itself ends.
        entry[0] = (&raw const entry) as u64;
        descriptor[0] = 2;
        let mut again = Generated::default();
        lists.read(pid, &mut again);
        assert_eq!(again, Generated::default());
        assert!(!lists.is_empty() && entry[0] != 0 && descriptor[0] == 2);
    }
}
