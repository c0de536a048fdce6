//! What was probably meant by a name or a URI that nothing has.
//!
//! Clients show tools under names of their own, such as `mcp__server__hello_greet`, and models shorten what they read:
//! so the plugin's own name counts as well as the public one, and what stands between words doesn't count.

use std::fmt;

use crate::names::{ALIKE, alike, likeness, shown};

/// Longer ones are looked for nowhere, in bytes: a public name with what a client puts before it is shorter.
const LONGEST: usize = 128;

/// At most so many are suggested: plugins that call a tool the same may be many.
const MOST: usize = 3;

/// A name or a URI that nothing has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What the caller asked for.
    pub asked: String,
    /// What it probably meant, of what it may see.
    pub nearest: Vec<String>,
}

impl Unknown {
    /// Something that nothing else is like.
    #[must_use]
    pub fn new(asked: &str) -> Self {
        Self { asked: asked.to_owned(), nearest: Vec::new() }
    }

    /// The same, where something of a name is meant. Each of `all` is a public name and the plugin's own for the same.
    pub(super) fn name<'a>(asked: &str, all: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self { nearest: names(asked, all), ..Self::new(asked) }
    }

    /// The same for a URI.
    pub(super) fn uri<'a>(asked: &str, all: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self { nearest: uri(asked, all).into_iter().collect(), ..Self::new(asked) }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", shown(&self.asked))?;
        for (at, name) in self.nearest.iter().enumerate() {
            f.write_str(match at {
                0 => "; did you mean ",
                at if at + 1 == self.nearest.len() => " or ",
                _ => ", ",
            })?;
            write!(f, "`{}`", shown(name))?;
        }
        f.write_str(if self.nearest.is_empty() { "" } else { "?" })
    }
}

fn names<'a>(asked: &str, all: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    if asked.len() > LONGEST {
        return Vec::new();
    }
    let asked = folded(asked);
    // In the order in which they count.
    let (mut same, mut within, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let mut nearest: Option<(f64, &str)> = None;
    let mut own_within = Vec::new();
    for (public, its_own) in all {
        let (folded_public, folded_own) = (folded(public), folded(its_own));
        if folded_public == asked {
            same.push(public);
        } else if is_last_part(&folded_public, &asked) {
            within.push(public);
        } else if folded_own == asked {
            own.push(public);
        } else if is_last_part(&folded_own, &asked) {
            own_within.push(public);
        }
        let likeness = likeness(&folded_public, &asked).max(likeness(&folded_own, &asked));
        if likeness >= ALIKE && nearest.is_none_or(|(best, _)| likeness > best) {
            nearest = Some((likeness, public));
        }
    }
    // `greet` is the last part of whatever `hello_greet` is the last part of.
    within.sort_by_key(|public| std::cmp::Reverse(public.len()));
    within.truncate(1);
    let nearest: Vec<_> = nearest.into_iter().map(|(_, public)| public).collect();
    let found = [same, within, own, nearest, own_within].into_iter().find(|found| !found.is_empty());
    found.unwrap_or_default().into_iter().take(MOST).map(str::to_owned).collect()
}

/// The name in small letters, with `_` for whatever stands between its words.
fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        if c != '_' || !folded.ends_with('_') {
            folded.push(c);
        }
    }
    folded
}

/// Does `whole` end with this part, with others before it?
fn is_last_part(part: &str, whole: &str) -> bool {
    whole.strip_suffix(part).is_some_and(|before| before.ends_with('_'))
}

fn uri<'a>(asked: &str, all: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    if asked.is_empty() || asked.len() > LONGEST {
        return None;
    }
    // One that was asked for without its beginning.
    let is_end = |uri: &&str| uri.strip_suffix(asked).is_some_and(|before| before.ends_with(['/', ':']));
    let found = all.clone().find(is_end);
    found.or_else(|| alike(asked, all)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
