//! The name of the pointer by which a line of source reaches a block, where that is certain.
#![allow(
    non_upper_case_globals,
    reason = "they are the names of the DWARF standard"
)]

use gimli::{
    DW_TAG_array_type, DW_TAG_class_type, DW_TAG_inheritance, DW_TAG_member, DW_TAG_pointer_type,
    DW_TAG_structure_type,
};

use crate::debug::Key;
use crate::source::{Assignment, Word, assignment, text_of, words};
use crate::types::{Language, Scalar};
use crate::variables::Variables;

/// One way by which a line reaches memory: through a pointer or a reference, or as a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The pointer's name; `None` if it is computed, or a reference, or the object of a function.
    pub(crate) name: Option<String>,
    /// What is accessed, as the line has it.
    pub(crate) text: String,
    /// It is a variable, and no pointer leads to it.
    is_variable: bool,
    /// What the pointer points to.
    pub(crate) element: Key,
    /// The fields on the way from there to the accessed value, and the type of that.
    fields: Vec<String>,
    value: Key,
    /// The first element is at the begin of the block.
    pub(crate) is_container: bool,
    /// It is assigned here: whether it is also read.
    assigned: Option<bool>,
    /// Something is assigned here.
    has_assignment: bool,
}

/// What memory an access is to, of which no variable is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    /// A heap block, and where in it.
    Block {
        offset: u64,
        bytes: u64,
    },
    Stack,
    Other,
}

/// Classes among which a member is looked for.
const MOST_CLASSES: usize = 32;

/// Where in a statement a name stands.
struct Start<'a> {
    words: &'a [Word<'a>],
    at: usize,
    assignment: Option<Assignment>,
    /// `*` stands before it.
    is_dereferenced: bool,
    /// It is a member of the method's object.
    is_member: bool,
}

impl Start<'_> {
    /// What stands in the words from `first` to `end`, where an assignment may follow.
    fn reach(
        &self,
        through: &Through,
        fields: &[String],
        value: Key,
        (first, end): (usize, usize),
    ) -> Reached {
        let words = self.words;
        let text = text_of(words.get(first..end).unwrap_or_default());
        let is_target = (first < self.at || !self.is_dereferenced)
            && self
                .assignment
                .is_some_and(|it| end + usize::from(it.operator.is_some()) == it.at);
        let is_step = |at: usize| {
            let two = words.get(at..at + 2);
            two == Some(&[Word::Mark('+'); 2]) || two == Some(&[Word::Mark('-'); 2])
        };
        let is_stepped = is_step(end) || first >= 2 && is_step(first - 2);
        Reached {
            name: through.name.clone(),
            text: if self.is_member {
                format!("this->{text}")
            } else {
                text
            },
            is_variable: through.is_variable,
            element: through.element,
            fields: fields.to_vec(),
            value,
            is_container: through.is_container,
            assigned: self
                .assignment
                .filter(|_| is_target)
                .map(|it| it.operator.is_some())
                .or(is_stepped.then_some(true)),
            has_assignment: self.assignment.is_some(),
        }
    }
}

/// How far the way from a name has been followed.
struct Way {
    /// The type of what stands before `place`.
    of: Key,
    place: usize,
    /// From the last pointer on.
    fields: Vec<String>,
    /// What the last pointer leads to.
    through: Through,
    /// The name of what has been reached so far, if it is one.
    own_name: Option<String>,
}

impl Way {
    /// What has been reached so far; its words begin at `first`.
    fn reached(&self, start: &Start<'_>, value: Key, first: usize) -> Reached {
        start.reach(&self.through, &self.fields, value, (first, self.place))
    }

    /// Follows a pointer to what it points to.
    fn follow(&mut self, element: Key) {
        self.through = Through::pointer(self.own_name.take(), element);
        self.fields.clear();
        self.of = element;
    }
}

