//! The instructions of a function as text, each with its source lines.

use std::fmt;
use std::path::Path;

use experiment::symbols::{Function, FunctionId, InlinedLine, Instruction, SymbolTable};
use experiment::tables::Tables;
use iced_x86::{Formatter, GasFormatter, OpKind};
use untrusted::printable;
use unwinder::elf::ElfError;

use crate::builder::TableBuilder;
use crate::code;
use crate::debugfile::{DebugFolders, SymbolsMiss};
use crate::object::ObjectResolver;
use crate::symbols::{ElfFunction, Symbols};

/// The instructions of a function, read from the file of its load object.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// In the order of addresses.
    pub instructions: Vec<Instruction>,
    /// Why the instructions are not shown, or not all of them.
    pub missing: Option<Missing>,
}

/// Why the instructions of a function are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no file, or it is not readable: the reason in one clause.
    File(String),
    /// The file is not the one that was recorded.
    Changed,
    /// The file has no x86-64 code there.
    Code,
    /// The function is longer than any that a compiler makes.
    Rest,
}

/// The most instructions of a function that are shown. A report has a row of kilobytes for each.
const MOST_INSTRUCTIONS: usize = 1 << 18;

/// The longest instruction of x86-64, in bytes.
const LONGEST_INSTRUCTION: usize = 15;

impl fmt::Display for Missing {
    /// The rest of a sentence that begins with the load object's path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::File(why) => write!(f, "cannot be read: {why}"),
            Missing::Changed => f.write_str(
                "has changed since the recording (its build id is another): its instructions are \
                 not shown",
            ),
            Missing::Code => f.write_str("has no x86-64 code there"),
            Missing::Rest => write!(
                f,
                "has a function of more than {MOST_INSTRUCTIONS} instructions: the others are not shown"
            ),
        }
    }
}

impl From<SymbolsMiss> for Missing {
    fn from(miss: SymbolsMiss) -> Missing {
        match miss {
            SymbolsMiss::File { error, .. } => match error {
                ElfError::Replaced { .. } => Missing::Changed,
                ElfError::OtherMachine(_) => Missing::Code,
                ElfError::Unreadable(kind) => Missing::File(kind.to_string()),
                error => Missing::File(format!("it {error}")),
            },
            miss => Missing::File(miss.to_string()),
        }
    }
}

impl Code {
    /// Reads the instructions of a function from `file`, the file of its load object on this machine,
    /// if there is one.
    pub fn read(
        tables: &Tables,
        symbols: &SymbolTable,
        function: FunctionId,
        file: Option<&Path>,
    ) -> Code {
        let function = &symbols.functions[function.0 as usize];
        let read = file
            .ok_or_else(|| Missing::File("there is no such file here".to_owned()))
            .and_then(|file| read(tables, symbols, function, file));
        match read {
            Ok(mut instructions) => {
                let is_whole = instructions.len() <= MOST_INSTRUCTIONS;
                instructions.truncate(MOST_INSTRUCTIONS);
                Code {
                    instructions,
                    missing: (!is_whole).then_some(Missing::Rest),
                }
            }
            Err(missing) => Code {
                instructions: Vec::new(),
                missing: Some(missing),
            },
        }
    }
}

fn read(
    tables: &Tables,
    known: &SymbolTable,
    function: &Function,
    file: &Path,
) -> Result<Vec<Instruction>, Missing> {
    let module = tables.modules.get(function.module.0);
    let build_id = module.map_or("", |module| module.build_id.as_str());
    let symbols = Symbols::open_recorded(file, file, build_id, &DebugFolders::of_user())?;
    let code = ElfFunction {
        name: function.linkage.clone(),
        start: function.address,
        size: function.size,
    };
    // A stored size of 0 means that the symbol has none.
    let code = match function.size {
        0 => symbols.code(function.address).unwrap_or(code),
        _ => code,
    };
    let mut builder = TableBuilder::with_files(&known.files);
    let path = file.to_string_lossy();
    let mut object = ObjectResolver::new(&mut builder, function.module, &path, &symbols);
    let bytes = symbols.bytes(&code);
    let bytes = &bytes[..bytes
        .len()
        .min((MOST_INSTRUCTIONS + 1) * LONGEST_INSTRUCTION)];
    let mut instructions = decode(bytes, code.start, |svma| target_name(&symbols, svma));
    for instruction in &mut instructions {
        let holder = symbols.code(instruction.address);
        instruction.lines = object.lines(instruction.address, holder.as_ref());
        let is_known = |line: &InlinedLine| (line.source.file.0 as usize) < known.files.len();
        instruction.lines.retain(is_known);
        instruction
            .lines
            .iter_mut()
            .for_each(InlinedLine::make_printable);
    }
    if instructions.is_empty() {
        return Err(Missing::Code);
    }
    Ok(instructions)
}

/// `foo`, or `foo+0x12`.
fn target_name(symbols: &Symbols, address: u64) -> Option<String> {
    let function = symbols.function(address)?;
    let name = printable(&function.name);
    Some(match address - function.start {
        0 => name.into_owned(),
        offset => format!("{name}+{offset:#x}"),
    })
}

/// `target` returns the name of a branch's target.
fn decode(bytes: &[u8], address: u64, target: impl Fn(u64) -> Option<String>) -> Vec<Instruction> {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    options.set_gas_space_after_memory_operand_comma(false);
    let shown = |instruction: iced_x86::Instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let jumps = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        );
        if jumps && let Some(name) = target(instruction.near_branch_target()) {
            text.push_str(&format!(" <{name}>"));
        }
        Instruction {
            address: instruction.ip(),
            length: instruction.len() as u64,
            text,
            lines: Vec::new(),
        }
    };
    code::decode(bytes, address)
        .into_iter()
        .take(MOST_INSTRUCTIONS + 1)
        .map(shown)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::decode;

    /// `push %rbp; mov %rsp,%rbp; ret`, and a byte that begins no instruction.
    #[test]
    fn instructions_have_addresses_and_gnu_syntax() {
        let bytes = [0x55, 0x48, 0x89, 0xe5, 0xc3, 0x06];
        let decoded = decode(&bytes, 0x1000, |_| None);
        let shown: Vec<(u64, &str)> = decoded
            .iter()
            .map(|at| (at.address, at.text.as_str()))
            .collect();
        assert_eq!(shown[0], (0x1000, "push %rbp"));
        assert_eq!(shown[1], (0x1001, "mov %rsp,%rbp"));
        assert_eq!(shown[2], (0x1004, "ret"));
        assert_eq!(shown[3], (0x1005, "(bad)"));
    }

    /// `call .+0x10; lea 0x20(%rip),%rax`: the call goes into a function that is known.
    #[test]
    fn calls_name_their_targets() {
        let bytes = [
            0xe8, 0x0b, 0x00, 0x00, 0x00, 0x48, 0x8d, 0x05, 0x20, 0x00, 0x00, 0x00,
        ];
        let target = |address| (address == 0x1010).then(|| "foo+0x4".to_owned());
        let decoded = decode(&bytes, 0x1000, target);
        assert_eq!(decoded[0].text, "call 0x1010 <foo+0x4>");
        assert_eq!(decoded[1].text, "lea 0x20(%rip),%rax");
    }
}
