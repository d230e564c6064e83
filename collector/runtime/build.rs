//! Linker options of the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A runtime unloads its tool when the program ends, while other threads may still be in a
    // callback. So the library is never unloaded.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    // One name, whether the library is preloaded, opened by its path or linked.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libcollector.so");
    glibc_floor::library();
}
