//! The kernel's functions that hold given addresses, from `/proc/kallsyms`.
//!
//! The listing has some hundred thousand lines, which the kernel writes while they are read, and
//! a recording needs a few dozen of them: so it is read in one pass, and only what may be an
//! answer is kept.

use std::io::{self, Read};

/// A function of the kernel or of one of its modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFunction {
    /// Its first address.
    pub start: u64,
    /// The start of the function behind it; its own if it is the last.
    pub end: u64,
    /// Of several names for one address the first in the alphabet, so that it is always the same.
    pub name: String,
}

/// For each address the function with the greatest start that does not lie behind it. The
/// `addresses` must be sorted. The listing's lines are address, type and name (nm(1) has the
/// types), in any order.
///
/// # Errors
/// Why there are none, in one clause.
pub fn find(
    listing: &mut dyn Read,
    addresses: &[u64],
) -> Result<Vec<Option<KernelFunction>>, String> {
    let mut search = Search::new(addresses);
    search
        .read(listing)
        .map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))?;
    if !search.any {
        return Err("the kernel lists no symbols in /proc/kallsyms".to_owned());
    }
    if search.hidden {
        return Err(
            "the kernel hides its addresses: as root, set kernel.kptr_restrict to 0, or record as \
             root"
                .to_owned(),
        );
    }
    Ok(search.found())
}

struct Search<'a> {
    addresses: &'a [u64],
    /// For each address the function with the greatest start behind the address before it.
    last: Vec<Option<(u64, Vec<u8>)>>,
    /// For each address the least start behind it, if it is not behind the next address too.
    next: Vec<u64>,
    any: bool,
    hidden: bool,
}

const NONE: u64 = u64::MAX;

impl<'a> Search<'a> {
    fn new(addresses: &'a [u64]) -> Self {
        Search {
            addresses,
            last: vec![None; addresses.len()],
            next: vec![NONE; addresses.len()],
            any: false,
            hidden: true,
        }
    }

    fn read(&mut self, listing: &mut dyn Read) -> io::Result<()> {
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
                self.line(&buffer[whole..whole + length]);
                whole += length + 1;
            }
            if more == 0 {
                self.line(&buffer[whole..filled]);
                return Ok(());
            }
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }

    fn line(&mut self, line: &[u8]) {
        let Some((start, rest)) = hexadecimal(line) else {
            return;
        };
        let [b' ', b't' | b'T' | b'w' | b'W', b' ', name @ ..] = rest else {
            return;
        };
        self.any = true;
        self.hidden &= start == 0;
        let at = self.addresses.partition_point(|address| *address < start);
        if let Some(before) = at.checked_sub(1) {
            self.next[before] = self.next[before].min(start);
        }
        let Some(known) = self.last.get_mut(at) else {
            return;
        };
        // A module's name may follow.
        let name = name.split(|byte| *byte == b'\t').next().unwrap_or(name);
        let better = known
            .as_ref()
            .is_none_or(|(last, named)| start > *last || start == *last && name < named.as_slice());
        if better {
            *known = Some((start, name.to_owned()));
        }
    }

    fn found(self) -> Vec<Option<KernelFunction>> {
        let mut least = NONE;
        let mut ends: Vec<u64> = Vec::with_capacity(self.next.len());
        for next in self.next.iter().rev() {
            least = least.min(*next);
            ends.push(least);
        }
        // Between an address and the next one may also lie starts that are the next one's answer.
        let mut known: Option<KernelFunction> = None;
        self.last
            .into_iter()
            .zip(ends.into_iter().rev())
            .map(|(last, end)| {
                if let Some((start, name)) = last {
                    known = Some(KernelFunction {
                        start,
                        end: if end == NONE { start } else { end },
                        name: String::from_utf8_lossy(&name).into_owned(),
                    });
                }
                known.clone()
            })
            .collect()
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

    fn names(addresses: &[u64]) -> Vec<Option<(String, u64)>> {
        find(&mut LISTING.as_bytes(), addresses)
            .unwrap()
            .into_iter()
            .map(|found| found.map(|it| (it.name, it.end - it.start)))
            .collect()
    }

    fn named(name: &str, size: u64) -> Option<(String, u64)> {
        Some((name.to_owned(), size))
    }

    #[test]
    fn the_function_before_an_address_holds_it() {
        let high = 0xffff_ffff_8100_0000;
        let found = names(&[
            0x1000,
            high,
            high + 0x7f,
            high + 0x80,
            high + 0x123,
            high + 0x2ff,
            high + 0x300,
            0xffff_ffff_c000_0010,
        ]);
        let expected = [
            None,
            named("_stext", 0x80),
            named("_stext", 0x80),
            named("out_of_order", 0x80),
            named("alias_of_do_idle", 0x200),
            named("alias_of_do_idle", 0x200),
            named("schedule", 0xffff_ffff_c000_0000 - (high + 0x300)),
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
        let addresses = [0xffff_ffff_8100_0123, 0xffff_ffff_c000_0010];
        assert_eq!(
            find(&mut Slowly(LISTING.as_bytes()), &addresses),
            find(&mut LISTING.as_bytes(), &addresses)
        );
    }

    #[test]
    fn a_listing_without_addresses_or_functions_says_why() {
        let why = |text: &str| find(&mut text.as_bytes(), &[1]).unwrap_err();
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";
        assert!(why(hidden).contains("kernel.kptr_restrict"));
        assert!(why("").contains("no symbols"));
        assert!(why("no such line\nffff T\n12345678901234567 T x\n").contains("no symbols"));
    }
}
