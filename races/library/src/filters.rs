//! Filters of system calls (seccomp) that the program sets for itself: from then on a thread that waits makes
//! no system calls, since a filter may end the process at any call that the program does not make itself.
#![allow(unsafe_code)]

struct Watch;

impl preload::filters::Watch for Watch {
    fn filter() {
        race_stream::producer::wait_without_system_calls();
    }

    /// No signals of ours come.
    fn tracer() {}
}

preload::interpose!(Watch);
