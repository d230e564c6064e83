//! Filters: a part of the command language's expressions, kept as the text that `er_print` takes.
//!
//! Terms joined by `&&`: `THRID==101`, `THRID!=101`, `TSTAMP>=NS`, `TSTAMP<NS`, `"foo" IN STACK`,
//! `LEAF=="foo"`. Time is kept by slices of a second, so moments are widened to whole slices when
//! the expression is read, and the expression that is shown says so.

use std::fmt;

use omp_model::profile::{Item, Path, PathId, Profile};
use omp_model::rows::SLICE;
use omp_model::tables::Tables;
use omp_model::views::names::{Names, without_parameters};

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// Of the thread with this kernel id.
    Thread(i32),
    /// Of any other thread.
    NotThread(i32),
    /// From this slice on.
    From(u32),
    /// Before this slice.
    Before(u32),
    /// A function of this name is on the stack.
    OnStack(String),
    /// The stack's leaf has this name.
    Leaf(String),
}

/// Conditions that all hold; none: everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In the order in which they were written.
    pub terms: Vec<Term>,
}

impl Filter {
    /// Reads an expression; an empty one is everything.
    ///
    /// # Errors
    /// One sentence that says what is wrong and what can be written.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let mut terms = Vec::new();
        for part in split(text)? {
            terms.push(term(part.trim())?);
        }
        Ok(Filter { terms })
    }

    /// Whether it lets everything through.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a thread may have time that it lets through.
    pub fn admits_thread(&self, tid: i32) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Thread(only) => *only == tid,
            Term::NotThread(other) => *other != tid,
            _ => true,
        })
    }

    /// The part of a profile that it lets through.
    pub fn apply(&self, profile: &Profile, names: &Names<'_>) -> Profile {
        let stacks: Vec<Vec<bool>> = self
            .terms
            .iter()
            .filter_map(|term| matching_paths(term, profile, names))
            .collect();
        let admits = |item: &&Item| {
            self.terms
                .iter()
                .all(|term| admits_item(term, item, names.tables))
                && stacks.iter().all(|paths| paths[item.path.0 as usize])
        };
        Profile {
            mode: profile.mode,
            paths: profile.paths.clone(),
            items: profile.items.iter().filter(admits).copied().collect(),
        }
    }
}

fn admits_item(term: &Term, item: &Item, tables: &Tables) -> bool {
    let tid = || {
        let thread = tables.threads.get(item.thread.index());
        thread.map_or(0, |thread| thread.tid)
    };
    match term {
        Term::Thread(only) => tid() == *only,
        Term::NotThread(other) => tid() != *other,
        Term::From(slice) => item.slice >= *slice,
        Term::Before(slice) => item.slice < *slice,
        Term::OnStack(_) | Term::Leaf(_) => true,
    }
}

/// For a term about stacks, whether each display stack fits.
fn matching_paths(term: &Term, profile: &Profile, names: &Names<'_>) -> Option<Vec<bool>> {
    let (wanted, anywhere) = match term {
        Term::OnStack(name) => (name, true),
        Term::Leaf(name) => (name, false),
        _ => return None,
    };
    let is_called = |row: &Path| {
        let shown = names.name(row.frame.callee);
        let function = names.function_of(row.frame.callee);
        shown == *wanted
            || without_parameters(&shown) == wanted
            || function.is_some_and(|function| function.linkage == *wanted)
    };
    let mut fits = vec![false; profile.paths.len()];
    for (at, row) in profile.paths.rows().iter().enumerate().skip(1) {
        // Callers have smaller numbers than the stacks that grow from them.
        fits[at] = is_called(row) || (anywhere && fits[row.callers.0 as usize]);
    }
    fits[PathId::EMPTY.0 as usize] = false;
    Some(fits)
}

/// The parts between `&&` outside of quotation marks.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'&' if !quoted && at >= start && bytes.get(at + 1) == Some(&b'&') => {
                parts.push(&text[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    if quoted {
        return Err("a quotation mark is not closed".to_owned());
    }
    parts.push(&text[start..]);
    if parts.len() == 1 && parts[0].trim().is_empty() {
        return Ok(Vec::new());
    }
    Ok(parts)
}

const FORMS: &str = "write THRID==N, THRID!=N, TSTAMP>=NS, TSTAMP<NS, \"NAME\" IN STACK or \
                     LEAF==\"NAME\", joined by &&";

fn term(text: &str) -> Result<Term, String> {
    let wrong = || match text {
        "" => format!("a condition is missing: {FORMS}"),
        text => format!("cannot read {text}: {FORMS}"),
    };
    if let Some(rest) = text.strip_prefix('"') {
        let (name, rest) = rest.split_once('"').ok_or_else(wrong)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        return match words.as_slice() {
            ["IN", "STACK"] => Ok(Term::OnStack(name.to_owned())),
            _ => Err(wrong()),
        };
    }
    let at = text.find(['=', '!', '<', '>']).ok_or_else(wrong)?;
    let (variable, rest) = text.split_at(at);
    let operator = rest.trim_start_matches(['=', '!', '<', '>']);
    let (operator, value) = rest.split_at(rest.len() - operator.len());
    let value = value.trim();
    let tid = || value.parse::<i32>().map_err(|_| wrong());
    let time = || value.parse::<u64>().map_err(|_| wrong());
    let slice = |slice: u64| u32::try_from(slice).unwrap_or(u32::MAX);
    match (variable.trim(), operator) {
        ("THRID", "==") => Ok(Term::Thread(tid()?)),
        ("THRID", "!=") => Ok(Term::NotThread(tid()?)),
        ("TSTAMP", ">=") => Ok(Term::From(slice(time()? / SLICE.0))),
        ("TSTAMP", "<") => Ok(Term::Before(slice(time()?.div_ceil(SLICE.0)))),
        ("LEAF", "==") => {
            let name = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Ok(Term::Leaf(name.ok_or_else(wrong)?.to_owned()))
        }
        _ => Err(wrong()),
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = |slice: u32| u64::from(slice) * SLICE.0;
        match self {
            Term::Thread(tid) => write!(f, "THRID=={tid}"),
            Term::NotThread(tid) => write!(f, "THRID!={tid}"),
            Term::From(slice) => write!(f, "TSTAMP>={}", nanos(*slice)),
            Term::Before(slice) => write!(f, "TSTAMP<{}", nanos(*slice)),
            Term::OnStack(name) => write!(f, "\"{name}\" IN STACK"),
            Term::Leaf(name) => write!(f, "LEAF==\"{name}\""),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let join = if at == 0 { "" } else { " && " };
            write!(f, "{join}{term}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_reads_back_as_it_is_shown() {
        let text = "THRID==101 && TSTAMP>=1000000000 && \"f(a && b)\" IN STACK && LEAF==\"g\"";
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.to_string(), text);
        assert_eq!(Filter::parse("  ").unwrap(), Filter::default());
    }

    #[test]
    fn moments_are_widened_to_whole_slices() {
        let filter = Filter::parse("TSTAMP>=1500000000&&TSTAMP<2000000001").unwrap();
        assert_eq!(filter.terms, [Term::From(1), Term::Before(3)]);
        assert_eq!(filter.to_string(), "TSTAMP>=1000000000 && TSTAMP<3000000000");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_what_can() {
        for text in ["THRID", "THRID==x", "CPUID==1", "\"foo\" IN", "a &&", "\"foo"] {
            let message = Filter::parse(text).unwrap_err();
            assert!(message.contains("write THRID==N") || message.contains("quotation"), "{text}");
        }
    }
}
