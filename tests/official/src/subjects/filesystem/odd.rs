//! Fixed calls, for cases that random calls don't produce.

use anyhow::Result;
use serde_json::{Value, json};

use super::Both;

mod patterns;

/// A named check that starts with empty directories.
type Check = (&'static str, fn(&mut Both<'_, '_>) -> Result<()>);

pub(super) const CHECKS: &[Check] = &[
    ("unusual paths", paths),
    ("first and last lines", lines),
    ("binary content", bytes),
    ("edits", edits),
    ("moves and directories", moves),
    ("links", links),
    ("Unicode normalization of names", accents),
    ("patterns", patterns),
    ("lists and sizes", lists),
    ("permissions", permissions),
    ("invalid arguments", arguments),
];

fn paths(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("a.txt", b"one\n")?;
    both.write("sub/b.txt", b"two\n")?;
    let root = both.path("");
    let odd = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "/".to_owned(),
        "a.txt".to_owned(),
        "./sub/../a.txt".to_owned(),
        "sub//b.txt".to_owned(),
        "sub/b.txt/".to_owned(),
        "a.txt/more".to_owned(),
        "gone/more".to_owned(),
        "~".to_owned(),
        "~/a.txt".to_owned(),
        "C:\\a.txt".to_owned(),
        "a\0b".to_owned(),
        " a.txt".to_owned(),
        "../theirs/a.txt".to_owned(),
        format!("{root}/../theirs/a.txt"),
        format!("{root}x/a.txt"),
        format!("{root}/a.txt"),
        "/etc/hostname".to_owned(),
        "x".repeat(300),
    ];
    for path in &odd {
        for tool in ["read_file", "list_directory", "directory_tree", "get_file_info", "read_media_file"] {
            both.call(tool, &json!({ "path": path }))?;
        }
        both.call("search_files", &json!({ "path": path, "pattern": "**" }))?;
        both.call("write_file", &json!({ "path": path, "content": "new" }))?;
        both.call("create_directory", &json!({ "path": path }))?;
        both.call("edit_file", &json!({ "path": path, "edits": [{ "oldText": "two", "newText": "2" }] }))?;
        both.call("move_file", &json!({ "source": path, "destination": "sub/a.txt" }))?;
        both.call("move_file", &json!({ "source": "sub/a.txt", "destination": path }))?;
    }
    both.call("read_multiple_files", &json!({ "paths": odd }))?;
    both.call("list_allowed_directories", &json!({}))
}

fn lines(both: &mut Both<'_, '_>) -> Result<()> {
    let long: String = (0..5000).map(|at| format!("line {at} of a long file, ü\n")).collect();
    for content in
        ["", "\n", "\n\n", "one", "one\n", "one\ntwo\n", "one\r\ntwo\r\nthree", "\u{feff}one\n\n\ntwo", &long]
    {
        both.write("a.txt", content.as_bytes())?;
        for count in [0.0, 1.0, 2.0, 3.0, 4.0, 2500.0, 5000.0, 5001.0, 1e9] {
            for which in ["head", "tail"] {
                both.call("read_text_file", &json!({ "path": "a.txt", which: count }))?;
            }
        }
    }
    for odd in [json!(-1), json!(1.5), json!(0.5), json!("1"), json!(null)] {
        for which in ["head", "tail"] {
            both.call("read_file", &json!({ "path": "a.txt", which: odd }))?;
        }
    }
    for (head, tail) in [(1, 1), (0, 1), (1, 0)] {
        both.call("read_text_file", &json!({ "path": "a.txt", "head": head, "tail": tail }))?;
    }
    Ok(())
}

fn bytes(both: &mut Both<'_, '_>) -> Result<()> {
    let all: Vec<u8> = (0..=255).collect();
    let cut = b"caf\xe9\n\xe2\x82\n\xf0\x9f\x98\n\xed\xa0\x80\n\xc0\xaf ok\n".to_vec();
    for (name, content) in
        [("all.bin", &all), ("cut.txt", &cut), ("a.PNG", &all), ("b.jpeg", &all), ("c.svg", &cut)]
    {
        both.write(name, content)?;
        both.call("read_media_file", &json!({ "path": name }))?;
        for args in [json!({}), json!({ "head": 2 }), json!({ "tail": 3 })] {
            let mut args = args;
            args["path"] = json!(name);
            both.call("read_text_file", &args)?;
        }
    }
    for name in [
        "d.mp3",
        "e.wav",
        "f.flac",
        "g.ogg",
        "h.webp",
        "i.bmp",
        "j.gif",
        "k.tar.gz",
        ".png",
        "sp ace%#?ü.bin",
        "[x]'^|~.bin",
    ] {
        both.write(name, b"\x00\x01")?;
        both.call("read_media_file", &json!({ "path": name }))?;
    }
    Ok(())
}

