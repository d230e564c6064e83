//! What stands over a view: help, choices, a line to edit.

use std::ops::Range;

use omp_model::filter::Filter;
use omp_model::metrics::{Flavour, Quantity, SortKey};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, View};
use crate::export::Form;
use crate::regions;
use crate::report::RowOrder;

/// What stands over a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The keys of the view.
    Help {
        /// The first line in sight.
        top: usize,
    },
    /// A choice.
    Choice(Choice),
    /// A line to edit.
    Prompt(Prompt),
}

/// A choice among several.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What is asked.
    pub title: &'static str,
    /// What can be chosen, in words, and what it means.
    pub options: Vec<(String, Asked)>,
    /// The selected one.
    pub selected: usize,
}

/// A line to edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is asked.
    pub title: &'static str,
    /// The line.
    pub text: String,
    /// The cursor, in characters from the left.
    pub at: usize,
    /// What is wrong with the line.
    pub error: Option<Mistake>,
    /// Lines to choose from, each with what it is.
    pub suggestions: Vec<(&'static str, String)>,
    /// Which of them was taken last.
    pub suggested: usize,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// In a sentence.
    pub text: String,
    /// Where, in characters; one behind the end for something that is missing.
    pub at: Range<usize>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Nothing: leave all as it was.
    Nothing,
    /// The order.
    Sort(SortKey),
    /// The order of regions and tasks; `None`: by what they could save.
    Order(Option<RowOrder>),
    /// A text to find.
    Search(String),
    /// A filter; none: everything.
    Filter(Option<Filter>),
    /// A file's form.
    Export(Form),
    /// Put this into the clipboard, and go on editing.
    Copy(String),
    /// End; the program that is recorded, too, or not.
    End {
        /// Whether the program is to end.
        program: bool,
    },
}

const SEARCH: &str = "Find";
const FILTER: &str = "Filter (as in er_print)";

impl Overlay {
    /// Asks for the order of the view in sight: its columns, the name and the other way round.
    pub(super) fn sort(app: &App) -> Overlay {
        if app.view == View::Regions {
            return Overlay::order_of_directives(app);
        }
        let now = app.data.request.sort;
        let mut options = Vec::new();
        let columns = match app.view {
            View::Functions => app.data.columns.clone(),
            _ => app.data.attributed(),
        };
        let mut quantities: Vec<Quantity> = columns.iter().map(|column| column.quantity).collect();
        if app.view == View::Flame {
            let times = app.data.overview(&app.recording).times.iter();
            let metrics = times.filter(|(_, seconds)| *seconds > 0.0);
            let time = |&(metric, _): &(_, f64)| Quantity::Time(Flavour::Attributed, metric);
            quantities = metrics.map(time).collect();
        }
        for quantity in quantities
            .into_iter()
            .filter(|quantity| *quantity != Quantity::Name)
        {
            let key = SortKey {
                quantity,
                reversed: false,
            };
            options.push((quantity.label(), Asked::Sort(key)));
        }
        if app.view != View::Flame {
            let key = SortKey {
                quantity: Quantity::Name,
                reversed: false,
            };
            options.push((Quantity::Name.label(), Asked::Sort(key)));
        }
        if app.view != View::Flame {
            let turned = SortKey {
                reversed: !now.reversed,
                ..now
            };
            options.push((
                "the same, the other way round".to_owned(),
                Asked::Sort(turned),
            ));
        }
        let is_now = |(_, asked): &(String, Asked)| *asked == Asked::Sort(now);
        Overlay::Choice(Choice {
            title: if app.view == View::Flame {
                "As wide as"
            } else {
                "Order by"
            },
            selected: options.iter().position(is_now).unwrap_or(0),
            options,
        })
    }

    /// Asks for the order of regions and tasks: their columns, the name, and the other way round.
    fn order_of_directives(app: &App) -> Overlay {
        let now = app.order_of_directives.clone();
        let by = |column: &str| {
            let column = column.to_owned();
            let reversed = false;
            Asked::Order(Some(RowOrder { column, reversed }))
        };
        let mut options = vec![(
            "What they could save, then tasks".to_owned(),
            Asked::Order(None),
        )];
        let columns = app.table.columns.iter();
        // The kind stands for the order above.
        options.extend(columns.skip(1).map(|column| {
            let words = regions::column_words(column);
            (words, by(&column.id))
        }));
        options.push(("Name".to_owned(), by(RowOrder::NAME)));
        let is_now = |(_, asked): &(String, Asked)| match (asked, &now) {
            (Asked::Order(Some(one)), Some(now)) => one.column == now.column,
            (Asked::Order(None), None) => true,
            _ => false,
        };
        let selected = options.iter().position(is_now).unwrap_or(0);
        if let Some(now) = now {
            let turned = RowOrder {
                reversed: !now.reversed,
                ..now
            };
            let words = "the same, the other way round".to_owned();
            options.push((words, Asked::Order(Some(turned))));
        }
        Overlay::Choice(Choice {
            title: "Order by",
            options,
            selected,
        })
    }

    /// Asks for a file's form.
    pub(super) fn export(view: View) -> Overlay {
        let forms = Form::of(view).iter();
        Overlay::Choice(Choice {
            title: "Write this view as",
            options: forms
                .map(|form| (form.words().to_owned(), Asked::Export(*form)))
                .collect(),
            selected: 0,
        })
    }

