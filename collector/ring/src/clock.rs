//! The clocks used for the times of records.

/// The arena's clock. A record's time is the raw value of this clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClockSource {
    /// The time stamp counter, in ticks. Only on x86-64, and only where it is invariant and the
    /// same on all CPUs. The consumer relates it to a kernel clock by paired reads.
    Tsc = 1,
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    MonotonicRaw = 2,
}

impl ClockSource {
    /// The cheapest clock that all CPUs of this machine agree on.
    ///
    /// The counter is used only if the processor calls it invariant and the kernel itself keeps
    /// time by it, directly or through a hypervisor's page. A kernel that has found a difference
    /// between the counters of two sockets has switched to another source.
    pub fn best() -> ClockSource {
        if tsc_is_invariant() && kernel_trusts_tsc() {
            ClockSource::Tsc
        } else {
            ClockSource::MonotonicRaw
        }
    }

    /// The raw value now.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self {
            ClockSource::Tsc => crate::time::tsc(),
            ClockSource::MonotonicRaw => crate::time::monotonic_raw(),
        }
    }

    /// Units in a millisecond, to a per cent or so. Takes that long.
    pub(crate) fn units_per_ms(self) -> u64 {
        const MS: u64 = 1_000_000;
        if self == ClockSource::MonotonicRaw {
            return MS;
        }
        let read = || (self.now(), ClockSource::MonotonicRaw.now());
        let begin = read();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let end = read();
        let (units, ns) = (end.0.wrapping_sub(begin.0), end.1.wrapping_sub(begin.1));
        (u128::from(units) * u128::from(MS) / u128::from(ns.max(1))) as u64
    }

    pub(crate) fn from_word(word: u32) -> Option<ClockSource> {
        match word {
            1 if cfg!(target_arch = "x86_64") => Some(ClockSource::Tsc),
            2 => Some(ClockSource::MonotonicRaw),
            _ => None,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    // AMD64 manual volume 3, appendix E.4.6: leaf 8000_0007h, EDX bit 8; the same on Intel.
    crate::time::cpuid(0x8000_0000)[0] >= 0x8000_0007
        && crate::time::cpuid(0x8000_0007)[3] & 1 << 8 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

fn kernel_trusts_tsc() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(source).is_ok_and(|name| {
        matches!(
            name.trim(),
            "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_clock_moves_forward() {
        let clock = ClockSource::best();
        let first = clock.now();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(clock.now() > first);
    }

    #[test]
    fn a_clock_survives_the_header() {
        assert_eq!(
            ClockSource::from_word(ClockSource::MonotonicRaw as u32),
            Some(ClockSource::MonotonicRaw)
        );
        assert_eq!(ClockSource::from_word(0), None);
    }
}
