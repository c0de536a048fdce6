//! What a hint says is done to the letter, and then the file is right.

use super::*;

/// What is said of a text.
fn read(text: &str) -> (Loaded, Vec<String>) {
    let mut environment = environment();
    environment.insert("MOONGATE_TOKEN".to_owned(), "0123456789abcdef0123456789abcdef".to_owned());
    environment.insert("TOKEN".to_owned(), "a-secret".to_owned());
    environment.insert("GH".to_owned(), "a-secret".to_owned());
    environment.insert("API_KEY".to_owned(), "a-key".to_owned());
    environment.insert("PORT".to_owned(), "8941".to_owned());
    let loaded = from_text(&ui().join("gateway.toml"), text.to_owned(), &environment).for_http();
    let hints = loaded.problems.iter().filter(|problem| problem.is_error());
    let hints = hints.map(|problem| problem.hint.clone().unwrap_or_default()).collect();
    (loaded, hints)
}

/// A plugin and its grants, with `wrong` at the end; the hint holds each of `said`; and with `cured` instead the file is
/// right.
#[track_caller]
fn is_cured(before: &str, wrong: &str, said: &[&str], cured: &str) {
    let whole = |rest: &str| format!("version = 1\n{before}\n{rest}\n");
    let (loaded, hints) = read(&whole(wrong));
    let all = hints.join("\n");
    assert!(loaded.config.is_none(), "{wrong}");
    assert!(said.iter().all(|said| all.contains(said)), "{wrong}: {all}");
    let (loaded, hints) = read(&whole(cured));
    assert!(loaded.config.is_some(), "{cured}: {hints:?}");
}

#[test]
fn addresses_in_other_words_are_cured_in_one_step() {
    let tokens = "tokens = [{ name = \"ci\", token = { env = \"MOONGATE_TOKEN\" } }]";
    let open = format!("listen = \"0.0.0.0:8941\"\n[http.auth]\n{tokens}");
    is_cured("[http]", "host = '0.0.0.0'\nport = 8941", &["`listen = \"0.0.0.0:8941\"`", tokens], &open);
    is_cured("[http]", "listen = '0.0.0.0'\nport = 8941", &["\"0.0.0.0:8941\"", tokens], &open);
    for (wrong, right) in [
        ("8941", "127.0.0.1:8941"),
        ("'8941'", "127.0.0.1:8941"),
        ("'$PORT'", "127.0.0.1:${PORT}"),
        ("'127.0.0.1:$PORT'", "127.0.0.1:${PORT}"),
        ("'http://127.0.0.1:8941/mcp'", "127.0.0.1:8941"),
        ("'http://localhost:8941'", "127.0.0.1:8941"),
        ("'::1'", "[::1]:8931"),
    ] {
        let right = format!("listen = \"{right}\"");
        is_cured("[http]", &format!("listen = {wrong}"), &[&right["listen = ".len()..]], &right);
    }
    let (_, hints) = read("version = 1\nhttp.listen = '127.0.0.1:99999'");
    assert!(hints[0].contains("at most 65535") && !hints[0].contains("0.0.0.0"), "{hints:?}");
}

#[test]
fn addresses_are_taken_as_the_command_line_takes_them() {
    for (written, meant) in [("localhost:8941", "127.0.0.1:8941"), (":9000", "127.0.0.1:9000")] {
        let text = format!("version = 1\nhttp.listen = '{written}'");
        assert_eq!(config(&text).http.listen.to_string(), meant);
    }
}

