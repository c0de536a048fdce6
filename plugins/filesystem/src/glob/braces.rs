//! Braces: `{a,b}` is `a` or `b`, `{1..3}` a number, `{a..c}` a letter. Other braces are literal.

/// Expands all alternatives. `None` if there are more than `most`.
pub(super) fn expanded(pattern: &str, most: usize) -> Option<Vec<String>> {
    let Some((before, choices, after)) = first(pattern) else { return Some(vec![pattern.to_owned()]) };
    let ends = expanded(after, most)?;
    let mut all = Vec::new();
    for choice in choices {
        for choice in expanded(&choice, most)? {
            if all.len() + ends.len() > most {
                return None;
            }
            all.extend(ends.iter().map(|end| format!("{before}{choice}{end}")));
        }
    }
    Some(all)
}

/// The first braces with a meaning: the text before, the choices and the text after.
fn first(pattern: &str) -> Option<(&str, Vec<String>, &str)> {
    let mut from = 0;
    while let Some(start) = find(pattern, from, '{') {
        if let Some((choices, end)) = choices(pattern, start + 1) {
            return Some((&pattern[..start], choices, &pattern[end..]));
        }
        from = start + 1;
    }
    None
}

/// The position of the next unescaped character.
fn find(pattern: &str, from: usize, wanted: char) -> Option<usize> {
    let mut escaped = false;
    pattern[from..].char_indices().find_map(|(at, c)| {
        let found = !escaped && c == wanted;
        escaped = !escaped && c == '\\';
        found.then_some(from + at)
    })
}

/// The choices between braces and the position after them. `None` if they aren't closed or contain no choice.
fn choices(pattern: &str, start: usize) -> Option<(Vec<String>, usize)> {
    let (mut choices, mut choice, mut depth, mut escaped) = (Vec::new(), start, 0, false);
    for (at, c) in pattern[start..].char_indices().map(|(at, c)| (start + at, c)) {
        if escaped {
            escaped = false;
            continue;
        }
        match c {
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth == 0 => {
                if choices.is_empty() {
                    return range(&pattern[start..at]).map(|range| (range, at + 1));
                }
                choices.push(pattern[choice..at].to_owned());
                return Some((choices, at + 1));
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                choices.push(pattern[choice..at].to_owned());
                choice = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// All values of a range.
fn range(text: &str) -> Option<Vec<String>> {
    let (from, to) = text.split_once("..")?;
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        // One value more than allowed is enough to reject the range.
        let (low, high) = (from.min(to), from.max(to).min(from.min(to).saturating_add(10_000)));
        let numbers = (low..=high).map(|number| number.to_string());
        return Some(numbers.collect());
    }
    let letter = |text: &str| text.chars().next().filter(|c| c.is_ascii_alphabetic() && text.len() == 1);
    let (from, to) = (letter(from)?, letter(to)?);
    Some((from.min(to)..=from.max(to)).map(String::from).collect())
}
