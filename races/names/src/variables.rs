//! Variables of a load object by their addresses, from its debug information.
#![allow(
    non_upper_case_globals,
    reason = "they are the names of the DWARF standard"
)]

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use experiment::findings::Declaration;
use gimli::{
    DW_AT_artificial, DW_AT_frame_base, DW_AT_location, DW_TAG_array_type, DW_TAG_class_type,
    DW_TAG_common_block, DW_TAG_formal_parameter, DW_TAG_inlined_subroutine, DW_TAG_lexical_block,
    DW_TAG_member, DW_TAG_module, DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram,
    DW_TAG_union_type, DW_TAG_variable, Expression, Operation, X86_64,
};
use hashbrown::HashMap;
use symbolize::{Ranges, Reader, Symbols};
use unwinder::Cfi;

use crate::debug::{Debug, Die, Key};
use crate::types::Scalar;

/// A variable at an address.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Named {
    /// With its element or field.
    pub(crate) name: String,
    /// The size of the whole variable; 0 if unknown.
    pub(crate) whole: u64,
    /// The function as the debug information names it.
    pub(crate) declaration: Declaration,
    /// The variable is a reference, such as an argument of Fortran, and it itself is meant.
    pub(crate) is_reference: bool,
    /// What is accessed, if it is a number.
    pub(crate) scalar: Option<Scalar>,
}

/// A frame of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// An address in the function, as the file states it.
    pub(crate) svma: u64,
    /// The stack and frame pointers at its first call.
    pub(crate) stack: u64,
    pub(crate) base: u64,
}

/// A global or static variable. Of one that the compiler has divided, a part in memory.
#[derive(Clone, Debug)]
struct Static {
    /// Of a part of a variable: where it begins in that.
    offset: u64,
    key: Key,
    /// Namespaces and classes around it, each with its `::`.
    scope: String,
    function: String,
}

/// Where a variable is, and the variable.
type Placed = (Range<u64>, Static);

/// The global and static variables of a load object.
#[derive(Debug, Default)]
struct Statics {
    /// By address.
    globals: Ranges<Static>,
    /// By offset in a thread's block.
    threads: Ranges<Static>,
    by_name: HashMap<String, Vec<Key>>,
}

/// The variables of a load object.
#[derive(Default)]
pub(crate) struct Variables {
    pub(crate) debug: Debug,
    call_frames: Option<Cfi>,
    statics: OnceCell<Statics>,
    /// Of functions that were asked about.
    scopes: RefCell<HashMap<Key, Rc<Scopes>>>,
    pub(crate) program_tls: Option<u64>,
}

/// What a function declares, by the code in which that is in scope.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    /// The function itself, then blocks and inlined functions, outer ones before those within.
    all: Vec<Block>,
    /// The numbers of these, by their code.
    code: Ranges<usize>,
    /// The variables of the function's own blocks.
    pub(crate) own: HashMap<String, Vec<Key>>,
}

/// A block of a function, or an inlined function.
#[derive(Debug)]
struct Block {
    around: Option<usize>,
    /// The function that declares its variables.
    function: Key,
    variables: Vec<Local>,
}

/// A variable or parameter of a function.
#[derive(Debug)]
struct Local {
    key: Key,
    name: String,
    /// In bytes; 0 if the program computes it.
    size: u64,
    /// Where it is in some code, unless the program computes its size.
    parts: Vec<(Range<u64>, Part)>,
}

/// Where an expression says that a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    Static(u64),
    /// An offset in a thread's block.
    Thread(u64),
    /// An offset to the frame base.
    Frame(i64),
    /// An offset to a register's value.
    Register(gimli::Register, i64),
    FrameAddress(i64),
}

/// A part of a variable.
#[derive(Debug)]
struct Part {
    /// In the variable, in bytes.
    offset: u64,
    /// In bytes; `None`: the part is the variable.
    size: Option<u64>,
    spot: Spot,
}

/// One location of a variable: the code for which it is right, and the expression.
type Location = (Range<u64>, Expression<Reader>);

impl Variables {
    /// Those that the debug information of a file tells of.
    pub(crate) fn open(symbols: &Symbols) -> Option<Variables> {
        let info = symbols.full_debug_info().ok()?;
        Some(Variables {
            debug: Debug::new(&info),
            call_frames: symbols.call_frames(),
            statics: OnceCell::new(),
            scopes: RefCell::default(),
            program_tls: symbols.program_tls(),
        })
    }

