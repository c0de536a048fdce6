//! Tests of compiling schemas, of checking values, and of the limits of both.

use serde_json::json;

use super::*;

fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    Schema::compile(&Json::from_value(schema), SchemaBounds { max_size: ByteSize::kib(256), max_depth: 64 })
}

fn misfit(schema: &Value, value: &Value) -> SchemaMismatchError {
    let checked = compile(schema).unwrap().check(value);
    checked.err().unwrap_or_else(|| panic!("{value} matches {schema}"))
}

#[test]
fn names_each_invalid_member() {
    let schema = json!({
        "type": "object",
        "required": ["city", "a/b"],
        "properties": {
            "city": true,
            "a/b": true,
            "days": { "type": ["integer", "null"] },
            "unit": { "enum": ["C", "F"] },
            "at": { "type": "object", "properties": { "lat": { "minimum": -90 } }, "required": ["lon"] },
        },
        "additionalProperties": false,
    });
    let compiled = compile(&schema).unwrap();
    compiled.check(&json!({ "city": "Rome", "a/b": 1, "days": null, "at": { "lon": 1, "lat": 0 } })).unwrap();
    let misfit = compiled
        .check(&json!({ "a/b": 1, "days": "3", "unit": "K", "at": { "lat": -91 }, "town": 1 }))
        .unwrap_err();
    for sentence in [
        "`city` is missing",
        "`days` must be of type null or integer, not string",
        "`unit` must be one of \"C\", \"F\"",
        "`/at/lat` must be at least -90",
        "`/at/lon` is missing",
    ] {
        assert!(misfit.message.contains(sentence), "{sentence}: {}", misfit.message);
    }
    assert!(misfit.message.ends_with("; and 1 more"), "{}", misfit.message);
    let misfit = compiled.check(&json!({ "city": 1, "town": 2, "a/b": 1 })).unwrap_err();
    assert_eq!(misfit.message, "`town` is unknown; known members are `city`, `a/b`, `days`, `unit`, `at`");
    assert_eq!(misfit.pointer.as_deref(), Some("/town"));
    let misfit = compiled.check(&json!({ "city": 1 })).unwrap_err();
    assert_eq!((misfit.message.as_str(), misfit.pointer.as_deref()), ("`a/b` is missing", Some("/a~1b")));
}

#[test]
fn suggests_corrections_for_members_and_options() {
    let inner = json!({ "properties": { "width": {}, "height": {} }, "additionalProperties": false });
    let strict = json!({
        "properties": {
            "name": {},
            "size": { "$ref": "#/$defs/size" },
            "style": { "enum": ["camel", "snake", "kebab"] },
        },
        "required": ["name"],
        "additionalProperties": false,
        "$defs": { "size": inner },
    });
    let open = json!({ "properties": { "name": {}, "nick": {} }, "required": ["name"] });
    for (schema, value, message, at) in [
        (&strict, json!({ "name": 1, "stile": 2 }), "`stile` is unknown (did you mean `style`?)", "/stile"),
        (
            &strict,
            json!({ "name": 1, "size": { "widht": 1 } }),
            "`/size/widht` is unknown (did you mean `width`?)",
            "/size/widht",
        ),
        (
            &strict,
            json!({ "nmae": 1 }),
            "`nmae` is unknown (did you mean `name`?); `name` is missing",
            "/nmae",
        ),
        (
            &strict,
            json!({ "name": 1, "style": "snaek" }),
            "`style` must be one of \"camel\", \"snake\", \"kebab\" (did you mean \"snake\"?)",
            "/style",
        ),
        (&open, json!({ "nmae": 1 }), "`name` is missing (did you mean `nmae`?)", "/name"),
        (&open, json!({ "nick": 1 }), "`name` is missing", "/name"),
    ] {
        let found = misfit(schema, &value);
        assert_eq!((found.message.as_str(), found.pointer.as_deref()), (message, Some(at)));
    }
}

