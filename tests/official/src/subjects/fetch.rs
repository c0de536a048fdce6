//! The plugin `fetch` and `mcp-server-fetch`, with the same local web site.
//!
//! The official server extracts the main content of a page with Mozilla's Readability if Node and that package are
//! installed, and otherwise in a simpler way. The comparison uses both, at the versions of the lockfile.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::Subject;
use crate::comparison::{Comparison, Side};
use crate::difference::{ABSENT_NULL, Difference, Mismatch};

mod elements; // pages of HTML elements
mod markdown; // the normal form of Markdown
mod pages; // the site's pages
mod site; // a web server

use site::{Page, Site};

pub(super) const SUBJECT: Subject = Subject {
    plugin: "fetch",
    package: "mcp-server-fetch",
    compared: "The tool and the prompt fetch mostly generated pages from a local site: articles with \
               lists, tables, code, links and images, a page for each HTML element in many contexts, whose \
               words are compared, other text formats, different encodings, compressed pages, redirects, \
               errors, many variants of `robots.txt`, and parts of long pages. Markdown is compared line \
               by line, as its words, headings and links in order. The marks for emphasis and list items, \
               indentation, table rules and escaping are ignored. Other text is compared exactly. The \
               official server uses Mozilla's Readability, as it does when Node is installed.",
    differences: DIFFERENCES,
    check,
};

const DIFFERENCES: &[Difference] = &[
    ABSENT_NULL,
    Difference {
        description: "The tool and the prompt have titles.",
        reason: "Hosts show titles to users; the official server has none.",
        matches: |mismatch| {
            let lists = matches!(mismatch.method, "tools/list" | "prompts/list");
            lists && mismatch.at == "/items/fetch/title" && mismatch.theirs.is_none()
        },
    },
    Difference {
        description: "The prompt's result doesn't repeat the prompt's description.",
        reason: "The list already contains it.",
        matches: |mismatch| {
            mismatch.method == "prompts/get" && mismatch.at == "/description" && mismatch.ours.is_none()
        },
    },
    Difference {
        description: "Links and images have absolute URLs.",
        reason: "A model can fetch them without resolving them against the page's URL.",
        matches: |mismatch| {
            let [theirs, ours] = texts(mismatch);
            let origin = url(mismatch).splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            mismatch.at.contains("/lines/") && markdown::with_absolute_links(theirs, &origin) == ours
        },
    },
    Difference {
        description: "Words of different elements are never joined, and content that browsers don't show is omitted.",
        reason: "The official server joins words at some elements, such as `summary`, `rt` and `header`, and returns \
                 the content of `template` and fallback content for old browsers, such as that of `video`.",
        matches: |mismatch| {
            mismatch.at.starts_with("/content/0/text/words")
                && elements::is_complete(url(mismatch), mismatch.answers.1)
        },
    },
    Difference {
        description: "A byte order mark and `<meta charset>` are respected, and text without a declared encoding \
               that isn't valid UTF-8 is read as Windows-1252.",
        reason: "Browsers do the same; the official server uses only the header.",
        matches: |mismatch| {
            let [theirs, ours] = texts(mismatch);
            let odd = |text: &str| text.contains(['\u{fffd}', '\u{feff}']);
            url(mismatch).contains("/charset/") && odd(theirs) && !odd(ours)
        },
    },
    Difference {
        description: "Images and other binary content are refused.",
        reason: "Binary data read as text is useless to a model and fills its context.",
        matches: |mismatch| {
            url(mismatch).ends_with("/image.png") && mismatch.answers.1.to_string().contains("isn't text")
        },
    },
    Difference {
        description: "If `robots.txt` fails with a server error, the site's pages aren't fetched.",
        reason: "RFC 9309, section 2.3.1.4; the official server parses the error page as rules.",
        matches: |mismatch| {
            let refused = mismatch.answers.1["isError"] == true
                && mismatch.answers.1.to_string().contains("status 500");
            url(mismatch).ends_with("/behind-500") && refused
        },
    },
    Difference {
        description: "Refusals because of `robots.txt` have the plugin's own message and user agent.",
        reason: "The message names the prompt that a user can use instead.",
        matches: |mismatch| {
            let [theirs, ours] = texts(mismatch);
            let theirs = theirs.contains("sites robots.txt") || theirs.contains("When fetching robots.txt");
            both_failed(mismatch)
                && theirs
                && ours.contains("/robots.txt")
                && ours.contains("the prompt `fetch`")
        },
    },
    Difference {
        description: "If a server doesn't respond, the plugin's own message gives the reason.",
        reason: "The operator can add a missing grant; the official server gives no reason, or its \
                 library's message.",
        matches: |mismatch| {
            let [theirs, ours] = texts(mismatch);
            let reason = ours.split_once(": ").map(|(_, reason)| reason).unwrap_or_default();
            let known =
                theirs.ends_with(" due to a connection issue") && ours.starts_with(&format!("{theirs}: "));
            let library = ["TooManyRedirects(", "UnsupportedProtocol(", "ConnectError("];
            known || (library.iter().any(|name| theirs.contains(name)) && !reason.is_empty())
        },
    },
];

