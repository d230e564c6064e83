//! The symbol table as frames: files, functions, resolved frames, and the end that completes it.

use rustc_hash::FxHashMap;

use super::coding::{Corrupt, unzigzag, zigzag};
use super::column::{Decoder, Encoder};
use super::rows::{Known, optional};
use crate::barriers::Barrier;
use crate::ids::FrameId;
use crate::symbols::{
    CodeFact, Construct, FileId, FrameSymbol, Function, FunctionId, InlinedPlace, Outlined, Place,
    SymbolTable,
};

/// The longest prefix of `rows` that one frame may hold, by count and by the length of their text.
pub(super) fn fitting<T>(rows: &[T], text: impl Fn(&T) -> usize) -> usize {
    const ROWS: usize = 1 << 15;
    const TEXT: usize = 1 << 24;
    let mut total = 0;
    let fits = rows.iter().take(ROWS).take_while(|row| {
        total += text(row);
        total <= TEXT
    });
    fits.count().max(1).min(rows.len())
}

pub(super) fn encode_files(encoder: &mut Encoder, first: usize, files: &[String]) {
    encoder.number(first as u64);
    encoder.number(files.len() as u64);
    encoder.strings(files.iter().map(String::as_str));
}

pub(super) fn encode_functions(encoder: &mut Encoder, first: usize, functions: &[Function]) {
    encoder.number(first as u64);
    encoder.number(functions.len() as u64);
    let parent = |function: &Function| function.outlined.as_ref()?.parent.clone();
    let parents: Vec<Option<String>> = functions.iter().map(parent).collect();
    // A name is a piece of its linkage name: side by side, one is packed by the other.
    let texts = functions
        .iter()
        .zip(&parents)
        .flat_map(|(function, parent)| {
            let parent = parent.as_deref().unwrap_or_default();
            [function.linkage.as_str(), function.name.as_str(), parent]
        });
    encoder.strings(texts);
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
            optional(function.place.map(|place| u64::from(place.file.0))),
            function.place.map_or(0, |place| u64::from(place.line)),
            outlined.map_or(0, |outlined| {
                ((outlined.construct as u64) << 1 | u64::from(outlined.parent.is_some())) + 1
            }),
            optional(outlined_line.map(u64::from)),
        ]
    }));
}

pub(super) fn encode_frames(encoder: &mut Encoder, first: usize, frames: &[FrameSymbol]) {
    let mut names: Vec<&str> = Vec::new();
    let mut index: FxHashMap<&str, u64> = FxHashMap::default();
    let places: Vec<&InlinedPlace> = frames.iter().flat_map(|frame| &frame.places).collect();
    let name_numbers: Vec<u64> = places
        .iter()
        .map(|place| {
            let name = place.function.as_deref();
            name.map_or(0, |name| {
                *index.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() as u64
                })
            })
        })
        .collect();
    encoder.number(first as u64);
    encoder.number(names.len() as u64);
    encoder.strings(names.iter().copied());
    encoder.number(frames.len() as u64);
    let functions = frames
        .iter()
        .map(|frame| optional(frame.function.map(|id| u64::from(id.0))));
    encoder.dense(&functions.collect::<Vec<_>>());
    let counts = frames.iter().map(|frame| frame.places.len() as u64);
    encoder.column(&counts.collect::<Vec<_>>());
    encoder.number(places.len() as u64);
    let lines = places.iter().map(|place| u64::from(place.place.line));
    encoder.dense(&lines.collect::<Vec<_>>());
    let files = places.iter().map(|place| u64::from(place.place.file.0));
    encoder.column(&files.collect::<Vec<_>>());
    encoder.column(&name_numbers);
}

pub(super) fn encode_barriers(encoder: &mut Encoder, barriers: &[(FrameId, Barrier)]) {
    encoder.number(barriers.len() as u64);
    let row = |&(frame, barrier): &(FrameId, Barrier)| [u64::from(frame.0), barrier as u64];
    encoder.table(barriers.iter().map(row));
}

/// Bits of what is true of the code at a frame.
const SPINS: u64 = 1;
const COMBINES: u64 = 2;

