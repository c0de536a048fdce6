//! Equality as JSON Schema defines it: numbers are equal if their values are, objects whatever the order of their
//! members.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use jsonschema::json::cmp;
use serde_json::{Number, Value};

use super::{TapeContainer, TapeNode};

/// The number of elements that are compared with each other instead of by their hashes.
const MAX_COMPARED_ELEMENTS: usize = 15;

/// The number of elements after which their hashes are compared for the first time, and the factor between comparisons.
/// So a short period costs little memory, and unique elements have long texts.
const FIRST_COMPARISON: usize = 1024;
const COMPARISON_FACTOR: usize = 8;

/// Reports whether a value equals one of the schema.
pub(super) fn equals(node: TapeNode<'_>, expected: &Value) -> bool {
    match expected {
        Value::Null => node.is_null(),
        Value::Bool(expected) => node.first_byte() == if *expected { b't' } else { b'f' },
        Value::Number(expected) => {
            node.number().is_some_and(|number| is_same_number(number, expected.clone()))
        }
        Value::String(expected) => node.string().is_some_and(|text| text == expected.as_str()),
        Value::Array(expected) => node.container().is_some_and(|array| {
            let mut elements = array.children();
            !array.is_object()
                && expected.iter().all(|expected| elements.next().is_some_and(|it| equals(it, expected)))
                && elements.next().is_none()
        }),
        Value::Object(expected) => node.container().is_some_and(|object| {
            object.is_object()
                && object.members().take(expected.len() + 1).count() == expected.len()
                && expected
                    .iter()
                    .all(|(name, value)| object.member(name).is_some_and(|it| equals(it, value)))
        }),
    }
}

/// Reports whether two values are equal.
pub(super) fn equals_node(a: TapeNode<'_>, b: TapeNode<'_>) -> bool {
    match (a.first_byte(), b.first_byte()) {
        (b'{', b'{') | (b'[', b'[') => {
            let (Some(a), Some(b)) = (a.container(), b.container()) else { return false };
            if a.is_object() {
                let is_in_b = |(name, value): (TapeNode<'_>, TapeNode<'_>)| {
                    let name = name.string().unwrap_or_default();
                    b.member(&name).is_some_and(|other| equals_node(value, other))
                };
                return a.members().count() == b.members().count() && a.members().all(is_in_b);
            }
            let mut others = b.children();
            a.elements().all(|element| others.next().is_some_and(|other| equals_node(element, other)))
                && others.next().is_none()
        }
        (b'"', b'"') => a.string() == b.string(),
        (first, other) => match (a.number(), b.number()) {
            (Some(x), Some(y)) if x.is_f64() && y.is_f64() => match (a.integer_text(), b.integer_text()) {
                // Integers outside the range of 64 bits are read as floats, which would round them.
                (Some(a), Some(b)) => a == b,
                (Some(_), None) | (None, Some(_)) | (None, None) => is_same_number(x, y),
            },
            (Some(a), Some(b)) => is_same_number(a, b),
            (Some(_), None) | (None, Some(_)) => false,
            (None, None) => first == other,
        },
    }
}

fn is_same_number(a: Number, b: Number) -> bool {
    cmp::equal(&Value::Number(a), &Value::Number(b))
}

/// Reports whether two elements of an array are equal.
pub(super) fn has_equal_elements(
    array: TapeContainer<'_>,
    equals: fn(TapeNode<'_>, TapeNode<'_>) -> bool,
) -> bool {
    let is_small = array.children().nth(MAX_COMPARED_ELEMENTS).is_none();
    if is_small {
        let mut rest = array.children();
        while let Some(first) = rest.next() {
            if rest.copy().any(|other| equals(first, other)) {
                return true;
            }
        }
        return false;
    }
    let state = RandomState::new();
    let mut hashes: Vec<u64> = Vec::new();
    let mut next_comparison = FIRST_COMPARISON;
    for element in array.children() {
        hashes.push(hash(element, &state));
        if hashes.len() == next_comparison {
            next_comparison *= COMPARISON_FACTOR;
            if has_equal_with_hash(array, &mut hashes, &state, equals) {
                return true;
            }
        }
    }
    has_equal_with_hash(array, &mut hashes, &state, equals)
}

/// Compares the elements that have a hash in common.
fn has_equal_with_hash(
    array: TapeContainer<'_>,
    hashes: &mut [u64],
    state: &RandomState,
    equals: fn(TapeNode<'_>, TapeNode<'_>) -> bool,
) -> bool {
    hashes.sort_unstable();
    hashes.windows(2).any(|pair| {
        let [one, other] = *pair else { return false };
        if one != other {
            return false;
        }
        // Two different elements have the same hash in one array in a billion.
        let mut same = array.children().filter(|element| hash(*element, state) == one);
        same.next().is_some_and(|first| same.any(|other| equals(first, other)))
    })
}

/// A hash that equal values have in common.
fn hash(node: TapeNode<'_>, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write_u8(node.first_byte());
    match node.container() {
        Some(object) if object.is_object() => {
            let members = object.members().map(|(name, value)| {
                let mut hasher = state.build_hasher();
                name.string().hash(&mut hasher);
                hasher.write_u64(hash(value, state));
                hasher.finish()
            });
            hasher.write_u64(members.fold(0, u64::wrapping_add));
        }
        Some(array) => array.elements().for_each(|element| hasher.write_u64(hash(element, state))),
        None => match (node.number(), node.string()) {
            // Equal numbers can start differently, such as `10` and `1e1`, or `0` and `-0`.
            (Some(number), _) => return state.hash_one(exact_number(&number)),
            (None, text) => text.hash(&mut hasher),
        },
    }
    hasher.finish()
}

/// A number in a form that exactly equal numbers have in common: an integer, or the bits of a float.
fn exact_number(number: &Number) -> Result<i128, u64> {
    const END_OF_INTEGERS: f64 = 18_446_744_073_709_551_616.0; // 2^64: larger numbers are always floats
    if let Some(integer) = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)) {
        return Ok(integer);
    }
    let float = number.as_f64().unwrap_or_default();
    if float.fract() == 0.0 && float.abs() < END_OF_INTEGERS {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^64")]
        return Ok(float as i128);
    }
    Err(float.to_bits())
}
