//! The functions of code that a program generated while it ran, by what it tells of them: `/tmp/perf-PID.map`, and
//! dumps of just-in-time compilers (jitdump).

use std::collections::BTreeMap;
use std::ops::Range;

use untrusted::printable;

/// Functions of generated code, by address. One that was generated where others were takes their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// By their begins: end and name.
    functions: BTreeMap<u64, (u64, String)>,
    /// What holds the code of which nothing is told, in the same form.
    pieces: BTreeMap<u64, (u64, String)>,
}

impl Generated {
    /// Adds a function, in the place of all that it overlaps.
    pub fn add(&mut self, range: Range<u64>, name: &str) {
        if range.is_empty() {
            return;
        }
        let before = self.functions.range(..range.start).next_back();
        let first = before.filter(|(_, (end, _))| *end > range.start);
        let inside = self.functions.range(range.clone());
        let gone: Vec<u64> = first.into_iter().chain(inside).map(|it| *it.0).collect();
        for start in gone {
            self.functions.remove(&start);
        }
        let name = printable(name).into_owned();
        self.functions.insert(range.start, (range.end, name));
    }

    /// Adds a piece of memory, which is a function where there is no other one. Pieces do not overlap.
    pub fn add_piece(&mut self, range: Range<u64>, name: &str) {
        self.pieces
            .insert(range.start, (range.end, name.to_owned()));
    }

    /// The function that holds an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<(Range<u64>, &str)> {
        [&self.functions, &self.pieces].into_iter().find_map(|all| {
            let (start, (end, name)) = all.range(..=address).next_back()?;
            (address < *end).then_some((*start..*end, name.as_str()))
        })
    }

    /// The names of the functions that are told.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.values().map(|(_, name)| name.as_str())
    }

    /// Adds what a perf map tells: lines of begin and length, hexadecimal, and name. Lines of another form are passed
    /// over: the last one may be in the making.
    pub fn add_map(&mut self, map: &[u8]) {
        for line in map.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut fields = line.trim_end().splitn(3, ' ');
            let mut number = || {
                let field = fields.next()?;
                u64::from_str_radix(field.strip_prefix("0x").unwrap_or(field), 16).ok()
            };
            if let (Some(start), Some(length)) = (number(), number())
                && let Some(name) = fields.next().map(str::trim)
            {
                self.add(start..start.saturating_add(length), name);
            }
        }
    }

    /// Adds what a dump tells: its form is "JITDUMP specification version 2" in the sources of perf. What follows
    /// a record that makes no sense is passed over: the program may have ended while it wrote.
    pub fn add_dump(&mut self, dump: &[u8]) {
        const MAGIC: u32 = 0x4a69_5444;
        const CODE_LOAD: u32 = 0;
        const CODE_MOVE: u32 = 1;
        let half = |bytes: &[u8], at: usize| {
            let half = bytes.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*half))
        };
        let word = |bytes: &[u8], at: usize| {
            let word = bytes.get(at..)?.first_chunk()?;
            Some(u64::from_le_bytes(*word))
        };
        let header = half(dump, 8).filter(|_| half(dump, 0) == Some(MAGIC));
        let mut rest = header.and_then(|length| dump.get(length as usize..));
        while let Some(bytes) = rest
            && let (Some(kind), Some(size)) = (half(bytes, 0), half(bytes, 4))
            && size >= 16
            && let Some(record) = bytes.get(..size as usize)
        {
            rest = bytes.get(size as usize..);
            // Behind the time: process, thread, link-time address, address.
            match kind {
                CODE_LOAD => {
                    let (start, length) = (word(record, 32), word(record, 40));
                    let name = record.get(56..).unwrap_or_default();
                    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                    if let (Some(start), Some(length)) = (start, length) {
                        let name = String::from_utf8_lossy(name);
                        self.add(start..start.saturating_add(length), &name);
                    }
                }
                CODE_MOVE => {
                    let (old, new, length) = (word(record, 32), word(record, 40), word(record, 48));
                    if let (Some(old), Some(new), Some(length)) = (old, new, length)
                        && let Some((_, name)) = self.functions.remove(&old)
                    {
                        self.add(new..new.saturating_add(length), &name);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_names_what_was_generated_last() {
        let mut code = Generated::default();
        code.add_map(
            b"1000 20 first\n0x1040 0x10 jit::method(int, char)  \nnonsense\n1050 0 empty\n1060 8\n\
              1010 8 within\nffffffffffffffff 20 top\n1070 1",
        );
        let name = |address| code.at(address).map(|(_, name)| name.to_owned());
        // It was generated where the first one was.
        assert_eq!(name(0x1000), None);
        assert_eq!(code.at(0x1017), Some((0x1010..0x1018, "within")));
        assert_eq!(name(0x1018), None);
        assert_eq!(name(0x104f).as_deref(), Some("jit::method(int, char)"));
        assert_eq!(name(0x1050), None);
        assert_eq!(name(0x1060), None);
    }

    #[test]
    fn a_dump_names_what_was_generated_and_moved_and_its_end_may_be_missing() {
        let mut dump = [0x4a69_5444_u32, 1, 40, 62].map(u32::to_le_bytes).concat();
        dump.resize(40, 0);
        let mut record = |kind: u32, numbers: &[u64], name: &[u8]| {
            let size = 16 + 8 * numbers.len() + name.len();
            dump.extend([kind, size as u32].map(u32::to_le_bytes).concat());
            dump.extend(7_u64.to_le_bytes());
            dump.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
            dump.extend(name);
        };
        record(0, &[1, 0x1000, 0x1000, 0x20, 0], b"square\0\x90\x90");
        record(2, &[1, 2, 3], b"");
        record(0, &[1, 0x2000, 0x2000, 0x20, 1], b"cube\0");
        record(1, &[1, 0x2000, 0x2000, 0x3000, 0x20, 1], b"");
        record(0, &[1, 0x4000, 0x4000, 0x20, 2], b"cut\0");
        let names = |dump: &[u8]| {
            let mut code = Generated::default();
            code.add_dump(dump);
            let name = |address| code.at(address).map(|(_, name)| name.to_owned());
            [0x101f, 0x2000, 0x3000, 0x4000].map(name)
        };
        let [square, cube, cut] = ["square", "cube", "cut"].map(|it| Some(it.to_owned()));
        assert_eq!(names(&dump), [square.clone(), None, cube.clone(), cut]);
        assert_eq!(names(&dump[..dump.len() - 3]), [square, None, cube, None]);
        for length in 0..60 {
            let short = names(&dump[..length]);
            assert_eq!(short, [const { None }; 4], "{length}");
        }
    }
}