#[test]
fn describes_the_errors_of_each_form() {
    let style = json!({ "enum": ["camel", "snake"] });
    let schema = json!({ "properties": {
        "style": { "anyOf": [style, { "type": "null" }] },
        "titled": { "oneOf": [
            { "const": "a", "title": "A" }, { "const": "b" }, { "const": "c" }, { "const": "d" }, { "const": "none" },
        ] },
        "id": { "oneOf": [{ "type": "integer" }, { "type": "string", "minLength": 3 }] },
        "deep": { "anyOf": [{ "anyOf": [{ "anyOf": [{ "anyOf": [{ "anyOf": [false, false] }, false] }, false] }, false] }, false] },
    } });
    for (value, message) in [
        (json!({ "style": "x" }), "`style` must be one of \"camel\", \"snake\""),
        (
            json!({ "titled": "nnoe" }),
            "`titled` must be one of \"a\", \"b\", \"c\", \"d\", \"none\" (did you mean \"none\"?)",
        ),
        (
            json!({ "id": "x" }),
            "`id` matches none of the forms that the schema allows (`id` must be of type integer, not string, or `id` must \
             have at least 3 characters)",
        ),
    ] {
        assert_eq!(misfit(&schema, &value).message, message);
    }
    let deep = misfit(&schema, &json!({ "deep": 1 })).message;
    assert!(deep.starts_with("`deep` matches none of the forms") && deep.len() < 500, "{deep}");
}

#[test]
fn shortens_values_in_messages() {
    let long = "x".repeat(10_000);
    let misfit = misfit(&json!({ "properties": { "a": { "const": long } } }), &json!({ "a": "b\nc" }));
    assert!(misfit.message.len() < 200 && !misfit.message.contains('\n'), "{}", misfit.message);
}

