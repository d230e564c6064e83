//! Events of GASP 1.5 (<http://gasp.hcs.ufl.edu/gasp-1.5-61606.pdf>), by the numbers of the runtimes that notify of them.
//!
//! Berkeley UPC's runtime and that of GUPC and clang-upc give the same events different numbers, and the numbers of the
//! one's events are those of the other one's user events.

use crate::pgas::{Bytes, Object, Peer, Way, pgas_rows};
use Bytes::{Elements, Nothing as NoBytes};
use Peer::Nobody;

/// Calls the macro `$take` with the events.
macro_rules! events {
    ($take:ident) => {
        $take! {
            Management Nothing 0 (NoBytes) (Nobody) (Object::None) {
                C_MALLOC C_MALLOC; C_REALLOC C_REALLOC; C_FREE C_FREE;
                UPC_COLLECTIVE_EXIT UPC_COLLECTIVE_EXIT; UPC_NONCOLLECTIVE_EXIT UPC_NONCOLLECTIVE_EXIT;
            }
            Barrier Nothing 0 (NoBytes) (Nobody) (Object::None) { UPC_NOTIFY UPC_NOTIFY; }
            Barrier Barrier 0 (NoBytes) (Nobody) (Object::None) { UPC_WAIT UPC_WAIT; UPC_BARRIER UPC_BARRIER; }
            Fence Quiet 0 (NoBytes) (Nobody) (Object::None) { UPC_FENCE UPC_FENCE; }
            Management Own 0 (NoBytes) (Nobody) (Object::None) { C_FUNC C_FUNC; }
            Forall Own 0 (NoBytes) (Nobody) (Object::None) { UPC_FORALL UPC_FORALL; }
            Allocation Nothing 0 (Bytes::Allocated(0)) (Nobody) (Object::None) {
                UPC_GLOBAL_ALLOC UPC_GLOBAL_ALLOC; UPC_ALLOC UPC_ALLOC;
            }
            Allocation Collective 0 (Bytes::Allocated(0)) (Nobody) (Object::None) { UPC_ALL_ALLOC UPC_ALL_ALLOC; }
            Allocation Nothing 0 (NoBytes) (Nobody) (Object::None) {
                UPC_FREE UPC_FREE; UPC_GLOBAL_LOCK_ALLOC UPC_GLOBAL_LOCK_ALLOC; UPC_LOCK_FREE UPC_LOCK_FREE;
            }
            Allocation Collective 0 (NoBytes) (Nobody) (Object::None) { UPC_ALL_LOCK_ALLOC UPC_ALL_LOCK_ALLOC; }
            Lock Lock 0 (NoBytes) (Nobody) (Object::At(0)) { UPC_LOCK UPC_LOCK; }
            Lock Nothing 0 (NoBytes) (Nobody) (Object::At(0)) {
                UPC_LOCK_ATTEMPT UPC_LOCK_ATTEMPT; UPC_UNLOCK UPC_UNLOCK;
            }
            Put Transfer 0 (Elements(Way::Both, 2, 1)) (Nobody) (Object::None) { UPC_MEMCPY UPC_MEMCPY; }
            Get Transfer 0 (Elements(Way::Received, 2, 1)) (Nobody) (Object::None) { UPC_MEMGET UPC_MEMGET; }
            Put Transfer 0 (Elements(Way::Sent, 2, 1)) (Nobody) (Object::None) {
                UPC_MEMPUT UPC_MEMPUT; UPC_MEMSET UPC_MEMSET;
            }
            Get Transfer 0 (Elements(Way::Received, 3, 1)) (Nobody) (Object::None) { UPC_GET UPC_GET; }
            Put Transfer 0 (Elements(Way::Sent, 3, 1)) (Nobody) (Object::None) { UPC_PUT UPC_PUT; }
            Get Nothing 0 (Elements(Way::Received, 3, 1)) (Nobody) (Object::None) { UPC_NB_GET_INIT UPC_NB_GET_INIT; }
            Get Nothing 0 (NoBytes) (Nobody) (Object::None) { UPC_NB_GET_DATA UPC_NB_GET_DATA; }
            Put Nothing 0 (Elements(Way::Sent, 3, 1)) (Nobody) (Object::None) { UPC_NB_PUT_INIT UPC_NB_PUT_INIT; }
            Put Nothing 0 (NoBytes) (Nobody) (Object::None) { UPC_NB_PUT_DATA UPC_NB_PUT_DATA; }
            Quiet Quiet 0 (NoBytes) (Nobody) (Object::None) { UPC_NB_SYNC UPC_NB_SYNC; }
            Management Nothing 0 (NoBytes) (Nobody) (Object::None) {
                UPC_CACHE_MISS UPC_CACHE_MISS; UPC_CACHE_HIT UPC_CACHE_HIT;
                UPC_CACHE_INVALIDATE UPC_CACHE_INVALIDATE;
            }
            Collective Collective 0 (Elements(Way::Both, 2, 1)) (Nobody) (Object::None) {
                UPC_ALL_BROADCAST UPC_ALL_BROADCAST; UPC_ALL_SCATTER UPC_ALL_SCATTER; UPC_ALL_GATHER UPC_ALL_GATHER;
                UPC_ALL_GATHER_ALL UPC_ALL_GATHER_ALL; UPC_ALL_EXCHANGE UPC_ALL_EXCHANGE;
            }
            Collective Collective 0 (Elements(Way::Both, 3, 1)) (Nobody) (Object::None) { UPC_ALL_PERMUTE UPC_ALL_PERMUTE; }
            Collective Collective 0 (Bytes::Unknown) (Nobody) (Object::None) {
                UPC_ALL_REDUCE UPC_ALL_REDUCE; UPC_ALL_PREFIX_REDUCE UPC_ALL_PREFIX_REDUCE;
            }
            Quiet Nothing 0 (NoBytes) (Nobody) (Object::None) { BUPC_NB_TRYSYNC BUPC_NB_TRYSYNC; }
            Get Nothing 0 (Elements(Way::Received, 2, 1)) (Nobody) (Object::None) {
                BUPC_NB_MEMGET_INIT BUPC_NB_MEMGET_INIT;
            }
            Put Nothing 0 (Elements(Way::Sent, 2, 1)) (Nobody) (Object::None) { BUPC_NB_MEMPUT_INIT BUPC_NB_MEMPUT_INIT; }
            Put Nothing 0 (Elements(Way::Both, 2, 1)) (Nobody) (Object::None) { BUPC_NB_MEMCPY_INIT BUPC_NB_MEMCPY_INIT; }
            Management Nothing 0 (NoBytes) (Nobody) (Object::None) { BUPC_STATIC_SHARED BUPC_STATIC_SHARED; }
            User Own 0 (NoBytes) (Nobody) (Object::None) { USER USER; }
        }
    };
}

events!(pgas_rows);
