//! The allocator: where blocks come from, and when their memory may be another's.
//!
//! A block's number is taken after it is there and before it is
//! given back, so that the blocks at one address are in order.
#![allow(unsafe_code)]

use std::ffi::c_void;

use inside::allocator::Blocks;
use inside::next;
use race_stream::record::{Checks, Event};

use crate::{looked_for, objects, stack, tls, unwritten};

/// Whether blocks are told of: a lock in recycled memory is another one, too.
#[inline]
fn is_told() -> bool {
    looked_for::checks() != Checks::default()
}

#[inline]
fn allocated(block: *mut c_void, bytes: usize, code: u64) {
    if !block.is_null() && is_told() {
        // SAFETY: `f` below calls neither the program nor a runtime.
        let thread = unsafe { tls::existing() };
        thread.map(|thread| {
            thread.enter(|thread| {
                let (context, caller) = (thread.context(), thread.running_call());
                thread.unordered_event(&Event::Alloc {
                    address: block as u64,
                    bytes: bytes as u64,
                    code,
                    caller,
                    context,
                });
            })
        });
    }
}

#[inline]
fn given_back(block: *mut c_void, code: u64) {
    if !block.is_null() && is_told() {
        // SAFETY: as in `allocated`.
        let thread = unsafe { tls::existing() };
        thread.map(|thread| {
            thread.enter(|thread| {
                let context = thread.context();
                thread.event(&Event::Free {
                    address: block as u64,
                    code,
                    context,
                });
            })
        });
    }
}

/// The bytes that a block has; 0 if unknown.
fn usable(block: *mut c_void) -> u64 {
    if block.is_null() {
        return 0;
    }
    next!(c"malloc_usable_size", fn(*mut c_void) -> usize, (block), 0) as u64
}

/// As [`allocated`], of a block without values from byte `kept` on. Blocks of code without
/// instrumentation are written by it, unseen.
#[inline]
fn undefined(block: *mut c_void, kept: u64, bytes: usize, code: u64) {
    if unwritten::is_on() && objects::is_instrumented(code) {
        let bytes = usable(block).max(bytes as u64);
        // SAFETY: the allocator has just given the block to the program.
        unsafe { unwritten::allocated(block as u64, kept, bytes) };
        stack::note_use();
    }
    allocated(block, bytes, code);
}

/// What the checks do with blocks.
struct Checked;

impl Blocks for Checked {
    fn allocated(block: *mut c_void, bytes: usize, code: u64) {
        undefined(block, 0, bytes, code);
    }

    fn zeroed(block: *mut c_void, bytes: usize, code: u64) {
        allocated(block, bytes, code);
    }

    /// Returns how many bytes have been kept marks of.
    fn resizing(block: *mut c_void, code: u64) -> u64 {
        let kept = if unwritten::is_on() {
            unwritten::freed(block as u64);
            usable(block)
        } else {
            0
        };
        given_back(block, code);
        kept
    }

    fn resized([old, new]: [*mut c_void; 2], kept: u64, bytes: usize, code: u64) {
        if new.is_null() {
            return;
        }
        if new != old && kept > 0 {
            unwritten::copied(new as u64, old as u64, kept.min(bytes as u64));
        }
        undefined(new, kept, bytes, code);
    }

    fn freed(block: *mut c_void, code: u64) {
        given_back(block, code);
        if unwritten::is_on() {
            unwritten::freed(block as u64);
            stack::note_use();
        }
    }
}

inside::allocator!(Checked);