#[test]
fn reports_invalid_schemas_with_their_place() {
    for (schema, at, part) in [
        (json!({ "properties": { "a": { "type": "strnig" } } }), "/properties/a/type", "strnig"),
        (json!({ "properties": { "a": { "pattern": "(?=x)" } } }), "/properties/a/pattern", "lookahead"),
        (
            json!({ "properties": { "a": { "pattern": "(a{1000}){1000}" } } }),
            "/properties/a/pattern",
            "too large",
        ),
        (
            json!({ "items": { "$ref": "https://example.com/x" } }),
            "/items/0/$ref",
            "refers to another document",
        ),
        (json!({ "allOf": [{ "$ref": "other.json" }] }), "/allOf/0/$ref", "refers to another document"),
        (json!({ "$ref": "#/$defs/x" }), "/$ref", "has no target"),
        (json!({ "$ref": "#x" }), "/$ref", "no `$anchor`"),
        (
            json!({ "patternProperties": { "^(?!x-)": {} } }),
            "/patternProperties/^(?!x-)",
            "`patternProperties`",
        ),
        (
            json!({ "$defs": { "a": { "$id": "x" }, "b": { "$id": "/y/../x" } } }),
            "",
            "two parts of the schema have the `$id`",
        ),
        (json!({ "$schema": "http://json-schema.org/draft-04/schema#" }), "", "draft 4"),
        (json!({ "$schema": "https://example.com/dialect" }), "", "example.com/dialect"),
    ] {
        let error = compile(&schema).unwrap_err();
        assert_eq!(error.pointer, at, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn limits_size_depth_and_duplicate_keys() {
    let long = Json::parse(format!("{{\"title\":\"{}\"}}", "x".repeat(2_000))).unwrap();
    let bounds = SchemaBounds { max_size: ByteSize::kib(1), max_depth: 3 };
    let error = Schema::compile(&long, bounds).unwrap_err();
    assert_eq!(error.message, "it is 2.0 KiB long; at most 1.0 KiB are allowed");
    let deep = (0..40).fold(json!(true), |inner, _| json!({ "items": [inner] }));
    assert_eq!(compile(&deep).unwrap_err().message, "it is nested deeper than 64 levels");
    let error = Schema::compile(&Json::from_value(&json!({ "items": { "items": { "items": {} } } })), bounds);
    assert_eq!(error.unwrap_err().message, "it is nested deeper than 3 levels");
    let twice = Json::parse(r#"{"type":"object","type":"array"}"#).unwrap();
    let error = Schema::compile(&twice, bounds).unwrap_err();
    assert!(error.message.contains("duplicate key"), "{error}");
}

#[test]
fn supports_older_drafts_and_local_references() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": { "a b": { "type": "string" } },
        "properties": { "x": { "$ref": "#/definitions/a%20b" } },
    });
    assert_eq!(misfit(&schema, &json!({ "x": 1 })).message, "`x` must be of type string, not number");
    let schema =
        json!({ "$defs": { "a": { "$anchor": "here", "type": "null" } }, "items": { "$ref": "#here" } });
    assert_eq!(misfit(&schema, &json!([null, 1])).pointer.as_deref(), Some("/1"));
    let schema =
        json!({ "properties": { "schema": { "$ref": "https://json-schema.org/draft/2020-12/schema" } } });
    compile(&schema).unwrap().check(&json!({ "schema": { "type": "object" } })).unwrap();
    compile(&schema).unwrap().check(&json!({ "schema": { "type": 1 } })).unwrap_err();
    compile(&json!(true)).unwrap().check(&json!(1)).unwrap();
    assert_eq!(
        compile(&json!(false)).unwrap().check(&json!(1)).unwrap_err().message,
        "the value is not allowed"
    );
}

#[test]
fn resolves_references_to_own_identifiers() {
    let text = json!({ "$anchor": "text", "type": "string" });
    for (id, references) in [
        (None, vec!["", "#"]),
        (Some("https://example.com/tool.json"), vec!["", "#", "tool.json", "https://example.com/tool.json#"]),
        (Some("tool.json"), vec!["tool.json", "tool.json#", "./tool.json"]),
        (Some("urn:example:tool"), vec!["", "#", "urn:example:tool"]),
    ] {
        for reference in references {
            let mut schema = json!({ "type": "object", "properties": { "next": { "$ref": reference } } });
            if let Some(id) = id {
                schema["$id"] = json!(id);
            }
            assert_eq!(
                misfit(&schema, &json!({ "next": { "next": 1 } })).message,
                "`/next/next` must be of type object, not number",
                "{id:?} {reference}"
            );
        }
    }
    for reference in [
        "#text",
        "tool.json#text",
        "https://example.com/tool.json#/$defs/text",
        "tool.json#/$defs/text",
        "part.json",
        "https://example.com/part.json#/items",
        "part.json#inner",
    ] {
        let part = json!({
            "$id": "part.json",
            "type": ["string", "array"],
            "items": { "$anchor": "inner", "$ref": "tool.json#text" },
        });
        let schema = json!({
            "$id": "https://example.com/tool.json",
            "$defs": { "text": text, "part": part },
            "properties": { "a": { "$ref": reference } },
        });
        compile(&schema).unwrap().check(&json!({ "a": "x" })).unwrap();
        let checked = compile(&schema).unwrap().check(&json!({ "a": 1 }));
        let said = checked.map_err(|error| error.message);
        assert!(
            said.as_ref().is_err_and(|said| said.starts_with("`a` must be of type string")),
            "{reference}: {said:?}"
        );
    }
    // A location-independent identifier of older drafts.
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": { "a": { "$id": "#here", "type": "null" } },
        "items": { "$ref": "#here" },
    });
    assert_eq!(misfit(&schema, &json!([1])).message, "`0` must be of type null, not number");
}

#[test]
fn counts_branches_behind_own_identifiers() {
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("part{}.json", level + 1) });
        definitions.insert(
            format!("d{level}"),
            json!({ "$id": format!("part{level}.json"), "allOf": [next, next] }),
        );
    }
    definitions.insert("d30".to_owned(), json!({ "$id": "part30.json" }));
    let error = compile(&json!({ "$ref": "part0.json", "$defs": definitions })).unwrap_err();
    assert!(error.message.contains("multiply"), "{error}");
    // The address of a meta-schema doesn't hide what the schema itself has there.
    let bomb = json!({ "$id": "https://json-schema.org/bomb", "$ref": "#/$defs/d0", "$defs": {} });
    let mut schema = json!({ "$defs": { "bomb": bomb }, "$ref": "https://json-schema.org/bomb" });
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        schema["$defs"]["bomb"]["$defs"][format!("d{level}")] = json!({ "allOf": [next, next] });
    }
    schema["$defs"]["bomb"]["$defs"]["d30"] = json!({});
    let error = compile(&schema).unwrap_err();
    assert!(error.message.contains("multiply"), "{error}");
}

