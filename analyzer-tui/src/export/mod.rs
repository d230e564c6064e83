//! The view in sight as a file's contents.

mod json;
mod svg;
mod text;

use crate::app::{App, View};

/// A file's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// As `er_print` prints it.
    Json,
    /// A picture.
    Svg,
}

impl Form {
    /// The forms that a view can be written in.
    pub const fn of(view: View) -> &'static [Form] {
        match view {
            View::Flame | View::Timeline => &[Form::Svg, Form::Text, Form::Json],
            _ => &[Form::Text, Form::Json],
        }
    }

    /// In a choice.
    pub const fn words(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Json => "JSON",
            Form::Svg => "a picture (SVG)",
        }
    }

    /// Of the file's name.
    pub const fn ending(self) -> &'static str {
        match self {
            Form::Text => "txt",
            Form::Json => "json",
            Form::Svg => "svg",
        }
    }
}

/// The view in sight in a form that it has.
pub fn contents(app: &App, form: Form) -> String {
    match (form, app.view) {
        (Form::Text, _) => text::report(app),
        (Form::Json, _) => json::report(app),
        (Form::Svg, View::Flame) => svg::flame(app),
        (Form::Svg, _) => svg::timeline(app),
    }
}
