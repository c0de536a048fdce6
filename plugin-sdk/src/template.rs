//! Matches a URI against the template of `#[resource]`.
//!
//! Two forms of RFC 6570 can be matched unambiguously: `{name}`, a single path segment, percent-encoded; and
//! `{+name}`, any string. The macro rejects all others.

/// Returns the values of the template's variables, if `uri` matches.
pub(crate) fn matches<const N: usize>(template: &str, uri: &str) -> Option<[String; N]> {
    let mut values = Vec::with_capacity(N);
    fits(template, uri, &mut values).then_some(())?;
    values.try_into().ok()
}

fn fits(template: &str, uri: &str, values: &mut Vec<String>) -> bool {
    let Some((literal, rest)) = template.split_once('{') else { return template == uri };
    let Some(uri) = uri.strip_prefix(literal) else { return false };
    let Some((variable, template)) = rest.split_once('}') else { return false };
    let reserved = variable.starts_with('+');
    let longest = if reserved { uri.len() } else { uri.find(['/', '?', '#']).unwrap_or(uri.len()) };
    // Try the longest value first: `{+path}.txt` takes `a.txt` out of `a.txt.txt`.
    for end in (1..=longest).rev().filter(|end| uri.is_char_boundary(*end)) {
        let Some(value) = decode(&uri[..end]) else { continue };
        values.push(value);
        if fits(template, &uri[end..], values) {
            return true;
        }
        values.pop();
    }
    false
}

/// Decodes percent-encoding. `None` if the result isn't UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = after;
            }
            (b'%', _) => return None,
            (byte, _) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