    /// The global or static variable at `svma`. Of several, one of the units in which these addresses
    /// are code.
    pub(crate) fn global(&self, svma: u64, size: u64, codes: &[u64]) -> Option<Named> {
        self.of(&self.statics().globals, svma, size, codes)
    }

    /// The variable at an offset in a thread's block.
    pub(crate) fn thread_local(&self, offset: u64, size: u64, codes: &[u64]) -> Option<Named> {
        self.of(&self.statics().threads, offset, size, codes)
    }

    /// A global or static variable of this name in a unit.
    pub(crate) fn global_named(&self, name: &str, unit: usize) -> Option<Key> {
        let all = self.statics().by_name.get(name)?;
        let own = all.iter().find(|key| key.unit == unit);
        own.or(all.first()).copied()
    }

    fn of(&self, all: &Ranges<Static>, at: u64, size: u64, codes: &[u64]) -> Option<Named> {
        let units: Vec<usize> = codes
            .iter()
            .filter_map(|code| self.debug.unit_of(*code))
            .collect();
        let is_near = |(_, one): &(_, &Static)| units.contains(&one.key.unit);
        let near = all.holding(at).find(is_near);
        let (range, found) = near.or_else(|| all.holding(at).next())?;
        let offset = found.offset.saturating_add(at - range.start);
        let mut named = self.named(found.key, offset, size)?;
        named.name.insert_str(0, &found.scope);
        named.declaration.function.clone_from(&found.function);
        Some(named)
    }

    /// The words for an access at an offset in a variable.
    fn named(&self, variable: Key, offset: u64, size: u64) -> Option<Named> {
        let debug = &self.debug;
        let of = debug.type_of(variable)?;
        let (file, line) = debug.declared(variable);
        Some(Named {
            is_reference: debug.is_reference(of),
            scalar: debug.scalar(of, offset),
            name: debug.name(variable)? + &debug.path(of, offset, size),
            whole: debug.size_of(of).unwrap_or_default(),
            declaration: Declaration {
                function: String::new(),
                file,
                line,
            },
        })
    }

    fn statics(&self) -> &Statics {
        self.statics.get_or_init(|| self.find_statics())
    }

    fn find_statics(&self) -> Statics {
        let (mut globals, mut threads) = (Vec::new(), Vec::new());
        let mut scopes: HashMap<Key, String> = HashMap::new();
        for unit in 0..self.debug.count() {
            let Some(root) = self.debug.root(unit) else {
                continue;
            };
            // The namespaces and classes around, or the function.
            let mut around: Vec<(isize, bool, Key)> = Vec::new();
            self.debug.beneath(root, &mut |depth, key, die| {
                around.retain(|(above, ..)| *above < depth);
                match die.tag() {
                    DW_TAG_namespace
                    | DW_TAG_class_type
                    | DW_TAG_structure_type
                    | DW_TAG_union_type => {
                        around.push((depth, false, key));
                        true
                    }
                    DW_TAG_subprogram => {
                        around.push((depth, true, key));
                        true
                    }
                    DW_TAG_module
                    | DW_TAG_common_block
                    | DW_TAG_lexical_block
                    | DW_TAG_inlined_subroutine => true,
                    DW_TAG_variable | DW_TAG_member => {
                        self.add_static(
                            (&mut globals, &mut threads, &mut scopes),
                            key,
                            die,
                            &around,
                        );
                        false
                    }
                    _ => false,
                }
            });
        }
        let mut by_name: HashMap<String, Vec<Key>> = HashMap::new();
        for (_, one) in globals.iter_mut().chain(&mut threads) {
            if let Some(name) = self.debug.name(one.key) {
                by_name.entry(name).or_default().push(one.key);
            }
            let declared = self.debug.die(one.key);
            let declared = declared.and_then(|die| self.debug.origin_of(one.key, &die));
            if let Some(scope) = declared.and_then(|key| scopes.get(&key)) {
                one.scope.clone_from(scope);
            }
        }
        Statics {
            // What was collected last is found first.
            globals: globals.into_iter().rev().collect(),
            threads: threads.into_iter().rev().collect(),
            by_name,
        }
    }

