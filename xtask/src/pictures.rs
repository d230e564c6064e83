//! `cargo xtask pictures`: pictures of analyzer's views, made from the program in a real terminal, and of
//! the page's, made by a browser.
//!
//! tmux runs analyzer and sends it keys. The screen with its colours becomes an SVG with its own
//! background, readable on light and on dark pages. Chromium draws the page's views as PNG.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::command::{cannot_start, cargo, run, works};
use crate::{Outcome, demo, root, target};

/// A picture: its file name, and the keys that lead to the view.
struct Picture {
    name: &'static str,
    keys: &'static [&'static str],
}

/// The pictures, in folder `docs/pictures`.
const PICTURES: [Picture; 5] = [
    Picture {
        name: "overview",
        keys: &["1"],
    },
    Picture {
        name: "timeline",
        keys: &[
            "9", "Down", "+", "+", ".", ".", ".", ".", ".", ".", ".", ".",
        ],
    },
    Picture {
        name: "flamegraph",
        keys: &["5", "x"],
    },
    Picture {
        name: "regions",
        keys: &["7", "Down"],
    },
    Picture {
        name: "disassembly",
        keys: &["2", "/", "t", "a", "l", "l", "y", "Enter", "d", "x"],
    },
];

/// The views of the page: `docs/pictures/page-VIEW.png`.
const PAGE: [&str; 12] = [
    "overview",
    "timeline",
    "functions",
    "callers-callees",
    "calltree",
    "flame",
    "source",
    "OMP_preg",
    "OMP_loop",
    "OMP_lock",
    "Threads",
    "header",
];

/// Columns and lines of the terminal.
const SIZE: (usize, usize) = (120, 30);

/// The time for the program to open an experiment.
const OPEN: Duration = Duration::from_secs(3);
/// The time for the program to answer a key.
const ANSWER: Duration = Duration::from_millis(400);

/// Makes all pictures of an experiment, or of the demo's.
pub(crate) fn pictures(experiment: Option<&str>) -> Outcome {
    if !works(Command::new("tmux").arg("-V")) {
        return Err("pictures are made in tmux: install it".to_owned());
    }
    if !works(Command::new("chromium").arg("--version")) {
        return Err("pictures of the page are made by chromium: install it".to_owned());
    }
    run(cargo().args(["build", "--release", "-p", "analyzer-tui", "-p", "er-print"]))?;
    match experiment {
        Some(path) => pictures_of(Path::new(path)),
        None => pictures_of(&demo::Recorded::new()?.experiment()),
    }
}

fn pictures_of(experiment: &Path) -> Outcome {
    let folder = root().join("docs/pictures");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    for picture in PICTURES {
        let screen = captured(experiment, &picture)?;
        let path = folder.join(format!("{}.svg", picture.name));
        std::fs::write(&path, svg(&cells(&screen), SIZE.0))
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        println!("{}", path.display());
    }
    of_page(experiment, &folder)
}

/// The page's views as a browser draws them, without the folders of paths.
fn of_page(experiment: &Path, folder: &Path) -> Outcome {
    let place = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let page = place.path().join("page.html");
    let mut er_print = Command::new(target().join("release/er_print"));
    // The experiment goes by its name alone.
    er_print.current_dir(experiment.parent().unwrap_or(Path::new("/")));
    er_print.args(["-redact", "-report"]).arg(&page);
    run(er_print.arg(experiment.file_name().unwrap_or_default()))?;
    for view in PAGE {
        let path = folder.join(format!("page-{view}.png"));
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--hide-scrollbars"]);
        chromium.args(["--window-size=1200,700", "--virtual-time-budget=3000"]);
        chromium.arg(format!("--screenshot={}", path.display()));
        chromium.arg(format!("file://{}#{view}", page.display()));
        // A machine without a desktop gets many lines of complaint.
        if !works(&mut chromium) {
            return Err(format!("{chromium:?} failed: run it to see why"));
        }
        println!("{}", path.display());
    }
    Ok(())
}

