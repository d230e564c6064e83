//! The kernel's functions, from `/proc/kallsyms`.
//!
//! The listing has some hundred thousand lines, which the kernel writes anew for each reader: with
//! reading them it takes most of a short recording's end. But the kernel itself, unlike its
//! modules, stays as it is until the machine starts anew, so its functions are kept in a file
//! until then ([`Cache`]).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A function of the kernel or of one of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFunction {
    /// Its first address.
    pub start: u64,
    /// The start of the function behind it; its own if it is the last.
    pub end: u64,
    /// Of several names for one address the first in the alphabet, so that it is always the same.
    pub name: String,
}

/// The functions that hold the `addresses`: those with the greatest start that does not lie
/// behind them. From the `cache` if that has them all, else from the kernel.
///
/// # Errors
/// Why there are none, in one clause.
pub fn find(
    addresses: &[u64],
    cache: Option<&Cache>,
) -> Result<Vec<Option<KernelFunction>>, String> {
    if let Some(kernel) = cache.and_then(Cache::kernel)
        && addresses.iter().all(|address| kernel.covers(*address))
    {
        return Ok(addresses.iter().map(|it| kernel.find(*it)).collect());
    }
    let listing = File::open("/proc/kallsyms")
        .map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))
        .and_then(|mut file| Listing::read(&mut file))?;
    if let Some(cache) = cache {
        cache.keep(&listing.kernel);
    }
    Ok(listing.find(addresses))
}

/// What `/proc/kallsyms` lists.
#[derive(Debug, Default)]
pub struct Listing {
    /// Of the kernel itself.
    kernel: Functions,
    /// Of modules, and of code that the kernel made.
    others: Functions,
}

impl Listing {
    /// Reads lines of address, type and name (nm(1) has the types), in any order.
    ///
    /// # Errors
    /// Why there are no functions, in one clause.
    pub fn read(listing: &mut dyn Read) -> Result<Listing, String> {
        let mut read = Listing::default();
        each_line(listing, |line| read.line(line))
            .map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))?;
        let all = || [&read.kernel, &read.others].into_iter();
        if all().all(|functions| functions.rows.is_empty()) {
            return Err("the kernel lists no symbols in /proc/kallsyms".to_owned());
        }
        if all().all(|functions| functions.rows.iter().all(|row| row.start == 0)) {
            return Err(
                "the kernel hides its addresses: as root, set kernel.kptr_restrict to 0, or \
                 record as root"
                    .to_owned(),
            );
        }
        read.kernel.sort();
        read.others.sort();
        Ok(read)
    }

    /// For each address the function with the greatest start that does not lie behind it.
    pub fn find(&self, addresses: &[u64]) -> Vec<Option<KernelFunction>> {
        let of = |address: &u64| {
            let found = [self.kernel.find(*address), self.others.find(*address)];
            let ends = found.iter().flatten().map(|it| it.end);
            let next = ends.filter(|end| end > address).min();
            let mut found = found.into_iter().flatten().max_by_key(|it| it.start)?;
            found.end = next.unwrap_or(found.start);
            Some(found)
        };
        addresses.iter().map(of).collect()
    }

    fn line(&mut self, line: &[u8]) {
        let Some((start, rest)) = hexadecimal(line) else {
            return;
        };
        let [b' ', b't' | b'T' | b'w' | b'W', b' ', name @ ..] = rest else {
            return;
        };
        match name.iter().position(|byte| *byte == b'\t') {
            None => self.kernel.push(start, name),
            Some(end) => self.others.push(start, &name[..end]),
        }
    }
}

/// Functions by their addresses.
#[derive(Debug, Default)]
struct Functions {
    rows: Vec<Row>,
    names: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    start: u64,
    /// Where its name stands in `names`.
    name: u32,
    length: u32,
}

impl Functions {
    fn push(&mut self, start: u64, name: &[u8]) {
        self.rows.push(Row {
            start,
            name: self.names.len() as u32,
            length: name.len() as u32,
        });
        self.names.extend_from_slice(name);
    }