    fn add_static(
        &self,
        (globals, threads, scopes): (
            &mut Vec<Placed>,
            &mut Vec<Placed>,
            &mut HashMap<Key, String>,
        ),
        key: Key,
        die: &Die,
        around: &[(isize, bool, Key)],
    ) {
        let function = around.iter().rev().find(|(_, is_function, _)| *is_function);
        let function = function.and_then(|(.., key)| self.debug.name(*key));
        let mut scope = String::new();
        if function.is_none() {
            for name in around.iter().filter_map(|(.., key)| self.debug.name(*key)) {
                scope += &name;
                scope += "::";
            }
        }
        if !scope.is_empty() {
            scopes.insert(key, scope.clone());
        }
        if die.tag() == DW_TAG_member || die.attr_value(DW_AT_location).is_none() {
            return;
        }
        let of = self.debug.type_of(key);
        // Without a size, it is as long as its first byte.
        let size = of.and_then(|of| self.debug.size_of(of)).unwrap_or(1).max(1);
        let mut is_static = |part: &Part| {
            let (list, begin) = match part.spot {
                Spot::Static(begin) => (&mut *globals, begin),
                Spot::Thread(begin) => (&mut *threads, begin),
                _ => return false,
            };
            let one = Static {
                offset: part.offset,
                key,
                scope: scope.clone(),
                function: function.clone().unwrap_or_default(),
            };
            let end = begin.saturating_add(part.size.unwrap_or(size));
            list.push((begin..end, one));
            true
        };
        for (_, expression) in self.locations(key) {
            let parts = self.parts(key.unit, &expression);
            if parts.iter().filter(|part| is_static(part)).count() > 0 {
                return;
            }
        }
    }

    /// The locations of a variable.
    fn locations(&self, key: Key) -> Vec<Location> {
        /// No compiler writes as many.
        const MOST: usize = 10_000;
        let Some((unit_number, value)) = self.debug.value(key, DW_AT_location) else {
            return Vec::new();
        };
        if let Some(expression) = value.exprloc_value() {
            return vec![(0..u64::MAX, expression)];
        }
        let Some(unit) = self.debug.unit(unit_number) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if let Ok(Some(mut list)) = unit.attr_locations(value) {
            while let Ok(Some(entry)) = list.next()
                && found.len() < MOST
            {
                found.push((entry.range.begin..entry.range.end, entry.data));
            }
        }
        found
    }

    /// Where an expression says that a variable is: in one place, or in several, of which some may be
    /// unknown.
    fn parts(&self, unit: usize, expression: &Expression<Reader>) -> Vec<Part> {
        let Some(encoding) = self.debug.unit(unit).map(|unit| unit.encoding()) else {
            return Vec::new();
        };
        let mut operations = expression.clone().operations(encoding);
        let (mut parts, mut one, mut offset) = (Vec::new(), Vec::new(), 0_u64);
        while let Ok(Some(operation)) = operations.next() {
            let Operation::Piece { size_in_bits, .. } = operation else {
                one.push(operation);
                continue;
            };
            let size = size_in_bits / 8;
            let spot = self.spot(unit, std::mem::take(&mut one));
            parts.extend(spot.map(|spot| Part {
                offset,
                size: Some(size),
                spot,
            }));
            offset = offset.saturating_add(size);
        }
        let whole = self.spot(unit, one).filter(|_| offset == 0);
        parts.extend(whole.map(|spot| Part {
            offset,
            size: None,
            spot,
        }));
        parts
    }

    /// Where operations say that something is, if they say no more than an offset to something.
    fn spot(&self, unit: usize, operations: Vec<Operation<Reader>>) -> Option<Spot> {
        let unit = self.debug.unit(unit)?;
        let mut operations = operations.into_iter();
        let mut spot = match operations.next()? {
            Operation::Address { address } => Spot::Static(address),
            Operation::AddressIndex { index } => Spot::Static(unit.address(index).ok()?),
            Operation::ConstantIndex { index } => Spot::Thread(unit.address(index).ok()?),
            Operation::UnsignedConstant { value } => Spot::Thread(value),
            Operation::FrameOffset { offset } => Spot::Frame(offset),
            Operation::RegisterOffset {
                register, offset, ..
            } => Spot::Register(register, offset),
            Operation::CallFrameCFA => Spot::FrameAddress(0),
            _ => return None,
        };
        let mut is_thread = false;
        for operation in operations {
            spot = match (operation, spot) {
                (Operation::TLS, Spot::Thread(at) | Spot::Static(at)) if !is_thread => {
                    is_thread = true;
                    Spot::Thread(at)
                }
                (Operation::PlusConstant { value }, Spot::Static(at)) => {
                    Spot::Static(at.wrapping_add(value))
                }
                (Operation::PlusConstant { value }, Spot::Thread(at)) => {
                    Spot::Thread(at.wrapping_add(value))
                }
                (Operation::PlusConstant { value }, Spot::Frame(at)) => {
                    Spot::Frame(at.wrapping_add_unsigned(value))
                }
                (Operation::PlusConstant { value }, Spot::Register(register, at)) => {
                    Spot::Register(register, at.wrapping_add_unsigned(value))
                }
                _ => return None,
            };
        }
        match spot {
            // A constant that is no address.
            Spot::Thread(_) if !is_thread => None,
            spot => Some(spot),
        }
    }

