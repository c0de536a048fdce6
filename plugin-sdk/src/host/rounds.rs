//! What only native tests watch over: in a component, nothing happens here.

use crate::InputRequest;

/// Questions are looked at even where their answer is there.
pub(crate) const CHECKED: bool = false;

/// The time in which `once` works.
pub(crate) struct Once;

pub(crate) fn once(_key: &str) -> Once {
    Once
}

pub(crate) fn asked(_request: &InputRequest) {}

pub(crate) fn asked_all() {}

pub(crate) fn left_to_ask(_requests: &[InputRequest]) {}