#[test]
fn names_the_pattern_as_written() {
    for pattern in [r"^[^]{3}$", r"^(?!a)(?=b)[^]{2}$", "^abc"] {
        let said =
            misfit(&json!({ "properties": { "a": { "pattern": pattern } } }), &json!({ "a": "x" })).message;
        assert_eq!(said, format!("`a` must match the pattern `{pattern}`"));
    }
    let named =
        json!({ "patternProperties": { "^[^]$": { "type": "null" } }, "additionalProperties": false });
    assert!(misfit(&named, &json!({ "\n": 1 })).message.contains("must be of type null"));
    compile(&named).unwrap().check(&json!({ "a": null })).unwrap();
}

#[test]
fn rejects_multiplying_references() {
    let mut definitions = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
    }
    definitions.insert("d30".to_owned(), json!({}));
    let error = compile(&json!({ "$ref": "#/$defs/d0", "$defs": definitions })).unwrap_err();
    assert!(error.message.contains("multiply"), "{error}");
    // Two members aren't two branches: each value matches one of them.
    let tree =
        json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "left": inner, "right": {} }));
    compile(&tree).unwrap().check(&deep).unwrap();
}

/// A schema that compares each level of a value twice, through `keyword`.
fn branching(keyword: &str) -> Value {
    let back = json!({ "$ref": "#/$defs/n" });
    json!({
        "$defs": { "n": { "type": "object", "properties": { "c": { keyword: [back, back] } } } },
        "$ref": "#/$defs/n",
    })
}

#[test]
fn bounds_schemas_that_branch_at_each_level() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = compile(&branching(keyword)).unwrap();
        let nested = |bottom: Value| (0..90).fold(bottom, |inner, _| json!({ "c": inner }));
        assert_eq!(schema.check(&nested(json!({}))).is_ok(), keyword != "oneOf", "{keyword}");
        assert_eq!(
            schema.check(&nested(json!(1))).unwrap_err().message,
            "the value doesn't match the schema",
            "{keyword}"
        );
    }
}

/// The deepest allowed nesting of comparisons, on the stack of a worker thread.
#[test]
fn deepest_nesting_fits_on_the_stack() {
    let wrap: [fn(Value) -> Value; 6] = [
        |inner| json!({ "allOf": [inner] }),
        |inner| json!({ "anyOf": [inner] }),
        |inner| json!({ "oneOf": [inner, false] }),
        |inner| json!({ "if": inner, "then": true, "else": inner }),
        |inner| json!({ "not": { "not": inner } }),
        |inner| json!({ "dependentSchemas": { "c": inner } }),
    ];
    for wrap in wrap {
        for chain in [1, 4, 8] {
            let inner = (0..chain).fold(json!({ "$ref": "#/$defs/n" }), |inner, _| wrap(inner));
            let node =
                json!({ "type": "object", "properties": { "c": inner }, "unevaluatedProperties": false });
            let schema = compile(&json!({ "$defs": { "n": node }, "$ref": "#/$defs/n" })).unwrap();
            let depth = (1..=126)
                .rev()
                .find(|depth| schema.compiled().unwrap().cost.nesting_depth(*depth) <= MAX_NESTING)
                .unwrap();
            let value = (1..depth).fold(json!(1), |inner, _| json!({ "c": inner }));
            let worker = std::thread::Builder::new().stack_size(2 << 20);
            let checked = worker.spawn(move || schema.check(&value)).unwrap();
            // Whether it matches depends on the keyword; an overflow would abort the whole test run.
            drop(checked.join().unwrap());
        }
    }
}

#[test]
fn rejects_values_that_nest_too_deep() {
    let node = (0..20).fold(json!({ "$ref": "#/$defs/n" }), |inner, _| json!({ "allOf": [inner] }));
    let schema = json!({ "$defs": { "n": { "properties": { "c": node } } }, "$ref": "#/$defs/n" });
    let value = (0..100).fold(json!({}), |inner, _| json!({ "c": inner }));
    assert_eq!(misfit(&schema, &value).message, "the value is nested too deeply for this schema");
    let simple = json!({ "properties": { "c": { "allOf": [{ "$ref": "#" }] } } });
    compile(&simple).unwrap().check(&value).unwrap();
}