fn is_arrow(words: &[Word<'_>], at: usize) -> bool {
    words.get(at) == Some(&Word::Mark('-')) && words.get(at + 1) == Some(&Word::Mark('>'))
}

/// What leads to the memory that is accessed.
#[derive(Clone, Debug)]
struct Through {
    name: Option<String>,
    /// What it points to.
    element: Key,
    is_container: bool,
    is_variable: bool,
}

impl Through {
    fn pointer(name: Option<String>, element: Key) -> Through {
        Through {
            name,
            element,
            is_container: false,
            is_variable: false,
        }
    }
}

impl Variables {
    /// The ways by which a line in the function at `svma` reaches memory. `None` if some are not
    /// understood.
    pub(crate) fn reached(&self, svma: u64, line: &str) -> Option<Vec<Reached>> {
        let function = self.debug.function_at(svma)?;
        let scope = Scope {
            variables: self,
            function,
            svma,
            language: self.debug.language(function.unit),
        };
        scope.line(&words(line))
    }

    /// Those that an access of `size` bytes to this memory may be.
    pub(crate) fn fitting(
        &self,
        all: Vec<Reached>,
        is_write: bool,
        size: u64,
        memory: Memory,
    ) -> Vec<Reached> {
        let in_block = |it: &Reached, (offset, bytes): (u64, u64)| {
            let Some(each) = self.debug.size_of(it.element).filter(|each| *each > 0) else {
                return false;
            };
            // An object may be a part of a greater one.
            let is_whole = bytes.is_multiple_of(each);
            let path = self.debug.path(it.element, offset % each, size);
            if it.is_variable {
                false
            } else if it.name.is_some() {
                is_whole && fields_of(&path) == it.fields
            } else {
                bytes >= each && (bytes != each || fields_of(&path) == it.fields)
            }
        };
        let fits = |it: &Reached| {
            let is_kind = match it.assigned {
                Some(is_read) => is_write || is_read,
                None => !(is_write && it.has_assignment),
            };
            is_kind
                && self.debug.size_of(it.value) == Some(size)
                && match memory {
                    Memory::Block { offset, bytes } => in_block(it, (offset, bytes)),
                    Memory::Stack => true,
                    Memory::Other => !it.is_variable,
                }
        };
        all.into_iter().filter(fits).collect()
    }

    /// Whether the program's language is Fortran where `reached` leads.
    fn is_fortran(&self, reached: &Reached) -> bool {
        self.debug.language(reached.element.unit) == Language::Fortran
    }

    /// What to write for an access at `offset` in a block of elements to which `reached` points, if it is
    /// not known which one is the first: of Fortran, the component. `None`: it is of none.
    pub(crate) fn component_name(
        &self,
        reached: &Reached,
        name: &str,
        (offset, size, bytes): (u64, u64, u64),
    ) -> Option<String> {
        let each = self.debug.size_of(reached.element).unwrap_or(1).max(1);
        if reached.fields.is_empty() || !self.is_fortran(reached) {
            return None;
        }
        let path = self.debug.path(reached.element, offset % each, size);
        let element = if bytes == each { "" } else { "(:)" };
        Some(format!("{name}{element}{path}"))
    }

    /// What to write for an access at `offset` in a block that begins with the first element to which
    /// `reached` points.
    pub(crate) fn element_name(
        &self,
        reached: &Reached,
        name: &str,
        (offset, size, bytes): (u64, u64, u64),
    ) -> Option<String> {
        let each = self
            .debug
            .size_of(reached.element)
            .filter(|each| *each > 0)?;
        let path = self.debug.path(reached.element, offset % each, size);
        // Bounds are not in the debug information.
        if self.is_fortran(reached) {
            let component = self.component_name(reached, name, (offset, size, bytes));
            return component.or_else(|| Some(name.to_owned()));
        }
        // One structure alone is no array.
        let is_structure = matches!(
            self.debug.bare(reached.element),
            Some((_, DW_TAG_structure_type | DW_TAG_class_type))
        );
        Some(if bytes == each && is_structure && !reached.is_container {
            format!("{name}->{}", path.trim_start_matches('.'))
        } else {
            format!("{name}[{}]{path}", offset / each)
        })
    }
}

impl Variables {
    /// The type of a variable in the function at `svma`, or of what it refers to, and the function's language.
    fn type_of(&self, svma: u64, name: &str) -> Option<(Key, Language)> {
        let function = self.debug.function_at(svma)?;
        let scope = Scope {
            variables: self,
            function,
            svma,
            language: self.debug.language(function.unit),
        };
        let of = self.debug.behind_reference(scope.type_of(name)?.0);
        Some((of, scope.language))
    }

    /// The scalar of `size` bytes that a line in the function at `svma` assigns.
    pub(crate) fn assigned(&self, svma: u64, line: &str, size: u64) -> Option<String> {
        let words = words(line);
        let name = target(&words)?;
        let (of, language) = self.type_of(svma, name)?;
        let of = match language {
            Language::Fortran => self.debug.pointee(of).unwrap_or(of),
            Language::C => of,
        };
        (self.debug.size_of(of) == Some(size)).then(|| name.to_owned())
    }

    /// The pointer to which the only statement of a line in the function at `svma` assigns, and what it points to.
    pub(crate) fn assigned_pointer(&self, svma: u64, line: &str) -> Option<(String, Key)> {
        let words = words(line);
        let at = assignment(&words)?.at.checked_sub(1)?;
        let Some(Word::Name(name)) = words.get(at) else {
            return None;
        };
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        if matches!(before, Some(Word::Mark('.' | '>' | '%'))) {
            return None;
        }
        let (of, _) = self.type_of(svma, name)?;
        Some(((*name).to_owned(), self.debug.pointee(of)?))
    }

    /// The element at `offset` in a block of elements of type `of` to which `name` points.
    pub(crate) fn element_of(&self, name: &str, of: Key, offset: u64) -> (String, Option<Scalar>) {
        let Some(each) = self.debug.size_of(of).filter(|each| *each > 0) else {
            return (name.to_owned(), None);
        };
        let path = self.debug.path(of, offset % each, 1);
        let scalar = self.debug.scalar(of, offset % each);
        (format!("{name}[{}]{path}", offset / each), scalar)
    }
}

/// The name, and nothing else, to which the only statement of a line assigns.
fn target<'a>(words: &[Word<'a>]) -> Option<&'a str> {
    let found = assignment(words)?;
    let at = found
        .at
        .checked_sub(1 + usize::from(found.operator.is_some()))?;
    let is_first = match at.checked_sub(1).and_then(|before| words.get(before)) {
        None => true,
        Some(Word::Mark(')')) => words.first() == Some(&Word::Name("if")),
        Some(_) => false,
    };
    match words.get(at) {
        Some(Word::Name(name)) if is_first => Some(name),
        _ => None,
    }
}

