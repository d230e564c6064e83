//! The terminal and the files: all that the program does to the world.

use std::fs::OpenOptions;
use std::io::{self, Stdout, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use omp_model::header::Header;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::app::{App, Effect};
use crate::args::Colours;
use crate::draw::draw;
use crate::draw::theme::Theme;
use crate::recording::Recording;

/// How often the terminal is asked for keys while an experiment is being read.
const WHILE_READING: Duration = Duration::from_millis(40);

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
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn new() -> io::Result<Screen> {
        restore_on_panic();
        enable_raw_mode()?;
        // From here on an error must give the terminal back.
        let entered = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match entered {
            Ok(terminal) => Ok(Screen(terminal)),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.0.size()?;
        Ok((size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
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
pub fn show(experiments: &[PathBuf], colours: Colours) -> Result<(), Failure> {
    let theme = Theme { colours };
    let opening = open(experiments);
    // What cannot be opened is told before the screen changes; small ones need no waiting.
    let soon = match opening.recv_timeout(WHILE_READING) {
        Ok(opened) => Some(opened.map_err(Failure::Open)?),
        Err(_) => None,
    };
    let mut screen = Screen::new()?;
    let recording = match soon {
        Some(recording) => Some(recording),
        None => wait(&opening, experiments, &mut screen)?,
    };
    let Some(recording) = recording else {
        return Ok(());
    };
    let mut app = App::new(recording, screen.size()?);
    loop {
        while let Some((file, path)) = app.missing_source() {
            app.take_source(file, read_source(&path));
        }
        screen.0.draw(|frame| draw(&app, &theme, frame))?;
        // All that has come by now is answered by one screen: a held key or a turning wheel does
        // not queue up.
        let mut next = Some(event::read()?);
        while let Some(event) = next {
            match on_event(&mut app, event) {
                Effect::None => {}
                Effect::Quit => return Ok(()),
                Effect::Write {
                    stem,
                    ending,
                    contents,
                } => {
                    app.wrote(write_file(&stem, ending, &contents));
                }
            }
            next = match event::poll(Duration::ZERO)? {
                true => Some(event::read()?),
                false => None,
            };
        }
    }
}

fn on_event(app: &mut App, event: Event) -> Effect {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
        Event::Mouse(mouse) => app.mouse(mouse),
        Event::Resize(width, height) => {
            app.resize(width, height);
            Effect::None
        }
        _ => Effect::None,
    }
}

/// Opens an experiment beside the thread that draws, and goes on with what later keys may ask for.
fn open(experiments: &[PathBuf]) -> Receiver<Result<Arc<Recording>, String>> {
    let (sender, receiver) = mpsc::channel();
    let paths = experiments.to_owned();
    thread::spawn(move || match Recording::open(&paths) {
        Ok(recording) => {
            recording.available();
            let recording = Arc::new(recording);
            // The receiver is gone if the user did not wait.
            if sender.send(Ok(Arc::clone(&recording))).is_ok() {
                recording.work_ahead();
            }
        }
        Err(why) => {
            let _ = sender.send(Err(why));
        }
    });
    receiver
}

/// What is being read, by the small files beside the large ones.
fn announce(experiments: &[PathBuf]) -> String {
    let mut text = String::new();
    for path in experiments {
        text.push_str(&format!("Reading {} … (q quits)\n", path.display()));
        let header = std::fs::read(path.join(omp_model::experiment::HEADER)).ok();
        let header = header.and_then(|bytes| serde_json::from_slice::<Header>(&bytes).ok());
        if let Some(header) = header {
            let seconds = header.duration_ns as f64 / 1e9;
            text.push_str(&format!(
                "\n  Command    {}\n  Host       {} ({} CPUs)\n  Recording  {seconds:.3} s, {} \
                 samples\n\n",
                header.command.join(" "),
                header.host,
                header.cpus,
                header.sampling.samples
            ));
        }
    }
    text
}

/// Waits for the experiment; `None` if the user does not want to.
fn wait(
    opening: &Receiver<Result<Arc<Recording>, String>>,
    experiments: &[PathBuf],
    screen: &mut Screen,
) -> Result<Option<Arc<Recording>>, Failure> {
    let text = announce(experiments);
    loop {
        match opening.recv_timeout(WHILE_READING) {
            Ok(opened) => return opened.map(Some).map_err(Failure::Open),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Failure::Open("the experiment could not be read".to_owned()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        screen.0.draw(|frame| {
            frame.render_widget(ratatui::text::Text::raw(text.as_str()), frame.area())
        })?;
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()? {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                if key.code == KeyCode::Char('q') || (control && key.code == KeyCode::Char('c')) {
                    return Ok(None);
                }
            }
        }
    }
}

/// A source file, as it is on this machine now.
fn read_source(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a file of a name that is free, here; its name.
fn write_file(stem: &str, ending: &str, contents: &str) -> Result<String, String> {
    for number in 1.. {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        };
        let opened = OpenOptions::new().write(true).create_new(true).open(&name);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(format!(
                    "cannot write {name}: {error}; run analyzer in another folder"
                ));
            }
            Ok(mut file) => {
                let written = file.write_all(contents.as_bytes());
                return match written {
                    Ok(()) => Ok(name),
                    Err(error) => Err(format!("cannot write {name}: {error}")),
                };
            }
        }
    }
    Err(format!("every name like {stem}.{ending} is taken"))
}
