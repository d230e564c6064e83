//! The rank of this process among those that a launcher (`mpirun`, `srun`) started, by its environment,
//! and the names of the ranks' experiments.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use experiment::header::Rank;

/// What a launcher sets in the environment of a rank.
struct Variables {
    rank: &'static str,
    /// The number of ranks; empty if the launcher does not tell.
    size: &'static str,
    /// The number of ranks on this node; empty if the launcher does not tell.
    local: &'static str,
}

/// The launchers. An earlier one comes first where several match: Slurm's `srun` may have started the
/// daemons of the others, whose ranks inherit its variables.
///
/// Slurm sets SLURM_PROCID in the shell of a batch job, too, but SLURM_STEP_NUM_TASKS only for what
/// `srun` starts.
const LAUNCHERS: [Variables; 5] = [
    // Open MPI.
    Variables {
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local: "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
    // MVAPICH2.
    Variables {
        rank: "MV2_COMM_WORLD_RANK",
        size: "MV2_COMM_WORLD_SIZE",
        local: "MV2_COMM_WORLD_LOCAL_SIZE",
    },
    // Hydra, of MPICH and Intel MPI; others that speak PMI.
    Variables {
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local: "MPI_LOCALNRANKS",
    },
    Variables {
        rank: SLURM_RANK,
        size: "SLURM_STEP_NUM_TASKS",
        local: "SLURM_STEP_TASKS_PER_NODE",
    },
    // PRRTE and others that speak PMIx.
    Variables {
        rank: "PMIX_RANK",
        size: "",
        local: "",
    },
];
const SLURM_RANK: &str = "SLURM_PROCID";
/// Set for the shell of `srun --pty`, whose children are no ranks.
const SLURM_TERMINAL: &str = "SLURM_PTY_PORT";

/// A rank, and the ranks beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The rank.
    pub rank: Rank,
    /// The number of ranks on this node, 1 if it is not known.
    pub local: usize,
    /// Whether all ranks of the launch know its job by the same name, wherever they run.
    pub has_job: bool,
}

/// The rank of this process; `None` if no launcher started it.
pub fn own() -> Option<Placed> {
    let mut placed = of(|name| std::env::var(name).ok())?;
    if placed.rank.job.is_empty() {
        placed.rank.job = launcher_process();
        let size = placed.rank.size.map(|size| size as usize);
        placed.has_job = size.is_some_and(|size| size <= placed.local);
    }
    Some(placed)
}

/// The rank by the variables of an environment.
fn of(value: impl Fn(&str) -> Option<String>) -> Option<Placed> {
    // `16(x2),8`: of the first node.
    let number = |name: &str| {
        let value = value(name)?;
        let end = value.find(|c: char| !c.is_ascii_digit());
        value[..end.unwrap_or(value.len())].parse::<u32>().ok()
    };
    let launcher = LAUNCHERS.iter().find(|launcher| {
        let is_slurm = launcher.rank == SLURM_RANK;
        let is_step = number(launcher.size).is_some() && value(SLURM_TERMINAL).is_none();
        number(launcher.rank).is_some() && (!is_slurm || is_step)
    })?;
    let step = ["SLURM_JOB_ID", "SLURM_STEP_ID"].map(|name| value(name).unwrap_or_default());
    let job = match value("PMIX_NAMESPACE") {
        Some(namespace) => namespace,
        None if step[0].is_empty() => String::new(),
        None => step.join("."),
    };
    Some(Placed {
        has_job: !job.is_empty(),
        rank: Rank {
            number: number(launcher.rank)?,
            size: number(launcher.size),
            job,
        },
        local: number(launcher.local).map_or(1, |count| count.max(1) as usize),
    })
}

