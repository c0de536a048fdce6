//! The documentation for new users matches the program.
//!
//! Every command of a `console` block is run, in the order of the page, except those in `NOT_RUN`.

/// The content of a page: blocks, links, headings.
mod page;
/// Placeholders for values that differ between runs.
mod normalize;
/// The commands of a page, run in order.
mod session;

use std::collections::BTreeSet;
use std::fs;

use moongate_tests::{IssuedCertificate, TestAuthority, Workspace, component, project_root};
use serde_json::Value;

use normalize::normalize;
use page::Page;
use session::{NOT_RUN, Session};

/// The pages whose commands are run.
const PAGES: [&str; 6] = [
    "README.md",
    "docs/plugins.md",
    "docs/operations.md",
    "docs/network.md",
    "docs/access.md",
    "docs/telemetry.md",
];

/// Runs the commands of one page, and writes the files that the page tells the reader to write.
fn follow(file: &str) {
    let mut session = Session::start();
    for block in Page::read(file).all_blocks() {
        match &block.file {
            Some(file) => session.write(file, &block.text),
            None if block.language == "console" => session.follow(&block),
            None => {}
        }
    }
}

#[test]
fn readme_commands_print_the_shown_output() {
    follow("README.md");
}

#[test]
fn plugin_guide_commands_print_the_shown_output() {
    follow("docs/plugins.md");
}

#[test]
fn operations_guide_commands_print_the_shown_output() {
    follow("docs/operations.md");
}

/// The commands that set up a new machine.
#[test]
fn readme_install_section_names_both_setup_commands() {
    let readme = fs::read_to_string(project_root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("\n## Install\n").expect("a section `Install`");
    let section = rest.split("\n## ").next().unwrap_or_default();
    for command in ["cargo xtask demo", "cargo xtask test"] {
        assert!(
            section.contains(&format!("$ {command}\n")),
            "the section `Install` doesn't show `{command}`"
        );
    }
}

#[test]
fn every_skipped_command_is_on_a_page() {
    let lines: BTreeSet<String> = PAGES
        .iter()
        .flat_map(|file| Page::read(file).blocks("console"))
        .flat_map(|block| block.commands())
        .map(|(line, _)| line)
        .collect();
    for (line, why) in NOT_RUN {
        assert!(lines.contains(*line), "no page has `{line}`, which isn't run because {why}");
    }
}

/// The lines of the image are a terminal session. Wrapped lines are joined. The last command serves, and its output ends
/// with what it prints about calls from another terminal.
#[test]
fn the_terminal_image_matches_real_output() {
    let picture = fs::read_to_string(project_root().join("docs/terminal.svg")).unwrap();
    let mut text = String::new();
    for line in picture.lines().filter(|line| line.starts_with("<text ")) {
        let words = page::without_tags(line);
        if !line.contains("class=\"more\"") && !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&words);
    }
    let mut session = Session::start();
    let banner_end = text.find("\ntry ").and_then(|at| Some(at + 1 + text[at + 1..].find('\n')?));
    let (text, calls) = text.split_at(banner_end.expect("the picture shows calls"));
    let real = session.serve_with_calls(&[
        &["time_get_current_time", "timezone=Asia/Tokyo"],
        &["fetch", "url=http://192.168.1.1/"],
    ]);
    assert_eq!(without_durations(&normalize(calls)), without_durations(&normalize(&real)));
    for colour in ["green\">ok", "red\">tool_error"] {
        assert!(picture.contains(colour), "no {colour}");
    }
    let block = page::Block {
        language: "console".to_owned(),
        file: None,
        text: format!("{text}\n"),
        place: "docs/terminal.svg".to_owned(),
    };
    assert!(block.commands().len() > 3, "{}", block.text);
    session.follow(&block);
}

/// The words of a text without durations such as `1.2 ms`, and in one line.
fn without_durations(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        if matches!(word, "µs" | "ms" | "s") && words.last().is_some_and(|last| last.parse::<f64>().is_ok())
        {
            words.pop();
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

/// A block is a complete file, except for `version`.
#[test]
fn check_accepts_every_configuration_example() {
    let mut blocks = 0;
    for block in PAGES.iter().flat_map(|file| Page::read(file).blocks("toml")) {
        let workspace = Workspace::new(&block.text);
        for line in block.text.lines() {
            if let Some(file) = line.strip_prefix("source = \"").and_then(|rest| rest.strip_suffix('"')) {
                workspace.write(file, fs::read(component("time")).unwrap());
            }
        }
        for rest in block.text.split("{ file = \"").skip(1) {
            workspace.write(rest.split('"').next().unwrap(), "a-secret-of-some-length");
        }
        if block.text.contains("tls]\n") {
            let authority = TestAuthority::new();
            let IssuedCertificate { certificate, key } = authority.server();
            workspace.write("certificate.pem", certificate);
            workspace.write("key.pem", key);
            workspace.write("client-ca.pem", authority.certificate());
            workspace.write("operators-ca.pem", authority.certificate());
        }
        let output = workspace.run(&["check"]);
        assert!(output.status.success(), "{}: {}", block.place, String::from_utf8_lossy(&output.stderr));
        blocks += 1;
    }
    assert!(blocks > 0, "no page has a configuration example");
}

#[test]
fn readme_snippets_match_the_output_of_client() {
    let session = Session::start();
    let snippet = |host: &str| session.request_and_wait(&["client", host, "--quiet"]);
    let cursor = snippet("cursor");
    let vscode = snippet("vscode");
    assert_eq!(cursor, snippet("claude-desktop"), "the README has one snippet for both");
    let blocks: Vec<String> = Page::read("README.md").blocks("json").into_iter().map(|it| it.text).collect();
    assert_eq!(blocks, [cursor, vscode]);
}

#[test]
fn every_json_block_is_valid() {
    for block in PAGES.iter().flat_map(|file| Page::read(file).blocks("json")) {
        let read = serde_json::from_str::<Value>(&block.text);
        assert!(read.is_ok(), "{}: {read:?}", block.place);
    }
}

#[test]
fn readme_plugin_matches_the_output_of_new() {
    let workspace = Workspace::new("");
    let output = workspace.run(&["new", "hello", "--sdk", project_root().to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let made = fs::read_to_string(workspace.path().join("hello/src/lib.rs")).unwrap();
    let blocks = Page::read("README.md").blocks("rust");
    assert_eq!(blocks.len(), 1, "one plugin");
    assert!(made.contains(&blocks[0].text), "`new` creates a different plugin:\n{made}");
}

#[test]
fn every_link_has_an_existing_target() {
    let mut files: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .map(str::to_owned)
            .into();
    for entry in fs::read_dir(project_root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            files.push(format!("docs/{name}"));
        }
    }
    for entry in fs::read_dir(project_root().join("plugins")).unwrap() {
        let file = format!("plugins/{}/README.md", entry.unwrap().file_name().into_string().unwrap());
        if project_root().join(&file).exists() {
            files.push(file);
        }
    }
    files.extend(["tests/clients/README.md", "tests/official/README.md"].map(str::to_owned));
    let mut broken = Vec::new();
    for file in &files {
        broken.extend(Page::read(file).broken_links());
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
