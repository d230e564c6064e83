//! The runtime of a call, and what this library does with the runtimes that it finds.

use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

use inside::provider::Client;
pub(super) use inside::provider::Provider;
pub(crate) use inside::provider::stand_back;

use super::{prepare, with};
use crate::process::{self, Runtime};

struct Recorder;

impl Client for Recorder {
    fn records(address: u64) -> bool {
        let records = !process::has_tool(address) && process::arena().is_some();
        if records {
            prepare();
        }
        records
    }

    fn found(_: &Provider, address: u64, records: bool) {
        if records {
            process::register(Runtime::new(
                RuntimeKind::Gomp,
                address,
                0,
                [0; VERSION_BYTES],
            ));
        }
    }

    fn current() -> Option<&'static Provider> {
        with(|thread| thread.gomp.provider)
    }
}

/// The runtime of function number `function` for the calling code at `hint`.
#[inline(always)]
pub(super) fn of(function: usize, hint: u64) -> &'static Provider {
    inside::provider::of::<Recorder>(function, hint)
}

/// The address of function number `function` for the calling code at `hint`: see
/// [`inside::provider::bound`].
pub(super) fn bound(function: usize, hint: u64) -> usize {
    inside::provider::bound::<Recorder>(function, hint)
}
