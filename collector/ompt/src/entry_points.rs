//! The entry points of libgomp and of LLVM's runtime: what compilers call, and what programs call
//! themselves.
//!
//! Those of one *role* have arguments of one form and are handled alike. A library of ours says for each
//! role whether it takes such calls, and by which function.
//!
//! The facts about libgomp's interface are those of GCC 12's `libgomp_g.h`, those about LLVM's of `kmp.h`.

use std::ffi::CStr;

/// What distinguishes the functions of one role. Loops: `ompt_work_t` and flags. Waits:
/// `ompt_sync_region_t`. Mutexes: `ompt_mutex_t`.
#[allow(missing_docs, reason = "the names say it")]
pub mod kind {
    use crate::numbers::work;

    /// The bits of `ompt_work_t`.
    pub const WORK: u32 = 0xf;
    pub const STATIC: u32 = work::LOOP_STATIC as u32;
    pub const DYNAMIC: u32 = work::LOOP_DYNAMIC as u32;
    pub const GUIDED: u32 = work::LOOP_GUIDED as u32;
    /// The environment gives the schedule.
    pub const RUNTIME: u32 = work::LOOP_OTHER as u32;
    pub const SECTIONS: u32 = work::SECTIONS as u32;
    /// The loop has an `ordered` clause.
    pub const ORDERED: u32 = 1 << 4;
    /// The variable is unsigned: an argument before the others gives the direction.
    pub const UNSIGNED: u32 = 1 << 5;
    /// There is no argument for a chunk.
    pub const BARE: u32 = 1 << 6;
    /// The schedule is an argument, and so are reductions.
    pub const ANY: u32 = 1 << 7;
    /// The iterations depend on each other, by `ordered(n)`: the first argument is the number n of
    /// dimensions, the second points to their lengths. The variable counts from 0.
    pub const DOACROSS: u32 = 1 << 8;
    /// There may be task reductions.
    pub const REDUCTIONS: u32 = 1 << 9;
    /// A league of teams.
    pub const LEAGUE: u32 = 1 << 10;
    /// The variable has 8 bytes (LLVM's runtime).
    pub const LONG: u32 = 1 << 11;
    /// The loop's iterations are distributed over teams first (LLVM's runtime).
    pub const DISTRIBUTED: u32 = 1 << 12;
}

