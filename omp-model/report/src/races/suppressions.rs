//! Findings that a project knows and accepts, each rule with its reason.
//!
//! ```text
//! race variable:progress   # a counter for the eye alone
//! race file:*/generated/*  # the vendor's; reported to him
//! deadlock function:shutdown  # runs on one thread
//! ```

use experiment::findings::Frame;
use omp_model::filter::is_like;

use super::kind::FindingKind;
use crate::error::Error;

/// What a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The function of one of the accesses or calls.
    Function,
    /// The source file of one.
    File,
    /// The variable or lock.
    Variable,
}

/// A rule of a file of suppressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The kind of findings that it suppresses.
    pub kind: FindingKind,
    part: Part,
    /// A name, in which `*` stands for anything.
    pattern: String,
    /// Why.
    pub reason: String,
    /// The file and line that it stands in.
    pub place: String,
    /// The rule as it was written.
    pub text: String,
}

/// The rules in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    /// In the order of their files.
    pub rules: Vec<Rule>,
}

/// How a line is written.
const FORM: &str =
    "write KIND PART:NAME # REASON, such as race variable:progress # a counter for the eye alone";

impl Suppressions {
    /// Adds the rules of a file. Lines without a rule are empty or begin with `#`.
    ///
    /// # Errors
    /// [`Error`] that names the line.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), Error> {
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{file}, line {number}");
            let rule = Rule::parse(line, &place);
            self.rules
                .push(rule.map_err(|what| Error(format!("{place}: {what}; {FORM}")))?);
        }
        Ok(())
    }

    /// The first rule that suppresses a finding of this kind, with the places of its accesses or calls and the
    /// variables or locks that it is about.
    pub(super) fn rule_for(
        &self,
        kind: FindingKind,
        sites: &[&Frame],
        variables: &[&str],
    ) -> Option<usize> {
        let mut rules = self.rules.iter();
        rules.position(|rule| rule.kind == kind && rule.suppresses(sites, variables))
    }

    /// Sentences about the rules on a kind that suppress nothing.
    pub(super) fn unused(&self, kind: FindingKind, used: &[usize]) -> Vec<String> {
        let rules = self.rules.iter().enumerate();
        let unused = rules.filter(|(at, rule)| rule.kind == kind && !used.contains(at));
        let sentence = |(_, rule): (usize, &Rule)| {
            format!(
                "the suppression \"{}\" ({}) suppresses nothing: remove it",
                rule.text, rule.place
            )
        };
        unused.map(sentence).collect()
    }
}

impl Rule {
    fn parse(line: &str, place: &str) -> Result<Rule, String> {
        let (rule, reason) = line.split_once('#').unwrap_or((line, ""));
        let (text, reason) = (rule.trim(), reason.trim());
        if reason.is_empty() {
            return Err(format!("the suppression \"{text}\" has no reason"));
        }
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let mut kinds = FindingKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.word() == word);
        let kind = kind.ok_or_else(|| {
            format!("a suppression is of a race, deadlock, misuse, uninit or divergence, not of \"{word}\"")
        })?;
        let (part, pattern) = rest.split_once(':').unwrap_or((rest, ""));
        let pattern = pattern.trim();
        let part = match part.trim() {
            "function" => Part::Function,
            "file" => Part::File,
            "variable" if kind == FindingKind::Misuse => {
                return Err("misuse has no variable: name its function or file".to_owned());
            }
            "variable" => Part::Variable,
            other => {
                return Err(format!(
                    "a suppression names a function:, file: or variable:, not \"{other}\""
                ));
            }
        };
        if pattern.is_empty() {
            return Err(format!("the suppression \"{text}\" names nothing"));
        }
        Ok(Rule {
            kind,
            part,
            pattern: pattern.to_owned(),
            reason: reason.to_owned(),
            place: place.to_owned(),
            text: text.to_owned(),
        })
    }

    fn suppresses(&self, sites: &[&Frame], variables: &[&str]) -> bool {
        let pattern = self.pattern.as_str();
        match self.part {
            Part::Function => {
                let mut sites = sites.iter();
                sites.any(|site| is_like(pattern, &site.function))
            }
            Part::File => {
                let anywhere = format!("*/{pattern}");
                let is = |file: &str| is_like(pattern, file) || is_like(&anywhere, file);
                sites.iter().any(|site| is(&site.file))
            }
            Part::Variable => {
                let is = |name: &&str| {
                    let bare = without_indexes(name);
                    // The array of an element, and the structure of a field.
                    let ends = bare.match_indices(['[', '.', '%', '-']).map(|(at, _)| at);
                    let mut wholes = ends.filter_map(|end| bare.get(..end));
                    is_like(pattern, name)
                        || is_like(pattern, &bare)
                        || wholes.any(|whole| is_like(pattern, whole))
                };
                variables.iter().any(is)
            }
        }
    }
}

