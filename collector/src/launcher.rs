//! Command lines of launchers (`mpirun OPTIONS PROGRAM`, `srun`): `collect` goes in front of the
//! program, so that each rank is recorded where it runs.
//!
//! No launcher tells where its options end, so the options that take arguments are known here. What
//! follows an option that is not known is its argument, unless it can be run as a program: then the
//! user is asked to place `collect`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::Request;
use crate::launch::ExecError;
use crate::rank;
use crate::record::RecordError;
use crate::say::say;

/// A command-line syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// Open MPI, PRRTE, Hydra (MPICH, Intel MPI, MVAPICH2): `-name` or `--name`, an argument is a word
    /// of its own.
    Mpi,
    /// Slurm: `-n4`, `-n 4`, `--name=value`, `--name value` (getopt_long).
    Slurm,
}

/// The launcher that a program is, by its name: `mpirun`, `mpirun.mpich`, `/opt/bin/srun`.
fn syntax(program: &OsStr) -> Option<Syntax> {
    let name = Path::new(program).file_name()?.to_str()?;
    match name.split('.').next()? {
        "mpirun" | "mpiexec" | "orterun" | "prterun" => Some(Syntax::Mpi),
        "srun" => Some(Syntax::Slurm),
        _ => None,
    }
}

/// What is known of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// So many words after it are its arguments.
    Takes(usize),
    /// It names a file with the programs to start.
    ProgramsInFile,
    Unknown,
}

/// Options of [`Syntax::Mpi`] without an argument, in all launchers that have them.
const MPI_FLAGS: &str = "allow-run-as-root bind-to-core bind-to-socket by-core bycore bynode byslot \
    bysocket continuous d debug debug-devel debug-daemons debug-daemons-file disable-auto-cleanup \
    disable-hostname-propagation disable-recovery disable-x display-allocation \
    display-devel-allocation display-devel-map display-diffable-map display-map display-topo \
    do-not-launch do-not-resolve enable-instant-on-support enable-recovery enable-x envall envnone \
    forward-signals fwd-mpirun-port genvall genvnone get-stack-traces h help index-argv-by-rank info l \
    leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm \
    output-proctable oversubscribe pernode pmi-port prepend-rank print-all-exitcodes \
    print-rank-map profile q quiet report-bindings report-child-jobs-separately \
    report-state-on-timeout set-cwd-to-session-dir show-progress silent-abort skip-launch-node \
    tag-output timestamp-output tv use-hwthread-cpus use-regexp v V verbose version xml";

/// Those with one argument.
const MPI_ONE: &str = "H N am bind-to bootstrap bootstrap-exec c cartofile cf cpu-list cpu-set \
    cpus-per-proc cpus-per-rank debugger default-hostfile demux display envlist errfile \
    errfile-pattern f genvlist gpus-per-proc gtool hnp host hostfile hosts iface launch-agent \
    launcher launcher-exec localhost machine machinefile map-by max-restarts max-vm-size membind n \
    nameserver np npernode npersocket ompi-server order-nodes outfile outfile-pattern output \
    output-filename path perhost personality ppn ppr prefix preload-files prepend-pattern \
    rank-by rankfile report-events report-pid report-uri rf rmk runtime-options slot-list stdin \
    timeout topolib umask usize wd wdir x xml-file xterm";

/// Those with two arguments. Where the first one is `NAME=VALUE`, it is the only one.
const MPI_TWO: &str = "env genv gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca";

const MPI_FILES: &str = "app configfile";

/// Letters of `srun` without an argument, or with one that must be attached.
const SLURM_FLAGS: &str = "EHIKOQVXZhjklsuv";
const SLURM_ONE: &str = "ABCDGJLMNPSTUWbcdeimnopqrtwx";

/// Long options of `srun` without an argument, or with one that must follow `=`.
const SLURM_LONG_FLAGS: &str = "bcast compress contiguous disable-status exact exclusive help hold \
    immediate interactive kill-on-bad-exit label nice no-kill overcommit overlap oversubscribe \
    preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs share \
    spread-job stepmgr test-only unbuffered usage use-min-nodes verbose version x11";
const SLURM_LONG_ONE: &str = "account acctg-freq bb bbf begin cluster-constraint clusters comment \
    constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu \
    cpus-per-task deadline delay-boot dependency distribution epilog error exclude export \
    export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket \
    gpus-per-task gres gres-flags het-group hint input job-name jobid licenses mail-type mail-user \
    mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile \
    nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket \
    ntasks-per-tres open-mode output partition power prefer priority profile prolog qos relative \
    reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec \
    threads threads-per-core time time-min tmp tree-width tres-bind tres-per-task uid wait \
    wait-all-nodes wckey";

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// What is known of the option `word`, which is followed by `next`.
fn option(syntax: Syntax, word: &str, next: &str) -> Meaning {
    let name = word.trim_start_matches('-');
    match syntax {
        Syntax::Mpi if has(MPI_FILES, name) => Meaning::ProgramsInFile,
        Syntax::Mpi if has(MPI_FLAGS, name) => Meaning::Takes(0),
        Syntax::Mpi if has(MPI_ONE, name) => Meaning::Takes(1),
        Syntax::Mpi if has(MPI_TWO, name) && next.contains('=') => Meaning::Takes(1),
        Syntax::Mpi if has(MPI_TWO, name) => Meaning::Takes(2),
        Syntax::Slurm if name == "multi-prog" => Meaning::ProgramsInFile,
        Syntax::Slurm if !word.starts_with("--") => slurm_letters(name),
        Syntax::Slurm if has(SLURM_LONG_FLAGS, name) => Meaning::Takes(0),
        Syntax::Slurm if has(SLURM_LONG_ONE, name) => Meaning::Takes(1),
        _ if name.contains('=') => Meaning::Takes(0),
        _ => Meaning::Unknown,
    }
}

