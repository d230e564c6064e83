//! The functions, by the form of their arguments and what they wait for.

use std::ffi::CStr;

use crate::pgas::{Class, Interface, pgas};
use crate::{Form, caf, shmem};

/// Calls the macro `$take` with the functions: for each row the [`Form`], the [`Wait`] and, if the operation is only
/// begun, `later`; then each function's name and that by which tools call it.
#[macro_export]
macro_rules! functions {
    ($take:ident) => {
        $take! {
            Send Send {
                MPI_Send PMPI_Send; MPI_Send_c PMPI_Send_c; MPI_Ssend PMPI_Ssend; MPI_Ssend_c PMPI_Ssend_c;
                MPI_Rsend PMPI_Rsend; MPI_Rsend_c PMPI_Rsend_c;
            }
            Send Nothing { MPI_Bsend PMPI_Bsend; MPI_Bsend_c PMPI_Bsend_c; }
            Isend Nothing {
                MPI_Isend PMPI_Isend; MPI_Isend_c PMPI_Isend_c; MPI_Issend PMPI_Issend;
                MPI_Issend_c PMPI_Issend_c; MPI_Irsend PMPI_Irsend; MPI_Irsend_c PMPI_Irsend_c;
                MPI_Ibsend PMPI_Ibsend; MPI_Ibsend_c PMPI_Ibsend_c;
            }
            SendInit Nothing {
                MPI_Send_init PMPI_Send_init; MPI_Send_init_c PMPI_Send_init_c;
                MPI_Ssend_init PMPI_Ssend_init; MPI_Ssend_init_c PMPI_Ssend_init_c;
                MPI_Rsend_init PMPI_Rsend_init; MPI_Rsend_init_c PMPI_Rsend_init_c;
                MPI_Bsend_init PMPI_Bsend_init; MPI_Bsend_init_c PMPI_Bsend_init_c;
            }
            Receive Receive { MPI_Recv PMPI_Recv; MPI_Recv_c PMPI_Recv_c; }
            Ireceive Nothing { MPI_Irecv PMPI_Irecv; MPI_Irecv_c PMPI_Irecv_c; }
            ReceiveInit Nothing { MPI_Recv_init PMPI_Recv_init; MPI_Recv_init_c PMPI_Recv_init_c; }
            SendReceive Receive { MPI_Sendrecv PMPI_Sendrecv; MPI_Sendrecv_c PMPI_Sendrecv_c; }
            SendReceiveReplace Receive {
                MPI_Sendrecv_replace PMPI_Sendrecv_replace; MPI_Sendrecv_replace_c PMPI_Sendrecv_replace_c;
            }
            Probe Receive { MPI_Probe PMPI_Probe; }
            Iprobe Nothing { MPI_Iprobe PMPI_Iprobe; }
            Mprobe Receive { MPI_Mprobe PMPI_Mprobe; }
            Improbe Nothing { MPI_Improbe PMPI_Improbe; }
            Mreceive Receive { MPI_Mrecv PMPI_Mrecv; MPI_Mrecv_c PMPI_Mrecv_c; }
            Imreceive Nothing { MPI_Imrecv PMPI_Imrecv; MPI_Imrecv_c PMPI_Imrecv_c; }
            Start Nothing { MPI_Start PMPI_Start; }
            StartAll Nothing { MPI_Startall PMPI_Startall; }
            Wait Request { MPI_Wait PMPI_Wait; }
            Test Nothing { MPI_Test PMPI_Test; }
            WaitAll Request { MPI_Waitall PMPI_Waitall; }
            TestAll Nothing { MPI_Testall PMPI_Testall; }
            WaitAny Request { MPI_Waitany PMPI_Waitany; }
            TestAny Nothing { MPI_Testany PMPI_Testany; }
            WaitSome Request { MPI_Waitsome PMPI_Waitsome; }
            TestSome Nothing { MPI_Testsome PMPI_Testsome; }
            RequestFree Nothing { MPI_Request_free PMPI_Request_free; }
            Barrier Barrier { MPI_Barrier PMPI_Barrier; }
            Barrier Nothing later { MPI_Ibarrier PMPI_Ibarrier; }
            Broadcast Collective { MPI_Bcast PMPI_Bcast; MPI_Bcast_c PMPI_Bcast_c; }
            Broadcast Nothing later { MPI_Ibcast PMPI_Ibcast; MPI_Ibcast_c PMPI_Ibcast_c; }
            Reduce Collective { MPI_Reduce PMPI_Reduce; MPI_Reduce_c PMPI_Reduce_c; }
            Reduce Nothing later { MPI_Ireduce PMPI_Ireduce; MPI_Ireduce_c PMPI_Ireduce_c; }
            Allreduce Collective { MPI_Allreduce PMPI_Allreduce; MPI_Allreduce_c PMPI_Allreduce_c; }
            Allreduce Nothing later { MPI_Iallreduce PMPI_Iallreduce; MPI_Iallreduce_c PMPI_Iallreduce_c; }
            Scan Collective {
                MPI_Scan PMPI_Scan; MPI_Scan_c PMPI_Scan_c; MPI_Exscan PMPI_Exscan;
                MPI_Exscan_c PMPI_Exscan_c;
            }
            Scan Nothing later {
                MPI_Iscan PMPI_Iscan; MPI_Iscan_c PMPI_Iscan_c; MPI_Iexscan PMPI_Iexscan;
                MPI_Iexscan_c PMPI_Iexscan_c;
            }
            Gather Collective { MPI_Gather PMPI_Gather; MPI_Gather_c PMPI_Gather_c; }
            Gather Nothing later { MPI_Igather PMPI_Igather; MPI_Igather_c PMPI_Igather_c; }
            Gatherv Collective { MPI_Gatherv PMPI_Gatherv; MPI_Gatherv_c PMPI_Gatherv_c; }
            Gatherv Nothing later { MPI_Igatherv PMPI_Igatherv; MPI_Igatherv_c PMPI_Igatherv_c; }
            Scatter Collective { MPI_Scatter PMPI_Scatter; MPI_Scatter_c PMPI_Scatter_c; }
            Scatter Nothing later { MPI_Iscatter PMPI_Iscatter; MPI_Iscatter_c PMPI_Iscatter_c; }
            Scatterv Collective { MPI_Scatterv PMPI_Scatterv; MPI_Scatterv_c PMPI_Scatterv_c; }
            Scatterv Nothing later { MPI_Iscatterv PMPI_Iscatterv; MPI_Iscatterv_c PMPI_Iscatterv_c; }
            Allgather Collective { MPI_Allgather PMPI_Allgather; MPI_Allgather_c PMPI_Allgather_c; }
            Allgather Nothing later { MPI_Iallgather PMPI_Iallgather; MPI_Iallgather_c PMPI_Iallgather_c; }
            Allgatherv Collective { MPI_Allgatherv PMPI_Allgatherv; MPI_Allgatherv_c PMPI_Allgatherv_c; }
            Allgatherv Nothing later {
                MPI_Iallgatherv PMPI_Iallgatherv; MPI_Iallgatherv_c PMPI_Iallgatherv_c;
            }
            Alltoall Collective { MPI_Alltoall PMPI_Alltoall; MPI_Alltoall_c PMPI_Alltoall_c; }
            Alltoall Nothing later { MPI_Ialltoall PMPI_Ialltoall; MPI_Ialltoall_c PMPI_Ialltoall_c; }
            Alltoallv Collective { MPI_Alltoallv PMPI_Alltoallv; MPI_Alltoallv_c PMPI_Alltoallv_c; }
            Alltoallv Nothing later { MPI_Ialltoallv PMPI_Ialltoallv; MPI_Ialltoallv_c PMPI_Ialltoallv_c; }
            Alltoallw Collective { MPI_Alltoallw PMPI_Alltoallw; MPI_Alltoallw_c PMPI_Alltoallw_c; }
            Alltoallw Nothing later { MPI_Ialltoallw PMPI_Ialltoallw; MPI_Ialltoallw_c PMPI_Ialltoallw_c; }
            ReduceScatter Collective {
                MPI_Reduce_scatter PMPI_Reduce_scatter; MPI_Reduce_scatter_c PMPI_Reduce_scatter_c;
            }
            ReduceScatter Nothing later {
                MPI_Ireduce_scatter PMPI_Ireduce_scatter; MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c;
            }
            ReduceScatterBlock Collective {
                MPI_Reduce_scatter_block PMPI_Reduce_scatter_block;
                MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c;
            }
            ReduceScatterBlock Nothing later {
                MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block;
                MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c;
            }
            NeighborAllgather Collective {
                MPI_Neighbor_allgather PMPI_Neighbor_allgather;
                MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c;
            }
            NeighborAllgather Nothing later {
                MPI_Ineighbor_allgather PMPI_Ineighbor_allgather;
                MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c;
            }
            NeighborAllgatherv Collective {
                MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv;
                MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c;
            }
            NeighborAllgatherv Nothing later {
                MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv;
                MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c;
            }
            NeighborAlltoall Collective {
                MPI_Neighbor_alltoall PMPI_Neighbor_alltoall;
                MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c;
            }
            NeighborAlltoall Nothing later {
                MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall;
                MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c;
            }
            NeighborAlltoallv Collective {
                MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv;
                MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c;
            }
            NeighborAlltoallv Nothing later {
                MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv;
                MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c;
            }
            NeighborAlltoallw Collective {
                MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw;
                MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c;
            }
            NeighborAlltoallw Nothing later {
                MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw;
                MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c;
            }
            Communicator2 Collective { MPI_Comm_dup PMPI_Comm_dup; }
            Communicator3 Collective {
                MPI_Comm_dup_with_info PMPI_Comm_dup_with_info; MPI_Comm_create PMPI_Comm_create;
                MPI_Cart_sub PMPI_Cart_sub; MPI_Intercomm_merge PMPI_Intercomm_merge;
            }
            Communicator4 Collective {
                MPI_Comm_split PMPI_Comm_split; MPI_Comm_create_group PMPI_Comm_create_group;
            }
            Communicator5 Collective { MPI_Comm_split_type PMPI_Comm_split_type; }
            Communicator6 Collective {
                MPI_Cart_create PMPI_Cart_create; MPI_Graph_create PMPI_Graph_create;
                MPI_Intercomm_create PMPI_Intercomm_create;
            }
            Communicator9 Collective { MPI_Dist_graph_create PMPI_Dist_graph_create; }
            Communicator10 Collective { MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent; }
            CommunicatorLater Nothing { MPI_Comm_idup PMPI_Comm_idup; }
            CommunicatorFree Collective {
                MPI_Comm_free PMPI_Comm_free; MPI_Comm_disconnect PMPI_Comm_disconnect;
            }
            Put Nothing { MPI_Put PMPI_Put; MPI_Put_c PMPI_Put_c; MPI_Rput PMPI_Rput; MPI_Rput_c PMPI_Rput_c; }
            Accumulate Nothing {
                MPI_Accumulate PMPI_Accumulate; MPI_Accumulate_c PMPI_Accumulate_c;
                MPI_Raccumulate PMPI_Raccumulate; MPI_Raccumulate_c PMPI_Raccumulate_c;
            }
            Get Nothing {
                MPI_Get PMPI_Get; MPI_Get_c PMPI_Get_c; MPI_Rget PMPI_Rget; MPI_Rget_c PMPI_Rget_c;
            }
            GetAccumulate Nothing {
                MPI_Get_accumulate PMPI_Get_accumulate; MPI_Get_accumulate_c PMPI_Get_accumulate_c;
                MPI_Rget_accumulate PMPI_Rget_accumulate; MPI_Rget_accumulate_c PMPI_Rget_accumulate_c;
            }
            Fetch Nothing { MPI_Fetch_and_op PMPI_Fetch_and_op; }
            CompareAndSwap Nothing { MPI_Compare_and_swap PMPI_Compare_and_swap; }
            Fence OneSided { MPI_Win_fence PMPI_Win_fence; }
            AccessStart OneSided { MPI_Win_start PMPI_Win_start; }
            OfWindow OneSided { MPI_Win_complete PMPI_Win_complete; }
            AccessPost OneSided { MPI_Win_post PMPI_Win_post; }
            OfWindow OneSided { MPI_Win_wait PMPI_Win_wait; }
            Lock OneSided { MPI_Win_lock PMPI_Win_lock; }
            OfTarget OneSided { MPI_Win_unlock PMPI_Win_unlock; }
            Fence OneSided { MPI_Win_lock_all PMPI_Win_lock_all; }
            OfWindow OneSided { MPI_Win_unlock_all PMPI_Win_unlock_all; }
            OfTarget OneSided { MPI_Win_flush PMPI_Win_flush; }
            OfWindow OneSided { MPI_Win_flush_all PMPI_Win_flush_all; }
            OfTarget OneSided { MPI_Win_flush_local PMPI_Win_flush_local; }
            OfWindow OneSided { MPI_Win_flush_local_all PMPI_Win_flush_local_all; }
            WindowCreate Collective { MPI_Win_create PMPI_Win_create; MPI_Win_create_c PMPI_Win_create_c; }
            WindowAllocate Collective {
                MPI_Win_allocate PMPI_Win_allocate; MPI_Win_allocate_c PMPI_Win_allocate_c;
                MPI_Win_allocate_shared PMPI_Win_allocate_shared;
                MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c;
            }
            WindowDynamic Collective { MPI_Win_create_dynamic PMPI_Win_create_dynamic; }
            WindowFree Collective { MPI_Win_free PMPI_Win_free; }
            FileWrite Nothing {
                MPI_File_write PMPI_File_write; MPI_File_write_c PMPI_File_write_c;
                MPI_File_write_shared PMPI_File_write_shared;
                MPI_File_write_shared_c PMPI_File_write_shared_c;
            }
            FileWriteAt Nothing {
                MPI_File_write_at PMPI_File_write_at; MPI_File_write_at_c PMPI_File_write_at_c;
            }
            FileWrite Collective {
                MPI_File_write_all PMPI_File_write_all; MPI_File_write_all_c PMPI_File_write_all_c;
                MPI_File_write_ordered PMPI_File_write_ordered;
                MPI_File_write_ordered_c PMPI_File_write_ordered_c;
            }
            FileWriteAt Collective {
                MPI_File_write_at_all PMPI_File_write_at_all;
                MPI_File_write_at_all_c PMPI_File_write_at_all_c;
            }
            FileRead Nothing {
                MPI_File_read PMPI_File_read; MPI_File_read_c PMPI_File_read_c;
                MPI_File_read_shared PMPI_File_read_shared; MPI_File_read_shared_c PMPI_File_read_shared_c;
            }
            FileReadAt Nothing { MPI_File_read_at PMPI_File_read_at; MPI_File_read_at_c PMPI_File_read_at_c; }
            FileRead Collective {
                MPI_File_read_all PMPI_File_read_all; MPI_File_read_all_c PMPI_File_read_all_c;
                MPI_File_read_ordered PMPI_File_read_ordered;
                MPI_File_read_ordered_c PMPI_File_read_ordered_c;
            }
            FileReadAt Collective {
                MPI_File_read_at_all PMPI_File_read_at_all; MPI_File_read_at_all_c PMPI_File_read_at_all_c;
            }
            Plain Collective {
                MPI_File_open PMPI_File_open; MPI_File_close PMPI_File_close;
                MPI_File_set_view PMPI_File_set_view; MPI_File_set_size PMPI_File_set_size;
                MPI_File_sync PMPI_File_sync; MPI_File_preallocate PMPI_File_preallocate;
            }
            FileWrite Nothing {
                MPI_File_iwrite PMPI_File_iwrite; MPI_File_iwrite_c PMPI_File_iwrite_c;
                MPI_File_iwrite_shared PMPI_File_iwrite_shared;
                MPI_File_iwrite_shared_c PMPI_File_iwrite_shared_c; MPI_File_iwrite_all PMPI_File_iwrite_all;
                MPI_File_iwrite_all_c PMPI_File_iwrite_all_c;
            }
            FileWriteAt Nothing {
                MPI_File_iwrite_at PMPI_File_iwrite_at; MPI_File_iwrite_at_c PMPI_File_iwrite_at_c;
                MPI_File_iwrite_at_all PMPI_File_iwrite_at_all;
                MPI_File_iwrite_at_all_c PMPI_File_iwrite_at_all_c;
            }
            FileRead Nothing {
                MPI_File_iread PMPI_File_iread; MPI_File_iread_c PMPI_File_iread_c;
                MPI_File_iread_shared PMPI_File_iread_shared;
                MPI_File_iread_shared_c PMPI_File_iread_shared_c; MPI_File_iread_all PMPI_File_iread_all;
                MPI_File_iread_all_c PMPI_File_iread_all_c;
            }
            FileReadAt Nothing {
                MPI_File_iread_at PMPI_File_iread_at; MPI_File_iread_at_c PMPI_File_iread_at_c;
                MPI_File_iread_at_all PMPI_File_iread_at_all;
                MPI_File_iread_at_all_c PMPI_File_iread_at_all_c;
            }
            Plain Nothing {
                MPI_File_delete PMPI_File_delete; MPI_File_seek PMPI_File_seek;
                MPI_File_seek_shared PMPI_File_seek_shared; MPI_Win_sync PMPI_Win_sync;
                MPI_Win_test PMPI_Win_test; MPI_Cancel PMPI_Cancel;
                MPI_Request_get_status PMPI_Request_get_status; MPI_Alloc_mem PMPI_Alloc_mem;
                MPI_Free_mem PMPI_Free_mem; MPI_Pack PMPI_Pack; MPI_Unpack PMPI_Unpack;
            }
            Plain Collective {
                MPI_Comm_spawn PMPI_Comm_spawn; MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple;
                MPI_Comm_accept PMPI_Comm_accept; MPI_Comm_connect PMPI_Comm_connect;
            }
            Init Nothing { MPI_Init PMPI_Init; MPI_Init_thread PMPI_Init_thread; }
            Finalize Collective { MPI_Finalize PMPI_Finalize; }
        }
    };
}

