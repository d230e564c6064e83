//! Why threads are in the kernel, by the names of its functions.

use experiment::ids::{ModuleId, StackId};
use experiment::symbols::SymbolTable;
use experiment::tables::{StackEntry, Tables};

/// The reason of a page fault.
pub const PAGE_FAULT: &str = "page fault";

/// The reason of a system call whose function is not on the stack.
const CALL: &str = "system call";

/// Beginnings of the names of functions that are one system call each (`SYSCALL_DEFINE` in
/// include/linux/syscalls.h and arch/*/include/asm/syscall_wrapper.h). Compilers turn the outer ones
/// into jumps, so that any of them can be the outermost on a stack.
const CALLS: [&str; 9] = [
    "__x64_sys_",
    "__ia32_compat_sys_",
    "__ia32_sys_",
    "__arm64_sys_",
    "__riscv_sys_",
    "__se_sys_",
    "__do_sys_",
    "ksys_",
    "sys_",
];

/// The reason that a function of the kernel tells, if it is one of those by which threads enter.
pub fn reason(function: &str) -> Option<&str> {
    // `.isra.0` and the like are parts that a compiler made.
    let name = function.split('.').next().unwrap_or(function);
    if let Some(call) = CALLS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return Some(call.strip_suffix("_pgoff").unwrap_or(call));
    }
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&["page_fault", "do_mem_abort", "el0_da", "el0_ia"]) {
        return Some(PAGE_FAULT);
    }
    if has(&[
        "SYSCALL",
        "syscall_64",
        "x64_sys_call",
        "el0_svc",
        "invoke_syscall",
    ]) {
        return Some(CALL);
    }
    if has(&[
        "sysvec_",
        "interrupt",
        "el0_irq",
        "asm_exc_nmi",
        "handle_irq",
    ]) {
        return Some(if has(&["timer"]) {
            "timer interrupt"
        } else {
            "interrupt"
        });
    }
    if name.starts_with("ret_from_fork") {
        return Some("thread start");
    }
    name.starts_with("asm_exc_").then_some("exception")
}

/// The reason after one more frame inward: the outermost function that tells one decides, but for
/// the entry of all system calls, under which stands the call.
pub fn inward<'a>(reason_so_far: Option<&'a str>, function: &'a str) -> Option<&'a str> {
    match reason_so_far {
        None => reason(function),
        Some(CALL) => {
            let is_call = CALLS.iter().any(|prefix| function.starts_with(prefix));
            reason(function).filter(|_| is_call).or(Some(CALL))
        }
        known => known,
    }
}

/// Why the thread with this machine stack was in the kernel; `None` if the stack does not tell.
pub fn reason_of<'a>(tables: &Tables, symbols: &'a SymbolTable, stack: StackId) -> Option<&'a str> {
    let mut functions = Vec::new();
    for entry in tables.walk(stack) {
        let StackEntry::Frame(frame) = entry else {
            break;
        };
        let at = tables.frames.get(frame.0);
        if at.is_none_or(|at| at.module != ModuleId::KERNEL) {
            break;
        }
        functions.extend(symbols.function_of(frame).map(|(_, function)| function));
    }
    let functions = functions.into_iter().rev();
    functions.fold(None, |known, function| inward(known, &function.name))
}

#[cfg(test)]
mod tests {
    use super::inward;

    #[test]
    fn the_outermost_function_that_tells_decides() {
        for (functions, reason) in [
            (
                "asm_exc_page_fault exc_page_fault handle_mm_fault",
                Some("page fault"),
            ),
            (
                "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_futex do_futex",
                Some("futex"),
            ),
            (
                "entry_SYSCALL_64_after_hwframe do_syscall_64 __do_sys_brk unmap_region",
                Some("brk"),
            ),
            (
                "entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_mmap_pgoff",
                Some("mmap"),
            ),
            (
                "do_syscall_64 x64_sys_call __do_sys_sched_yield",
                Some("sched_yield"),
            ),
            // Writing a buffer that is paged in is part of the call.
            ("do_syscall_64 ksys_read asm_exc_page_fault", Some("read")),
            // A thread that leaves the CPU at the end of a call.
            (
                "do_syscall_64 exit_to_user_mode_loop schedule",
                Some("system call"),
            ),
            (
                "do_syscall_64 asm_sysvec_apic_timer_interrupt",
                Some("system call"),
            ),
            (
                "asm_sysvec_apic_timer_interrupt irqentry_exit schedule",
                Some("timer interrupt"),
            ),
            ("asm_sysvec_reschedule_ipi irqentry_exit", Some("interrupt")),
            (
                "el0t_64_sync el0t_64_sync_handler el0_svc __arm64_sys_write",
                Some("write"),
            ),
            (
                "el0t_64_sync el0t_64_sync_handler el0_da do_mem_abort",
                Some("page fault"),
            ),
            (
                "ret_from_fork_asm ret_from_fork schedule_tail",
                Some("thread start"),
            ),
            ("finish_task_switch.isra.0", None),
        ] {
            let found = functions.split(' ').fold(None, inward);
            assert_eq!(found, reason, "{functions}");
        }
    }
}
