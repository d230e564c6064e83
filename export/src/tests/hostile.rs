//! Names are those of files that someone else has made.

use report::Settings;
use serde_json::Value as Json;

use super::made::{Given, Made, builder, unzipped};
use super::{firefox, parquet, perfetto};
use crate::{FORMATS, Writer};

/// Control characters, markup, separators of the formats, marks of direction, and no character at all.
const BAD: [&str; 6] = [
    "\u{1b}[2J\u{7}evil\r\n1 2",
    "</script><img src=x onerror=alert(1)>\"'\\",
    "a;b;c 12 ",
    "\u{202e}\u{2066}x\u{0}\u{7f}",
    "",
    "{\"frame\":[1,{\u{fffd}\u{1f600}",
];

#[test]
fn formats_stay_well_formed() {
    for name in BAD {
        let mut made = Made::of(&builder(Given {
            function: name,
            inlined: name,
            file: name,
            object: name,
            process: name,
            phase: name,
        }));
        let settings = Settings::default();
        for format in FORMATS {
            if matches!(format.write, Writer::Folder { .. }) {
                continue;
            }
            let written = made.export(format.name, &settings);
            let shown = match format.name {
                "pprof" | "firefox" => unzipped(&written),
                _ => written,
            };
            if !matches!(format.name, "pprof" | "perfetto") {
                let text = String::from_utf8(shown).unwrap();
                let is_bad = |it: char| it.is_control() && it != '\n';
                assert!(!text.contains(is_bad), "{}: {text:?}", format.name);
            }
        }
        for format in ["speedscope", "hatchet"] {
            serde_json::from_str::<Json>(&made.text(format, &settings)).unwrap();
        }
        firefox::read(&mut made, &settings);
        perfetto::Read::of(&mut made, &settings);
        let tables = parquet::tables(&mut made, &settings);
        for value in tables.values().flatten().flat_map(|row| row.values()) {
            let texts = value.as_str().into_iter();
            let listed = value.as_array().into_iter().flatten();
            let mut texts = texts.chain(listed.filter_map(Json::as_str));
            assert!(!texts.any(|it| it.contains(char::is_control)), "{value}");
        }
        assert_eq!(parquet::sum(&tables["samples"], "seconds").round(), 4.0);
        let text = made.text("folded", &settings);
        let mut sum = 0;
        for line in text.lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            assert!(stack.split(';').all(|it| !it.is_empty()), "{line}");
            sum += count.parse::<u64>().unwrap();
        }
        assert_eq!(sum, 4_000_000, "{text}");
    }
}
