//! The system calls of `collect` that std does not have, each behind a safe function.
#![allow(unsafe_code)] // system calls

use std::io;
use std::os::fd::RawFd;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was no child of ours, so its status is not known.
    Unknown,
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

impl Ended {
    /// The status as a shell reports it: that of the process, or 128 plus the signal's number.
    pub fn status(self) -> i32 {
        match self {
            Ended::Unknown => 0,
            Ended::Exited(status) => status,
            Ended::Killed(signal) => 128 + signal,
        }
    }
}

/// Reaps the child if it has ended.
///
/// The kernel then takes the process out of `/proc`, and tries again for as long as one that exits is still
/// in there. In real time that would keep an exiting thread from the CPU that it needs, for up to a second.
pub fn try_wait(pid: i32) -> io::Result<Option<Ended>> {
    if !has_ended(pid)? {
        return Ok(None);
    }
    lower_priority();
    let mut status = 0;
    // SAFETY: the kernel writes the status to the local variable, and nothing else.
    match check(unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) })? {
        0 => Ok(None),
        _ if libc::WIFSIGNALED(status) => Ok(Some(Ended::Killed(libc::WTERMSIG(status)))),
        _ => Ok(Some(Ended::Exited(libc::WEXITSTATUS(status)))),
    }
}

/// Whether the child has ended. It stays to be reaped. A child that asks its parent to trace it only stops, and
/// `waitid` tells of that, too.
fn has_ended(pid: i32) -> io::Result<bool> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: siginfo_t is plain data, valid when zeroed. The kernel writes it, and sets the process's number
    // there if the child has ended.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let result = libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, options);
        check(result)?;
        let ends = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
        Ok(info.si_pid() != 0 && ends.contains(&info.si_code))
    }
}

/// Whether a thread of a process lives. A process that only waits to be reaped has none.
pub fn is_running(pid: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.any(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The name before it may hold anything (proc(5)).
        let state = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    })
}

/// Sends a signal. An error means that the process has ended, and is ignored.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: the call takes two integers and touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// Waits until a descriptor is ready or hangs up, or until the timeout: false then. `revents` tells
/// the state of each.
pub fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<bool> {
    // SAFETY: the pointer and length describe `fds`, which is borrowed exclusively.
    let result = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) };
    match check(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        Err(_) => Ok(true),
        Ok(ready) => Ok(ready > 0),
    }
}

/// A descriptor to be polled for reading.
pub fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}

/// A descriptor to be polled for writing.
pub fn writable(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    }
}

/// The longest file that this process may write, in bytes (`ulimit -f`); `None` without a limit.
pub fn file_size_limit() -> Option<u64> {
    // SAFETY: rlimit is plain data, valid when zeroed; getrlimit fills it.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit);
        limit.rlim_cur
    };
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// Lets a perf event write to the ring of another one on the same CPU.
pub(crate) fn write_to_ring_of(event: RawFd, ring: RawFd) -> io::Result<()> {
    /// PERF_EVENT_IOC_SET_OUTPUT of `include/uapi/linux/perf_event.h`.
    const SET_OUTPUT: libc::c_ulong = 0x2405;
    // SAFETY: the call takes two descriptors and touches no memory.
    check(unsafe { libc::ioctl(event, SET_OUTPUT, ring) }).map(|_| ())
}

/// Whether this process may open so many more files.
pub(crate) fn may_open(files: usize) -> bool {
    let open = |_| std::fs::File::open("/dev/null");
    let opened: Result<Vec<_>, _> = (0..files).map(open).collect();
    opened.is_ok()
}

/// Raises the limit of open files as far as the user may.
pub(crate) fn raise_file_limit() {
    // SAFETY: rlimit is plain data, valid when zeroed; getrlimit fills it, and setrlimit reads it.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// The CPUs that a thread may run on, by number; 0 is the calling thread. `None` if the kernel does not tell.
pub fn allowed_cpus(tid: i32) -> Option<Vec<u32>> {
    // SAFETY: cpu_set_t is plain data, valid when zeroed, and of the size that is passed. Its numbers
    // are below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(tid, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return None;
        }
        let all = 0..libc::CPU_SETSIZE as usize;
        let allowed = all.filter(|cpu| libc::CPU_ISSET(*cpu, &set));
        Some(allowed.map(|cpu| cpu as u32).collect())
    }
}

/// The CPUs that this process may run on, by number.
pub fn own_cpus() -> Vec<u32> {
    allowed_cpus(0).unwrap_or_else(|| vec![0])
}

/// What this process shares with all others that read the same CLOCK_MONOTONIC_RAW: the boot of the machine
/// (random(4)) and the time namespace (time_namespaces(7)). Empty if the first is not known.
pub fn clock_identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time");
    let namespace = namespace.map_or(String::new(), |it| it.to_string_lossy().into_owned());
    match boot.trim() {
        "" => String::new(),
        boot => format!("{boot} {namespace}").trim_end().to_owned(),
    }
}

