//! Symbols of real files: stripped, packed, with debug files in all the usual places.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use compile::{build, fresh_path};
use symbolize::{DebugFolders, Symbols, SymbolsMiss};
use unwinder::elf::{ElfError, ElfFile};
use unwinder::{BuildId, Image, ImageCache};

/// A program of the crate `unwinder`'s tests.
const SHAPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs/shapes.c");

fn tool(name: &str, arguments: &[&Path]) {
    let output = Command::new(name)
        .args(arguments)
        .output()
        .expect("the tool runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {said}");
}

/// Folders of debug files, without the user's caches.
fn roots(roots: &[PathBuf]) -> DebugFolders {
    DebugFolders {
        roots: roots.to_vec(),
        ..DebugFolders::default()
    }
}

/// A folder with `app`, stripped, and its debug file at `place` below that folder.
fn stripped(place: &str) -> (PathBuf, Symbols) {
    let whole = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    let folder = fresh_path("stripped");
    let debug = folder.join(place);
    fs::create_dir_all(debug.parent().expect("a folder")).expect("folders");
    let app = folder.join("app");
    tool("objcopy", &["--only-keep-debug".as_ref(), &whole, &debug]);
    tool("objcopy", &["--strip-all".as_ref(), &whole, &app]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    tool("objcopy", &[link.as_ref(), &app]);
    let symbols = Symbols::open_among(&app, None, &roots(&[folder.join("root")])).expect("symbols");
    (app, symbols)
}

/// (name, line of the innermost location) of the first instruction of `deep`, a static function.
fn deep_of(symbols: &Symbols, svma: u64) -> (Option<String>, Option<String>) {
    let name = symbols.function(svma).map(|function| function.name);
    let file = symbols
        .locations(svma)
        .first()
        .and_then(|place| place.file.clone());
    (
        name,
        file.map(|file| file.rsplit('/').next().unwrap_or_default().to_owned()),
    )
}

fn deep_svma() -> u64 {
    let whole = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    Symbols::open(&whole, None)
        .expect("symbols")
        .named("deep")
        .expect("deep")
        .start
}

#[test]
fn a_debug_file_is_found_beside_in_dot_debug_and_below_the_root() {
    let svma = deep_svma();
    for place in ["app.debug", ".debug/app.debug"] {
        let (app, symbols) = stripped(place);
        assert_eq!(
            deep_of(&symbols, svma),
            (Some("deep".into()), Some("shapes.c".into())),
            "{place}"
        );
        assert_eq!(symbols.misses(), [], "{place} of {}", app.display());
        assert_eq!(symbols.lines_miss(), None);
    }
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let svma = deep_svma();
    let (app, _) = stripped("elsewhere/app.debug");
    let folder = app.parent().expect("a folder");
    let id = Image::open(&app)
        .expect("an image")
        .build_id()
        .expect("a build id")
        .to_string();
    let place = folder.join("root/.build-id").join(&id[..2]);
    fs::create_dir_all(&place).expect("folders");
    fs::rename(
        folder.join("elsewhere/app.debug"),
        place.join(format!("{}.debug", &id[2..])),
    )
    .expect("moved");
    let symbols = Symbols::open_among(&app, None, &roots(&[folder.join("root")])).expect("symbols");
    assert_eq!(
        deep_of(&symbols, svma),
        (Some("deep".into()), Some("shapes.c".into()))
    );
}

/// The build id of a file, in hexadecimal.
fn build_id(path: &Path) -> String {
    let image = Image::open(path).expect("an image");
    image.build_id().expect("a build id").to_string()
}

#[test]
fn the_caches_of_perf_and_debuginfod_have_debug_files_and_copies_of_programs() {
    let svma = deep_svma();
    let (app, _) = stripped("elsewhere/app.debug");
    let folder = app.parent().expect("a folder");
    let id = build_id(&app);
    let folders = DebugFolders {
        perf: Some(folder.join("perf")),
        debuginfod: Some(folder.join("debuginfod")),
        ..DebugFolders::default()
    };
    let of_perf = folder.join("perf/.build-id").join(&id[..2]).join(&id[2..]);
    let of_debuginfod = folder.join("debuginfod").join(&id);
    for (cache, debug, program) in [
        (&of_perf, "debug", "elf"),
        (&of_debuginfod, "debuginfo", "executable"),
    ] {
        fs::create_dir_all(cache).expect("folders");
        // debuginfod's mark of a file that no server has is no file of another build.
        fs::write(cache.join(debug), "").expect("written");
        let symbols = Symbols::open_among(&app, None, &folders).expect("symbols");
        assert_eq!(symbols.misses().len(), 2, "{:?}", symbols.misses());
        fs::copy(folder.join("elsewhere/app.debug"), cache.join(debug)).expect("copied");
        fs::copy(&app, cache.join(program)).expect("copied");
        let named = (Some("deep".into()), Some("shapes.c".into()));
        let symbols = Symbols::open_among(&app, None, &folders).expect("symbols");
        assert_eq!(deep_of(&symbols, svma), named, "{debug}");
        // The file itself is gone, or is another build.
        let gone = folder.join("gone");
        for path in [gone.clone(), build("gcc", SHAPES, "-O1 -g -Wl,--build-id")] {
            let symbols = Symbols::open_recorded(&path, &path, &id, &folders).expect("a copy");
            assert_eq!(deep_of(&symbols, svma), named, "{program}");
        }
        // A copy that is another build is refused.
        fs::copy(
            build("gcc", SHAPES, "-O1 -g -Wl,--build-id"),
            cache.join(program),
        )
        .expect("copied");
        Symbols::open_recorded(&gone, &gone, &id, &folders).expect_err("another build");
        fs::remove_dir_all(cache).expect("removed");
    }
}

#[test]
fn a_common_file_that_is_missing_is_told_as_look_ups_find_out() {
    let whole = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    let folder = fresh_path("common");
    fs::create_dir(&folder).expect("a folder");
    // As `dwz -m` leaves it: a name, and a build id.
    let (link, app) = (folder.join("link"), folder.join("app"));
    fs::write(&link, b"common.dbg\0\x11\x22\x33\x44\x55\x66\x77\x88").expect("written");
    let section = format!(".gnu_debugaltlink={}", link.display());
    tool(
        "objcopy",
        &["--add-section".as_ref(), section.as_ref(), &whole, &app],
    );
    let symbols = Symbols::open(&app, None).expect("symbols");
    assert_eq!(symbols.debug_miss(), None, "nobody has asked");
    assert_eq!(symbols.locations(deep_svma()), []);
    let miss = SymbolsMiss::NoCommonFile {
        path: app,
        name: "common.dbg".into(),
    };
    assert_eq!(symbols.debug_miss(), Some(miss));
}

#[test]
fn compressed_sections_are_read() {
    for words in ["-gz=zlib", "-gz=zlib-gnu", "-gz=zstd"] {
        // The assembler or the linker may not know zstd; objcopy of the same binutils tells.
        let whole = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
        let packed = fresh_path("packed");
        let option = words.replace("-gz", "--compress-debug-sections");
        tool("objcopy", &[option.as_ref(), &whole, &packed]);
        let symbols = Symbols::open(&packed, None).expect("symbols");
        let named = (Some("deep".into()), Some("shapes.c".into()));
        assert_eq!(deep_of(&symbols, deep_svma()), named, "{words}");
    }
}

#[test]
fn without_its_debug_file_a_stripped_file_says_what_was_tried() {
    let (app, symbols) = stripped("hidden/app.debug");
    assert_eq!(symbols.function(deep_svma()), None, "a gap stays a gap");
    let [stripped, SymbolsMiss::NoDebugFile { path, tried }] = symbols.misses() else {
        panic!("{:?}", symbols.misses());
    };
    assert_eq!(*stripped, SymbolsMiss::Stripped { path: app.clone() });
    assert_eq!(*path, app);
    assert!(
        tried.contains(&app.with_file_name("app.debug")),
        "{tried:?}"
    );
    assert!(
        tried.contains(&app.with_file_name(".debug").join("app.debug")),
        "{tried:?}"
    );
    assert!(matches!(
        symbols.lines_miss(),
        Some(SymbolsMiss::NoDebugFile { .. })
    ));
    assert_eq!(symbols.locations(deep_svma()), []);
}

#[test]
fn a_debug_file_of_another_build_is_refused() {
    let (app, _) = stripped("app.debug");
    let other = build("gcc", SHAPES, "-O1 -g -Wl,--build-id");
    let debug = app.with_file_name("app.debug");
    tool("objcopy", &["--only-keep-debug".as_ref(), &other, &debug]);
    let symbols = Symbols::open_among(&app, None, &DebugFolders::default()).expect("symbols");
    let other_build = SymbolsMiss::OtherBuild {
        path: app,
        found: debug,
    };
    assert!(
        symbols.misses().contains(&other_build),
        "{:?}",
        symbols.misses()
    );
    assert_eq!(symbols.function(deep_svma()), None);
}

#[test]
fn the_packed_symbol_table_of_a_stripped_file_is_read() {
    let whole = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    let (app, _) = stripped("hidden/app.debug");
    let small = app.with_file_name("small");
    tool("objcopy", &["--strip-debug".as_ref(), &whole, &small]);
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).expect("a writer");
    writer
        .write_all(&fs::read(&small).expect("small"))
        .expect("packed");
    let packed = app.with_file_name("packed.xz");
    for (bytes, name) in [
        (writer.finish().expect("packed"), Some("deep")),
        (vec![1, 2], None),
    ] {
        fs::write(&packed, bytes).expect("written");
        let section = format!(".gnu_debugdata={}", packed.display());
        let with = app.with_file_name("app.packed");
        tool(
            "objcopy",
            &["--add-section".as_ref(), section.as_ref(), &app, &with],
        );
        let symbols = Symbols::open_among(&with, None, &DebugFolders::default()).expect("symbols");
        let found = symbols.function(deep_svma()).map(|function| function.name);
        assert_eq!(found.as_deref(), name);
        let damaged = SymbolsMiss::DamagedDebugData { path: with };
        assert_eq!(symbols.misses().contains(&damaged), name.is_none());
    }
}

