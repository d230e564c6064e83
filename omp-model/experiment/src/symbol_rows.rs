//! The symbol table as columns, in one frame.

use crate::column::{Corrupt, Decoder, Encoder, unzigzag, zigzag};
use crate::ids::FrameId;
use crate::stored::{Known, narrow, optional};
use crate::symbols::Barrier;
use crate::symbols::{
    CodeFact, Construct, Contention, Directive, FileId, FrameSymbol, Function, FunctionId,
    InlinedLine, Jump, Outlined, SourceLine, SymbolTable, Workshare,
};

pub(crate) fn encode(encoder: &mut Encoder, table: &SymbolTable) {
    encoder.number(table.files.len() as u64);
    encoder.strings(table.files.iter().map(String::as_str));
    encoder.number(table.digests.len() as u64);
    encoder.table(table.digests.iter().map(|(file, digest)| {
        let (high, low) = halves(*digest);
        [u64::from(file.0), high, low]
    }));
    encode_functions(encoder, &table.functions);
    encode_frames(encoder, &table.frames);
    encoder.number(table.misses.len() as u64);
    let missed = table.misses.iter();
    encoder.table(missed.map(|(module, _)| [u64::from(module.0)]));
    encoder.strings(table.misses.iter().map(|(_, why)| why.as_str()));
    encoder.number(table.barriers.len() as u64);
    let row = |&(frame, barrier): &(FrameId, Barrier)| [u64::from(frame.0), barrier as u64];
    encoder.table(table.barriers.iter().map(row));
    encode_directives(encoder, table.directives.iter().map(|row| (row.0.0, row.1)));
    encode_directives(
        encoder,
        table.loop_bodies.iter().map(|row| (row.0.0, row.1)),
    );
    encoder.number(table.lock_names.len() as u64);
    let locks = table.lock_names.iter();
    encoder.table(locks.clone().map(|(frame, _)| [u64::from(frame.0)]));
    encoder.strings(locks.map(|(_, name)| name.as_str()));
    encode_code(encoder, &table.code);
    encode_jumps(encoder, &table.jumps);
}

pub(crate) fn decode(decoder: &mut Decoder<'_>, known: &Known) -> Result<SymbolTable, Corrupt> {
    let mut table = SymbolTable::default();
    let rows = decoder.rows()?;
    table.files = decoder.strings(rows)?;
    let rows = decoder.rows()?;
    for [file, high, low] in decoder.table(rows)? {
        let file: u32 = narrow(file)?;
        if file as usize >= table.files.len() {
            return Err(Corrupt("a digest of no file"));
        }
        let digest = u128::from(high) << 64 | u128::from(low);
        table.digests.push((FileId(file), digest.to_be_bytes()));
    }
    decode_functions(decoder, known, &mut table)?;
    decode_frames(decoder, known, &mut table)?;
    let rows = decoder.rows()?;
    let modules = decoder.table(rows)?;
    for ([module], why) in modules.zip(decoder.strings(rows)?) {
        table.misses.push((known.id(module)?, why));
    }
    let rows = decoder.rows()?;
    for [frame, barrier] in decoder.table(rows)? {
        let before = table.barriers.last().map(|row| row.0);
        let barrier = Barrier::from_u8(narrow(barrier)?);
        let barrier = barrier.ok_or(Corrupt("an unknown kind of barrier"))?;
        table.barriers.push((after(before, frame, known)?, barrier));
    }
    let rows = decode_directives(decoder)?;
    for (frame, directive) in rows {
        let before = table.directives.last().map(|row| row.0);
        let frame = after(before, u64::from(frame), known)?;
        table.directives.push((frame, directive));
    }
    for (body, directive) in decode_directives(decoder)? {
        let before = table.loop_bodies.last().map(|row| row.0.0);
        if body as usize >= table.functions.len() || before >= Some(body) {
            return Err(Corrupt("a directive of no function"));
        }
        table.loop_bodies.push((FunctionId(body), directive));
    }
    let rows = decoder.rows()?;
    let frames = decoder.table(rows)?;
    for ([frame], name) in frames.zip(decoder.strings(rows)?) {
        let before = table.lock_names.last().map(|row| row.0);
        table.lock_names.push((after(before, frame, known)?, name));
    }
    decode_code(decoder, known, &mut table)?;
    decode_jumps(decoder, known, &mut table)?;
    Ok(table)
}

fn halves(digest: [u8; 16]) -> (u64, u64) {
    let digest = u128::from_be_bytes(digest);
    ((digest >> 64) as u64, digest as u64)
}

fn encode_directives(
    encoder: &mut Encoder,
    directives: impl ExactSizeIterator<Item = (u32, Directive)>,
) {
    encoder.number(directives.len() as u64);
    encoder.table(directives.map(|(of, at)| {
        [
            u64::from(of),
            u64::from(at.line),
            u64::from(at.last),
            at.construct as u64,
            u64::from(at.level),
            u64::from(at.is_nearest),
        ]
    }));
}