/// `uname`: host, and "system release machine".
pub fn host_and_system() -> (String, String) {
    // SAFETY: utsname is plain data, valid when zeroed; uname fills it with terminated strings.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&mut name);
        name
    };
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| *byte as u8)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let system = format!(
        "{} {} {}",
        text(&name.sysname),
        text(&name.release),
        text(&name.machine)
    );
    (text(&name.nodename), system)
}

/// The ELF image of the vDSO, which is the same in all processes of this architecture.
pub fn vdso() -> Option<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    // SAFETY: by the line of /proc/self/maps the range is mapped and readable. The kernel never
    // unmaps or changes the vDSO, and nothing in this process does.
    let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, end.checked_sub(start)?) };
    Some(bytes.to_vec())
}

/// CPU time of a process so far in nanoseconds, of all its threads including ended ones; `None` if
/// the process is gone. It does not include stolen time. A zombie still has its CPU time.
pub fn cpu_time(pid: i32) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // The clock id of a process's CPU time (CPUCLOCK_SCHED), as `clock_getcpuclockid` builds it.
    let clock = !pid << 3 | 2;
    // SAFETY: the kernel writes the time to the local variable, and nothing else.
    let read = unsafe { libc::clock_gettime(clock, &mut time) };
    (read == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The CPU time of this process's children that have ended, and of the children that they waited for, in
/// nanoseconds.
pub fn children_cpu_time() -> u64 {
    // SAFETY: rusage is plain data, valid when zeroed; the kernel writes to it, and nothing else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let nanos = |it: libc::timeval| it.tv_sec as u64 * 1_000_000_000 + it.tv_usec as u64 * 1_000;
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// Time that a hypervisor took from all CPUs of this machine, as far as the kernel knows: `steal` in
/// `/proc/stat`, in ticks.
pub fn steal() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let steal = stat.split_whitespace().nth(8);
    steal.and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// CPU time of this process so far, in seconds, user and system.
pub fn own_cpu_seconds() -> f64 {
    // SAFETY: rusage is plain data, valid when zeroed; getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Raises the priority of this thread over others, if the user may do so. Then the rings are drained
/// in time even if the program has more threads than there are CPUs. The program loses no CPU time by
/// that which it would not lose a moment later.
///
/// A nice value alone does not do: among thousands of threads that are ready to run, collect waited for
/// seconds. The lowest priority of real time is enough, and the kernel leaves others a part of the CPU.
pub(crate) fn raise_priority() {
    /// The nice value of audio and network daemons, which have deadlines, too.
    const NICE: libc::c_int = -11;
    // SAFETY: the call takes integers and touches no memory. It fails without the permission, and
    // then the priority stays.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    set_policy(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1);
}

/// Leaves real time again: what follows has no deadline.
pub(crate) fn lower_priority() {
    set_policy(libc::SCHED_OTHER, 0);
}

/// Sets this thread's scheduling policy (sched(7)), if the user may do so.
fn set_policy(policy: libc::c_int, priority: libc::c_int) {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the kernel reads the parameter, and writes nothing.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
}

/// Whether this process has the superuser's id (and, outside containers, its powers).
pub fn is_root() -> bool {
    // SAFETY: the call takes no argument and touches no memory.
    unsafe { libc::geteuid() == 0 }
}

/// The result of a system call that returns -1 for an error.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn a_status_is_the_one_that_a_shell_reports() {
        assert_eq!(Ended::Exited(7).status(), 7);
        assert_eq!(Ended::Killed(libc::SIGSEGV).status(), 139);
    }

    #[test]
    fn a_child_is_not_reaped_in_real_time() {
        raise_priority();
        let child = std::process::Command::new("true").spawn();
        let pid = child.expect("every system has it").id() as i32;
        let ended = loop {
            if let Some(ended) = try_wait(pid).expect("it is our child") {
                break ended;
            }
        };
        assert_eq!(ended, Ended::Exited(0));
        // SAFETY: the call takes an integer and touches no memory.
        assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_OTHER);
        assert!(try_wait(pid).is_err(), "it is gone");
    }

    #[test]
    fn a_child_that_stops_has_not_ended() {
        let mut child = std::process::Command::new("sleep");
        // SAFETY: the call takes integers, and asks the kernel to stop the child for each of its signals.
        unsafe {
            child.pre_exec(|| check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) as i32).map(drop));
        }
        let child = child.arg("100").spawn();
        // It stops at its first instruction.
        let pid = child.expect("every system has it").id() as i32;
        let stat = format!("/proc/{pid}/stat");
        let is_stopped = || std::fs::read_to_string(&stat).is_ok_and(|it| it.contains(") t "));
        while !is_stopped() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(try_wait(pid).expect("it is our child"), None);
        send(pid, libc::SIGKILL);
        let ended = loop {
            if let Some(ended) = try_wait(pid).expect("it is our child") {
                break ended;
            }
        };
        assert_eq!(ended, Ended::Killed(libc::SIGKILL));
    }

    #[test]
    fn the_vdso_is_an_elf_file() {
        let bytes = vdso().expect("every x86-64 process has one");
        assert!(bytes.starts_with(b"\x7fELF"));
    }
}
