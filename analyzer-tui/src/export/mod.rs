//! Writes the current view as text, JSON or SVG, or all of them as a page for a browser.

mod svg;

use std::sync::Arc;

use report::Document;
use report::page::Choice;
use report::text::Layout;

use crate::state::app::App;
use crate::view::{Form, View};

/// The current view in a format that it supports.
pub fn contents(app: &App, form: Form) -> String {
    match (form, app.view) {
        (Form::Text, _) => report::text::render(&document(app), Layout::Aligned),
        (Form::Json, _) => report::json::render(&document(app)),
        (Form::Page, _) => {
            let query = app.documents.query(&app.experiments);
            report::page::page(&query, Choice::default())
        }
        (Form::Svg, View::Flame) => svg::flame(app),
        (Form::Svg, _) => svg::timeline(app),
    }
}

/// The document of the current view.
fn document(app: &App) -> Arc<Document> {
    match app.view {
        View::Timeline => Arc::new(app.timeline_document()),
        _ => app.shown_document(),
    }
}
