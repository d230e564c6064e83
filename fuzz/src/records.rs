//! Experiments.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use experiment::{Experiment, RECORDS};
use export::{FORMATS, Writer};
use omp_model::analysis::Analysis;
use omp_model::metrics::{Column, SortKey};
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::names::NameStyle;
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::regions::regions;
use report::query::{Source, Subset};
use report::{Query, Settings};

/// The bytes of a frame's contents are longer than this only by several frames.
const LONGEST: usize = 1 << 16;

/// The input is a list of frames. Each has four bytes before its contents: its kind, 1 if the contents
/// are to be packed as the writer does it, and their length in two bytes. The checksums are added. The
/// recording is read and attributed in both modes, its regions are judged, and it is exported.
pub(crate) fn records(input: &[u8]) {
    let folder = folder();
    fs::write(folder.join(RECORDS), file_of(input)).expect("a file in memory");
    let Ok(experiment) = Experiment::open(&folder) else {
        return;
    };
    let analysis = Analysis::of(experiment, 1);
    for mode in [ViewMode::User, ViewMode::Machine] {
        analysis.profile(mode, Inline::On);
    }
    let measured = Measured::of(&analysis.experiment);
    let names = analysis.names(NameStyle::default());
    let profile = analysis.profile(ViewMode::User, Inline::Off);
    let regions = regions(profile, &names, &measured);
    First::of(profile, &names, &measured, &regions, true);
    exports(&analysis);
}

/// Writes it in every format.
fn exports(analysis: &Analysis) {
    let settings = Settings::default();
    let all = Source {
        analysis,
        subset: &Subset::default(),
        settings: &settings,
    };
    let columns = Column::parse_list("e.total:name", analysis.available());
    let columns = columns.expect("every experiment has thread time");
    let sort = SortKey::of_list(&columns);
    let query = Query::new(&settings, all, &[all], columns, sort);
    for format in FORMATS {
        let written = match format.write {
            Writer::File(write) => write(&query, &mut io::sink()),
            Writer::Folder { write, .. } => {
                let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
                write(&query, folder.path())
            }
        };
        written.expect("there is room for everything");
    }
}

/// A folder in memory for this process.
pub(crate) fn folder() -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = FOLDER.get_or_init(|| tempfile::tempdir_in("/dev/shm").expect("a folder in memory"));
    let thread = format!("{:?}.er", std::thread::current().id());
    let path = made.path().join(thread);
    fs::create_dir_all(&path).expect("a folder in memory");
    path
}

/// The format is that of `omp-model/experiment/src/frame.rs`.
pub(crate) fn file_of(mut input: &[u8]) -> Vec<u8> {
    let mut file = b"PARALLAX".to_vec();
    file.extend(experiment::header::FORMAT_VERSION.to_le_bytes());
    let sum = crc32fast::hash(&file);
    file.extend(sum.to_le_bytes());
    while let Some((&[kind, packed, low, high], rest)) = input.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes([low, high])).min(LONGEST);
        let (contents, rest) = rest.split_at(length.min(rest.len()));
        let mut payload = Vec::new();
        if packed & 1 != 0 {
            // As long packed as unpacked: not compressed.
            push_number(&mut payload, contents.len() as u64);
            push_number(&mut payload, contents.len() as u64);
        }
        payload.extend(contents);
        let mut frame = vec![kind, 0];
        frame.extend((payload.len() as u32).to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&frame);
        sum.update(&payload);
        frame.extend(sum.finalize().to_le_bytes());
        file.extend(frame);
        file.extend(payload);
        input = rest;
    }
    file
}

/// As LEB128.
pub(crate) fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