/// The requested URL.
fn url<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.arguments["url"].as_str().unwrap_or_default()
}

/// Both values at the place, as strings.
fn texts<'a>(mismatch: &Mismatch<'a>) -> [&'a str; 2] {
    [mismatch.theirs, mismatch.ours].map(|value| value.and_then(Value::as_str).unwrap_or_default())
}

fn both_failed(mismatch: &Mismatch<'_>) -> bool {
    mismatch.answers.0["isError"] == true && mismatch.answers.1["isError"] == true
}

/// Pages that the tool and the prompt fetch completely.
const COMPLETE_PAGES: &[&str] = &[
    "/",
    "/text",
    "/empty",
    "/empty-page",
    "/bare",
    "/nothing-said",
    "/called-text",
    "/xhtml",
    "/compressed/gzip",
    "/compressed/deflate",
    "/data.json",
    "/feed.xml",
    "/image.png",
    "/lead/relative",
    "/lead/twice",
    "/lead/round",
    "/status/404",
    "/status/403",
    "/status/500",
    "/status/204",
    "/not-there",
    "/text?a=b&c#part",
];

const CHARSETS: &[&str] =
    &["latin1", "windows-1251", "shift-jis", "utf-8", "unsaid", "meta", "old-meta", "mark", "unsaid-latin1"];

/// Pages for which the official server would need minutes, or all of the machine's memory.
const SLOW_PAGES: &[&str] = &["deep", "tables", "just-not-deep", "wide", "many", "angles", "long"];

const RULES: &str = "# Rules\nUser-agent: other-bot\nDisallow: /\n\nUser-agent: *\nAllow: /private/open\nDisallow: /private\n\
                     Disallow: /*.json$\n";

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    let sites = Sites::start()?;
    let open = &sites.open;
    let official = official(comparison)?;
    comparison.start(official, &format!("[plugins.fetch.allow]\nhttp = [{}]\n", sites.grants()))?;
    comparison.normalize_with(normalize_markdown);
    comparison.compare_lists();
    comparison.check("pages of every kind", |comparison| {
        COMPLETE_PAGES.iter().try_for_each(|path| fetch_completely(comparison, &open.url(path)))
    });
    comparison.check("charsets", |comparison| {
        CHARSETS
            .iter()
            .try_for_each(|name| fetch_completely(comparison, &open.url(&format!("/charset/{name}"))))
    });
    comparison.check("HTML elements", |comparison| elements::check(comparison, |path| open.url(path)));
    comparison.check("robots.txt", |comparison| {
        sites.restricted_pages().iter().try_for_each(|url| tool(comparison, &json!({ "url": url })))
    });
    comparison.check("invalid arguments and missing servers", |comparison| {
        odd_calls(open).iter().try_for_each(|arguments| tool(comparison, arguments))?;
        ["nope", "http://127.0.0.1:1/"].iter().try_for_each(|url| prompt(comparison, url))
    });
    comparison.check("slow pages, plugin only", |comparison| {
        SLOW_PAGES
            .iter()
            .try_for_each(|kind| assert_answered(comparison, &sites.open.url(&format!("/slow/{kind}"))))?;
        assert_answered(comparison, &sites.tangled.url(&format!("/text?{}", "/a".repeat(500))))?;
        tool(comparison, &json!({ "url": sites.open.url("/text") }))
    });
    comparison.generated("parts of pages", 0..3, |comparison, random| {
        for _ in 0..15 {
            let path = random.pick(&["/long", "/text", "/article/1", "/data.json"]);
            let start = random.below(11_000);
            let most = random.below(6000) + 1;
            let start = if random.once_in(3) { 0 } else { start };
            let raw = json!({ "url": open.url(path), "start_index": start, "max_length": most, "raw": true });
            tool(comparison, &raw)?;
        }
        Ok(())
    });
    comparison.generated("articles", 0..8, |comparison, random| {
        for _ in 0..2 {
            let url = open.url(&format!("/article/{}", 100 + random.below(10_000)));
            tool(comparison, &json!({ "url": url, "max_length": 999_999 }))?;
        }
        Ok(())
    });
    Ok(())
}

/// One site for each kind of `robots.txt`.
struct Sites {
    /// No `robots.txt`.
    open: Site,
    /// Rules for all programs.
    ruled: Site,
    /// Rules for MCP clients.
    closed: Site,
    /// 401.
    hidden: Site,
    /// 403.
    forbidden: Site,
    /// 500.
    broken: Site,
    /// Rules that are slow to match.
    tangled: Site,
}

impl Sites {
    fn start() -> Result<Self> {
        let site = |robots| Site::start(robots, pages::page);
        let closed = "User-agent: ModelContextProtocol\nDisallow: /\n";
        Ok(Self {
            open: site(Page::status(404))?,
            ruled: site(Page::of("text/plain", RULES))?,
            closed: site(Page::of("text/plain", closed))?,
            hidden: site(Page::status(401))?,
            forbidden: site(Page::status(403))?,
            broken: site(Page::status(500))?,
            tangled: site(Page::of("text/plain", pages::slow_rules()))?,
        })
    }