    fn name(&self, row: Row) -> &[u8] {
        let at = row.name as usize;
        self.names
            .get(at..at + row.length as usize)
            .unwrap_or_default()
    }

    fn sort(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by(|one, other| {
            let starts = one.start.cmp(&other.start);
            starts.then_with(|| self.name(*one).cmp(self.name(*other)))
        });
        rows.dedup_by_key(|row| row.start);
        self.rows = rows;
    }

    fn find(&self, address: u64) -> Option<KernelFunction> {
        let after = self.rows.partition_point(|row| row.start <= address);
        let row = *self.rows[..after].last()?;
        Some(KernelFunction {
            start: row.start,
            end: self.rows.get(after).map_or(row.start, |next| next.start),
            name: String::from_utf8_lossy(self.name(row)).into_owned(),
        })
    }

    /// Whether the address is before the last function and not before the first.
    fn covers(&self, address: u64) -> bool {
        let ends = self.rows.first().zip(self.rows.last());
        ends.is_some_and(|(first, last)| (first.start..last.start).contains(&address))
    }
}

/// The number that a line begins with, and the rest.
fn hexadecimal(line: &[u8]) -> Option<(u64, &[u8])> {
    let digits = line
        .iter()
        .position(|byte| !byte.is_ascii_hexdigit())
        .filter(|digits| (1..=16).contains(digits))?;
    let (digits, rest) = line.split_at(digits);
    let value = digits.iter().fold(0, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            byte => (byte | 0x20) - b'a' + 10,
        };
        value << 4 | u64::from(digit)
    });
    Some((value, rest))
}

