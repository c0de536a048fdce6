//! The pages of the site.

use std::fmt::Write as _;
use std::io::Read;

use flate2::Compression;
use flate2::read::{GzEncoder, ZlibEncoder};

use super::elements;
use super::site::Page;
use crate::random::Random;

/// The page at a path.
pub(super) fn page(path: &str) -> Page {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    if let Some(seed) = path.strip_prefix("/article/").and_then(|seed| seed.parse().ok()) {
        return Page::html(article(seed));
    }
    if let Some(name) = path.strip_prefix("/element/") {
        return elements::page(name).map_or_else(|| Page::status(404), Page::html);
    }
    if let Some(name) = path.strip_prefix("/charset/") {
        return charset(name);
    }
    if let Some(status) = path.strip_prefix("/status/").and_then(|status| status.parse().ok()) {
        return Page::status(status);
    }
    if let Some(kind) = path.strip_prefix("/slow/") {
        return Page::html(slow(kind));
    }
    match path {
        "/" | "/private/page" | "/private/open/page" | "/behind-500" | "/behind-401" => {
            Page::html(article(7))
        }
        "/text" => Page::of("text/plain", "A line.\n\tAnother, of <b>text</b>.\n"),
        "/long" => Page::of("text/plain; charset=utf-8", long()),
        "/empty" => Page::of("text/plain", ""),
        "/empty-page" => Page::html(""),
        "/bare" => Page::html("<p>Only a few words.</p>"),
        "/nothing-said" => Page::of("", article(8)),
        "/called-text" => Page::of("text/plain", format!("<html>{}", article(9))),
        "/xhtml" => Page::of("application/xhtml+xml", format!("<html>{}</html>", article(10))),
        "/compressed/gzip" => {
            compressed("gzip", GzEncoder::new(article(11).as_bytes(), Compression::default()))
        }
        "/compressed/deflate" => {
            compressed("deflate", ZlibEncoder::new(article(12).as_bytes(), Compression::default()))
        }
        "/data.json" => Page::of("application/json", "{\"a\": [1, 2, \"ä\"]}\n"),
        "/feed.xml" => Page::of("application/xml", "<feed><entry>é</entry></feed>"),
        "/image.png" => Page::of("image/png", b"\x89PNG\r\n\x1a\n\0\0".to_vec()),
        "/lead/relative" => Page::lead(302, "/article/3"),
        "/lead/twice" => Page::lead(301, "/lead/relative"),
        "/lead/round" => Page::lead(302, "/lead/round"),
        "/lead/private" => Page::lead(307, "/private/page"),
        _ => Page::status(404),
    }
}

/// A page whose body is read from an encoder.
fn compressed(encoding: &str, mut encoder: impl Read) -> Page {
    let mut body = Vec::new();
    let read = encoder.read_to_end(&mut body);
    read.expect("compressing memory can't fail");
    let mut page = Page::html(body);
    page.headers.push(("content-encoding", encoding.to_owned()));
    page
}

fn charset(name: &str) -> Page {
    let html = |head: &str, bytes: &[u8]| {
        let words =
            b"<p>These are the words of a page that is written in a charset of its own, and more of them: ";
        [b"<html><head>", head.as_bytes(), b"</head><body>", words, bytes, b"</p></body></html>"].concat()
    };
    match name {
        "latin1" => Page::of("text/plain; charset=iso-8859-1", b"caf\xe9".to_vec()),
        "windows-1251" => Page::of("text/html; charset=windows-1251", html("", b"\xf0\xf3\xf1")),
        "shift-jis" => Page::of("text/plain; charset=Shift_JIS", b"\x93\xfa\x96\x7b".to_vec()),
        "utf-8" => Page::of("text/plain; charset=UTF-8", "ä€😀"),
        "unsaid" => Page::of("text/plain", "ä€😀"),
        "meta" => Page::of("text/html", html("<meta charset=windows-1251>", b"\xf0\xf3\xf1")),
        "old-meta" => Page::of(
            "text/html",
            html(
                "<meta http-equiv='Content-Type' content='text/html; charset=iso-8859-2'>",
                b"\xb3\xf3d\xbc",
            ),
        ),
        "mark" => Page::of("text/plain", "\u{feff}ä"),
        "unsaid-latin1" => Page::of("text/plain", b"caf\xe9".to_vec()),
        _ => Page::status(404),
    }
}