/// Letters after one dash: flags, then at most one option whose argument is the rest or the next word.
fn slurm_letters(letters: &str) -> Meaning {
    for (at, letter) in letters.char_indices() {
        if SLURM_ONE.contains(letter) {
            let is_last = at + letter.len_utf8() == letters.len();
            return Meaning::Takes(usize::from(is_last));
        }
        if "IK".contains(letter) {
            return Meaning::Takes(0);
        }
        if !SLURM_FLAGS.contains(letter) {
            return Meaning::Unknown;
        }
    }
    Meaning::Takes(0)
}

/// Becomes the launcher, if the program to record is one. `words` is the whole command line of
/// `collect`, which each rank gets. Names in it are relative to this process's folder, wherever the ranks
/// run. Returns if the program is no launcher, or after a dry run.
///
/// # Errors
/// [`RecordError`] if the launcher does not run.
pub fn become_launcher(request: &Request, words: &[OsString]) -> Result<Launch, RecordError> {
    let other =
        |error: std::io::Error| RecordError::Other(format!("cannot find a folder: {error}"));
    let folder = request.target.directory.clone().unwrap_or_default();
    let folder = std::env::current_dir().map_err(other)?.join(folder);
    let mut collect = vec![std::env::current_exe().map_err(other)?.into_os_string()];
    let options = &words[1..words.len() - request.command.len()];
    let options = options.strip_suffix(&["--".into()]).unwrap_or(options);
    // What a dry run shows is what would run without it.
    let is_shown = |word: &&OsString| !request.dry_run || *word != "-n";
    let options = options.iter().filter(is_shown);
    collect.extend(options.cloned());
    collect.extend(["-d".into(), folder.clone().into_os_string()]);
    if request.target.name.is_none() {
        // Chosen once for all ranks.
        let name = rank::next_free(&folder, None).into_os_string();
        collect.extend(["-o".into(), name]);
    }
    let command = match with_collect(&request.command, &collect) {
        None => return Ok(Launch::NoLauncher),
        Some(command) => command.map_err(RecordError::Other)?,
    };
    let line = command.join(" ".as_ref());
    if request.dry_run || request.verbose {
        say(format!("records each rank: {}", line.display()));
    }
    if request.dry_run {
        return Ok(Launch::DryRun);
    }
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    Err(RecordError::Program {
        program: command[0].to_string_lossy().into_owned(),
        cause: ExecError(error),
    })
}

/// Why [`become_launcher`] has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The program is no launcher.
    NoLauncher,
    /// The user wanted no more than to know what would run.
    DryRun,
}

/// The command line that starts `collect` on each rank, if `command` is one of a launcher; `collect` is
/// the program with its options. Programs after a colon are recorded as well.
///
/// # Errors
/// One sentence if it is not certain where the launcher's options end.
pub fn with_collect(
    command: &[OsString],
    collect: &[OsString],
) -> Option<Result<Vec<OsString>, String>> {
    let (launcher, rest) = command.split_first()?;
    let syntax = syntax(launcher)?;
    let mut words = vec![launcher.clone()];
    for (number, part) in rest.split(|word| word == ":").enumerate() {
        if number > 0 {
            words.push(":".into());
        }
        let at = match program_of(syntax, part, &is_program) {
            Ok(at) => at,
            Err(why) => {
                let launcher = launcher.to_string_lossy();
                return Some(Err(format!(
                    "{why}; write `{launcher} OPTIONS collect OPTIONS PROGRAM`"
                )));
            }
        };
        // `--` has done its part.
        let options = at - usize::from(at > 0 && part[at - 1] == "--");
        words.extend_from_slice(&part[..options]);
        words.extend_from_slice(collect);
        words.extend_from_slice(&part[at..]);
    }
    Some(Ok(words))
}

