//! A component without the contract. Its world has functions with every type that has a form in JSON, and some that
//! can't become tools.
// Linkers of other targets don't accept the names of a resource's functions.
#![cfg(target_family = "wasm")]

/// The code that `wit-bindgen` generates.
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused_lifetimes,
    missing_debug_implementations,
    rust_2018_idioms,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::str_to_string,
    clippy::too_many_lines,
    clippy::needless_pass_by_value,
    reason = "generated code"
)]
mod bindings {
    wit_bindgen::generate!({ world: "functions" });

    use super::Functions;

    export!(Functions);
}

use bindings::Guest;
use bindings::exports::test::functions::people::{self, Person, Rights};
use bindings::exports::test::functions::registry::{self, CounterBorrow};
use bindings::exports::test::functions::samples::{self, Sample};
use bindings::exports::test::functions::shapes::{self, Shape, Unit};

/// The component.
#[derive(Debug)]
pub struct Functions;

impl samples::Guest for Functions {
    fn mirror(sample: Sample) -> Sample {
        sample
    }
}

impl Guest for Functions {
    fn divide(dividend: i32, divisor: i32) -> Result<i32, String> {
        dividend.checked_div(divisor).ok_or_else(|| format!("can't divide {dividend} by {divisor}"))
    }

    fn check_age(age: u8) -> Result<(), u8> {
        if age < 150 { Ok(()) } else { Err(age) }
    }

    fn next(number: u64) -> u64 {
        number.wrapping_add(1)
    }

    fn reverse(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.reverse();
        bytes
    }

    fn infinity() -> f64 {
        f64::INFINITY
    }

    fn repeated(key: String) -> Vec<(String, u32)> {
        vec![(key.clone(), 1), (key, 2)]
    }

    fn crash() {
        panic!("this function always panics");
    }

    fn read_file(path: String) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn nothing() {}
}

impl shapes::Guest for Functions {
    fn area(shape: Shape, unit: Option<Unit>) -> Result<f64, String> {
        let area = match shape {
            Shape::Circle(radius) if radius < 0.0 => return Err("the radius is negative".to_owned()),
            Shape::Circle(radius) => std::f64::consts::PI * radius * radius,
            Shape::Rectangle((width, height)) => width * height,
            Shape::Empty => 0.0,
        };
        Ok(match unit {
            Some(Unit::Inch) => area * 25.4 * 25.4,
            Some(Unit::Millimetre) | None => area,
        })
    }

    fn describe() -> String {
        "shapes have areas".to_owned()
    }
}

impl people::Guest for Functions {
    fn greet(person: Person, rights: Rights) -> String {
        let name = person.nickname.unwrap_or(person.first_name);
        let admin = if rights.contains(Rights::ADMIN) { ", admin" } else { "" };
        let tags: Vec<_> = person.tags.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!("Hello, {name}{admin}!{}", tags.concat())
    }

    fn oldest(people: Vec<Person>) -> Option<Person> {
        people.into_iter().max_by_key(|person| person.age)
    }

    fn describe() -> String {
        "people have names".to_owned()
    }
}

impl registry::Guest for Functions {
    type Counter = ();

    fn reset(_counter: CounterBorrow<'_>) {}
}

impl registry::GuestCounter for () {
    fn new() -> Self {}

    fn increment(&self) -> u32 {
        1
    }

    fn limit() -> u32 {
        10
    }
}
