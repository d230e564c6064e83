//! Linker options of the program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    glibc_floor::programs();
}
