//! What two executions of a parallel region left different: pure, values in and values out.
//!
//! The *reference* is the execution with one thread, the *result* that with as many as the program asked for.
//! Both begin with the same memory, *before*. A word has 8 bytes.
//!
//! | module | what |
//! |---|---|
//! | `words` | differing words, and the class of each |
//! | `rounding` | whether differences are those of another order of additions |
//! | `parts` | arrays with a part for each thread |
//! | `spans` | memory that was written, by the variables and blocks in it |
//! | `sampling` | which instances of a construct are compared |
//! | `record` | what the library in the program tells `collect`, in words |
#![forbid(unsafe_code)]

pub mod parts;
pub mod record;
pub mod rounding;
pub mod sampling;
pub mod spans;
pub mod words;
