//! The plugin `fetch` beside `mcp-server-fetch`, both before the same web site on this machine.
//!
//! The official server finds the main content of a page with Mozilla's Readability, if it finds Node and that package;
//! without them it does something simpler. It is compared with them, at the versions of the lockfile.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::Subject;
use crate::bench::{Bench, Side};
use crate::difference::{Difference, Gap};

mod markdown; // the normal form of Markdown
mod pages; // what the site holds
mod site; // a web server

use site::{Page, Site};

pub(super) const SUBJECT: Subject = Subject {
    plugin: "fetch",
    package: "mcp-server-fetch",
    compared: "The tool and the prompt fetch mostly generated pages from a local site: articles with \
               lists, tables, code, links and images, other text formats, different encodings, redirects, \
               errors, many variants of `robots.txt`, and parts of long pages. Markdown is compared line \
               by line, as its words, headings and links in order. The marks for emphasis and list items, \
               indentation, table rules and escaping are ignored. Other text is compared exactly. The \
               official server uses Mozilla's Readability, as it does when Node is installed.",
    differences: DIFFERENCES,
    check,
};

const DIFFERENCES: &[Difference] = &[
    Difference {
        what: "The tool and the prompt have titles.",
        reason: "Hosts show titles to users; the official server has none.",
        meant: |gap| {
            let lists = matches!(gap.method, "tools/list" | "prompts/list");
            lists && gap.at == "/items/fetch/title" && gap.theirs.is_none()
        },
    },
    Difference {
        what: "The prompt's result doesn't repeat the prompt's description.",
        reason: "The list already contains it.",
        meant: |gap| gap.method == "prompts/get" && gap.at == "/description" && gap.ours.is_none(),
    },
    Difference {
        what: "Links and images have absolute URLs.",
        reason: "A model can fetch them without resolving them against the page's URL.",
        meant: |gap| {
            let [theirs, ours] = texts(gap);
            let origin = url(gap).splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            gap.at.contains("/lines/") && markdown::with_whole_links(theirs, &origin) == ours
        },
    },
    Difference {
        what: "A byte order mark and `<meta charset>` are respected, and text without a declared encoding \
               that isn't valid UTF-8 is read as Windows-1252.",
        reason: "Browsers do the same; the official server uses only the header.",
        meant: |gap| {
            let [theirs, ours] = texts(gap);
            let odd = |text: &str| text.contains(['\u{fffd}', '\u{feff}']);
            url(gap).contains("/charset/") && odd(theirs) && !odd(ours)
        },
    },
    Difference {
        what: "Images and other binary content are refused.",
        reason: "Binary data read as text is useless to a model and fills its context.",
        meant: |gap| url(gap).ends_with("/image.png") && gap.answers.1.to_string().contains("isn't text"),
    },
    Difference {
        what: "If `robots.txt` fails with a server error, the site's pages aren't fetched.",
        reason: "RFC 9309, section 2.3.1.4; the official server parses the error page as rules.",
        meant: |gap| {
            let refused =
                gap.answers.1["isError"] == true && gap.answers.1.to_string().contains("status 500");
            url(gap).ends_with("/behind-500") && refused
        },
    },
    Difference {
        what: "Refusals because of `robots.txt` have the plugin's own message and user agent.",
        reason: "The message names the prompt that a user can use instead.",
        meant: |gap| {
            let [theirs, ours] = texts(gap);
            let theirs = theirs.contains("sites robots.txt") || theirs.contains("When fetching robots.txt");
            both_failed(gap) && theirs && ours.contains("/robots.txt") && ours.contains("the prompt `fetch`")
        },
    },
    Difference {
        what: "If a server doesn't respond, the plugin's own message gives the reason.",
        reason: "The operator can add a missing grant; the official server gives no reason, or its \
                 library's message.",
        meant: |gap| {
            let [theirs, ours] = texts(gap);
            let reason = ours.split_once(": ").map(|(_, said)| said).unwrap_or_default();
            let known =
                theirs.ends_with(" due to a connection issue") && ours.starts_with(&format!("{theirs}: "));
            let library = ["TooManyRedirects(", "UnsupportedProtocol(", "ConnectError("];
            known || (library.iter().any(|name| theirs.contains(name)) && !reason.is_empty())
        },
    },
];

/// The URL that was asked for.
fn url<'a>(gap: &Gap<'a>) -> &'a str {
    gap.arguments["url"].as_str().unwrap_or_default()
}

/// What both say at the place, as text.
fn texts<'a>(gap: &Gap<'a>) -> [&'a str; 2] {
    [gap.theirs, gap.ours].map(|said| said.and_then(Value::as_str).unwrap_or_default())
}

fn both_failed(gap: &Gap<'_>) -> bool {
    gap.answers.0["isError"] == true && gap.answers.1["isError"] == true
}

