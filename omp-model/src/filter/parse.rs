//! Parses and checks expressions. The precedence of operators is that of C; `IN` binds like `<`.

use super::path::{PathTest, Rule};
use super::tokens::{FilterError, Kind, Token, error, tokens};
use super::words::{Word, named_number};
use crate::spelling::nearest;

/// The maximum nesting depth: the parser recurses at each level.
const DEEPEST: usize = 128;

/// The maximum number of tokens: a chain of operators is as deep as it is long.
const LONGEST: usize = 4096;

/// A checked expression with its stack tests and numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) root: Expr,
    /// Tests of stacks; [`Expr::Path`] is an index into them.
    pub(super) paths: Vec<PathTest>,
    /// Tests of the phases; [`Expr::Phase`] is an index into them.
    pub(super) phases: Vec<PathTest>,
    pub(super) words: Vec<Word>,
    /// Numbers in the text, ascending: the values at which comparisons can change their result.
    pub(super) numbers: Vec<i64>,
}

/// An expression; all values are numbers, 0 is false.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(i64),
    Word(Word),
    Path(usize),
    Phase(usize),
    Among(Box<Expr>, Vec<(i64, i64)>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Negate,
    Invert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Left,
    Right,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by precedence, weakest first; longer spellings before their prefixes.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("==", Binary::Equal), ("!=", Binary::Unequal)],
    &[
        ("<=", Binary::AtMost),
        (">=", Binary::AtLeast),
        ("<", Binary::Less),
        (">", Binary::More),
    ],
    &[("<<", Binary::Left), (">>", Binary::Right)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("*", Binary::Multiply),
        ("/", Binary::Divide),
        ("%", Binary::Remainder),
    ],
];

const RELATIONS: usize = 6;
const EQUALITIES: usize = 5;

/// Checks an expression.
pub(super) fn parse(text: &str) -> Result<Parsed, FilterError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        paths: Vec::new(),
        phases: Vec::new(),
        words: Vec::new(),
        numbers: Vec::new(),
    };
    if parser.peek().kind == Kind::End {
        return Err(error(
            parser.peek(),
            "the filter is empty: write an expression such as THRID==2, or 1 for everything",
        ));
    }
    if let Some(token) = parser.tokens.get(LONGEST) {
        let message = format!("the filter has more than {LONGEST} words: make it shorter");
        return Err(error(token, message));
    }
    let root = parser.level(0)?;
    if parser.peek().kind != Kind::End {
        return Err(error(
            parser.peek(),
            "an operator such as && or the end is expected here",
        ));
    }
    parser.numbers.sort_unstable();
    parser.numbers.dedup();
    Ok(Parsed {
        root,
        paths: parser.paths,
        phases: parser.phases,
        words: parser.words,
        numbers: parser.numbers,
    })
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    paths: Vec<PathTest>,
    phases: Vec<PathTest>,
    words: Vec<Word>,
    numbers: Vec<i64>,
}

