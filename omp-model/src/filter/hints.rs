//! What a filter that keeps nothing may have meant.

use experiment::tables::Tables;

use super::expression::Filter;
use super::parse::Expr;
use super::words::Word;

/// The words whose numbers are taken for each other.
const WORDS: [Word; 3] = [Word::Thread, Word::Lwp, Word::Process];

impl Filter {
    /// A sentence for each number that no thread has in the word that it is compared with: the word
    /// in which one has it, if there is one.
    pub fn hints(&self, tables: &Tables) -> Vec<String> {
        let mut wanted = Vec::new();
        compared(&self.parsed.root, &mut wanted);
        let hint = |&(word, number): &(Word, i64)| {
            let has = |word: &Word| has(tables, *word, number);
            if has(&word) {
                return None;
            }
            let name = word.name();
            Some(match WORDS.iter().find(|other| has(other)) {
                Some(other) => {
                    let other = other.name();
                    format!("no {name} is {number}: was {other}=={number} meant?")
                }
                None => format!("no {name} is {number}: thread_list shows those that there are"),
            })
        };
        wanted.iter().filter_map(hint).collect()
    }
}

/// The numbers that words of [`WORDS`] are compared with.
fn compared(expression: &Expr, found: &mut Vec<(Word, i64)>) {
    match expression {
        Expr::Number(_) | Expr::Word(_) | Expr::Path(_) | Expr::Phase(_) => {}
        Expr::Unary(_, inside) => compared(inside, found),
        Expr::Among(inside, ranges) => match **inside {
            Expr::Word(word) if WORDS.contains(&word) => {
                let single = ranges.iter().filter(|(low, high)| low == high);
                found.extend(single.map(|&(number, _)| (word, number)));
            }
            ref inside => compared(inside, found),
        },
        Expr::Binary(_, left, right) => match (&**left, &**right) {
            (&Expr::Word(word), &Expr::Number(number))
            | (&Expr::Number(number), &Expr::Word(word))
                if WORDS.contains(&word) =>
            {
                found.push((word, number));
            }
            (left, right) => {
                compared(left, found);
                compared(right, found);
            }
        },
    }
}

/// Whether a thread has a number in a word of [`WORDS`].
fn has(tables: &Tables, word: Word, number: i64) -> bool {
    match word {
        Word::Thread => (1..=tables.threads.len() as i64).contains(&number),
        Word::Lwp => tables.threads.iter().any(|it| i64::from(it.tid) == number),
        Word::Process => tables
            .processes
            .iter()
            .any(|it| i64::from(it.pid) == number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use experiment::ids::{NameId, Nanos, ProcessId};
    use experiment::tables::{Process, Thread, ThreadKind};

    use super::*;

    #[test]
    fn numbers_of_another_word_are_told() {
        let mut tables = Tables::default();
        tables.processes.push(Process {
            pid: 400,
            parent: None,
            name: String::new(),
            executable: String::new(),
        });
        tables.threads = [400, 401].map(thread).into();
        let hints = |text: &str| Filter::parse(text).unwrap().hints(&tables);
        assert_eq!(
            hints("THRID==401"),
            ["no THRID is 401: was LWPID==401 meant?"]
        );
        assert_eq!(
            hints("2==LWPID && CPUID==1"),
            ["no LWPID is 2: was THRID==2 meant?"]
        );
        assert_eq!(
            hints("!(PID IN (400, 1))"),
            ["no PID is 1: was THRID==1 meant?"]
        );
        let unknown = "no THRID is 9: thread_list shows those that there are";
        assert_eq!(hints("THRID IN (9, 3-5)"), [unknown]);
        assert_eq!(hints("THRID==1 && LWPID==401 && TSTAMP<5"), [""; 0]);
    }

    fn thread(tid: i32) -> Thread {
        Thread {
            process: ProcessId(0),
            tid,
            name: NameId::NONE,
            birth: Nanos(0),
            death: None,
            kind: ThreadKind::Worker,
        }
    }
}
