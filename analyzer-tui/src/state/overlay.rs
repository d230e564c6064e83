//! What stands over a view: help, choices, a line to edit.

use std::ops::Range;

use omp_model::filter::Filter;
use omp_model::metrics::SortKey;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::row_order::RowOrder;
use crate::view::{Form, View};

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
    pub options: Vec<(String, Answer)>,
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
pub enum Answer {
    /// Nothing: leave all as it was.
    Nothing,
    /// The order.
    Sort(SortKey),
    /// The order of rows; `None`: the one that they are made in.
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
    /// Asks for a file's form.
    pub(crate) fn export(view: View) -> Overlay {
        let forms = view.forms().iter();
        Overlay::Choice(Choice {
            title: "Write this view as",
            options: forms
                .map(|form| (form.label().to_owned(), Answer::Export(*form)))
                .collect(),
            selected: 0,
        })
    }

    /// Asks for a text to find.
    pub(crate) fn search() -> Overlay {
        Overlay::prompt(SEARCH, String::new())
    }

    /// Asks for a filter; the first suggestion is there to be edited.
    pub(crate) fn filter(suggestions: Vec<(&'static str, String)>) -> Overlay {
        let text = suggestions.first().map(|(_, text)| text.clone());
        let mut overlay = Overlay::prompt(FILTER, text.unwrap_or_default());
        if let Overlay::Prompt(prompt) = &mut overlay {
            prompt.suggestions = suggestions;
        }
        overlay
    }

    /// Asks what becomes of the program that is being recorded.
    pub(crate) fn end() -> Overlay {
        let options = [
            ("stay", Answer::Nothing),
            ("end the program, and leave", Answer::End { program: true }),
            (
                "leave; it runs on and is recorded",
                Answer::End { program: false },
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
    pub(crate) fn key(&mut self, event: KeyEvent) -> Option<Answer> {
        if event.code == KeyCode::Esc {
            return Some(Answer::Nothing);
        }
        match self {
            Overlay::None => Some(Answer::Nothing),
            Overlay::Help { top } => {
                match event.code {
                    KeyCode::Down | KeyCode::Char('j') => *top += 1,
                    KeyCode::Up | KeyCode::Char('k') => *top = top.saturating_sub(1),
                    KeyCode::PageDown | KeyCode::Char(' ') => *top += 10,
                    KeyCode::PageUp => *top = top.saturating_sub(10),
                    _ => return Some(Answer::Nothing),
                }
                None
            }
            Overlay::Choice(choice) => choice.key(event),
            Overlay::Prompt(prompt) => prompt.key(event),
        }
    }
}

impl Choice {
    fn key(&mut self, event: KeyEvent) -> Option<Answer> {
        let last = self.options.len().saturating_sub(1);
        match event.code {
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Enter => {
                let chosen = self.options.get(self.selected);
                return Some(chosen.map_or(Answer::Nothing, |(_, asked)| asked.clone()));
            }
            KeyCode::Char('q') => return Some(Answer::Nothing),
            _ => {}
        }
        None
    }
}

impl Prompt {
    fn key(&mut self, event: KeyEvent) -> Option<Answer> {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        self.error = None;
        match event.code {
            KeyCode::Char('c') if control => return Some(Answer::Nothing),
            KeyCode::Char('u') if control => {
                self.text = self.text.chars().skip(self.at).collect();
                self.at = 0;
            }
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.chars().count(),
            KeyCode::Char('y') if control => return Some(Answer::Copy(self.text.clone())),
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
    pub fn suggestion_label(&self) -> Option<&'static str> {
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

    fn done(&mut self) -> Option<Answer> {
        if self.title == SEARCH {
            return Some(Answer::Search(self.text.clone()));
        }
        if self.text.trim().is_empty() {
            return Some(Answer::Filter(None));
        }
        match Filter::parse(self.text.trim()) {
            Ok(filter) => Some(Answer::Filter(Some(filter))),
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
