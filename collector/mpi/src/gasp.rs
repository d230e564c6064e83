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
            Allocation Nothing 0 (Bytes::AllocatedEach(0, 1)) (Nobody) (Object::None) {
                UPC_GLOBAL_ALLOC UPC_GLOBAL_ALLOC;
            }
            Allocation Nothing 0 (Bytes::Allocated(0)) (Nobody) (Object::None) { UPC_ALLOC UPC_ALLOC; }
            Allocation Collective 0 (Bytes::AllocatedEach(0, 1)) (Nobody) (Object::None) {
                UPC_ALL_ALLOC UPC_ALL_ALLOC;
            }
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
            Collective Collective 0 (Bytes::Unknown) (Nobody) (Object::None) {
                UPC_ALL_BROADCAST UPC_ALL_BROADCAST; UPC_ALL_SCATTER UPC_ALL_SCATTER; UPC_ALL_GATHER UPC_ALL_GATHER;
                UPC_ALL_GATHER_ALL UPC_ALL_GATHER_ALL; UPC_ALL_EXCHANGE UPC_ALL_EXCHANGE;
                UPC_ALL_PERMUTE UPC_ALL_PERMUTE;
            }
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

/// Whose numbers events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Those of Berkeley UPC's runtime.
    Berkeley,
    /// Those of GUPC's and clang-upc's.
    Gupc,
}

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of the runtime.
    System(Function),
    /// One of the program's own, from 0.
    User(u32),
}

impl Numbers {
    /// The first and last number of events of the program's own.
    pub const fn user(self) -> [u32; 2] {
        match self {
            Numbers::Berkeley => [100, 999],
            Numbers::Gupc => [1000, 1999],
        }
    }

    /// The event with a number; `None` if there is none.
    pub fn event(self, number: u32) -> Option<Event> {
        let [first, last] = self.user();
        if (first..=last).contains(&number) {
            return Some(Event::User(number - first));
        }
        let table: &[(u32, Function)] = match self {
            Numbers::Berkeley => &BERKELEY,
            Numbers::Gupc => &GUPC,
        };
        let at = table.binary_search_by_key(&number, |entry| entry.0).ok()?;
        table.get(at).map(|entry| Event::System(entry.1))
    }
}

/// Berkeley's numbers, in order (its `gasp_upc.h`).
const BERKELEY: [(u32, Function); 40] = [
    (1000, Function::UPC_ALLOC),
    (1001, Function::UPC_GLOBAL_ALLOC),
    (1002, Function::UPC_ALL_ALLOC),
    (1003, Function::UPC_FREE),
    (1010, Function::UPC_GLOBAL_LOCK_ALLOC),
    (1011, Function::UPC_ALL_LOCK_ALLOC),
    (1012, Function::UPC_LOCK_FREE),
    (1013, Function::UPC_LOCK_ATTEMPT),
    (1014, Function::UPC_LOCK),
    (1015, Function::UPC_UNLOCK),
    (1020, Function::C_MALLOC),
    (1021, Function::C_REALLOC),
    (1022, Function::C_FREE),
    (1023, Function::C_FUNC),
    (1030, Function::UPC_MEMGET),
    (1031, Function::UPC_MEMPUT),
    (1032, Function::UPC_MEMCPY),
    (1033, Function::UPC_MEMSET),
    (1100, Function::UPC_NOTIFY),
    (1101, Function::UPC_WAIT),
    (1110, Function::UPC_PUT),
    (1111, Function::UPC_GET),
    (1120, Function::UPC_NB_GET_INIT),
    (1121, Function::UPC_NB_PUT_INIT),
    (1122, Function::UPC_NB_SYNC),
    (1130, Function::BUPC_NB_TRYSYNC),
    (1131, Function::BUPC_NB_MEMGET_INIT),
    (1132, Function::BUPC_NB_MEMPUT_INIT),
    (1133, Function::BUPC_NB_MEMCPY_INIT),
    (1140, Function::BUPC_STATIC_SHARED),
    (1210, Function::UPC_COLLECTIVE_EXIT),
    (1211, Function::UPC_NONCOLLECTIVE_EXIT),
    (1300, Function::UPC_ALL_BROADCAST),
    (1310, Function::UPC_ALL_SCATTER),
    (1320, Function::UPC_ALL_GATHER),
    (1330, Function::UPC_ALL_GATHER_ALL),
    (1340, Function::UPC_ALL_EXCHANGE),
    (1350, Function::UPC_ALL_PERMUTE),
    (1400, Function::UPC_ALL_REDUCE),
    (1410, Function::UPC_ALL_PREFIX_REDUCE),
];