/// An operand of `IN` or of a comparison that is not a number.
enum Operand {
    Names(Vec<String>),
    Leaf,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek().kind, Kind::Sign(sign) if sign == wanted);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self, wanted: &str) -> bool {
        let found =
            matches!(&self.peek().kind, Kind::Name(name) if name.eq_ignore_ascii_case(wanted));
        self.at += usize::from(found);
        found
    }

    fn level(&mut self, level: usize) -> Result<Expr, FilterError> {
        if level >= LEVELS.len() {
            return self.unary();
        }
        if (level == EQUALITIES || level == RELATIONS)
            && let Some(node) = self.of_names(level)?
        {
            return Ok(node);
        }
        let mut left = self.level(level + 1)?;
        loop {
            if level == RELATIONS && self.name("IN") {
                left = Expr::Among(Box::new(left), self.numbers_list()?);
                continue;
            }
            let Kind::Sign(sign) = self.peek().kind else {
                return Ok(left);
            };
            let Some(&(_, operator)) = LEVELS[level].iter().find(|(known, _)| *known == sign)
            else {
                return Ok(left);
            };
            self.next();
            let is_text = matches!(self.peek().kind, Kind::Text(_));
            let right = if level == EQUALITIES && is_text {
                self.state_text(&left)?
            } else {
                self.level(level + 1)?
            };
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    /// `OMPSTATE == "ompidle"`.
    fn state_text(&mut self, left: &Expr) -> Result<Expr, FilterError> {
        let token = self.next();
        let number = match left {
            Expr::Word(word) if !word.names().is_empty() => word
                .names()
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&token.text))
                .map(|&(_, number)| number)
                .ok_or_else(|| {
                    let names: Vec<&str> = word.names().iter().map(|(name, _)| *name).collect();
                    error(
                        &token,
                        format!("{} is one of {}", word.name(), names.join(", ")),
                    )
                })?,
            _ => return Err(error(&token, "a number is expected here, not a text")),
        };
        Ok(Expr::Number(number))
    }

    /// Parses a comparison of names: it begins with a text, a list of texts, `LEAF` or `STACK`.
    fn of_names(&mut self, level: usize) -> Result<Option<Expr>, FilterError> {
        let start = self.at;
        let operand = match &self.peek().kind {
            Kind::Text(text) => {
                let names = vec![text.clone()];
                self.next();
                Operand::Names(names)
            }
            Kind::Sign("(") if matches!(self.tokens[self.at + 1].kind, Kind::Text(_)) => {
                self.next();
                match self.rest_of_names() {
                    Ok(names) => Operand::Names(names),
                    // `("foo" IN STACK)`: the parenthesis belongs to an expression.
                    Err(_) => {
                        self.at = start;
                        return Ok(None);
                    }
                }
            }
            Kind::Name(name) if name.eq_ignore_ascii_case("LEAF") => {
                self.next();
                Operand::Leaf
            }
            Kind::Name(name) if name.eq_ignore_ascii_case("STACK") => {
                let message = "STACK stands right of IN: write \"foo\" IN STACK";
                return Err(error(self.peek(), message));
            }
            _ => return Ok(None),
        };
        // `"foo" IN STACK` belongs to the level of relations, `LEAF == "foo"` to that of equality.
        let equality = ["==", "!="]
            .iter()
            .find(|sign| matches!(self.peek().kind, Kind::Sign(found) if found == **sign));
        match (equality, level) {
            (Some(_), EQUALITIES) => self.equality(operand).map(Some),
            (None, RELATIONS) => self.membership(operand).map(Some),
            _ => {
                self.at = start;
                // Equality begins one level up: the relation is found below it.
                match level {
                    EQUALITIES => Ok(None),
                    _ => Err(error(self.peek(), "compare LEAF with a name")),
                }
            }
        }
    }

    fn equality(&mut self, left: Operand) -> Result<Expr, FilterError> {
        let equal = self.next().text == "==";
        let token = self.next();
        let names = match (left, &token.kind) {
            (Operand::Leaf, Kind::Text(name)) => vec![name.clone()],
            (Operand::Names(names), Kind::Name(word)) if word.eq_ignore_ascii_case("LEAF") => names,
            (Operand::Names(names), Kind::Name(_)) if names.len() == 1 => {
                return self.state_first(&names[0], &token, equal);
            }
            (Operand::Leaf, _) => {
                return Err(error(
                    &token,
                    "a function's name in quotation marks is expected here",
                ));
            }
            _ => return Err(error(&token, "a text is compared with LEAF or a state")),
        };
        let test = self.path(Rule::Leaf, names);
        Ok(if equal {
            test
        } else {
            Expr::Unary(Unary::Not, Box::new(test))
        })
    }

    /// `"ompidle" == OMPSTATE`.
    fn state_first(&mut self, text: &str, token: &Token, equal: bool) -> Result<Expr, FilterError> {
        let word = self.word(token)?;
        let names = match &word {
            Expr::Word(word) => word.names(),
            _ => &[],
        };
        let number = names
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        let &(_, number) = number.ok_or_else(|| {
            error(
                token,
                format!("\"{text}\" is no value of this: describe lists them"),
            )
        })?;
        let operator = if equal {
            Binary::Equal
        } else {
            Binary::Unequal
        };
        Ok(Expr::Binary(
            operator,
            Box::new(word),
            Box::new(Expr::Number(number)),
        ))
    }

    fn membership(&mut self, left: Operand) -> Result<Expr, FilterError> {
        let rule = if self.name("SOME") {
            Rule::Some
        } else if self.name("ORDERED") {
            Rule::Ordered
        } else {
            Rule::All
        };
        if !self.name("IN") {
            let message = "IN, SOME IN, ORDERED IN, == or != is expected here";
            return Err(error(self.peek(), message));
        }
        let token = self.next();
        match (left, &token.kind) {
            (Operand::Names(names), Kind::Name(word)) if word.eq_ignore_ascii_case("STACK") => {
                Ok(self.path(rule, names))
            }
            (Operand::Names(names), Kind::Name(word)) if word.eq_ignore_ascii_case("LEAF") => {
                Ok(self.path(Rule::Leaf, names))
            }
            (Operand::Names(names), Kind::Name(word)) if word.eq_ignore_ascii_case("PHASE") => {
                Ok(self.phase(rule, names))
            }
            (Operand::Leaf, Kind::Text(name)) => Ok(self.path(Rule::Leaf, vec![name.clone()])),
            (Operand::Leaf, Kind::Sign("(")) => {
                let names = self.rest_of_names()?;
                Ok(self.path(Rule::Leaf, names))
            }
            (Operand::Leaf, _) => Err(error(
                &token,
                "names in quotation marks are expected here: LEAF IN (\"foo\", \"bar\")",
            )),
            _ => Err(error(&token, "STACK, LEAF or PHASE is expected here")),
        }
    }

    fn phase(&mut self, rule: Rule, names: Vec<String>) -> Expr {
        self.words.push(Word::Phase);
        self.phases.push(PathTest { rule, names });
        Expr::Phase(self.phases.len() - 1)
    }

    fn path(&mut self, rule: Rule, names: Vec<String>) -> Expr {
        self.paths.push(PathTest { rule, names });
        Expr::Path(self.paths.len() - 1)
    }

    /// Names up to the closing parenthesis.
    fn rest_of_names(&mut self) -> Result<Vec<String>, FilterError> {
        let mut names = Vec::new();
        loop {
            let token = self.next();
            match token.kind {
                Kind::Text(name) => names.push(name),
                _ => return Err(error(&token, "a name in quotation marks is expected here")),
            }
            let token = self.next();
            match token.kind {
                Kind::Comma => {}
                Kind::Sign(")") => return Ok(names),
                _ => return Err(error(&token, "\",\" or \")\" is expected here")),
            }
        }
    }

    /// `(1, 3-5, 8..9)`, or one number.
    fn numbers_list(&mut self) -> Result<Vec<(i64, i64)>, FilterError> {
        if !self.sign("(") {
            return Ok(vec![self.range()?]);
        }
        let mut ranges = Vec::new();
        loop {
            ranges.push(self.range()?);
            let token = self.next();
            match token.kind {
                Kind::Comma => {}
                Kind::Sign(")") => return Ok(ranges),
                _ => return Err(error(&token, "\",\", \"-\" or \")\" is expected here")),
            }
        }
    }

    fn range(&mut self) -> Result<(i64, i64), FilterError> {
        let low = self.literal()?;
        if !self.sign("-") && !self.sign("..") {
            return Ok((low, low));
        }
        let token = self.peek().clone();
        let high = self.literal()?;
        if high < low {
            return Err(error(
                &token,
                format!("this range ends before it begins: write {high}-{low}"),
            ));
        }
        Ok((low, high))
    }

    fn literal(&mut self) -> Result<i64, FilterError> {
        let negative = self.sign("-");
        let token = self.next();
        let number = match &token.kind {
            Kind::Number(number) => *number,
            Kind::Name(name) => named_number(name)
                .ok_or_else(|| error(&token, "a number is expected here, or a state's name"))?,
            _ => return Err(error(&token, "a number is expected here")),
        };
        let number = if negative { -number } else { number };
        self.numbers.push(number);
        Ok(number)
    }

    fn unary(&mut self) -> Result<Expr, FilterError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(error(
                self.peek(),
                format!("the filter nests more than {DEEPEST} deep: make it flatter"),
            ));
        }
        let token = self.next();
        let node = match &token.kind {
            Kind::Sign("!") => Expr::Unary(Unary::Not, Box::new(self.unary()?)),
            Kind::Sign("-") => Expr::Unary(Unary::Negate, Box::new(self.unary()?)),
            Kind::Sign("~") => Expr::Unary(Unary::Invert, Box::new(self.unary()?)),
            Kind::Sign("(") => {
                let inner = self.level(0)?;
                if !self.sign(")") {
                    return Err(error(self.peek(), "\")\" is expected here"));
                }
                inner
            }
            Kind::Number(number) => {
                self.numbers.push(*number);
                Expr::Number(*number)
            }
            Kind::Name(_) => self.word(&token)?,
            Kind::Text(_) => {
                return Err(error(
                    &token,
                    "a text stands in \"foo\" IN STACK or LEAF == \"foo\"",
                ));
            }
            _ => return Err(error(&token, "a word, a number or \"(\" is expected here")),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn word(&mut self, token: &Token) -> Result<Expr, FilterError> {
        let word = Word::ALL
            .into_iter()
            .find(|word| word.name().eq_ignore_ascii_case(&token.text));
        if let Some(word) = word {
            if !self.words.contains(&word) {
                self.words.push(word);
            }
            return Ok(Expr::Word(word));
        }
        if let Some(number) = named_number(&token.text) {
            return Ok(Expr::Number(number));
        }
        let known = Word::ALL.into_iter().map(Word::name);
        let hint = match nearest(&token.text, known.chain(["LEAF", "STACK", "IN"])) {
            Some(near) => format!("did you mean {near}?"),
            None => "describe lists the words".to_owned(),
        };
        Err(error(token, format!("there is no such word: {hint}")))
    }
}
