//! Commands that affect later reports: metrics, order, names, mode, output.

use omp_model::metrics::{Column, SortKey};
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::names::NameForm;
use report::Document;
use report::metrics::{current_sort, spec};
use report::text::Layout;

use super::{choose, count};
use crate::session::{PrintMode, Session};
use crate::stop::Stop;

/// Chooses the columns. The order stays if its metric is still among them.
pub(crate) fn metrics(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let available = session.all()?.available();
    let columns = Column::parse_list(&arguments[0], available)
        .map_err(|error| Stop::Usage(error.to_string()))?;
    let order = session.settings.sort;
    let still_there =
        order.is_some_and(|key| columns.iter().any(|column| column.quantity == key.quantity));
    if !still_there {
        session.settings.sort = None;
    }
    session.settings.columns = Some(columns);
    print_current(session, true)
}

/// Chooses the order.
pub(crate) fn sort(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let available = session.all()?.available();
    let key =
        SortKey::parse(&arguments[0], available).map_err(|error| Stop::Usage(error.to_string()))?;
    session.settings.sort = Some(key);
    print_current(session, false)
}

/// Prints the metrics and the order in force, as gprofng does; nothing between JSON objects.
fn print_current(session: &mut Session<'_>, list: bool) -> Result<(), Stop> {
    if session.settings.print == PrintMode::Json {
        return Ok(());
    }
    let mut lines = Vec::new();
    if list {
        lines.push(format!("Current metrics: {}", spec(&session.columns()?)));
    }
    lines.push(current_sort(session.sort_key()?, &session.columns()?));
    session.show(&Document::of_lines("metrics", lines))
}

/// Limits the rows by their number, or by their part of the whole.
pub(crate) fn limit(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let word = &arguments[0];
    let (rows, percent) = match word.strip_suffix('%') {
        None => (count("limit", word)?, 0.0),
        Some(number) => {
            let percent = number.trim().parse::<f64>().ok();
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
            let percent = percent.ok_or_else(|| {
                Stop::Usage(format!(
                    "limit takes a number of rows or a percentage from 0% to 100%, not \"{word}\""
                ))
            })?;
            (0, percent)
        }
    };
    session.settings.limit = rows;
    session.settings.least_percent = percent;
    session.settings.shows_all = rows == 0 && percent == 0.0;
    Ok(())
}

/// Chooses the form of functions' names.
pub(crate) fn name(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let (form, soname) = match arguments[0].split_once(':') {
        Some((form, soname)) => (form, Some(soname)),
        None => (arguments[0].as_str(), None),
    };
    let forms = [
        ("long", NameForm::Long),
        ("short", NameForm::Short),
        ("mangled", NameForm::Mangled),
    ];
    let form = choose("name", form, &forms)?;
    let soname = match soname {
        Some(word) => choose(
            "name, after the colon,",
            word,
            &[("soname", true), ("nosoname", false)],
        )?,
        None => session.settings.style.soname,
    };
    session.settings.style.form = form;
    session.settings.style.soname = soname;
    Ok(())
}

/// Chooses the view mode.
pub(crate) fn viewmode(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let modes = [
        ("user", ViewMode::User),
        ("expert", ViewMode::Expert),
        ("machine", ViewMode::Machine),
    ];
    session.settings.mode = choose("viewmode", &arguments[0], &modes)?;
    Ok(())
}

/// Chooses whether inlined functions have frames of their own.
pub(crate) fn inline(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let choices = [("on", Inline::On), ("off", Inline::Off)];
    session.settings.inline = choose("inline", &arguments[0], &choices)?;
    Ok(())
}

/// Chooses between text, HTML, Markdown, JSON, and text with a character between the cells.
pub(crate) fn printmode(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let word = &arguments[0];
    let mut letters = word.chars();
    let (print, layout) = match (letters.next(), letters.next()) {
        (Some(mark), None) if !mark.is_alphanumeric() && !mark.is_control() || mark == '\t' => {
            (PrintMode::Text, Layout::Delimited(mark))
        }
        _ => {
            let modes = [
                ("text", (PrintMode::Text, Layout::Aligned)),
                ("json", (PrintMode::Json, Layout::Aligned)),
                ("html", (PrintMode::Text, Layout::Html)),
                ("markdown", (PrintMode::Text, Layout::Markdown)),
            ];
            let chosen = choose("printmode", word, &modes);
            chosen.map_err(|_| {
                Stop::Usage(format!(
                    "printmode takes one of text, json, html, markdown, or a sign such as , to \
                     stand between cells, not \"{word}\""
                ))
            })?
        }
    };
    session.settings.print = print;
    session.settings.layout = layout;
    Ok(())
}

/// Reads a file of suppressions, which are added to those in force.
pub(crate) fn suppressions(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = &arguments[0];
    let text = std::fs::read_to_string(name).map_err(|error| {
        Stop::Data(format!(
            "cannot read the suppressions {name}: {error}; check the name"
        ))
    })?;
    Ok(session.settings.suppressions.add(name, &text)?)
}

/// Sends what follows to a file.
pub(crate) fn outfile(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.redirect(&arguments[0], false)
}

/// Sends what follows to the end of a file.
pub(crate) fn appendfile(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.redirect(&arguments[0], true)
}

/// Ends.
pub(crate) fn quit(_: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    Err(Stop::Quit)
}
