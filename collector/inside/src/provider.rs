//! Finds the real functions, by runtime and caller.
//!
//! Without this library, a caller would be bound to the next definition in the global scope. In
//! every program linked to libgomp that is one runtime for all callers. An extension loaded later
//! into a scope of its own may bring a private copy, which is not in the global scope. For it, the
//! dependencies of the calling module are searched.
//!
//! Tables are filled without a lock, so a fork in between leaves no lock held. They are never
//! emptied: providers stay loaded. A module that is unloaded keeps its entry until another module
//! takes its addresses.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

use ompt::{Function, NAMES};

use crate::loader::{Module, Scope, any_module};
use crate::memory::{self, Zeroed};
use crate::objects;

/// What a library of ours does with the runtimes that are found.
pub trait Client {
    /// Whether calls of a runtime without OMPT are recorded. Asked before anybody knows the runtime. `address`
    /// is one of its image.
    fn records(address: u64) -> bool;

    /// A runtime has been found. `records`: its calls are recorded.
    fn found(provider: &Provider, address: u64, records: bool);

    /// The runtime of the region in which the calling thread is.
    fn current() -> Option<&'static Provider>;
}

/// The version of the lock routines since GCC 4.4. An older version of them exists too.
const LOCKS: &CStr = c"OMP_3.0";

/// A function that every runtime with LLVM's interface exports. Such a runtime has OMPT.
const LLVM: &CStr = c"__kmpc_fork_call";

/// A runtime that exports the functions.
#[derive(Debug)]
pub struct Provider {
    /// Lowest and highest address of its image.
    image: [u64; 2],
    functions: [usize; NAMES.len()],
    /// Whether its constructs are recorded here. If not, OMPT records them, or nothing does.
    records: AtomicBool,
    /// It is LLVM's, or one like it.
    is_llvms: bool,
}

// SAFETY: consists of integers and a flag.
unsafe impl Zeroed for Provider {}

impl Provider {
    /// Whether calls are recorded.
    #[inline(always)]
    pub fn records(&self) -> bool {
        self.records.load(Relaxed)
    }

    /// The address of the function with this number.
    #[inline(always)]
    pub fn address(&self, function: usize) -> usize {
        match self.functions.get(function) {
            Some(address) if *address != 0 => *address,
            _ => missing_function(function),
        }
    }

    /// Its image.
    pub fn image(&self) -> std::ops::Range<u64> {
        self.image[0]..self.image[1]
    }

    /// Whether it is LLVM's runtime, or one like it, which has OMPT.
    pub fn is_llvms(&self) -> bool {
        self.is_llvms
    }

    /// The function with this number.
    ///
    /// # Safety
    /// `F` must be its type, a function pointer.
    #[inline(always)]
    pub unsafe fn real<F: Copy>(&self, function: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let address = self.address(function);
        // SAFETY: not 0, and of this type by the caller's promise.
        unsafe { std::mem::transmute_copy(&address) }
    }

    /// The calling thread's number in its team.
    #[inline]
    pub fn thread_number(&self) -> u32 {
        // SAFETY: omp_get_thread_num's type.
        unsafe { self.query(Function::omp_get_thread_num) }
    }

    /// The size of the calling thread's team.
    #[inline]
    pub fn team_size(&self) -> u32 {
        // SAFETY: omp_get_num_threads's type.
        unsafe { self.query(Function::omp_get_num_threads) }
    }

