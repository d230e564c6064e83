//! The clocks as the processor and the kernel have them.
#![allow(unsafe_code)]

/// The time stamp counter; 0 on machines without one.
#[inline(always)]
pub(crate) fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; `ClockSource::best` chose it on a processor that has one.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub(crate) fn monotonic_raw() -> u64 {
    clock(libc::CLOCK_MONOTONIC_RAW)
}

#[inline]
fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the local timespec; these clocks exist on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The four registers of a CPUID leaf: eax, ebx, ecx, edx.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cpuid(leaf: u32) -> [u32; 4] {
    // Newer compilers know that the instruction is always there; the crate supports older ones.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction.
    let r = unsafe { core::arch::x86_64::__cpuid(leaf) };
    [r.eax, r.ebx, r.ecx, r.edx]
}
