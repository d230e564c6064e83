//! The tables whose rows hold text: load objects, names and processes.

use crate::column::{Corrupt, Decoder, Encoder, unzigzag, zigzag};
use crate::ids::ProcessId;
use crate::stored::{narrow, optional};
use crate::tables::{Module, Process, RuntimeKind};

pub(crate) fn encode_modules(encoder: &mut Encoder, modules: &[Module]) {
    encoder.number(modules.len() as u64);
    encoder.strings(modules.iter().map(|module| module.path.as_str()));
    encoder.strings(modules.iter().map(|module| module.build_id.as_str()));
    let runtimes: Vec<u64> = modules.iter().map(|module| module.runtime as u64).collect();
    encoder.column(&runtimes);
}

pub(crate) fn decode_modules(
    decoder: &mut Decoder<'_>,
    mut each: impl FnMut(Module) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let paths = decoder.strings(rows)?;
    let build_ids = decoder.strings(rows)?;
    let runtimes = decoder.column(rows)?;
    for ((path, build_id), runtime) in paths.into_iter().zip(build_ids).zip(runtimes) {
        each(Module {
            path,
            build_id,
            runtime: RuntimeKind::from_u8(narrow(runtime)?)
                .ok_or(Corrupt("an unknown kind of runtime"))?,
        })?;
    }
    Ok(())
}

pub(crate) fn encode_names(encoder: &mut Encoder, names: &[String]) {
    encoder.number(names.len() as u64);
    encoder.strings(names.iter().map(String::as_str));
}

pub(crate) fn decode_names(
    decoder: &mut Decoder<'_>,
    each: impl FnMut(String) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    decoder.strings(rows)?.into_iter().try_for_each(each)
}

/// Writes processes with their ids, since they are written again when they change.
pub(crate) fn encode_processes(encoder: &mut Encoder, processes: &[(u32, &Process)]) {
    let rows = || processes.iter();
    encoder.number(processes.len() as u64);
    encoder.column(&rows().map(|(id, _)| u64::from(*id)).collect::<Vec<_>>());
    let pids = rows().map(|(_, process)| zigzag(i64::from(process.pid)));
    encoder.column(&pids.collect::<Vec<_>>());
    let parents = rows().map(|(_, process)| optional(process.parent.map(|id| u64::from(id.0))));
    encoder.column(&parents.collect::<Vec<_>>());
    encoder.strings(rows().map(|(_, process)| process.name.as_str()));
    encoder.strings(rows().map(|(_, process)| process.executable.as_str()));
}

pub(crate) fn decode_processes(
    decoder: &mut Decoder<'_>,
    mut each: impl FnMut(u64, Process) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let ids = decoder.column(rows)?;
    let pids = decoder.column(rows)?;
    let parents = decoder.column(rows)?;
    let names = decoder.strings(rows)?;
    let executables = decoder.strings(rows)?;
    let texts = names.into_iter().zip(executables);
    for (at, (name, executable)) in texts.enumerate() {
        let parent = match parents[at].checked_sub(1) {
            None => None,
            // A parent is recorded before its children, so chains of parents have no
            // cycle.
            Some(parent) if parent < ids[at] => Some(ProcessId(parent as u32)),
            Some(_) => return Err(Corrupt("a process is its own ancestor")),
        };
        each(
            ids[at],
            Process {
                pid: i32::try_from(unzigzag(pids[at]))
                    .map_err(|_| Corrupt("a process id beyond 32 bits"))?,
                parent,
                name,
                executable,
            },
        )?;
    }
    Ok(())
}
