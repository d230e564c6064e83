//! The exported functions: which calls of each role are taken, in which form, and by which function. Only
//! the entry point knows the return address, and its position on the stack identifies a context.

use inside::{around, noted, plain, saved};
use ompt::kind::*;

use super::{doacross, kmpc, kmpc_loops, loops, ordered, region, sync, task};

macro_rules! take {
    ($($role:ident $functions:tt)*) => {$(take_role! { $role $functions })*};
}

// A row a role.
#[rustfmt::skip]
macro_rules! take_role {
    (fork $functions:tt) => { saved! { region::fork $functions } };
    (open $functions:tt) => { saved! { region::open $functions } };
    (close $functions:tt) => { plain! { region::close $functions } };

    (loop_start $functions:tt) => { saved! { loops::start $functions } };
    (loop_next $functions:tt) => { plain! { loops::next $functions } };
    (ordered_next $functions:tt) => { plain! { ordered::next $functions } };
    (work_end $functions:tt) => { plain! { loops::end $functions } };
    (work_end_nowait $functions:tt) => { plain! { loops::end_nowait $functions } };
    (sections_start $functions:tt) => { saved! { loops::sections $functions } };
    (sections_next $functions:tt) => { plain! { loops::next_section $functions } };
    (single $functions:tt) => { plain! { loops::single $functions } };
    (single_copy $functions:tt) => { plain! { sync::wait $functions } };
    (single_copy_end $functions:tt) => { plain! { sync::wait $functions } };
    (reductions_end $functions:tt) => { plain! { sync::wait $functions } };
    (doacross_wait $functions:tt) => { around! { wait_doacross: doacross::begin, doacross::end $functions } };

    (barrier $functions:tt) => { plain! { loops::barrier $functions } };
    (acquire $functions:tt) => { plain! { sync::acquire $functions } };
    (ordered $functions:tt) => { plain! { ordered::enter $functions } };
    (release $functions:tt) => { plain! { sync::release $functions } };
    (set $functions:tt) => { plain! { sync::set_lock $functions } };
    (set_nest $functions:tt) => { plain! { sync::acquire $functions } };
    (unset_nest $functions:tt) => { plain! { sync::release $functions } };
    (test $functions:tt) => { plain! { sync::test $functions } };
    (init $functions:tt) => { noted! { sync::note_init $functions } };

    (task $functions:tt) => { saved! { task::task $functions } };
    (taskloop $functions:tt) => { saved! { task::taskloop $functions } };
    (taskwait $functions:tt) => { plain! { sync::wait $functions } };
    (taskwait_depend $functions:tt) => { plain! { sync::wait $functions } };
    (taskgroup_end $functions:tt) => { plain! { sync::wait $functions } };

    (kmpc_critical $functions:tt) => { noted! { kmpc::note_critical $functions } };
    (kmpc_fork $functions:tt) => { noted! { kmpc::note_fork $functions } };
    (kmpc_task $functions:tt) => { noted! { kmpc::note_task $functions } };
    (kmpc_taskloop $functions:tt) => { saved! { kmpc::taskloop $functions } };
    (kmpc_doacross_wait $functions:tt) => { saved! { kmpc::doacross_wait $functions } };
    (kmpc_static_init $functions:tt) => { saved! { kmpc_loops::static_init $functions } };
    (kmpc_dispatch_init $functions:tt) => { saved! { kmpc_loops::dispatch_init $functions } };
    (kmpc_dispatch_next $functions:tt) => { saved! { kmpc_loops::dispatch_next $functions } };
    (kmpc_static_end $functions:tt) => { saved! { kmpc_loops::end $functions } };
    (kmpc_single $functions:tt) => { saved! { kmpc_loops::single $functions } };
    (kmpc_single_end $functions:tt) => { saved! { kmpc_loops::end_single $functions } };

    // No time is waited or lost in these that another call does not tell of.
    (kmpc_barrier $functions:tt) => {};
    (next_teams $functions:tt) => {};
    (scope $functions:tt) => {};
    (doacross_post $functions:tt) => {};
    // libgomp has none.
    (init_with_hint $functions:tt) => {};
    (destroy $functions:tt) => {};
    (taskgroup $functions:tt) => {};
    (reduction_remap $functions:tt) => {};
    (fulfill $functions:tt) => {};
    (target $functions:tt) => {};
    (thread_number $functions:tt) => {};
    (most_threads $functions:tt) => {};
    (set_threads $functions:tt) => {};
    (called $functions:tt) => {};
}

ompt::entry_points!(take);
