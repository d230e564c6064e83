//! The filter of a peer's system calls: what it writes is dropped, and what cannot be repeated ends it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::zeroed;

use divergence::record::Cause;

/// The status with which a peer ends that gives up: this, and the number of the cause.
pub(crate) const GIVES_UP: i32 = 100;

/// Calls that change nothing outside of the process.
const HARMLESS: &[libc::c_long] = &[
    libc::SYS_futex,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_getcpu,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getrandom,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getcwd,
    libc::SYS_pread64,
    libc::SYS_close,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_getrlimit,
    libc::SYS_restart_syscall,
];

fn cause(call: libc::c_long) -> Cause {
    match call {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_preadv
        | libc::SYS_preadv2
        | libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait => Cause::Reads,
        libc::SYS_open
        | libc::SYS_openat
        | libc::SYS_creat
        | libc::SYS_lseek
        | libc::SYS_unlink
        | libc::SYS_unlinkat
        | libc::SYS_rename
        | libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_mkdir
        | libc::SYS_mkdirat
        | libc::SYS_rmdir
        | libc::SYS_truncate
        | libc::SYS_ftruncate
        | libc::SYS_chmod
        | libc::SYS_fchmod
        | libc::SYS_fallocate
        | libc::SYS_dup
        | libc::SYS_dup2
        | libc::SYS_dup3
        | libc::SYS_fcntl
        | libc::SYS_flock
        | libc::SYS_ioctl
        | libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_msync
        | libc::SYS_memfd_create
        | libc::SYS_pipe
        | libc::SYS_pipe2 => Cause::Files,
        libc::SYS_socket
        | libc::SYS_socketpair
        | libc::SYS_connect
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_sendto
        | libc::SYS_recvfrom
        | libc::SYS_sendmsg
        | libc::SYS_recvmsg
        | libc::SYS_shutdown
        | libc::SYS_bind
        | libc::SYS_listen => Cause::Sockets,
        libc::SYS_fork
        | libc::SYS_vfork
        | libc::SYS_execve
        | libc::SYS_execveat
        | libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_setitimer
        | libc::SYS_timer_create => Cause::Processes,
        libc::SYS_clone | libc::SYS_clone3 => Cause::Threads,
        _ => Cause::Calls,
    }
}

/// Ends a peer.
pub(crate) fn give_up(cause: Cause) -> ! {
    // SAFETY: ends the process, without what the program has for its end.
    unsafe { libc::_exit(GIVES_UP + cause as i32) }
}

/// A call that the filter does not let through.
unsafe extern "C" fn refused(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the context of the call to a handler with SA_SIGINFO.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let argument = |register: c_int| registers[register as usize];
    let call = argument(libc::REG_RAX);
    let written = match call {
        libc::SYS_write | libc::SYS_pwrite64 => argument(libc::REG_RDX),
        libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            let (first, count) = (
                argument(libc::REG_RSI) as *const libc::iovec,
                argument(libc::REG_RDX),
            );
            // SAFETY: the caller's own array, of that many entries.
            let parts = (0..count as usize).map(|part| unsafe { (*first.add(part)).iov_len });
            parts.sum::<usize>() as i64
        }
        _ => give_up(cause(call)),
    };
    registers[libc::REG_RAX as usize] = written;
}

/// An instruction of a filter (linux/filter.h).
fn instruction(code: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    }
}

/// Where `struct seccomp_data` has the call's number and its arguments' low halves.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const SECOND: u32 = 24;
const THIRD: u32 = 32;

fn filter() -> Vec<libc::sock_filter> {
    const X86_64: u32 = 0xc000_003e;
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let allow = instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
    let trap = instruction(RETURN, libc::SECCOMP_RET_TRAP, 0, 0);
    let changes = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) as u32;
    let mut all = vec![
        instruction(LOAD, ARCHITECTURE, 0, 0),
        instruction(EQUAL, X86_64, 1, 0),
        trap,
        instruction(LOAD, NUMBER, 0, 0),
        // Files that are opened for reading; terminals that are asked for; what descriptors are asked for.
        instruction(EQUAL, libc::SYS_openat as u32, 0, 4),
        instruction(LOAD, THIRD, 0, 0),
        instruction(ANY_BIT, changes, 1, 0),
        allow,
        trap,
        instruction(EQUAL, libc::SYS_ioctl as u32, 0, 4),
        instruction(LOAD, SECOND, 0, 0),
        instruction(EQUAL, libc::TCGETS as u32, 0, 1),
        allow,
        trap,
        instruction(EQUAL, libc::SYS_fcntl as u32, 0, 5),
        instruction(LOAD, SECOND, 0, 0),
        instruction(EQUAL, libc::F_GETFL as u32, 1, 0),
        instruction(EQUAL, libc::F_GETFD as u32, 0, 1),
        allow,
        trap,
    ];
    for call in HARMLESS {
        all.push(instruction(EQUAL, *call as u32, 0, 1));
        all.push(allow);
    }
    all.push(trap);
    all
}

/// Sets the filter for this process, for good. `None` if the system refuses.
pub(crate) fn set() -> Option<()> {
    let mut filter = filter();
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: plain data, zeroed and filled; the calls read them. This process is a copy that ends soon, so the
    // program's own handler is not missed.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = refused as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        let mut signals: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGSYS);
        let ok = libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) == 0
            && libc::sigprocmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut()) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0;
        ok.then_some(())
    }
}