/// The process that started the ranks of this node: the nearest ancestor that is no rank. Its host,
/// process id and start time.
fn launcher_process() -> String {
    let is_rank = |pid: &str| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        variables.any(|variable| {
            let is = |it: &Variables| {
                let rest = variable.strip_prefix(it.rank.as_bytes());
                rest.is_some_and(|rest| rest.starts_with(b"="))
            };
            LAUNCHERS.iter().any(is)
        })
    };
    let mut pid = "self".to_owned();
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before it may hold anything (proc(5)): state, parent, and 20th from there the start.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let mut fields = fields.split(' ').skip(1);
        let Some(parent) = fields.next() else {
            return pid;
        };
        if pid != "self" && !is_rank(&pid) {
            let (host, _) = crate::sys::host_and_system();
            return format!("{host}.{pid}.{}", fields.nth(17).unwrap_or_default());
        }
        pid = parent.to_owned();
    }
}

/// The name of a rank's experiment: `.rK` before the ending `.er` of the name, or at its end.
pub fn name(name: &Path, rank: &Rank) -> PathBuf {
    let number = rank.number;
    let is_experiment = name.extension().is_some_and(|ending| ending == "er");
    let mut text = if is_experiment {
        name.with_extension("").into_os_string()
    } else {
        name.as_os_str().to_owned()
    };
    text.push(format!(".r{number}"));
    if is_experiment {
        text.push(".er");
    }
    PathBuf::from(text)
}

/// The numbers N and K of an experiment with the name `test.N.er` or `test.N.rK.er`.
fn numbers(name: &OsString) -> Option<(u64, Option<u32>)> {
    let inner = name.to_str()?.strip_prefix("test.")?.strip_suffix(".er")?;
    match inner.split_once(".r") {
        Some((number, rank)) => Some((number.parse().ok()?, Some(rank.parse().ok()?))),
        None => Some((inner.parse().ok()?, None)),
    }
}

/// The experiments `test.N.er` of a folder, by N.
pub(crate) fn numbered(folder: &Path) -> Vec<(u64, PathBuf)> {
    let numbered = all_numbered(folder).into_iter();
    let whole = numbered.filter(|(_, rank)| rank.is_none());
    let path = |(number, _)| (number, folder.join(format!("test.{number}.er")));
    whole.map(path).collect()
}

/// The numbers N and K of all experiments of a folder with such names, in order.
fn all_numbered(folder: &Path) -> Vec<(u64, Option<u32>)> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut taken: Vec<(u64, Option<u32>)> = entries
        .filter_map(|entry| numbers(&entry.file_name()))
        .collect();
    taken.sort_unstable();
    taken
}

/// `test.N.er`, or of a rank `test.N.rK.er`. N is one above the highest number in use. All ranks of a
/// launch take the same: that of a rank which came before.
pub fn next_free(folder: &Path, rank: Option<&Rank>) -> PathBuf {
    let taken = all_numbered(folder);
    let next = taken.last().map_or(1, |(last, _)| last.saturating_add(1));
    let Some(rank) = rank else {
        return format!("test.{next}.er").into();
    };
    let own = |number: &u64| taken.contains(&(*number, Some(rank.number)));
    let mut others = taken.iter().rev().filter(|(number, _)| !own(number));
    let of_job = others.find(|(number, other)| {
        let path = other.map(|other| folder.join(format!("test.{number}.r{other}.er")));
        path.is_some_and(|path| job_of(&path).as_ref() == Some(&rank.job))
    });
    let number = of_job.map_or(next, |(number, _)| *number);
    format!("test.{number}.r{}.er", rank.number).into()
}

