//! Comparison of the contract with MCP: every member of an object that a plugin returns has a field, required or
//! optional as in MCP.
//!
//! A missing field can't be added later without breaking every existing plugin. The tables list the members in MCP's
//! newest revision (2026-07-28).

use std::collections::BTreeSet;
use std::path::Path;

use wit_parser::{Docs, Record, Resolve, Type, TypeDefKind};

/// An MCP object and its record. A member is `name`, or `name=field` if the field has a different name.
struct Row {
    object: &'static str,
    record: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

const fn row(
    object: &'static str,
    record: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> Row {
    Row { object, record, required, optional }
}

// Without `type` and `resultType`, which are expressed by the variant's case.
const ROWS: &[Row] = &[
    row(
        "Implementation",
        "plugin-info",
        &["name", "version"],
        &["title", "description", "websiteUrl", "icons"],
    ),
    row(
        "Tool",
        "tool",
        &["name", "inputSchema"],
        &["title", "description", "outputSchema", "annotations", "icons", "_meta"],
    ),
    row(
        "ToolAnnotations",
        "tool-annotations",
        &[],
        &[
            "title",
            "readOnlyHint=read-only",
            "destructiveHint=destructive",
            "idempotentHint=idempotent",
            "openWorldHint=open-world",
        ],
    ),
    row("CallToolResult", "call-result", &["content"], &["structuredContent=structured", "isError", "_meta"]),
    row(
        "Resource",
        "resource-info",
        &["uri", "name"],
        &["title", "description", "mimeType", "size", "icons", "annotations", "_meta"],
    ),
    row(
        "ResourceLink",
        "resource-info",
        &["uri", "name"],
        &["title", "description", "mimeType", "size", "icons", "annotations", "_meta"],
    ),
    row(
        "ResourceTemplate",
        "resource-template",
        &["uriTemplate", "name"],
        &["title", "description", "mimeType", "icons", "annotations", "_meta"],
    ),
    row("TextResourceContents", "resource-contents", &["uri", "text=body"], &["mimeType", "_meta"]),
    row("BlobResourceContents", "resource-contents", &["uri", "blob=body"], &["mimeType", "_meta"]),
    // The last two are required in MCP; if a plugin omits them, the gateway sends "no caching".
    row("ReadResourceResult", "read-result", &["contents"], &["_meta", "ttlMs", "cacheScope=shareable"]),
    row("Prompt", "prompt", &["name"], &["title", "description", "arguments=args", "icons", "_meta"]),
    row("PromptArgument", "prompt-argument", &["name"], &["title", "description", "required"]),
    row("PromptMessage", "prompt-message", &["role", "content"], &[]),
    row("GetPromptResult", "prompt-result", &["messages"], &["description", "_meta"]),
    row("TextContent", "text-content", &["text"], &["annotations", "_meta"]),
    row("ImageContent", "media-content", &["data", "mimeType"], &["annotations", "_meta"]),
    row("AudioContent", "media-content", &["data", "mimeType"], &["annotations", "_meta"]),
    row("EmbeddedResource", "embedded-resource", &["resource=contents"], &["annotations", "_meta"]),
    row("Annotations", "annotations", &[], &["audience", "priority", "lastModified"]),
    row("Icon", "icon", &["src"], &["mimeType", "sizes", "theme"]),
    // An MCP result can contain state without questions. Here, that is an empty list.
    row("InputRequiredResult", "need-input", &["inputRequests=requests"], &["requestState=state", "_meta"]),
    row("CompleteResult.completion", "completion", &["values"], &["total", "hasMore"]),
];

/// Fields that aren't in MCP: `meta` and `extra`, and fields for the gateway.
const OURS: &[(&str, &str)] = &[
    ("plugin-info", "instructions"),
    ("plugin-info", "config-schema"),
    ("plugin-info", "meta"),
    ("completion", "meta"), // of the result around it
];

fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")).unwrap();
    resolve
}

fn record<'a>(resolve: &'a Resolve, name: &str) -> &'a Record {
    let found = resolve.types.iter().find_map(|(_, ty)| match &ty.kind {
        TypeDefKind::Record(record) if ty.name.as_deref() == Some(name) => Some(record),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("there is no record `{name}`"))
}

fn is_option(resolve: &Resolve, ty: Type) -> bool {
    matches!(ty, Type::Id(id) if matches!(resolve.types[id].kind, TypeDefKind::Option(_)))
}

/// `mimeType` → `mime-type`, `_meta` → `meta`, `a=b` → `b`.
fn field_of(member: &str) -> String {
    if let Some((_, field)) = member.split_once('=') {
        return field.to_owned();
    }
    let mut field = String::new();
    for c in member.trim_start_matches('_').chars() {
        if c.is_ascii_uppercase() {
            field.push('-');
        }
        field.push(c.to_ascii_lowercase());
    }
    field
}