/// What a rank waits for in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: the call begins something, asks, or works.
    Nothing,
    /// A message.
    Receive,
    /// Until a message is sent.
    Send,
    /// Operations that were begun before.
    Request,
    /// All ranks of the communicator, in `MPI_Barrier`.
    Barrier,
    /// Ranks of the communicator, in another collective operation.
    Collective,
    /// One-sided operations, or their permission.
    OneSided,
    /// A lock.
    Lock,
    /// A value or an event that another rank writes.
    Flag,
    /// One access to the memory of another rank.
    Transfer,
    /// Own accesses that were begun before.
    Quiet,
    /// Nothing: the program's own code runs in it, and other calls.
    Own,
}

#[derive(Clone, Copy)]
struct Row {
    name: &'static CStr,
    tool: &'static CStr,
    form: Form,
    wait: Wait,
    is_later: bool,
    is_large: bool,
}

// A form, a wait and whether a later call completes the operation, for all functions of a row.
macro_rules! of_each {
    ($form:ident $wait:ident $is_later:literal { $($name:ident $tool:ident;)* }) => {
        &[$(Row {
            name: symbol(concat!(stringify!($name), "\0")),
            tool: symbol(concat!(stringify!($tool), "\0")),
            form: Form::$form,
            wait: Wait::$wait,
            is_later: $is_later,
            is_large: is_large_name(stringify!($name)),
        },)*]
    };
    ($form:ident $wait:ident later $functions:tt) => { of_each!($form $wait true $functions) };
    ($form:ident $wait:ident $functions:tt) => { of_each!($form $wait false $functions) };
}

