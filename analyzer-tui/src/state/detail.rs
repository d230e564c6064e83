//! Details of the selected line of a list.

use omp_model::views::names::is_hidden;
use report::document::{Finding, Target};

use super::app::App;
use crate::layout::MOST_DETAIL;
use crate::list::Line;
use crate::text_fit::{self, fit, wrap};
use crate::view::View;

impl App {
    /// The lines below the rows, as they fit the screen: the selected line's number, its full name,
    /// and a function's location.
    pub(crate) fn detail_lines(&self) -> Vec<String> {
        let width = usize::from(self.size.0);
        if let (View::Races, Some(Target::Finding(finding))) =
            (self.view, self.list.target(self.cursor().selected))
        {
            return of_finding(finding, width);
        }
        let mut lines = wrap(&self.detail(), width);
        if lines.len() > MOST_DETAIL {
            let rest = lines.split_off(MOST_DETAIL - 1);
            let rest: Vec<&str> = rest.iter().map(|line| line.trim_start()).collect();
            lines.push(fit(&format!("  {}", rest.join(" ")), width));
        }
        lines
    }

    fn detail(&self) -> String {
        let at = self.cursor().selected;
        let count = self.list.lines().len();
        let Some(line) = self.list.lines().get(at) else {
            return "nothing is left to show".to_owned();
        };
        let number = format!("{}/{count}", at + 1);
        let text = self.list.text(at);
        let more = match (line, self.list.target(at)) {
            // A text is whole where it stands.
            (Line::Text(_) | Line::Fact { .. }, _) => return number,
            (_, Some(Target::Construct(construct))) => Some(construct.detail.clone()),
            (_, Some(Target::Function(name))) if is_hidden(name) => {
                Some("K shows its functions".to_owned())
            }
            (_, Some(Target::Function(name))) => self.experiments.location(name),
            _ => None,
        };
        match more {
            Some(more) if self.view.order().is_some() => more,
            Some(more) => format!("{number} {text}  {more}"),
            None => format!("{number} {}", text.trim_start()),
        }
    }
}

/// The width from which both sides of a finding stand beside each other.
const WIDE: usize = 70;

/// A finding: a rule, then its sides beside each other where there is room.
fn of_finding(finding: &Finding, width: usize) -> Vec<String> {
    let mut lines = vec!["\u{2500}".repeat(width)];
    let wrapped = |texts: &[String]| -> Vec<String> {
        texts.iter().flat_map(|text| wrap(text, width)).collect()
    };
    lines.extend(wrapped(&finding.head));
    let [left, right] = &finding.sides;
    if width < WIDE || right.is_empty() {
        lines.extend(left.iter().chain(right).map(|line| fit(line, width)));
    } else {
        let half = (width - 3) / 2;
        lines.extend((0..left.len().max(right.len())).map(|at| {
            let side =
                |lines: &[String]| lines.get(at).map_or_else(String::new, |it| fit(it, half));
            let (left, right) = (side(left), side(right));
            let gap = " ".repeat(half - text_fit::width(&left));
            format!("{left}{gap} \u{2502} {right}")
                .trim_end()
                .to_owned()
        }));
    }
    lines.extend(wrapped(&finding.foot));
    lines
}