#[test]
fn every_member_has_a_field() {
    let resolve = contract();
    for Row { object, record: name, required, optional } in ROWS {
        let fields = &record(&resolve, name).fields;
        for (members, may_be_absent) in [(required, false), (optional, true)] {
            for member in *members {
                let field = fields.iter().find(|field| field.name == field_of(member));
                let field = field.unwrap_or_else(|| panic!("{object}.{member} has no field in `{name}`"));
                assert_eq!(is_option(&resolve, field.ty), may_be_absent, "{object}.{member} in `{name}`");
            }
        }
    }
}

#[test]
fn every_record_has_a_field_for_future_members() {
    let resolve = contract();
    for Row { record: name, .. } in ROWS {
        let last = record(&resolve, name).fields.last().unwrap();
        assert_eq!(last.name, "extra", "`{name}` must end with it");
    }
}

#[test]
fn every_field_is_in_mcp() {
    let resolve = contract();
    for name in ROWS.iter().map(|row| row.record).collect::<BTreeSet<_>>() {
        let rows = ROWS.iter().filter(|row| row.record == name);
        let known: BTreeSet<String> = rows
            .flat_map(|row| row.required.iter().chain(row.optional))
            .map(|member| field_of(member))
            .collect();
        for field in &record(&resolve, name).fields {
            let ours = field.name == "extra" || OURS.contains(&(name, field.name.as_str()));
            assert!(ours || known.contains(&field.name), "`{name}.{}` isn't in MCP", field.name);
        }
    }
}

#[test]
fn everything_has_a_description() {
    let resolve = contract();
    let described = |docs: &Docs, what: String| {
        assert!(
            docs.contents.as_ref().is_some_and(|text| !text.trim().is_empty()),
            "{what} has no description"
        );
    };
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.as_deref().unwrap();
        described(&interface.docs, name.to_owned());
        for function in interface.functions.values() {
            described(&function.docs, format!("{name}.{}", function.name));
        }
        for id in interface.types.values() {
            let ty = &resolve.types[*id];
            let name = ty.name.as_deref().unwrap();
            let members: Vec<(&str, &Docs)> = match &ty.kind {
                TypeDefKind::Type(_) if ty.docs.contents.is_none() => continue, // `use`
                TypeDefKind::Record(record) => {
                    record.fields.iter().map(|field| (&*field.name, &field.docs)).collect()
                }
                TypeDefKind::Variant(variant) => {
                    variant.cases.iter().map(|case| (&*case.name, &case.docs)).collect()
                }
                TypeDefKind::Enum(cases) => {
                    cases.cases.iter().map(|case| (&*case.name, &case.docs)).collect()
                }
                _ => Vec::new(),
            };
            described(&ty.docs, name.to_owned());
            for (member, docs) in members {
                described(docs, format!("{name}.{member}"));
            }
        }
    }
}

/// Reserved words of languages, which bindings would have to rename.
const RESERVED: &str = "
    abstract alignas alignof and arguments as assert async auto await base become bool boolean box break byte case catch
    chan char checked class concept const constexpr continue crate debugger decimal def default defer del delete do double
    dyn elif else enum eval event except explicit export extends extern fallthrough false final finally fixed float fn for
    foreach friend from func function gen global go goto if impl implements implicit import in inline instanceof int
    interface internal is lambda let lock long loop macro map match mod module move mut mutable namespace native new nil
    none nonlocal not null object operator or override package pass priv private protected pub public raise range
    readonly ref register requires restrict return sealed select self short signed sizeof static string struct super
    switch synchronized template this throw throws trait transient true try type typedef typeof typename undefined union
    unsafe unsigned unsized use using var virtual void volatile where while with yield";

#[test]
fn no_name_is_a_reserved_word() {
    let reserved: BTreeSet<&str> = RESERVED.split_whitespace().collect();
    let resolve = contract();
    let mut names = BTreeSet::new();
    for (_, interface) in &resolve.interfaces {
        let package = &resolve.packages[interface.package.unwrap()].name;
        if package.namespace != "moongate" {
            continue; // WASI's names are WASI's
        }
        names.extend(interface.name.clone());
        names.extend(interface.types.keys().cloned());
        for function in interface.functions.values() {
            names.insert(function.name.clone());
            names.extend(function.params.iter().map(|param| param.name.clone()));
        }
        for id in interface.types.values() {
            // The cases of other variants are qualified by their type in every language.
            if let TypeDefKind::Record(record) = &resolve.types[*id].kind {
                names.extend(record.fields.iter().map(|field| field.name.clone()));
            }
        }
    }
    let bad: Vec<&String> = names.iter().filter(|name| reserved.contains(name.as_str())).collect();
    assert!(bad.is_empty(), "{bad:?}");
}