    /// The variable at `address` in a function's frame.
    pub(crate) fn local(
        &self,
        symbols: &Symbols,
        registers: Registers,
        (address, size): (u64, u64),
    ) -> Option<Named> {
        let function = self.debug.function_at(registers.svma)?;
        let frame_address = self.frame_address(symbols, function, registers)?;
        if address < registers.stack || address >= frame_address {
            return None;
        }
        let frame_base = self.frame_base(function, registers, frame_address);
        let begin_of = |spot: Spot| match spot {
            Spot::Frame(offset) => frame_base.map(|base| base.wrapping_add_signed(offset)),
            Spot::Register(register, offset) => {
                let value = registers.value(register);
                value.map(|value| value.wrapping_add_signed(offset))
            }
            Spot::FrameAddress(offset) => Some(frame_address.wrapping_add_signed(offset)),
            Spot::Static(_) | Spot::Thread(_) => None,
        };
        let scopes = self.scopes(function);
        let mut found: Vec<(bool, Key, Key, u64)> = Vec::new();
        for block in scopes.at(registers.svma) {
            for variable in &block.variables {
                for (code, part) in &variable.parts {
                    let size = part.size.unwrap_or(variable.size);
                    if let Some(begin) = begin_of(part.spot)
                        && address.wrapping_sub(begin) < size
                    {
                        let is_here = code.contains(&registers.svma);
                        let offset = part.offset.saturating_add(address - begin);
                        found.push((is_here, variable.key, block.function, offset));
                    }
                }
            }
        }
        // A place in the frame may serve one variable after the other.
        if found.iter().any(|(is_here, ..)| *is_here) {
            found.retain(|(is_here, ..)| *is_here);
        }
        let (_, variable, holder, offset) = *found.last()?;
        if found.iter().any(|(_, other, ..)| *other != variable) {
            return None;
        }
        self.named_local(variable, holder, offset, size)
    }

    fn named_local(&self, variable: Key, holder: Key, offset: u64, size: u64) -> Option<Named> {
        let mut named = self.named(variable, offset, size)?;
        named.declaration.function = self.debug.name(holder).unwrap_or_default();
        Some(named)
    }

    /// The only array in scope at `svma` whose size the program computes.
    pub(crate) fn variable_array(&self, svma: u64) -> Option<Named> {
        let function = self.debug.function_at(svma)?;
        let mut found: Option<(Key, Key)> = None;
        for (variable, holder) in self.in_scope(function, svma) {
            let of = self.debug.type_of(variable);
            let bare = of.and_then(|of| self.debug.bare(of));
            if let (Some(of), Some((_, DW_TAG_array_type))) = (of, bare)
                && self.debug.size_of(of).is_none()
                && !self.debug.is_descriptor(of)
                && self.debug.die(variable)?.tag() == DW_TAG_variable
                && found.replace((variable, holder)).is_some()
            {
                return None;
            }
        }
        let (variable, holder) = found?;
        let mut named = self.named_local(variable, holder, 0, u64::MAX)?;
        named.whole = 0;
        Some(named)
    }

