//! Instructions at which threads take a cache line from each other: atomic ones, and those that write to
//! elements side by side, chosen by the thread's number (false sharing).
//!
//! Of the second kind machine code proves the pattern. A value is followed from the result of
//! `omp_get_thread_num` through moves, shifts and additions, until it is in the address of a store that a
//! loop repeats, with everything else in that address the same in each round. If the next thread's address
//! is less than a cache line away, threads write to one line. Whether they do so at one time, and how long
//! it takes them, the machine code does not tell.

use std::collections::HashMap;

use experiment::symbols::Contention;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::arguments::writes;
use super::flow::{Flow, reach};
use super::instructions::{LARGEST, decode, is_call, reached};
use super::spins::CALLER_SAVED;
use crate::symbols::Symbols;

/// Bytes of a cache line: of x86-64 processors, 64.
const LINE: i64 = 64;

/// The contended instructions of one load object, by function.
#[derive(Default)]
pub(crate) struct Contended {
    /// By the function's first address: the addresses behind such instructions.
    behind: HashMap<u64, HashMap<u64, Contention>>,
}

impl Contended {
    /// Of what kind the instruction before an address is. A processor that is interrupted completes an
    /// instruction first, so the time of an instruction stands at the next one.
    pub(crate) fn before(&mut self, symbols: &Symbols, address: u64) -> Option<Contention> {
        let function = symbols.code(address).filter(|it| it.size <= LARGEST)?;
        let behind = self.behind.entry(function.start).or_insert_with(|| {
            let code = decode(symbols.bytes(&function), function.start);
            contended(&code, &mut |call| reached(symbols, call))
        });
        behind.get(&address).copied()
    }
}

/// The addresses behind contended instructions. One in the same loop that uses the operand of such an
/// instruction waits for the same line: a loop around `cmpxchg` begins with a load.
fn contended(
    code: &[Instruction],
    names: &mut dyn FnMut(&Instruction) -> Option<String>,
) -> HashMap<u64, Contention> {
    let flow = Flow::of(code);
    let atomics = (0..code.len()).filter(|at| is_atomic(&code[*at]));
    let mut found: Vec<(usize, Contention)> = atomics.map(|at| (at, Contention::Atomic)).collect();
    if let Some(flow) = &flow {
        let stores = neighbours(code, flow, names).into_iter();
        found.extend(stores.map(|at| (at, Contention::Neighbours)));
    }
    let mut behind = HashMap::new();
    for (at, kind) in found {
        let round = flow
            .as_ref()
            .map(|flow| round(flow, at))
            .unwrap_or_default();
        let same = round.into_iter().filter(|other| {
            let other = &code[*other];
            uses_memory(other) && Operand::of(other) == Operand::of(&code[at])
        });
        for at in same.chain([at]) {
            behind.entry(code[at].next_ip()).or_insert(kind);
        }
    }
    behind
}

/// All that lies on a way from an instruction back to it.
fn round(flow: &Flow, at: usize) -> Vec<usize> {
    let behind = reach(&flow.next, at, |_| true);
    let ahead = reach(&flow.before, at, |_| true);
    let both = behind.iter().zip(ahead).enumerate();
    both.filter(|(_, (behind, ahead))| **behind && *ahead)
        .map(|(at, _)| at)
        .collect()
}

/// Whether an instruction is an atomic operation on memory. On the stack it is gcc's fence.
fn is_atomic(it: &Instruction) -> bool {
    let atomic = it.has_lock_prefix() || it.mnemonic() == Mnemonic::Xchg;
    atomic && uses_memory(it) && it.memory_base() != Register::RSP
}

fn uses_memory(it: &Instruction) -> bool {
    let has = (0..it.op_count()).any(|at| it.op_kind(at) == OpKind::Memory);
    has && it.mnemonic() != Mnemonic::Lea
}

/// How an instruction forms the address of its operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operand {
    base: Register,
    index: Register,
    scale: u32,
    /// Of an address relative to the instruction: the address.
    displacement: u64,
}

impl Operand {
    fn of(it: &Instruction) -> Operand {
        Operand {
            base: it.memory_base(),
            index: it.memory_index(),
            scale: it.memory_index_scale(),
            displacement: it.memory_displacement64(),
        }
    }
}

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    /// It points to the stack, which is a thread's own.
    Stack,
    /// The thread's number times this, plus something else, or plus nothing but constants.
    Thread {
        stride: i64,
        alone: bool,
    },
}

