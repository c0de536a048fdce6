//! Parts of texts, found in the file in whatever way they are written there.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;

use crate::config::read::reader::Table;
use super::*;
use crate::config::spec::keys::{Key, Kind};

static KEYS: &[Key] =
    &[Key { name: "a", kind: Kind::Text("a text"), required: true, default: None, doc: "" }];

/// What stands in the file where `wanted` stands in the text that `literal` is.
#[track_caller]
fn found(literal: &str, wanted: &str) -> String {
    let file = format!("# before: é\na = {literal} # after");
    let environment: BTreeMap<_, _> =
        [("HOST", "x.example"), ("NOTHING", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let parsed = DeTable::parse(&file).unwrap();
    let mut reading = Reading::new(Path::new("/gateway.toml"), &file, &environment);
    let text = reading.text(&Table::root(parsed.get_ref(), KEYS), "a").unwrap();
    let at = text.text.find(wanted).unwrap_or_else(|| panic!("{:?}", text.text));
    file[reading.part(&text, at..at + wanted.len())].to_owned()
}

#[test]
fn a_part_is_found_in_every_kind_of_literal() {
    for (literal, wanted, place) in [
        (r#""https://a*b.example""#, "*", "*"),
        ("'https://a*b.example'", "a*b", "a*b"),
        ("'''\nhttps://é*'''", "é", "é"),
        ("\"\"\"\nhttps://é*\"\"\"", "é*", "é*"),
        (r#""https:\u002f\/x""#.replace(r"\/", "/").as_str(), "//", r"\u002f/"),
        (r#""a\tb\"c\\d""#, "\"c", r#"\"c"#),
        (r#""\U0001F319x""#, "x", "x"),
        ("\"\"\"one\\\n   two\"\"\"", "two", "two"),
        ("\"\"\"one\\\n   two\"\"\"", "onetwo", "one\\\n   two"),
    ] {
        assert_eq!(found(literal, wanted), place, "{literal}");
    }
}

#[test]
fn a_part_of_a_variables_value_is_where_the_variable_is_used() {
    for (literal, wanted, place) in [
        (r#""https://${HOST}:80/a""#, ":80", ":80"),
        (r#""https://${HOST}:80/a""#, "example", "${HOST}"),
        (r#""https://${HOST}:80/a""#, "example:8", "${HOST}:8"),
        (r#""https://${HOST}:80/a""#, "//x", "//${HOST}"),
        (r#""${NONE:-b*}c""#, "*", "${NONE:-b*}"),
        (r#""$${HOST}*""#, "*", "*"),
        (r#""$${HOST}*""#, "{HOST}", "${HOST}"),
        (r#""\u0024{HOST}/x""#, "x.", r"\u0024{HOST}"),
        (r#""${NOTHING}a${NOTHING}b""#, "b", "b"),
    ] {
        assert_eq!(found(literal, wanted), place, "{literal}");
    }
}
