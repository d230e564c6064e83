//! Linker options of the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Threads may be in it until the process ends, so it is never unloaded.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libparallax_compare.so");
    glibc_floor::library();
}
