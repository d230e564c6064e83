//! Instructions of a load object: its bytes from the file, their text by a disassembler.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, OpKind};
use object::{Object, ObjectSection, ObjectSymbol};

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Link-time address.
    pub address: u64,
    /// In bytes.
    pub length: u64,
    /// In GNU's syntax.
    pub text: String,
}

/// A load object's file.
#[derive(Debug)]
pub struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Reads a file.
    ///
    /// # Errors
    /// The reason in one clause, if it is not readable or no load object.
    pub fn open(path: &Path) -> Result<Image, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        object::File::parse(bytes.as_slice()).map_err(|error| error.to_string())?;
        Ok(Image { bytes })
    }

    /// The GNU build id in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        let file = object::File::parse(self.bytes.as_slice()).ok()?;
        let id = file.build_id().ok()??;
        Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The instructions from `address` on, `size` bytes of them; nothing if the file has no code
    /// there or is of another machine.
    pub fn instructions(&self, address: u64, size: u64) -> Vec<Instruction> {
        let Ok(file) = object::File::parse(self.bytes.as_slice()) else {
            return Vec::new();
        };
        if file.architecture() != object::Architecture::X86_64 {
            return Vec::new();
        }
        let section = file.sections().find(|section| {
            let offset = address.checked_sub(section.address());
            offset.is_some_and(|offset| offset < section.size())
        });
        let Some(section) = section else {
            return Vec::new();
        };
        let size = match size {
            0 => next_symbol(&file, address).saturating_sub(address),
            size => size,
        };
        let end = section.address() + section.size();
        let size = size.min(end - address);
        let bytes = section.data_range(address, size).ok().flatten();
        decode(bytes.unwrap_or_default(), address, &Targets::new(&file))
    }
}

/// Functions that calls and jumps go to.
#[derive(Default)]
struct Targets {
    /// Start, end and name, in the order of starts.
    functions: Vec<(u64, u64, String)>,
}

impl Targets {
    fn new(file: &object::File<'_>) -> Targets {
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let named = symbols.filter_map(|symbol| {
            let is_code = symbol.kind() == object::SymbolKind::Text && symbol.address() > 0;
            let name = symbol
                .name()
                .ok()
                .filter(|name| is_code && !name.is_empty())?;
            let end = symbol.address() + symbol.size().max(1);
            Some((symbol.address(), end, name.to_owned()))
        });
        let mut functions: Vec<_> = named.collect();
        functions.sort();
        functions.dedup_by_key(|function| function.0);
        Targets { functions }
    }

    /// `foo`, or `foo+0x12`.
    fn name(&self, address: u64) -> Option<String> {
        let after = self
            .functions
            .partition_point(|(start, ..)| *start <= address);
        let (start, end, name) = self.functions.get(after.checked_sub(1)?)?;
        match address - start {
            _ if address >= *end => None,
            0 => Some(name.clone()),
            offset => Some(format!("{name}+{offset:#x}")),
        }
    }
}

/// Where the function at `address` ends at the latest, if its symbol does not say.
fn next_symbol(file: &object::File<'_>, address: u64) -> u64 {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let after = symbols
        .map(|symbol| symbol.address())
        .filter(|&at| at > address);
    after.min().unwrap_or(address)
}

fn decode(bytes: &[u8], address: u64, targets: &Targets) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    options.set_gas_space_after_memory_operand_comma(false);
    let mut instruction = iced_x86::Instruction::default();
    let mut decoded = Vec::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let jumps = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        );
        if jumps && let Some(name) = targets.name(instruction.near_branch_target()) {
            text.push_str(&format!(" <{name}>"));
        }
        decoded.push(Instruction {
            address: instruction.ip(),
            length: instruction.len() as u64,
            text,
        });
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::{Targets, decode};

    /// `push %rbp; mov %rsp,%rbp; ret`, and a byte that begins no instruction.
    #[test]
    fn instructions_have_addresses_and_gnu_syntax() {
        let bytes = [0x55, 0x48, 0x89, 0xe5, 0xc3, 0x06];
        let decoded = decode(&bytes, 0x1000, &Targets::default());
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
        let targets = Targets {
            functions: vec![(0x100c, 0x1020, "foo".to_owned())],
        };
        let decoded = decode(&bytes, 0x1000, &targets);
        assert_eq!(decoded[0].text, "call 0x1010 <foo+0x4>");
        assert_eq!(decoded[1].text, "lea 0x20(%rip),%rax");
    }
}
