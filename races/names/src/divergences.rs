//! Names what `-r compare` found: memory that a region leaves different with one thread.

use divergence::record::{self, Cause, Memory};
use divergence::rounding::{shown, text};
use divergence::words::{self, Class, word};
use experiment::findings::{
    Compared, Comparison, Construct, Difference, Divergence, Frame, Origin, Values, Variable,
};
use race_checker::site::FramePlace;

use crate::places::Places;
use crate::types::{Holds, Scalar};
use crate::{GoesOn, whole};

/// What was compared of each construct.
pub fn comparison(all: &[record::Construct], places: &mut Places) -> Comparison {
    let of = |construct: &record::Construct| {
        let (frame, named) = region(construct, places);
        let not = Cause::ALL.into_iter().zip(construct.not);
        let not = not.filter(|(_, count)| *count > 0);
        Compared {
            construct: named,
            function: frame.function,
            instances: construct.instances,
            compared: construct.compared,
            not: not
                .map(|(cause, count)| (cause.words().to_owned(), count))
                .collect(),
            words: construct.words,
            varying: construct.varying,
            rounded: construct.rounded,
            per_thread: construct.per_thread,
            pointers: construct.pointers,
            spread: finite(construct.spread),
        }
    };
    Comparison {
        constructs: all.iter().map(of).collect(),
        ..Comparison::default()
    }
}

/// Names what was found in these constructs. The first wrong values come first.
pub fn divergences(
    found: &[record::Finding],
    constructs: &[record::Construct],
    places: &mut Places,
    goes_on: GoesOn<'_>,
) -> Vec<Divergence> {
    let mut all = Vec::new();
    for (number, finding) in found.iter().enumerate() {
        places.set_nameless(!goes_on(number, found.len()));
        if let Some(construct) = constructs.get(finding.construct as usize) {
            all.extend(named(finding, construct, places));
        }
    }
    places.set_nameless(false);
    // What differs in another order may be right.
    all.sort_by_key(|it| it.class == Difference::Order);
    all
}

fn finite(bits: u64) -> f64 {
    let value = f64::from_bits(bits);
    if value.is_finite() { value } else { 0.0 }
}

/// The frame that executes a construct, at the line of its directive, and the construct.
fn region(construct: &record::Construct, places: &mut Places) -> (Frame, Construct) {
    let frame = places.user_frames(construct.code).into_iter().next();
    let mut frame = frame.map(|found| found.frame).unwrap_or_default();
    if let Some(line) = places.line_of_construct(construct.code, construct.body) {
        frame.line = line;
    }
    let named = Construct {
        name: "parallel".to_owned(),
        file: frame.file.clone(),
        line: frame.line,
    };
    (frame, named)
}

/// A place in memory, in the program's words.
struct Place {
    variable: Variable,
    scalar: Option<Scalar>,
}

/// Begins and lengths.
type Ranges = Vec<(u64, u64)>;

struct Namer<'a> {
    finding: &'a record::Finding,
    construct: &'a record::Construct,
    places: &'a mut Places,
}

impl Namer<'_> {
    fn place(&mut self, address: u64) -> Place {
        let mut variable = Variable {
            address,
            size: 1,
            whole: 0,
            ..Variable::default()
        };
        let code = self.construct.code;
        let begin = self.finding.whole.0;
        let scalar = match self.finding.memory {
            Memory::Static => self.places.name_static(&mut variable, &[code]),
            Memory::Heap | Memory::Mapping => {
                let allocated = self.finding.allocated;
                let frames = self.places.user_frames(allocated).into_iter();
                let mut stack: Vec<Frame> = frames.map(|found| found.frame).collect();
                if stack.is_empty() {
                    stack = self.places.machine_frames(allocated);
                }
                variable.origin = Origin::Heap(stack);
                variable.whole = self.finding.whole.1;
                let named = self
                    .places
                    .block_name(allocated, address.saturating_sub(begin));
                let (name, scalar) = named.unzip();
                variable.name = name;
                scalar.flatten()
            }
            Memory::Stack => {
                let [stack, base, data, code] = self.finding.frame;
                let frame = FramePlace {
                    calls: [code, code],
                    stack,
                    base,
                    data: if data == 0 { u64::MAX } else { data },
                    body: self.construct.body,
                    outer: [code, 0],
                };
                self.places.name_local(&mut variable, Some(&frame))
            }
        };
        variable.size = scalar.map_or(4, |scalar| scalar.bytes);
        Place { variable, scalar }
    }
}