/// The index of the program in the words after the launcher's name or after a colon.
///
/// # Errors
/// A clause that says why it is not known.
fn program_of(
    syntax: Syntax,
    words: &[OsString],
    is_program: &dyn Fn(&OsStr) -> bool,
) -> Result<usize, String> {
    let uncertain =
        |word: &str| format!("it is not certain whether {word} is the program to record");
    // No option so far is unknown.
    let mut is_certain = true;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        if text == "--" && at + 1 < words.len() {
            return Ok(at + 1);
        }
        if !text.starts_with('-') || text == "-" {
            return if is_certain || is_program(word) {
                Ok(at)
            } else {
                Err(uncertain(&text))
            };
        }
        let next = words.get(at + 1).map(|it| it.to_string_lossy());
        let next = next.as_deref().unwrap_or_default();
        at += 1 + match option(syntax, &text, next) {
            Meaning::Takes(count) => count,
            Meaning::ProgramsInFile => {
                return Err(format!("the programs of {text} are in its file"));
            }
            Meaning::Unknown if next.is_empty() || next.starts_with('-') => 0,
            Meaning::Unknown if is_program(&words[at + 1]) => return Err(uncertain(next)),
            Meaning::Unknown => {
                is_certain = false;
                1
            }
        };
    }
    Err("no program to run was given".to_owned())
}

/// Whether a word names a file that can be run, directly or in PATH.
fn is_program(word: &OsStr) -> bool {
    program(word).is_some()
}

/// The file that a word names as a program, directly or in PATH.
pub fn program(word: &OsStr) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if word.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(word)).filter(runs);
    }
    let folders = std::env::var_os("PATH");
    // Those that exec(3) takes without it.
    let folders = folders.unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&folders)
        .map(|folder| folder.join(word))
        .find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_ascii_whitespace().map(OsString::from).collect()
    }

    fn rewritten(line: &str) -> String {
        let collect = words("collect -o e.er");
        match with_collect(&words(line), &collect) {
            Some(Ok(words)) => words.join(" ".as_ref()).into_string().expect("ASCII"),
            Some(Err(why)) => format!("! {why}"),
            None => "none".to_owned(),
        }
    }

    /// The program is marked by `@` in the line, where `collect` must stand.
    #[track_caller]
    fn found(line: &str) {
        let expected = line.replace('@', "collect -o e.er ");
        assert_eq!(rewritten(&line.replace('@', "")), expected);
    }

    #[test]
    fn collect_stands_before_the_program_of_each_launcher() {
        found("mpirun -n 4 @./app -n 7");
        found("mpirun.openmpi --allow-run-as-root --oversubscribe -np 2 --bind-to none @./app");
        found("/opt/mpi/bin/mpiexec -mca plm rsh --mca btl self,tcp -x PATH -H a:2,b:2 @./app");
        found("mpiexec.hydra -launcher ssh -genv OMP_DYNAMIC true -genv A=b -ppn 2 -n 4 @./app");
        found("orterun --map-by ppr:2:socket:pe=4 @numactl -l ./app");
        found("srun -n4 -c 2 -lu --mpi=pmix --ntasks-per-node 2 -J true --exclusive @./app -c");
        found("srun -Kl --kill-on-bad-exit=1 -I5 -lJ true @./app");
        found("prterun --display map --prtemca plm ssh @true");
    }

    #[test]
    fn programs_after_colons_are_recorded_too() {
        found("mpirun -n 1 @./master x : -n 3 @./worker y");
        found("srun -n 1 @./master : -n 3 @./worker");
    }

    #[test]
    fn two_dashes_end_the_options() {
        let line = "mpirun --strange true -n 2 -- ./app -- x";
        let expected = "! it is not certain whether true is the program to record; write `mpirun \
                        OPTIONS collect OPTIONS PROGRAM`";
        assert_eq!(rewritten(line), expected);
        assert_eq!(
            rewritten("mpirun -n 2 -- ./app -- x"),
            "mpirun -n 2 collect -o e.er ./app -- x"
        );
    }

    #[test]
    fn an_unknown_option_may_take_an_argument_that_is_no_program() {
        found("mpirun --strange no-such-program -n 2 @true");
        found("mpirun --strange=true -n 2 @./app");
        found("mpirun --strange -n 2 @./app");
        let said = rewritten("mpirun --strange no-such-program -n 2 ./no-such-program");
        assert!(
            said.starts_with("! it is not certain whether ./no-such-program is"),
            "{said}"
        );
    }

    #[test]
    fn a_command_line_without_a_program_is_refused() {
        for line in ["mpirun", "mpirun -n 4", "srun -n4 : -n 2 ./app"] {
            let said = rewritten(line);
            assert!(said.starts_with("! no program to run was given"), "{said}");
        }
        let said = rewritten("mpirun --app file");
        assert!(
            said.starts_with("! the programs of --app are in its file"),
            "{said}"
        );
    }

    #[test]
    fn other_programs_are_no_launchers() {
        for line in ["./app mpirun", "mpirunner -n 2 ./app", "sh -c mpirun"] {
            assert_eq!(rewritten(line), "none");
        }
    }

    /// Each option stands in one list.
    #[test]
    fn lists_of_options_do_not_contradict_each_other() {
        for lists in [
            &[MPI_FLAGS, MPI_ONE, MPI_TWO, MPI_FILES][..],
            &[SLURM_LONG_FLAGS, SLURM_LONG_ONE],
        ] {
            let mut all: Vec<&str> = lists
                .iter()
                .flat_map(|it| it.split_ascii_whitespace())
                .collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
        assert!(
            SLURM_FLAGS
                .chars()
                .all(|letter| !SLURM_ONE.contains(letter))
        );
    }
}
