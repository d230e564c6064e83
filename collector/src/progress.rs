//! Names the load object whose symbols are being read, if the end of a recording takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use experiment::tables::Module;
use symbolize::{KernelFunction, SymbolSource, Symbols};

/// The time after which a load object is named.
const DELAY: Duration = Duration::from_secs(1);

/// A source of symbols that reports the load object which it reads, at most once a second.
pub struct WithProgress<S> {
    source: S,
    /// Sends the paths of load objects to the thread. `None` once dropped.
    names: Option<Sender<String>>,
    watcher: Option<JoinHandle<()>>,
}

impl<S> WithProgress<S> {
    /// Wraps a source; `say` is called with the load object's path.
    pub fn new(source: S, say: impl Fn(&str) + Send + 'static) -> WithProgress<S> {
        let (names, arriving) = channel::<String>();
        let watch = move || {
            let (mut current, mut reported) = (String::new(), String::new());
            loop {
                match arriving.recv_timeout(DELAY) {
                    Ok(name) => {
                        current = name;
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if current != reported {
                    say(&current);
                    reported.clone_from(&current);
                }
            }
        };
        // Without a thread nothing is reported.
        let watcher = thread::Builder::new().spawn(watch).ok();
        WithProgress {
            source,
            names: Some(names),
            watcher,
        }
    }
}

impl<S> Drop for WithProgress<S> {
    fn drop(&mut self) {
        self.names = None;
        if let Some(watcher) = self.watcher.take() {
            // The thread ends because the channel is closed. A panic of it changes nothing.
            let _ = watcher.join();
        }
    }
}

impl<S: SymbolSource> SymbolSource for WithProgress<S> {
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

    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        self.source.source(path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use experiment::tables::RuntimeKind;

    use super::*;

    /// Is slow for one load object.
    struct Slow;

    impl SymbolSource for Slow {
        fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
            if module.path == "/large" {
                thread::sleep(DELAY + DELAY / 2);
            }
            Err("none".to_owned())
        }

        fn kernel(&mut self, _: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
            Err("none".to_owned())
        }
    }

    #[test]
    fn only_a_load_object_that_takes_long_is_named() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let say = move |name: &str| sink.lock().unwrap().push(name.to_owned());
        let mut watched = WithProgress::new(Slow, say);
        for path in ["/small", "/large", "/smaller"] {
            let module = Module {
                path: path.to_owned(),
                build_id: String::new(),
                runtime: RuntimeKind::None,
            };
            assert!(watched.symbols(&module).is_err());
        }
        drop(watched);
        assert_eq!(*reported.lock().unwrap(), ["/large"]);
    }
}
