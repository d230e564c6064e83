//! The lines under every view.

use crate::session::Scene;

/// What limits the trust in a view, under its table: nothing if nothing does.
pub(crate) fn footer(scene: &Scene<'_>) -> String {
    let warnings = scene
        .recording
        .warnings
        .iter()
        .map(|warning| format!("Warning: {warning}\n"));
    let notices = scene.notices().into_iter();
    let notices = notices.map(|notice| format!("Note: {notice}\n"));
    let lines: String = warnings.chain(notices).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
}