fn traits_of(fact: &CodeFact) -> u64 {
    let bit = |is: bool, bit| if is { bit } else { 0 };
    bit(fact.spins, SPINS) | bit(fact.combines, COMBINES)
}

pub(super) fn encode_code(encoder: &mut Encoder, code: &[(FrameId, CodeFact)]) {
    encoder.number(code.len() as u64);
    encoder.table(code.iter().map(|(frame, fact)| {
        let body = fact.body.map_or(0, |body| u64::from(body.0) + 1);
        [u64::from(frame.0), traits_of(fact), body]
    }));
    encoder.strings(
        code.iter()
            .map(|(_, fact)| fact.calls.as_deref().unwrap_or_default()),
    );
}

/// The counts of the whole table and its misses.
pub(super) fn encode_end(encoder: &mut Encoder, symbols: &SymbolTable) {
    encoder.number(symbols.files.len() as u64);
    encoder.number(symbols.functions.len() as u64);
    encoder.number(symbols.frames.len() as u64);
    encoder.number(symbols.misses.len() as u64);
    encoder.strings(symbols.misses.iter().map(|(_, why)| why.as_str()));
    let modules = symbols.misses.iter().map(|(module, _)| u64::from(module.0));
    encoder.column(&modules.collect::<Vec<_>>());
}

/// A symbol table being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(Option<SymbolTable>);

const ORDER: Corrupt = Corrupt("the parts of the symbols are out of order");

