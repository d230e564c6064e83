//! Filters on what has a stack of names, and none of the other values of time.

use super::eval::{KnownValues, value};
use super::expression::Filter;
use super::parse::Parsed;
use super::words::Word;

/// A stack of a finding of `collect -r`.
#[derive(Clone, Debug)]
pub struct NamedStack<'a> {
    /// The names of its functions, innermost first.
    pub functions: Vec<&'a str>,
    /// The number of its experiment, from 1.
    pub experiment: u32,
}

struct Known<'a> {
    parsed: &'a Parsed,
    stack: &'a NamedStack<'a>,
}

impl KnownValues for Known<'_> {
    fn word(&self, word: Word) -> Option<i64> {
        (word == Word::Experiment).then_some(i64::from(self.stack.experiment))
    }

    fn path(&self, test: usize) -> Option<bool> {
        let callers_first = self.stack.functions.iter().rev().copied();
        Some(self.parsed.paths[test].answer(callers_first))
    }

    fn phase(&self, _: usize) -> Option<bool> {
        None
    }
}

impl Filter {
    /// Whether it keeps a stack; `None` if that depends on values that the stack has not.
    pub fn keeps_stack(&self, stack: &NamedStack<'_>) -> Option<bool> {
        let parsed = &self.parsed;
        value(&parsed.root, &Known { parsed, stack }).map(|value| value != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_names_is_kept_by_its_functions_and_its_experiment() {
        let stack = NamedStack {
            functions: vec!["add", "step", "main"],
            experiment: 2,
        };
        for (filter, kept) in [
            ("\"step\" IN STACK", Some(true)),
            ("LEAF == \"a*\"", Some(true)),
            ("LEAF == \"main\"", Some(false)),
            ("(\"main\", \"add\") ORDERED IN STACK", Some(true)),
            ("(\"add\", \"main\") ORDERED IN STACK", Some(false)),
            ("(\"x\", \"step\") SOME IN STACK", Some(true)),
            ("EXPID == 2", Some(true)),
            ("EXPID == 1 && THRID == 1", Some(false)),
            ("THRID == 1", None),
            ("\"x\" IN PHASE || \"step\" IN STACK", Some(true)),
        ] {
            let filter = Filter::parse(filter).expect("a filter");
            assert_eq!(filter.keeps_stack(&stack), kept, "{}", filter.text());
        }
    }
}
