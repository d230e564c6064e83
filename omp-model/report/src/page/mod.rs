//! A page for a browser: one file that holds documents and the script that draws them.
//!
//! All numbers, rows, notes and words are those of documents; the script lays them out and sorts them.
//! Documents are gzip, which browsers unpack themselves, in base64. A content security policy lets the
//! page's own script and style run, by their digests, and nothing else: no address is ever opened, and
//! a name that is made of markup stays a name.

mod contents;
mod data;

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::Query;

pub use contents::Choice;

const STYLE: &str = include_str!("assets/page.css");

/// The script, in the order in which its parts need each other.
const SCRIPT: [&str; 7] = [
    include_str!("assets/format.js"),
    include_str!("assets/table.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/source.js"),
    include_str!("assets/main.js"),
];

/// The page of one or several experiments, under the query's settings.
///
/// ```text
/// <!doctype html>… <script type="text/plain" id="data">H4sI…</script><script>…</script>
/// ```
pub fn page(query: &Query<'_>, choice: Choice) -> String {
    let contents = contents::contents(query, choice).to_string();
    let script = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPT.concat());
    let title = contents::title(query);
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        digest(&script),
        digest(STYLE)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This report is drawn by a script of its own: permit scripts to see it.</noscript>\n\
         <main id=\"page\" aria-busy=\"true\"><h1>{title}</h1></main>\n\
         <script type=\"text/plain\" id=\"data\">{data}</script>\n\
         <script>{script}</script>\n</body>\n</html>\n",
        title = escaped(&title),
        data = packed(&contents),
    )
}

/// The digest by which a policy permits a script or style.
fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

/// A text as gzip in base64.
fn packed(text: &str) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let written = packed.write_all(text.as_bytes());
    let bytes = written.and_then(|()| packed.finish());
    STANDARD.encode(bytes.expect("memory can be written"))
}

/// A text as markup shows it.
fn escaped(text: &str) -> String {
    untrusted::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