impl Value {
    fn times(self, factor: i64) -> Value {
        match self {
            Value::Thread { stride, alone } => Value::Thread {
                stride: stride.saturating_mul(factor),
                alone,
            },
            _ if factor == 0 => Value::Unknown,
            other => other,
        }
    }

    fn plus(self, other: Value) -> Value {
        match (self, other) {
            (Value::Stack, _) | (_, Value::Stack) => Value::Stack,
            (Value::Thread { .. }, Value::Thread { .. }) => Value::Unknown,
            (Value::Thread { stride, .. }, _) | (_, Value::Thread { stride, .. }) => {
                Value::Thread {
                    stride,
                    alone: false,
                }
            }
            _ => Value::Unknown,
        }
    }
}

/// The registers, by number.
type Registers = [Value; 16];

fn get(registers: &Registers, register: Register) -> Value {
    let whole = register.full_register();
    match whole {
        Register::RSP => Value::Stack,
        _ if whole.is_gpr64() => registers[whole.number()],
        _ => Value::Unknown,
    }
}

/// The stores of the second kind.
fn neighbours(
    code: &[Instruction],
    flow: &Flow,
    names: &mut dyn FnMut(&Instruction) -> Option<String>,
) -> Vec<usize> {
    let mut asks =
        |it: &Instruction| is_call(it) && names(it).is_some_and(|it| asks_for_thread(&it));
    let asks: Vec<bool> = code.iter().map(&mut asks).collect();
    if !asks.contains(&true) {
        return Vec::new();
    }
    let before = values(code, flow, &asks);
    let is_such = |at: &usize| {
        before[*at].is_some_and(|registers| {
            let stride = stride(&code[*at], &registers);
            let is_near = stride.is_some_and(|it| it != 0 && it.abs() < LINE);
            is_near && stays(code, flow, &registers, *at)
        })
    };
    (0..code.len()).filter(is_such).collect()
}

fn asks_for_thread(name: &str) -> bool {
    matches!(name, "omp_get_thread_num" | "omp_get_thread_num_")
}

/// The bytes from one thread's address to the next one's, of a store.
fn stride(store: &Instruction, before: &Registers) -> Option<i64> {
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(store).used_memory();
    let writes = |access| matches!(access, OpAccess::Write | OpAccess::ReadWrite);
    if !used.iter().any(|it| writes(it.access())) || store.is_stack_instruction() {
        return None;
    }
    match address(store, before) {
        Value::Thread { stride, .. } => Some(stride),
        _ => None,
    }
}

fn address(it: &Instruction, before: &Registers) -> Value {
    let scale = i64::from(it.memory_index_scale());
    let index = get(before, it.memory_index()).times(scale);
    match (it.memory_base(), it.memory_index()) {
        (_, Register::None) => get(before, it.memory_base()),
        // A table of the program's: its address is a constant.
        (Register::None, _) => index,
        (base, _) => get(before, base).plus(index),
    }
}

/// Whether a loop repeats a store, at the same address in each round.
fn stays(code: &[Instruction], flow: &Flow, before: &Registers, store: usize) -> bool {
    let round = round(flow, store);
    let is_same = |register: Register| {
        let is_number = matches!(get(before, register), Value::Thread { alone: true, .. });
        is_number || !round.iter().any(|at| changes(&code[*at], register))
    };
    let registers = [code[store].memory_base(), code[store].memory_index()];
    let mut registers = registers.into_iter().filter(|it| *it != Register::None);
    !round.is_empty() && registers.all(is_same)
}

/// Whether an instruction gives a register another value. The address of a variable is always the same.
fn changes(it: &Instruction, register: Register) -> bool {
    let is_address = it.mnemonic() == Mnemonic::Lea && it.is_ip_rel_memory_operand();
    let clobbers = is_call(it) && CALLER_SAVED.contains(&register.full_register());
    clobbers || !is_address && writes(it, register.full_register())
}

