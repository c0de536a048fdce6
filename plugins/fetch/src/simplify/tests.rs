//! Conversion of pages to Markdown.

use super::to_markdown;

const URL: &str = "https://a.example/docs/page";

fn page(body: &str) -> String {
    let filler =
        "<p>A paragraph that is long enough, with commas, to be the text of a page, and not its frame.</p>";
    format!(
        "<!doctype html><html><head><title>The title</title></head><body><nav><a href=/>Home</a> <a href=/shop>Shop</a>\
         </nav><article>{filler}{body}{filler}</article><footer>All rights</footer><script>let x = 1;</script></body></html>"
    )
}

#[test]
fn converts_the_main_content() {
    let markdown = to_markdown(
        &page(
            "<h2>Part</h2><p>With <b>strong</b>, <em>stressed</em> and <code>coded</code> words.</p>\
             <ul><li>one</li><li>two</li></ul><ol><li>first</li><li>second</li></ol>\
             <pre><code>fn main() {\n    run();\n}</code></pre><blockquote>Said.</blockquote>\
             <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>",
        ),
        URL,
    );
    for part in [
        "## Part\n",
        "With **strong**, *stressed* and `coded` words.",
        "- one\n- two",
        "1. first\n2. second",
        "```\nfn main() {\n    run();\n}\n```",
        "> Said.",
        "| A | B |",
        "| 1 | 2 |",
    ] {
        assert!(markdown.contains(part), "{part} is missing in:\n{markdown}");
    }
    for frame in ["Shop", "All rights", "let x"] {
        assert!(!markdown.contains(frame), "{markdown}");
    }
}

#[test]
fn makes_links_absolute() {
    let markdown = to_markdown(
        &page(
            "<p>See <a href='../next?a=1'>next</a> and <a href='#part'>part</a>: <img src='pic.png' alt='A pic'></p>",
        ),
        URL,
    );
    assert!(markdown.contains("[next](https://a.example/next?a=1)"), "{markdown}");
    assert!(markdown.contains("![A pic](https://a.example/docs/pic.png)"), "{markdown}");
}

#[test]
fn reports_pages_without_text() {
    for empty in ["", "<html></html>", "<html><body> <script>x</script></body></html>"] {
        assert_eq!(
            to_markdown(empty, URL),
            "<error>Page failed to be simplified from HTML</error>",
            "{empty}"
        );
    }
}

#[test]
fn refuses_pages_that_take_too_long() {
    for tag in ["<div>", "<table><tr><td>", "<ul><li>"] {
        let message = to_markdown(&tag.repeat(100_000), URL);
        assert!(message.contains("more than 512 levels deep"), "{message}");
    }
}

const PARTS: [&str; 44] = [
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<a href='x'>",
    "<a href='javascript:y()'>",
    "</a>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<ul>",
    "<ol start=x>",
    "<li>",
    "</ul>",
    "<b>",
    "</i>",
    "<h1>",
    "</h3>",
    "<pre>",
    "<code>",
    "</pre>",
    "<img src=data:,>",
    "<img srcset='a 1x, b'>",
    "<br>",
    "<template>",
    "<svg>",
    "<math><mi>",
    "</svg>",
    "<noscript>",
    "<form>",
    "<select><option>",
    "<frameset>",
    "<article>",
    "<base href='http://['>",
    "<body class=x>",
    "<!-- ",
    "-->",
    "<script>",
    "</script>",
    "some words, and more words, to be read. ",
    "ä€😀",
    "&amp;&#0;&nosuch;",
    "\0\r\n*_`|#",
];

#[test]
fn parses_any_tag_soup() {
    let mut seed = 7_u64;
    let mut next = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % end
    };
    for _ in 0..400 {
        let soup: String = (0..next(120)).map(|_| PARTS[next(PARTS.len())]).collect();
        let _ = to_markdown(&soup, URL);
    }
    for url in ["https://a.example", "http://[::1]/", "https://xn--bcher-kva.example/ä?b#c"] {
        assert!(
            to_markdown(&page("<p><a href='//b.example/x'>x</a></p>"), url).contains("//b.example/x)"),
            "{url}"
        );
    }
}
