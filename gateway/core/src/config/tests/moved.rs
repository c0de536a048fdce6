//! Keys that stand in the wrong place or under the name that another program has for them: each hint, done to the
//! letter, gives a file that loads.

use super::*;

/// What is said first of a file.
fn problems(text: &str) -> Vec<Problem> {
    let mut environment = environment();
    environment.insert("TOKEN".to_owned(), "0011223344556677fedcba9876543210".to_owned());
    environment.insert("MOONGATE_TOKEN".to_owned(), "0123456789abcdef0123456789abcdef".to_owned());
    from_text(&ui().join("moved.toml"), text.to_owned(), &environment).for_http().problems
}

/// What stands between the first backticks behind these words.
fn after<'h>(hint: &'h str, words: &str) -> Option<&'h str> {
    hint.split_once(words)?.1.strip_prefix('`')?.split('`').next()
}

/// The file without what the problem is about: its line, or its table's.
fn without(text: &str, problem: &Problem) -> (String, String) {
    let place = problem.place.clone().unwrap();
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let is_table = text[start..].starts_with('[');
    let length = match text[start..].find(if is_table { "\n[" } else { "\n" }) {
        Some(length) => length + 1,
        None => text.len() - start,
    };
    (format!("{}{}", &text[..start], &text[start + length..]), text[start..start + length].to_owned())
}

/// The file with a line in the table of this header, which is added where it isn't there.
fn with(text: &str, header: &str, line: &str) -> String {
    let header = header.replace("<name>", "time");
    match text.split_once(&format!("{header}\n")) {
        Some((before, after)) => format!("{before}{header}\n{line}\n{after}"),
        None => format!("{text}\n{header}\n{line}\n"),
    }
}

/// The file after what the hint of its first problem says.
fn cured(text: &str, problem: &Problem) -> String {
    let hint = problem.hint.as_deref().unwrap();
    let (rest, stray) = without(text, problem);
    let its_table = || text[..problem.place.clone().unwrap().start].lines().rfind(|it| it.starts_with('['));
    if let Some(meant) = after(hint, "did you mean ") {
        let at = problem.place.clone().unwrap();
        return format!("{}{meant}{}", &text[..at.start], &text[at.end..]);
    }
    if let Some(header) = after(hint, "write ").filter(|it| it.starts_with('[') && !it.contains('{')) {
        let at = problem.place.clone().unwrap();
        let (start, end) =
            (text[..at.start].rfind('[').unwrap(), at.end + text[at.end..].find(']').unwrap() + 1);
        return format!("{}{header}{}", &text[..start], &text[end..]);
    }
    if let Some(name) = after(hint, "write it as ") {
        let (_, value) = stray.split_once('=').unwrap();
        return with(&rest, after(hint, "` in ").unwrap(), &format!("{name} ={}", value.trim_end()));
    }
    if let Some(line) = after(hint, "write ") {
        return match (after(hint, "` in "), line.contains(" = ") && !line.starts_with(['[', '{'])) {
            (Some(header), _) => with(&rest, header, line),
            (None, true) => with(&rest, its_table().unwrap_or("version = 1"), line),
            (None, false) => {
                let at = problem.place.clone().unwrap();
                format!("{}{line}{}", &text[..at.start], &text[at.end..])
            }
        };
    }
    if let Some(entry) = after(hint, "add ").filter(|entry| entry.starts_with('{')) {
        return rest.replacen("tokens = [", &format!("tokens = [{entry}, "), 1);
    }
    if let Some(header) = after(hint, "move it to ") {
        return with(&rest, header, stray.trim_end());
    }
    if hint.starts_with("remove it") {
        return rest;
    }
    panic!("no line to write: {hint}")
}

/// One table of a plugin, and whatever stands above it and in it.
fn file(above: &str, within: &str) -> String {
    format!("version = 1\n{above}\n[plugins.time]\nsource = \"files/time.wasm\"\n{within}\n")
}

