//! Splits the text of a filter into tokens.

const OPERATORS: [&str; 23] = [
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "..", "|", "^", "&", "<", ">", "+", "-", "*",
    "/", "%", "!", "~", "(", ")",
];

/// The error in an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {position} of the filter{}: {message}", found_text(.found))]
pub struct FilterError {
    /// From 1, in characters.
    pub position: usize,
    /// The text there; empty at the end.
    pub found: String,
    /// What is wrong and how to correct it.
    pub message: String,
}

fn found_text(found: &str) -> String {
    match found {
        "" => " (its end)".to_owned(),
        text => format!(" (\"{text}\")"),
    }
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Number(i64),
    Text(String),
    Name(String),
    Sign(&'static str),
    Comma,
    End,
}

/// A token and its position.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// From 1, in characters.
    pub(super) position: usize,
}

/// An error at a token.
pub(super) fn error(token: &Token, message: impl Into<String>) -> FilterError {
    FilterError {
        position: token.position,
        found: token.text.clone(),
        message: message.into(),
    }
}

/// Splits a text into tokens; the last one is the end of the text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let first = letters[at];
        if first.is_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        let take = |at: &mut usize, ok: &dyn Fn(char) -> bool| {
            let from = *at;
            while *at < letters.len() && ok(letters[*at]) {
                *at += 1;
            }
            letters[from..*at].iter().collect::<String>()
        };
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut token = Token {
            kind: Kind::Comma,
            text: String::new(),
            position: start + 1,
        };
        if first.is_ascii_digit() {
            token.text = take(&mut at, &word);
            let number = number(&token.text);
            token.kind = Kind::Number(number.ok_or_else(|| {
                error(
                    &token,
                    "this is no whole number of 64 bits: write it as 12 or 0xc",
                )
            })?);
        } else if word(first) {
            token.text = take(&mut at, &word);
            token.kind = Kind::Name(token.text.clone());
        } else if first == '"' || first == '\'' {
            at += 1;
            let inside = take(&mut at, &|letter| letter != first);
            if at == letters.len() {
                token.text = first.to_string();
                return Err(error(&token, "this quotation mark is not closed"));
            }
            at += 1;
            token.text = inside.clone();
            token.kind = Kind::Text(inside);
        } else if first == ',' {
            at += 1;
            token.text = ",".to_owned();
        } else {
            let rest: String = letters[at..letters.len().min(at + 2)].iter().collect();
            let sign = OPERATORS.iter().find(|sign| rest.starts_with(**sign));
            let Some(sign) = sign else {
                token.text = first.to_string();
                return Err(error(
                    &token,
                    match first {
                        '=' => "compare with ==",
                        _ => "this is no part of a filter; describe lists its words",
                    },
                ));
            };
            at += sign.len();
            token.text = (*sign).to_owned();
            token.kind = Kind::Sign(sign);
        }
        tokens.push(token);
    }
    tokens.push(Token {
        kind: Kind::End,
        text: String::new(),
        position: letters.len() + 1,
    });
    Ok(tokens)
}

fn number(text: &str) -> Option<i64> {
    let lower = text.to_lowercase();
    match lower.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => lower.parse().ok(),
    }
}
