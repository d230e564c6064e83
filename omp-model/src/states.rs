//! What a thread does, as views show it: one table. A new kind of wait is a row here, and a recorded
//! [`State`] that becomes it.

use experiment::state::State;

/// What a state is called, and how it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in filters (`OMPSTATE`).
    pub word: &'static str,
    /// Whether the thread has work to do: on the CPU, its time is then OMP Work.
    pub is_work: bool,
    /// Its letter on a timeline.
    pub letter: char,
    /// Its words in the timeline's legend.
    pub legend: &'static str,
    /// Its colour's family.
    pub family: Family,
    /// What the time is lost to, on a CPU if the thread has work to do; `None`: it is useful work.
    pub cause: Option<Cause>,
    /// The metric of its time, and the leaf at which that stands; `None`: the program's own code.
    pub shown: Option<Shown>,
}

/// A state that is none of the program's own code.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The metric's name in the command language.
    pub metric: &'static str,
    /// The same as a name in filters.
    pub word: &'static str,
    /// The words of a heading.
    pub words: &'static str,
    /// The heading of a narrow column.
    pub heading: [&'static str; 2],
    /// The name of the leaf.
    pub leaf: &'static str,
}

const fn state(
    (word, is_work): (&'static str, bool),
    (letter, legend, family): (char, &'static str, Family),
    cause: Option<Cause>,
    shown: Option<Shown>,
) -> Row {
    Row {
        word,
        is_work,
        letter,
        legend,
        family,
        cause,
        shown,
    }
}

const fn shown(
    [metric, word, words]: [&'static str; 3],
    heading: [&'static str; 2],
    leaf: &'static str,
) -> Option<Shown> {
    Some(Shown {
        metric,
        word,
        words,
        heading,
        leaf,
    })
}

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $row:expr;)*) => {
        /// What the thread did, as views show it: the recorded state refined by the sample's stack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum RefinedState {
            $($(#[$doc])* $name,)*
        }

        impl RefinedState {
            /// Every state, in the order of their numbers.
            pub const ALL: [RefinedState; [$(stringify!($name)),*].len()] = [$(RefinedState::$name),*];

            /// The state's row of the table.
            pub const fn row(self) -> Row {
                match self {
                    $(RefinedState::$name => $row,)*
                }
            }
        }
    };
}

states! {
    /// Serial code, or a thread without OpenMP.
    Serial = state(("SERIAL", true), ('=', "serial", Family::Serial), None, None);
    /// User code of a region or task.
    Work = state(("WORK", true), ('#', "work", Family::Work), None, None);
    /// In the runtime, not waiting.
    Overhead = state(("OVERHEAD", true), ('v', "overhead", Family::Runtime), Some(Cause::Scheduling),
        shown(["ompovhd", "OMPOVHD", "OMP Overhead"], ["of it", "overhead"], "<OMP overhead>"));
    /// Combining a reduction.
    Reduction = state(("REDUCTION", true), ('r', "reduction", Family::Runtime), Some(Cause::Reduction),
        shown(["omprduc", "OMPRDUC", "OMP Reduction"], ["of it", "reduction"], "<OMP reduction>"));
    /// In an implicit barrier.
    ImplicitBarrier = state(("IMPLICIT_BARRIER", false), ('b', "implicit barrier", Family::Barrier), Some(Cause::Imbalance),
        shown(["ompibar", "OMPIBAR", "OMP Implicit Barrier"], ["Implicit", "barrier"], "<OMP implicit barrier>"));
    /// In an explicit barrier.
    ExplicitBarrier = state(("EXPLICIT_BARRIER", false), ('e', "explicit barrier", Family::Barrier), Some(Cause::Imbalance),
        shown(["ompebar", "OMPEBAR", "OMP Explicit Barrier"], ["Explicit", "barrier"], "<OMP explicit barrier>"));
    /// A worker between regions.
    Idle = state(("IDLE", false), ('.', "idle", Family::Idle), Some(Cause::Scheduling),
        shown(["ompidle", "OMPIDLE", "OMP Idle"], ["OMP Idle", "sec."], "<OMP idle>"));
    /// Waiting for a lock.
    Lock = state(("LOCK_WAIT", false), ('l', "lock", Family::Exclusion), Some(Cause::Lock),
        shown(["omplkwt", "OMPLKWT", "OMP Lock Wait"], ["Lock", "sec."], "<OMP lock wait>"));
    /// Waiting to enter a critical section.
    Critical = state(("CRITICAL_WAIT", false), ('c', "critical", Family::Exclusion), Some(Cause::Lock),
        shown(["ompctwt", "OMPCTWT", "OMP Critical Wait"], ["Critical", "sec."], "<OMP critical section wait>"));
    /// Waiting for an ordered section's turn.
    Ordered = state(("ORDERED_WAIT", false), ('o', "ordered", Family::Exclusion), Some(Cause::Ordered),
        shown(["ompodwt", "OMPODWT", "OMP Ordered Wait"], ["Ordered", "sec."], "<OMP ordered section wait>"));
    /// Waiting in an atomic.
    Atomic = state(("ATOMIC_WAIT", false), ('a', "atomic", Family::Exclusion), Some(Cause::Atomic),
        shown(["ompatwt", "OMPATWT", "OMP Atomic Wait"], ["Atomic", "sec."], "<OMP atomic wait>"));
    /// Waiting for tasks.
    Task = state(("TASK_WAIT", false), ('t', "task wait", Family::Task), Some(Cause::Tasks),
        shown(["omptskwt", "OMPTSKWT", "OMP Task Wait"], ["Tasks", "sec."], "<OMP task wait>"));
    /// In a function of MPI that does not wait for other ranks.
    Mpi = state(("MPI_WORK", true), ('m', "MPI work", Family::Runtime), Some(Cause::Mpi),
        shown(["mpiwork", "MPIWORK", "MPI Work"], ["MPI", "work"], "<MPI work>"));
    /// Waiting for a message.
    MpiReceive = state(("MPI_RECEIVE_WAIT", false), ('w', "MPI receive", Family::Messages), Some(Cause::Mpi),
        shown(["mpircvwt", "MPIRCVWT", "MPI Receive Wait"], ["Receive", "sec."], "<MPI wait: receive>"));
    /// Waiting until a message is sent.
    MpiSend = state(("MPI_SEND_WAIT", false), ('s', "MPI send", Family::Messages), Some(Cause::Mpi),
        shown(["mpisndwt", "MPISNDWT", "MPI Send Wait"], ["Send", "sec."], "<MPI wait: send>"));
    /// Waiting for operations of MPI that were begun before.
    MpiRequest = state(("MPI_REQUEST_WAIT", false), ('q', "MPI request", Family::Messages), Some(Cause::Mpi),
        shown(["mpireqwt", "MPIREQWT", "MPI Request Wait"], ["Requests", "sec."], "<MPI wait: request>"));
    /// In `MPI_Barrier`.
    MpiBarrier = state(("MPI_BARRIER_WAIT", false), ('B', "MPI barrier", Family::Messages), Some(Cause::Mpi),
        shown(["mpibarwt", "MPIBARWT", "MPI Barrier Wait"], ["Barrier", "sec."], "<MPI wait: barrier>"));
    /// In another collective operation of MPI.
    MpiCollective = state(("MPI_COLLECTIVE_WAIT", false), ('C', "MPI collective", Family::Messages), Some(Cause::Mpi),
        shown(["mpicolwt", "MPICOLWT", "MPI Collective Wait"], ["Collective", "sec."], "<MPI wait: collective>"));
    /// Waiting for one-sided operations of MPI, or for their permission.
    MpiOneSided = state(("MPI_ONE_SIDED_WAIT", false), ('p', "MPI one-sided", Family::Messages), Some(Cause::Mpi),
        shown(["mpirmawt", "MPIRMAWT", "MPI One-sided Wait"], ["One-sided", "sec."], "<MPI wait: one-sided>"));
    /// In a call of OpenSHMEM, coarrays or UPC's runtime that does not wait for other ranks.
    Pgas = state(("PGAS_WORK", true), ('g', "PGAS work", Family::Runtime), Some(Cause::Mpi),
        shown(["pgaswork", "PGASWORK", "PGAS Work"], ["PGAS", "work"], "<PGAS work>"));
    /// Waiting for one access to another rank's memory.
    PgasTransfer = state(("PGAS_TRANSFER_WAIT", false), ('x', "PGAS transfer", Family::Messages), Some(Cause::Mpi),
        shown(["pgasxfwt", "PGASXFWT", "PGAS Transfer Wait"], ["Transfer", "sec."], "<PGAS wait: transfer>"));
    /// Waiting until own accesses are complete, or in order.
    PgasQuiet = state(("PGAS_QUIET_WAIT", false), ('u', "PGAS quiet", Family::Messages), Some(Cause::Mpi),
        shown(["pgasquwt", "PGASQUWT", "PGAS Quiet Wait"], ["Quiet", "sec."], "<PGAS wait: quiet>"));
    /// Waiting for a value or an event of another rank.
    PgasFlag = state(("PGAS_FLAG_WAIT", false), ('J', "PGAS flag", Family::Messages), Some(Cause::Mpi),
        shown(["pgasflwt", "PGASFLWT", "PGAS Flag Wait"], ["Flag", "sec."], "<PGAS wait: flag>"));
    /// Waiting for a lock or a critical section that all ranks share.
    PgasLock = state(("PGAS_LOCK_WAIT", false), ('L', "PGAS lock", Family::Messages), Some(Cause::Mpi),
        shown(["pgaslkwt", "PGASLKWT", "PGAS Lock Wait"], ["PGAS", "lock"], "<PGAS wait: lock>"));
    /// In a barrier of all ranks.
    PgasBarrier = state(("PGAS_BARRIER_WAIT", false), ('A', "PGAS barrier", Family::Messages), Some(Cause::Mpi),
        shown(["pgasbawt", "PGASBAWT", "PGAS Barrier Wait"], ["PGAS", "barrier"], "<PGAS wait: barrier>"));
    /// In another collective operation of such an interface.
    PgasCollective = state(("PGAS_COLLECTIVE_WAIT", false), ('K', "PGAS collective", Family::Messages), Some(Cause::Mpi),
        shown(["pgascowt", "PGASCOWT", "PGAS Collective Wait"], ["PGAS", "coll."], "<PGAS wait: collective>"));
}

impl RefinedState {
    /// Those that are none of the program's own code, in the order of their numbers.
    pub const SHOWN: [RefinedState; RefinedState::ALL.len() - RefinedState::OWN] = {
        let mut shown = [RefinedState::Serial; RefinedState::ALL.len() - RefinedState::OWN];
        let mut at = 0;
        while at < shown.len() {
            shown[at] = RefinedState::ALL[at + RefinedState::OWN];
            assert!(shown[at].row().shown.is_some());
            at += 1;
        }
        shown
    };

    /// The first ones are the program's own code.
    const OWN: usize = 2;

    /// Whether the thread has work to do in this state: on the CPU, its time is then OMP Work.
    pub const fn can_work(self) -> bool {
        self.row().is_work
    }

    /// Whether threads exclude each other there.
    pub const fn is_exclusion(self) -> bool {
        matches!(self.row().family, Family::Exclusion)
    }

    /// What a recorded state is as long as no stack says more; `None`: unknown.
    pub const fn of(state: State) -> Option<RefinedState> {
        Some(match state {
            State::Outside | State::Serial => RefinedState::Serial,
            State::Work => RefinedState::Work,
            State::Overhead => RefinedState::Overhead,
            State::Reduction => RefinedState::Reduction,
            State::ImplicitBarrier
            | State::ImplementationBarrier
            | State::TeamsBarrier
            | State::Barrier => RefinedState::ImplicitBarrier,
            State::ExplicitBarrier => RefinedState::ExplicitBarrier,
            State::Idle => RefinedState::Idle,
            State::Lock | State::NestLock => RefinedState::Lock,
            State::Critical => RefinedState::Critical,
            State::Ordered => RefinedState::Ordered,
            State::Atomic => RefinedState::Atomic,
            State::TaskWait | State::TaskGroup => RefinedState::Task,
            State::Mpi => RefinedState::Mpi,
            State::MpiReceive => RefinedState::MpiReceive,
            State::MpiSend => RefinedState::MpiSend,
            State::MpiRequest => RefinedState::MpiRequest,
            State::MpiBarrier => RefinedState::MpiBarrier,
            State::MpiCollective => RefinedState::MpiCollective,
            State::MpiOneSided => RefinedState::MpiOneSided,
            State::Pgas => RefinedState::Pgas,
            State::PgasTransfer => RefinedState::PgasTransfer,
            State::PgasQuiet => RefinedState::PgasQuiet,
            State::PgasFlag => RefinedState::PgasFlag,
            State::PgasLock => RefinedState::PgasLock,
            State::PgasBarrier => RefinedState::PgasBarrier,
            State::PgasCollective => RefinedState::PgasCollective,
            State::Unknown => return None,
        })
    }

    /// Whether the thread is in a function of MPI, or of another interface between ranks.
    pub const fn is_mpi(self) -> bool {
        matches!(self.row().cause, Some(Cause::Mpi))
    }
}

/// What a colour stands for; a letter tells the states of a family apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Serial code.
    Serial,
    /// Parallel work.
    Work,
    /// The runtime at work: overhead, reductions.
    Runtime,
    /// Barriers.
    Barrier,
    /// Mutual exclusion: locks, critical and ordered sections, atomics.
    Exclusion,
    /// Waiting for tasks.
    Task,
    /// Waiting in MPI.
    Messages,
    /// No work to do.
    Idle,
    /// Nothing is known.
    Unknown,
}

impl Family {
    /// The nearest of a terminal's 256 colours that every terminal shows alike (16 to 255), and whether text
    /// on it is dark.
    pub const fn terminal_colour(self) -> (u8, bool) {
        match self {
            Family::Serial => (74, true),
            Family::Work => (36, true),
            Family::Runtime => (175, true),
            Family::Barrier => (166, false),
            Family::Exclusion => (221, true),
            Family::Task => (25, false),
            Family::Messages => (97, false),
            Family::Idle => (240, false),
            Family::Unknown => (255, true),
        }
    }

    /// Its colour in a picture or on a page, as `#rrggbb`: Okabe and Ito's (Color Universal Design, 2008),
    /// made for all kinds of colour vision, and a violet between them, which their blue and purple leave room for.
    pub const fn colour(self) -> &'static str {
        match self {
            Family::Serial => "#56b4e9",
            Family::Work => "#009e73",
            Family::Runtime => "#cc79a7",
            Family::Barrier => "#d55e00",
            Family::Exclusion => "#f0e442",
            Family::Task => "#0072b2",
            Family::Messages => "#875faf",
            Family::Idle => "#999999",
            Family::Unknown => "#dddddd",
        }
    }
}