    /// Asks for a text to find.
    pub(super) fn search() -> Overlay {
        Overlay::prompt(SEARCH, String::new())
    }

    /// Asks for a filter; the first suggestion is there to be edited.
    pub(super) fn filter(suggestions: Vec<(&'static str, String)>) -> Overlay {
        let text = suggestions.first().map(|(_, text)| text.clone());
        let mut overlay = Overlay::prompt(FILTER, text.unwrap_or_default());
        if let Overlay::Prompt(prompt) = &mut overlay {
            prompt.suggestions = suggestions;
        }
        overlay
    }

    /// Asks what becomes of the program that is being recorded.
    pub(super) fn end() -> Overlay {
        let options = [
            ("stay", Asked::Nothing),
            ("end the program, and leave", Asked::End { program: true }),
            (
                "leave; it runs on and is recorded",
                Asked::End { program: false },
            ),
        ];
        let options = options.map(|(words, asked)| (words.to_owned(), asked));
        Overlay::Choice(Choice {
            title: "The program is still running",
            options: options.to_vec(),
            selected: 0,
        })
    }

    fn prompt(title: &'static str, text: String) -> Overlay {
        Overlay::Prompt(Prompt {
            title,
            at: text.chars().count(),
            text,
            error: None,
            suggestions: Vec::new(),
            suggested: 0,
        })
    }

    /// A key for what stands here; an answer if it closes it.
    pub(super) fn key(&mut self, event: KeyEvent) -> Option<Asked> {
        if event.code == KeyCode::Esc {
            return Some(Asked::Nothing);
        }
        match self {
            Overlay::None => Some(Asked::Nothing),
            Overlay::Help { top } => {
                match event.code {
                    KeyCode::Down | KeyCode::Char('j') => *top += 1,
                    KeyCode::Up | KeyCode::Char('k') => *top = top.saturating_sub(1),
                    KeyCode::PageDown | KeyCode::Char(' ') => *top += 10,
                    KeyCode::PageUp => *top = top.saturating_sub(10),
                    _ => return Some(Asked::Nothing),
                }
                None
            }
            Overlay::Choice(choice) => choice.key(event),
            Overlay::Prompt(prompt) => prompt.key(event),
        }
    }
}

impl Choice {
    fn key(&mut self, event: KeyEvent) -> Option<Asked> {
        let last = self.options.len().saturating_sub(1);
        match event.code {
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Enter => {
                let chosen = self.options.get(self.selected);
                return Some(chosen.map_or(Asked::Nothing, |(_, asked)| asked.clone()));
            }
            KeyCode::Char('q') => return Some(Asked::Nothing),
            _ => {}
        }
        None
    }
}

impl Prompt {
    fn key(&mut self, event: KeyEvent) -> Option<Asked> {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        self.error = None;
        match event.code {
            KeyCode::Char('c') if control => return Some(Asked::Nothing),
            KeyCode::Char('u') if control => {
                self.text = self.text.chars().skip(self.at).collect();
                self.at = 0;
            }
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.chars().count(),
            KeyCode::Char('y') if control => return Some(Asked::Copy(self.text.clone())),
            KeyCode::Tab => self.suggest(1),
            KeyCode::BackTab => self.suggest(self.suggestions.len().saturating_sub(1)),
            KeyCode::Char(letter) if !control => {
                let byte = self.byte(self.at);
                self.text.insert(byte, letter);
                self.at += 1;
            }
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                let byte = self.byte(self.at);
                self.text.remove(byte);
            }
            KeyCode::Delete if self.at < self.text.chars().count() => {
                let byte = self.byte(self.at);
                self.text.remove(byte);
            }
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.text.chars().count()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.chars().count(),
            KeyCode::Enter => return self.done(),
            _ => {}
        }
        None
    }

    /// What the line is, if it is a suggestion.
    pub fn is(&self) -> Option<&'static str> {
        let (words, text) = self.suggestions.get(self.suggested)?;
        (*text == self.text).then_some(*words)
    }

    /// Takes the next suggestion, or another one from there.
    fn suggest(&mut self, step: usize) {
        if self.suggestions.is_empty() {
            return;
        }
        self.suggested = (self.suggested + step) % self.suggestions.len();
        self.text.clone_from(&self.suggestions[self.suggested].1);
        self.at = self.text.chars().count();
    }

    fn byte(&self, at: usize) -> usize {
        let found = self.text.char_indices().nth(at);
        found.map_or(self.text.len(), |(byte, _)| byte)
    }

    fn done(&mut self) -> Option<Asked> {
        if self.title == SEARCH {
            return Some(Asked::Search(self.text.clone()));
        }
        if self.text.trim().is_empty() {
            return Some(Asked::Filter(None));
        }
        match Filter::parse(self.text.trim()) {
            Ok(filter) => Some(Asked::Filter(Some(filter))),
            Err(why) => {
                let blank = self
                    .text
                    .chars()
                    .take_while(|letter| letter.is_whitespace());
                let start = blank.count() + why.position.saturating_sub(1);
                self.at = start;
                self.error = Some(Mistake {
                    at: start..start + why.found.chars().count().max(1),
                    text: why.to_string(),
                });
                None
            }
        }
    }
}