#[test]
fn tokens_in_other_shapes_are_cured_in_one_step_and_never_shown() {
    let line = "tokens = [{ name = \"ci\", token = { env = \"MOONGATE_TOKEN\" } }]";
    let cured = format!("[http.auth]\n{line}");
    for wrong in [
        "[http.auth]\ntoken = 'hunter2-hunter2-hunter2'",
        "[http.auth]\nauth_token = 'hunter2-hunter2-hunter2'",
        "[http.auth]\ntokens = 'hunter2-hunter2-hunter2'",
        "[http.auth.tokens]\nci = 'hunter2-hunter2-hunter2'",
        "[http]\ntoken = 'hunter2-hunter2-hunter2'",
        "[http]\nauth = 'hunter2-hunter2-hunter2'",
    ] {
        is_cured("", wrong, &[line], &cured);
        let (loaded, hints) = read(&format!("version = 1\n{wrong}"));
        let shown = render(&loaded.problems, &loaded.source, Style::Plain);
        assert!(hints.len() == 1 && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn grants_in_other_words_are_cured_in_one_step() {
    let plugin =
        "[plugins.time]\nsource = 'files/time.wasm'\n[plugins.time.allow]\nhttp = ['https://api.github.com']";
    let headers = |header: &str| format!("origin = \"https://api.github.com\"\nheaders = {{ {header} }}");
    let credentials = "[[plugins.time.allow.credentials]]";
    is_cured(
        plugin,
        &format!("{credentials}\nurl = 'https://api.github.com/v3'\nauthorization = {{ env = 'GH' }}"),
        &["`origin = \"https://api.github.com\"`", "`headers = { authorization = { env = \"GH\" } }`"],
        &format!("{credentials}\n{}", headers("authorization = { env = \"GH\" }")),
    );
    is_cured(
        plugin,
        &format!("{credentials}\nurl = 'https://api.github.com'\ntoken = 'hunter2'"),
        &["`headers = { authorization = { env = \"TOKEN\", prefix = \"Bearer \" } }`"],
        &format!("{credentials}\n{}", headers("authorization = { env = \"TOKEN\", prefix = \"Bearer \" }")),
    );
    for wrong in ["'./files/notes:/notes:rw'", "['./files/notes:/notes:rw']"] {
        let cured = "{ host = \"./files/notes\", guest = \"/notes\", mode = \"rw\" }";
        is_cured(plugin, &format!("dirs = {wrong}"), &[cured], &format!("dirs = [{cured}]"));
    }
    is_cured(plugin, "env = { API_KEY = 'hunter2' }", &["env = [\"API_KEY\"]"], "env = [\"API_KEY\"]");
    is_cured(plugin, "elicitation = true", &["client = [\"elicitation\"]"], "client = [\"elicitation\"]");
    is_cured(plugin, "client = ['elicit']", &["`elicitation`"], "client = ['elicitation']");
    let outside = "[plugins.time]\nsource = 'files/time.wasm'";
    let cured = "http = [\"https://example.com\"]";
    is_cured(
        outside,
        "hosts = ['example.com']",
        &[cured, "[plugins.time.allow]"],
        &format!("[plugins.time.allow]\n{cured}"),
    );
}

#[test]
fn names_and_places_of_tables_are_cured_in_one_step() {
    let plugin = "[plugins.filesystem]\nsource = 'files/time.wasm'";
    let cured = "[plugins.filesystem.allow]\ninstructions = true";
    is_cured(plugin, &cured.replacen("system", "sytem", 1), &["`[plugins.filesystem.allow]`?"], cured);
    is_cured(
        "",
        "[[plugins]]\nname = 'time'\nsource = 'files/time.wasm'",
        &["write `[plugins.time]` instead of `[[plugins]]`, and remove `name`"],
        "[plugins.time]\nsource = 'files/time.wasm'",
    );
    for below in ["[gateway]", "[[plugins.filesystem.allow.credentials]]", "[plugins.filesystem.limits]"] {
        let (_, hints) = read(&format!("{plugin}\n{below}\nversion = 1"));
        let moved = hints.iter().filter(|hint| hint.starts_with("move it to the top of the file")).count();
        let told = hints.iter().filter(|hint| hint.contains("version")).count();
        assert_eq!((moved, told), (1, 0), "{below}: {hints:?}");
    }
}

#[test]
fn what_is_no_toml_is_cured_in_one_step() {
    let plugin = "[plugins.time]\nsource = 'files/time.wasm'";
    is_cured(
        plugin,
        "[plugins.my fetch]\nsource = 'files/time.wasm'",
        &["`[plugins.my-fetch]`"],
        "[plugins.my-fetch]\nsource = 'files/time.wasm'",
    );
    is_cured(plugin, "[plugins.time allow]", &["`[plugins.time.allow]`"], "[plugins.time.allow]");
    for mark in ["//", "--", ";"] {
        is_cured(plugin, &format!("{mark} endpoint"), &[&format!("`#` instead of `{mark}`")], "# endpoint");
    }
    is_cured(
        plugin,
        "/* of one\nand another */",
        &["begin each of its lines with `#`"],
        "# of one\n# and another",
    );
    let second = "[plugins.time]\nsource = 'files/time2.wasm'\n[plugins.time.allow]\nenv = ['LANG']";
    let (_, hints) = read(&format!("version = 1\n{plugin}\n{second}"));
    assert!(hints.len() == 1 && hints[0].contains("`[plugins.time-2]`"), "{hints:?}");
    is_cured(plugin, second, &["`[plugins.time-2]`"], &second.replace("plugins.time", "plugins.time-2"));
}