    /// The variable at an offset in the block of variables that GCC passes to the function of a
    /// construct. Their locations in that begin as the location of the block does.
    pub(crate) fn passed(&self, body: u64, offset: u64, size: u64) -> Option<Named> {
        let function = self.debug.function_at(body)?;
        let artificial = |key: &Key| self.debug.value(*key, DW_AT_artificial).is_some();
        let parameters = self.debug.children(function, &[DW_TAG_formal_parameter]);
        let block = parameters.into_iter().find(artificial)?;
        let of = self.debug.pointee(self.debug.type_of(block)?)?;
        if offset >= self.debug.size_of(of)? {
            return None;
        }
        let values: Vec<_> = self
            .locations(block)
            .into_iter()
            .filter_map(|(code, expression)| Some((code, value_of(&expression)?)))
            .collect();
        let mut found: Option<(Key, u64)> = None;
        for variable in self.debug.children(function, &[DW_TAG_variable]) {
            let of = self.debug.type_of(variable);
            let Some(bytes) = of.and_then(|of| self.debug.size_of(of)) else {
                continue;
            };
            let begin = self
                .locations(variable)
                .into_iter()
                .find_map(|(code, expression)| {
                    let bytes = bytes_of(&expression);
                    values
                        .iter()
                        .filter(|(other, _)| code.start < other.end && other.start < code.end)
                        .find_map(|(_, value)| self.offset_behind(variable.unit, &bytes, value))
                });
            if let Some(begin) = begin
                && offset.wrapping_sub(begin) < bytes
                && found.replace((variable, offset - begin)).is_some()
            {
                return None;
            }
        }
        let (variable, offset) = found?;
        self.named_local(variable, function, offset, size)
    }

    /// The N of an expression that computes a value and adds N.
    fn offset_behind(&self, unit: usize, expression: &[u8], value: &[u8]) -> Option<u64> {
        let rest = expression.strip_prefix(value)?;
        if rest.is_empty() {
            return Some(0);
        }
        let rest = Expression(Reader::new(rest.into(), gimli::LittleEndian));
        let mut operations = rest.operations(self.debug.unit(unit)?.encoding());
        let Operation::PlusConstant { value } = operations.next().ok()?? else {
            return None;
        };
        operations.next().ok()?.is_none().then_some(value)
    }

    /// The function and those that are inlined in it at `svma`, outer ones first.
    pub(crate) fn functions(&self, function: Key, svma: u64) -> Vec<Key> {
        let scopes = self.scopes(function);
        let mut found: Vec<Key> = scopes.at(svma).map(|block| block.function).collect();
        found.dedup();
        found.reverse();
        found
    }

    /// The variables in scope at `svma` of a function, outer ones first, each with the function that
    /// declares it.
    pub(crate) fn in_scope(&self, function: Key, svma: u64) -> Vec<(Key, Key)> {
        let scopes = self.scopes(function);
        let mut blocks: Vec<&Block> = scopes.at(svma).collect();
        blocks.reverse();
        let all = blocks.into_iter().flat_map(|block| {
            let variables = block.variables.iter();
            variables.map(|variable| (variable.key, block.function))
        });
        all.collect()
    }

    /// The innermost variable of a name in scope at `svma` of a function.
    pub(crate) fn named_in_scope(&self, function: Key, svma: u64, name: &str) -> Option<Key> {
        let scopes = self.scopes(function);
        let found = scopes.at(svma).find_map(|block| {
            let mut variables = block.variables.iter().rev();
            variables.find(|variable| variable.name == name)
        });
        found.map(|variable| variable.key)
    }

    /// What a function declares.
    pub(crate) fn scopes(&self, function: Key) -> Rc<Scopes> {
        let mut known = self.scopes.borrow_mut();
        let scopes = known.entry(function);
        let scopes = scopes.or_insert_with(|| Rc::new(self.find_scopes(function)));
        scopes.clone()
    }

    fn local_of(&self, key: Key, name: String) -> Local {
        let of = self.debug.type_of(key);
        let size = of.and_then(|of| self.debug.size_of(of));
        let locations = size.map(|_| self.locations(key)).unwrap_or_default();
        let parts = locations.into_iter().flat_map(|(code, expression)| {
            let parts = self.parts(key.unit, &expression).into_iter();
            parts.map(move |part| (code.clone(), part))
        });
        Local {
            key,
            name,
            size: size.unwrap_or_default(),
            parts: parts.collect(),
        }
    }

