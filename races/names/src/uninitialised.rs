//! Names reads of unwritten memory.

use std::rc::Rc;

use experiment::findings::{Content, Uninitialised};
use hashbrown::HashMap;
use race_checker::contexts::Contexts;
use race_checker::site::{Base, ConstructKind, Place};
use race_checker::uninitialised::UnwrittenRead;

use crate::{GoesOn, Namer, Places, place_key, variable_key};

/// Names the reads of a program, whose load objects are in `places`: one for each line and variable. Those
/// of static memory, which still holds its initial value, come last.
pub fn uninitialised(
    found: &[UnwrittenRead],
    contexts: &Contexts,
    places: &mut Places,
    goes_on: GoesOn<'_>,
) -> Vec<Uninitialised> {
    let mut namer = Namer::new(contexts, places);
    let mut all: Vec<Uninitialised> = Vec::new();
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    for (at, read) in found.iter().enumerate() {
        namer.places.set_nameless(!goes_on(at, found.len()));
        let Some(named) = namer.unwritten(read) else {
            continue;
        };
        let number = *numbers.entry(key(&named)).or_insert(all.len());
        match all.get_mut(number) {
            None => all.push(named),
            Some(known) => known.count += named.count,
        }
    }
    namer.places.set_nameless(false);
    all.sort_by(|one, other| {
        let place = |read: &Uninitialised| {
            let first = read.stack.first();
            first.map(|frame| (frame.file.clone(), frame.line))
        };
        let order = |read: &Uninitialised| (read.class, std::cmp::Reverse(read.count));
        order(one)
            .cmp(&order(other))
            .then_with(|| place(one).cmp(&place(other)))
    });
    all
}

/// What distinguishes a read for a reader: its line, and the variable or where its block was allocated.
type Key = (Content, String, u32, String);

fn key(read: &Uninitialised) -> Key {
    let (place, line) = place_key(&read.stack);
    (read.class, place, line, variable_key(&read.variable))
}

impl Namer<'_> {
    /// `None` for what is no finding: the initial value of a variable outside all constructs, as the program
    /// meets it that relies on it, or of one that other objects declare, such as a stream of the C++ library.
    fn unwritten(&mut self, read: &UnwrittenRead) -> Option<Uninitialised> {
        let site = &read.site;
        let class = match read.place {
            Place::Stack(_) | Place::Heap(_) => Content::Undefined,
            Place::Static | Place::ThreadLocal { .. } => Content::Initial,
        };
        let variable = self.variable_at(read.address, &read.place, [site, site]);
        let is_thread = |base: &Rc<Base>| base.kind == ConstructKind::Thread;
        let is_in_construct = site.base.as_ref().is_some_and(|base| !is_thread(base));
        if class == Content::Initial && (!is_in_construct || variable.name.is_none()) {
            return None;
        }
        let own = self.contexts.codes(site.code, site.context);
        Some(Uninitialised {
            class,
            variable,
            stack: self.user_stack(&own, site.base.as_ref()),
            constructs: self.constructs(&own, site.base.as_ref()),
            count: read.count,
        })
    }
}