/// Keys of the gateway's own, at other places than theirs or in another form.
fn of_the_gateway() -> Vec<String> {
    let token = "{ env = \"GATEWAY_TOKEN\" }";
    let http = |line: &str| file(&format!("[http]\n{line}"), "");
    let auth = |line: &str| file(&format!("[http.auth]\n{line}"), "");
    vec![
        http(&format!("token = {token}")),
        http("token = \"${GATEWAY_TOKEN}\""),
        http("bearer = \"hunter2-hunter2-hunter2\""),
        auth(&format!("token = {token}")),
        auth(&format!("tokens = {token}")),
        auth("tokens = \"hunter2-hunter2-hunter2\""),
        auth(&format!("tokens = [{token}]")),
        auth(&format!("tokens = [{{ name = \"a\", token = {{ env = \"OTHER_TOKEN\" }} }}]\ntoken = {token}")),
        file(&format!("token = {token}"), ""),
        file("listen = \"127.0.0.1:8931\"", ""),
        file("listen = 8931", ""),
        http("port = 8931"),
        http("host = \"127.0.0.1\""),
        http("address = 8000"),
        http("bind = \"localhost:8000\""),
        http("endpoint = \"http://localhost:8000/mcp\""),
        http("listen = \"127.0.0.1:1\"\ntimeout = 5"),
        file("[gateway]\ntimeout = \"5s\"", ""),
        file("[gateway]\ntimeout = 5", ""),
        file("[gateway]\nallowed_hosts = \"example.com\"", ""),
        file("[auth]\ntokens = []", ""),
        file("[limits]\ntimeout = \"5s\"", ""),
    ]
}

/// Keys of a plugin, likewise.
fn of_plugins() -> Vec<String> {
    let mut files = Vec::new();
    for (key, values) in [
        (
            "http",
            ["\"https://example.com\"", "\"example.com\"", "[\"https://example.com\"]", "[\"example.com\"]"],
        ),
        ("hosts", ["\"https://example.com\"", "\"example.com\"", "[\"https://example.com\"]", "true"]),
        (
            "dirs",
            ["\"files/notes\"", "[\"files/notes\"]", "{ host = \"files/notes\", guest = \"/a\" }", "[]"],
        ),
        ("env", ["\"LANG\"", "[\"LANG\"]", "{ LANG = \"en\" }", "[]"]),
        ("client", ["\"elicitation\"", "[\"elicitation\"]", "true", "[]"]),
        ("state", ["true", "\"notes\"", "true", "\"notes\""]),
        ("timeout", ["5", "\"5s\"", "true", "\"5s\""]),
    ] {
        for value in values {
            files.push(file("", &format!("{key} = {value}")));
            files.push(file("", &format!("{key} = {value}\n[plugins.time.allow]\ninstructions = true")));
        }
    }
    for (key, value) in [
        ("hosts", "\"example.com\""),
        ("domains", "[\"example.com\", \"https://example.org\"]"),
        ("files", "\"files/notes\""),
        ("paths", "[\"files/notes\"]"),
        ("folders", "[{ host = \"files/notes\", guest = \"/notes\" }]"),
    ] {
        files.push(file("", &format!("[plugins.time.allow]\n{key} = {value}")));
    }
    files.push(file("", "[plugins.time.env]\nLANG = \"en\""));
    files.push(file("", "[plugins.time.permissions]\ndirs = []"));
    files
}

#[test]
fn what_is_said_of_a_moved_key_done_to_the_letter_loads() {
    for text in of_the_gateway().iter().chain(&of_plugins()) {
        let before = problems(text);
        let problem =
            before.iter().find(|it| it.is_error()).unwrap_or_else(|| panic!("nothing wrong: {text}"));
        let after = cured(text, problem);
        let still: Vec<_> = problems(&after).into_iter().filter(Problem::is_error).collect();
        assert!(still.is_empty(), "{text}\n{:?}\n{after}\n{still:#?}", problem.hint);
    }
}
