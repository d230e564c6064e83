//! The terminal, and the loop that brings events to the state and draws it.

mod defaults;
mod events;
mod files;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, Event as Input, KeyCode, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::args::Colours;
use crate::draw::draw;
use crate::draw::theme::Theme;
use crate::experiments::Experiments;
use crate::live::{Progress, Recorder};
use crate::output::Output;
use crate::settings::Settings;
use crate::state::app::{App, Effect};

use events::Event;

/// How long an experiment may take to be opened before the screen says that it is read.
const SOON: Duration = Duration::from_millis(40);

/// How long a view may take to be made before the screen says that it is being made.
const AT_ONCE: Duration = Duration::from_millis(12);

/// How often it is asked whether a program that is recorded has named its experiment.
const NAMED: Duration = Duration::from_millis(50);

/// What is shown.
#[derive(Clone, Debug)]
pub enum Source {
    /// Experiments, added up.
    Experiments(Vec<PathBuf>),
    /// An experiment that is being recorded.
    Growing(PathBuf),
    /// A program, which these words for `collect` record.
    Program(Vec<OsString>),
}

/// Why the program ended without being asked to.
#[derive(Debug)]
pub enum Failure {
    /// The experiment cannot be read.
    Open(String),
    /// The terminal cannot be used.
    Terminal(io::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Open(why) => f.write_str(why),
            Failure::Terminal(why) => write!(
                f,
                "cannot use this terminal ({why}): run it in one, or print reports with er_print"
            ),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Terminal(error)
    }
}

/// The terminal in raw mode on its other screen, given back when this is dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<Output<Stdout>>>,
    ending: Rc<Cell<bool>>,
}

impl Screen {
    fn new(colours: Colours) -> io::Result<Screen> {
        restore_on_panic();
        enable_raw_mode()?;
        let ending = Rc::default();
        // From here on an error must give the terminal back.
        let entered =
            execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture).and_then(|()| {
                let output = Output::new(io::stdout(), colours, Rc::clone(&ending));
                Terminal::new(CrosstermBackend::new(output))
            });
        match entered {
            Ok(terminal) => Ok(Screen { terminal, ending }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.ending.set(true);
        restore();
    }
}

fn restore() {
    // Nothing can be done about a terminal that is gone.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen);
    let _ = execute!(io::stdout(), ratatui::crossterm::cursor::Show);
}

/// A panic's message must be readable, also where panics abort the program.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

/// Shows an experiment until the user has seen enough.
///
/// # Errors
/// If it cannot be opened, or the terminal cannot be used.
pub fn show(source: Source, colours: Colours) -> Result<(), Failure> {
    // Before a program is started that nobody could watch.
    usable(
        std::env::var("TERM").ok().as_deref(),
        io::stdout().is_terminal(),
    )?;
    let (sender, receiver) = mpsc::channel();
    let mut recorder = None;
    let paths = match source {
        Source::Experiments(paths) => {
            events::open(&paths, sender.clone());
            paths
        }
        Source::Growing(path) => {
            events::follow(&path, sender.clone());
            vec![path]
        }
        Source::Program(words) => {
            let mut started = Recorder::start(&words).map_err(Failure::Open)?;
            let path = named(&mut started)?;
            events::follow(&path, sender.clone());
            recorder = Some(started);
            vec![path]
        }
    };
    let shown = Show {
        theme: Theme { colours },
        sender,
        receiver,
        recorder,
        held: VecDeque::new(),
    }
    .run(&paths);
    // What the program printed would have disturbed the screen.
    shown.map(|recorder| {
        if let Some(mut recorder) = recorder {
            // The terminal may be gone.
            let _ = write!(io::stdout(), "{}", recorder.printed());
        }
    })
}

/// Whether screens can be drawn at all.
fn usable(term: Option<&str>, is_terminal: bool) -> io::Result<()> {
    match term {
        _ if !is_terminal => Err(io::Error::other("the output goes elsewhere")),
        Some("dumb") => Err(io::Error::other(
            "TERM=dumb has no cursor that can be moved",
        )),
        _ => Ok(()),
    }
}

/// Waits until `collect` has named the experiment that it makes.
fn named(recorder: &mut Recorder) -> Result<PathBuf, Failure> {
    loop {
        if let Some(path) = recorder.directory() {
            return Ok(path);
        }
        if !recorder.runs() {
            let printed = recorder.printed();
            return Err(Failure::Open(format!(
                "collect has made no experiment; it said:\n{}",
                printed.trim_end()
            )));
        }
        std::thread::sleep(NAMED);
    }
}

/// The first that is read of an experiment, and how it stands if it grows.
type First = (Arc<Experiments>, Option<Progress>);

/// What the loop needs.
struct Show {
    theme: Theme,
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    recorder: Option<Recorder>,
    /// What has happened while a view was waited for.
    held: VecDeque<Event>,
}

impl Show {
    fn run(mut self, paths: &[PathBuf]) -> Result<Option<Recorder>, Failure> {
        // What cannot be opened is told before the screen changes; small ones need no waiting.
        let first = match self.receiver.recv_timeout(SOON) {
            Ok(Event::Opened(opened)) => Some((opened.map_err(Failure::Open)?, None)),
            Ok(Event::Grown(experiments, progress)) => Some((experiments, Some(progress))),
            _ => None,
        };
        let mut screen = Screen::new(self.theme.colours)?;
        events::watch_signals(self.sender.clone())?;
        events::watch_input(self.sender.clone());
        let first = match first {
            Some(first) => Some(first),
            None => self.wait(paths, &mut screen)?,
        };
        let Some((experiments, progress)) = first else {
            self.stop();
            return Ok(self.recorder);
        };
        let settings = Settings {
            report: defaults::read(),
            ..Settings::default()
        };
        let mut app = App::opening(experiments, settings, screen.size()?);
        if let Some(progress) = progress {
            app.set_progress(progress, self.recorder.is_some());
        }
        self.make(&mut app);
        loop {
            screen.terminal.draw(|frame| {
                // The terminal may have another size already, of which the event is still to come.
                let area = frame.area();
                if app.size() != (area.width, area.height) {
                    app.resize(area.width, area.height);
                }
                draw(&app, &self.theme, frame);
            })?;
            // All that has come by now is answered by one screen: a held key or a turning wheel
            // does not queue up.
            let mut next = self.next();
            while let Some(event) = next {
                if self.take(&mut app, event) {
                    return Ok(self.recorder);
                }
                self.make(&mut app);
                next = self
                    .held
                    .pop_front()
                    .or_else(|| self.receiver.try_recv().ok());
            }
        }
    }