fn each_line(listing: &mut dyn Read, mut line: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let more = listing.read(&mut buffer[filled..])?;
        filled += more;
        let mut whole = 0;
        while let Some(length) = buffer[whole..filled].iter().position(|byte| *byte == b'\n') {
            line(&buffer[whole..whole + length]);
            whole += length + 1;
        }
        if more == 0 {
            line(&buffer[whole..filled]);
            return Ok(());
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

/// The kernel's functions as they are kept between recordings, in one file of the user's own.
///
/// Whatever is wrong with it (no folder, no room, a file that was cut) costs the time of asking
/// the kernel, and nothing else.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Names the kernel's present run.
    boot: String,
}

/// The file: this, the number of functions, the length of the name of the run, and that; then a
/// [`Row`] for each function, and the names. Numbers are of 32 bits, addresses of 64,
/// little-endian.
const MAGIC: &[u8; 8] = b"PLXKSYM1";
const ROW: usize = 16;

impl Cache {
    /// The user's: `parallax` below `XDG_CACHE_HOME`, or below `.cache` in `HOME`; `None` without
    /// either.
    pub fn of_user() -> Option<Cache> {
        let absolute = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let caches =
            absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self::new(caches.join("parallax"), boot.trim().to_owned()))
    }

    /// In that folder, which is made when there is something to keep; `boot` names the kernel's
    /// present run.
    pub fn new(folder: PathBuf, boot: String) -> Cache {
        Cache { folder, boot }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("kernel-functions")
    }

    fn kernel(&self) -> Option<Functions> {
        let bytes = fs::read(self.path()).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (boot, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        if boot != self.boot.as_bytes() {
            return None;
        }
        let count = u32::from_le_bytes(*count) as usize;
        let (rows, names) = rest.split_at_checked(count.checked_mul(ROW)?)?;
        let row = |bytes: &[u8]| {
            let bytes: &[u8; ROW] = bytes.try_into().ok()?;
            let value = u128::from_le_bytes(*bytes);
            Some(Row {
                start: value as u64,
                name: (value >> 64) as u32,
                length: (value >> 96) as u32,
            })
        };
        let rows = rows.chunks(ROW).map(row).collect::<Option<Vec<Row>>>()?;
        let end = |row: &Row| row.name as usize + row.length as usize;
        let whole = rows.iter().all(|row| end(row) <= names.len());
        (whole && rows.is_sorted_by_key(|row| row.start)).then(|| Functions {
            rows,
            names: names.to_vec(),
        })
    }

    /// Writes the file whole or not at all; for the user's eyes only, since an ordinary user must
    /// not learn the kernel's addresses from a recording by root.
    fn keep(&self, kernel: &Functions) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((kernel.rows.len() as u32).to_le_bytes());
        bytes.extend((self.boot.len() as u32).to_le_bytes());
        bytes.extend(self.boot.as_bytes());
        for row in &kernel.rows {
            bytes.extend(row.start.to_le_bytes());
            bytes.extend(row.name.to_le_bytes());
            bytes.extend(row.length.to_le_bytes());
        }
        bytes.extend(&kernel.names);
        // Nothing depends on it.
        let _ = write_whole(&self.path(), &bytes);
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut maker = fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(folder)?;
    }
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
ffffffff81000000 T _stext
ffffffff81000100 t do_idle
ffffffff81000100 T alias_of_do_idle
ffffffff81000200 D some_data
ffffffff81000300 T schedule
ffffffffc0000000 t nft_do_chain\t[nf_tables]
ffffffff81000080 W out_of_order";

    const HIGH: u64 = 0xffff_ffff_8100_0000;

    fn listing() -> Listing {
        Listing::read(&mut LISTING.as_bytes()).expect("functions")
    }

    fn named(name: &str, size: u64) -> Option<(String, u64)> {
        Some((name.to_owned(), size))
    }

    fn names(found: Vec<Option<KernelFunction>>) -> Vec<Option<(String, u64)>> {
        let name = |it: KernelFunction| (it.name, it.end - it.start);
        found.into_iter().map(|found| found.map(name)).collect()
    }

    #[test]
    fn the_function_before_an_address_holds_it() {
        let found = names(listing().find(&[
            0x1000,
            HIGH,
            HIGH + 0x7f,
            HIGH + 0x80,
            HIGH + 0x123,
            HIGH + 0x2ff,
            HIGH + 0x300,
            0xffff_ffff_c000_0010,
        ]));
        let expected = [
            None,
            named("_stext", 0x80),
            named("_stext", 0x80),
            named("out_of_order", 0x80),
            named("alias_of_do_idle", 0x200),
            named("alias_of_do_idle", 0x200),
            named("schedule", 0),
            named("nft_do_chain", 0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_that_cross_a_read_are_whole() {
        struct Slowly<'a>(&'a [u8]);
        impl Read for Slowly<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(7).min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let addresses = [HIGH + 0x123, 0xffff_ffff_c000_0010];
        let slowly = Listing::read(&mut Slowly(LISTING.as_bytes())).expect("functions");
        assert_eq!(slowly.find(&addresses), listing().find(&addresses));
    }

    #[test]
    fn a_listing_without_addresses_or_functions_says_why() {
        let why = |text: &str| Listing::read(&mut text.as_bytes()).expect_err("no functions");
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";
        assert!(why(hidden).contains("kernel.kptr_restrict"));
        assert!(why("").contains("no symbols"));
        assert!(why("no such line\nffff T\n12345678901234567 T x\n").contains("no symbols"));
    }

    #[test]
    fn the_kernel_is_known_until_it_starts_anew() {
        let folder = std::env::temp_dir().join(format!("parallax-kernel-{}", std::process::id()));
        let cache = |boot: &str| Cache::new(folder.clone(), boot.to_owned());
        assert!(cache("first").kernel().is_none());
        let listing = listing();
        cache("first").keep(&listing.kernel);
        let kept = cache("first").kernel().expect("just kept");
        for address in [HIGH, HIGH + 0x123, HIGH + 0x2ff] {
            assert!(kept.covers(address));
            assert_eq!(kept.find(address), listing.kernel.find(address));
        }
        // Where the last function ends is not known, and modules lie behind it.
        assert!(!kept.covers(HIGH + 0x300) && !kept.covers(HIGH - 1));
        assert!(cache("second").kernel().is_none());
        let whole = fs::read(cache("first").path()).expect("just kept");
        for cut in 0..whole.len() {
            fs::write(cache("first").path(), &whole[..cut]).expect("room");
            assert!(cache("first").kernel().is_none(), "{cut} bytes");
        }
        fs::remove_dir_all(&folder).expect("made above");
    }
}
