//! Time by what it is to the other threads, and what it is charged with for that.

use super::blame::Role;

/// Nanoseconds of each role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    works: u64,
    waits: u64,
    contends: u64,
}

impl Roles {
    pub(super) fn add(&mut self, role: Option<Role>, nanos: u64) {
        match role {
            Some(Role::Works) => self.works += nanos,
            Some(Role::Waits) => self.waits += nanos,
            Some(Role::Contends) => self.contends += nanos,
            None => {}
        }
    }

    /// The same parts of a time.
    pub(super) fn of(self, nanos: u64, count: u64) -> Roles {
        let part =
            |samples: u64| (u128::from(nanos) * u128::from(samples) / u128::from(count)) as u64;
        Roles {
            works: part(self.works),
            waits: part(self.waits),
            contends: part(self.contends),
        }
    }

    pub(super) fn each(self) -> [(Option<Role>, u64); 3] {
        [
            (Some(Role::Works), self.works),
            (Some(Role::Waits), self.waits),
            (Some(Role::Contends), self.contends),
        ]
    }
}

/// What a second of a group's time is charged with, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    /// Of what is work.
    pub(super) work: f64,
    /// Of all of it: by those that waited for this thread.
    pub(super) owed: f64,
}

impl Charge {
    /// Of which nothing but what it is owed is known.
    pub(super) const fn owed(owed: f64) -> Charge {
        Charge { work: 0.0, owed }
    }

    pub(super) fn of(self, role: Option<Role>) -> f64 {
        match role {
            Some(Role::Works) => self.work + self.owed,
            _ => self.owed,
        }
    }
}