    fn find_scopes(&self, function: Key) -> Scopes {
        let mut scopes = Scopes::default();
        scopes.all.push(Block {
            around: None,
            function,
            variables: Vec::new(),
        });
        let mut code = Vec::new();
        // The depths and numbers of the blocks around an entry.
        let mut around: Vec<(isize, usize)> = Vec::new();
        self.debug.beneath(function, &mut |depth, key, die| {
            while around.pop_if(|(above, _)| *above >= depth).is_some() {}
            let outer = around.last().map_or(0, |(_, number)| *number);
            let declaring = scopes.all[outer].function;
            match die.tag() {
                DW_TAG_variable | DW_TAG_formal_parameter => {
                    let Some(name) = self.debug.name(key) else {
                        return false;
                    };
                    if declaring == function {
                        let own = scopes.own.entry_ref(&name);
                        own.or_default().push(key);
                    }
                    let is_artificial = self.debug.value(key, DW_AT_artificial).is_some();
                    if !name.starts_with('.') && !is_artificial {
                        scopes.all[outer].variables.push(self.local_of(key, name));
                    }
                    false
                }
                tag @ (DW_TAG_lexical_block | DW_TAG_inlined_subroutine) => {
                    let number = scopes.all.len();
                    let is_block = tag == DW_TAG_lexical_block;
                    scopes.all.push(Block {
                        around: Some(outer),
                        function: if is_block { declaring } else { key },
                        variables: Vec::new(),
                    });
                    around.push((depth, number));
                    let own = self.debug.ranges(key, die).into_iter();
                    code.extend(own.map(|range| (range, number)));
                    true
                }
                _ => false,
            }
        });
        scopes.code = code.into_iter().collect();
        scopes
    }

    fn frame_address(&self, symbols: &Symbols, function: Key, registers: Registers) -> Option<u64> {
        // The registers are those at the first call.
        let call = symbols.first_call(self.debug.begin(function)?)?;
        let call_frames = self.call_frames.as_ref()?;
        call_frames.frame_address(call, registers.stack, registers.base)
    }

    fn frame_base(&self, function: Key, registers: Registers, frame_address: u64) -> Option<u64> {
        let (unit, value) = self.debug.value(function, DW_AT_frame_base)?;
        let expression = value.exprloc_value()?;
        let encoding = self.debug.unit(unit)?.encoding();
        let mut operations = expression.operations(encoding);
        let mut base = match operations.next().ok()?? {
            Operation::CallFrameCFA => frame_address,
            Operation::Register { register } => registers.value(register)?,
            Operation::RegisterOffset {
                register, offset, ..
            } => registers.value(register)?.wrapping_add_signed(offset),
            _ => return None,
        };
        // clang adds a constant for functions that have moved the stack pointer.
        while let Some(operation) = operations.next().ok()? {
            let added = match operation {
                Operation::PlusConstant { value } => value,
                Operation::SignedConstant { value } => added(&mut operations, value as u64)?,
                Operation::UnsignedConstant { value } => added(&mut operations, value)?,
                _ => return None,
            };
            base = base.wrapping_add(added);
        }
        Some(base)
    }
}

impl Scopes {
    /// The blocks around `svma`, the innermost first.
    fn at(&self, svma: u64) -> impl Iterator<Item = &Block> {
        let innermost = self.code.holding(svma).next().map(|(_, number)| *number);
        let mut next = Some(innermost.unwrap_or(0));
        std::iter::from_fn(move || {
            let block = self.all.get(next?)?;
            next = block.around;
            Some(block)
        })
    }
}

impl Registers {
    fn value(&self, register: gimli::Register) -> Option<u64> {
        match register {
            X86_64::RSP => Some(self.stack),
            X86_64::RBP => Some(self.base),
            _ => None,
        }
    }
}

/// A constant, if it is added.
fn added(operations: &mut gimli::OperationIter<Reader>, constant: u64) -> Option<u64> {
    matches!(operations.next(), Ok(Some(Operation::Plus))).then_some(constant)
}

fn bytes_of(expression: &Expression<Reader>) -> Vec<u8> {
    use gimli::Reader as _;
    expression
        .0
        .to_slice()
        .map_or_else(|_| Vec::new(), |bytes| bytes.into_owned())
}

/// The operations that compute the value of a variable with this location.
fn value_of(expression: &Expression<Reader>) -> Option<Vec<u8>> {
    let mut bytes = bytes_of(expression);
    let registers = gimli::DW_OP_reg0.0..=gimli::DW_OP_reg31.0;
    match (bytes.first()?, bytes.last()?) {
        (operation, _) if registers.contains(operation) && bytes.len() == 1 => {
            bytes[0] = operation - gimli::DW_OP_reg0.0 + gimli::DW_OP_breg0.0;
            bytes.push(0);
        }
        (_, operation) if *operation == gimli::DW_OP_stack_value.0 => {
            bytes.pop();
        }
        _ => bytes.push(gimli::DW_OP_deref.0),
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
