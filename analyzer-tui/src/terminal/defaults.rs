//! The initial view mode and search path, from the files of defaults (`.parallax.rc`).

use std::path::PathBuf;

use omp_model::defaults;
use omp_model::profile::{Inline, ViewMode};
use report::Settings;

use crate::experiments::Experiments;

/// The choices at the beginning for these experiments, after the files of defaults that exist.
pub(crate) fn read(experiments: &Experiments) -> Settings {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let parts = match experiments.parts() {
        [] => std::slice::from_ref(experiments.all()),
        parts => parts,
    };
    let mut settings = Settings::at_first(parts);
    for (_, text) in defaults::read(home.as_deref()) {
        // `er_print` says why a file is ignored.
        if let Ok(text) = text {
            take(&mut settings, &text);
        }
    }
    settings
}

/// Applies the commands of a file that concern the analyzer. `er_print` reports mistakes.
fn take(settings: &mut Settings, text: &str) {
    let search = &mut settings.annotation.search;
    for line in text.lines() {
        let words = defaults::words(line).unwrap_or_default();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = words.first().map(|name| name.to_lowercase());
        match (command.as_deref(), words.get(1..).unwrap_or_default()) {
            (Some("setpath"), [list]) => search.set(list),
            (Some("addpath"), [list]) => search.add(list),
            (Some("pathmap"), [old, new]) if !old.is_empty() => search.map(old, new),
            (Some("viewmode"), [mode]) => match mode.to_lowercase().as_str() {
                "user" => settings.mode = ViewMode::User,
                "expert" => settings.mode = ViewMode::Expert,
                "machine" => settings.mode = ViewMode::Machine,
                _ => {}
            },
            (Some("inline"), [choice]) => match choice.to_lowercase().as_str() {
                "on" => settings.inline = Inline::On,
                "off" => settings.inline = Inline::Off,
                _ => {}
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use symbolize::search::SearchPath;

    use super::*;

    #[test]
    fn files_of_defaults_tell_where_sources_are() {
        let mut settings = Settings::default();
        take(
            &mut settings,
            "viewmode machine\ninline off\n# a comment\npathmap /build \"/my src\"\nsort e.user\n",
        );
        assert_eq!(settings.mode, ViewMode::Machine);
        assert_eq!(settings.inline, Inline::Off);
        let mut expected = SearchPath::default();
        expected.map("/build", "/my src");
        assert_eq!(settings.annotation.search, expected);
    }
}