macro_rules! rows {
    ($($form:ident $wait:ident $($later:ident)? { $($name:ident $tool:ident;)* })*) => {
        /// The functions' numbers. Experiments store them: new ones come last.
        #[allow(missing_docs, non_camel_case_types, reason = "MPI's names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Function { $($($name,)*)* }

        /// How many functions there are.
        pub const COUNT: usize = [$($(Function::$name,)*)*].len();

        const BLOCKS: &[&[Row]] = &[$(of_each!($form $wait $($later)? { $($name $tool;)* }),)*];
    };
}

const ROWS: [Row; COUNT] = {
    let mut rows = [BLOCKS[0][0]; COUNT];
    let (mut block, mut at) = (0, 0);
    while block < BLOCKS.len() {
        let mut row = 0;
        while row < BLOCKS[block].len() {
            rows[at] = BLOCKS[block][row];
            at += 1;
            row += 1;
        }
        block += 1;
    }
    rows
};

const fn is_large_name(name: &str) -> bool {
    matches!(name.as_bytes(), [.., b'_', b'c'])
}

pub(crate) const fn symbol(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("an identifier holds no zero byte"),
    }
}

functions!(rows);

const _: () = assert!(
    COUNT <= 1 << 10,
    "numbers from there on are other interfaces'"
);

