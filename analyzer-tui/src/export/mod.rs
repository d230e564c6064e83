//! The view in sight as a file's contents.

mod svg;

use std::sync::Arc;

use report::Document;
use report::text::Layout;

use crate::state::app::App;
use crate::view::{Form, View};

/// The view in sight in a form that it has.
pub fn contents(app: &App, form: Form) -> String {
    match (form, app.view) {
        (Form::Text, _) => report::text::render(&document(app), Layout::Aligned),
        (Form::Json, _) => report::json::render(&document(app)),
        (Form::Svg, View::Flame) => svg::flame(app),
        (Form::Svg, _) => svg::timeline(app),
    }
}

/// The document of the view in sight.
fn document(app: &App) -> Arc<Document> {
    match app.view {
        View::Timeline => Arc::new(app.timeline_document()),
        _ => app.shown_document(),
    }
}
