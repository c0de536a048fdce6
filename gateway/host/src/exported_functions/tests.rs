//! The mapping of types and values, and the choice of functions.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use moongate_model::call::{CallContext, CallError, Content, Outcome, PluginError, ToolResult};
use moongate_model::caller::Caller;
use moongate_model::cpu_time::thread_cpu_time;
use moongate_model::names::ToolName;
use moongate_model::plugin::Plugin as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::arguments::{self, ArgumentError};
use super::json_schema::{ValueSource, schema_text};
use super::results::json_text;
use super::value_type::{IntegerType, ResultType, ValueType, list_of};
use crate::tests::{config, host, idle_gauges, load_file};
use crate::{LoadError, PathOrigin, WasmPlugin};

/// More than all values of these tests need.
const ENOUGH: usize = 1 << 20;

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn boxed(ty: ValueType) -> Box<ValueType> {
    Box::new(ty)
}

fn integer(ty: IntegerType) -> ValueType {
    ValueType::Integer(ty)
}

fn shape() -> ValueType {
    ValueType::Variant(vec![
        ("circle".to_owned(), Some(ValueType::Float64)),
        ("named".to_owned(), Some(ValueType::Option(boxed(ValueType::String)))),
        ("empty".to_owned(), None),
    ])
}

fn person() -> ValueType {
    ValueType::Record(vec![
        ("first-name".to_owned(), ValueType::String),
        ("age".to_owned(), ValueType::Option(boxed(integer(IntegerType::U8)))),
    ])
}

fn outcome() -> ValueType {
    ValueType::Result(Box::new(ResultType { ok: Some(integer(IntegerType::U32)), err: None }))
}

