//! One page for each HTML element: alone, twice in a row, in a sentence, and in other elements. Every visible word must be
//! in the Markdown, and apart from the others.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::comparison::Comparison;

/// Elements that are blocks, by name. Each `@` becomes a new visible word, and each `#` an invisible one.
const BLOCKS: &[(&str, &str)] = &[
    ("address", "<address>@<br>@</address>"),
    ("article", "<article>@</article>"),
    ("blockquote", "<blockquote>@<p>@</p></blockquote>"),
    ("center", "<center>@</center>"),
    ("details", "<details><summary>@</summary>@</details>"),
    ("details-paragraph", "<details open><summary>@</summary><p>@</p></details>"),
    ("div", "<div>@</div>"),
    ("dl", "<dl><dt>@</dt><dd>@</dd><dt>@</dt><dt>@</dt><dd>@</dd><dd>@</dd></dl>"),
    ("dl-groups", "<dl><div><dt>@</dt><dd><p>@</p><p>@</p></dd></div></dl>"),
    ("figure", "<figure><img src=\"/x.png\" alt=\"@\"><figcaption>@</figcaption></figure>"),
    ("figure-code", "<figure><pre><code>@</code></pre><figcaption>@</figcaption></figure>"),
    ("headings", "<h1>@</h1><h2>@</h2><h3>@</h3><h4>@</h4><h5>@</h5><h6>@</h6>"),
    ("header", "<header>@</header>"),
    ("hgroup", "<hgroup><h2>@</h2><p>@</p></hgroup>"),
    ("li-paragraphs", "<ul><li><p>@</p><p>@</p></li><li>@<p>@</p></li></ul>"),
    ("main", "<main>@</main>"),
    ("menu", "<menu><li>@</li><li>@</li></menu>"),
    ("nav", "<nav>@</nav>"),
    ("ol", "<ol><li>@</li><li>@<ol><li>@</li></ol></li></ol>"),
    ("p", "<p>@</p>"),
    ("pre", "<pre>@\n@</pre>"),
    ("pre-code", "<pre><code class=\"language-c\">@\n  @</code></pre>"),
    ("search", "<search>@</search>"),
    ("section", "<section>@</section>"),
    ("table", "<table><tr><td>@</td><td>@</td></tr><tr><td>@</td><td>@</td></tr></table>"),
    (
        "table-caption",
        "<table><caption>@</caption><thead><tr><th>@</th><th>@</th></tr></thead><tbody><tr><td>@</td><td>@</td></tr>\
         </tbody><tfoot><tr><td>@</td><td>@</td></tr></tfoot></table>",
    ),
    (
        "table-blocks",
        "<table><tr><th>@</th><td><p>@</p><p>@</p></td></tr><tr><th>@</th><td><ul><li>@</li><li>@</li></ul></td></tr></table>",
    ),
    (
        "table-nested",
        "<table><tr><td>@</td><td><table><tr><td>@</td><td>@</td></tr></table></td></tr></table>",
    ),
    (
        "table-spans",
        "<table><tr><td colspan=\"2\">@</td></tr><tr><td>@</td><td>@</td></tr><tr><td>@</td></tr></table>",
    ),
    ("ul", "<ul><li>@</li><li>@<ul><li>@</li><li>@</li></ul></li></ul>"),
];

/// Elements that are parts of a line, and lines.
const INLINE: &[(&str, &str)] = &[
    ("a", "@ <a href=\"/x\">@</a> @ which isn't linked"),
    ("abbr", "<abbr title=\"#\">@</abbr>"),
    ("audio", "<audio controls src=\"/x.mp3\">#</audio>"),
    ("b", "<b>@</b>"),
    ("bdo", "<bdo dir=\"ltr\">@</bdo>"),
    ("br", "@<br>@"),
    ("canvas", "<canvas>#</canvas>"),
    ("cite", "<cite>@</cite>"),
    ("code", "<code>@</code>"),
    ("comment", "@ <!-- # --> @"),
    ("custom", "<my-card>@</my-card>"),
    ("del", "<del>@</del>"),
    ("dfn", "<dfn>@</dfn>"),
    ("em", "<em>@</em>"),
    ("hidden", "@ <div hidden>#</div> @"),
    ("hidden-style", "@ <span style=\"display:none\">#</span> @"),
    ("hr", "@<hr>@"),
    ("i", "<i>@</i>"),
    ("img", "<img src=\"/x.png\" alt=\"@\">"),
    ("ins", "<ins>@</ins>"),
    ("kbd", "<kbd>@</kbd>"),
    ("label", "<label>@</label>"),
    ("mark", "<mark>@</mark>"),
    ("math", "<math><mi>@</mi></math>"),
    ("meter", "<meter value=\"1\">@</meter>"),
    ("noscript", "<noscript>#</noscript> @"),
    ("output", "<output>@</output>"),
    ("picture", "<picture><source srcset=\"/x.webp\"><img src=\"/x.png\" alt=\"@\"></picture>"),
    ("q", "<q>@</q>"),
    ("ruby", "<ruby>@<rt>@</rt></ruby>"),
    ("ruby-rp", "<ruby>@<rp>(</rp><rt>@</rt><rp>)</rp></ruby>"),
    ("s", "<s>@</s>"),
    ("samp", "<samp>@</samp>"),
    ("script", "@ <script>#</script>"),
    ("small", "<small>@</small>"),
    ("span", "<span>@</span>"),
    ("strong", "<strong>@</strong>"),
    ("style", "@ <style>#</style>"),
    ("svg", "<svg viewBox=\"0 0 9 9\"><text>@</text><text>@</text></svg>"),
    ("template", "@ <template>#</template>"),
    ("time", "<time>@</time>"),
    ("u", "<u>@</u>"),
    ("var", "<var>@</var>"),
    ("video", "<video controls src=\"/x.mp4\">#</video>"),
];

