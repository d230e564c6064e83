//! The terminal, and the event loop.

mod defaults;
mod events;
mod files;

use std::cell::Cell;
use std::collections::VecDeque;
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

use report::settings::Compare;
use report::text::colours::Colours;

use crate::args::Source;
use crate::draw::draw;
use crate::draw::theme::Theme;
use crate::experiments::Experiments;
use crate::live::{Progress, Recorder};
use crate::output::Output;
use crate::settings::Settings;
use crate::state::app::{App, Effect};

use events::Event;

/// The time to open an experiment before the screen says that it is being read.
const OPENING: Duration = Duration::from_millis(40);

/// The time to compute a view before the screen says that it is being made.
const COMPUTING: Duration = Duration::from_millis(12);

/// The interval at which `collect`'s output is searched for the experiment's name.
const NAME_POLL: Duration = Duration::from_millis(50);

/// Why the program failed.
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

/// The terminal in raw mode on its alternate screen; restored on drop.
struct Screen {
    terminal: Terminal<CrosstermBackend<Output<Stdout>>>,
    ending: Rc<Cell<bool>>,
}

impl Screen {
    fn new(colours: Colours) -> io::Result<Screen> {
        restore_on_panic();
        enable_raw_mode()?;
        let ending = Rc::default();
        // From here on, an error must restore the terminal.
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
    // The terminal may be gone.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen);
    let _ = execute!(io::stdout(), ratatui::crossterm::cursor::Show);
}

/// Restores the terminal before a panic's message is printed, also if panics abort.
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

/// Shows experiments until the user quits.
///
/// # Errors
/// If it cannot be opened, or the terminal cannot be used.
pub fn show(source: Source, colours: Colours) -> Result<(), Failure> {
    // Checked before a program is started.
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
            let path = wait_for_name(&mut started)?;
            events::follow(&path, sender.clone());
            recorder = Some(started);
            vec![path]
        }
    };
    let ended = EventLoop {
        theme: Theme { colours },
        sender,
        receiver,
        recorder,
        deferred: VecDeque::new(),
    }
    .run(&paths);
    if let Some(mut recorder) = ended? {
        // The terminal may be gone.
        let _ = write!(io::stdout(), "{}", recorder.printed());
    }
    Ok(())
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

/// Waits until `collect` has printed the experiment's name.
fn wait_for_name(recorder: &mut Recorder) -> Result<PathBuf, Failure> {
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
        std::thread::sleep(NAME_POLL);
    }
}

/// The experiments as first read, with their progress if they are growing.
struct Opened {
    experiments: Arc<Experiments>,
    progress: Option<Progress>,
}

impl Opened {
    /// The experiments of an event; `None` for other events.
    fn of(event: Event) -> Result<Option<Opened>, Failure> {
        match event {
            Event::Opened(opened) => Ok(Some(Opened {
                experiments: opened.map_err(Failure::Open)?,
                progress: None,
            })),
            Event::Grown(experiments, progress) => Ok(Some(Opened {
                experiments,
                progress: Some(progress),
            })),
            _ => Ok(None),
        }
    }
}

/// The event loop.
struct EventLoop {
    theme: Theme,
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    recorder: Option<Recorder>,
    /// Events that came while a view was waited for.
    deferred: VecDeque<Event>,
}

impl EventLoop {
    /// Runs until the user quits. Returns the recorder, whose output is still to be printed.
    fn run(mut self, paths: &[PathBuf]) -> Result<Option<Recorder>, Failure> {
        // Reports an experiment that cannot be opened before the screen changes, and opens a
        // small one without an announcement.
        let first = match self.receiver.recv_timeout(OPENING) {
            Ok(event) => Opened::of(event)?,
            Err(_) => None,
        };
        let mut screen = Screen::new(self.theme.colours)?;
        events::watch_signals(self.sender.clone())?;
        events::watch_input(self.sender.clone());
        let first = match first {
            Some(first) => Some(first),
            None => self.wait(paths, &mut screen)?,
        };
        let Some(Opened {
            experiments,
            progress,
        }) = first
        else {
            self.stop();
            return Ok(self.recorder);
        };
        let mut settings = Settings {
            report: defaults::read(&experiments),
            ..Settings::default()
        };
        if experiments.are_of_several_runs() {
            settings.report.compare = Compare::Delta;
        }
        let mut app = App::opening(experiments, settings, screen.size()?);
        if let Some(progress) = progress {
            app.set_progress(progress, self.recorder.is_some());
        }
        self.start_jobs(&mut app);
        loop {
            screen.terminal.draw(|frame| {
                // The terminal's size may have changed before its event arrives.
                let area = frame.area();
                if app.size() != (area.width, area.height) {
                    app.resize(area.width, area.height);
                }
                draw(&app, &self.theme, frame);
            })?;
            // All events that have come by now are drawn once, so that a held key or a turning
            // wheel does not queue up.
            let mut next = self.next();
            while let Some(event) = next {
                if self.take(&mut app, event) {
                    return Ok(self.recorder);
                }
                self.start_jobs(&mut app);
                next = self
                    .deferred
                    .pop_front()
                    .or_else(|| self.receiver.try_recv().ok());
            }
        }
    }

    /// Waits for the next event.
    fn next(&mut self) -> Option<Event> {
        let first = self.deferred.pop_front();
        first.or_else(|| self.receiver.recv().ok())
    }

    /// Starts the jobs that the app needs, and waits a moment for their results. Without the wait,
    /// a message would flicker, and the next key would apply to the old screen.
    fn start_jobs(&mut self, app: &mut App) {
        let until = Instant::now() + COMPUTING;
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
                Ok(other) => self.deferred.push_back(other),
                Err(_) => return,
            }
        }
    }

    /// Waits until the experiment is open; `None` if the user quits before.
    fn wait(&self, paths: &[PathBuf], screen: &mut Screen) -> Result<Option<Opened>, Failure> {
        loop {
            let text = events::announce(paths, self.recorder.is_some());
            screen.terminal.draw(|frame| {
                frame.render_widget(ratatui::text::Text::raw(text.as_str()), frame.area())
            })?;
            match self.receiver.recv_timeout(10 * OPENING) {
                Ok(event @ (Event::Opened(_) | Event::Grown(..))) => return Opened::of(event),
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

    /// Passes an event to the app. Returns whether the program is to quit.
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