fn decode_directives(decoder: &mut Decoder<'_>) -> Result<Vec<(u32, Directive)>, Corrupt> {
    let rows = decoder.rows()?;
    let row = |[of, line, last, construct, level, is_nearest]: [u64; 6]| {
        let construct = Workshare::from_u8(narrow(construct)?);
        let directive = Directive {
            line: narrow(line)?,
            last: narrow(last)?,
            construct: construct.ok_or(Corrupt("an unknown construct"))?,
            level: narrow(level)?,
            is_nearest: is_nearest != 0,
        };
        Ok((narrow(of)?, directive))
    };
    decoder.table(rows)?.map(row).collect()
}

/// The next frame of a list that is sorted by frame.
fn after(before: Option<FrameId>, frame: u64, known: &Known) -> Result<FrameId, Corrupt> {
    let frame: FrameId = known.id(frame)?;
    if before < Some(frame) {
        Ok(frame)
    } else {
        Err(Corrupt("frames out of their order"))
    }
}

fn encode_functions(encoder: &mut Encoder, functions: &[Function]) {
    encoder.number(functions.len() as u64);
    // A name repeats a piece of its linkage name: side by side they compress well.
    encoder.strings(functions.iter().flat_map(|function| {
        let outlined = function.outlined.as_ref();
        let parent = outlined.and_then(|outlined| outlined.parent.as_deref());
        let parent = parent.unwrap_or_default();
        [function.linkage.as_str(), function.name.as_str(), parent]
    }));
    let mut before = 0;
    encoder.table(functions.iter().map(|function| {
        let step = zigzag(function.address.wrapping_sub(before) as i64);
        before = function.address;
        let outlined = function.outlined.as_ref();
        let outlined_line = outlined.and_then(|outlined| outlined.line);
        [
            step,
            u64::from(function.module.0),
            function.size,
            optional(function.source.map(|line| u64::from(line.file.0))),
            function.source.map_or(0, |line| u64::from(line.line)),
            outlined.map_or(0, |outlined| {
                ((outlined.construct as u64) << 1 | u64::from(outlined.parent.is_some())) + 1
            }),
            optional(outlined_line.map(u64::from)),
        ]
    }));
}

fn decode_functions(
    decoder: &mut Decoder<'_>,
    known: &Known,
    table: &mut SymbolTable,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let mut texts = decoder.strings(3 * rows)?.into_iter();
    let mut address = 0_u64;
    for [step, module, size, file, line, outlined, outlined_line] in decoder.table(rows)? {
        address = address.wrapping_add(unzigzag(step) as u64);
        let mut text = || texts.next().unwrap_or_default();
        let (linkage, name, parent) = (text(), text(), text());
        let source = match file.checked_sub(1) {
            None => None,
            Some(file) => Some(source_line(table, file, line)?),
        };
        table.functions.push(Function {
            module: known.id(module)?,
            address,
            size,
            linkage,
            name,
            source,
            outlined: outlined_of(outlined, parent, outlined_line)?,
        });
    }
    Ok(())
}

fn encode_frames(encoder: &mut Encoder, frames: &[FrameSymbol]) {
    encoder.number(frames.len() as u64);
    encoder.table(frames.iter().map(|frame| {
        let function = optional(frame.function.map(|id| u64::from(id.0)));
        [function, frame.lines.len() as u64]
    }));
    let lines = || frames.iter().flat_map(|frame| &frame.lines);
    encoder.number(lines().count() as u64);
    let row = |at: &InlinedLine| [u64::from(at.source.line), u64::from(at.source.file.0)];
    encoder.table(lines().map(row));
    encoder.strings(lines().map(|at| at.function.as_deref().unwrap_or_default()));
}

fn decode_frames(
    decoder: &mut Decoder<'_>,
    known: &Known,
    table: &mut SymbolTable,
) -> Result<(), Corrupt> {
    const SUM: Corrupt = Corrupt("the lines of the frames do not add up");
    let rows = decoder.rows()?;
    let frames = decoder.table(rows)?;
    let rows = decoder.rows()?;
    let lines = decoder.table(rows)?;
    let mut lines = lines.zip(decoder.strings(rows)?);
    for [function, count] in frames {
        let mut frame = FrameSymbol {
            function: function_of(function, table)?,
            lines: Vec::new(),
        };
        for _ in 0..count {
            let ([line, file], name) = lines.next().ok_or(SUM)?;
            frame.lines.push(InlinedLine {
                function: Some(name).filter(|name| !name.is_empty()),
                source: source_line(table, file, line)?,
            });
        }
        table.frames.push(frame);
    }
    if lines.next().is_none() && table.frames.len() as u64 <= u64::from(known.frames) {
        Ok(())
    } else {
        Err(SUM)
    }
}