/// The job of an experiment's rank.
fn job_of(experiment: &Path) -> Option<String> {
    /// How often to look for the header of an experiment that is being made at this moment.
    const LOOKS: u32 = 20;
    for _ in 0..LOOKS {
        if let Some(header) = experiment::read_header(experiment) {
            return header.rank.map(|rank| rank.job);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(variables: &str) -> Option<Placed> {
        of(|name| {
            let mut all = variables.split(' ').filter_map(|it| it.split_once('='));
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_owned())
        })
    }

    fn numbers_of(variables: &str) -> Option<(u32, Option<u32>, usize)> {
        let placed = placed(variables)?;
        Some((placed.rank.number, placed.rank.size, placed.local))
    }

    #[test]
    fn each_launcher_tells_rank_size_and_ranks_of_the_node() {
        let open_mpi = "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 \
                        OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=3 PMIX_NAMESPACE=77";
        assert_eq!(numbers_of(open_mpi), Some((3, Some(8), 4)));
        assert_eq!(placed(open_mpi).unwrap().rank.job, "77");
        let hydra = "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2 PMI_FD=6";
        assert_eq!(numbers_of(hydra), Some((1, Some(2), 2)));
        let mvapich = "MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_SIZE=1";
        assert_eq!(numbers_of(mvapich), Some((0, Some(2), 1)));
        assert_eq!(numbers_of("PMIX_RANK=5"), Some((5, None, 1)));
        assert_eq!(numbers_of("HOME=/ PMI_RANK="), None);
    }

    #[test]
    fn slurm_s_tasks_are_ranks_and_its_shells_are_not() {
        let job = "SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_NTASKS=40";
        assert_eq!(numbers_of(job), None, "the shell of sbatch");
        let step = "SLURM_JOB_ID=9 SLURM_STEP_ID=2 SLURM_PROCID=7 SLURM_NTASKS=40 \
                    SLURM_STEP_NUM_TASKS=40 SLURM_STEP_TASKS_PER_NODE=16(x2),8";
        assert_eq!(numbers_of(step), Some((7, Some(40), 16)));
        assert_eq!(placed(step).unwrap().rank.job, "9.2");
        assert_eq!(numbers_of(&format!("{step} SLURM_PTY_PORT=1")), None);
        // `srun` has started Open MPI's daemon, once on each node.
        let daemons = format!("{step} OMPI_COMM_WORLD_RANK=11 OMPI_COMM_WORLD_SIZE=64");
        assert_eq!(numbers_of(&daemons), Some((11, Some(64), 1)));
    }

    #[test]
    fn a_rank_s_number_stands_before_the_ending() {
        let rank = |number| Rank {
            number,
            ..Rank::default()
        };
        assert_eq!(name(Path::new("exp.er"), &rank(0)), Path::new("exp.r0.er"));
        assert_eq!(name(Path::new("a.b/e"), &rank(12)), Path::new("a.b/e.r12"));
    }

    #[test]
    fn ranks_of_a_launch_take_the_same_number() {
        let folder = tempfile::tempdir().unwrap();
        let rank = |number, job: &str| Rank {
            number,
            size: Some(2),
            job: job.to_owned(),
        };
        let take = |rank: Rank| {
            let name = next_free(folder.path(), Some(&rank));
            let header = experiment::header::Header {
                format: experiment::header::FORMAT_VERSION,
                rank: Some(rank),
                ..Default::default()
            };
            experiment::Writer::create(folder.path().join(&name), &header).unwrap();
            name.into_os_string().into_string().unwrap()
        };
        assert_eq!(take(rank(0, "a")), "test.1.r0.er");
        assert_eq!(take(rank(0, "b")), "test.2.r0.er");
        assert_eq!(take(rank(1, "a")), "test.1.r1.er");
        assert_eq!(take(rank(1, "b")), "test.2.r1.er");
        // A later launch of the same job, larger.
        assert_eq!(take(rank(0, "b")), "test.3.r0.er");
        assert_eq!(take(rank(2, "c")), "test.4.r2.er");
        assert_eq!(take(rank(1, "b")), "test.3.r1.er");
        assert_eq!(next_free(folder.path(), None), Path::new("test.5.er"));
    }

    #[test]
    fn without_an_id_the_job_is_the_process_that_started_the_ranks() {
        let job = launcher_process();
        let (host, _) = crate::sys::host_and_system();
        let rest = job.strip_prefix(&format!("{host}.")).unwrap();
        let (pid, started) = rest.split_once('.').unwrap();
        assert!(pid.parse::<i32>().is_ok() && started.parse::<u64>().is_ok());
    }
}
