//! The work that a regular expression can require, computed from its text.
//!
//! The time of the engine grows with the string and with the number of places in the expression where a match can be in
//! progress: `[ab]{3000}c` has three thousand. Unknown syntax counts as a plain character, because expressions that the
//! engine rejects never run.

/// The number of places in `pattern` where a match can be in progress.
pub(super) fn pattern_places(pattern: &str) -> u64 {
    let mut groups = vec![PatternGroup::default()];
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '(' => groups.push(PatternGroup::default()),
            ')' if groups.len() > 1 => {
                let inner = groups.pop().map_or(1, |group| group.places.max(1));
                innermost(&mut groups).add(inner);
            }
            '[' => {
                skip_class(&mut characters);
                innermost(&mut groups).add(1);
            }
            '{' => {
                let rest = characters.as_str();
                if let Some((times, length)) = repetition(rest) {
                    innermost(&mut groups).repeat(times);
                    characters = rest[length..].chars();
                } else {
                    innermost(&mut groups).add(1);
                }
            }
            '\\' => {
                characters.next();
                innermost(&mut groups).add(1);
            }
            _ => innermost(&mut groups).add(1),
        }
    }
    groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.places)).max(1)
}

/// An estimate of the compiled size of `pattern`, in bytes, that is rarely too small.
pub(super) fn compiled_size(pattern: &str) -> u64 {
    const COMPLEMENTS: [&str; 5] = ["[^", "\\S", "\\D", "\\W", "."];
    let bytes_per_place = if ["\\p", "\\P"].iter().any(|class| pattern.contains(class)) {
        64 << 10 // hundreds of ranges of characters
    } else if !pattern.is_ascii() || COMPLEMENTS.iter().any(|class| pattern.contains(class)) {
        1 << 10
    } else {
        64
    };
    pattern_places(pattern).saturating_mul(bytes_per_place).saturating_add(4 << 10)
}

/// A partially read group.
#[derive(Default)]
struct PatternGroup {
    places: u64,
    /// The number of places in the last character, class or group.
    last: u64,
}

impl PatternGroup {
    fn add(&mut self, places: u64) {
        self.places = self.places.saturating_add(places);
        self.last = places;
    }

    /// Repeats the last item.
    fn repeat(&mut self, times: u64) {
        let more = self.last.saturating_mul(times.saturating_sub(1));
        self.places = self.places.saturating_add(more);
        self.last = self.last.saturating_add(more);
    }
}

fn innermost(groups: &mut [PatternGroup]) -> &mut PatternGroup {
    groups.last_mut().expect("the outermost group is never taken")
}

/// Skips to the end of a class; classes can nest.
fn skip_class(characters: &mut std::str::Chars<'_>) {
    let mut depth = 1;
    let mut first = true;
    while let Some(c) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '^' if first => continue, // a `]` after it is still a character
            ']' if !first => depth -= 1,
            '[' => depth += 1,
            _ => {}
        }
        first = false;
        if depth == 0 {
            return;
        }
    }
}

/// The larger number of `m}`, `m,}` or `m,n}`, and the length of that text.
fn repetition(text: &str) -> Option<(u64, usize)> {
    let end = text.find('}')?;
    let (least, most) = text[..end].split_once(',').unwrap_or((&text[..end], ""));
    let least: u64 = least.trim().parse().ok()?;
    let most = if most.trim().is_empty() { least } else { most.trim().parse().ok()? };
    Some((least.max(most).max(1), end + 1))
}
