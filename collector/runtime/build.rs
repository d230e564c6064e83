//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A runtime unloads its tool when the program ends, while other threads may still be in a
    // callback: the library stays.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    // One name, whether it is preloaded, opened by its path or linked.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libcollector.so");
}