/// Calls the macro `$take` with the entry points by role: for each, its name and kind. The role `called`
/// has functions that a library of ours only calls.
#[macro_export]
macro_rules! entry_points {
    ($take:ident) => {
        $take! {
            fork {
                GOMP_parallel 0;
                GOMP_parallel_reductions REDUCTIONS;
                GOMP_teams_reg LEAGUE;
                GOMP_parallel_loop_static STATIC;
                GOMP_parallel_loop_dynamic DYNAMIC;
                GOMP_parallel_loop_guided GUIDED;
                GOMP_parallel_loop_runtime RUNTIME | BARE;
                GOMP_parallel_loop_nonmonotonic_dynamic DYNAMIC;
                GOMP_parallel_loop_nonmonotonic_guided GUIDED;
                GOMP_parallel_loop_nonmonotonic_runtime RUNTIME | BARE;
                GOMP_parallel_loop_maybe_nonmonotonic_runtime RUNTIME | BARE;
                GOMP_parallel_sections SECTIONS;
            }
            open {
                GOMP_parallel_start 0;
                GOMP_parallel_loop_static_start STATIC;
                GOMP_parallel_loop_dynamic_start DYNAMIC;
                GOMP_parallel_loop_guided_start GUIDED;
                GOMP_parallel_loop_runtime_start RUNTIME | BARE;
                GOMP_parallel_sections_start SECTIONS;
            }
            close { GOMP_parallel_end 0; }
            next_teams { GOMP_teams4 0; }

            loop_start {
                GOMP_loop_static_start STATIC;
                GOMP_loop_dynamic_start DYNAMIC;
                GOMP_loop_nonmonotonic_dynamic_start DYNAMIC;
                GOMP_loop_guided_start GUIDED;
                GOMP_loop_nonmonotonic_guided_start GUIDED;
                GOMP_loop_runtime_start RUNTIME | BARE;
                GOMP_loop_nonmonotonic_runtime_start RUNTIME | BARE;
                GOMP_loop_maybe_nonmonotonic_runtime_start RUNTIME | BARE;
                GOMP_loop_ordered_static_start STATIC | ORDERED;
                GOMP_loop_ordered_dynamic_start DYNAMIC | ORDERED;
                GOMP_loop_ordered_guided_start GUIDED | ORDERED;
                GOMP_loop_ordered_runtime_start RUNTIME | BARE | ORDERED;
                GOMP_loop_start ANY;
                GOMP_loop_ordered_start ANY | ORDERED;
                GOMP_loop_ull_static_start STATIC | UNSIGNED;
                GOMP_loop_ull_dynamic_start DYNAMIC | UNSIGNED;
                GOMP_loop_ull_nonmonotonic_dynamic_start DYNAMIC | UNSIGNED;
                GOMP_loop_ull_guided_start GUIDED | UNSIGNED;
                GOMP_loop_ull_nonmonotonic_guided_start GUIDED | UNSIGNED;
                GOMP_loop_ull_runtime_start RUNTIME | UNSIGNED | BARE;
                GOMP_loop_ull_nonmonotonic_runtime_start RUNTIME | UNSIGNED | BARE;
                GOMP_loop_ull_maybe_nonmonotonic_runtime_start RUNTIME | UNSIGNED | BARE;
                GOMP_loop_ull_ordered_static_start STATIC | UNSIGNED | ORDERED;
                GOMP_loop_ull_ordered_dynamic_start DYNAMIC | UNSIGNED | ORDERED;
                GOMP_loop_ull_ordered_guided_start GUIDED | UNSIGNED | ORDERED;
                GOMP_loop_ull_ordered_runtime_start RUNTIME | UNSIGNED | BARE | ORDERED;
                GOMP_loop_ull_start ANY | UNSIGNED;
                GOMP_loop_ull_ordered_start ANY | UNSIGNED | ORDERED;
                GOMP_loop_doacross_start ANY | DOACROSS;
                GOMP_loop_doacross_static_start STATIC | DOACROSS;
                GOMP_loop_doacross_dynamic_start DYNAMIC | DOACROSS;
                GOMP_loop_doacross_guided_start GUIDED | DOACROSS;
                GOMP_loop_doacross_runtime_start RUNTIME | BARE | DOACROSS;
                GOMP_loop_ull_doacross_start ANY | DOACROSS;
                GOMP_loop_ull_doacross_static_start STATIC | DOACROSS;
                GOMP_loop_ull_doacross_dynamic_start DYNAMIC | DOACROSS;
                GOMP_loop_ull_doacross_guided_start GUIDED | DOACROSS;
                GOMP_loop_ull_doacross_runtime_start RUNTIME | BARE | DOACROSS;
            }
            loop_next {
                GOMP_loop_static_next STATIC;
                GOMP_loop_dynamic_next DYNAMIC;
                GOMP_loop_nonmonotonic_dynamic_next DYNAMIC;
                GOMP_loop_guided_next GUIDED;
                GOMP_loop_nonmonotonic_guided_next GUIDED;
                GOMP_loop_runtime_next RUNTIME;
                GOMP_loop_nonmonotonic_runtime_next RUNTIME;
                GOMP_loop_maybe_nonmonotonic_runtime_next RUNTIME;
                GOMP_loop_ull_static_next STATIC;
                GOMP_loop_ull_dynamic_next DYNAMIC;
                GOMP_loop_ull_nonmonotonic_dynamic_next DYNAMIC;
                GOMP_loop_ull_guided_next GUIDED;
                GOMP_loop_ull_nonmonotonic_guided_next GUIDED;
                GOMP_loop_ull_runtime_next RUNTIME;
                GOMP_loop_ull_nonmonotonic_runtime_next RUNTIME;
                GOMP_loop_ull_maybe_nonmonotonic_runtime_next RUNTIME;
            }
            ordered_next {
                GOMP_loop_ordered_static_next 7;
                GOMP_loop_ordered_dynamic_next 7;
                GOMP_loop_ordered_guided_next 7;
                GOMP_loop_ordered_runtime_next 7;
                GOMP_loop_ull_ordered_static_next 7;
                GOMP_loop_ull_ordered_dynamic_next 7;
                GOMP_loop_ull_ordered_guided_next 7;
                GOMP_loop_ull_ordered_runtime_next 7;
            }
            work_end {
                GOMP_loop_end 8;
                GOMP_loop_end_cancel 8;
                GOMP_sections_end 8;
                GOMP_sections_end_cancel 8;
            }
            work_end_nowait {
                GOMP_loop_end_nowait 8;
                GOMP_sections_end_nowait 8;
            }
            sections_start {
                GOMP_sections_start SECTIONS;
                GOMP_sections2_start SECTIONS | REDUCTIONS;
            }
            sections_next { GOMP_sections_next SECTIONS; }
            scope { GOMP_scope_start 0; }
            reductions_end { GOMP_workshare_task_reduction_unregister 8; }
            single { GOMP_single_start 0; }
            single_copy { GOMP_single_copy_start 8; }
            single_copy_end { GOMP_single_copy_end 8; }
            doacross_post {
                GOMP_doacross_post 7;
                GOMP_doacross_ull_post 7;
            }
            doacross_wait {
                GOMP_doacross_wait 7;
                GOMP_doacross_ull_wait 7;
            }

            barrier {
                GOMP_barrier 1;
                GOMP_barrier_cancel 1;
            }
            acquire {
                GOMP_critical_start 5;
                GOMP_critical_name_start 5;
                GOMP_atomic_start 6;
            }
            ordered { GOMP_ordered_start 7; }
            release {
                GOMP_critical_end 5;
                GOMP_critical_name_end 5;
                GOMP_atomic_end 6;
                GOMP_ordered_end 7;
                omp_unset_lock 1;
                omp_unset_lock_ 1;
            }
            set {
                omp_set_lock 1;
                omp_set_lock_ 1;
            }
            set_nest {
                omp_set_nest_lock 3;
                omp_set_nest_lock_ 3;
            }
            unset_nest {
                omp_unset_nest_lock 3;
                omp_unset_nest_lock_ 3;
            }
            test {
                omp_test_lock 2;
                omp_test_lock_ 2;
                omp_test_nest_lock 4;
                omp_test_nest_lock_ 4;
            }
            init {
                omp_init_lock 1;
                omp_init_lock_ 1;
                omp_init_nest_lock 3;
                omp_init_nest_lock_ 3;
            }
            init_with_hint {
                omp_init_lock_with_hint 1;
                omp_init_lock_with_hint_ 1;
                omp_init_nest_lock_with_hint 3;
                omp_init_nest_lock_with_hint_ 3;
            }
            destroy {
                omp_destroy_lock 1;
                omp_destroy_lock_ 1;
                omp_destroy_nest_lock 3;
                omp_destroy_nest_lock_ 3;
            }

            task { GOMP_task 0; }
            taskloop {
                GOMP_taskloop 0;
                GOMP_taskloop_ull UNSIGNED;
            }
            taskwait { GOMP_taskwait 5; }
            taskwait_depend { GOMP_taskwait_depend 5; }
            taskgroup { GOMP_taskgroup_start 6; }
            taskgroup_end { GOMP_taskgroup_end 6; }
            reduction_remap { GOMP_task_reduction_remap 0; }
            fulfill {
                omp_fulfill_event 0;
                omp_fulfill_event_ 0;
            }
            target {
                GOMP_target 0;
                GOMP_target_ext 1;
            }

            kmpc_critical {
                __kmpc_critical 5;
                __kmpc_critical_with_hint 5;
                __kmpc_end_critical 5;
            }
            kmpc_barrier { __kmpc_barrier 0; }
            kmpc_fork {
                __kmpc_fork_call 0;
                __kmpc_fork_call_if 0;
                __kmpc_fork_teams LEAGUE;
            }
            kmpc_task {
                __kmpc_omp_task 0;
                __kmpc_omp_task_with_deps 0;
                __kmpc_omp_task_begin_if0 0;
            }
            kmpc_taskloop {
                __kmpc_taskloop 0;
                __kmpc_taskloop_5 0;
            }
            kmpc_doacross_wait { __kmpc_doacross_wait 7; }
            kmpc_static_init {
                __kmpc_for_static_init_4 0;
                __kmpc_for_static_init_4u UNSIGNED;
                __kmpc_for_static_init_8 LONG;
                __kmpc_for_static_init_8u LONG | UNSIGNED;
                __kmpc_dist_for_static_init_4 DISTRIBUTED;
                __kmpc_dist_for_static_init_4u DISTRIBUTED | UNSIGNED;
                __kmpc_dist_for_static_init_8 DISTRIBUTED | LONG;
                __kmpc_dist_for_static_init_8u DISTRIBUTED | LONG | UNSIGNED;
            }
            kmpc_dispatch_init {
                __kmpc_dispatch_init_4 0;
                __kmpc_dispatch_init_4u UNSIGNED;
                __kmpc_dispatch_init_8 LONG;
                __kmpc_dispatch_init_8u LONG | UNSIGNED;
            }
            kmpc_dispatch_next {
                __kmpc_dispatch_next_4 0;
                __kmpc_dispatch_next_4u UNSIGNED;
                __kmpc_dispatch_next_8 LONG;
                __kmpc_dispatch_next_8u LONG | UNSIGNED;
            }
            kmpc_static_end { __kmpc_for_static_fini 0; }
            kmpc_single { __kmpc_single 0; }
            kmpc_single_end { __kmpc_end_single 0; }

            thread_number {
                omp_get_thread_num 0;
                omp_get_thread_num_ 0;
            }
            most_threads {
                omp_get_max_threads 0;
                omp_get_max_threads_ 0;
            }
            set_threads {
                omp_set_num_threads 0;
                omp_set_num_threads_ 0;
            }
            called {
                omp_get_num_threads 0;
                omp_get_team_num 0;
                omp_get_num_teams 0;
                omp_in_final 0;
                omp_get_num_devices 0;
            }
        }
    };
}

/// The functions' numbers and names.
macro_rules! numbers {
    ($($role:ident { $($name:ident $kind:expr;)* })*) => {
        /// A function of a runtime, by the symbol's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, missing_docs, reason = "they are the symbols' names")]
        #[repr(u16)]
        pub enum Function { $($($name,)*)* }

        /// The symbols' names, by the function's number.
        pub const NAMES: &[&CStr] = &[$($(symbol(concat!(stringify!($name), "\0")),)*)*];
    };
}

const fn symbol(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("an identifier holds no zero byte"),
    }
}

entry_points!(numbers);

/// Whether a function is a routine for locks.
pub fn is_of_locks(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.starts_with(b"omp_") && name.windows(5).any(|word| word == b"_lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_point_stands_once() {
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
        assert_eq!(NAMES[Function::GOMP_task as usize], c"GOMP_task");
    }

    #[test]
    fn routines_for_locks_are_known_by_their_names() {
        let locks = NAMES.iter().filter(|name| is_of_locks(name));
        assert_eq!(locks.count(), 24);
        assert!(!is_of_locks(c"omp_get_thread_num"));
    }
}