/// Parses a value as an argument, and writes it as a result.
fn passed(ty: &ValueType, json: &str) -> Result<String, ArgumentError> {
    let params = [("it".to_owned(), ty.clone())];
    let arguments = arguments::parse(&params, &format!(r#"{{"it":{json}}}"#), ENOUGH)?;
    Ok(json_text(ty, &arguments.values[0], ENOUGH).unwrap())
}

#[test]
fn values_of_every_type_pass_both_ways() {
    let flags = ValueType::Flags(named(&["read", "write"]));
    let pair = ValueType::Tuple(vec![ValueType::String, integer(IntegerType::S8)]);
    let entries = list_of(ValueType::Tuple(vec![ValueType::String, ValueType::Bool]));
    for (ty, given, returned) in [
        (ValueType::Bool, "true", "true"),
        (integer(IntegerType::S8), "-128", "-128"),
        (integer(IntegerType::U8), "255", "255"),
        (integer(IntegerType::S16), "-32768", "-32768"),
        (integer(IntegerType::U16), "65535", "65535"),
        (integer(IntegerType::S32), "-2147483648", "-2147483648"),
        (integer(IntegerType::U32), "4294967295", "4294967295"),
        (integer(IntegerType::U32), "7.0", "7"),
        (integer(IntegerType::U32), "1e3", "1000"),
        (integer(IntegerType::S64), "-9007199254740991", "-9007199254740991"),
        (integer(IntegerType::S64), "-9223372036854775808", r#""-9223372036854775808""#),
        (integer(IntegerType::U64), "18446744073709551615", r#""18446744073709551615""#),
        (integer(IntegerType::U64), r#""18446744073709551615""#, r#""18446744073709551615""#),
        (integer(IntegerType::U64), r#""42""#, "42"),
        (ValueType::Float32, "0.1", "0.1"),
        (ValueType::Float32, "3", "3.0"),
        (ValueType::Float64, "-1e300", "-1e300"),
        (ValueType::Float64, "9007199254740993", "9007199254740992.0"),
        (ValueType::Char, r#""é""#, r#""é""#),
        (ValueType::Char, r#""\uD83D\uDC4B""#, "\"👋\""),
        (ValueType::String, r#""a\"\u0000b""#, r#""a\"\u0000b""#),
        (list_of(integer(IntegerType::U8)), r#""AP8=""#, r#""AP8=""#),
        (list_of(integer(IntegerType::U8)), "[0, 255]", r#""AP8=""#),
        (list_of(integer(IntegerType::S8)), "[0, -1]", "[0,-1]"),
        (ValueType::FixedLengthList(boxed(ValueType::Bool), 2), "[true, false]", "[true,false]"),
        (entries.clone(), r#"{"b":true,"a":false}"#, r#"{"b":true,"a":false}"#),
        (entries.clone(), r#"[["a",true],["b",false]]"#, r#"{"a":true,"b":false}"#),
        (entries, r#"[["a",true],["a",false]]"#, r#"[["a",true],["a",false]]"#),
        (ValueType::Map(boxed(ValueType::Char)), r#"{"b":"x","a":"y"}"#, r#"{"a":"y","b":"x"}"#),
        (person(), r#"{"age":3,"first-name":"Ada"}"#, r#"{"first-name":"Ada","age":3}"#),
        (person(), r#"{"first-name":"Ada"}"#, r#"{"first-name":"Ada","age":null}"#),
        (person(), r#"{"first-name":"Ada","age":null}"#, r#"{"first-name":"Ada","age":null}"#),
        (pair, r#"["a",-1]"#, r#"["a",-1]"#),
        (shape(), r#"{"tag":"circle","val":0.5}"#, r#"{"tag":"circle","val":0.5}"#),
        (shape(), r#"{"val":0.5,"tag":"circle"}"#, r#"{"tag":"circle","val":0.5}"#),
        (shape(), r#"{"tag":"named"}"#, r#"{"tag":"named","val":null}"#),
        (shape(), r#"{"tag":"empty"}"#, r#"{"tag":"empty"}"#),
        (ValueType::Enum(named(&["cm", "inch"])), r#""inch""#, r#""inch""#),
        (ValueType::Option(boxed(ValueType::Bool)), "null", "null"),
        (ValueType::Option(boxed(ValueType::Bool)), "false", "false"),
        (outcome(), r#"{"tag":"ok","val":1}"#, r#"{"tag":"ok","val":1}"#),
        (outcome(), r#"{"tag":"err"}"#, r#"{"tag":"err"}"#),
        (flags.clone(), "[]", "[]"),
        (flags, r#"["write","read"]"#, r#"["write","read"]"#),
    ] {
        assert_eq!(passed(&ty, given).as_deref(), Ok(returned), "{ty:?}: {given}");
    }
}

#[test]
fn infinite_results_are_null() {
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let value = wasmtime::component::Val::Float64(value);
        assert_eq!(json_text(&ValueType::Float64, &value, ENOUGH).unwrap(), "null");
    }
}

#[test]
fn invalid_arguments_are_named_with_their_place() {
    let list = ValueType::List(boxed(person()));
    for (ty, given, expected, pointer) in [
        (integer(IntegerType::U8), "256", "an integer from 0 to 255", "/it"),
        (integer(IntegerType::S32), "1.5", "an integer from -2147483648", "/it"),
        (integer(IntegerType::U64), r#""18446744073709551616""#, "an integer from 0", "/it"),
        (ValueType::Float32, "1e39", "32-bit floats", "/it"),
        (ValueType::Char, r#""ab""#, "a string of one character", "/it"),
        (ValueType::Bytes, r#""?""#, "invalid Base64", "/it"),
        (ValueType::Bytes, "[1, 256]", "an integer from 0 to 255", "/it/1"),
        (ValueType::Bool, "null", "`true` or `false`", "/it"),
        (list.clone(), r#"[{"first-name":"a"},{"age":1}]"#, "`first-name` is missing", "/it/1"),
        (list.clone(), r#"[{"first-name":"a","b":1}]"#, "unknown member `b`", "/it/0"),
        (list, r#"[{"first-name":"a","age":-1}]"#, "an integer from 0 to 255", "/it/0/age"),
        (ValueType::Tuple(vec![ValueType::Bool]), "[]", "an array of 1 elements", "/it"),
        (ValueType::Tuple(vec![ValueType::Bool]), "[true,true]", "more than 1 elements", "/it"),
        (shape(), r#"{"tag":"square"}"#, "unknown tag `square`", "/it"),
        (shape(), r#"{"tag":"circle"}"#, "`val` is missing", "/it"),
        (shape(), r#"{"tag":"empty","val":1}"#, "`empty` has no `val`", "/it"),
        (shape(), r#"{"val":1,"tag":"empty"}"#, "`empty` has no `val`", "/it"),
        (shape(), r#"{"val":"a","tag":"circle"}"#, "a number", "/it/val"),
        (shape(), r#"{"val":1}"#, "`tag` is missing", "/it"),
        (ValueType::Enum(named(&["cm"])), r#""m""#, "one of the names in the schema", "/it"),
        (ValueType::Flags(named(&["r"])), r#"["w"]"#, "one of the names in the schema", "/it/0"),
    ] {
        let error = passed(&ty, given).unwrap_err();
        let ArgumentError::Invalid { message, pointer: at } = error else { panic!("{given}: {error:?}") };
        assert!(message.contains(expected), "{given}: {message}");
        assert!(!message.contains("at line"), "{given}: {message}");
        assert_eq!(at, pointer, "{given}: {message}");
    }
}

#[test]
fn memory_of_arguments_and_length_of_results_are_limited() {
    let list = ValueType::List(boxed(ValueType::Bool));
    let params = [("it".to_owned(), list.clone())];
    let ten = r#"{"it":[true,true,true,true,true,true,true,true,true,true]}"#;
    let parsed = arguments::parse(&params, ten, ENOUGH).unwrap();
    assert!(parsed.memory > 10 * size_of::<wasmtime::component::Val>());
    assert!(arguments::parse(&params, ten, parsed.memory).is_ok());
    assert_eq!(arguments::parse(&params, ten, parsed.memory - 1).unwrap_err(), ArgumentError::TooLarge);
    for (ty, given) in [
        (ValueType::Bytes, r#"{"it":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#),
        (ValueType::String, r#"{"it":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#),
    ] {
        let parsed = arguments::parse(&[("it".to_owned(), ty)], given, 120);
        assert_eq!(parsed.unwrap_err(), ArgumentError::TooLarge, "{given}");
    }
    let text = json_text(&list, &parsed.values[0], ENOUGH).unwrap();
    assert!(json_text(&list, &parsed.values[0], text.len()).is_ok());
    let error = json_text(&list, &parsed.values[0], text.len() - 1).unwrap_err();
    assert!(error.is::<super::ValuesTooLarge>(), "{error}");
}

/// The schemas of an argument and of a result.
fn schemas(ty: &ValueType) -> [Value; 2] {
    [ValueSource::Client, ValueSource::Gateway].map(|source| {
        let text = schema_text(ty, source, ENOUGH);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    })
}

#[test]
fn schemas_describe_every_type() {
    let number = json!({ "type": "number" });
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    let base64 = json!({ "type": "string", "contentEncoding": "base64" });
    let text = json!({ "type": "string" });
    let or_null = |schema: &Value| json!({ "anyOf": [schema, { "type": "null" }] });
    let case = |tag: &str, val: Option<&Value>, required: &[&str]| {
        let mut properties = json!({ "tag": { "const": tag } });
        if let Some(val) = val {
            properties["val"] = val.clone();
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let pair = json!({
        "type": "array", "prefixItems": [text, byte], "items": false, "minItems": 2, "maxItems": 2,
    });
    let same = |schema: Value| [schema.clone(), schema];
    let long = json!({ "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": u64::MAX }, { "type": "string", "maxLength": 20 },
    ] });
    let entries = json!({ "anyOf": [
        { "type": "object", "additionalProperties": byte }, { "type": "array", "items": pair },
    ] });
    let age = or_null(&byte);
    let person_with = |required: &[&str]| {
        json!({
            "type": "object", "properties": { "first-name": text, "age": age }, "required": required,
            "additionalProperties": false,
        })
    };
    let shape_with = |circle: &Value, named: &[&str]| {
        json!({ "type": "object", "oneOf": [
            case("circle", Some(circle), &["tag", "val"]), case("named", Some(&or_null(&text)), named),
            case("empty", None, &["tag"]),
        ] })
    };
    let u8_type = || integer(IntegerType::U8);
    for (ty, expected) in [
        (ValueType::Bool, same(json!({ "type": "boolean" }))),
        (u8_type(), same(byte.clone())),
        (integer(IntegerType::U64), same(long)),
        (ValueType::Float32, [number.clone(), or_null(&number)]),
        (ValueType::Float64, [number.clone(), or_null(&number)]),
        (ValueType::Char, same(json!({ "type": "string", "minLength": 1, "maxLength": 1 }))),
        (ValueType::String, same(text.clone())),
        (
            ValueType::Bytes,
            [json!({ "anyOf": [base64, { "type": "array", "items": byte }] }), base64.clone()],
        ),
        (ValueType::List(boxed(u8_type())), same(json!({ "type": "array", "items": byte }))),
        (
            ValueType::FixedLengthList(boxed(u8_type()), 3),
            same(json!({ "type": "array", "items": byte, "minItems": 3, "maxItems": 3 })),
        ),
        (ValueType::Entries(boxed(u8_type())), same(entries)),
        (ValueType::Map(boxed(u8_type())), same(json!({ "type": "object", "additionalProperties": byte }))),
        (person(), [person_with(&["first-name"]), person_with(&["first-name", "age"])]),
        (ValueType::Tuple(vec![ValueType::String, u8_type()]), same(pair)),
        (shape(), [shape_with(&number, &["tag"]), shape_with(&or_null(&number), &["tag", "val"])]),
        (ValueType::Enum(named(&["a", "b"])), same(json!({ "type": "string", "enum": ["a", "b"] }))),
        (
            ValueType::Flags(named(&["a", "b"])),
            same(
                json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "uniqueItems": true }),
            ),
        ),
        (ValueType::Option(boxed(ValueType::String)), same(or_null(&text))),
        (ValueType::Option(boxed(ValueType::Float64)), same(or_null(&number))),
        (ValueType::Option(boxed(ValueType::Option(boxed(ValueType::String)))), same(or_null(&text))),
        (
            ValueType::Result(Box::new(ResultType { ok: Some(u8_type()), err: None })),
            same(json!({ "type": "object", "oneOf": [
                case("ok", Some(&byte), &["tag", "val"]), case("err", None, &["tag"]),
            ] })),
        ),
    ] {
        assert_eq!(schemas(&ty), expected, "{ty:?}");
    }
}

/// A component with functions that return 7, which each test exports in another way.
fn component(types: &str, exports: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
            (core module $m (memory (export "m") 1) (func (export "f") (result i32) i32.const 8))
            (core instance $i (instantiate $m))
            (alias core export $i "m" (core memory $memory))
            (func $f (result u32) (canon lift (core func $i "f")))
            (instance $none)
            (instance $calc (export "add" (func $f)) (export "mul" (func $f)))
            (instance $other (export "add" (func $f)) (export "sub" (func $f)))
            {types} {exports})"#
    ))
    .unwrap()
}

async fn load_bytes(dir: &TempDir, bytes: &[u8]) -> Result<Arc<WasmPlugin>, LoadError> {
    load_file(&host(dir.path()), &Arc::new(config(dir.path(), bytes))).await
}

async fn call(plugin: &WasmPlugin, name: &str, args: &str) -> Result<ToolResult, CallError> {
    let context = Arc::new(CallContext::internal(Caller::Local));
    match plugin.call_tool(context, &ToolName::new(name).unwrap(), args).await? {
        Outcome::Done(result) => Ok(result),
        Outcome::NeedInput(asked) => panic!("asked {asked:?}"),
    }
}

fn tool_names(plugin: &WasmPlugin) -> Vec<&str> {
    plugin.manifest().tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn functions_have_the_shortest_unique_name() {
    let dir = TempDir::new().unwrap();
    let exports = r#"(export "calc" (instance $calc)) (export "docs:maths/other@1.0.0" (instance $other))
        (export "sum" (func $f)) (export "wasi:cli/run@0.2.0" (instance $calc))"#;
    let plugin = load_bytes(&dir, &component("", exports)).await.unwrap();
    assert_eq!(tool_names(&plugin), ["calc.add", "mul", "other.add", "sub", "sum"]);
    assert!(plugin.manifest().rejected.is_empty());
    for name in ["calc.add", "sub", "sum"] {
        let result = call(&plugin, name, "{}").await.unwrap();
        assert_eq!(result.content, [Content::text("8")]);
        assert_eq!(result.structured.unwrap().get(), "8");
    }
    let description = &plugin.manifest().tools[2].description;
    assert_eq!(description, "Call the function `add` of `docs:maths/other@1.0.0`.");
}

#[tokio::test]
async fn functions_with_the_same_name_are_refused() {
    let dir = TempDir::new().unwrap();
    let exports =
        r#"(export "docs:a/calc@1.0.0" (instance $calc)) (export "docs:b/calc@1.0.0" (instance $other))"#;
    let plugin = load_bytes(&dir, &component("", exports)).await.unwrap();
    assert_eq!(tool_names(&plugin), ["mul", "sub"]);
    let rejected: Vec<_> =
        plugin.manifest().rejected.iter().map(|item| (&*item.name, &*item.reason)).collect();
    let reason =
        |interface| format!("several exported functions have this name, one of them in `{interface}`");
    let (first, second) = (reason("docs:a/calc@1.0.0"), reason("docs:b/calc@1.0.0"));
    assert_eq!(rejected, [("calc.add", &*first), ("calc.add", &*second)]);
}

#[tokio::test]
async fn components_without_functions_are_explained() {
    for (exports, message, hint) in [
        ("", "the component exports no interface of moongate:plugin and no functions", "export functions"),
        (
            r#"(export "wasi:cli/run@0.2.3" (instance $none))"#,
            "the component is a command-line program (it exports `wasi:cli/run`), and exports no other functions",
            "wasmtime run",
        ),
        (
            r#"(export "wasi:http/incoming-handler@0.2.0" (instance $none))"#,
            "the component is an HTTP server (it exports `wasi:http/incoming-handler`), and exports no other functions",
            "wasmtime serve",
        ),
    ] {
        let dir = TempDir::new().unwrap();
        let error = load_bytes(&dir, &component("", exports)).await.unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(error.is_final());
        let found = error.hint(PathOrigin::CommandLine).unwrap();
        assert!(found.contains(hint), "{found}");
    }
}

#[tokio::test]
async fn components_with_too_many_functions_are_refused() {
    let exports: String =
        (0..=super::MAX_FUNCTIONS).map(|index| format!(r#"(export "f{index}" (func $f))"#)).collect();
    let dir = TempDir::new().unwrap();
    let error = load_bytes(&dir, &component("", &exports)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid plugin description: the component exports more than 10000 functions"
    );
}

/// A component with this section `package-docs`.
fn documented(section: &[u8]) -> Vec<u8> {
    let mut bytes =
        component("", r#"(export "docs:a/calc@1.0.0" (instance $calc)) (export "sum" (func $f))"#);
    let name = b"package-docs";
    let length = 1 + name.len() + section.len();
    bytes.extend([0, u8::try_from(length % 128).unwrap() | 0x80, u8::try_from(length / 128).unwrap()]);
    bytes.push(u8::try_from(name.len()).unwrap());
    bytes.extend(name);
    bytes.extend(section);
    bytes
}

#[tokio::test]
async fn documentation_in_the_component_describes_functions() {
    let old = r#"{"interfaces":{"calc":{"funcs":{"add":"Adds."}}},"worlds":{"w":{"funcs":{"sum":"Sums."}}}}"#;
    let new = r#"{"docs":"x","interfaces":{"calc":{"docs":"y","funcs":{"add":{"docs":"Adds."},"mul":{"stability":1}}}},
        "worlds":{"w":{"func_exports":{"sum":{"docs":"Sums."}},"interface_exports":{}}}}"#;
    for (version, json, expected) in [
        (0, old, ["Adds.", "Sums."]),
        (1, new, ["Adds.", "Sums."]),
        (2, new, ["Call the function `add` of `docs:a/calc@1.0.0`.", "Call the function `sum`."]),
        (1, "[", ["Call the function `add` of `docs:a/calc@1.0.0`.", "Call the function `sum`."]),
    ] {
        let dir = TempDir::new().unwrap();
        let bytes = documented(&[&[version], json.as_bytes()].concat());
        let plugin = load_bytes(&dir, &bytes).await.unwrap();
        let found = ["add", "sum"].map(|name| {
            let mut tools = plugin.manifest().tools.iter();
            tools.find(|tool| tool.name.as_str() == name).unwrap().description.as_str()
        });
        assert_eq!(found, expected, "version {version}");
        // The documentation isn't in the compiled code.
        let again = plugin.describe_again().await.unwrap();
        assert_eq!(again.manifest(), plugin.manifest());
    }
}

/// Functions whose results have these types.
fn returning(types: &str, names: &[&str]) -> Vec<u8> {
    let mut exports = r#"(export "good" (func $f))"#.to_owned();
    for (index, name) in names.iter().enumerate() {
        let _ = write!(
            exports,
            r#"(func $g{index} (result {name}) (canon lift (core func $i "f") (memory $memory)))
               (export "g{index}" (func $g{index}))"#
        );
    }
    component(types, &exports)
}

#[tokio::test]
async fn functions_with_too_large_types_are_refused_alone() {
    let mut types = "(type $o0 (option u8)) (type $t0 (tuple u8 u8))".to_owned();
    for level in 1..40 {
        let _ = write!(types, "(type $o{level} (option $o{}))", level - 1);
    }
    for level in 1..17 {
        let below = level - 1;
        let _ = write!(types, "(type $t{level} (tuple $t{below} $t{below}))");
    }
    let dir = TempDir::new().unwrap();
    let plugin = load_bytes(&dir, &returning(&types, &["$o39", "$t16", "$t12"])).await.unwrap();
    assert_eq!(tool_names(&plugin), ["good"]);
    let reasons: Vec<_> = plugin.manifest().rejected.iter().map(|item| &*item.reason).collect();
    for (reason, part) in reasons.iter().zip(["more than 32 levels deep", "too large", "limits.schema"]) {
        assert!(reason.contains(part), "{reasons:?}");
    }
}

#[tokio::test]
async fn larger_schemas_than_the_limit_name_it() {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path(), &returning("(type $t (tuple u64 u64 u64 u64))", &["$t"; 20]));
    config.limits.transfer = ByteSize::b(4000);
    let error = load_file(&host(dir.path()), &Arc::new(config)).await.unwrap_err();
    assert!(error.to_string().contains("the schemas of all functions are larger"), "{error}");
    assert!(error.hint(PathOrigin::CommandLine).unwrap().contains("transfer"));
}

#[tokio::test]
async fn wrong_arguments_and_large_values_end_only_the_call() {
    let list = r#"(component
        (core module $m (memory (export "m") 8)
            (global $next (mut i32) (i32.const 64))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $next) (global.set $next (i32.add (global.get $next) (local.get 3))))
            (func (export "count") (param i32 i32) (result i32) (local.get 1))
            (func (export "many") (param i32) (result i32)
                (i32.store (i32.const 4) (local.get 0)) (i32.const 0)))
        (core instance $i (instantiate $m))
        (alias core export $i "m" (core memory $memory))
        (alias core export $i "realloc" (core func $realloc))
        (func (export "count") (param "bytes" (list u8)) (result u32)
            (canon lift (core func $i "count") (memory $memory) (realloc $realloc)))
        (func (export "many") (param "count" u32) (result (list u8))
            (canon lift (core func $i "many") (memory $memory))))"#;
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path(), &wat::parse_str(list).unwrap());
    config.limits.transfer = ByteSize::kib(64);
    let host = host(dir.path());
    let plugin = load_file(&host, &Arc::new(config)).await.unwrap();
    let result = call(&plugin, "count", r#"{"bytes":[1,2,3]}"#).await.unwrap();
    assert_eq!(result.structured.unwrap().get(), "3");
    let error = call(&plugin, "count", r#"{"bytes":"a"}"#).await.unwrap_err();
    let CallError::Refused(PluginError::InvalidParams(detail)) = &error else { panic!("{error:?}") };
    assert_eq!(detail.pointer.as_deref(), Some("/bytes"));
    let large = format!(r#"{{"bytes":"{}"}}"#, "AAAA".repeat(1000));
    let error = call(&plugin, "count", &large).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge(65_536)), "{error:?}");
    assert!(call(&plugin, "many", r#"{"count":1000}"#).await.is_ok());
    let error = call(&plugin, "many", r#"{"count":10000}"#).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge(65_536)), "{error:?}");
    assert_eq!(host.gauges(), idle_gauges());
}

/// Without an index, each value would be compared with every name, and a call can't be interrupted while its
/// arguments are read.
#[test]
fn long_lists_of_names_are_searched_once_per_call() {
    const NAMES: usize = 10_000;
    let names: Vec<String> = (0..NAMES).map(|number| format!("name-{number}")).collect();
    let cases = names.iter().map(|name| (name.clone(), None)).collect();
    let fields = names.iter().map(|name| (name.clone(), ValueType::Option(boxed(ValueType::Bool)))).collect();
    let last = names.last().unwrap();
    let (name, case) = (format!("\"{last}\""), format!("{{\"tag\":\"{last}\"}}"));
    let backwards: Vec<_> = names.iter().rev().map(|name| format!("\"{name}\":true")).collect();
    let record = format!("{{{}}}", backwards.join(","));
    for (ty, value, times) in [
        (ValueType::Enum(names.clone()), name, 100_000),
        (ValueType::Variant(cases), case, 100_000),
        (ValueType::Record(fields), record, 10),
    ] {
        let ty = list_of(ty);
        let json = format!("[{}]", vec![value; times].join(","));
        let params = [("it".to_owned(), ty.clone())];
        let started = thread_cpu_time();
        let parsed = arguments::parse(&params, &format!(r#"{{"it":{json}}}"#), usize::MAX).unwrap();
        json_text(&ty, &parsed.values[0], usize::MAX).unwrap();
        // A billion comparisons would take many times as long, even without optimisation.
        let used = thread_cpu_time() - started;
        assert!(used < Duration::from_secs(10), "{used:?}");
    }
}

/// Values before their tags once were copied at each level of nesting.
#[test]
fn values_before_their_tags_are_passed() {
    let ty = |inner| ValueType::Variant(vec![("more".to_owned(), Some(inner)), ("end".to_owned(), None)]);
    let deep = (0..10).fold(ValueType::String, |inner, _| ty(inner));
    let json =
        (0..10).fold("\"a\\u0041\"".to_owned(), |inner, _| format!("{{\"val\":{inner},\"tag\":\"more\"}}"));
    let written =
        (0..10).fold("\"aA\"".to_owned(), |inner, _| format!("{{\"tag\":\"more\",\"val\":{inner}}}"));
    assert_eq!(passed(&deep, &json), Ok(written));
    let wrong = r#"{"val":{"val":7,"tag":"more"},"tag":"more"}"#;
    assert!(
        matches!(passed(&ty(ty(ValueType::String)), wrong), Err(ArgumentError::Invalid { pointer, .. }) if pointer == "/it/val/val")
    );
}