/// Why threads of a region's team did no useful work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// In implicit and explicit barriers: other threads had not arrived yet.
    Imbalance,
    /// Waiting for locks and critical sections.
    Lock,
    /// Waiting for an ordered section's turn.
    Ordered,
    /// Inside the runtime without waiting, or on the way into the team.
    Scheduling,
    /// Combining reductions.
    Reduction,
    /// Waiting in atomics.
    Atomic,
    /// Waiting for tasks.
    Tasks,
    /// Inside of MPI, waiting for other ranks or not.
    Mpi,
    /// Switched out with work to do.
    OffCpu,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Cause; 9] = [
        Cause::Imbalance,
        Cause::Lock,
        Cause::Ordered,
        Cause::Scheduling,
        Cause::Reduction,
        Cause::Atomic,
        Cause::Tasks,
        Cause::Mpi,
        Cause::OffCpu,
    ];

    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Cause::Imbalance => "imbalance",
            Cause::Lock => "lock",
            Cause::Ordered => "ordered",
            Cause::Scheduling => "scheduling",
            Cause::Reduction => "reduction",
            Cause::Atomic => "atomic",
            Cause::Tasks => "tasks",
            Cause::Mpi => "mpi",
            Cause::OffCpu => "offcpu",
        }
    }

    /// The cause, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::Imbalance => "imbalance",
            Cause::Lock => "locks and critical sections",
            Cause::Ordered => "ordered sections",
            Cause::Scheduling => "forking and scheduling",
            Cause::Reduction => "reductions",
            Cause::Atomic => "atomics",
            Cause::Tasks => "waiting for tasks",
            Cause::Mpi => "calls of MPI",
            Cause::OffCpu => "threads off the CPU",
        }
    }
}