    /// What a routine says that asks the runtime for a number.
    ///
    /// # Safety
    /// `function` takes nothing and returns an int.
    #[inline(always)]
    pub unsafe fn query(&self, function: Function) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.real::<unsafe extern "C" fn() -> u32>(function as usize)() }
    }

    /// The provider of the functions in `scope`, added to the list if it is new. `None` if none has
    /// them.
    fn among<C: Client>(scope: &Scope, function: usize) -> Option<&'static Provider> {
        let find = |index: usize| {
            let name = NAMES.get(index)?;
            let version = ompt::is_of_locks(name).then_some(LOCKS);
            Some(scope.find(name, version)).filter(|address| *address != 0)
        };
        let start = find(Function::GOMP_parallel as usize).or_else(|| find(function))?;
        let module = Module::at(start as u64)?;
        if module.is_own() {
            return None;
        }
        if let Some(known) = all().find(|it| it.image[0] == module.range.start) {
            return Some(known);
        }
        module.pin();
        let place = memory::map::<Provider>()?;
        // SAFETY: new, zeroed, and not published yet.
        let provider = unsafe { &mut *place };
        provider.image = [module.range.start, module.range.end];
        for (index, address) in provider.functions.iter_mut().enumerate() {
            *address = find(index).unwrap_or(0);
        }
        let speaks = scope.find(LLVM, None) as u64;
        provider.is_llvms = module.range.contains(&speaks);
        let records = !provider.is_llvms
            && find(Function::GOMP_parallel as usize).is_some()
            && C::records(start as u64);
        // Another thread may fork its first region as soon as the provider is published.
        provider.records = AtomicBool::new(records);
        let published = publish(place);
        if std::ptr::eq(published, place) {
            C::found(published, start as u64, records);
        }
        Some(published)
    }
}

/// Runtimes of one process. More than two are not expected.
const MAX_PROVIDERS: usize = 8;
static PROVIDERS: [AtomicPtr<Provider>; MAX_PROVIDERS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_PROVIDERS];
/// The provider of every caller, while there is only one.
static SOLE: AtomicPtr<Provider> = AtomicPtr::new(std::ptr::null_mut());

fn all() -> impl Iterator<Item = &'static Provider> {
    PROVIDERS
        .iter()
        // SAFETY: published providers are never freed.
        .map_while(|place| unsafe { place.load(Acquire).as_ref() })
}

/// Publishes `provider`, or frees it if one of the same image was published first. If the table is
/// full, it stays unlisted but works.
fn publish(provider: *mut Provider) -> &'static Provider {
    // SAFETY: mapped and filled; never unmapped once it is published.
    let image = unsafe { (*provider).image };
    for place in &PROVIDERS {
        let none = std::ptr::null_mut();
        match place.compare_exchange(none, provider, AcqRel, Acquire) {
            Ok(_) => break,
            Err(other) => {
                // SAFETY: published providers are never freed.
                let other = unsafe { &*other };
                if other.image == image {
                    // SAFETY: ours, and not published.
                    unsafe { memory::unmap(provider) };
                    return other;
                }
            }
        }
    }
    // SAFETY: never freed from here on.
    unsafe { &*provider }
}

/// The provider of function number `function` for the calling code at `hint`.
#[inline(always)]
pub fn of<C: Client>(function: usize, hint: u64) -> &'static Provider {
    // SAFETY: published providers are never freed.
    match unsafe { SOLE.load(Acquire).as_ref() } {
        Some(provider) => provider,
        None => by_caller::<C>(function, hint),
    }
}

/// Whether every caller has this runtime.
pub fn is_sole(provider: &Provider) -> bool {
    std::ptr::eq(SOLE.load(Acquire), provider)
}

/// The address of function number `function` for the calling code at `hint`. It may belong to
/// another runtime than the one that provides the caller's other functions: a process may have
/// libgomp in the global scope, and LLVM's runtime in a library's own.
pub fn bound<C: Client>(function: usize, hint: u64) -> usize {
    match of::<C>(function, hint).functions.get(function) {
        Some(address) if *address != 0 => *address,
        _ => elsewhere(function, hint),
    }
}

/// Functions that were found by [`search`], by calling page and number. An entry is written once.
static FOUND: [Found; 64] = [const {
    Found {
        key: AtomicU64::new(Found::FREE),
        address: AtomicUsize::new(0),
    }
}; 64];

struct Found {
    /// Written last. 0 is no key: function numbers in it count from 1.
    key: AtomicU64,
    address: AtomicUsize,
}

impl Found {
    const FREE: u64 = 0;
    /// No key: the page is not the last one that there could be.
    const WRITING: u64 = u64::MAX;
}