/// The registers before each instruction that can be reached: what is the same on all ways there.
fn values(code: &[Instruction], flow: &Flow, asks: &[bool]) -> Vec<Option<Registers>> {
    let mut before: Vec<Option<Registers>> = vec![None; code.len()];
    if let Some(first) = before.first_mut() {
        *first = Some([Value::Unknown; 16]);
    }
    let mut factory = InstructionInfoFactory::new();
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let Some(mut registers) = before.get(at).copied().flatten() else {
            continue;
        };
        step(&code[at], asks[at], &mut registers, &mut factory);
        for &next in &flow.next[at] {
            let joined = before[next].map_or(registers, |known| {
                std::array::from_fn(|it| {
                    let same = known[it] == registers[it];
                    if same { known[it] } else { Value::Unknown }
                })
            });
            if before[next] != Some(joined) {
                before[next] = Some(joined);
                open.push(next);
            }
        }
    }
    before
}

/// What an instruction does to the registers.
fn step(
    it: &Instruction,
    asks: bool,
    registers: &mut Registers,
    factory: &mut InstructionInfoFactory,
) {
    let number = Value::Thread {
        stride: 1,
        alone: true,
    };
    let result = match it.mnemonic() {
        _ if asks => Some((Register::RAX, number)),
        Mnemonic::Cdqe => Some((Register::RAX, get(registers, Register::RAX))),
        _ => result(it, registers).map(|value| (it.op0_register(), value)),
    };
    if is_call(it) {
        CALLER_SAVED
            .iter()
            .for_each(|it| registers[it.number()] = Value::Unknown);
    }
    for used in factory.info(it).used_registers() {
        let whole = used.register().full_register();
        let reads = matches!(
            used.access(),
            OpAccess::Read | OpAccess::CondRead | OpAccess::None
        );
        if !reads && whole.is_gpr64() {
            registers[whole.number()] = Value::Unknown;
        }
    }
    if let Some((register, value)) = result {
        registers[register.full_register().number()] = value;
    }
}

