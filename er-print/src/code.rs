//! Instructions of a load object: its bytes from the file, their text by a disassembler.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction};
use object::{Object, ObjectSection, ObjectSymbol};

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Link-time address.
    pub(crate) address: u64,
    /// In bytes.
    pub(crate) length: u64,
    /// In GNU's syntax.
    pub(crate) text: String,
}

/// A load object's file.
pub(crate) struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Reads a file; the reason in one clause if it is not readable.
    pub(crate) fn open(path: &Path) -> Result<Image, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        object::File::parse(bytes.as_slice()).map_err(|error| error.to_string())?;
        Ok(Image { bytes })
    }

    /// The GNU build id in hexadecimal.
    pub(crate) fn build_id(&self) -> Option<String> {
        let file = object::File::parse(self.bytes.as_slice()).ok()?;
        let id = file.build_id().ok()??;
        Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The instructions from `address` on, `size` bytes of them; nothing if the file has no code
    /// there or is of another machine.
    pub(crate) fn instructions(&self, address: u64, size: u64) -> Vec<Decoded> {
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
        decode(bytes.unwrap_or_default(), address)
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

fn decode(bytes: &[u8], address: u64) -> Vec<Decoded> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let mut instruction = Instruction::default();
    let mut decoded = Vec::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        decoded.push(Decoded {
            address: instruction.ip(),
            length: instruction.len() as u64,
            text,
        });
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::decode;

    /// `push %rbp; mov %rsp,%rbp; ret`, and a byte that begins no instruction.
    #[test]
    fn instructions_have_addresses_and_gnu_syntax() {
        let decoded = decode(&[0x55, 0x48, 0x89, 0xe5, 0xc3, 0x06], 0x1000);
        let shown: Vec<(u64, &str)> = decoded
            .iter()
            .map(|at| (at.address, at.text.as_str()))
            .collect();
        assert_eq!(shown[0], (0x1000, "push %rbp"));
        assert_eq!(shown[1], (0x1001, "mov %rsp,%rbp"));
        assert_eq!(shown[2], (0x1004, "ret"));
        assert_eq!(shown[3], (0x1005, "(bad)"));
    }
}
