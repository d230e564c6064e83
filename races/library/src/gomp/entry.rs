//! The exported functions: which calls of each role are taken, in which form, and by which function. Calls of
//! libgomp that are not recorded go on to the real function by a jump.

use inside::{around, guarded, noted, resolving};
use ompt::kind::*;

use super::{real, region, sync, target, task, work};
use crate::kmpc;

resolving! {
    resolve => real::resolve, caller;
    resolve_by_body => real::resolve, body;
}

macro_rules! recorded {
    ($to:path { $($functions:tt)* }) => {
        guarded! { real::ADDRESSES, resolve; $to { $($functions)* } }
    };
}

/// As [`recorded`], of calls that pass a function of the program's first.
macro_rules! with_body {
    ($to:path { $($functions:tt)* }) => {
        guarded! { real::ADDRESSES, resolve_by_body; $to { $($functions)* } }
    };
}

macro_rules! take {
    ($($role:ident $functions:tt)*) => {$(take_role! { $role $functions })*};
}

// A row a role.
#[rustfmt::skip]
macro_rules! take_role {
    (fork $functions:tt) => { with_body! { region::fork $functions } };
    (open $functions:tt) => { with_body! { region::open $functions } };
    (close $functions:tt) => { recorded! { region::close $functions } };
    (next_teams $functions:tt) => { recorded! { target::teams $functions } };

    (loop_start $functions:tt) => { recorded! { work::start $functions } };
    (loop_next $functions:tt) => { recorded! { work::next $functions } };
    (ordered_next $functions:tt) => { recorded! { work::next $functions } };
    (work_end $functions:tt) => { recorded! { work::end $functions } };
    (work_end_nowait $functions:tt) => { recorded! { work::end_nowait $functions } };
    (sections_start $functions:tt) => { recorded! { work::sections $functions } };
    (sections_next $functions:tt) => { recorded! { work::next_section $functions } };
    (scope $functions:tt) => { recorded! { work::scope $functions } };
    (reductions_end $functions:tt) => { recorded! { work::reduction_ends $functions } };
    (single $functions:tt) => { recorded! { work::single $functions } };
    (single_copy $functions:tt) => { recorded! { work::single_copy $functions } };
    (single_copy_end $functions:tt) => { recorded! { work::single_copy_end $functions } };
    (doacross_post $functions:tt) => { recorded! { work::post $functions } };
    (doacross_wait $functions:tt) => { around! { wait_doacross: work::waits, work::waited $functions } };

    (barrier $functions:tt) => { recorded! { sync::barrier $functions } };
    (acquire $functions:tt) => { recorded! { sync::acquire $functions } };
    (ordered $functions:tt) => { recorded! { sync::acquire $functions } };
    (release $functions:tt) => { recorded! { sync::release $functions } };
    (set $functions:tt) => { recorded! { sync::acquire $functions } };
    (set_nest $functions:tt) => { recorded! { sync::set_nest $functions } };
    (unset_nest $functions:tt) => { recorded! { sync::unset_nest $functions } };
    (test $functions:tt) => { recorded! { sync::test $functions } };
    (init $functions:tt) => { recorded! { sync::init $functions } };
    (init_with_hint $functions:tt) => { recorded! { sync::init $functions } };
    (destroy $functions:tt) => { recorded! { sync::destroy $functions } };

    (task $functions:tt) => { with_body! { task::task $functions } };
    (taskloop $functions:tt) => { with_body! { task::taskloop $functions } };
    (taskwait $functions:tt) => { recorded! { task::wait $functions } };
    (taskwait_depend $functions:tt) => { recorded! { task::wait_for_dependences $functions } };
    (taskgroup $functions:tt) => { recorded! { task::group_begins $functions } };
    (taskgroup_end $functions:tt) => { recorded! { task::group_ends $functions } };
    (reduction_remap $functions:tt) => { recorded! { task::finds_reduction $functions } };
    (fulfill $functions:tt) => { recorded! { task::fulfill $functions } };
    (target $functions:tt) => { recorded! { target::target $functions } };

    (kmpc_critical $functions:tt) => { noted! { kmpc::sync::critical $functions } };
    (kmpc_barrier $functions:tt) => { noted! { kmpc::sync::call $functions } };
    (kmpc_static_init $functions:tt) => { noted! { kmpc::sync::call $functions } };
    (kmpc_single $functions:tt) => { noted! { kmpc::sync::call $functions } };
    (kmpc_dispatch_init $functions:tt) => { noted! { kmpc::sync::dispatch $functions } };
    (kmpc_taskloop $functions:tt) => { noted! { kmpc::task::taskloop $functions } };

    (thread_number $functions:tt) => { noted! { kmpc::team::thread_number $functions } };
    (most_threads $functions:tt) => { noted! { kmpc::team::most_threads $functions } };
    (set_threads $functions:tt) => { noted! { kmpc::team::set_threads $functions } };

    // OMPT tells of these.
    (kmpc_fork $functions:tt) => {};
    (kmpc_task $functions:tt) => {};
    (kmpc_doacross_wait $functions:tt) => {};
    (kmpc_dispatch_next $functions:tt) => {};
    (kmpc_static_end $functions:tt) => {};
    (kmpc_single_end $functions:tt) => {};
    (called $functions:tt) => {};
}

ompt::entry_points!(take);