    /// The grants that the plugin needs.
    fn grants(&self) -> String {
        let Self { open, ruled, closed, hidden, forbidden, broken, tangled } = self;
        let grant = |site: &Site| format!("{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}", site.origin());
        [open, ruled, closed, hidden, forbidden, broken, tangled].map(grant).join(", ")
    }

    /// Pages of sites with rules in `robots.txt`.
    fn restricted_pages(&self) -> Vec<String> {
        let ruled = ["/private/page", "/private/open/page", "/data.json", "/data.json?x", "/lead/private"];
        let mut urls: Vec<String> = ruled.iter().map(|path| self.ruled.url(path)).collect();
        urls.push(self.closed.url("/text"));
        urls.push(self.hidden.url("/behind-401"));
        urls.push(self.forbidden.url("/text"));
        urls.push(self.broken.url("/behind-500"));
        urls
    }
}

fn odd_calls(site: &Site) -> Vec<Value> {
    let text = site.url("/text");
    vec![
        json!({}),
        json!({ "url": "" }),
        json!({ "url": "nope" }),
        json!({ "url": 1 }),
        json!({ "url": text, "max_length": 0 }),
        json!({ "url": text, "max_length": 1_000_000 }),
        json!({ "url": text, "max_length": "5" }),
        json!({ "url": text, "max_length": 999_999 }),
        json!({ "url": text, "start_index": -1 }),
        json!({ "url": text, "start_index": 1_000_000_000_000_u64 }),
        json!({ "url": text, "raw": "yes" }),
        json!({ "url": text, "raw": null }),
        json!({ "url": text, "more": 1 }),
        json!({ "url": text.to_uppercase().replace("/TEXT", "/text") }),
        json!({ "url": "ftp://127.0.0.1/x" }),
        json!({ "url": "http://127.0.0.1:1/x" }),
    ]
}

/// Fetches a complete page with the tool and the prompt.
fn fetch_completely(comparison: &mut Comparison<'_>, url: &str) -> Result<()> {
    tool(comparison, &json!({ "url": url, "max_length": 999_999 }))?;
    prompt(comparison, url)
}

fn tool(comparison: &mut Comparison<'_>, arguments: &Value) -> Result<()> {
    comparison.call("fetch", arguments).map(drop)
}

fn prompt(comparison: &mut Comparison<'_>, url: &str) -> Result<()> {
    comparison.ask("prompts/get", &json!({ "name": "fetch", "arguments": { "url": url } })).map(drop)
}

/// Asserts that the plugin answers with the page or an error, and doesn't hang.
fn assert_answered(comparison: &mut Comparison<'_>, url: &str) -> Result<()> {
    let params = json!({ "name": "fetch", "arguments": { "url": url } });
    let answer = comparison.request_ours("tools/call", &params)?;
    if !answer.pointer("/content/0/text").is_some_and(Value::is_string) {
        bail!("{url} was answered with {answer}");
    }
    Ok(())
}

/// Normalizes Markdown. Other text is unchanged.
fn normalize_markdown(_: Side, method: &str, answer: &mut Value) {
    let place = if method == "tools/call" { "/content/0/text" } else { "/messages/0/content/text" };
    let failed = answer["isError"] == true;
    let Some(text) = answer.pointer_mut(place) else { return };
    let markdown_text = text.as_str().unwrap_or_default();
    let is_other = ["Content type ", "Failed to fetch "].iter().any(|start| markdown_text.starts_with(start));
    if failed || is_other {
        return;
    }
    let (head, body) = match markdown_text.split_once(":\n") {
        Some((head, body)) if head.starts_with("Contents of ") => (head, body),
        _ => ("", markdown_text),
    };
    *text = if head.contains("/element/") {
        json!({ "head": head, "words": elements::words(body) })
    } else {
        json!({ "head": head, "lines": markdown::lines(body) })
    };
}

/// The official server's command, with the Node and packages that it needs.
fn official(comparison: &Comparison<'_>) -> Result<Command> {
    let python = comparison.python("").get_program().to_owned();
    let script = "import os, readabilipy; print(os.path.dirname(readabilipy.__file__))";
    let output = Command::new(python).args(["-c", script]).output();
    let output = output.context("can't run Python to find `readabilipy`")?;
    let directory =
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("javascript/node_modules");
    // The server uses Readability if this directory is next to its script, and otherwise installs the newest version.
    let modules = comparison.modules().canonicalize().context("the packages from npm are missing")?;
    if fs::read_link(&directory).ok().as_ref() != Some(&modules) {
        let _old = fs::remove_file(&directory);
        link(&modules, &directory).with_context(|| format!("can't link `{}`", directory.display()))?;
    }
    // The server starts `node` by name.
    let node_dir = comparison.node_program().parent().map(Path::to_path_buf);
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(node_dir.into_iter().chain(env::split_paths(&others)))?;
    let mut command = comparison.python("mcp_server_fetch");
    command.arg("--allow-private-ips").env("PATH", path);
    Ok(command)
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
fn link(to: &Path, from: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(to, from)
}
