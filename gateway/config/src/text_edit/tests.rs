//! Edits of TOML texts, compared with what a person would have done.

use super::*;

const FILE: &str = "\
# The whole file.

version = 1 # the format

# About a.
[plugins.a]
source = \"a.wasm\" # its source

# Its grants.
[plugins.a.allow]
http = [
    \"https://example.com\",
]

# Between.

# About b.
[plugins.b]
source = 'b.wasm'
# The end.
";

#[test]
fn removing_what_was_added_restores_the_text() {
    let block = "[plugins.new]\nsource = \"builtin:time\"\n\n[plugins.new.allow]\nstate = true\n";
    for text in [FILE, "version = 1\n", "", "# only a comment\n", "version = 1\n\n[gateway]\nstate = \"s\"\n"]
    {
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let added = append_block(&text, block);
            assert!(contains_table(&added, &["plugins", "new", "allow"]).unwrap(), "{added}");
            assert_eq!(added.contains("\r\n"), text.contains("\r\n"));
            assert_eq!(remove_table(&added, &["plugins", "new"]).unwrap().unwrap(), text);
        }
    }
    let unfinished = append_block("version = 1", block);
    assert_eq!(remove_table(&unfinished, &["plugins", "new"]).unwrap().unwrap(), "version = 1\n");
}

#[test]
fn removes_a_table_with_its_comments_and_nothing_else() {
    let without_a = remove_table(FILE, &["plugins", "a"]).unwrap().unwrap();
    assert_eq!(
        without_a,
        "# The whole file.\n\nversion = 1 # the format\n\n# Between.\n\n# About b.\n[plugins.b]\nsource = 'b.wasm'\n# The end.\n"
    );
    let without_b = remove_table(FILE, &["plugins", "b"]).unwrap().unwrap();
    assert!(without_b.ends_with("]\n\n# Between.\n\n# The end.\n"), "{without_b}");
    assert_eq!(remove_table(FILE, &["plugins", "c"]).unwrap(), None);
    assert_eq!(remove_table("x = ", &["x"]), Err(TextEditError::InvalidToml));
}

#[test]
fn removes_tables_in_every_form() {
    let kept = "version = 1\n[other]\nx = 1\n";
    for form in [
        "[plugins.a]\nsource = 'a'\n[plugins.a.allow]\ndirs = [{ host = 'x' }]\n",
        "[plugins.a.allow]\nenv = ['A']\n",
        "[plugins]\na = { source = 'a', config = { b = 1 } }\n",
        "[plugins]\na.source = 'a'\na.allow.env = [\n  'A', # one\n  'B',\n]\n",
        "[[plugins.a.list]]\nx = 1\n[[plugins.a.list]]\nx = 2\n",
        "[plugins.a]\ntext = \"\"\"\n[not.a.header]\n# not a comment\n\"\"\"\n",
        "[plugins.'a']\n",
    ] {
        let text = format!("{kept}{form}");
        let edited = remove_table(&text, &["plugins", "a"]).unwrap().unwrap();
        assert!(edited.starts_with(kept), "{edited}");
        assert!(["", "[plugins]\n"].contains(&&edited[kept.len()..]), "{edited}");
    }
    let dotted = "plugins.a.source = 'a'\nplugins.b.source = 'b'\n";
    assert_eq!(remove_table(dotted, &["plugins", "a"]).unwrap().unwrap(), "plugins.b.source = 'b'\n");
    let inline = "plugins = { a = { source = 'a' }, b = { source = 'b' } }\n";
    assert_eq!(remove_table(inline, &["plugins", "a"]), Err(TextEditError::InlineTable));
}

#[test]
fn keeps_tables_between_the_parts_of_a_removed_one() {
    let text = "version = 1\n\n[plugins.a]\nsource = 'a'\n\n[plugins.b]\nsource = 'b'\n\n[plugins.a.allow]\nstate = true\n";
    assert_eq!(
        remove_table(text, &["plugins", "a"]).unwrap().unwrap(),
        "version = 1\n\n[plugins.b]\nsource = 'b'\n"
    );
}