/// Pages that are read whole, by the tool and by the prompt.
const WHOLE: &[&str] = &[
    "/",
    "/text",
    "/empty",
    "/empty-page",
    "/bare",
    "/nothing-said",
    "/called-text",
    "/xhtml",
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

/// Pages that the official server would take minutes for, or all of the machine's memory.
const SLOW: &[&str] = &["deep", "tables", "just-not-deep", "wide", "many", "angles", "long"];

const RULES: &str = "# Rules\nUser-agent: other-bot\nDisallow: /\n\nUser-agent: *\nAllow: /private/open\nDisallow: /private\n\
                     Disallow: /*.json$\n";

fn check(bench: &mut Bench<'_>) -> Result<()> {
    let sites = Sites::start()?;
    let open = &sites.open;
    let official = official(bench)?;
    bench.start(official, &format!("[plugins.fetch.allow]\nhttp = [{}]\n", sites.grants()))?;
    bench.adjust(by_lines);
    bench.lists();
    bench.check("pages of every kind", |bench| {
        WHOLE.iter().try_for_each(|path| whole(bench, &open.url(path)))
    });
    bench.check("charsets", |bench| {
        CHARSETS.iter().try_for_each(|name| whole(bench, &open.url(&format!("/charset/{name}"))))
    });
    bench.check("what sites let programs read", |bench| {
        sites.ruled().iter().try_for_each(|url| tool(bench, &json!({ "url": url })))
    });
    bench.check("arguments that don't fit, and servers that aren't there", |bench| {
        odd_calls(open).iter().try_for_each(|arguments| tool(bench, arguments))?;
        ["nope", "http://127.0.0.1:1/"].iter().try_for_each(|url| prompt(bench, url))
    });
    bench.check("pages made to take long, asked of ours alone", |bench| {
        SLOW.iter().try_for_each(|kind| ends(bench, &sites.open.url(&format!("/slow/{kind}"))))?;
        ends(bench, &sites.tangled.url(&format!("/text?{}", "/a".repeat(500))))?;
        tool(bench, &json!({ "url": sites.open.url("/text") }))
    });
    bench.generated("parts of pages", 0..3, |bench, random| {
        for _ in 0..15 {
            let path = random.pick(&["/long", "/text", "/article/1", "/data.json"]);
            let (start, most) = (random.below(11_000), random.below(6000) + 1);
            let start = if random.once_in(3) { 0 } else { start };
            let raw = json!({ "url": open.url(path), "start_index": start, "max_length": most, "raw": true });
            tool(bench, &raw)?;
        }
        Ok(())
    });
    bench.generated("articles", 0..8, |bench, random| {
        for _ in 0..2 {
            let url = open.url(&format!("/article/{}", 100 + random.below(10_000)));
            tool(bench, &json!({ "url": url, "max_length": 999_999 }))?;
        }
        Ok(())
    });
    Ok(())
}

/// One site for each kind of `robots.txt`.
struct Sites {
    /// None.
    open: Site,
    /// Rules for everybody.
    ruled: Site,
    /// Rules for programs like these.
    closed: Site,
    /// 401.
    hidden: Site,
    /// 403.
    forbidden: Site,
    /// 500.
    broken: Site,
    /// Rules that take long to compare with.
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

    /// What the plugin needs to be granted.
    fn grants(&self) -> String {
        let Self { open, ruled, closed, hidden, forbidden, broken, tangled } = self;
        let grant = |site: &Site| format!("{{ url = \"{}\", networks = [\"127.0.0.0/8\"] }}", site.origin());
        [open, ruled, closed, hidden, forbidden, broken, tangled].map(grant).join(", ")
    }

    /// Pages whose sites have something to say of who reads them.
    fn ruled(&self) -> Vec<String> {
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

/// A whole page, by the tool and by the prompt.
fn whole(bench: &mut Bench<'_>, url: &str) -> Result<()> {
    tool(bench, &json!({ "url": url, "max_length": 999_999 }))?;
    prompt(bench, url)
}

fn tool(bench: &mut Bench<'_>, arguments: &Value) -> Result<()> {
    bench.call("fetch", arguments).map(drop)
}

fn prompt(bench: &mut Bench<'_>, url: &str) -> Result<()> {
    bench.ask("prompts/get", &json!({ "name": "fetch", "arguments": { "url": url } })).map(drop)
}

/// The plugin answers, with the page or with why there is none: it doesn't hang, and what serves goes on serving.
fn ends(bench: &mut Bench<'_>, url: &str) -> Result<()> {
    let params = json!({ "name": "fetch", "arguments": { "url": url } });
    let answer = bench.ours("tools/call", &params)?;
    if !answer.pointer("/content/0/text").is_some_and(Value::is_string) {
        bail!("{url} was answered with {answer}");
    }
    Ok(())
}

/// Puts Markdown into its normal form; all other text stays as it is.
fn by_lines(_: Side, method: &str, answer: &mut Value) {
    let place = if method == "tools/call" { "/content/0/text" } else { "/messages/0/content/text" };
    let failed = answer["isError"] == true;
    let Some(text) = answer.pointer_mut(place) else { return };
    let said = text.as_str().unwrap_or_default();
    let is_other = ["Content type ", "Failed to fetch "].iter().any(|start| said.starts_with(start));
    if failed || is_other {
        return;
    }
    let (head, body) = match said.split_once(":\n") {
        Some((head, body)) if head.starts_with("Contents of ") => (head, body),
        _ => ("", said),
    };
    *text = json!({ "head": head, "lines": markdown::lines(body) });
}

/// The official server's command, with Node and the packages that it looks for.
fn official(bench: &Bench<'_>) -> Result<Command> {
    let python = bench.python("").get_program().to_owned();
    let script = "import os, readabilipy; print(os.path.dirname(readabilipy.__file__))";
    let said = Command::new(python).args(["-c", script]).output();
    let said = said.context("Python can't be asked where `readabilipy` is")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()).join("javascript/node_modules");
    // It uses Readability where this folder is beside its script, and else asks npm for whatever is the newest.
    let modules = bench.modules().canonicalize().context("the packages from npm aren't there")?;
    if fs::read_link(&folder).ok().as_ref() != Some(&modules) {
        let _old = fs::remove_file(&folder);
        link(&modules, &folder).with_context(|| format!("`{}` can't be linked", folder.display()))?;
    }
    // It starts `node` by this name.
    let beside = bench.node_program().parent().map(Path::to_path_buf);
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(beside.into_iter().chain(env::split_paths(&others)))?;
    let mut command = bench.python("mcp_server_fetch");
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
