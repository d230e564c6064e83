//! The kernel's functions, from `/proc/kallsyms`.
//!
//! The kernel formats the listing for each reader: 120,000 lines in 50 ms. It is read once for an
//! experiment, and only the requested functions are kept.

use std::fs::File;
use std::io::{BufRead, BufReader};

/// A function of the kernel or of one of its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFunction {
    /// Its first address.
    pub start: u64,
    /// The start of the next function; its own start if it is the last.
    pub end: u64,
    /// Of several names for one address the alphabetically first, so that it is always the same.
    pub name: String,
}

/// The functions that hold the sorted `addresses`.
///
/// # Errors
/// Why there are none, in one clause.
pub(crate) fn find(addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
    let listing = File::open("/proc/kallsyms")
        .map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))?;
    find_in(BufReader::with_capacity(1 << 16, listing), addresses)
}

/// As [`find`], in a listing: lines of address, type and name (nm(1) has the types), in any order.
pub(crate) fn find_in(
    mut listing: impl BufRead,
    addresses: &[u64],
) -> Result<Vec<Option<KernelFunction>>, String> {
    let mut kernel = Nearest::new(addresses);
    // Functions of modules, and generated code. They lie elsewhere, and end no function of the kernel.
    let mut others = Nearest::new(addresses);
    let (mut any, mut hidden) = (false, true);
    let mut line = Vec::new();
    while listing
        .read_until(b'\n', &mut line)
        .map_err(|error| format!("/proc/kallsyms cannot be read: {error}"))?
        > 0
    {
        if let Some((start, name, owner)) = function(line.trim_ascii_end()) {
            any = true;
            hidden &= start == 0;
            match owner {
                Owner::Kernel => kernel.offer(start, name),
                Owner::Other => others.offer(start, name),
            }
        }
        line.clear();
    }
    if !any {
        return Err("the kernel lists no symbols in /proc/kallsyms".to_owned());
    }
    if hidden {
        return Err(
            "the kernel hides its addresses: as root, set kernel.kptr_restrict to 0, or record as \
             root"
                .to_owned(),
        );
    }
    let found = kernel.found().into_iter().zip(others.found());
    let nearer = |(kernel, other): (Option<KernelFunction>, Option<KernelFunction>)| {
        kernel
            .into_iter()
            .chain(other)
            .max_by_key(|function| function.start)
    };
    Ok(found.map(nearer).collect())
}

/// What a function belongs to.
enum Owner {
    Kernel,
    /// A module, or code that the kernel generated.
    Other,
}

/// Start, name and owner of the function in a line, if there is one.
fn function(line: &[u8]) -> Option<(u64, &[u8], Owner)> {
    let digits = line
        .iter()
        .position(|byte| !byte.is_ascii_hexdigit())
        .filter(|digits| (1..=16).contains(digits))?;
    let (digits, rest) = line.split_at(digits);
    let start = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    let [b' ', b't' | b'T' | b'w' | b'W', b' ', name @ ..] = rest else {
        return None;
    };
    Some(match name.iter().position(|byte| *byte == b'\t') {
        None => (start, name, Owner::Kernel),
        Some(end) => (start, &name[..end], Owner::Other),
    })
}

/// For each of some sorted addresses, the function with the greatest start that is not above the
/// address, and the start of the next function.
struct Nearest<'a> {
    addresses: &'a [u64],
    /// By address: that function, if it starts above the previous address.
    last: Vec<Option<(u64, Vec<u8>)>>,
    /// By address: the start of the next function, if it is not above the next address.
    next: Vec<Option<u64>>,
}

impl<'a> Nearest<'a> {
    fn new(addresses: &'a [u64]) -> Self {
        Nearest {
            addresses,
            last: vec![None; addresses.len()],
            next: vec![None; addresses.len()],
        }
    }

    fn offer(&mut self, start: u64, name: &[u8]) {
        let at = self.addresses.partition_point(|address| *address < start);
        if let Some(last) = self.last.get_mut(at) {
            let nearer = last.as_ref().is_none_or(|(known, known_name)| {
                start > *known || start == *known && name < known_name.as_slice()
            });
            if nearer {
                *last = Some((start, name.to_vec()));
            }
        }
        if let Some(next) = at.checked_sub(1).map(|before| &mut self.next[before]) {
            *next = Some(next.map_or(start, |known| known.min(start)));
        }
    }

    fn found(mut self) -> Vec<Option<KernelFunction>> {
        for at in 1..self.addresses.len() {
            if self.last[at].is_none() {
                self.last[at] = self.last[at - 1].clone();
            }
        }
        for at in (1..self.addresses.len()).rev() {
            if self.next[at - 1].is_none() {
                self.next[at - 1] = self.next[at];
            }
        }
        let function = |((start, name), next): ((u64, Vec<u8>), Option<u64>)| KernelFunction {
            start,
            end: next.unwrap_or(start),
            name: String::from_utf8_lossy(&name).into_owned(),
        };
        let rows = self.last.into_iter().zip(self.next);
        rows.map(|(last, next)| Some(function((last?, next))))
            .collect()
    }
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

    fn named(name: &str, size: u64) -> Option<(String, u64)> {
        Some((name.to_owned(), size))
    }

    fn names(found: Vec<Option<KernelFunction>>) -> Vec<Option<(String, u64)>> {
        let name = |it: KernelFunction| (it.name, it.end - it.start);
        found.into_iter().map(|found| found.map(name)).collect()
    }

    #[test]
    fn the_function_before_an_address_holds_it() {
        let addresses = [
            0x1000,
            HIGH,
            HIGH + 0x7f,
            HIGH + 0x80,
            HIGH + 0x123,
            HIGH + 0x2ff,
            HIGH + 0x300,
            0xffff_ffff_c000_0010,
        ];
        let found = names(find_in(LISTING.as_bytes(), &addresses).expect("functions"));
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
    fn a_listing_without_addresses_or_functions_says_why() {
        let why = |text: &str| find_in(text.as_bytes(), &[HIGH]).expect_err("no functions");
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";
        assert!(why(hidden).contains("kernel.kptr_restrict"));
        assert!(why("").contains("no symbols"));
        assert!(why("no such line\nffff T\n12345678901234567 T x\n").contains("no symbols"));
    }
}