#[test]
fn rejects_long_chains_of_references() {
    let mut definitions = serde_json::Map::new();
    for level in 0..500 {
        definitions
            .insert(format!("d{level}"), json!({ "items": { "$ref": format!("#/$defs/d{}", level + 1) } }));
    }
    definitions.insert("d500".to_owned(), json!({}));
    let error = compile(&json!({ "$ref": "#/$defs/d0", "$defs": definitions })).unwrap_err();
    assert!(error.message.contains("deeper than 128 levels"), "{error}");
}

#[test]
fn shortens_messages_about_long_names() {
    let name = "n".repeat(100_000);
    for schema in [
        json!({ "properties": { &name: { "type": "strnig" } } }),
        json!({ "$ref": format!("https://example.com/{name}") }),
        json!({ "$ref": format!("#/$defs/{name}") }),
        json!({ "pattern": format!("(?={name})") }),
    ] {
        let error = compile(&schema).unwrap_err().to_string();
        assert!(error.len() < 600, "{} bytes: {}…", error.len(), &error[..200]);
    }
}

#[test]
fn counts_repetitions_of_patterns() {
    for (pattern, places) in [
        ("", 1),
        ("abc", 3),
        ("[ab]{3000}c", 3001),
        ("([ab]{1,30}x){1,20}", 620),
        ("((a{100}){100}){100}", 1_000_000),
        (r"\{30}", 4),
        ("a{x}", 4),
        ("a{,5}", 5),
        ("[]{9}]{2}", 2),
        ("[^]{9}]{2}", 2),
        ("[a[b]{9}]{2}", 2),
        ("a{99999999999}{99999999999}{99999999999}", u64::MAX),
        (")(((", 1),
    ] {
        assert_eq!(super::pattern::pattern_places(pattern), places, "{pattern}");
    }
}

