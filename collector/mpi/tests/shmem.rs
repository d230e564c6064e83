//! The table of OpenSHMEM's functions is that of the header.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Where distributions install the header.
const HEADERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/openmpi/include/pshmem.h",
    "/usr/include/openmpi-x86_64/pshmem.h",
    "/usr/lib64/mpi/gcc/openmpi4/include/pshmem.h",
    "/usr/include/pshmem.h",
];

/// A function of the header.
struct Prototype {
    /// Without `pshmem_`.
    name: String,
    returns: String,
    arguments: Vec<String>,
}

fn prototypes(header: &str) -> Vec<Prototype> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    text.push_str(rest);
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = BTreeMap::new();
    for part in joined.split("OSHMEM_DECLSPEC ").skip(1) {
        let declaration = part.split(';').next().unwrap();
        let Some((before, arguments)) = declaration.split_once('(') else {
            continue;
        };
        let Some(at) = before.find("pshmem_") else {
            continue;
        };
        let name = before[at..].trim();
        let arguments = arguments.trim_end().strip_suffix(')').unwrap();
        let arguments = arguments.split(',').map(|it| it.trim().to_owned());
        found.insert(
            name.to_owned(),
            Prototype {
                name: name.strip_prefix("pshmem_").unwrap().to_owned(),
                returns: before[..at].trim().to_owned(),
                arguments: arguments
                    .filter(|it| it != "void" && !it.is_empty())
                    .collect(),
            },
        );
    }
    found.into_values().collect()
}

/// Bytes of the elements that a pointer points to; `None` for `void`.
fn element(pointer: &str) -> Option<u32> {
    let (of, _) = pointer.split_once('*').unwrap();
    let words = of.replace("const ", "").replace("volatile ", "");
    Some(match words.trim() {
        "void" => return None,
        "char" | "signed char" | "unsigned char" | "int8_t" | "uint8_t" => 1,
        "short" | "unsigned short" | "int16_t" | "uint16_t" => 2,
        "int" | "unsigned int" | "float" | "int32_t" | "uint32_t" => 4,
        "long"
        | "unsigned long"
        | "long long"
        | "unsigned long long"
        | "double"
        | "size_t"
        | "ptrdiff_t"
        | "int64_t"
        | "uint64_t"
        | "OSHMEM_COMPLEX_TYPE(float)" => 8,
        "long double" | "OSHMEM_COMPLEX_TYPE(double)" => 16,
        other => panic!("{other}: of how many bytes?"),
    })
}

/// Whether an argument is a floating-point value: in a vector register, or on the stack.
fn is_real(argument: &str) -> bool {
    !argument.contains('*')
        && ["float ", "double ", "long double "]
            .iter()
            .any(|real| argument.starts_with(real))
}

impl Prototype {
    /// The place among arguments that are no real numbers of the one with a name.
    fn place(&self, names: &[&str]) -> usize {
        let others = self.arguments.iter().filter(|it| !is_real(it));
        let words = |it: &String| it.split([' ', '*']).next_back().unwrap().to_owned();
        let mut others = others.map(words);
        let found = others.position(|it| names.contains(&&*it));
        found.unwrap_or_else(|| panic!("{} has no {names:?}", self.name))
    }

    fn has_context(&self) -> bool {
        self.arguments
            .first()
            .is_some_and(|it| it.starts_with("shmem_ctx_t"))
    }

    /// Words of arguments: a long double takes two, behind the six registers.
    fn words(&self) -> usize {
        let mut reals = self.arguments.iter().filter(|it| is_real(it));
        if reals.any(|it| it.starts_with("long")) {
            8
        } else {
            self.arguments.iter().filter(|it| !is_real(it)).count()
        }
    }

    /// Bytes of an element: by the type of the first pointer, or by the number in the name.
    fn size(&self) -> u32 {
        let pointer = self.arguments.iter().find(|it| it.contains('*')).unwrap();
        let digits = || {
            self.name
                .trim_end_matches("_nbi")
                .trim_start_matches(|c: char| !c.is_ascii_digit())
        };
        element(pointer).unwrap_or_else(|| match digits() {
            "" => 1,
            bits => bits.parse::<u32>().unwrap() / 8,
        })
    }