impl Pending {
    /// Whether a table was begun and not completed.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    fn at(
        &mut self,
        first: u64,
        rows: fn(&SymbolTable) -> usize,
    ) -> Result<&mut SymbolTable, Corrupt> {
        let table = self.0.as_mut().ok_or(ORDER)?;
        match rows(table) as u64 == first {
            true => Ok(table),
            false => Err(ORDER),
        }
    }

    pub(super) fn files(&mut self, decoder: &mut Decoder<'_, '_>) -> Result<(), Corrupt> {
        let first = decoder.number()?;
        if first == 0 {
            self.0 = Some(SymbolTable::default());
        }
        let table = self.at(first, |table| table.files.len())?;
        let rows = decoder.rows()?;
        table.files.extend(decoder.strings(rows)?);
        Ok(())
    }

    pub(super) fn functions(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let first = decoder.number()?;
        let table = self.at(first, |table| table.functions.len())?;
        let rows = decoder.rows()?;
        let mut texts = decoder.strings(3 * rows)?.into_iter();
        let mut address = 0_u64;
        for [step, module, size, file, line, outlined, outlined_line] in decoder.table(rows)? {
            address = address.wrapping_add(unzigzag(step) as u64);
            let mut text = || texts.next().unwrap_or_default();
            let (linkage, name, parent) = (text(), text(), text());
            let place = match file.checked_sub(1) {
                None => None,
                Some(file) => Some(place(table, file, line)?),
            };
            table.functions.push(Function {
                module: known.module(module)?,
                address,
                size,
                linkage,
                name,
                place,
                outlined: outlined_of(outlined, parent, outlined_line)?,
            });
        }
        Ok(())
    }

    pub(super) fn frames(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let first = decoder.number()?;
        let table = self.at(first, |table| table.frames.len())?;
        let names = decoder.rows()?;
        let names = decoder.strings(names)?;
        let rows = decoder.rows()?;
        let (mut functions, mut counts) = (Vec::new(), Vec::new());
        decoder.dense(rows, &mut functions)?;
        decoder.column(rows, &mut counts)?;
        let place_rows = decoder.rows()?;
        let (mut lines, mut files, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        decoder.dense(place_rows, &mut lines)?;
        decoder.column(place_rows, &mut files)?;
        decoder.column(place_rows, &mut numbers)?;
        let mut next = 0;
        for (function, count) in functions.into_iter().zip(counts) {
            let function = match function.checked_sub(1) {
                None => None,
                Some(id) if id < table.functions.len() as u64 => Some(FunctionId(id as u32)),
                Some(_) => return Err(Corrupt("a function")),
            };
            if count > (place_rows - next) as u64 {
                return Err(Corrupt("the lines of the frames do not add up"));
            }
            let end = next + count as usize;
            let mut places = Vec::with_capacity(count as usize);
            for at in next..end {
                let name = match numbers[at].checked_sub(1) {
                    None => None,
                    Some(name) => Some(
                        usize::try_from(name)
                            .ok()
                            .and_then(|name| names.get(name))
                            .ok_or(Corrupt("a name"))?,
                    ),
                };
                places.push(InlinedPlace {
                    function: name.cloned(),
                    place: place(table, files[at], lines[at])?,
                });
            }
            next = end;
            table.frames.push(FrameSymbol { function, places });
        }
        match next == place_rows && table.frames.len() as u64 <= u64::from(known.frames) {
            true => Ok(()),
            false => Err(Corrupt("the lines of the frames do not add up")),
        }
    }

    /// Places in the order of their frames, of which each is in the tables.
    pub(super) fn barriers(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let table = self.0.as_mut().ok_or(ORDER)?;
        let rows = decoder.rows()?;
        for [frame, barrier] in decoder.table(rows)? {
            let before = table.barriers.last().map(|row| u64::from(row.0.0));
            if frame >= u64::from(known.frames) || before.is_some_and(|before| before >= frame) {
                return Err(Corrupt("the place of a barrier"));
            }
            let barrier = u8::try_from(barrier).ok().and_then(Barrier::from_u8);
            let barrier = barrier.ok_or(Corrupt("an unknown kind of barrier"))?;
            table.barriers.push((FrameId(frame as u32), barrier));
        }
        Ok(())
    }

    /// Facts in the order of their frames, of which each is in the tables.
    pub(super) fn code(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let table = self.0.as_mut().ok_or(ORDER)?;
        let rows = decoder.rows()?;
        let numbers = decoder.table(rows)?;
        let calls = decoder.strings(rows)?;
        for ([frame, traits, body], calls) in numbers.into_iter().zip(calls) {
            let before = table.code.last().map(|row| u64::from(row.0.0));
            if frame >= u64::from(known.frames) || before.is_some_and(|before| before >= frame) {
                return Err(Corrupt("the place of a code fact"));
            }
            let body = body.checked_sub(1);
            if body.is_some_and(|body| body >= table.functions.len() as u64) {
                return Err(Corrupt("the body of a construct"));
            }
            let fact = CodeFact {
                spins: traits & SPINS != 0,
                combines: traits & COMBINES != 0,
                calls: Some(calls).filter(|name| !name.is_empty()),
                body: body.map(|body| FunctionId(body as u32)),
            };
            table.code.push((FrameId(frame as u32), fact));
        }
        Ok(())
    }

    /// The table, if all of it has come.
    pub(super) fn end(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
    ) -> Result<SymbolTable, Corrupt> {
        let mut table = self.0.take().ok_or(ORDER)?;
        let expected = [decoder.number()?, decoder.number()?, decoder.number()?];
        let got = [table.files.len(), table.functions.len(), table.frames.len()];
        if expected != got.map(|rows| rows as u64) {
            return Err(ORDER);
        }
        let rows = decoder.rows()?;
        let reasons = decoder.strings(rows)?;
        let mut modules = Vec::new();
        decoder.column(rows, &mut modules)?;
        for (module, why) in modules.into_iter().zip(reasons) {
            table.misses.push((known.module(module)?, why));
        }
        Ok(table)
    }
}

fn place(table: &SymbolTable, file: u64, line: u64) -> Result<Place, Corrupt> {
    if file >= table.files.len() as u64 {
        return Err(Corrupt("a source file"));
    }
    Ok(Place {
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
        construct: match number >> 1 {
            0 => Construct::Parallel,
            1 => Construct::Task,
            2 => Construct::Teams,
            3 => Construct::Reduction,
            _ => return Err(Corrupt("an unknown construct")),
        },
        parent: (number & 1 == 1).then_some(parent),
        line: line.map_err(|_| Corrupt("a line beyond 32 bits"))?,
    }))
}
