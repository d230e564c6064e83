//! The interactive prompt, with history and completion.

use std::path::PathBuf;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Behavior, CompletionType, Config, Context, Editor, Helper};
use untrusted::printable;

use crate::commands::script::run_line;
use crate::complete::Known;
use crate::output::say;
use crate::session::Session;
use crate::stop::Stop;

const PROMPT: &str = "(er_print) ";

/// The number of lines in the history.
const KEPT: usize = 1000;

/// Completes what is typed.
struct Completions {
    known: Known,
    files: FilenameCompleter,
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some((from, words)) = self.known.candidates(&line[..at]) else {
            // Anybody may have made a file in the folder. The prompt shows names as they are.
            let is_text = |found: &Pair| printable(&found.replacement) == found.replacement;
            let (from, mut files) = self.files.complete(line, at, context)?;
            files.retain(is_text);
            return Ok((from, files));
        };
        let pair = |word: String| Pair {
            display: word.clone(),
            replacement: word,
        };
        Ok((from, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Completions {
    type Hint = String;
}
impl Highlighter for Completions {}
impl Validator for Completions {}
impl Helper for Completions {}

/// Reads and runs commands until the end of input. Prints mistakes and continues.
pub(crate) fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    let unusable = |error: ReadlineError| Stop::Data(format!("cannot read commands: {error}"));
    // The prompt goes to the terminal, so that standard output can be a file.
    let config = Config::builder()
        .behavior(Behavior::PreferTerm)
        .completion_type(CompletionType::List)
        .max_history_size(KEPT)
        .and_then(|config| config.history_ignore_dups(true))
        .map_err(unusable)?
        .history_ignore_space(true)
        .build();
    let mut editor: Editor<Completions, FileHistory> =
        Editor::with_config(config).map_err(unusable)?;
    let history = history();
    if let Some(history) = &history {
        // The first time there is none.
        let _ = editor.load_history(history);
    }
    let ended = read(session, &mut editor);
    if let Some(history) = &history {
        let folder = history.parent();
        let made = folder.is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
        if made && let Err(error) = editor.append_history(history) {
            say(format!("warning: cannot keep the history: {error}"));
        }
    }
    ended
}

fn read(
    session: &mut Session<'_>,
    editor: &mut Editor<Completions, FileHistory>,
) -> Result<(), Stop> {
    loop {
        session.flush()?;
        editor.set_helper(Some(Completions {
            known: Known::of(session),
            files: FilenameCompleter::new(),
        }));
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            // Ctrl-C gives up the line.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(Stop::Data(format!("cannot read commands: {error}"))),
        };
        if !line.trim().is_empty() {
            let _ = editor.add_history_entry(&line);
        }
        match run_line(session, &line) {
            Ok(()) => {}
            Err(stop @ (Stop::Usage(_) | Stop::Data(_))) => {
                session.flush()?;
                say(stop);
            }
            Err(stop) => return Err(stop),
        }
    }
}

/// The path of the history, in the state folder of the XDG base directory specification.
fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    // By the specification a relative path counts as none.
    let state = state.filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    Some(state.or_else(home)?.join("parallax/er_print_history"))
}