fn edit(both: &mut Both<'_, '_>, edits: &[(&str, &str)]) -> Result<()> {
    let edits: Vec<Value> =
        edits.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect();
    for dry in [true, false] {
        both.call("edit_file", &json!({ "path": "a.txt", "edits": edits, "dryRun": dry }))?;
    }
    Ok(())
}

fn edits(both: &mut Both<'_, '_>) -> Result<()> {
    let code = "fn main() {\n    if ready {\n        go();\n\t\tstop();\n    }\n}\n\n```\nend";
    for edits in [
        &[("go();", "run();\n        jump();")][..],
        &[("if ready {\n    go();", "if !ready {\n        wait();\n    more();\nplain")],
        &[("  stop();  ", "halt();")],
        &[("", "first\n")],
        &[("end", "end\n")],
        &[("\n\n", "\n")],
        &[("```", "`````")],
        &[("gone", "x")],
        &[("go();", "one"), ("gone", "x")],
        &[("go();", "one();"), ("one();", "two();"), ("main", "$& $1 main")],
        &[("go();\r\n\t\tstop();", "a\r\nb")],
        &[("\u{a0}go();\u{feff}", "nbsp();")],
        &[(code, "")],
        &[],
    ] {
        both.write("a.txt", code.as_bytes())?;
        edit(both, edits)?;
    }
    both.write("a.txt", b"")?;
    edit(both, &[("", "new")])?;
    both.write("a.txt", "one\r\ntwo\r\nthree\r\n".as_bytes())?;
    edit(both, &[("two", "2\n2.5")])?;
    both.write("a.txt", b"caf\xe9\none\ntwo\n")?;
    edit(both, &[("one", "1")])?;
    both.write("a.txt", b"caf\xe9\none\ntwo\n")?;
    edit(both, &[("caf", "tea")])?;
    both.write("sub/x", b"")?;
    both.call("edit_file", &json!({ "path": "sub", "edits": [] }))
}

fn moves(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("a.txt", b"a")?;
    both.write("b.txt", b"b")?;
    both.write("sub/deep/c.txt", b"c")?;
    both.write("empty/x", b"")?;
    for (from, to) in [
        ("a.txt", "b.txt"),
        ("a.txt", "sub"),
        ("a.txt", "a.txt"),
        ("sub", "sub/deep/inside"),
        ("sub", "a.txt"),
        ("gone", "new"),
        ("a.txt", "gone/a.txt"),
        ("a.txt", "b.txt/c"),
        ("a.txt", "sub/deep/"),
        ("a.txt", "/etc/a.txt"),
        ("/etc/hostname", "h"),
        ("sub/deep", "moved"),
        ("a.txt", "moved/a.txt"),
        ("moved", "sub/moved"),
    ] {
        both.call("move_file", &json!({ "source": from, "destination": to }))?;
    }
    for path in ["new", "new", "one/two/three", "b.txt", "b.txt/x", "sub/../other", "x/y/"] {
        both.call("create_directory", &json!({ "path": path }))?;
    }
    Ok(())
}

fn links(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("sub/a.txt", b"one\n")?;
    both.link("sub", "dir")?;
    both.link("sub/a.txt", "file")?;
    both.link("../sub/a.txt", "sub/up")?;
    both.link("gone", "dangling")?;
    both.link("self", "self")?;
    both.link("/etc", "out")?;
    both.link("../../..", "sub/far")?;
    both.link(&both.path("sub/a.txt"), "absolute")?;
    both.call("directory_tree", &json!({ "path": "." }))?;
    both.call("list_directory", &json!({ "path": "." }))?;
    for path in
        ["dir", "dir/a.txt", "file", "sub/up", "dangling", "self", "out/hostname", "sub/far/etc", "absolute"]
    {
        both.call("read_text_file", &json!({ "path": path }))?;
        both.call("list_directory", &json!({ "path": path }))?;
        both.call(
            "edit_file",
            &json!({ "path": path, "edits": [{ "oldText": "one", "newText": "two" }], "dryRun": true }),
        )?;
    }
    for path in ["dir/a.txt", "file", "dir/new.txt", "dangling"] {
        both.call("write_file", &json!({ "path": path, "content": "new\n" }))?;
    }
    both.call("move_file", &json!({ "source": "dir/new.txt", "destination": "dir/newer.txt" }))?;
    both.call("move_file", &json!({ "source": "file", "destination": "taken" }))
}

