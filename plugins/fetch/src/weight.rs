//! Estimates the cost of parsing an HTML page, in one pass over its text.
//!
//! Parsers build a tree and walk it, so some pages of a megabyte take minutes: elements nested thousands of levels
//! deep, or tags with thousands of attributes. The gateway would end the call; this check fails early and explains
//! why. It must be right for real pages and must not underestimate others.

/// The maximum nesting depth, as in browsers.
const MAX_DEPTH: usize = 512;
/// The maximum number of tags.
const MAX_TAGS: usize = 150_000;
/// The maximum number of attributes of a tag.
const MAX_ATTRIBUTES: usize = 1000;

/// Elements without an end tag, or with an optional one.
const WITHOUT_END_TAG: &[&[u8]] = &[
    b"area",
    b"base",
    b"body",
    b"br",
    b"col",
    b"colgroup",
    b"dd",
    b"dt",
    b"embed",
    b"head",
    b"hr",
    b"html",
    b"img",
    b"input",
    b"li",
    b"link",
    b"meta",
    b"optgroup",
    b"option",
    b"p",
    b"param",
    b"rp",
    b"rt",
    b"source",
    b"tbody",
    b"td",
    b"tfoot",
    b"th",
    b"thead",
    b"tr",
    b"track",
    b"wbr",
];
/// Elements whose content isn't HTML.
const TEXT: &[&[u8]] = &[b"script", b"style", b"textarea", b"title"];

/// The reason why a page is too expensive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CostError {
    /// Elements are nested too deeply.
    #[error("its elements are nested more than {MAX_DEPTH} levels deep")]
    Deep,
    /// There are too many elements.
    #[error("it has more than {MAX_TAGS} tags")]
    Large,
    /// An element has too many attributes.
    #[error("a tag has more than {MAX_ATTRIBUTES} attributes")]
    Wide,
}

/// Checks that this page can be converted quickly.
pub(crate) fn check(html: &str) -> Result<(), CostError> {
    let html = html.as_bytes();
    let (mut at, mut depth, mut tags) = (0_usize, 0_usize, 0_usize);
    while let Some(found) = find(html, at, b"<") {
        at = found + 1;
        if html[at..].starts_with(b"!--") {
            at = find(html, at + 3, b"-->").map_or(html.len(), |end| end + 3);
            continue;
        }
        let closing = html.get(at) == Some(&b'/');
        let start = at + usize::from(closing);
        if !html.get(start).is_some_and(u8::is_ascii_alphabetic) {
            continue; // it is text
        }
        let length =
            html[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        let name = html[start..start + length].to_ascii_lowercase();
        let tag = Tag::read(html, start + length);
        at = tag.end;
        tags += 1;
        if tags > MAX_TAGS {
            return Err(CostError::Large);
        }
        if tag.attributes > MAX_ATTRIBUTES {
            return Err(CostError::Wide);
        }
        if closing {
            if !WITHOUT_END_TAG.contains(&name.as_slice()) {
                depth = depth.saturating_sub(1);
            }
        } else if TEXT.contains(&name.as_slice()) {
            at = end_of_text(html, at, &name);
        } else if !WITHOUT_END_TAG.contains(&name.as_slice()) && !tag.closes_itself {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(CostError::Deep);
            }
        }
    }
    Ok(())
}

/// The rest of a tag after its name.
struct Tag {
    end: usize,
    attributes: usize,
    /// The tag ends in `/>`, as in SVG.
    closes_itself: bool,
}

impl Tag {
    fn read(html: &[u8], start: usize) -> Self {
        let mut tag = Self { end: html.len(), attributes: 0, closes_itself: false };
        let mut in_word = false;
        let mut at = start;
        while let Some(byte) = html.get(at) {
            match byte {
                b'>' => {
                    tag.end = at + 1;
                    tag.closes_itself = html[start..at].ends_with(b"/");
                    return tag;
                }
                b'=' => {
                    let value =
                        at + 1 + html[at + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    if let Some(quote @ (b'"' | b'\'')) = html.get(value) {
                        at = find(html, value + 1, &[*quote]).unwrap_or(html.len());
                    }
                    in_word = true;
                }
                byte if byte.is_ascii_whitespace() || *byte == b'/' => in_word = false,
                _ => {
                    tag.attributes += usize::from(!in_word);
                    in_word = true;
                }
            }
            at += 1;
        }
        tag
    }
}

/// The end of the content of a text element: the position of its end tag.
fn end_of_text(html: &[u8], mut at: usize, name: &[u8]) -> usize {
    while let Some(found) = find(html, at, b"</") {
        at = found + 2;
        if html[at..].len() >= name.len() && html[at..at + name.len()].eq_ignore_ascii_case(name) {
            return found;
        }
    }
    html.len()
}

/// The position of the next `what`, starting at `at`.
fn find(html: &[u8], at: usize, what: &[u8]) -> Option<usize> {
    let rest = html.get(at..)?;
    let first = what[0];
    let mut from = 0;
    while let Some(step) = rest[from..].iter().position(|byte| *byte == first) {
        from += step;
        if rest[from..].starts_with(what) {
            return Some(at + from);
        }
        from += 1;
    }
    None
}

#[cfg(test)]
mod tests;