#[test]
fn rejects_long_strings_for_costly_patterns() {
    // The automaton of either has more states than fit into memory, so each place is followed by itself.
    for pattern in ["[01]*1[01]{8000}2", "(?:[01]{1,3000}){1,2}2"] {
        let schema = compile(&json!({ "properties": { "a": { "pattern": pattern } } })).unwrap();
        let long = json!({ "a": "01".repeat(200_000) });
        assert_eq!(schema.check(&long).unwrap_err().message, "the value is too large for this schema");
        // A slow check is allowed on another thread, within the CPU time of its call.
        assert!(!schema.is_quick(&long.to_string()), "{pattern}");
    }
    let date = compile(&json!({ "properties": { "day": { "pattern": r"^\d{4}-\d{2}-\d{2}$" } } })).unwrap();
    date.check(&json!({ "day": "2026-01-02", "content": "x".repeat(4 << 20) })).unwrap();
    assert!(date.is_quick(r#"{"day":"2026-01-02"}"#));
    // Each `null` can cost a check more.
    let list = compile(&json!({ "items": { "anyOf": vec![json!({ "type": "integer" }); 20] } })).unwrap();
    let [plain, nulls] = ["0,", "null,"].map(|item| format!("[{}0]", item.repeat(500)));
    assert!(list.is_quick_for_arguments(&plain) && !list.is_quick_for_arguments(&nulls));
    assert!(list.is_quick_for_arguments("[null]"));
}

#[test]
fn bounds_patterns_that_apply_many_times() {
    // Thousands of references to one pattern, and thousands of strings.
    // A match fails at its first character, but its cost counts as if it didn't.
    let pattern = json!({ "pattern": "^2[01]{900}" });
    let text = "01".repeat(5_000);
    let same = vec![json!({ "$ref": "#/$defs/p" }); 3_000];
    for (keyword, each) in
        [("allOf", json!({ "not": pattern })), ("anyOf", pattern.clone()), ("oneOf", pattern.clone())]
    {
        let schema = compile(&json!({ "$defs": { "p": each }, keyword: same })).unwrap();
        let error = schema.check(&json!(text)).unwrap_err();
        assert_eq!(error.message, "the value is too large for this schema", "{keyword}");
        assert!(!schema.is_quick(&"0".repeat(1_000)), "{keyword}");
    }
    let each = compile(&json!({ "items": { "not": pattern } })).unwrap();
    let error = each.check(&json!(vec![text; 40])).unwrap_err();
    assert_eq!(error.message, "the value is too large for this schema");
    // Strings that no pattern applies to cost nothing.
    let path = compile(&json!({ "properties": { "path": { "pattern": "^.{1,255}$" } } })).unwrap();
    path.check(&json!({ "path": "a/b", "content": "x".repeat(4 << 20) })).unwrap();
}

#[test]
fn rejects_thousands_of_patterns() {
    let named: serde_json::Map<_, _> = (0..5_000).map(|at| (format!("\\pL{{50}}{at}"), json!({}))).collect();
    for schema in [
        json!({ "patternProperties": named }),
        json!({ "anyOf": (0..200).map(|at| json!({ "pattern": format!("\\pL{{50}}{at}") })).collect::<Vec<_>>() }),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(error.message.contains("regular expressions; at most 128"), "{error}");
    }
}

#[test]
fn does_not_collect_errors_of_large_values() {
    // A million wrong items, or a few thousand against as many forms, once held gigabytes of errors.
    let strict = compile(&json!({ "items": { "required": ["name"] } })).unwrap();
    let items = Value::Array(vec![json!({}); 1_000_000]);
    let misfit = strict.check(&items).unwrap_err();
    assert_eq!(misfit.message, "`/0/name` is missing");
    let forms: Vec<_> = (0..4_900).map(|form| json!({ "const": form })).collect();
    for schema in
        [json!({ "items": { "anyOf": forms } }), json!({ "anyOf": [{ "items": { "oneOf": forms } }] })]
    {
        let compiled = compile(&schema).unwrap();
        let misfit = compiled.check(&Value::Array(vec![json!("x"); 10_000])).unwrap_err();
        assert_eq!(
            misfit,
            SchemaMismatchError { message: "the value doesn't match the schema".to_owned(), pointer: None }
        );
    }
}

#[test]
fn limits_parts_with_identifiers() {
    let parts = |count: usize| -> Value {
        let parts: Vec<_> = (0..count).map(|at| json!({ "$id": format!("part{at}.json") })).collect();
        json!({ "anyOf": parts })
    };
    compile(&parts(64)).unwrap();
    let error = compile(&parts(65)).unwrap_err();
    assert_eq!(error.message, "more than 64 parts of the schema have an `$id`");
}

/// Each of these is within the limits of one schema.
#[test]
fn all_schemas_of_a_plugin_have_common_limits() {
    let bounds = SchemaBounds { max_size: ByteSize::kib(256), max_depth: 64 };
    let refused_after = |text: &str| {
        let (schema, mut budget) = (Json::parse(text).unwrap(), SchemaBudget::default());
        (0..200).find_map(|count| Some((count, budget.compile(&schema, bounds).err()?.message)))
    };
    let branches = vec!["{}"; 9_000].join(",");
    let (count, message) = refused_after(&format!(r#"{{"allOf":[{branches}]}}"#)).unwrap();
    assert!(count >= 1 && message.contains("values"), "{count}: {message}");
    let patterns: Vec<_> = (0..100).map(|n| format!(r#""p{n}":{{"pattern":"x{{800}}{n}"}}"#)).collect();
    let (count, message) = refused_after(&format!(r#"{{"properties":{{{}}}}}"#, patterns.join(","))).unwrap();
    assert!(count >= 2 && message.contains("regular expressions"), "{count}: {message}");
    let usual = r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{1,20}$"},"b":{"type":"integer"}}}"#;
    assert_eq!(refused_after(usual), None);
}

/// The engine refuses expressions above its limit, which is that of the estimate here.
#[test]
fn estimates_of_compiled_patterns_are_rarely_too_small() {
    for pattern in [
        "^[a-z]{1,100}$",
        "x{8000}",
        ".{1,200}",
        "[^a]{300}",
        r"\p{L}{40}",
        r"\p{Lu}\p{Ll}*",
        "(ab|cd){50}",
        "é{100}",
        r"^\d{4}-\d{2}$",
    ] {
        let size = usize::try_from(super::pattern::compiled_size(pattern)).unwrap();
        let options = jsonschema::PatternOptions::regex().size_limit(size);
        let compiled =
            jsonschema::options().with_pattern_options(options).build(&json!({ "pattern": pattern }));
        assert!(compiled.is_ok(), "{pattern} is larger than {size}");
    }
}
