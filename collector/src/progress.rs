//! Names the load object whose symbols are being read, where the end of a recording takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use experiment::tables::Module;
use symbolize::{KernelFunction, SymbolSource, Symbols};

/// Nothing is said before.
const PATIENCE: Duration = Duration::from_secs(1);

/// A source of symbols that names the load object which it reads, at most once a second.
pub struct Watched<S> {
    source: S,
    /// `None` when it is over.
    names: Option<Sender<String>>,
    watcher: Option<JoinHandle<()>>,
}

impl<S> Watched<S> {
    /// Of another source; `say` takes the load object's path.
    pub fn new(source: S, say: impl Fn(&str) + Send + 'static) -> Watched<S> {
        let (names, arriving) = channel::<String>();
        let watch = move || {
            let (mut at, mut said) = (String::new(), String::new());
            loop {
                match arriving.recv_timeout(PATIENCE) {
                    Ok(name) => {
                        at = name;
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if at != said {
                    say(&at);
                    said.clone_from(&at);
                }
            }
        };
        // Where there can be no thread, nothing is said.
        let watcher = thread::Builder::new().spawn(watch).ok();
        Watched {
            source,
            names: Some(names),
            watcher,
        }
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        self.names = None;
        if let Some(watcher) = self.watcher.take() {
            // It has ended, since the names have; whether it panicked changes nothing.
            let _ = watcher.join();
        }
    }
}

impl<S: SymbolSource> SymbolSource for Watched<S> {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        if let Some(names) = &self.names {
            let _ = names.send(module.path.clone());
        }
        self.source.symbols(module)
    }

    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        if let Some(names) = &self.names {
            let _ = names.send("the kernel".to_owned());
        }
        self.source.kernel(addresses)
    }

    fn source(&mut self, path: &str) -> Option<String> {
        self.source.source(path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use experiment::tables::RuntimeKind;

    use super::*;

    /// Takes its time for one load object.
    struct Slow;

    impl SymbolSource for Slow {
        fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
            if module.path == "/large" {
                thread::sleep(PATIENCE + PATIENCE / 2);
            }
            Err("none".to_owned())
        }

        fn kernel(&mut self, _: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
            Err("none".to_owned())
        }
    }

    #[test]
    fn only_what_takes_long_is_named() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let saying = Arc::clone(&said);
        let say = move |name: &str| saying.lock().unwrap().push(name.to_owned());
        let mut watched = Watched::new(Slow, say);
        for path in ["/small", "/large", "/smaller"] {
            let module = Module {
                path: path.to_owned(),
                build_id: String::new(),
                runtime: RuntimeKind::None,
            };
            assert!(watched.symbols(&module).is_err());
        }
        drop(watched);
        assert_eq!(*said.lock().unwrap(), ["/large"]);
    }
}
