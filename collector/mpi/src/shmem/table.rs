//! Made of `pshmem.h` by the test `shmem`.

/// Calls the macro `$take` with the functions of OpenSHMEM: for each group what is known of it
/// ([`crate::pgas::Row`]), then each function's name and that by which tools call it.
#[macro_export]
macro_rules! shmem_functions {
    ($take:ident) => {
        $take! {
            Allocation Collective 1 (Bytes::Allocated(0)) (Nobody) (Object::Result) {
                shmem_malloc pshmem_malloc;
            }
            Allocation Collective 1 (NoBytes) (Nobody) (At(0)) {
                shmem_free pshmem_free;
            }
            Allocation Collective 2 (Bytes::Allocated(1)) (Nobody) (Object::Result) {
                shmem_align pshmem_align; shmem_realloc pshmem_realloc;
            }
            Allocation Collective 2 (Bytes::AllocatedEach(0, 1)) (Nobody) (Object::Result) {
                shmem_calloc pshmem_calloc;
            }
            Atomic Transfer 2 (Elements(Both, ONE, 4)) (Rank(1)) (At(0)) {
                shmem_float_atomic_swap pshmem_float_atomic_swap; shmem_float_swap pshmem_float_swap;
                shmem_int_atomic_fetch_inc pshmem_int_atomic_fetch_inc; shmem_int_finc pshmem_int_finc;
                shmem_uint_atomic_fetch_inc pshmem_uint_atomic_fetch_inc;
            }
            Atomic Transfer 2 (Elements(Both, ONE, 8)) (Rank(1)) (At(0)) {
                shmem_double_atomic_swap pshmem_double_atomic_swap; shmem_double_swap pshmem_double_swap;
                shmem_long_atomic_fetch_inc pshmem_long_atomic_fetch_inc; shmem_long_finc pshmem_long_finc;
                shmem_longlong_atomic_fetch_inc pshmem_longlong_atomic_fetch_inc;
                shmem_longlong_finc pshmem_longlong_finc;
                shmem_ulong_atomic_fetch_inc pshmem_ulong_atomic_fetch_inc;
                shmem_ulonglong_atomic_fetch_inc pshmem_ulonglong_atomic_fetch_inc;
            }
            Atomic Transfer 2 (Elements(Received, ONE, 4)) (Rank(1)) (At(0)) {
                shmem_float_atomic_fetch pshmem_float_atomic_fetch; shmem_float_fetch pshmem_float_fetch;
                shmem_int_atomic_fetch pshmem_int_atomic_fetch; shmem_int_fetch pshmem_int_fetch;
                shmem_uint_atomic_fetch pshmem_uint_atomic_fetch;
            }
            Atomic Transfer 2 (Elements(Received, ONE, 8)) (Rank(1)) (At(0)) {
                shmem_double_atomic_fetch pshmem_double_atomic_fetch; shmem_double_fetch pshmem_double_fetch;
                shmem_long_atomic_fetch pshmem_long_atomic_fetch; shmem_long_fetch pshmem_long_fetch;
                shmem_longlong_atomic_fetch pshmem_longlong_atomic_fetch;
                shmem_longlong_fetch pshmem_longlong_fetch; shmem_ulong_atomic_fetch pshmem_ulong_atomic_fetch;
                shmem_ulonglong_atomic_fetch pshmem_ulonglong_atomic_fetch;
            }
            Atomic Transfer 2 (Elements(Sent, ONE, 4)) (Rank(1)) (At(0)) {
                shmem_float_atomic_set pshmem_float_atomic_set; shmem_float_set pshmem_float_set;
                shmem_int_atomic_inc pshmem_int_atomic_inc; shmem_int_inc pshmem_int_inc;
                shmem_uint_atomic_inc pshmem_uint_atomic_inc;
            }
            Atomic Transfer 2 (Elements(Sent, ONE, 8)) (Rank(1)) (At(0)) {
                shmem_double_atomic_set pshmem_double_atomic_set; shmem_double_set pshmem_double_set;
                shmem_long_atomic_inc pshmem_long_atomic_inc; shmem_long_inc pshmem_long_inc;
                shmem_longlong_atomic_inc pshmem_longlong_atomic_inc; shmem_longlong_inc pshmem_longlong_inc;
                shmem_ulong_atomic_inc pshmem_ulong_atomic_inc;
                shmem_ulonglong_atomic_inc pshmem_ulonglong_atomic_inc;
            }
            Atomic Transfer 3 (Elements(Both, ONE, 4)) (Rank(2)) (At(0)) {
                shmem_int32_atomic_fetch_and pshmem_int32_atomic_fetch_and;
                shmem_int32_atomic_fetch_or pshmem_int32_atomic_fetch_or;
                shmem_int32_atomic_fetch_xor pshmem_int32_atomic_fetch_xor;
                shmem_int_atomic_fetch_add pshmem_int_atomic_fetch_add;
                shmem_int_atomic_fetch_and pshmem_int_atomic_fetch_and;
                shmem_int_atomic_fetch_or pshmem_int_atomic_fetch_or;
                shmem_int_atomic_fetch_xor pshmem_int_atomic_fetch_xor;
                shmem_int_atomic_swap pshmem_int_atomic_swap; shmem_int_fadd pshmem_int_fadd;
                shmem_int_swap pshmem_int_swap; shmem_uint32_atomic_fetch_and pshmem_uint32_atomic_fetch_and;
                shmem_uint32_atomic_fetch_or pshmem_uint32_atomic_fetch_or;
                shmem_uint32_atomic_fetch_xor pshmem_uint32_atomic_fetch_xor;
                shmem_uint_atomic_fetch_add pshmem_uint_atomic_fetch_add;
                shmem_uint_atomic_fetch_and pshmem_uint_atomic_fetch_and;
                shmem_uint_atomic_fetch_or pshmem_uint_atomic_fetch_or;
                shmem_uint_atomic_fetch_xor pshmem_uint_atomic_fetch_xor;
                shmem_uint_atomic_swap pshmem_uint_atomic_swap;
            }
            Atomic Transfer 3 (Elements(Both, ONE, 4)) (Rank(2)) (At(1)) {
                shmem_ctx_float_atomic_swap pshmem_ctx_float_atomic_swap;
                shmem_ctx_int_atomic_fetch_inc pshmem_ctx_int_atomic_fetch_inc;
                shmem_ctx_uint_atomic_fetch_inc pshmem_ctx_uint_atomic_fetch_inc;
            }
            Atomic Transfer 3 (Elements(Both, ONE, 8)) (Rank(2)) (At(0)) {
                shmem_int64_atomic_fetch_and pshmem_int64_atomic_fetch_and;
                shmem_int64_atomic_fetch_or pshmem_int64_atomic_fetch_or;
                shmem_int64_atomic_fetch_xor pshmem_int64_atomic_fetch_xor;
                shmem_long_atomic_fetch_add pshmem_long_atomic_fetch_add;
                shmem_long_atomic_fetch_and pshmem_long_atomic_fetch_and;
                shmem_long_atomic_fetch_or pshmem_long_atomic_fetch_or;
                shmem_long_atomic_fetch_xor pshmem_long_atomic_fetch_xor;
                shmem_long_atomic_swap pshmem_long_atomic_swap; shmem_long_fadd pshmem_long_fadd;
                shmem_long_swap pshmem_long_swap; shmem_longlong_atomic_fetch_add pshmem_longlong_atomic_fetch_add;
                shmem_longlong_atomic_fetch_and pshmem_longlong_atomic_fetch_and;
                shmem_longlong_atomic_fetch_or pshmem_longlong_atomic_fetch_or;
                shmem_longlong_atomic_fetch_xor pshmem_longlong_atomic_fetch_xor;
                shmem_longlong_atomic_swap pshmem_longlong_atomic_swap; shmem_longlong_fadd pshmem_longlong_fadd;
                shmem_longlong_swap pshmem_longlong_swap;
                shmem_uint64_atomic_fetch_and pshmem_uint64_atomic_fetch_and;
                shmem_uint64_atomic_fetch_or pshmem_uint64_atomic_fetch_or;
                shmem_uint64_atomic_fetch_xor pshmem_uint64_atomic_fetch_xor;
                shmem_ulong_atomic_fetch_add pshmem_ulong_atomic_fetch_add;
                shmem_ulong_atomic_fetch_and pshmem_ulong_atomic_fetch_and;
                shmem_ulong_atomic_fetch_or pshmem_ulong_atomic_fetch_or;
                shmem_ulong_atomic_fetch_xor pshmem_ulong_atomic_fetch_xor;
                shmem_ulong_atomic_swap pshmem_ulong_atomic_swap;
                shmem_ulonglong_atomic_fetch_add pshmem_ulonglong_atomic_fetch_add;
                shmem_ulonglong_atomic_fetch_and pshmem_ulonglong_atomic_fetch_and;
                shmem_ulonglong_atomic_fetch_or pshmem_ulonglong_atomic_fetch_or;
                shmem_ulonglong_atomic_fetch_xor pshmem_ulonglong_atomic_fetch_xor;
                shmem_ulonglong_atomic_swap pshmem_ulonglong_atomic_swap;
            }
            Atomic Transfer 3 (Elements(Both, ONE, 8)) (Rank(2)) (At(1)) {
                shmem_ctx_double_atomic_swap pshmem_ctx_double_atomic_swap;
                shmem_ctx_long_atomic_fetch_inc pshmem_ctx_long_atomic_fetch_inc;
                shmem_ctx_longlong_atomic_fetch_inc pshmem_ctx_longlong_atomic_fetch_inc;
                shmem_ctx_ulong_atomic_fetch_inc pshmem_ctx_ulong_atomic_fetch_inc;
                shmem_ctx_ulonglong_atomic_fetch_inc pshmem_ctx_ulonglong_atomic_fetch_inc;
            }
            Atomic Transfer 3 (Elements(Received, ONE, 4)) (Rank(2)) (At(1)) {
                shmem_ctx_float_atomic_fetch pshmem_ctx_float_atomic_fetch;
                shmem_ctx_int_atomic_fetch pshmem_ctx_int_atomic_fetch;
                shmem_ctx_uint_atomic_fetch pshmem_ctx_uint_atomic_fetch;
            }
            Atomic Transfer 3 (Elements(Received, ONE, 8)) (Rank(2)) (At(1)) {
                shmem_ctx_double_atomic_fetch pshmem_ctx_double_atomic_fetch;
                shmem_ctx_long_atomic_fetch pshmem_ctx_long_atomic_fetch;
                shmem_ctx_longlong_atomic_fetch pshmem_ctx_longlong_atomic_fetch;
                shmem_ctx_ulong_atomic_fetch pshmem_ctx_ulong_atomic_fetch;
                shmem_ctx_ulonglong_atomic_fetch pshmem_ctx_ulonglong_atomic_fetch;
            }
            Atomic Transfer 3 (Elements(Sent, ONE, 4)) (Rank(2)) (At(0)) {
                shmem_int32_atomic_and pshmem_int32_atomic_and; shmem_int32_atomic_or pshmem_int32_atomic_or;
                shmem_int32_atomic_xor pshmem_int32_atomic_xor; shmem_int_add pshmem_int_add;
                shmem_int_atomic_add pshmem_int_atomic_add; shmem_int_atomic_and pshmem_int_atomic_and;
                shmem_int_atomic_or pshmem_int_atomic_or; shmem_int_atomic_set pshmem_int_atomic_set;
                shmem_int_atomic_xor pshmem_int_atomic_xor; shmem_int_set pshmem_int_set;
                shmem_uint32_atomic_and pshmem_uint32_atomic_and; shmem_uint32_atomic_or pshmem_uint32_atomic_or;
                shmem_uint32_atomic_xor pshmem_uint32_atomic_xor; shmem_uint_atomic_add pshmem_uint_atomic_add;
                shmem_uint_atomic_and pshmem_uint_atomic_and; shmem_uint_atomic_or pshmem_uint_atomic_or;
                shmem_uint_atomic_set pshmem_uint_atomic_set; shmem_uint_atomic_xor pshmem_uint_atomic_xor;
            }
            Atomic Transfer 3 (Elements(Sent, ONE, 4)) (Rank(2)) (At(1)) {
                shmem_ctx_float_atomic_set pshmem_ctx_float_atomic_set;
                shmem_ctx_int_atomic_inc pshmem_ctx_int_atomic_inc;
                shmem_ctx_uint_atomic_inc pshmem_ctx_uint_atomic_inc;
            }
            Atomic Transfer 3 (Elements(Sent, ONE, 8)) (Rank(2)) (At(0)) {
                shmem_int64_atomic_and pshmem_int64_atomic_and; shmem_int64_atomic_or pshmem_int64_atomic_or;
                shmem_int64_atomic_xor pshmem_int64_atomic_xor; shmem_long_add pshmem_long_add;
                shmem_long_atomic_add pshmem_long_atomic_add; shmem_long_atomic_and pshmem_long_atomic_and;
                shmem_long_atomic_or pshmem_long_atomic_or; shmem_long_atomic_set pshmem_long_atomic_set;
                shmem_long_atomic_xor pshmem_long_atomic_xor; shmem_long_set pshmem_long_set;
                shmem_longlong_add pshmem_longlong_add; shmem_longlong_atomic_add pshmem_longlong_atomic_add;
                shmem_longlong_atomic_and pshmem_longlong_atomic_and;
                shmem_longlong_atomic_or pshmem_longlong_atomic_or;
                shmem_longlong_atomic_set pshmem_longlong_atomic_set;
                shmem_longlong_atomic_xor pshmem_longlong_atomic_xor; shmem_longlong_set pshmem_longlong_set;
                shmem_uint64_atomic_and pshmem_uint64_atomic_and; shmem_uint64_atomic_or pshmem_uint64_atomic_or;
                shmem_uint64_atomic_xor pshmem_uint64_atomic_xor; shmem_ulong_atomic_add pshmem_ulong_atomic_add;
                shmem_ulong_atomic_and pshmem_ulong_atomic_and; shmem_ulong_atomic_or pshmem_ulong_atomic_or;
                shmem_ulong_atomic_set pshmem_ulong_atomic_set; shmem_ulong_atomic_xor pshmem_ulong_atomic_xor;
                shmem_ulonglong_atomic_add pshmem_ulonglong_atomic_add;
                shmem_ulonglong_atomic_and pshmem_ulonglong_atomic_and;
                shmem_ulonglong_atomic_or pshmem_ulonglong_atomic_or;
                shmem_ulonglong_atomic_set pshmem_ulonglong_atomic_set;
                shmem_ulonglong_atomic_xor pshmem_ulonglong_atomic_xor;
            }
            Atomic Transfer 3 (Elements(Sent, ONE, 8)) (Rank(2)) (At(1)) {
                shmem_ctx_double_atomic_set pshmem_ctx_double_atomic_set;
                shmem_ctx_long_atomic_inc pshmem_ctx_long_atomic_inc;
                shmem_ctx_longlong_atomic_inc pshmem_ctx_longlong_atomic_inc;
                shmem_ctx_ulong_atomic_inc pshmem_ctx_ulong_atomic_inc;
                shmem_ctx_ulonglong_atomic_inc pshmem_ctx_ulonglong_atomic_inc;
            }
            Atomic Transfer 4 (Elements(Both, ONE, 4)) (Rank(3)) (At(0)) {
                shmem_int_atomic_compare_swap pshmem_int_atomic_compare_swap; shmem_int_cswap pshmem_int_cswap;
                shmem_uint_atomic_compare_swap pshmem_uint_atomic_compare_swap;
            }
            Atomic Transfer 4 (Elements(Both, ONE, 4)) (Rank(3)) (At(1)) {
                shmem_ctx_int32_atomic_fetch_and pshmem_ctx_int32_atomic_fetch_and;
                shmem_ctx_int32_atomic_fetch_or pshmem_ctx_int32_atomic_fetch_or;
                shmem_ctx_int32_atomic_fetch_xor pshmem_ctx_int32_atomic_fetch_xor;
                shmem_ctx_int_atomic_fetch_add pshmem_ctx_int_atomic_fetch_add;
                shmem_ctx_int_atomic_fetch_and pshmem_ctx_int_atomic_fetch_and;
                shmem_ctx_int_atomic_fetch_or pshmem_ctx_int_atomic_fetch_or;
                shmem_ctx_int_atomic_fetch_xor pshmem_ctx_int_atomic_fetch_xor;
                shmem_ctx_int_atomic_swap pshmem_ctx_int_atomic_swap;
                shmem_ctx_uint32_atomic_fetch_and pshmem_ctx_uint32_atomic_fetch_and;
                shmem_ctx_uint32_atomic_fetch_or pshmem_ctx_uint32_atomic_fetch_or;
                shmem_ctx_uint32_atomic_fetch_xor pshmem_ctx_uint32_atomic_fetch_xor;
                shmem_ctx_uint_atomic_fetch_add pshmem_ctx_uint_atomic_fetch_add;
                shmem_ctx_uint_atomic_fetch_and pshmem_ctx_uint_atomic_fetch_and;
                shmem_ctx_uint_atomic_fetch_or pshmem_ctx_uint_atomic_fetch_or;
                shmem_ctx_uint_atomic_fetch_xor pshmem_ctx_uint_atomic_fetch_xor;
                shmem_ctx_uint_atomic_swap pshmem_ctx_uint_atomic_swap;
            }
            Atomic Transfer 4 (Elements(Both, ONE, 8)) (Rank(3)) (At(0)) {
                shmem_long_atomic_compare_swap pshmem_long_atomic_compare_swap; shmem_long_cswap pshmem_long_cswap;
                shmem_longlong_atomic_compare_swap pshmem_longlong_atomic_compare_swap;
                shmem_longlong_cswap pshmem_longlong_cswap;
                shmem_ulong_atomic_compare_swap pshmem_ulong_atomic_compare_swap;
                shmem_ulonglong_atomic_compare_swap pshmem_ulonglong_atomic_compare_swap;
            }
            Atomic Transfer 4 (Elements(Both, ONE, 8)) (Rank(3)) (At(1)) {
                shmem_ctx_int64_atomic_fetch_and pshmem_ctx_int64_atomic_fetch_and;
                shmem_ctx_int64_atomic_fetch_or pshmem_ctx_int64_atomic_fetch_or;
                shmem_ctx_int64_atomic_fetch_xor pshmem_ctx_int64_atomic_fetch_xor;
                shmem_ctx_long_atomic_fetch_add pshmem_ctx_long_atomic_fetch_add;
                shmem_ctx_long_atomic_fetch_and pshmem_ctx_long_atomic_fetch_and;
                shmem_ctx_long_atomic_fetch_or pshmem_ctx_long_atomic_fetch_or;
                shmem_ctx_long_atomic_fetch_xor pshmem_ctx_long_atomic_fetch_xor;
                shmem_ctx_long_atomic_swap pshmem_ctx_long_atomic_swap;
                shmem_ctx_longlong_atomic_fetch_add pshmem_ctx_longlong_atomic_fetch_add;
                shmem_ctx_longlong_atomic_fetch_and pshmem_ctx_longlong_atomic_fetch_and;
                shmem_ctx_longlong_atomic_fetch_or pshmem_ctx_longlong_atomic_fetch_or;
                shmem_ctx_longlong_atomic_fetch_xor pshmem_ctx_longlong_atomic_fetch_xor;
                shmem_ctx_longlong_atomic_swap pshmem_ctx_longlong_atomic_swap;
                shmem_ctx_uint64_atomic_fetch_and pshmem_ctx_uint64_atomic_fetch_and;
                shmem_ctx_uint64_atomic_fetch_or pshmem_ctx_uint64_atomic_fetch_or;
                shmem_ctx_uint64_atomic_fetch_xor pshmem_ctx_uint64_atomic_fetch_xor;
                shmem_ctx_ulong_atomic_fetch_add pshmem_ctx_ulong_atomic_fetch_add;
                shmem_ctx_ulong_atomic_fetch_and pshmem_ctx_ulong_atomic_fetch_and;
                shmem_ctx_ulong_atomic_fetch_or pshmem_ctx_ulong_atomic_fetch_or;
                shmem_ctx_ulong_atomic_fetch_xor pshmem_ctx_ulong_atomic_fetch_xor;
                shmem_ctx_ulong_atomic_swap pshmem_ctx_ulong_atomic_swap;
                shmem_ctx_ulonglong_atomic_fetch_add pshmem_ctx_ulonglong_atomic_fetch_add;
                shmem_ctx_ulonglong_atomic_fetch_and pshmem_ctx_ulonglong_atomic_fetch_and;
                shmem_ctx_ulonglong_atomic_fetch_or pshmem_ctx_ulonglong_atomic_fetch_or;
                shmem_ctx_ulonglong_atomic_fetch_xor pshmem_ctx_ulonglong_atomic_fetch_xor;
                shmem_ctx_ulonglong_atomic_swap pshmem_ctx_ulonglong_atomic_swap;
            }
            Atomic Transfer 4 (Elements(Sent, ONE, 4)) (Rank(3)) (At(1)) {
                shmem_ctx_int32_atomic_and pshmem_ctx_int32_atomic_and;
                shmem_ctx_int32_atomic_or pshmem_ctx_int32_atomic_or;
                shmem_ctx_int32_atomic_xor pshmem_ctx_int32_atomic_xor;
                shmem_ctx_int_atomic_add pshmem_ctx_int_atomic_add;
                shmem_ctx_int_atomic_and pshmem_ctx_int_atomic_and;
                shmem_ctx_int_atomic_or pshmem_ctx_int_atomic_or;
                shmem_ctx_int_atomic_set pshmem_ctx_int_atomic_set;
                shmem_ctx_int_atomic_xor pshmem_ctx_int_atomic_xor;
                shmem_ctx_uint32_atomic_and pshmem_ctx_uint32_atomic_and;
                shmem_ctx_uint32_atomic_or pshmem_ctx_uint32_atomic_or;
                shmem_ctx_uint32_atomic_xor pshmem_ctx_uint32_atomic_xor;
                shmem_ctx_uint_atomic_add pshmem_ctx_uint_atomic_add;
                shmem_ctx_uint_atomic_and pshmem_ctx_uint_atomic_and;
                shmem_ctx_uint_atomic_or pshmem_ctx_uint_atomic_or;
                shmem_ctx_uint_atomic_set pshmem_ctx_uint_atomic_set;
                shmem_ctx_uint_atomic_xor pshmem_ctx_uint_atomic_xor;
            }
            Atomic Transfer 4 (Elements(Sent, ONE, 8)) (Rank(3)) (At(1)) {
                shmem_ctx_int64_atomic_and pshmem_ctx_int64_atomic_and;
                shmem_ctx_int64_atomic_or pshmem_ctx_int64_atomic_or;
                shmem_ctx_int64_atomic_xor pshmem_ctx_int64_atomic_xor;
                shmem_ctx_long_atomic_add pshmem_ctx_long_atomic_add;
                shmem_ctx_long_atomic_and pshmem_ctx_long_atomic_and;
                shmem_ctx_long_atomic_or pshmem_ctx_long_atomic_or;
                shmem_ctx_long_atomic_set pshmem_ctx_long_atomic_set;
                shmem_ctx_long_atomic_xor pshmem_ctx_long_atomic_xor;
                shmem_ctx_longlong_atomic_add pshmem_ctx_longlong_atomic_add;
                shmem_ctx_longlong_atomic_and pshmem_ctx_longlong_atomic_and;
                shmem_ctx_longlong_atomic_or pshmem_ctx_longlong_atomic_or;
                shmem_ctx_longlong_atomic_set pshmem_ctx_longlong_atomic_set;
                shmem_ctx_longlong_atomic_xor pshmem_ctx_longlong_atomic_xor;
                shmem_ctx_uint64_atomic_and pshmem_ctx_uint64_atomic_and;
                shmem_ctx_uint64_atomic_or pshmem_ctx_uint64_atomic_or;
                shmem_ctx_uint64_atomic_xor pshmem_ctx_uint64_atomic_xor;
                shmem_ctx_ulong_atomic_add pshmem_ctx_ulong_atomic_add;
                shmem_ctx_ulong_atomic_and pshmem_ctx_ulong_atomic_and;
                shmem_ctx_ulong_atomic_or pshmem_ctx_ulong_atomic_or;
                shmem_ctx_ulong_atomic_set pshmem_ctx_ulong_atomic_set;
                shmem_ctx_ulong_atomic_xor pshmem_ctx_ulong_atomic_xor;
                shmem_ctx_ulonglong_atomic_add pshmem_ctx_ulonglong_atomic_add;
                shmem_ctx_ulonglong_atomic_and pshmem_ctx_ulonglong_atomic_and;
                shmem_ctx_ulonglong_atomic_or pshmem_ctx_ulonglong_atomic_or;
                shmem_ctx_ulonglong_atomic_set pshmem_ctx_ulonglong_atomic_set;
                shmem_ctx_ulonglong_atomic_xor pshmem_ctx_ulonglong_atomic_xor;
            }
            Atomic Transfer 5 (Elements(Both, ONE, 4)) (Rank(4)) (At(1)) {
                shmem_ctx_int_atomic_compare_swap pshmem_ctx_int_atomic_compare_swap;
                shmem_ctx_uint_atomic_compare_swap pshmem_ctx_uint_atomic_compare_swap;
            }
            Atomic Transfer 5 (Elements(Both, ONE, 8)) (Rank(4)) (At(1)) {
                shmem_ctx_long_atomic_compare_swap pshmem_ctx_long_atomic_compare_swap;
                shmem_ctx_longlong_atomic_compare_swap pshmem_ctx_longlong_atomic_compare_swap;
                shmem_ctx_ulong_atomic_compare_swap pshmem_ctx_ulong_atomic_compare_swap;
                shmem_ctx_ulonglong_atomic_compare_swap pshmem_ctx_ulonglong_atomic_compare_swap;
            }
            Barrier Barrier 0 (NoBytes) (Nobody) (Object::None) {
                shmem_barrier_all pshmem_barrier_all; shmem_sync_all pshmem_sync_all;
            }
            Barrier Barrier 4 (NoBytes) (Nobody) (Object::None) {
                shmem_barrier pshmem_barrier; shmem_sync pshmem_sync;
            }
            Collective Collective 7 (Bytes::Alltoall(2, 4)) (Nobody) (At(0)) {
                shmem_alltoall32 pshmem_alltoall32;
            }
            Collective Collective 7 (Bytes::Alltoall(2, 8)) (Nobody) (At(0)) {
                shmem_alltoall64 pshmem_alltoall64;
            }
            Collective Collective 7 (Bytes::Collect(2, 4)) (Nobody) (At(0)) {
                shmem_collect32 pshmem_collect32;
            }
            Collective Collective 7 (Bytes::Collect(2, 8)) (Nobody) (At(0)) {
                shmem_collect64 pshmem_collect64;
            }
            Collective Collective 7 (Bytes::FixedCollect(2, 4)) (Nobody) (At(0)) {
                shmem_fcollect32 pshmem_fcollect32;
            }
            Collective Collective 7 (Bytes::FixedCollect(2, 8)) (Nobody) (At(0)) {
                shmem_fcollect64 pshmem_fcollect64;
            }
            Collective Collective 8 (Bytes::Broadcast(2, 4)) (Nobody) (At(0)) {
                shmem_broadcast32 pshmem_broadcast32;
            }
            Collective Collective 8 (Bytes::Broadcast(2, 8)) (Nobody) (At(0)) {
                shmem_broadcast64 pshmem_broadcast64;
            }
            Collective Collective 8 (Bytes::Reduce(2, 16)) (Nobody) (At(0)) {
                shmem_complexd_prod_to_all pshmem_complexd_prod_to_all;
                shmem_complexd_sum_to_all pshmem_complexd_sum_to_all;
                shmem_longdouble_max_to_all pshmem_longdouble_max_to_all;
                shmem_longdouble_min_to_all pshmem_longdouble_min_to_all;
                shmem_longdouble_prod_to_all pshmem_longdouble_prod_to_all;
                shmem_longdouble_sum_to_all pshmem_longdouble_sum_to_all;
            }
            Collective Collective 8 (Bytes::Reduce(2, 2)) (Nobody) (At(0)) {
                shmem_short_and_to_all pshmem_short_and_to_all; shmem_short_max_to_all pshmem_short_max_to_all;
                shmem_short_min_to_all pshmem_short_min_to_all; shmem_short_or_to_all pshmem_short_or_to_all;
                shmem_short_prod_to_all pshmem_short_prod_to_all; shmem_short_sum_to_all pshmem_short_sum_to_all;
                shmem_short_xor_to_all pshmem_short_xor_to_all;
            }
            Collective Collective 8 (Bytes::Reduce(2, 4)) (Nobody) (At(0)) {
                shmem_float_max_to_all pshmem_float_max_to_all; shmem_float_min_to_all pshmem_float_min_to_all;
                shmem_float_prod_to_all pshmem_float_prod_to_all; shmem_float_sum_to_all pshmem_float_sum_to_all;
                shmem_int_and_to_all pshmem_int_and_to_all; shmem_int_max_to_all pshmem_int_max_to_all;
                shmem_int_min_to_all pshmem_int_min_to_all; shmem_int_or_to_all pshmem_int_or_to_all;
                shmem_int_prod_to_all pshmem_int_prod_to_all; shmem_int_sum_to_all pshmem_int_sum_to_all;
                shmem_int_xor_to_all pshmem_int_xor_to_all;
            }
            Collective Collective 8 (Bytes::Reduce(2, 8)) (Nobody) (At(0)) {
                shmem_complexf_prod_to_all pshmem_complexf_prod_to_all;
                shmem_complexf_sum_to_all pshmem_complexf_sum_to_all;
                shmem_double_max_to_all pshmem_double_max_to_all; shmem_double_min_to_all pshmem_double_min_to_all;
                shmem_double_prod_to_all pshmem_double_prod_to_all;
                shmem_double_sum_to_all pshmem_double_sum_to_all; shmem_long_and_to_all pshmem_long_and_to_all;
                shmem_long_max_to_all pshmem_long_max_to_all; shmem_long_min_to_all pshmem_long_min_to_all;
                shmem_long_or_to_all pshmem_long_or_to_all; shmem_long_prod_to_all pshmem_long_prod_to_all;
                shmem_long_sum_to_all pshmem_long_sum_to_all; shmem_long_xor_to_all pshmem_long_xor_to_all;
                shmem_longlong_and_to_all pshmem_longlong_and_to_all;
                shmem_longlong_max_to_all pshmem_longlong_max_to_all;
                shmem_longlong_min_to_all pshmem_longlong_min_to_all;
                shmem_longlong_or_to_all pshmem_longlong_or_to_all;
                shmem_longlong_prod_to_all pshmem_longlong_prod_to_all;
                shmem_longlong_sum_to_all pshmem_longlong_sum_to_all;
                shmem_longlong_xor_to_all pshmem_longlong_xor_to_all;
            }
            Collective Collective 9 (Bytes::Alltoall(4, 4)) (Nobody) (At(0)) {
                shmem_alltoalls32 pshmem_alltoalls32;
            }
            Collective Collective 9 (Bytes::Alltoall(4, 8)) (Nobody) (At(0)) {
                shmem_alltoalls64 pshmem_alltoalls64;
            }
            Fence Quiet 0 (NoBytes) (Nobody) (Object::None) {
                shmem_fence pshmem_fence;
            }
            Fence Quiet 1 (NoBytes) (Nobody) (Object::None) {
                shmem_ctx_fence pshmem_ctx_fence;
            }
            Get Nothing 4 (Elements(Received, 2, 1)) (Rank(3)) (At(1)) {
                shmem_char_get_nbi pshmem_char_get_nbi; shmem_get8_nbi pshmem_get8_nbi;
                shmem_getmem_nbi pshmem_getmem_nbi; shmem_int8_get_nbi pshmem_int8_get_nbi;
                shmem_schar_get_nbi pshmem_schar_get_nbi; shmem_uchar_get_nbi pshmem_uchar_get_nbi;
                shmem_uint8_get_nbi pshmem_uint8_get_nbi;
            }
            Get Nothing 4 (Elements(Received, 2, 16)) (Rank(3)) (At(1)) {
                shmem_get128_nbi pshmem_get128_nbi; shmem_longdouble_get_nbi pshmem_longdouble_get_nbi;
            }
            Get Nothing 4 (Elements(Received, 2, 2)) (Rank(3)) (At(1)) {
                shmem_get16_nbi pshmem_get16_nbi; shmem_int16_get_nbi pshmem_int16_get_nbi;
                shmem_short_get_nbi pshmem_short_get_nbi; shmem_uint16_get_nbi pshmem_uint16_get_nbi;
                shmem_ushort_get_nbi pshmem_ushort_get_nbi;
            }
            Get Nothing 4 (Elements(Received, 2, 4)) (Rank(3)) (At(1)) {
                shmem_float_get_nbi pshmem_float_get_nbi; shmem_get32_nbi pshmem_get32_nbi;
                shmem_int32_get_nbi pshmem_int32_get_nbi; shmem_int_get_nbi pshmem_int_get_nbi;
                shmem_uint32_get_nbi pshmem_uint32_get_nbi; shmem_uint_get_nbi pshmem_uint_get_nbi;
            }
            Get Nothing 4 (Elements(Received, 2, 8)) (Rank(3)) (At(1)) {
                shmem_double_get_nbi pshmem_double_get_nbi; shmem_get64_nbi pshmem_get64_nbi;
                shmem_int64_get_nbi pshmem_int64_get_nbi; shmem_long_get_nbi pshmem_long_get_nbi;
                shmem_longlong_get_nbi pshmem_longlong_get_nbi; shmem_ptrdiff_get_nbi pshmem_ptrdiff_get_nbi;
                shmem_size_get_nbi pshmem_size_get_nbi; shmem_uint64_get_nbi pshmem_uint64_get_nbi;
                shmem_ulong_get_nbi pshmem_ulong_get_nbi; shmem_ulonglong_get_nbi pshmem_ulonglong_get_nbi;
            }
            Get Nothing 5 (Elements(Received, 3, 1)) (Rank(4)) (At(2)) {
                shmem_ctx_char_get_nbi pshmem_ctx_char_get_nbi; shmem_ctx_get8_nbi pshmem_ctx_get8_nbi;
                shmem_ctx_getmem_nbi pshmem_ctx_getmem_nbi; shmem_ctx_int8_get_nbi pshmem_ctx_int8_get_nbi;
                shmem_ctx_schar_get_nbi pshmem_ctx_schar_get_nbi; shmem_ctx_uchar_get_nbi pshmem_ctx_uchar_get_nbi;
                shmem_ctx_uint8_get_nbi pshmem_ctx_uint8_get_nbi;
            }
            Get Nothing 5 (Elements(Received, 3, 16)) (Rank(4)) (At(2)) {
                shmem_ctx_get128_nbi pshmem_ctx_get128_nbi;
                shmem_ctx_longdouble_get_nbi pshmem_ctx_longdouble_get_nbi;
            }
            Get Nothing 5 (Elements(Received, 3, 2)) (Rank(4)) (At(2)) {
                shmem_ctx_get16_nbi pshmem_ctx_get16_nbi; shmem_ctx_int16_get_nbi pshmem_ctx_int16_get_nbi;
                shmem_ctx_short_get_nbi pshmem_ctx_short_get_nbi;
                shmem_ctx_uint16_get_nbi pshmem_ctx_uint16_get_nbi;
                shmem_ctx_ushort_get_nbi pshmem_ctx_ushort_get_nbi;
            }
            Get Nothing 5 (Elements(Received, 3, 4)) (Rank(4)) (At(2)) {
                shmem_ctx_float_get_nbi pshmem_ctx_float_get_nbi; shmem_ctx_get32_nbi pshmem_ctx_get32_nbi;
                shmem_ctx_int32_get_nbi pshmem_ctx_int32_get_nbi; shmem_ctx_int_get_nbi pshmem_ctx_int_get_nbi;
                shmem_ctx_uint32_get_nbi pshmem_ctx_uint32_get_nbi; shmem_ctx_uint_get_nbi pshmem_ctx_uint_get_nbi;
            }
            Get Nothing 5 (Elements(Received, 3, 8)) (Rank(4)) (At(2)) {
                shmem_ctx_double_get_nbi pshmem_ctx_double_get_nbi; shmem_ctx_get64_nbi pshmem_ctx_get64_nbi;
                shmem_ctx_int64_get_nbi pshmem_ctx_int64_get_nbi; shmem_ctx_long_get_nbi pshmem_ctx_long_get_nbi;
                shmem_ctx_longlong_get_nbi pshmem_ctx_longlong_get_nbi;
                shmem_ctx_ptrdiff_get_nbi pshmem_ctx_ptrdiff_get_nbi;
                shmem_ctx_size_get_nbi pshmem_ctx_size_get_nbi; shmem_ctx_uint64_get_nbi pshmem_ctx_uint64_get_nbi;
                shmem_ctx_ulong_get_nbi pshmem_ctx_ulong_get_nbi;
                shmem_ctx_ulonglong_get_nbi pshmem_ctx_ulonglong_get_nbi;
            }
            Get Transfer 2 (Elements(Received, ONE, 1)) (Rank(1)) (At(0)) {
                shmem_char_g pshmem_char_g; shmem_int8_g pshmem_int8_g; shmem_schar_g pshmem_schar_g;
                shmem_uchar_g pshmem_uchar_g; shmem_uint8_g pshmem_uint8_g;
            }
            Get Transfer 2 (Elements(Received, ONE, 16)) (Rank(1)) (At(0)) {
                shmem_longdouble_g pshmem_longdouble_g;
            }
            Get Transfer 2 (Elements(Received, ONE, 2)) (Rank(1)) (At(0)) {
                shmem_int16_g pshmem_int16_g; shmem_short_g pshmem_short_g; shmem_uint16_g pshmem_uint16_g;
                shmem_ushort_g pshmem_ushort_g;
            }
            Get Transfer 2 (Elements(Received, ONE, 4)) (Rank(1)) (At(0)) {
                shmem_float_g pshmem_float_g; shmem_int32_g pshmem_int32_g; shmem_int_g pshmem_int_g;
                shmem_uint32_g pshmem_uint32_g; shmem_uint_g pshmem_uint_g;
            }
            Get Transfer 2 (Elements(Received, ONE, 8)) (Rank(1)) (At(0)) {
                shmem_double_g pshmem_double_g; shmem_int64_g pshmem_int64_g; shmem_long_g pshmem_long_g;
                shmem_longlong_g pshmem_longlong_g; shmem_ptrdiff_g pshmem_ptrdiff_g; shmem_size_g pshmem_size_g;
                shmem_uint64_g pshmem_uint64_g; shmem_ulong_g pshmem_ulong_g; shmem_ulonglong_g pshmem_ulonglong_g;
            }
            Get Transfer 3 (Elements(Received, ONE, 1)) (Rank(2)) (At(1)) {
                shmem_ctx_char_g pshmem_ctx_char_g; shmem_ctx_int8_g pshmem_ctx_int8_g;
                shmem_ctx_schar_g pshmem_ctx_schar_g; shmem_ctx_uchar_g pshmem_ctx_uchar_g;
                shmem_ctx_uint8_g pshmem_ctx_uint8_g;
            }
            Get Transfer 3 (Elements(Received, ONE, 16)) (Rank(2)) (At(1)) {
                shmem_ctx_longdouble_g pshmem_ctx_longdouble_g;
            }
            Get Transfer 3 (Elements(Received, ONE, 2)) (Rank(2)) (At(1)) {
                shmem_ctx_int16_g pshmem_ctx_int16_g; shmem_ctx_short_g pshmem_ctx_short_g;
                shmem_ctx_uint16_g pshmem_ctx_uint16_g; shmem_ctx_ushort_g pshmem_ctx_ushort_g;
            }
            Get Transfer 3 (Elements(Received, ONE, 4)) (Rank(2)) (At(1)) {
                shmem_ctx_float_g pshmem_ctx_float_g; shmem_ctx_int32_g pshmem_ctx_int32_g;
                shmem_ctx_int_g pshmem_ctx_int_g; shmem_ctx_uint32_g pshmem_ctx_uint32_g;
                shmem_ctx_uint_g pshmem_ctx_uint_g;
            }
            Get Transfer 3 (Elements(Received, ONE, 8)) (Rank(2)) (At(1)) {
                shmem_ctx_double_g pshmem_ctx_double_g; shmem_ctx_int64_g pshmem_ctx_int64_g;
                shmem_ctx_long_g pshmem_ctx_long_g; shmem_ctx_longlong_g pshmem_ctx_longlong_g;
                shmem_ctx_ptrdiff_g pshmem_ctx_ptrdiff_g; shmem_ctx_size_g pshmem_ctx_size_g;
                shmem_ctx_uint64_g pshmem_ctx_uint64_g; shmem_ctx_ulong_g pshmem_ctx_ulong_g;
                shmem_ctx_ulonglong_g pshmem_ctx_ulonglong_g;
            }
            Get Transfer 4 (Elements(Received, 2, 1)) (Rank(3)) (At(1)) {
                shmem_char_get pshmem_char_get; shmem_get8 pshmem_get8; shmem_getmem pshmem_getmem;
                shmem_int8_get pshmem_int8_get; shmem_schar_get pshmem_schar_get; shmem_uchar_get pshmem_uchar_get;
                shmem_uint8_get pshmem_uint8_get;
            }
            Get Transfer 4 (Elements(Received, 2, 16)) (Rank(3)) (At(1)) {
                shmem_get128 pshmem_get128; shmem_longdouble_get pshmem_longdouble_get;
            }
            Get Transfer 4 (Elements(Received, 2, 2)) (Rank(3)) (At(1)) {
                shmem_get16 pshmem_get16; shmem_int16_get pshmem_int16_get; shmem_short_get pshmem_short_get;
                shmem_uint16_get pshmem_uint16_get; shmem_ushort_get pshmem_ushort_get;
            }
            Get Transfer 4 (Elements(Received, 2, 4)) (Rank(3)) (At(1)) {
                shmem_float_get pshmem_float_get; shmem_get32 pshmem_get32; shmem_int32_get pshmem_int32_get;
                shmem_int_get pshmem_int_get; shmem_uint32_get pshmem_uint32_get; shmem_uint_get pshmem_uint_get;
            }
            Get Transfer 4 (Elements(Received, 2, 8)) (Rank(3)) (At(1)) {
                shmem_double_get pshmem_double_get; shmem_get64 pshmem_get64; shmem_int64_get pshmem_int64_get;
                shmem_long_get pshmem_long_get; shmem_longlong_get pshmem_longlong_get;
                shmem_ptrdiff_get pshmem_ptrdiff_get; shmem_size_get pshmem_size_get;
                shmem_uint64_get pshmem_uint64_get; shmem_ulong_get pshmem_ulong_get;
                shmem_ulonglong_get pshmem_ulonglong_get;
            }
            Get Transfer 5 (Elements(Received, 3, 1)) (Rank(4)) (At(2)) {
                shmem_ctx_char_get pshmem_ctx_char_get; shmem_ctx_get8 pshmem_ctx_get8;
                shmem_ctx_getmem pshmem_ctx_getmem; shmem_ctx_int8_get pshmem_ctx_int8_get;
                shmem_ctx_schar_get pshmem_ctx_schar_get; shmem_ctx_uchar_get pshmem_ctx_uchar_get;
                shmem_ctx_uint8_get pshmem_ctx_uint8_get;
            }
            Get Transfer 5 (Elements(Received, 3, 16)) (Rank(4)) (At(2)) {
                shmem_ctx_get128 pshmem_ctx_get128; shmem_ctx_longdouble_get pshmem_ctx_longdouble_get;
            }
            Get Transfer 5 (Elements(Received, 3, 2)) (Rank(4)) (At(2)) {
                shmem_ctx_get16 pshmem_ctx_get16; shmem_ctx_int16_get pshmem_ctx_int16_get;
                shmem_ctx_short_get pshmem_ctx_short_get; shmem_ctx_uint16_get pshmem_ctx_uint16_get;
                shmem_ctx_ushort_get pshmem_ctx_ushort_get;
            }
            Get Transfer 5 (Elements(Received, 3, 4)) (Rank(4)) (At(2)) {
                shmem_ctx_float_get pshmem_ctx_float_get; shmem_ctx_get32 pshmem_ctx_get32;
                shmem_ctx_int32_get pshmem_ctx_int32_get; shmem_ctx_int_get pshmem_ctx_int_get;
                shmem_ctx_uint32_get pshmem_ctx_uint32_get; shmem_ctx_uint_get pshmem_ctx_uint_get;
            }
            Get Transfer 5 (Elements(Received, 3, 8)) (Rank(4)) (At(2)) {
                shmem_ctx_double_get pshmem_ctx_double_get; shmem_ctx_get64 pshmem_ctx_get64;
                shmem_ctx_int64_get pshmem_ctx_int64_get; shmem_ctx_long_get pshmem_ctx_long_get;
                shmem_ctx_longlong_get pshmem_ctx_longlong_get; shmem_ctx_ptrdiff_get pshmem_ctx_ptrdiff_get;
                shmem_ctx_size_get pshmem_ctx_size_get; shmem_ctx_uint64_get pshmem_ctx_uint64_get;
                shmem_ctx_ulong_get pshmem_ctx_ulong_get; shmem_ctx_ulonglong_get pshmem_ctx_ulonglong_get;
            }
            Get Transfer 6 (Elements(Received, 4, 1)) (Rank(5)) (At(1)) {
                shmem_char_iget pshmem_char_iget; shmem_iget8 pshmem_iget8; shmem_int8_iget pshmem_int8_iget;
                shmem_schar_iget pshmem_schar_iget; shmem_uchar_iget pshmem_uchar_iget;
                shmem_uint8_iget pshmem_uint8_iget;
            }
            Get Transfer 6 (Elements(Received, 4, 16)) (Rank(5)) (At(1)) {
                shmem_iget128 pshmem_iget128; shmem_longdouble_iget pshmem_longdouble_iget;
            }
            Get Transfer 6 (Elements(Received, 4, 2)) (Rank(5)) (At(1)) {
                shmem_iget16 pshmem_iget16; shmem_int16_iget pshmem_int16_iget; shmem_short_iget pshmem_short_iget;
                shmem_uint16_iget pshmem_uint16_iget; shmem_ushort_iget pshmem_ushort_iget;
            }
            Get Transfer 6 (Elements(Received, 4, 4)) (Rank(5)) (At(1)) {
                shmem_float_iget pshmem_float_iget; shmem_iget32 pshmem_iget32; shmem_int32_iget pshmem_int32_iget;
                shmem_int_iget pshmem_int_iget; shmem_uint32_iget pshmem_uint32_iget;
                shmem_uint_iget pshmem_uint_iget;
            }
            Get Transfer 6 (Elements(Received, 4, 8)) (Rank(5)) (At(1)) {
                shmem_double_iget pshmem_double_iget; shmem_iget64 pshmem_iget64;
                shmem_int64_iget pshmem_int64_iget; shmem_long_iget pshmem_long_iget;
                shmem_longlong_iget pshmem_longlong_iget; shmem_ptrdiff_iget pshmem_ptrdiff_iget;
                shmem_size_iget pshmem_size_iget; shmem_uint64_iget pshmem_uint64_iget;
                shmem_ulong_iget pshmem_ulong_iget; shmem_ulonglong_iget pshmem_ulonglong_iget;
            }
            Get Transfer 7 (Elements(Received, 5, 1)) (Rank(6)) (At(2)) {
                shmem_ctx_char_iget pshmem_ctx_char_iget; shmem_ctx_iget8 pshmem_ctx_iget8;
                shmem_ctx_int8_iget pshmem_ctx_int8_iget; shmem_ctx_schar_iget pshmem_ctx_schar_iget;
                shmem_ctx_uchar_iget pshmem_ctx_uchar_iget; shmem_ctx_uint8_iget pshmem_ctx_uint8_iget;
            }
            Get Transfer 7 (Elements(Received, 5, 16)) (Rank(6)) (At(2)) {
                shmem_ctx_iget128 pshmem_ctx_iget128; shmem_ctx_longdouble_iget pshmem_ctx_longdouble_iget;
            }
            Get Transfer 7 (Elements(Received, 5, 2)) (Rank(6)) (At(2)) {
                shmem_ctx_iget16 pshmem_ctx_iget16; shmem_ctx_int16_iget pshmem_ctx_int16_iget;
                shmem_ctx_short_iget pshmem_ctx_short_iget; shmem_ctx_uint16_iget pshmem_ctx_uint16_iget;
                shmem_ctx_ushort_iget pshmem_ctx_ushort_iget;
            }
            Get Transfer 7 (Elements(Received, 5, 4)) (Rank(6)) (At(2)) {
                shmem_ctx_float_iget pshmem_ctx_float_iget; shmem_ctx_iget32 pshmem_ctx_iget32;
                shmem_ctx_int32_iget pshmem_ctx_int32_iget; shmem_ctx_int_iget pshmem_ctx_int_iget;
                shmem_ctx_uint32_iget pshmem_ctx_uint32_iget; shmem_ctx_uint_iget pshmem_ctx_uint_iget;
            }
            Get Transfer 7 (Elements(Received, 5, 8)) (Rank(6)) (At(2)) {
                shmem_ctx_double_iget pshmem_ctx_double_iget; shmem_ctx_iget64 pshmem_ctx_iget64;
                shmem_ctx_int64_iget pshmem_ctx_int64_iget; shmem_ctx_long_iget pshmem_ctx_long_iget;
                shmem_ctx_longlong_iget pshmem_ctx_longlong_iget; shmem_ctx_ptrdiff_iget pshmem_ctx_ptrdiff_iget;
                shmem_ctx_size_iget pshmem_ctx_size_iget; shmem_ctx_uint64_iget pshmem_ctx_uint64_iget;
                shmem_ctx_ulong_iget pshmem_ctx_ulong_iget; shmem_ctx_ulonglong_iget pshmem_ctx_ulonglong_iget;
            }
            Lock Lock 1 (NoBytes) (Nobody) (At(0)) {
                shmem_set_lock pshmem_set_lock;
            }
            Lock Nothing 1 (NoBytes) (Nobody) (At(0)) {
                shmem_clear_lock pshmem_clear_lock;
            }
            Lock Nothing 1 (NoBytes) (Nobody) (At(0)) Zero {
                shmem_test_lock pshmem_test_lock;
            }
            Management Collective 0 (NoBytes) (Nobody) (Object::None) {
                shmem_finalize pshmem_finalize;
            }
            Management Nothing 0 (NoBytes) (Nobody) (Object::None) {
                shmem_clear_cache_inv pshmem_clear_cache_inv; shmem_init pshmem_init; shmem_my_pe pshmem_my_pe;
                shmem_n_pes pshmem_n_pes; shmem_set_cache_inv pshmem_set_cache_inv; shmem_udcflush pshmem_udcflush;
            }
            Management Nothing 1 (NoBytes) (Nobody) (Object::None) {
                shmem_clear_cache_line_inv pshmem_clear_cache_line_inv; shmem_ctx_destroy pshmem_ctx_destroy;
                shmem_global_exit pshmem_global_exit; shmem_pe_accessible pshmem_pe_accessible;
                shmem_query_thread pshmem_query_thread; shmem_set_cache_line_inv pshmem_set_cache_line_inv;
                shmem_udcflush_line pshmem_udcflush_line;
            }
            Management Nothing 2 (NoBytes) (Nobody) (Object::None) {
                shmem_addr_accessible pshmem_addr_accessible; shmem_ctx_create pshmem_ctx_create;
                shmem_init_thread pshmem_init_thread; shmem_ptr pshmem_ptr;
            }
            Put Nothing 4 (Elements(Sent, 2, 1)) (Rank(3)) (At(0)) {
                shmem_char_put_nbi pshmem_char_put_nbi; shmem_int8_put_nbi pshmem_int8_put_nbi;
                shmem_put8_nbi pshmem_put8_nbi; shmem_putmem_nbi pshmem_putmem_nbi;
                shmem_schar_put_nbi pshmem_schar_put_nbi; shmem_uchar_put_nbi pshmem_uchar_put_nbi;
                shmem_uint8_put_nbi pshmem_uint8_put_nbi;
            }
            Put Nothing 4 (Elements(Sent, 2, 16)) (Rank(3)) (At(0)) {
                shmem_longdouble_put_nbi pshmem_longdouble_put_nbi; shmem_put128_nbi pshmem_put128_nbi;
            }
            Put Nothing 4 (Elements(Sent, 2, 2)) (Rank(3)) (At(0)) {
                shmem_int16_put_nbi pshmem_int16_put_nbi; shmem_put16_nbi pshmem_put16_nbi;
                shmem_short_put_nbi pshmem_short_put_nbi; shmem_uint16_put_nbi pshmem_uint16_put_nbi;
                shmem_ushort_put_nbi pshmem_ushort_put_nbi;
            }
            Put Nothing 4 (Elements(Sent, 2, 4)) (Rank(3)) (At(0)) {
                shmem_float_put_nbi pshmem_float_put_nbi; shmem_int32_put_nbi pshmem_int32_put_nbi;
                shmem_int_put_nbi pshmem_int_put_nbi; shmem_put32_nbi pshmem_put32_nbi;
                shmem_uint32_put_nbi pshmem_uint32_put_nbi; shmem_uint_put_nbi pshmem_uint_put_nbi;
            }
            Put Nothing 4 (Elements(Sent, 2, 8)) (Rank(3)) (At(0)) {
                shmem_double_put_nbi pshmem_double_put_nbi; shmem_int64_put_nbi pshmem_int64_put_nbi;
                shmem_long_put_nbi pshmem_long_put_nbi; shmem_longlong_put_nbi pshmem_longlong_put_nbi;
                shmem_ptrdiff_put_nbi pshmem_ptrdiff_put_nbi; shmem_put64_nbi pshmem_put64_nbi;
                shmem_size_put_nbi pshmem_size_put_nbi; shmem_uint64_put_nbi pshmem_uint64_put_nbi;
                shmem_ulong_put_nbi pshmem_ulong_put_nbi; shmem_ulonglong_put_nbi pshmem_ulonglong_put_nbi;
            }
            Put Nothing 5 (Elements(Sent, 3, 1)) (Rank(4)) (At(1)) {
                shmem_ctx_char_put_nbi pshmem_ctx_char_put_nbi; shmem_ctx_int8_put_nbi pshmem_ctx_int8_put_nbi;
                shmem_ctx_put8_nbi pshmem_ctx_put8_nbi; shmem_ctx_putmem_nbi pshmem_ctx_putmem_nbi;
                shmem_ctx_schar_put_nbi pshmem_ctx_schar_put_nbi; shmem_ctx_uchar_put_nbi pshmem_ctx_uchar_put_nbi;
                shmem_ctx_uint8_put_nbi pshmem_ctx_uint8_put_nbi;
            }
            Put Nothing 5 (Elements(Sent, 3, 16)) (Rank(4)) (At(1)) {
                shmem_ctx_longdouble_put_nbi pshmem_ctx_longdouble_put_nbi;
                shmem_ctx_put128_nbi pshmem_ctx_put128_nbi;
            }
            Put Nothing 5 (Elements(Sent, 3, 2)) (Rank(4)) (At(1)) {
                shmem_ctx_int16_put_nbi pshmem_ctx_int16_put_nbi; shmem_ctx_put16_nbi pshmem_ctx_put16_nbi;
                shmem_ctx_short_put_nbi pshmem_ctx_short_put_nbi;
                shmem_ctx_uint16_put_nbi pshmem_ctx_uint16_put_nbi;
                shmem_ctx_ushort_put_nbi pshmem_ctx_ushort_put_nbi;
            }
            Put Nothing 5 (Elements(Sent, 3, 4)) (Rank(4)) (At(1)) {
                shmem_ctx_float_put_nbi pshmem_ctx_float_put_nbi; shmem_ctx_int32_put_nbi pshmem_ctx_int32_put_nbi;
                shmem_ctx_int_put_nbi pshmem_ctx_int_put_nbi; shmem_ctx_put32_nbi pshmem_ctx_put32_nbi;
                shmem_ctx_uint32_put_nbi pshmem_ctx_uint32_put_nbi; shmem_ctx_uint_put_nbi pshmem_ctx_uint_put_nbi;
            }
            Put Nothing 5 (Elements(Sent, 3, 8)) (Rank(4)) (At(1)) {
                shmem_ctx_double_put_nbi pshmem_ctx_double_put_nbi;
                shmem_ctx_int64_put_nbi pshmem_ctx_int64_put_nbi; shmem_ctx_long_put_nbi pshmem_ctx_long_put_nbi;
                shmem_ctx_longlong_put_nbi pshmem_ctx_longlong_put_nbi;
                shmem_ctx_ptrdiff_put_nbi pshmem_ctx_ptrdiff_put_nbi; shmem_ctx_put64_nbi pshmem_ctx_put64_nbi;
                shmem_ctx_size_put_nbi pshmem_ctx_size_put_nbi; shmem_ctx_uint64_put_nbi pshmem_ctx_uint64_put_nbi;
                shmem_ctx_ulong_put_nbi pshmem_ctx_ulong_put_nbi;
                shmem_ctx_ulonglong_put_nbi pshmem_ctx_ulonglong_put_nbi;
            }
            Put Transfer 2 (Elements(Sent, ONE, 4)) (Rank(1)) (At(0)) {
                shmem_float_p pshmem_float_p;
            }
            Put Transfer 2 (Elements(Sent, ONE, 8)) (Rank(1)) (At(0)) {
                shmem_double_p pshmem_double_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 1)) (Rank(2)) (At(0)) {
                shmem_char_p pshmem_char_p; shmem_int8_p pshmem_int8_p; shmem_schar_p pshmem_schar_p;
                shmem_uchar_p pshmem_uchar_p; shmem_uint8_p pshmem_uint8_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 2)) (Rank(2)) (At(0)) {
                shmem_int16_p pshmem_int16_p; shmem_short_p pshmem_short_p; shmem_uint16_p pshmem_uint16_p;
                shmem_ushort_p pshmem_ushort_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 4)) (Rank(2)) (At(0)) {
                shmem_int32_p pshmem_int32_p; shmem_int_p pshmem_int_p; shmem_uint32_p pshmem_uint32_p;
                shmem_uint_p pshmem_uint_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 4)) (Rank(2)) (At(1)) {
                shmem_ctx_float_p pshmem_ctx_float_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 8)) (Rank(2)) (At(0)) {
                shmem_int64_p pshmem_int64_p; shmem_long_p pshmem_long_p; shmem_longlong_p pshmem_longlong_p;
                shmem_ptrdiff_p pshmem_ptrdiff_p; shmem_size_p pshmem_size_p; shmem_uint64_p pshmem_uint64_p;
                shmem_ulong_p pshmem_ulong_p; shmem_ulonglong_p pshmem_ulonglong_p;
            }
            Put Transfer 3 (Elements(Sent, ONE, 8)) (Rank(2)) (At(1)) {
                shmem_ctx_double_p pshmem_ctx_double_p;
            }
            Put Transfer 4 (Elements(Sent, 2, 1)) (Rank(3)) (At(0)) {
                shmem_char_put pshmem_char_put; shmem_int8_put pshmem_int8_put; shmem_put8 pshmem_put8;
                shmem_putmem pshmem_putmem; shmem_schar_put pshmem_schar_put; shmem_uchar_put pshmem_uchar_put;
                shmem_uint8_put pshmem_uint8_put;
            }
            Put Transfer 4 (Elements(Sent, 2, 16)) (Rank(3)) (At(0)) {
                shmem_longdouble_put pshmem_longdouble_put; shmem_put128 pshmem_put128;
            }
            Put Transfer 4 (Elements(Sent, 2, 2)) (Rank(3)) (At(0)) {
                shmem_int16_put pshmem_int16_put; shmem_put16 pshmem_put16; shmem_short_put pshmem_short_put;
                shmem_uint16_put pshmem_uint16_put; shmem_ushort_put pshmem_ushort_put;
            }
            Put Transfer 4 (Elements(Sent, 2, 4)) (Rank(3)) (At(0)) {
                shmem_float_put pshmem_float_put; shmem_int32_put pshmem_int32_put; shmem_int_put pshmem_int_put;
                shmem_put32 pshmem_put32; shmem_uint32_put pshmem_uint32_put; shmem_uint_put pshmem_uint_put;
            }
            Put Transfer 4 (Elements(Sent, 2, 8)) (Rank(3)) (At(0)) {
                shmem_double_put pshmem_double_put; shmem_int64_put pshmem_int64_put;
                shmem_long_put pshmem_long_put; shmem_longlong_put pshmem_longlong_put;
                shmem_ptrdiff_put pshmem_ptrdiff_put; shmem_put64 pshmem_put64; shmem_size_put pshmem_size_put;
                shmem_uint64_put pshmem_uint64_put; shmem_ulong_put pshmem_ulong_put;
                shmem_ulonglong_put pshmem_ulonglong_put;
            }
            Put Transfer 4 (Elements(Sent, ONE, 1)) (Rank(3)) (At(1)) {
                shmem_ctx_char_p pshmem_ctx_char_p; shmem_ctx_int8_p pshmem_ctx_int8_p;
                shmem_ctx_schar_p pshmem_ctx_schar_p; shmem_ctx_uchar_p pshmem_ctx_uchar_p;
                shmem_ctx_uint8_p pshmem_ctx_uint8_p;
            }
            Put Transfer 4 (Elements(Sent, ONE, 2)) (Rank(3)) (At(1)) {
                shmem_ctx_int16_p pshmem_ctx_int16_p; shmem_ctx_short_p pshmem_ctx_short_p;
                shmem_ctx_uint16_p pshmem_ctx_uint16_p; shmem_ctx_ushort_p pshmem_ctx_ushort_p;
            }
            Put Transfer 4 (Elements(Sent, ONE, 4)) (Rank(3)) (At(1)) {
                shmem_ctx_int32_p pshmem_ctx_int32_p; shmem_ctx_int_p pshmem_ctx_int_p;
                shmem_ctx_uint32_p pshmem_ctx_uint32_p; shmem_ctx_uint_p pshmem_ctx_uint_p;
            }
            Put Transfer 4 (Elements(Sent, ONE, 8)) (Rank(3)) (At(1)) {
                shmem_ctx_int64_p pshmem_ctx_int64_p; shmem_ctx_long_p pshmem_ctx_long_p;
                shmem_ctx_longlong_p pshmem_ctx_longlong_p; shmem_ctx_ptrdiff_p pshmem_ctx_ptrdiff_p;
                shmem_ctx_size_p pshmem_ctx_size_p; shmem_ctx_uint64_p pshmem_ctx_uint64_p;
                shmem_ctx_ulong_p pshmem_ctx_ulong_p; shmem_ctx_ulonglong_p pshmem_ctx_ulonglong_p;
            }
            Put Transfer 5 (Elements(Sent, 3, 1)) (Rank(4)) (At(1)) {
                shmem_ctx_char_put pshmem_ctx_char_put; shmem_ctx_int8_put pshmem_ctx_int8_put;
                shmem_ctx_put8 pshmem_ctx_put8; shmem_ctx_putmem pshmem_ctx_putmem;
                shmem_ctx_schar_put pshmem_ctx_schar_put; shmem_ctx_uchar_put pshmem_ctx_uchar_put;
                shmem_ctx_uint8_put pshmem_ctx_uint8_put;
            }
            Put Transfer 5 (Elements(Sent, 3, 16)) (Rank(4)) (At(1)) {
                shmem_ctx_longdouble_put pshmem_ctx_longdouble_put; shmem_ctx_put128 pshmem_ctx_put128;
            }
            Put Transfer 5 (Elements(Sent, 3, 2)) (Rank(4)) (At(1)) {
                shmem_ctx_int16_put pshmem_ctx_int16_put; shmem_ctx_put16 pshmem_ctx_put16;
                shmem_ctx_short_put pshmem_ctx_short_put; shmem_ctx_uint16_put pshmem_ctx_uint16_put;
                shmem_ctx_ushort_put pshmem_ctx_ushort_put;
            }
            Put Transfer 5 (Elements(Sent, 3, 4)) (Rank(4)) (At(1)) {
                shmem_ctx_float_put pshmem_ctx_float_put; shmem_ctx_int32_put pshmem_ctx_int32_put;
                shmem_ctx_int_put pshmem_ctx_int_put; shmem_ctx_put32 pshmem_ctx_put32;
                shmem_ctx_uint32_put pshmem_ctx_uint32_put; shmem_ctx_uint_put pshmem_ctx_uint_put;
            }
            Put Transfer 5 (Elements(Sent, 3, 8)) (Rank(4)) (At(1)) {
                shmem_ctx_double_put pshmem_ctx_double_put; shmem_ctx_int64_put pshmem_ctx_int64_put;
                shmem_ctx_long_put pshmem_ctx_long_put; shmem_ctx_longlong_put pshmem_ctx_longlong_put;
                shmem_ctx_ptrdiff_put pshmem_ctx_ptrdiff_put; shmem_ctx_put64 pshmem_ctx_put64;
                shmem_ctx_size_put pshmem_ctx_size_put; shmem_ctx_uint64_put pshmem_ctx_uint64_put;
                shmem_ctx_ulong_put pshmem_ctx_ulong_put; shmem_ctx_ulonglong_put pshmem_ctx_ulonglong_put;
            }
            Put Transfer 6 (Elements(Sent, 4, 1)) (Rank(5)) (At(0)) {
                shmem_char_iput pshmem_char_iput; shmem_int8_iput pshmem_int8_iput; shmem_iput8 pshmem_iput8;
                shmem_schar_iput pshmem_schar_iput; shmem_uchar_iput pshmem_uchar_iput;
                shmem_uint8_iput pshmem_uint8_iput;
            }
            Put Transfer 6 (Elements(Sent, 4, 16)) (Rank(5)) (At(0)) {
                shmem_iput128 pshmem_iput128; shmem_longdouble_iput pshmem_longdouble_iput;
            }
            Put Transfer 6 (Elements(Sent, 4, 2)) (Rank(5)) (At(0)) {
                shmem_int16_iput pshmem_int16_iput; shmem_iput16 pshmem_iput16; shmem_short_iput pshmem_short_iput;
                shmem_uint16_iput pshmem_uint16_iput; shmem_ushort_iput pshmem_ushort_iput;
            }
            Put Transfer 6 (Elements(Sent, 4, 4)) (Rank(5)) (At(0)) {
                shmem_float_iput pshmem_float_iput; shmem_int32_iput pshmem_int32_iput;
                shmem_int_iput pshmem_int_iput; shmem_iput32 pshmem_iput32; shmem_uint32_iput pshmem_uint32_iput;
                shmem_uint_iput pshmem_uint_iput;
            }
            Put Transfer 6 (Elements(Sent, 4, 8)) (Rank(5)) (At(0)) {
                shmem_double_iput pshmem_double_iput; shmem_int64_iput pshmem_int64_iput;
                shmem_iput64 pshmem_iput64; shmem_long_iput pshmem_long_iput;
                shmem_longlong_iput pshmem_longlong_iput; shmem_ptrdiff_iput pshmem_ptrdiff_iput;
                shmem_size_iput pshmem_size_iput; shmem_uint64_iput pshmem_uint64_iput;
                shmem_ulong_iput pshmem_ulong_iput; shmem_ulonglong_iput pshmem_ulonglong_iput;
            }
            Put Transfer 7 (Elements(Sent, 5, 1)) (Rank(6)) (At(1)) {
                shmem_ctx_char_iput pshmem_ctx_char_iput; shmem_ctx_int8_iput pshmem_ctx_int8_iput;
                shmem_ctx_iput8 pshmem_ctx_iput8; shmem_ctx_schar_iput pshmem_ctx_schar_iput;
                shmem_ctx_uchar_iput pshmem_ctx_uchar_iput; shmem_ctx_uint8_iput pshmem_ctx_uint8_iput;
            }
            Put Transfer 7 (Elements(Sent, 5, 16)) (Rank(6)) (At(1)) {
                shmem_ctx_iput128 pshmem_ctx_iput128; shmem_ctx_longdouble_iput pshmem_ctx_longdouble_iput;
            }
            Put Transfer 7 (Elements(Sent, 5, 2)) (Rank(6)) (At(1)) {
                shmem_ctx_int16_iput pshmem_ctx_int16_iput; shmem_ctx_iput16 pshmem_ctx_iput16;
                shmem_ctx_short_iput pshmem_ctx_short_iput; shmem_ctx_uint16_iput pshmem_ctx_uint16_iput;
                shmem_ctx_ushort_iput pshmem_ctx_ushort_iput;
            }
            Put Transfer 7 (Elements(Sent, 5, 4)) (Rank(6)) (At(1)) {
                shmem_ctx_float_iput pshmem_ctx_float_iput; shmem_ctx_int32_iput pshmem_ctx_int32_iput;
                shmem_ctx_int_iput pshmem_ctx_int_iput; shmem_ctx_iput32 pshmem_ctx_iput32;
                shmem_ctx_uint32_iput pshmem_ctx_uint32_iput; shmem_ctx_uint_iput pshmem_ctx_uint_iput;
            }
            Put Transfer 7 (Elements(Sent, 5, 8)) (Rank(6)) (At(1)) {
                shmem_ctx_double_iput pshmem_ctx_double_iput; shmem_ctx_int64_iput pshmem_ctx_int64_iput;
                shmem_ctx_iput64 pshmem_ctx_iput64; shmem_ctx_long_iput pshmem_ctx_long_iput;
                shmem_ctx_longlong_iput pshmem_ctx_longlong_iput; shmem_ctx_ptrdiff_iput pshmem_ctx_ptrdiff_iput;
                shmem_ctx_size_iput pshmem_ctx_size_iput; shmem_ctx_uint64_iput pshmem_ctx_uint64_iput;
                shmem_ctx_ulong_iput pshmem_ctx_ulong_iput; shmem_ctx_ulonglong_iput pshmem_ctx_ulonglong_iput;
            }
            Put Transfer 8 (Elements(Sent, ONE, 16)) (Rank(1)) (At(0)) {
                shmem_longdouble_p pshmem_longdouble_p;
            }
            Put Transfer 8 (Elements(Sent, ONE, 16)) (Rank(2)) (At(1)) {
                shmem_ctx_longdouble_p pshmem_ctx_longdouble_p;
            }
            Quiet Quiet 0 (NoBytes) (Nobody) (Object::None) {
                shmem_quiet pshmem_quiet;
            }
            Quiet Quiet 1 (NoBytes) (Nobody) (Object::None) {
                shmem_ctx_quiet pshmem_ctx_quiet;
            }
            Wait Flag 2 (NoBytes) (Nobody) (At(0)) {
                shmem_int_wait pshmem_int_wait; shmem_long_wait pshmem_long_wait;
                shmem_longlong_wait pshmem_longlong_wait; shmem_short_wait pshmem_short_wait;
                shmem_wait pshmem_wait;
            }
            Wait Flag 3 (NoBytes) (Nobody) (At(0)) {
                shmem_int32_wait_until pshmem_int32_wait_until; shmem_int64_wait_until pshmem_int64_wait_until;
                shmem_int_wait_until pshmem_int_wait_until; shmem_long_wait_until pshmem_long_wait_until;
                shmem_longlong_wait_until pshmem_longlong_wait_until;
                shmem_ptrdiff_wait_until pshmem_ptrdiff_wait_until; shmem_short_wait_until pshmem_short_wait_until;
                shmem_size_wait_until pshmem_size_wait_until; shmem_uint32_wait_until pshmem_uint32_wait_until;
                shmem_uint64_wait_until pshmem_uint64_wait_until; shmem_uint_wait_until pshmem_uint_wait_until;
                shmem_ulong_wait_until pshmem_ulong_wait_until;
                shmem_ulonglong_wait_until pshmem_ulonglong_wait_until;
                shmem_ushort_wait_until pshmem_ushort_wait_until;
            }
            Wait Nothing 3 (NoBytes) (Nobody) (At(0)) Nonzero {
                shmem_int32_test pshmem_int32_test; shmem_int64_test pshmem_int64_test;
                shmem_int_test pshmem_int_test; shmem_long_test pshmem_long_test;
                shmem_longlong_test pshmem_longlong_test; shmem_ptrdiff_test pshmem_ptrdiff_test;
                shmem_short_test pshmem_short_test; shmem_size_test pshmem_size_test;
                shmem_uint32_test pshmem_uint32_test; shmem_uint64_test pshmem_uint64_test;
                shmem_uint_test pshmem_uint_test; shmem_ulong_test pshmem_ulong_test;
                shmem_ulonglong_test pshmem_ulonglong_test; shmem_ushort_test pshmem_ushort_test;
            }
        }
    };
}