/// The fields of a path, without indices.
fn fields_of(path: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut is_field = false;
    for word in words(path) {
        match word {
            Word::Mark('.' | '%') => is_field = true,
            Word::Name(name) if is_field => {
                fields.push(name.to_owned());
                is_field = false;
            }
            _ => is_field = false,
        }
    }
    fields
}

struct Scope<'a> {
    variables: &'a Variables,
    function: Key,
    svma: u64,
    language: Language,
}

impl Scope<'_> {
    fn line(&self, words: &[Word<'_>]) -> Option<Vec<Reached>> {
        let assignment = assignment(words);
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let Word::Name(name) = word else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            // Fields are a part of what they follow.
            let is_field = matches!(before, Some(Word::Mark('.' | '%')))
                || matches!(before, Some(Word::Mark('>')))
                    && at >= 2
                    && words.get(at - 2) == Some(&Word::Mark('-'));
            if !is_field {
                self.name(words, at, name, assignment, &mut found)?;
            }
        }
        Some(found)
    }

    /// Adds what is reached by the name at a place.
    fn name(
        &self,
        words: &[Word<'_>],
        at: usize,
        name: &str,
        assignment: Option<Assignment>,
        found: &mut Vec<Reached>,
    ) -> Option<()> {
        let debug = &self.variables.debug;
        let is_dereferenced = at >= 1
            && words.get(at - 1) == Some(&Word::Mark('*'))
            && !matches!(
                at.checked_sub(2).and_then(|at| words.get(at)),
                Some(Word::Name(_) | Word::Number(_) | Word::Mark(')' | ']'))
            );
        let next = words.get(at + 1);
        let Some((of, object)) = self.type_of(name) else {
            // A macro, or something else that is not known: what it reaches is not known either.
            let reaches = match self.language {
                Language::C => {
                    is_dereferenced || next == Some(&Word::Mark('[')) || is_arrow(words, at + 1)
                }
                Language::Fortran => false,
            };
            return (!reaches).then_some(());
        };
        let declared = of;
        let of = debug.behind_reference(of);
        let mut fields: Vec<String> = Vec::new();
        let through = match object {
            _ if of != declared => Through::pointer(None, of),
            Some(object) => {
                fields.push(name.to_owned());
                Through::pointer(None, object)
            }
            None => Through {
                is_variable: true,
                ..Through::pointer(None, of)
            },
        };
        let start = Start {
            words,
            at,
            assignment,
            is_dereferenced,
            is_member: of == declared && object.is_some_and(|object| self.is_named(object)),
        };
        let way = Way {
            of,
            place: at + 1,
            fields,
            through,
            own_name: Some(name.to_owned()),
        };
        match self.language {
            Language::C => self.way_of_c(&start, way, found),
            Language::Fortran => self.way_of_fortran(&start, way, found),
        }
    }

    /// Adds what is reached from a name of Fortran: the last pointer, descriptor or array on the way.
    fn way_of_fortran(
        &self,
        start: &Start<'_>,
        mut way: Way,
        found: &mut Vec<Reached>,
    ) -> Option<()> {
        let debug = &self.variables.debug;
        let Start { words, at, .. } = *start;
        let mut through = None;
        loop {
            let target = debug.pointee(way.of);
            let (bare, tag) = debug.bare(target.unwrap_or(way.of))?;
            let is_array = tag == DW_TAG_array_type;
            let element = if is_array { debug.type_of(bare)? } else { bare };
            // An argument is elsewhere, too.
            let is_variable = is_array && way.place == at + 1;
            if target.is_some() || debug.is_descriptor(bare) || is_variable {
                through = Some(Through::pointer(way.own_name.take(), element));
                way.fields.clear();
            }
            if is_array && words.get(way.place) == Some(&Word::Mark('(')) {
                way.place = after_brackets(words, way.place)?;
                way.own_name = None;
            }
            way.of = element;
            if words.get(way.place) != Some(&Word::Mark('%')) {
                break;
            }
            let next = words.get(way.place + 1)?;
            let Word::Name(component) = next else {
                return None;
            };
            way.own_name = way.own_name.map(|name| format!("{name}%{component}"));
            (way.of, way.place) = self.member(element, next, way.place + 2, &mut way.fields)?;
        }
        let Way {
            of, place, fields, ..
        } = way;
        found.extend(through.map(|through| start.reach(&through, &fields, of, (at, place))));
        Some(())
    }

    /// Adds what is reached from a name of C: each pointer, reference and vector on the way.
    fn way_of_c(&self, start: &Start<'_>, mut way: Way, found: &mut Vec<Reached>) -> Option<()> {
        let debug = &self.variables.debug;
        let Start { words, at, .. } = *start;
        loop {
            let (bare, tag) = debug.bare(way.of)?;
            if words.get(way.place) == Some(&Word::Mark('[')) {
                let end = after_brackets(words, way.place)?;
                let container = self.element_of_container(bare);
                if tag == DW_TAG_array_type {
                    // Several dimensions are one type.
                    way.of = self.row(bare, words, way.place)?;
                    let mut last = end;
                    while words.get(last) == Some(&Word::Mark('['))
                        && way.of == debug.type_of(bare)?
                    {
                        last = after_brackets(words, last)?;
                    }
                    way.own_name = None;
                    way.place = last;
                    continue;
                }
                if container.is_none() && tag != DW_TAG_pointer_type {
                    return None;
                }
                // The pointer's or vector's own memory, then that to which it points.
                found.push(way.reached(start, bare, at));
                let element = match container {
                    Some(element) => element,
                    None => debug.type_of(bare)?,
                };
                way.follow(element);
                way.through.is_container = container.is_some();
                way.place = end;
            } else if is_arrow(words, way.place) {
                if tag != DW_TAG_pointer_type {
                    return None;
                }
                found.push(way.reached(start, bare, at));
                way.follow(debug.type_of(bare)?);
                let next = words.get(way.place + 2)?;
                (way.of, way.place) = self.member(way.of, next, way.place + 3, &mut way.fields)?;
            } else if words.get(way.place) == Some(&Word::Mark('.')) {
                let next = words.get(way.place + 1)?;
                (way.of, way.place) = self.member(bare, next, way.place + 2, &mut way.fields)?;
                way.own_name = None;
            } else {
                break;
            }
            way.of = debug.behind_reference(way.of);
        }
        let mut begin = at;
        if start.is_dereferenced {
            let (bare, tag) = debug.bare(way.of)?;
            if tag != DW_TAG_pointer_type {
                return None;
            }
            found.push(way.reached(start, bare, at));
            way.follow(debug.type_of(bare)?);
            begin = at - 1;
        }
        // A call of what a pointer points to, or of a member.
        if words.get(way.place) == Some(&Word::Mark('(')) {
            return way.through.is_variable.then_some(());
        }
        found.push(way.reached(start, way.of, begin));
        Some(())
    }

    /// The type of the elements of an array that is indexed in all its dimensions here.
    fn row(&self, array: Key, words: &[Word<'_>], place: usize) -> Option<Key> {
        let debug = &self.variables.debug;
        let dimensions = debug.children(array, &[gimli::DW_TAG_subrange_type]).len();
        let mut end = place;
        for _ in 0..dimensions {
            if words.get(end) != Some(&Word::Mark('[')) {
                return None;
            }
            end = after_brackets(words, end)?;
        }
        debug.type_of(array)
    }

    /// A member of a structure that a word names: its type, and the place behind it.
    fn member(
        &self,
        of: Key,
        word: &Word<'_>,
        place: usize,
        fields: &mut Vec<String>,
    ) -> Option<(Key, usize)> {
        let Word::Name(name) = word else {
            return None;
        };
        let (bare, _) = self.variables.debug.bare(of)?;
        let member = self.member_named(bare, name)?;
        fields.push((*name).to_owned());
        Some((self.variables.debug.type_of(member)?, place))
    }

    fn member_named(&self, of: Key, name: &str) -> Option<Key> {
        let debug = &self.variables.debug;
        let own = |class: Key| {
            let members = debug.children(class, &[DW_TAG_member]);
            let is_it = |member: &Key| debug.name(*member).as_deref() == Some(name);
            members.into_iter().find(is_it)
        };
        // Those of the classes that it inherits from, too.
        let mut classes = vec![of];
        for at in 0..MOST_CLASSES {
            let class = *classes.get(at)?;
            if let Some(found) = own(class) {
                return Some(found);
            }
            let bases = debug.children(class, &[DW_TAG_inheritance]);
            let bases = bases.into_iter().filter_map(|base| debug.type_of(base));
            classes.extend(bases.filter_map(|base| Some(debug.bare(base)?.0)));
        }
        None
    }

    /// The type of a variable in scope, or of a member of the object of this function: then that object's,
    /// too.
    fn type_of(&self, name: &str) -> Option<(Key, Option<Key>)> {
        let debug = &self.variables.debug;
        let is_named = |key: Key, name: &str| debug.name(key).as_deref() == Some(name);
        let variables = &self.variables;
        if let Some(key) = variables.named_in_scope(self.function, self.svma, name) {
            return Some((debug.type_of(key)?, None));
        }
        // What the compiler has left out of this copy of a function, it declares in the function.
        let functions = self.variables.functions(self.function, self.svma);
        let tags = [gimli::DW_TAG_formal_parameter, gimli::DW_TAG_variable];
        let declared = |function: Key, name: &str| {
            let origin = debug.origin_of(function, &debug.die(function)?)?;
            let all = debug.children(origin, &tags);
            all.into_iter().find(|key| is_named(*key, name))
        };
        let declared_in_any =
            |name: &str| functions.iter().rev().find_map(|key| declared(*key, name));
        if let Some(key) = declared_in_any(name) {
            return Some((debug.type_of(key)?, None));
        }
        // And of what a construct shares, in the function around that.
        let around = debug.functions_around(self.function);
        if let Some(of) = around
            .iter()
            .rev()
            .find_map(|key| self.declared_in(*key, name))
        {
            return Some((of, None));
        }
        let this = functions.iter().rev().find_map(|function| {
            let parameters = debug.children(*function, &tags);
            let own = parameters.into_iter().find(|key| is_named(*key, "this"));
            own.or_else(|| declared(*function, "this"))
        });
        let object =
            this.and_then(|this| debug.pointee(debug.behind_reference(debug.type_of(this)?)));
        let object = object.and_then(|object| debug.bare(object));
        if let Some((object, _)) = object
            && let Some(member) = self.member_named(object, name)
        {
            return Some((debug.type_of(member)?, Some(object)));
        }
        let global = self.variables.global_named(name, self.function.unit)?;
        Some((debug.type_of(global)?, None))
    }

    /// The type of the variables of this name in a function, if it is one.
    fn declared_in(&self, function: Key, name: &str) -> Option<Key> {
        let scopes = self.variables.scopes(function);
        let all = scopes.own.get(name).into_iter().flatten();
        let types = all.filter_map(|key| self.variables.debug.type_of(*key));
        let mut types: Vec<Key> = types.collect();
        types.dedup();
        match types[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether a class has a name of the program: that of a lambda has none.
    fn is_named(&self, class: Key) -> bool {
        let name = self.variables.debug.name(class);
        name.is_some_and(|name| {
            name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        })
    }

    /// The type of the elements of a `std::vector`.
    fn element_of_container(&self, of: Key) -> Option<Key> {
        let debug = &self.variables.debug;
        let name = debug.name(of)?;
        if !name.starts_with("vector<") {
            return None;
        }
        let parameters = debug.children(of, &[gimli::DW_TAG_template_type_parameter]);
        debug.type_of(*parameters.first()?)
    }
}

/// The place behind the bracket that closes the one at a place.
fn after_brackets(words: &[Word<'_>], at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (place, word) in words.iter().enumerate().skip(at) {
        match word {
            Word::Mark('(' | '[') => depth += 1,
            Word::Mark(')' | ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_an_assignment_is_a_name_alone() {
        let of = |line| target(&words(line)).map(str::to_owned);
        let x = Some("x".to_owned());
        assert_eq!(of("x = f(n - 1)"), x);
        assert_eq!(of("x += 2;"), x);
        assert_eq!(of("if (a > b) x = 2"), x);
        for line in [
            "a(i) = x",
            "*x = 2;",
            "p%x = 1",
            "p->x = 1;",
            "call f(x)",
            "x = 1; y = 2;",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