const _: () = assert!(NAMES.len() < u8::MAX as usize);

fn elsewhere(function: usize, hint: u64) -> usize {
    let key = (hint >> PAGE_BITS) << u8::BITS | (function as u64 + 1);
    let mut keys = FOUND.iter().map(|it| (it, it.key.load(Acquire)));
    let known = keys.find(|(_, other)| *other == key || *other == Found::FREE);
    if let Some((known, _)) = known.filter(|(_, other)| *other == key) {
        return known.address.load(Relaxed);
    }
    let address = search(function, hint);
    let free = FOUND.iter().find(|it| {
        let taken = it
            .key
            .compare_exchange(Found::FREE, Found::WRITING, Acquire, Relaxed);
        taken.is_ok()
    });
    if let Some(free) = free
        && let Some(holder) = Module::at(address as u64)
    {
        holder.pin();
        free.address.store(address, Relaxed);
        free.key.store(key, Release);
    }
    address
}

#[cold]
#[inline(never)]
fn search(function: usize, hint: u64) -> usize {
    let in_module = |module: &Module| {
        let address = module.open()?.find(NAMES.get(function)?, None);
        let holder = Module::at(address as u64)?;
        (!holder.is_own()).then_some(address)
    };
    let mut found = Module::at(hint).and_then(|module| in_module(&module));
    if found.is_none() {
        any_module(|module| {
            found = in_module(module);
            found.is_some()
        });
    }
    found.unwrap_or_else(|| missing_function(function))
}

fn by_caller<C: Client>(function: usize, hint: u64) -> &'static Provider {
    let page = hint >> PAGE_BITS;
    let word = place_of(page).map_or(0, |place| place.load(Acquire));
    if word >> INDEX_BITS == page
        && let Some(place) = PROVIDERS.get((word & INDEX_MASK) as usize)
        // SAFETY: published providers are never freed.
        && let Some(provider) = unsafe { place.load(Acquire).as_ref() }
    {
        return provider;
    }
    slow::<C>(function, hint)
}

/// Looks up a caller that is not in the table yet.
#[cold]
#[inline(never)]
fn slow<C: Client>(function: usize, hint: u64) -> &'static Provider {
    match modules::provider_at(hint).or_else(|| ask_loader::<C>(function, hint)) {
        Some(Some(provider)) => {
            remember(hint, provider);
            provider
        }
        // The caller tail-called the entry point. The return address lies in its own caller, in an
        // object that is linked to no runtime.
        Some(None) | None => all()
            .next()
            .filter(|first| first.records())
            .and_then(|_| C::current())
            .or_else(|| all().next())
            .or_else(|| anybody::<C>(function))
            .unwrap_or(&NOBODY),
    }
}

/// The provider for the module at `hint`: `None` if the loader cannot tell, `Some(None)` if the
/// module has none.
fn ask_loader<C: Client>(function: usize, hint: u64) -> Option<Option<&'static Provider>> {
    let global = Provider::among::<C>(&Scope::next(), function);
    if let Some(provider) = global
        && all().count() == 1
    {
        SOLE.store(std::ptr::from_ref(provider).cast_mut(), Release);
        return Some(global);
    }
    let module = Module::at(hint)?;
    let provider = global.or_else(|| Provider::among::<C>(&module.open()?, function));
    modules::add(&module, provider);
    Some(provider)
}

/// The first loaded runtime that has the function.
fn anybody<C: Client>(function: usize) -> Option<&'static Provider> {
    /// One more than the number of loads after which no object had a runtime; 0: not looked yet. A program
    /// without one may ask often: its calls of routines are weak.
    static NONE_AFTER: AtomicU64 = AtomicU64::new(0);
    let loads = objects::loads() + 1;
    if NONE_AFTER.load(Relaxed) == loads {
        return None;
    }
    let mut found = None;
    any_module(|module| {
        found = module
            .open()
            .and_then(|scope| Provider::among::<C>(&scope, function));
        found.is_some()
    });
    if found.is_none() {
        NONE_AFTER.store(loads, Relaxed);
    }
    found
}