/// A variable's name without its indexes: `a[].x`. One element races as another does.
pub(super) fn without_indexes(name: &str) -> String {
    let mut depth = 0_u32;
    let mut bare = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter == ']' {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            bare.push(letter);
        }
        if letter == '[' {
            depth += 1;
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use experiment::findings::{Content, Misuse, Uninitialised, Variable};

    use super::*;
    use crate::races::finding::Finding;

    fn rule_for<T: Finding>(rules: &Suppressions, finding: &T) -> Option<usize> {
        rules.rule_for(T::KIND, &finding.sites(), &finding.variables())
    }

    fn read(name: &str, function: &str, file: &str) -> Uninitialised {
        Uninitialised {
            class: Content::Undefined,
            variable: Variable {
                name: Some(name.to_owned()),
                ..Variable::default()
            },
            stack: vec![Frame {
                function: function.to_owned(),
                file: file.to_owned(),
                line: 3,
            }],
            constructs: Vec::new(),
            count: 1,
        }
    }

    fn rules(text: &str) -> Suppressions {
        let mut rules = Suppressions::default();
        rules.add("known", text).expect("rules");
        rules
    }

    #[test]
    fn a_rule_suppresses_by_variable_function_or_file() {
        let found = read("a[3]", "step", "/home/ann/app/gen/a.c");
        for (rule, suppresses) in [
            ("uninit variable:a # known", true),
            ("uninit variable:a[3] # known", true),
            ("uninit variable:a[4] # known", false),
            ("uninit function:st* # known", true),
            ("uninit function:main # known", false),
            ("uninit file:a.c # known", true),
            ("uninit file:gen/* # known", true),
            ("uninit file:c # known", false),
            ("race variable:a # known", false),
        ] {
            let is = rule_for(&rules(rule), &found).is_some();
            assert_eq!(is, suppresses, "{rule}");
        }
        let found = read("a[3].b", "step", "/home/ann/app/gen/a.c");
        for (rule, suppresses) in [
            ("uninit variable:a # known", true),
            ("uninit variable:a[].b # known", true),
            ("uninit variable:a[3].b # known", true),
            ("uninit variable:a[].c # known", false),
            ("uninit variable:b # known", false),
        ] {
            let is = rule_for(&rules(rule), &found).is_some();
            assert_eq!(is, suppresses, "{rule}");
        }
        let misuse = Misuse {
            kind: "lock set twice".to_owned(),
            detail: String::new(),
            stack: found.stack,
            count: 1,
        };
        assert_eq!(
            rule_for(&rules("\n# all\nmisuse file:a.c # x"), &misuse),
            Some(0)
        );
    }

    #[test]
    fn a_rule_without_a_reason_or_a_known_word_is_refused_by_its_line() {
        for (text, why) in [
            (
                "race variable:x",
                "line 1: the suppression \"race variable:x\" has no reason",
            ),
            (
                "\nraces variable:x # r",
                "line 2: a suppression is of a race",
            ),
            ("race name:x # r", "not \"name\""),
            ("race variable: # r", "names nothing"),
            ("misuse variable:x # r", "misuse has no variable"),
            ("race # r", "not \"\""),
        ] {
            let refused = Suppressions::default().add("known", text).expect_err(text);
            assert!(refused.0.contains(why), "{refused}");
        }
    }

    #[test]
    fn an_unused_rule_is_named_by_its_own_kind() {
        let rules = rules("uninit variable:x # r\nrace variable:y # r");
        assert_eq!(
            rules.unused(FindingKind::Uninit, &[0]),
            Vec::<String>::new()
        );
        assert_eq!(
            rules.unused(FindingKind::Race, &[0]),
            ["the suppression \"race variable:y\" (known, line 2) suppresses nothing: remove it"]
        );
    }
}
