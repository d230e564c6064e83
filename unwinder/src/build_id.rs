//! Build ids, which tell whether a file is the one that was mapped.

use std::fmt;

/// The build id of an ELF file (the `NT_GNU_BUILD_ID` note), usually 20 bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// A build id from its bytes; `None` when there are none.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    /// A build id from its hexadecimal form.
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Self> {
        if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
            return None;
        }
        let bytes: Option<Vec<u8>> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
            .collect();
        Self::new(&bytes?)
    }

    /// The bytes of the note.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether both name the same file. The kernel hands out at most 20 bytes and pads with
    /// zeros, so a longer id is compared by its first 20 and trailing zeros do not count.
    #[must_use]
    pub fn same_file(&self, other: &BuildId) -> bool {
        fn significant(id: &BuildId) -> &[u8] {
            let bytes = &id.0[..id.0.len().min(20)];
            let end = bytes
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1);
            &bytes[..end]
        }
        significant(self) == significant(other)
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_survives_hexadecimal_and_the_kernel_s_padding() {
        let id = BuildId::from_hex("00ff10").expect("hexadecimal");
        assert_eq!(id.as_bytes(), [0, 255, 16]);
        assert_eq!(id.to_string(), "00ff10");
        assert!(id.same_file(&BuildId::new(&[0, 255, 16, 0, 0]).expect("not empty")));
        assert!(!id.same_file(&BuildId::new(&[0, 255, 17]).expect("not empty")));
        assert_eq!(BuildId::from_hex("0"), None);
        assert_eq!(BuildId::from_hex("zz"), None);
        assert_eq!(BuildId::from_hex(""), None);
    }
}
