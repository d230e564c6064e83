//! What a thread tells of mutexes, whoever has made them.

use race_stream::record::Event;

use crate::thread::{Site, Thread};
use crate::tls;

macro_rules! tells {
    ($($(#[$doc:meta])* $name:ident $event:ident, held $more:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(kind: u8, lock: u64, site: impl Into<Site>) {
            let site = site.into();
            tls::with(|thread| thread.$name(kind, lock, site));
        }
    )*

    impl Thread {$(
        $(#[$doc])*
        pub(crate) fn $name(&mut self, kind: u8, lock: u64, site: Site) {
            // The mutex is held while this is told.
            self.held += u32::from($more > 0);
            let context = self.context_of(site);
            self.event(&Event::$event {
                kind,
                lock,
                code: site.code,
                context,
            });
            self.held = self.held.saturating_sub(u32::from($more < 0));
        }
    )*}};
}

tells! {
    /// The thread asks for a mutex by this call.
    wants Want, held 0;
    /// It has it.
    acquired Acquired, held 1;
    /// It gives it back; told before others can have it.
    released Released, held -1;
    /// It makes a lock.
    initialized LockInit, held 0;
    /// It destroys one.
    destroyed LockDestroy, held 0;
}