/// What an instruction puts into its first operand; `None` if that is not known or no register.
fn result(it: &Instruction, registers: &Registers) -> Option<Value> {
    let is_register = it.op_count() > 0 && it.op0_kind() == OpKind::Register;
    if !is_register || !it.op0_register().is_gpr() || it.op0_register().size() < 4 {
        return None;
    }
    let first = get(registers, it.op0_register());
    let second = || match it.op1_kind() {
        OpKind::Register => get(registers, it.op1_register()),
        _ => Value::Unknown,
    };
    let number = |operand| it.try_immediate(operand).ok().map(u64::cast_signed);
    Some(match (it.mnemonic(), it.op_count()) {
        (Mnemonic::Mov | Mnemonic::Movsxd, 2) => second(),
        (Mnemonic::Lea, _) if it.is_ip_rel_memory_operand() => Value::Unknown,
        (Mnemonic::Lea, _) => address(it, registers),
        (Mnemonic::Shl, 2) => first.times(1_i64.checked_shl(u32::try_from(number(1)?).ok()?)?),
        (Mnemonic::Imul, 3) => second().times(number(2)?),
        (Mnemonic::Add, 2) if number(1).is_some() => first,
        (Mnemonic::Add, 2) => first.plus(second()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x1000;
    /// `call` of `omp_get_thread_num`, whatever its target.
    const NUMBER: &[u8] = &[0xe8, 0, 0x10, 0, 0];
    /// movslq %eax,%rbp
    const EXTEND: &[u8] = &[0x48, 0x63, 0xe8];
    /// addsd (%r13,%rbp,8),%xmm0; movsd %xmm0,(%r13,%rbp,8): gcc 12, `sum[omp_get_thread_num()] += x`
    const ADD: &[u8] = &[
        0xf2, 0x41, 0x0f, 0x58, 0x44, 0xed, 0, 0xf2, 0x41, 0x0f, 0x11, 0x44, 0xed, 0,
    ];
    const RET: &[u8] = &[0xc3];

    /// `jne` back over so many bytes before it.
    fn again(bytes: usize) -> [u8; 2] {
        [0x75, (-(bytes as i8 + 2)).cast_unsigned()]
    }

    /// The kinds of the instructions that are contended, in their order, with their distance from the entry.
    fn kinds(pieces: &[&[u8]]) -> Vec<(u64, Contention)> {
        let code = decode(&pieces.concat(), ENTRY);
        let behind = contended(&code, &mut |_| Some("omp_get_thread_num".to_owned()));
        let mut found: Vec<(u64, Contention)> = code
            .iter()
            .filter_map(|it| Some((it.ip() - ENTRY, *behind.get(&it.next_ip())?)))
            .collect();
        found.sort_by_key(|it| it.0);
        found
    }

    #[test]
    fn elements_side_by_side_by_thread_number_are_found_in_loops_alone() {
        let neighbours = |at| (at, Contention::Neighbours);
        let looped = [NUMBER, EXTEND, ADD, &again(ADD.len()), RET];
        assert_eq!(kinds(&looped), [neighbours(8), neighbours(15)]);
        assert_eq!(kinds(&[NUMBER, EXTEND, ADD, RET]), [], "once");
        // clang asks in each round, and finds the table anew: lea 0x1000(%rip),%r13
        let table: &[u8] = &[0x4c, 0x8d, 0x2d, 0, 0x10, 0, 0];
        let body = [NUMBER, EXTEND, table, ADD].concat();
        assert_eq!(kinds(&[&body, &again(body.len()), RET]).len(), 2);
        // cltq; mov %rax,%rbp; shl $3,%rbp; add %r13,%rbp; addq $1,(%rbp)
        let by_steps: &[u8] = &[
            0x48, 0x98, 0x48, 0x89, 0xc5, 0x48, 0xc1, 0xe5, 3, 0x4c, 0x01, 0xed,
        ];
        let count: &[u8] = &[0x48, 0x83, 0x45, 0, 1];
        assert_eq!(
            kinds(&[NUMBER, by_steps, count, &again(count.len()), RET]),
            [neighbours(17)]
        );
    }

    #[test]
    fn what_threads_have_for_themselves_is_not_found() {
        // shl $6,%rbp; add %r13,%rbp; addq $1,(%rbp): a line each
        let padded: &[u8] = &[0x48, 0xc1, 0xe5, 6, 0x4c, 0x01, 0xed];
        let count: &[u8] = &[0x48, 0x83, 0x45, 0, 1];
        assert_eq!(
            kinds(&[NUMBER, EXTEND, padded, count, &again(count.len()), RET]),
            []
        );
        // addq $1,(%rsp,%rbp,8): on the stack
        let stack: &[u8] = &[0x48, 0x83, 0x04, 0xec, 1];
        assert_eq!(
            kinds(&[NUMBER, EXTEND, stack, &again(stack.len()), RET]),
            []
        );
        // add $8,%r13 in each round: another element each time, as of an array that threads share by turns
        let next: &[u8] = &[0x49, 0x83, 0xc5, 8];
        let body = [ADD, next].concat();
        assert_eq!(kinds(&[NUMBER, EXTEND, &body, &again(body.len()), RET]), []);
        // A load: mov (%r13,%rbp,8),%rax
        let load: &[u8] = &[0x4a, 0x8b, 0x44, 0xed, 0];
        assert_eq!(kinds(&[NUMBER, EXTEND, load, &again(load.len()), RET]), []);
        // imul %rbx,%rbp: a piece of unknown length
        let piece: &[u8] = &[0x48, 0x0f, 0xaf, 0xeb];
        assert_eq!(
            kinds(&[NUMBER, EXTEND, piece, ADD, &again(ADD.len()), RET]),
            []
        );
        // The number of something else: je over the call.
        let maybe: &[u8] = &[0x74, 5];
        assert_eq!(
            kinds(&[maybe, NUMBER, EXTEND, ADD, &again(ADD.len()), RET]),
            []
        );
    }

    #[test]
    fn atomic_operations_and_the_loads_of_their_loops_are_found() {
        let atomic = |at| (at, Contention::Atomic);
        // mov (%rdi),%rax; mov %rsi,%rdx; lock cmpxchg %rdx,(%rdi); jne: gcc's atomic addition of doubles
        let exchange: &[u8] = &[
            0x48, 0x8b, 0x07, 0x48, 0x89, 0xf2, 0xf0, 0x48, 0x0f, 0xb1, 0x17,
        ];
        assert_eq!(
            kinds(&[exchange, &again(exchange.len()), RET]),
            [atomic(0), atomic(6)]
        );
        assert_eq!(kinds(&[exchange, RET]), [atomic(6)]);
        // lock orq $0,(%rsp): a fence
        assert_eq!(kinds(&[&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0], RET]), []);
    }
}