const PAGE_BITS: u32 = 12;
const INDEX_BITS: u32 = 8;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
/// Pages of code with a known provider: `page << INDEX_BITS | index`, stored at the index that the
/// page hashes to.
static PAGES: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

fn place_of(page: u64) -> Option<&'static AtomicU64> {
    PAGES.get(page as usize % PAGES.len())
}

fn remember(hint: u64, provider: &'static Provider) {
    let page = hint >> PAGE_BITS;
    let index = all().position(|it| std::ptr::eq(it, provider));
    if let (Some(place), Some(index)) = (place_of(page), index) {
        place.store(page << INDEX_BITS | index as u64, Release);
    }
}

/// Calling modules with a known provider, so that a thread need not ask the loader again: while a
/// library's constructor runs a region, its thread holds the loader's lock.
mod modules {
    use super::*;

    struct Entry {
        start: AtomicU64,
        /// Written last; 0 while the entry is free or being written.
        end: AtomicU64,
        /// NULL: none.
        provider: AtomicPtr<Provider>,
    }

    static ENTRIES: [Entry; 128] = [const {
        Entry {
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            provider: AtomicPtr::new(std::ptr::null_mut()),
        }
    }; 128];
    static USED: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn provider_at(address: u64) -> Option<Option<&'static Provider>> {
        let entry = ENTRIES.iter().find(|entry| {
            let end = entry.end.load(Acquire);
            (entry.start.load(Relaxed)..end).contains(&address)
        })?;
        // SAFETY: published providers are never freed.
        Some(unsafe { entry.provider.load(Relaxed).as_ref() })
    }

    pub(super) fn add(module: &Module, provider: Option<&'static Provider>) {
        // A module that previously had these addresses has been unloaded.
        for entry in &ENTRIES {
            let end = entry.end.load(Acquire);
            if end > module.range.start && entry.start.load(Relaxed) < module.range.end {
                entry.end.store(0, Release);
                PAGES.iter().for_each(|page| page.store(0, Release));
            }
        }
        // If the table is full, further callers are looked up once for each new page.
        if let Some(entry) = ENTRIES.get(USED.fetch_add(1, Relaxed)) {
            entry.start.store(module.range.start, Relaxed);
            let pointer =
                provider.map_or(std::ptr::null_mut(), |it| std::ptr::from_ref(it).cast_mut());
            entry.provider.store(pointer, Relaxed);
            entry.end.store(module.range.end, Release);
        }
    }
}

/// Marks the runtime with `address` in its image as one with OMPT: only OMPT records its
/// constructs.
pub fn stand_back(address: u64) {
    all()
        .filter(|provider| (provider.image[0]..provider.image[1]).contains(&address))
        .for_each(|provider| provider.records.store(false, Relaxed));
}

/// Without functions: who calls a routine without a runtime has asked whether there is one, and a library of ours
/// has answered.
static NOBODY: Provider = Provider {
    image: [0; 2],
    functions: [0; NAMES.len()],
    records: AtomicBool::new(false),
    is_llvms: false,
};

/// What stands for a function that no runtime has. A routine returns 0; of a construct the loader would have said
/// that its symbol cannot be bound, and ended the process.
#[cold]
#[inline(never)]
fn missing_function(function: usize) -> usize {
    extern "C" fn nothing() -> usize {
        0
    }
    let name = NAMES.get(function).copied().unwrap_or(c"?");
    if name.to_bytes().starts_with(b"omp_") {
        return nothing as *const () as usize;
    }
    missing(name)
}

/// No object has a function that the program calls: ends the process, as the loader would.
#[cold]
pub fn missing(name: &CStr) -> ! {
    let parts = [
        &b"parallax: symbol lookup error: undefined symbol: "[..],
        name.to_bytes(),
        b"\n",
    ];
    for part in parts {
        // SAFETY: writes bytes of a live buffer.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: ends the process, as the loader would.
    unsafe { libc::_exit(127) }
}
