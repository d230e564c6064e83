//! The box over a view: help, a choice, or a prompt.

use std::ops::Range;

use omp_model::filter::Filter;
use omp_model::metrics::SortKey;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::row_order::RowOrder;
use crate::view::{Form, View, forms};

/// The box over a view.
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
    /// The question.
    pub title: &'static str,
    /// The options, each with its answer.
    pub options: Vec<(String, Answer)>,
    /// The selected one.
    pub selected: usize,
}

/// A line to edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The question.
    pub title: &'static str,
    /// The line.
    pub text: String,
    /// The cursor, in characters from the left.
    pub at: usize,
    /// The mistake in the line, after Enter.
    pub error: Option<Mistake>,
    /// Suggested lines, each after its description.
    pub suggestions: Vec<(&'static str, String)>,
    /// The index of the suggestion that was taken last.
    pub suggested: usize,
}

/// A mistake in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// In a sentence.
    pub text: String,
    /// Its range, in characters; behind the end if something is missing.
    pub at: Range<usize>,
}

/// The answer to a choice or a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Changes nothing.
    Nothing,
    /// The order.
    Sort(SortKey),
    /// The order of rows; `None` for the document's.
    Order(Option<RowOrder>),
    /// A text to find.
    Search(String),
    /// A filter; `None` removes it.
    Filter(Option<Filter>),
    /// A file's form.
    Export(Form),
    /// The name of a report.
    Report(&'static str),
    /// Copies this text, and keeps the prompt open.
    Copy(String),
    /// Stops the recorded program and quits.
    Stop,
    /// Quits; the recording goes on.
    Quit,
}

const SEARCH: &str = "Find";
const FILTER: &str = "Filter (as in er_print)";

impl Overlay {
    /// Asks for a file's form.
    pub(crate) fn export(view: View) -> Overlay {
        let forms = forms(view).iter();
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

    /// Asks for a filter, with the first suggestion in the line.
    pub(crate) fn filter(suggestions: Vec<(&'static str, String)>) -> Overlay {
        let text = suggestions.first().map(|(_, text)| text.clone());
        let mut overlay = Overlay::prompt(FILTER, text.unwrap_or_default());
        if let Overlay::Prompt(prompt) = &mut overlay {
            prompt.suggestions = suggestions;
        }
        overlay
    }

    /// Asks whether to quit while a program is being recorded.
    pub(crate) fn quit() -> Overlay {
        let option = |words: &str, answer| (words.to_owned(), answer);
        Overlay::Choice(Choice {
            title: "The program is still running",
            options: vec![
                option("stay", Answer::Nothing),
                option("end the program, and leave", Answer::Stop),
                option("leave; it runs on and is recorded", Answer::Quit),
            ],
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

    /// Handles a key. Returns the answer if there is one.
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

    /// The description of the line, if it is a suggestion.
    pub fn suggestion_label(&self) -> Option<&'static str> {
        let (words, text) = self.suggestions.get(self.suggested)?;
        (*text == self.text).then_some(*words)
    }

    /// Takes the suggestion `step` after the current one.
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