#[test]
fn another_build_at_the_same_path_is_refused() {
    let program = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    let wrong = BuildId::from_hex("00112233445566778899aabbccddeeff00112233").expect("an id");
    let image = Image::open(&program).expect("an image");
    let found = image.build_id().cloned();
    assert_eq!(found.as_ref().map(|id| id.as_bytes().len()), Some(20));
    let error = ElfError::Replaced {
        expected: Some(wrong.clone()),
        found: found.clone(),
    };
    assert_eq!(
        Symbols::open(&program, Some(&wrong)).err(),
        Some(SymbolsMiss::File {
            path: program.clone(),
            error: error.clone()
        })
    );
    let mut cache = ImageCache::new();
    assert_eq!(cache.get(&program, Some(&wrong)).err(), Some(error));
    let first = cache
        .get(&program, found.as_ref())
        .expect("the right build");
    let second = cache
        .get(&program, found.as_ref())
        .expect("the right build");
    assert!(std::sync::Arc::ptr_eq(&first, &second), "parsed once");
}

#[test]
fn no_symbol_is_stretched_beyond_its_size() {
    let program = build("gcc", SHAPES, "-O2 -g -Wl,--build-id");
    let symbols = Symbols::open(&program, None).expect("symbols");
    let leaf = symbols.named("asm_leaf").expect("asm_leaf");
    // nop, int3, ret.
    assert_eq!(leaf.size, 3);
    assert_eq!(symbols.function(leaf.start + 2), Some(leaf.clone()));
    assert_ne!(symbols.function(leaf.start + 3), Some(leaf));
    assert_eq!(symbols.function(0), None);
    assert_eq!(symbols.function(u64::MAX), None);
    let starts: Vec<u64> = symbols.functions().map(|function| function.start).collect();
    assert!(starts.is_sorted_by(|a, b| a < b));
}

