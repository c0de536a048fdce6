//! How alike two names are: for "did you mean …".

use strsim::osa_distance;

/// How alike two texts must be, from 0 to 1, for one to be suggested for the other.
pub(crate) const ALIKE: f64 = 0.7;

/// Longer ones are like nothing, in bytes: comparing takes time that grows with the length.
const LONGEST: usize = 128;

/// The one of `all` that is most like `asked`, if one is.
#[must_use]
pub fn alike<'a>(asked: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let rated = all.map(|it| (likeness(it, asked), it)).filter(|(likeness, _)| *likeness >= ALIKE);
    // The first of those that are equally like it.
    rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, it)| it)
}

/// How alike two texts are, from 0 to 1: by how many letters there are to change, add, leave out or swap.
pub(crate) fn likeness(a: &str, b: &str) -> f64 {
    let (most, least) = (a.len().max(b.len()), a.len().min(b.len()));
    if most == 0 || most > LONGEST || share(least, most) < ALIKE {
        return 0.0;
    }
    1.0 - share(osa_distance(a, b), most)
}

#[expect(clippy::cast_precision_loss, reason = "both are short lengths")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