/// The name of the function with this number; `None` for a number of a later version.
pub fn name(function: u16) -> Option<&'static str> {
    let [name, _] = symbols(function)?;
    name.to_str().ok()
}

/// The names of the function, and of the same for tools.
pub fn symbols(function: u16) -> Option<[&'static CStr; 2]> {
    if let Some(row) = pgas(function) {
        return Some([row.name, row.tool]);
    }
    let row = ROWS.get(function as usize)?;
    Some([row.name, row.tool])
}

/// The class of a one-sided operation, or of one of an interface that has no others; `None` for the rest of MPI.
pub fn class(function: u16) -> Option<Class> {
    if let Some(row) = pgas(function) {
        return Some(row.class);
    }
    Some(match form(function) {
        Form::Put | Form::Accumulate => Class::Put,
        Form::Get => Class::Get,
        Form::GetAccumulate | Form::Fetch | Form::CompareAndSwap => Class::Atomic,
        Form::WindowCreate | Form::WindowAllocate | Form::WindowDynamic | Form::WindowFree => {
            Class::Allocation
        }
        form if form.window().is_some() => {
            let name = name(function)?;
            let has = |part: &str| name.contains(part);
            if has("fence") {
                Class::Barrier
            } else if has("lock") {
                Class::Lock
            } else if has("flush") {
                Class::Quiet
            } else {
                Class::Wait
            }
        }
        _ => return None,
    })
}

