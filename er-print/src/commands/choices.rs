//! The words of which a command takes one.

use std::sync::LazyLock;

use export::FORMATS;

use super::Command;

/// The possible words of a command's first argument, if there are few.
pub(crate) fn choices(command: &Command) -> &'static [&'static str] {
    static FORMAT_NAMES: LazyLock<Vec<&str>> =
        LazyLock::new(|| FORMATS.iter().map(|format| format.name).collect());
    match command.name {
        "export" => &FORMAT_NAMES,
        "inline" => &["on", "off"],
        "rdetail" | "ddetail" | "udetail" | "vdetail" => &["all"],
        "viewmode" => &["user", "expert", "machine"],
        "printmode" => &["text", "json", "html", "markdown"],
        "compare" => &["off", "on", "delta", "ratio", "scaling"],
        "name" => &["long", "short", "mangled"],
        "scc" | "dcc" | "cc" => &["parallel", "inline", "src", "all", "none"],
        "en_desc" => &["on", "off"],
        _ => &[],
    }
}