/// Pages of several megabytes that take much time or memory to parse.
fn slow(kind: &str) -> String {
    match kind {
        "deep" => "<div>".repeat(500_000),
        "tables" => "<table><tr><td>".repeat(100_000),
        "just-not-deep" => "<ul><li>".repeat(500),
        "wide" => format!("<p {}>", (0..200_000).map(|n| format!("a{n}=b ")).collect::<String>()),
        "many" => "<i>x</i>".repeat(600_000),
        "angles" => "<".repeat(5_000_000),
        _ => "<p>A paragraph that is long enough, with commas, to be text.</p>".repeat(70_000),
    }
}

/// Rules that are slow to match against a URL.
pub(super) fn slow_rules() -> String {
    let pattern = "/*a".repeat(100);
    format!("User-agent: *\n{}", format!("Disallow: {pattern}b\n").repeat(1500))
}

/// A long text of characters with one to four bytes.
fn long() -> String {
    let mut random = Random::new(11);
    (0..9000).map(|_| random.pick(&['a', 'b', ' ', '\n', 'ä', '€', '😀'])).collect()
}

const WORDS: [&str; 24] = [
    "words",
    "of",
    "some",
    "page",
    "that",
    "nobody",
    "wrote,",
    "and",
    "which",
    "goes",
    "on",
    "for",
    "a",
    "while.",
    "Zażółć",
    "gęślą",
    "日本語",
    "😀",
    "it&amp;s",
    "x&lt;y",
    "snake_case",
    "C#",
    "1.5",
    "(so)",
];

/// A random page: an article with blocks of every kind, and a navigation around it.
fn article(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut page = String::from(
        "<!DOCTYPE html><html><head><title>A page</title><style>p { color: red }</style></head><body>",
    );
    page.push_str("<nav><ul><li><a href=\"/\">Home</a></li><li><a href=\"/about\">About</a></li></ul></nav><main><article>");
    // Enough text for the article to be the main content.
    for _ in 0..6 {
        paragraph(&mut page, &mut random);
    }
    for _ in 0..random.below(8) + 2 {
        block(&mut page, &mut random);
    }
    page.push_str(
        "</article></main><footer><p>No rights</p></footer><script>var x = '<p>';</script></body></html>",
    );
    page
}

fn block(page: &mut String, random: &mut Random) {
    match random.below(8) {
        0 => {
            let level = random.below(3) + 2;
            let words = words(random, 4);
            let _ = write!(page, "<h{level}>{words}</h{level}>");
        }
        1 => list(page, random, 2),
        2 => page.push_str("<pre><code>fn main() {\n    let a = [1, 2];\n}\n</code></pre>"),
        3 => {
            let _ = write!(page, "<blockquote><p>{}</p></blockquote>", words(random, 12));
        }
        4 => table(page, random),
        5 => {
            let _ = write!(page, "<p><img src=\"/pictures/{}.png\" alt=\"A picture\"></p>", random.below(9));
        }
        _ => {}
    }
    paragraph(page, random);
}

fn paragraph(page: &mut String, random: &mut Random) {
    page.push_str("<p>");
    for _ in 0..random.below(3) + 3 {
        let some = words(random, 9);
        let _ = match random.below(7) {
            0 => write!(page, "<b>{some}</b> "),
            1 => write!(page, "<em>{some}</em> "),
            2 => write!(page, "<code>{}</code> ", random.below(99)),
            3 => write!(page, "<a href=\"/article/{}\">{some}</a> ", random.below(99)),
            4 => write!(page, "<a href=\"https://b.example/{}?a=b\">{some}</a> ", random.below(99)),
            _ => write!(page, "{some}, and then, {some} "),
        };
    }
    page.push_str("which is where it ends.</p>\n");
}

fn list(page: &mut String, random: &mut Random, depth: usize) {
    let kind = random.pick(&["ul", "ol"]);
    let _ = write!(page, "<{kind}>");
    for _ in 0..random.below(4) + 1 {
        let _ = write!(page, "<li>{}", words(random, 6));
        if depth > 1 && random.once_in(3) {
            list(page, random, depth - 1);
        }
        page.push_str("</li>");
    }
    let _ = write!(page, "</{kind}>");
}

fn table(page: &mut String, random: &mut Random) {
    let columns = random.below(3) + 2;
    page.push_str("<table><thead><tr>");
    (0..columns).for_each(|_| {
        let _ = write!(page, "<th>{}</th>", words(random, 1));
    });
    page.push_str("</tr></thead><tbody>");
    for _ in 0..random.below(3) + 1 {
        page.push_str("<tr>");
        (0..columns).for_each(|_| {
            let _ = write!(page, "<td>{}</td>", words(random, 3));
        });
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table>");
}

/// One to `most` words.
fn words(random: &mut Random, most: usize) -> String {
    let words: Vec<&str> = (0..=random.below(most)).map(|_| random.pick(&WORDS)).collect();
    words.join(" ")
}