/// Whether it begins the use of an interface, which may start threads of its own.
pub fn begins(function: u16) -> bool {
    let begins = [
        Interface::Shmem.function(shmem::Function::shmem_init as u16),
        Interface::Shmem.function(shmem::Function::shmem_init_thread as u16),
        Interface::Caf.function(caf::Function::_gfortran_caf_init as u16),
    ];
    form(function) == Form::Init || begins.contains(&function)
}

/// The form of its arguments; that of no arguments for an unknown one.
#[inline]
pub fn form(function: u16) -> Form {
    ROWS.get(function as usize)
        .map_or(Form::Plain, |row| row.form)
}

/// What it waits for.
#[inline]
pub fn wait(function: u16) -> Wait {
    if let Some(row) = pgas(function) {
        return row.wait;
    }
    ROWS.get(function as usize)
        .map_or(Wait::Nothing, |row| row.wait)
}

/// Whether its counts and places have 64 bits.
#[inline]
pub fn is_large(function: u16) -> bool {
    ROWS.get(function as usize).is_some_and(|row| row.is_large)
}

/// The same function with counts of 32 bits; `None` if its own have.
pub fn narrow(function: u16) -> Option<u16> {
    // It stands before it.
    is_large(function).then(|| function - 1)
}

/// Whether it begins a collective operation, which a later call completes.
#[inline]
pub fn is_later(function: u16) -> bool {
    ROWS.get(function as usize).is_some_and(|row| row.is_later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_is_among_the_arguments() {
        for row in &ROWS {
            let form = row.form;
            let (counts, arrays) = form.counts();
            let places = [
                form.communicator(),
                form.root(),
                form.status(),
                form.new_communicator(),
                form.window(),
                form.target(),
                form.new_window(),
                form.found(),
            ];
            let places = places.into_iter().flatten();
            let requests = form.requests().into_iter().flatten();
            let all = places
                .chain(requests)
                .chain(counts.iter().chain(arrays).copied());
            for place in all {
                assert!(place < form.arguments() as usize, "{:?}: {place}", row.name);
            }
        }
        let of = |it: Function| form(it as u16);
        assert_eq!(of(Function::MPI_Gatherv).communicator(), Some(8));
        assert_eq!(of(Function::MPI_Cart_create).new_communicator(), Some(5));
        assert_eq!(of(Function::MPI_Testsome).found(), Some(2));
    }

    #[test]
    fn each_function_stands_once_and_knows_itself() {
        let mut names = ROWS.map(|row| row.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for row in &ROWS {
            let name = row.tool.to_bytes().strip_prefix(b"P");
            assert_eq!(name, Some(row.name.to_bytes()));
        }
        let of = |it: Function| it as u16;
        assert_eq!(name(of(Function::MPI_Recv)), Some("MPI_Recv"));
        assert_eq!(wait(of(Function::MPI_Barrier)), Wait::Barrier);
        assert!(is_later(of(Function::MPI_Ibarrier)) && !is_later(of(Function::MPI_Barrier)));
        assert!(is_large(of(Function::MPI_Send_c)) && !is_large(of(Function::MPI_Sendrecv)));
        for row in 0..COUNT as u16 {
            let names = narrow(row).and_then(|narrow| Some((name(row)?, name(narrow)?)));
            assert!(names.is_none_or(|(wide, narrow)| wide.strip_suffix("_c") == Some(narrow)));
        }
        assert_eq!(form(of(Function::MPI_Waitall)), Form::WaitAll);
        assert_eq!((name(u16::MAX), form(u16::MAX)), (None, Form::Plain));
    }
}
