//! The columns of each table. `docs/parquet.md` tells what they mean; a test holds the two together.

/// The version of the schema. A column that goes, or changes its meaning, makes a new one; a column that
/// is added does not.
pub(crate) const VERSION: i32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Long,
    Unsigned,
    Double,
    Boolean,
    Text,
    Timestamp,
    Integers,
    Texts,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_nullable: bool,
}

const fn given(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
    }
}

const fn maybe(name: &'static str, kind: Kind) -> Column {
    Column {
        is_nullable: true,
        ..given(name, kind)
    }
}

pub(crate) static SAMPLES: [Column; 19] = [
    given("kind", Kind::Text),
    given("thread", Kind::Integer),
    given("stack", Kind::Integer),
    maybe("time_ns", Kind::Long),
    maybe("second", Kind::Integer),
    given("seconds", Kind::Double),
    given("state", Kind::Text),
    given("scheduling", Kind::Text),
    given("kernel", Kind::Boolean),
    given("work", Kind::Boolean),
    maybe("region", Kind::Integer),
    maybe("construct", Kind::Text),
    maybe("region_instance", Kind::Long),
    maybe("task_instance", Kind::Long),
    maybe("cpu", Kind::Integer),
    given("inferred", Kind::Boolean),
    given("blame_seconds", Kind::Double),
    maybe("counter", Kind::Text),
    maybe("events", Kind::Double),
];

pub(crate) static INTERVALS: [Column; 13] = [
    given("kind", Kind::Text),
    given("recording", Kind::Integer),
    given("pid", Kind::Integer),
    maybe("thread", Kind::Integer),
    given("start_ns", Kind::Long),
    given("duration_ns", Kind::Long),
    maybe("state", Kind::Text),
    maybe("scheduling", Kind::Text),
    maybe("name", Kind::Text),
    maybe("region", Kind::Integer),
    maybe("region_instance", Kind::Long),
    maybe("task_instance", Kind::Long),
    maybe("team", Kind::Integer),
];

pub(crate) static STACKS: [Column; 2] = [
    given("stack", Kind::Integer),
    given("frames", Kind::Integers),
];

pub(crate) static FRAMES: [Column; 12] = [
    given("frame", Kind::Integer),
    given("function_id", Kind::Integer),
    given("function", Kind::Text),
    maybe("symbol", Kind::Text),
    maybe("load_object", Kind::Text),
    maybe("build_id", Kind::Text),
    maybe("address", Kind::Unsigned),
    maybe("file", Kind::Text),
    maybe("line", Kind::Integer),
    maybe("function_file", Kind::Text),
    maybe("function_line", Kind::Integer),
    given("inlined", Kind::Boolean),
];

pub(crate) static REGIONS: [Column; 48] = [
    given("region", Kind::Integer),
    given("name", Kind::Text),
    maybe("function", Kind::Text),
    maybe("file", Kind::Text),
    maybe("line", Kind::Integer),
    given("teams", Kind::Boolean),
    given("nesting", Kind::Integer),
    maybe("instances", Kind::Long),
    maybe("threads", Kind::Integer),
    given("elapsed", Kind::Double),
    maybe("load_balance", Kind::Double),
    given("gain", Kind::Double),
    given("gain_imbalance", Kind::Double),
    given("gain_lock", Kind::Double),
    given("gain_ordered", Kind::Double),
    given("gain_scheduling", Kind::Double),
    given("gain_reduction", Kind::Double),
    given("gain_atomic", Kind::Double),
    given("gain_tasks", Kind::Double),
    given("gain_mpi", Kind::Double),
    given("gain_offcpu", Kind::Double),
    given("total", Kind::Double),
    given("ompwork", Kind::Double),
    given("ompwait", Kind::Double),
    given("offcpuwork", Kind::Double),
    given("ompovhd", Kind::Double),
    given("omprduc", Kind::Double),
    given("ompibar", Kind::Double),
    given("ompebar", Kind::Double),
    given("omplkwt", Kind::Double),
    given("ompctwt", Kind::Double),
    given("ompodwt", Kind::Double),
    given("ompatwt", Kind::Double),
    given("omptskwt", Kind::Double),
    given("mpiwork", Kind::Double),
    given("mpircvwt", Kind::Double),
    given("mpisndwt", Kind::Double),
    given("mpireqwt", Kind::Double),
    given("mpibarwt", Kind::Double),
    given("mpicolwt", Kind::Double),
    given("mpirmawt", Kind::Double),
    given("pgaswork", Kind::Double),
    given("pgasxfwt", Kind::Double),
    given("pgasquwt", Kind::Double),
    given("pgasflwt", Kind::Double),
    given("pgaslkwt", Kind::Double),
    given("pgasbawt", Kind::Double),
    given("pgascowt", Kind::Double),
];

pub(crate) static THREADS: [Column; 14] = [
    given("thread", Kind::Integer),
    given("recording", Kind::Integer),
    given("host", Kind::Text),
    maybe("rank", Kind::Integer),
    given("pid", Kind::Integer),
    maybe("process", Kind::Text),
    given("tid", Kind::Integer),
    maybe("name", Kind::Text),
    given("kind", Kind::Text),
    given("start_ns", Kind::Long),
    maybe("end_ns", Kind::Long),
    given("total", Kind::Double),
    given("ompwork", Kind::Double),
    given("ompwait", Kind::Double),
];

pub(crate) static RECORDING: [Column; 29] = [
    given("recording", Kind::Integer),
    given("schema_version", Kind::Integer),
    given("exporter", Kind::Text),
    given("name", Kind::Text),
    given("command", Kind::Text),
    given("host", Kind::Text),
    maybe("rank", Kind::Integer),
    maybe("ranks", Kind::Integer),
    maybe("job", Kind::Text),
    given("started", Kind::Timestamp),
    given("duration_ns", Kind::Long),
    given("paused_ns", Kind::Long),
    maybe("exit_status", Kind::Integer),
    maybe("system", Kind::Text),
    maybe("cpu_model", Kind::Text),
    given("cpus", Kind::Integer),
    given("runtimes", Kind::Texts),
    maybe("sampling_event", Kind::Text),
    given("sampling_period_us", Kind::Double),
    given("clock_samples", Kind::Long),
    given("switch_samples", Kind::Long),
    given("off_cpu_known", Kind::Boolean),
    given("lost", Kind::Texts),
    given("notes", Kind::Texts),
    given("view_mode", Kind::Text),
    given("inline", Kind::Boolean),
    maybe("filter", Kind::Text),
    given("weights", Kind::Text),
    given("estimated_seconds", Kind::Double),
];

/// The file of each table, and its columns: what the manual describes.
#[cfg(test)]
pub(crate) static TABLES: [(&str, &[Column]); 7] = [
    ("samples", &SAMPLES),
    ("intervals", &INTERVALS),
    ("stacks", &STACKS),
    ("frames", &FRAMES),
    ("regions", &REGIONS),
    ("threads", &THREADS),
    ("recording", &RECORDING),
];