/// Runs a tmux command on a server of its own for each picture, as a server takes time to end.
fn tmux(picture: &Picture, words: &[&str]) -> Outcome<String> {
    let server = format!("parallax-pictures-{}", picture.name);
    let mut command = Command::new("tmux");
    command.args(["-L", &server, "-f", "/dev/null"]).args(words);
    let output = command
        .output()
        .map_err(|error| cannot_start(&command, &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "tmux {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}

/// The screen after some keys, with its colours as escape sequences.
fn captured(experiment: &Path, picture: &Picture) -> Outcome<String> {
    let analyzer = target().join("release/analyzer");
    let (width, height) = (SIZE.0.to_string(), SIZE.1.to_string());
    let program = analyzer.display().to_string();
    let experiment = experiment.display().to_string();
    tmux(
        picture,
        &[
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "env",
            "TERM=xterm-256color",
            &program,
            &experiment,
        ],
    )?;
    sleep(OPEN);
    for key in picture.keys {
        tmux(picture, &["send-keys", key])?;
        sleep(ANSWER);
    }
    let screen = tmux(picture, &["capture-pane", "-e", "-N", "-p"]);
    tmux(picture, &["kill-server"])?;
    screen
}

/// The style of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CellStyle {
    foreground: Option<u8>,
    background: Option<u8>,
    bold: bool,
    dim: bool,
    underlined: bool,
    reversed: bool,
}

type Cell = (char, CellStyle);

/// The cells of a captured screen, line by line.
fn cells(screen: &str) -> Vec<Vec<Cell>> {
    let mut style = CellStyle::default();
    let mut lines = Vec::new();
    for line in screen.lines() {
        let mut row = Vec::new();
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter != '\x1b' {
                row.push((letter, style));
                continue;
            }
            // `ESC [ numbers m`; other sequences do not change the look.
            if letters.as_str().starts_with('[') {
                letters.next();
                let mut numbers = String::new();
                for letter in letters.by_ref() {
                    if letter.is_ascii_alphabetic() {
                        if letter == 'm' {
                            change(&mut style, &numbers);
                        }
                        break;
                    }
                    numbers.push(letter);
                }
            }
        }
        lines.push(row);
    }
    lines
}

/// Applies the numbers of a "select graphic rendition" sequence (ECMA-48).
fn change(style: &mut CellStyle, numbers: &str) {
    let mut numbers = numbers
        .split([';', ':'])
        .map(|word| word.parse::<u8>().unwrap_or(0));
    while let Some(number) = numbers.next() {
        match number {
            0 => *style = CellStyle::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            4 => style.underlined = true,
            7 => style.reversed = true,
            22 => (style.bold, style.dim) = (false, false),
            24 => style.underlined = false,
            27 => style.reversed = false,
            30..=37 => style.foreground = Some(number - 30),
            39 => style.foreground = None,
            40..=47 => style.background = Some(number - 40),
            49 => style.background = None,
            90..=97 => style.foreground = Some(number - 90 + 8),
            100..=107 => style.background = Some(number - 100 + 8),
            38 | 48 => {
                // 38;5;N or 48;5;N: an entry of the table of 256 colours.
                let entry = numbers
                    .next()
                    .filter(|kind| *kind == 5)
                    .and_then(|_| numbers.next());
                match number {
                    38 => style.foreground = entry,
                    _ => style.background = entry,
                }
            }
            _ => {}
        }
    }
}

/// The terminal's default background and foreground.
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d3d7de";

/// An entry of xterm's table of 256 colours, as `#rrggbb`.
fn colour(entry: u8) -> String {
    const FIRST: [&str; 16] = [
        "#16181d", "#d54e53", "#7cb342", "#e7c547", "#5c9ded", "#c397d8", "#5fc9c0", "#d3d7de",
        "#7f8490", "#ff6b6b", "#a5d66f", "#f5e16a", "#8cbcff", "#dcb4ec", "#8fe3da", "#ffffff",
    ];
    match entry {
        0..=15 => FIRST[usize::from(entry)].to_owned(),
        16..=231 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = entry - 16;
            let [red, green, blue] = [cube / 36, cube / 6 % 6, cube % 6].map(level);
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        232..=255 => {
            let grey = 8 + 10 * (entry - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

impl CellStyle {
    fn colours(&self) -> (String, Option<String>) {
        let foreground = self.foreground.map(colour);
        let background = self.background.map(colour);
        if self.reversed {
            (
                background.unwrap_or_else(|| BACKGROUND.to_owned()),
                Some(foreground.unwrap_or_else(|| FOREGROUND.to_owned())),
            )
        } else {
            (
                foreground.unwrap_or_else(|| FOREGROUND.to_owned()),
                background,
            )
        }
    }
}

/// Width and height of a cell, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
/// Pixels around the screen.
const MARGIN: f64 = 12.0;

/// A picture of a screen.
fn svg(lines: &[Vec<Cell>], columns: usize) -> String {
    let width = columns as f64 * CELL.0 + 2.0 * MARGIN;
    let height = lines.len() as f64 * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" \
         font-size=\"14\">\n<rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let top = MARGIN + number as f64 * CELL.1;
        let mut at = 0;
        for cells in line.chunk_by(|left, right| left.1 == right.1) {
            let x = MARGIN + at as f64 * CELL.0;
            run_of(cells, (x, top), &mut svg);
            at += cells.len();
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws adjacent cells of one look.
fn run_of(cells: &[Cell], (x, top): (f64, f64), svg: &mut String) {
    let style = cells[0].1;
    let (foreground, background) = style.colours();
    let width = cells.len() as f64 * CELL.0;
    if let Some(background) = background {
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{top:.0}\" width=\"{width:.1}\" height=\"{:.0}\" \
             fill=\"{background}\"/>",
            CELL.1
        );
    }
    let text: String = cells.iter().map(|cell| cell.0).collect();
    let start = text.chars().take_while(|letter| *letter == ' ').count();
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let mut attributes = String::new();
    for (is, words) in [
        (style.bold, " font-weight=\"bold\""),
        (style.dim, " opacity=\"0.6\""),
        (style.underlined, " text-decoration=\"underline\""),
    ] {
        attributes.push_str(if is { words } else { "" });
    }
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.0}\" fill=\"{foreground}\"{attributes} textLength=\"{:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{escaped}</text>",
        x + start as f64 * CELL.0,
        top + 14.0,
        text.chars().count() as f64 * CELL.0
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_marks_are_read_from_a_captured_screen() {
        let lines = cells("a\x1b[1;38;5;36mb\x1b[7mc\x1b[0m d\nnext");
        let styles: Vec<CellStyle> = lines[0].iter().map(|cell| cell.1).collect();
        let plain = CellStyle::default();
        let green = CellStyle {
            foreground: Some(36),
            bold: true,
            ..plain
        };
        let turned = CellStyle {
            reversed: true,
            ..green
        };
        assert_eq!(styles, [plain, green, turned, plain, plain]);
        assert_eq!(lines[1].len(), 4);
    }

    #[test]
    fn a_picture_has_grounds_below_texts_of_exact_width() {
        let svg = svg(&cells("\x1b[48;5;166m b<\x1b[0m"), 10);
        assert!(svg.contains("fill=\"#d75f00\"/>"), "{svg}");
        assert!(svg.contains("textLength=\"16.8\""), "{svg}");
        assert!(svg.contains(">b&lt;</text>"), "{svg}");
    }

    #[test]
    fn entries_of_the_table_are_xterms() {
        assert_eq!(colour(16), "#000000");
        assert_eq!(colour(36), "#00af87");
        assert_eq!(colour(231), "#ffffff");
        assert_eq!(colour(246), "#949494");
    }
}