/// Those of GUPC and clang-upc, in order (their `gasp_upc.h`).
const GUPC: [(u32, Function); 43] = {
    const IN_ORDER: [Function; 43] = [
        Function::C_FUNC,
        Function::C_MALLOC,
        Function::C_REALLOC,
        Function::C_FREE,
        Function::UPC_COLLECTIVE_EXIT,
        Function::UPC_NONCOLLECTIVE_EXIT,
        Function::UPC_NOTIFY,
        Function::UPC_WAIT,
        Function::UPC_BARRIER,
        Function::UPC_FENCE,
        Function::UPC_FORALL,
        Function::UPC_GLOBAL_ALLOC,
        Function::UPC_ALL_ALLOC,
        Function::UPC_ALLOC,
        Function::UPC_FREE,
        Function::UPC_GLOBAL_LOCK_ALLOC,
        Function::UPC_ALL_LOCK_ALLOC,
        Function::UPC_LOCK_FREE,
        Function::UPC_LOCK,
        Function::UPC_LOCK_ATTEMPT,
        Function::UPC_UNLOCK,
        Function::UPC_MEMCPY,
        Function::UPC_MEMGET,
        Function::UPC_MEMPUT,
        Function::UPC_MEMSET,
        Function::UPC_GET,
        Function::UPC_PUT,
        Function::UPC_NB_GET_INIT,
        Function::UPC_NB_GET_DATA,
        Function::UPC_NB_PUT_INIT,
        Function::UPC_NB_PUT_DATA,
        Function::UPC_NB_SYNC,
        Function::UPC_CACHE_MISS,
        Function::UPC_CACHE_HIT,
        Function::UPC_CACHE_INVALIDATE,
        Function::UPC_ALL_BROADCAST,
        Function::UPC_ALL_SCATTER,
        Function::UPC_ALL_GATHER,
        Function::UPC_ALL_GATHER_ALL,
        Function::UPC_ALL_EXCHANGE,
        Function::UPC_ALL_PERMUTE,
        Function::UPC_ALL_REDUCE,
        Function::UPC_ALL_PREFIX_REDUCE,
    ];
    let mut numbered = [(0, Function::C_FUNC); 43];
    let mut at = 0;
    while at < numbered.len() {
        numbered[at] = (at as u32 + 1, IN_ORDER[at]);
        at += 1;
    }
    numbered
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runtime_has_its_own_numbers() {
        use Event::{System, User};
        let (berkeley, gupc) = (Numbers::Berkeley, Numbers::Gupc);
        assert_eq!(berkeley.event(1100), Some(System(Function::UPC_NOTIFY)));
        assert_eq!(gupc.event(7), Some(System(Function::UPC_NOTIFY)));
        assert_eq!(gupc.event(1100), Some(User(100)), "the same number");
        assert_eq!(berkeley.event(100), Some(User(0)));
        assert_eq!((berkeley.event(7), gupc.event(44)), (None, None));
        assert!(BERKELEY.is_sorted_by_key(|entry| entry.0));
        let of_all: [&[(u32, Function)]; 2] = [&BERKELEY, &GUPC];
        for row in 0..ROWS.len() - 1 {
            let is_there = |entry: &(u32, Function)| entry.1 as usize == row;
            let has = of_all.map(|table| table.iter().filter(|it| is_there(it)).count());
            assert!(has == [1, 1] || has == [1, 0] || has == [0, 1], "{row}");
        }
    }
}