    /// The class, the wait, bytes, peer, object and what it asks.
    fn row(&self) -> String {
        let first = usize::from(self.has_context());
        let name = self.name.strip_prefix("ctx_").unwrap_or(&self.name);
        let core = name
            .trim_end_matches("_nbi")
            .trim_end_matches(|c: char| c.is_ascii_digit());
        let last = core.rsplit('_').next().unwrap();
        let wait = if name.ends_with("_nbi") {
            "Nothing"
        } else {
            "Transfer"
        };
        let count = || self.place(&["len", "nelems", "nlong", "nreduce"]);
        let with = |class: &str, wait: &str, bytes: &str, peer: &str, object: &str| {
            format!(
                "{class} {wait} {} ({bytes}) ({peer}) ({object})",
                self.words()
            )
        };
        let rank = || format!("Rank({})", self.place(&["pe"]));
        let size = || self.size();
        let is_void = self.returns == "void";
        match last {
            _ if name.contains("to_all") => {
                let bytes = format!("Bytes::Reduce({}, {})", count(), size());
                with("Collective", "Collective", &bytes, "Nobody", "At(0)")
            }
            "broadcast" | "collect" | "fcollect" | "alltoall" | "alltoalls" => {
                let kind = match last {
                    "broadcast" => "Broadcast",
                    "collect" => "Collect",
                    "fcollect" => "FixedCollect",
                    _ => "Alltoall",
                };
                let bytes = format!("Bytes::{kind}({}, {})", count(), size());
                with("Collective", "Collective", &bytes, "Nobody", "At(0)")
            }
            "barrier" | "sync" => with("Barrier", "Barrier", "NoBytes", "Nobody", "Object::None"),
            "all" => with("Barrier", "Barrier", "NoBytes", "Nobody", "Object::None"),
            "fence" => with("Fence", "Quiet", "NoBytes", "Nobody", "Object::None"),
            "quiet" => with("Quiet", "Quiet", "NoBytes", "Nobody", "Object::None"),
            "lock" if name == "set_lock" => with("Lock", "Lock", "NoBytes", "Nobody", "At(0)"),
            "lock" if name == "test_lock" => {
                with("Lock", "Nothing", "NoBytes", "Nobody", "At(0)") + " Zero"
            }
            "lock" => with("Lock", "Nothing", "NoBytes", "Nobody", "At(0)"),
            "wait" | "until" => with("Wait", "Flag", "NoBytes", "Nobody", "At(0)"),
            "test" => with("Wait", "Nothing", "NoBytes", "Nobody", "At(0)") + " Nonzero",
            "malloc" | "align" => {
                let bytes = format!("Bytes::Allocated({})", self.place(&["size"]));
                with(
                    "Allocation",
                    "Collective",
                    &bytes,
                    "Nobody",
                    "Object::Result",
                )
            }
            "realloc" => with(
                "Allocation",
                "Collective",
                "Bytes::Allocated(1)",
                "Nobody",
                "Object::Result",
            ),
            "calloc" => with(
                "Allocation",
                "Collective",
                "Bytes::AllocatedEach(0, 1)",
                "Nobody",
                "Object::Result",
            ),
            "free" => with("Allocation", "Collective", "NoBytes", "Nobody", "At(0)"),
            "g" => {
                let bytes = format!("Elements(Received, ONE, {})", size());
                with("Get", wait, &bytes, &rank(), &format!("At({first})"))
            }
            "p" => {
                let bytes = format!("Elements(Sent, ONE, {})", size());
                with("Put", wait, &bytes, &rank(), &format!("At({first})"))
            }
            "get" | "getmem" | "iget" => {
                let bytes = format!("Elements(Received, {}, {})", count(), size());
                with("Get", wait, &bytes, &rank(), &format!("At({})", first + 1))
            }
            "put" | "putmem" | "iput" => {
                let bytes = format!("Elements(Sent, {}, {})", count(), size());
                with("Put", wait, &bytes, &rank(), &format!("At({first})"))
            }
            "set" | "add" | "inc" | "and" | "or" | "xor" | "swap" | "cswap" | "fadd" | "finc"
            | "fetch" => {
                let way = match last {
                    _ if is_void => "Sent",
                    "fetch" => "Received",
                    _ => "Both",
                };
                let bytes = format!("Elements({way}, ONE, {})", size());
                with(
                    "Atomic",
                    "Transfer",
                    &bytes,
                    &rank(),
                    &format!("At({first})"),
                )
            }
            "finalize" => with(
                "Management",
                "Collective",
                "NoBytes",
                "Nobody",
                "Object::None",
            ),
            _ if self.is_management() => {
                with("Management", "Nothing", "NoBytes", "Nobody", "Object::None")
            }
            _ => panic!("{}: what class is it of?", self.name),
        }
    }

    fn is_management(&self) -> bool {
        let known = [
            "init",
            "init_thread",
            "global_exit",
            "n_pes",
            "my_pe",
            "query_thread",
            "pe_accessible",
            "addr_accessible",
            "ptr",
            "ctx_create",
            "ctx_destroy",
            "udcflush",
            "udcflush_line",
            "set_cache_inv",
            "set_cache_line_inv",
            "clear_cache_inv",
            "clear_cache_line_inv",
            "info_get_version",
            "info_get_name",
        ];
        known.contains(&&*self.name)
    }
}

/// The table, as a file of Rust.
fn table(prototypes: &[Prototype]) -> String {
    let mut groups = BTreeMap::<String, Vec<&str>>::new();
    for prototype in prototypes {
        groups
            .entry(prototype.row())
            .or_default()
            .push(&prototype.name);
    }
    let mut text = "//! Made of `pshmem.h` by the test `shmem`.\n\n\
        /// Calls the macro `$take` with the functions of OpenSHMEM: for each group what is known of it\n\
        /// ([`crate::pgas::Row`]), then each function's name and that by which tools call it.\n\
        #[macro_export]\nmacro_rules! shmem_functions {\n    ($take:ident) => {\n        $take! {\n"
        .to_owned();
    for (row, names) in groups {
        let _ = writeln!(text, "            {row} {{");
        let mut line = String::new();
        for name in names {
            let entry = format!("shmem_{name} pshmem_{name};");
            if line.len() + entry.len() > 100 {
                let _ = writeln!(text, "               {line}");
                line.clear();
            }
            line = format!("{line} {entry}");
        }
        let _ = writeln!(text, "               {line}\n            }}");
    }
    text + "        }\n    };\n}\n"
}

#[test]
fn the_table_has_each_function_of_the_header_once() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shmem/table.rs");
    let found = HEADERS.iter().find_map(|it| fs::read_to_string(it).ok());
    let header =
        found.expect("Open MPI's header pshmem.h is not installed: `cargo xtask test` installs it");
    let prototypes = prototypes(&header);
    assert!(prototypes.len() >= 831, "{}", prototypes.len());
    let made = table(&prototypes);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, made).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap();
    let kept = kept.split_whitespace().collect::<Vec<_>>();
    let made = made.split_whitespace().collect::<Vec<_>>();
    let apart = kept.iter().zip(&made).position(|(one, other)| one != other);
    assert_eq!(
        (apart, kept.len()),
        (None, made.len()),
        "at {:?}",
        apart.map(|it| made[it])
    );
}