#[test]
fn inlined_functions_come_innermost_first() {
    let library = build("gcc", "regions.c", "-O2 -g -fopenmp");
    let symbols = Symbols::open(&library, None).expect("symbols");
    let region = symbols.named("inlining._omp_fn.0").expect("outlined");
    let places = (region.start..region.start + region.size)
        .map(|svma| symbols.locations(svma))
        .find(|places| places.len() == 2)
        .expect("helper is inlined");
    assert_eq!(places[0].function.as_deref(), Some("helper"));
    assert_eq!(places[0].line, Some(41));
    assert!(
        places[1].line.is_some_and(|line| (49..=50).contains(&line)),
        "{places:?}"
    );
}

#[test]
fn a_runtime_is_known_by_what_it_exports() {
    let program = build("gcc", "regions.c", "-O2 -fopenmp");
    let image = Image::open(&program).expect("an image");
    assert!(image.exports("simple"));
    assert!(!image.exports("helper"), "local");
    assert!(!image.exports("GOMP_parallel"), "imported, not exported");
    assert!(!image.exports("sink"), "not a function");
    let main = Symbols::open(&program, None)
        .expect("symbols")
        .named("main")
        .expect("main");
    let file = ElfFile::open(&program).expect("an ELF file");
    let segment = file
        .parse()
        .expect("an ELF file")
        .segments()
        .find(|segment| (segment.svma..segment.svma + segment.file_size).contains(&main.start))
        .expect("the file holds the function");
    assert!(segment.executable);
    let offset = main.start - segment.svma + segment.offset;
    assert_eq!(image.svma_of_offset(offset), Some(main.start));
    assert!(image.has_unwind_info());
}