/// Bits of [`CodeFact`].
const SPINS: u64 = 1;
const COMBINES: u64 = 2;
const ATOMIC: u64 = 4;
const NEIGHBOURS: u64 = 8;

fn encode_code(encoder: &mut Encoder, code: &[(FrameId, CodeFact)]) {
    let bit = |is: bool, bit| if is { bit } else { 0 };
    encoder.number(code.len() as u64);
    encoder.table(code.iter().map(|(frame, fact)| {
        let contention = match fact.contention {
            None => 0,
            Some(Contention::Atomic) => ATOMIC,
            Some(Contention::Neighbours) => NEIGHBOURS,
        };
        let traits = bit(fact.spins, SPINS) | bit(fact.combines, COMBINES) | contention;
        let body = optional(fact.body.map(|body| u64::from(body.0)));
        [u64::from(frame.0), traits, body]
    }));
    let calls = code.iter().map(|(_, fact)| fact.calls.as_deref());
    encoder.strings(calls.map(Option::unwrap_or_default));
}

fn decode_code(
    decoder: &mut Decoder<'_>,
    known: &Known,
    table: &mut SymbolTable,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let numbers = decoder.table(rows)?;
    for ([frame, traits, body], calls) in numbers.zip(decoder.strings(rows)?) {
        let before = table.code.last().map(|row| row.0);
        let fact = CodeFact {
            spins: traits & SPINS != 0,
            combines: traits & COMBINES != 0,
            contention: match traits & (ATOMIC | NEIGHBOURS) {
                ATOMIC => Some(Contention::Atomic),
                NEIGHBOURS => Some(Contention::Neighbours),
                _ => None,
            },
            calls: Some(calls).filter(|name| !name.is_empty()),
            body: function_of(body, table)?,
        };
        table.code.push((after(before, frame, known)?, fact));
    }
    Ok(())
}

fn encode_jumps(encoder: &mut Encoder, jumps: &[Jump]) {
    encoder.number(jumps.len() as u64);
    encoder.table(jumps.iter().map(|jump| {
        let frames = jump.frames.len() as u64;
        [u64::from(jump.caller.0), u64::from(jump.callee.0), frames]
    }));
    let frames = || jumps.iter().flat_map(|jump| &jump.frames);
    encoder.number(frames().count() as u64);
    encoder.table(frames().map(|frame| [u64::from(frame.0)]));
}

fn decode_jumps(
    decoder: &mut Decoder<'_>,
    known: &Known,
    table: &mut SymbolTable,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let jumps = decoder.table(rows)?;
    let rows = decoder.rows()?;
    let mut frames = decoder.table(rows)?;
    for [caller, callee, count] in jumps {
        let mut jump = Jump {
            caller: known.id(caller)?,
            callee: known.id(callee)?,
            frames: Vec::new(),
        };
        for _ in 0..count {
            let [frame] = frames.next().ok_or(Corrupt("the jumps do not add up"))?;
            jump.frames.push(known.id(frame)?);
        }
        let key = |jump: &Jump| (jump.caller, jump.callee);
        if table
            .jumps
            .last()
            .is_some_and(|last| key(last) >= key(&jump))
        {
            return Err(Corrupt("jumps out of their order"));
        }
        table.jumps.push(jump);
    }
    match frames.next() {
        None => Ok(()),
        Some(_) => Err(Corrupt("the jumps do not add up")),
    }
}

fn function_of(number: u64, table: &SymbolTable) -> Result<Option<FunctionId>, Corrupt> {
    match number.checked_sub(1) {
        None => Ok(None),
        Some(id) if id < table.functions.len() as u64 => Ok(Some(FunctionId(id as u32))),
        Some(_) => Err(Corrupt("a function")),
    }
}

fn source_line(table: &SymbolTable, file: u64, line: u64) -> Result<SourceLine, Corrupt> {
    if file >= table.files.len() as u64 {
        return Err(Corrupt("a source file"));
    }
    Ok(SourceLine {
        file: FileId(file as u32),
        line: u32::try_from(line).map_err(|_| Corrupt("a line beyond 32 bits"))?,
    })
}

fn outlined_of(number: u64, parent: String, line: u64) -> Result<Option<Outlined>, Corrupt> {
    let Some(number) = number.checked_sub(1) else {
        return Ok(None);
    };
    let line = line.checked_sub(1).map(u32::try_from).transpose();
    Ok(Some(Outlined {
        construct: Construct::from_u8(narrow(number >> 1)?)
            .ok_or(Corrupt("an unknown construct"))?,
        parent: (number & 1 == 1).then_some(parent),
        line: line.map_err(|_| Corrupt("a line beyond 32 bits"))?,
    }))
}