/// A finding in the program's words: one for each variable, if the library took several for one.
fn named(
    finding: &record::Finding,
    construct: &record::Construct,
    places: &mut Places,
) -> Vec<Divergence> {
    let mut namer = Namer {
        finding,
        construct,
        places,
    };
    let mut groups: Vec<(Option<String>, Place, Ranges)> = Vec::new();
    for range in &finding.ranges {
        let place = namer.place(range.0);
        let bare = place
            .variable
            .name
            .as_deref()
            .map(|name| whole(name).to_owned());
        match groups.last_mut() {
            Some((known, _, ranges)) if *known == bare => ranges.push(*range),
            _ => groups.push((bare, place, vec![*range])),
        }
    }
    let (frame, named) = region(construct, namer.places);
    let is_one = groups.len() == 1;
    let divergence = |(_, place, ranges): (_, Place, Ranges)| {
        let last = ranges.last().map(|(begin, bytes)| begin + bytes - 1);
        let scalar = place.scalar.filter(|scalar| matches!(scalar.bytes, 4 | 8));
        let bytes: u64 = ranges.iter().map(|(_, bytes)| bytes).sum();
        let (elements, element_bytes) = match scalar {
            Some(Scalar { bytes: 4, .. }) if is_one => (finding.units, 4),
            Some(Scalar { bytes: each, .. }) if is_one => (finding.words, each),
            Some(Scalar { bytes: each, .. }) => (bytes.div_ceil(each), each),
            None if is_one => (finding.words, 0),
            None => (bytes.div_ceil(8), 0),
        };
        let begin = match finding.memory {
            Memory::Stack => place.variable.address,
            _ => finding.whole.0,
        };
        let is_in = |value: &&words::Difference| {
            let (at, _) = value.bytes();
            ranges
                .iter()
                .any(|(begin, bytes)| (*begin..begin + bytes).contains(&at))
        };
        let values = finding.values.iter().filter(is_in);
        let values = values
            .map(|value| shown_values(&mut namer, value, begin))
            .collect();
        let last = last.map(|last| namer.place(last).variable.name);
        let last = last
            .flatten()
            .filter(|last| Some(last) != place.variable.name.as_ref());
        Divergence {
            class: class(finding.class),
            variable: place.variable,
            last,
            elements,
            element_bytes,
            is_cut: finding.is_cut || !is_one && finding.ranges.len() == record::RANGES,
            ranges: ranges
                .iter()
                .map(|(at, bytes)| (at.saturating_sub(begin), *bytes))
                .collect(),
            values,
            spread: finite(finding.spread),
            stack: vec![frame.clone()],
            constructs: vec![named.clone()],
            instance: finding.instance,
            count: finding.count,
            threads: finding.threads,
            advice: Some(advice(finding.class).to_owned()),
        }
    };
    groups.into_iter().map(divergence).collect()
}

fn class(class: Class) -> Difference {
    match class {
        Class::Different => Difference::Different,
        Class::Unwritten => Difference::Unwritten,
        Class::Extra => Difference::Extra,
        Class::Order => Difference::Order,
    }
}

fn advice(class: Class) -> &'static str {
    match class {
        Class::Different => {
            "look whether threads share what each needs for itself (private), or read what another \
             one writes; `collect -r race` tells the lines"
        }
        Class::Unwritten => {
            "look how the region divides its work: with several threads, no thread does what this needs"
        }
        Class::Extra => {
            "look how the region divides its work, and whether threads write beyond their own part"
        }
        Class::Order => "nothing, if the order of the elements does not matter",
    }
}

/// The values of the element that holds the first differing byte of a word. Its variable begins at `begin`.
fn shown_values(namer: &mut Namer<'_>, value: &words::Difference, begin: u64) -> Values {
    let (at, bytes) = value.bytes();
    let Place { variable, scalar } = namer.place(at);
    let shown_text = |word: u64| {
        let element = scalar.and_then(|scalar| element(word, value, scalar, begin));
        element.unwrap_or_else(|| shown(word >> (8 * (at - value.address)), bytes))
    };
    Values {
        name: variable.name,
        before: shown_text(value.before),
        one: shown_text(value.reference),
        several: shown_text(value.result),
    }
}

/// The number in a word that holds its first differing byte.
fn element(number: u64, of: &words::Difference, scalar: Scalar, begin: u64) -> Option<String> {
    let differing = u64::from((of.reference ^ of.result).trailing_zeros() / 8);
    let distance = (of.address + differing).checked_sub(begin)? % scalar.bytes;
    let first = differing.checked_sub(distance)? as usize;
    let bytes = number.to_le_bytes();
    let own = word(bytes.get(first..first + scalar.bytes as usize)?);
    let unused = 64 - 8 * scalar.bytes as u32;
    Some(match (scalar.holds, scalar.bytes) {
        (Holds::Float, 4) => f32::from_bits(own as u32).to_string(),
        (Holds::Float, 8) => text(f64::from_bits(own)),
        (Holds::Float, _) => return None,
        (Holds::Signed, _) => ((own << unused) as i64 >> unused).to_string(),
        (Holds::Unsigned, _) => own.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_read_as_what_it_is() {
        let of = |reference: u64, result: u64| words::Difference {
            address: 0x1000,
            reference,
            result,
            ..words::Difference::default()
        };
        let scalar = |bytes, holds| Scalar { bytes, holds };
        let two = |low: u64, high: u64| low | high << 32;
        let pair = of(two(5, 7), two(5, 9));
        let text = element(pair.result, &pair, scalar(4, Holds::Signed), 0x1000);
        assert_eq!(text.as_deref(), Some("9"));
        let double = of(1.5_f64.to_bits(), 2.5_f64.to_bits());
        let text = element(double.result, &double, scalar(8, Holds::Float), 0x1000);
        assert_eq!(text.as_deref(), Some("2.5"));
        let negative = of(0xff, 0xfe);
        let text = element(negative.result, &negative, scalar(1, Holds::Signed), 0x1000);
        assert_eq!(text.as_deref(), Some("-2"));
        // A number that lies across two words.
        assert_eq!(element(1, &of(1, 2), scalar(8, Holds::Float), 0x0ffc), None);
    }
}
