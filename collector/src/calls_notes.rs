//! What is said about calls between ranks at the end of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use experiment::tables::Tables;
use mpi::Interface;
use omp_ring::control::Misuse;
use unwinder::elf::ElfFile;
use unwinder::symtab::ElfSymbols;

/// How often events were misused, by how and by name.
pub(crate) type Misused = BTreeMap<(u64, String), u64>;

/// The most different misuses that are told.
pub(crate) const MOST_MISUSES: usize = 100;

/// A sentence for each misuse of GASP's events.
pub(crate) fn misuses(misused: &Misused) -> Vec<String> {
    let sentences = misused.iter().filter_map(|((what, name), count)| {
        let times = match count {
            1 => String::new(),
            count => format!(" ({count} times)"),
        };
        let said = match Misuse::of(*what)? {
            Misuse::Numbers => "the runtime is neither Berkeley UPC's nor GUPC's or clang-upc's: the numbers of its \
                                events are not known, and none is recorded (PARALLAX_GASP=berkeley or gupc with \
                                parallax-upcc tells them)"
                .to_owned(),
            Misuse::Unknown => format!("no event has the number {name}: it is not recorded"),
            Misuse::Unbegun => format!("event {name} ends without having started: it is not recorded"),
            Misuse::Crossed => {
                format!("event {name} ends before others that started in it: these end with it")
            }
            Misuse::TooDeep => {
                format!("event {name} starts inside of 32 others: it is not recorded")
            }
            Misuse::TooMany => {
                format!("there are too many events of the program's own: {name} is not recorded")
            }
            Misuse::Description => format!(
                "the description of event {name} has a conversion that is not known: it is cut there"
            ),
        };
        Some(format!("GASP: {said}{times}"))
    });
    sentences.collect()
}

/// A sentence for each program that has the library of coarrays in it, so that its calls are not seen.
pub(crate) fn static_coarrays(tables: &Tables, recorded: u32) -> Vec<String> {
    if recorded & Interface::Caf.bit() == 0 {
        return Vec::new();
    }
    let paths = tables.processes.iter().map(|it| it.executable.as_str());
    let paths: BTreeSet<&str> = paths.collect();
    let linked = paths
        .into_iter()
        .filter(|path| has_coarrays(Path::new(path)));
    linked
        .map(|path| {
            format!(
                "the library of coarrays is linked into {path} statically: its calls are not recorded, those of MPI \
                 below them are (link it dynamically: mpif90 -fcoarray=lib ... -lcaf_mpi)"
            )
        })
        .collect()
}

fn has_coarrays(path: &Path) -> bool {
    let Ok(file) = ElfFile::open(path) else {
        return false;
    };
    let Ok(elf) = file.parse() else {
        return false;
    };
    ElfSymbols::symtab(&elf).is_some_and(|table| {
        let is_it = |name: &[u8]| name == b"_gfortran_caf_init";
        table
            .iter()
            .any(|symbol| symbol.is_defined() && is_it(table.name(&symbol)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misuses_are_sentences_with_names_and_numbers() {
        let mut misused = Misused::new();
        misused.insert((Misuse::Unbegun as u64, "solve".to_owned()), 3);
        misused.insert((Misuse::Unknown as u64, "77".to_owned()), 1);
        misused.insert((99, "later".to_owned()), 1);
        assert_eq!(
            misuses(&misused),
            [
                "GASP: no event has the number 77: it is not recorded",
                "GASP: event solve ends without having started: it is not recorded (3 times)",
            ]
        );
    }
}
