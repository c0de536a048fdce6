//! One path segment: everything in a pattern except `**`, slashes and braces.

/// Appends the regular expression of a segment.
pub(super) fn push(part: &str, expression: &mut String) {
    if part == "*" {
        // No segment is empty.
        return expression.push_str("[^/]+");
    }
    let mut rest = part;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if let Some((choices, behind)) = list(c, after) {
            choices_of(c, &choices, expression);
            rest = behind;
            continue;
        }
        rest = after;
        match c {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => match class(after) {
                Some((class, behind)) => {
                    expression.push_str(&class);
                    rest = behind;
                }
                None => literal('[', expression),
            },
            '\\' => {
                let c = after.chars().next().unwrap_or('\\');
                literal(c, expression);
                rest = after.get(c.len_utf8()..).unwrap_or_default();
            }
            c => literal(c, expression),
        }
    }
}

fn literal(c: char, expression: &mut String) {
    if c.is_ascii_punctuation() {
        expression.push('\\');
    }
    expression.push(c);
}

/// The choices of a list such as `+(a|b)`, and the rest of the pattern.
fn list(mark: char, after: &str) -> Option<(Vec<&str>, &str)> {
    let inside = after.strip_prefix('(').filter(|_| matches!(mark, '?' | '*' | '+' | '@'))?;
    let (mut depth, mut choice, mut choices) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                choices.push(&inside[choice..at]);
                return Some((choices, &inside[at + 1..]));
            }
            ')' => depth -= 1,
            '|' if depth == 0 => {
                choices.push(&inside[choice..at]);
                choice = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn choices_of(mark: char, choices: &[&str], expression: &mut String) {
    expression.push_str("(?:");
    for (at, choice) in choices.iter().enumerate() {
        if at > 0 {
            expression.push('|');
        }
        push(choice, expression);
    }
    expression.push(')');
    if mark != '@' {
        expression.push(mark);
    }
}

/// A class such as `[!a-z]` after its bracket, and the rest of the pattern. `None` if it isn't closed.
fn class(after: &str) -> Option<(String, &str)> {
    let inside = after.strip_prefix(['!', '^']);
    let (mut class, mut rest) = match inside {
        Some(inside) => ("[^/".to_owned(), inside),
        None => ("[".to_owned(), after),
    };
    let mut is_empty = true;
    loop {
        if let Some((name, behind)) = named(rest) {
            class.push_str(name);
            rest = behind;
        } else {
            let (from, behind) = member(rest)?;
            if from == ']' && !is_empty && rest.starts_with(']') {
                break;
            }
            rest = behind;
            let range = rest.strip_prefix('-').and_then(member).filter(|(to, _)| *to != ']');
            match range {
                Some((to, behind)) => {
                    if from <= to {
                        literal(from, &mut class);
                        class.push('-');
                        literal(to, &mut class);
                    }
                    rest = behind;
                }
                None => literal(from, &mut class),
            }
        }
        is_empty = false;
    }
    class.push(']');
    // An empty class matches nothing.
    let nothing = class == "[]";
    Some((if nothing { "[^\\x00-\\x{10FFFF}]".to_owned() } else { class }, rest.strip_prefix(']')?))
}

/// A named class, such as `[:digit:]`, which regular expressions also support.
fn named(rest: &str) -> Option<(&str, &str)> {
    let end = rest.strip_prefix("[:")?.find(":]")? + 4;
    let (name, behind) = rest.split_at(end);
    let known = [
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "xdigit",
    ];
    known.contains(&&name[2..end - 2]).then_some((name, behind))
}

/// A character of a class, and the rest of the pattern.
fn member(rest: &str) -> Option<(char, &str)> {
    let rest = rest.strip_prefix('\\').unwrap_or(rest);
    let c = rest.chars().next()?;
    Some((c, &rest[c.len_utf8()..]))
}
