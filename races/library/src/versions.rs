//! Functions that the C library has in several versions, which differ. A program that was linked with the
//! compiler's own runtime has found them there, and asks for no version: without that runtime it would get
//! the oldest one, whose arguments may be others. Here it gets the one for which it was compiled.
//!
//! These are all that both that runtime and glibc 2.36 have, but for those that this library has its own
//! functions for.
#![allow(unsafe_code)]

use inside::next::Next;
use inside::noting;

macro_rules! newest {
    ($($name:ident => $next:ident $symbol:literal;)*) => {$(
        extern "C" fn $next() -> usize {
            static NEXT: Next = Next::new($symbol);
            NEXT.or_nothing()
        }

        noting! { $name => $next [] []; }
    )*};
}

newest! {
    pthread_cond_init => cond_init c"pthread_cond_init";
    pthread_cond_destroy => cond_destroy c"pthread_cond_destroy";
    pthread_cond_signal => cond_signal c"pthread_cond_signal";
    pthread_cond_broadcast => cond_broadcast c"pthread_cond_broadcast";
    pthread_getaffinity_np => thread_affinity c"pthread_getaffinity_np";
    pthread_attr_getaffinity_np => attribute_affinity c"pthread_attr_getaffinity_np";
    sched_getaffinity => process_affinity c"sched_getaffinity";
    timer_create => create_timer c"timer_create";
    timer_delete => delete_timer c"timer_delete";
    timer_gettime => get_timer c"timer_gettime";
    timer_settime => set_timer c"timer_settime";
    realpath => real_path c"realpath";
    fmemopen => open_memory c"fmemopen";
    regexec => match_text c"regexec";
    glob => find_files c"glob";
    glob64 => find_files_64 c"glob64";
}