fn accents(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("caf\u{e9}/x.txt", b"x")?;
    both.write("\u{212b}", b"1")?;
    both.write("A\u{30a}", b"2")?;
    for path in ["cafe\u{301}/x.txt", "cafe\u{301}/new.txt", "\u{c5}", "\u{212b}", "\u{fc}ber"] {
        both.call("read_file", &json!({ "path": path }))?;
        both.call("write_file", &json!({ "path": path, "content": "new" }))?;
    }
    both.call("search_files", &json!({ "path": ".", "pattern": "**/*\u{e9}*" }))
}

fn patterns(both: &mut Both<'_, '_>) -> Result<()> {
    for name in patterns::FILES {
        both.write(name, b"")?;
    }
    for pattern in patterns::PATTERNS {
        both.call("search_files", &json!({ "path": ".", "pattern": pattern }))?;
        both.call("search_files", &json!({ "path": ".", "pattern": "**", "excludePatterns": [pattern] }))?;
        both.call("directory_tree", &json!({ "path": ".", "excludePatterns": [pattern] }))?;
        both.call("search_files", &json!({ "path": both.path("src"), "pattern": pattern }))?;
    }
    let many = json!(["**/*.md", "node_modules", ".git"]);
    both.call("directory_tree", &json!({ "path": both.path(""), "excludePatterns": many }))?;
    both.call("search_files", &json!({ "path": ".", "pattern": "**/*", "excludePatterns": many }))
}

fn lists(both: &mut Both<'_, '_>) -> Result<()> {
    for (name, size) in [
        ("zero", 0),
        ("byte", 1),
        ("k", 1024),
        ("less", 1023),
        ("half", 1536),
        ("odd", 1152),
        ("large", 300_000),
        ("a-very-long-name-that-is-longer-than-thirty-characters.txt", 5),
        ("Upper", 3),
        ("upper", 3),
        ("\u{e9}t\u{e9}", 9),
        ("sp ace", 2),
        ("_x", 1),
        ("-y", 1),
        ("10", 1),
        ("9", 1),
        ("\u{1f600}.txt", 4),
        ("sub/x", 1),
        ("Sub/x", 1),
    ] {
        both.write(name, &vec![b'x'; size])?;
    }
    for sort in
        [json!({}), json!({ "sortBy": "name" }), json!({ "sortBy": "size" }), json!({ "sortBy": "date" })]
    {
        let mut sort = sort;
        sort["path"] = json!(".");
        both.call("list_directory_with_sizes", &sort)?;
    }
    both.call("list_directory", &json!({ "path": "." }))?;
    for path in ["zero", "sub", ".", "large"] {
        both.call("get_file_info", &json!({ "path": path }))?;
        both.call("list_directory_with_sizes", &json!({ "path": path }))?;
    }
    Ok(())
}

fn permissions(both: &mut Both<'_, '_>) -> Result<()> {
    for directory in [&both.theirs, &both.ours] {
        directory.write("run.sh", b"echo\n")?;
        directory.executable("run.sh")?;
    }
    both.call("write_file", &json!({ "path": "run.sh", "content": "echo 2\n" }))
}

fn arguments(both: &mut Both<'_, '_>) -> Result<()> {
    both.write("a.txt", b"one\n")?;
    for (tool, args) in [
        ("read_text_file", json!({})),
        ("read_text_file", json!({ "path": 1 })),
        ("read_text_file", json!({ "path": null })),
        ("read_text_file", json!({ "path": "a.txt", "more": true })),
        ("read_multiple_files", json!({ "paths": [] })),
        ("read_multiple_files", json!({ "paths": "a.txt" })),
        ("read_multiple_files", json!({ "paths": ["a.txt", 1] })),
        ("write_file", json!({ "path": "a.txt" })),
        ("write_file", json!({ "path": "a.txt", "content": 1 })),
        ("edit_file", json!({ "path": "a.txt" })),
        ("edit_file", json!({ "path": "a.txt", "edits": [{ "oldText": "one" }] })),
        ("edit_file", json!({ "path": "a.txt", "edits": {}, "dryRun": "yes" })),
        ("directory_tree", json!({ "path": ".", "excludePatterns": "x" })),
        ("search_files", json!({ "path": "." })),
        ("move_file", json!({ "source": "a.txt" })),
        ("list_allowed_directories", json!({ "more": 1 })),
        ("no_such_tool", json!({})),
    ] {
        both.call(tool, &args)?;
    }
    Ok(())
}