    /// What happens next.
    fn next(&mut self) -> Option<Event> {
        self.held.pop_front().or_else(|| self.receiver.recv().ok())
    }

    /// Begins to make what is wanted and not there. What is made soon is waited for: keys that
    /// follow mean the screen that it makes, and one that says that it is being made would flicker.
    fn make(&mut self, app: &mut App) {
        let until = Instant::now() + AT_ONCE;
        let mut begun = false;
        loop {
            if let Some(job) = app.job() {
                events::run_job(job, self.sender.clone());
                begun = true;
            }
            if let Some(samples) = app.unpacking() {
                events::unpack(samples, self.sender.clone());
                begun = true;
            }
            if !begun || (app.making().is_none() && !app.lacks_samples()) {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(Event::JobResult(made)) => app.take_result(made),
                Ok(Event::Unpacked(unpacked)) => app.take_samples(unpacked),
                Ok(other) => self.held.push_back(other),
                Err(_) => return,
            }
        }
    }

    /// Waits for the experiment; `None` if the user does not want to.
    fn wait(&self, paths: &[PathBuf], screen: &mut Screen) -> Result<Option<First>, Failure> {
        loop {
            let text = events::announce(paths, self.recorder.is_some());
            screen.terminal.draw(|frame| {
                frame.render_widget(ratatui::text::Text::raw(text.as_str()), frame.area())
            })?;
            match self.receiver.recv_timeout(10 * SOON) {
                Ok(Event::Opened(opened)) => {
                    let experiments = opened.map_err(Failure::Open)?;
                    return Ok(Some((experiments, None)));
                }
                Ok(Event::Grown(experiments, progress)) => {
                    return Ok(Some((experiments, Some(progress))));
                }
                Ok(Event::End) => return Ok(None),
                Ok(Event::Input(Input::Key(key))) => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    if key.code == KeyCode::Char('q') || (control && key.code == KeyCode::Char('c'))
                    {
                        return Ok(None);
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Open("the experiment could not be read".to_owned()));
                }
            }
        }
    }

    /// Brings to the app what has happened; whether the program is to end.
    fn take(&mut self, app: &mut App, event: Event) -> bool {
        let effect = match event {
            Event::Input(Input::Key(key)) if key.kind != KeyEventKind::Release => app.key(key),
            Event::Input(Input::Mouse(mouse)) => app.mouse(mouse),
            Event::Input(Input::Resize(width, height)) => {
                app.resize(width, height);
                Effect::None
            }
            Event::Input(_) | Event::Opened(_) | Event::Ready => Effect::None,
            Event::JobResult(made) => {
                app.take_result(made);
                Effect::None
            }
            Event::Unpacked(unpacked) => {
                app.take_samples(unpacked);
                Effect::None
            }
            Event::End => return true,
            Event::Grown(experiments, progress) => {
                app.want_experiments(experiments, progress);
                Effect::None
            }
        };
        match effect {
            Effect::None => {}
            Effect::Quit => return true,
            Effect::Stop => {
                self.stop();
                return true;
            }
            Effect::Copy(text) => app.copied(files::copy(&text).map_err(|why| why.to_string())),
            Effect::Write {
                stem,
                ending,
                contents,
            } => app.wrote(files::write_file(&stem, ending, &contents)),
        }
        false
    }

    fn stop(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stop();
        }
    }
}

#[cfg(test)]
mod tests;
