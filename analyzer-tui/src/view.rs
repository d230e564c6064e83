//! What `analyzer` knows of views beside their table: the tabs' neighbours, orders of rows, and files.

pub use report::views::{Recorded, View};

/// The tab this many steps after another one, round about.
pub(crate) fn neighbour(view: View, forward: bool, recorded: Recorded) -> View {
    let shown: Vec<View> = View::tabs(recorded).collect();
    let step = if forward { 1 } else { shown.len() - 1 };
    let at = shown.iter().position(|it| *it == view).unwrap_or(0);
    shown[(at + step) % shown.len()]
}

/// Whether a view's rows have an order of their own, independent of the metrics.
pub(crate) fn has_own_order(view: View) -> bool {
    view.order().is_some() || view == View::Threads
}

/// The file formats that a view can be written in.
pub(crate) const fn forms(view: View) -> &'static [Form] {
    match view {
        View::Flame | View::Timeline => &[Form::Svg, Form::Text, Form::Json, Form::Page],
        _ => &[Form::Text, Form::Json, Form::Page],
    }
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// As `er_print`'s `printmode json` has it.
    Json,
    /// A picture.
    Svg,
    /// Every view, for a browser.
    Page,
}

impl Form {
    /// Its name in a choice.
    pub const fn label(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Json => "JSON",
            Form::Svg => "a picture (SVG)",
            Form::Page => "a page of every view (HTML)",
        }
    }

    /// The extension of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Form::Text => "txt",
            Form::Json => "json",
            Form::Svg => "svg",
            Form::Page => "html",
        }
    }
}