/// Leaves with a name but no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pseudo {
    /// That of a state that is none of the program's own code.
    State(RefinedState),
    /// `<OpenBLAS idle>`: a thread of OpenBLAS's own pool without work, or a thread that waits for
    /// that pool.
    OpenBlasIdle,
    /// `<OMP flush spin>`: a `flush` in the program's own code. One that takes time is in a loop
    /// that waits for another thread. Work by the OpenMP specification.
    FlushSpin,
    /// `<tail call>`: functions that left the stack by jumps, if there were any. There are several ways by which
    /// the function below can have been reached.
    TailCall,
    /// `<Unknown>`: no stack and no context.
    Unknown,
}

impl Pseudo {
    /// The leaf of time in this state, in user mode.
    pub const fn of(state: RefinedState) -> Option<Pseudo> {
        match state.row().shown {
            Some(_) => Some(Pseudo::State(state)),
            None => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Pseudo::State(state) => match state.row().shown {
                Some(shown) => shown.leaf,
                None => Pseudo::Unknown.name(),
            },
            Pseudo::OpenBlasIdle => "<OpenBLAS idle>",
            Pseudo::FlushSpin => "<OMP flush spin>",
            Pseudo::TailCall => "<tail call>",
            Pseudo::Unknown => "<Unknown>",
        }
    }
}