/// Elements that aren't part of the main content. Both servers omit them.
const OMITTED: &[(&str, &str)] = &[
    ("aside", "<aside>@</aside>"),
    ("button", "<button>@</button>"),
    ("fieldset", "<fieldset><legend>@</legend>@</fieldset>"),
    ("footer", "<footer>@</footer>"),
    ("form", "<form><label>@</label><input></form>"),
    ("iframe", "<iframe src=\"https://b.example/\">#</iframe>"),
    ("input", "<input value=\"@\">"),
    ("object", "<object data=\"/x.pdf\">@</object>"),
    ("select", "<select><option>@</option><option>@</option></select>"),
    ("textarea", "<textarea>@</textarea>"),
];

/// Elements with another in place of `~`.
const CONTEXTS: &[&str] = &[
    "~",
    "<div>@ ~ @</div>",
    "<ul><li>~</li><li>@ ~</li></ul>",
    "<blockquote>~</blockquote>",
    "<dl><dt>@</dt><dd>~</dd></dl>",
    "<table><tr><td>~</td><td>@</td></tr></table>",
    "<details><summary>@</summary>~</details>",
    "<section><header>@</header>~</section>",
    "<figure>~<figcaption>@</figcaption></figure>",
];

const FILLER: &str = "<p>A paragraph that is long enough, with several commas, to be the text of a page, and not only a part of \
                      its frame, so that the page has a main content, which is the rest of it.</p>";

fn elements() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    BLOCKS.iter().chain(INLINE).chain(OMITTED)
}

/// The page of an element.
pub(super) fn page(name: &str) -> Option<String> {
    let (_, html) = elements().find(|(other, _)| *other == name)?;
    let is_block = BLOCKS.iter().any(|(other, _)| *other == name);
    let twice = if is_block { "~~" } else { "~ ~" };
    let mut words = 0;
    let mut body = String::new();
    for context in CONTEXTS.iter().chain([&twice]) {
        for c in context.replace('~', html).chars() {
            match c {
                '@' => {
                    words += 1;
                    body.push_str(&format!("w{words}"));
                }
                '#' => body.push_str("w0"),
                other => body.push(other),
            }
        }
        body.push_str(FILLER);
    }
    Some(format!(
        "<!DOCTYPE html><html><head><title>Elements</title></head><body><article>{FILLER}{FILLER}{body}</article></body></html>"
    ))
}

/// The words of Markdown that `page` has generated.
pub(super) fn words(markdown: &str) -> Vec<String> {
    let words = markdown.split(|c: char| !c.is_ascii_alphanumeric());
    let is_generated = |word: &&str| {
        word.strip_prefix('w').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    words.filter(is_generated).map(str::to_owned).collect()
}

/// The visible words of a page in order, as [`words`] returns them.
fn visible_words(page: &str) -> Vec<String> {
    let count = words(page).iter().filter(|word| *word != "w0").count();
    (1..=count).map(|number| format!("w{number}")).collect()
}

/// Does the plugin's answer, in normal form, contain exactly the visible words of the page?
pub(super) fn is_complete(url: &str, answer: &Value) -> bool {
    let name = url.rsplit('/').next().unwrap_or_default();
    let visible = page(name).map(|page| visible_words(&page));
    visible.is_some_and(|visible| answer.pointer("/content/0/text/words") == Some(&json!(visible)))
}

/// Compares the words of all pages, and checks that the plugin's are complete.
pub(super) fn check(comparison: &mut Comparison<'_>, url: impl Fn(&str) -> String) -> Result<()> {
    let mut wrong = Vec::new();
    for (name, _) in elements() {
        let url = url(&format!("/element/{name}"));
        let params = json!({ "name": "fetch", "arguments": { "url": url, "max_length": 999_999 } });
        let [theirs, ours] = comparison.request_both("tools/call", &params, &params)?;
        comparison.compare("tools/call", &params, &theirs, &ours);
        let is_omitted = OMITTED.iter().any(|(other, _)| other == name);
        if !is_omitted && !is_complete(&url, &ours) {
            wrong.push(*name);
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("visible words are missing or joined: {}", wrong.join(", ")) }
}
