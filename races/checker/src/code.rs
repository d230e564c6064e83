//! What the program's code tells. The replay asks; who has the load objects answers.

use omp_ring::context::Context;

/// The code of the program that is checked, by addresses in its memory.
pub trait Code {
    /// The worksharing loop around the call that returns to `code`, if each of its iterations makes that call's
    /// access once. `None`: there is none, or it is not known.
    fn loop_around(&mut self, code: u64) -> Option<u64>;

    /// Whether a compiler made the call that returns to `code`, of a directive.
    fn is_of_directive(&mut self, code: u64) -> bool;

    /// The return addresses of the calls on a stack, innermost first: those of the program's own functions,
    /// down to the runtime that has called the first of them. The first call is that at which the stack was
    /// taken; it is left out.
    fn calls(&mut self, stack: &Context) -> Vec<u64>;
}
