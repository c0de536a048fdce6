//! Renamed files: a deleted and a new file with the same or similar content (git-diff, `--find-renames`).

use std::collections::HashMap;
use std::rc::Rc;

use bstr::{BStr, ByteSlice as _};

use crate::attributes;
use crate::changes::{Change, FileVersion};
use crate::fault::GitResult;

/// The highest similarity: equal content.
const MAX_SCORE: u64 = 60_000;

/// The lowest similarity of a rename: half of the content is the same.
const MIN_SCORE: u64 = MAX_SCORE / 2;

/// The lowest similarity of files that are the only ones with their name.
const MIN_SCORE_OF_SAME_NAME: u64 = MAX_SCORE * 3 / 4;

/// The maximum number of pairs whose content is compared.
const MAX_COMPARED_PAIRS: usize = 1000 * 1000;

/// The number of deleted files that are considered for each new one.
const MAX_CANDIDATES: usize = 4;

/// The maximum size of a piece of content that is compared as a whole, in bytes.
const MAX_PIECE_BYTES: usize = 64;

/// The number of bytes in each distinct piece of content.
type Pieces = HashMap<Vec<u8>, u64>;

/// The content of one side, prepared for comparison.
struct Sample {
    size: u64,
    pieces: Pieces,
}

/// Joins deleted and new files to renamed ones.
pub(crate) fn detect(
    changes: Vec<Change>,
    content: impl Fn(&BStr, FileVersion) -> GitResult<Rc<Vec<u8>>>,
) -> GitResult<Vec<Change>> {
    let has = |deleted: bool| {
        let of = |change: &Change| if deleted { (change.old, change.new) } else { (change.new, change.old) };
        let indices = changes.iter().enumerate().filter(|(_, change)| matches!(of(change), (Some(_), None)));
        indices.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let mut sources = has(true);
    let mut targets = has(false);
    if sources.is_empty() || targets.is_empty() {
        return Ok(changes);
    }
    // The source and the score of each target.
    let mut renames: HashMap<usize, (usize, u64)> = HashMap::new();
    find_equal(&changes, &sources, &targets, &mut renames);
    let forget =
        |renames: &HashMap<usize, (usize, u64)>, sources: &mut Vec<usize>, targets: &mut Vec<usize>| {
            targets.retain(|target| !renames.contains_key(target));
            sources.retain(|source| !renames.values().any(|(used, _)| used == source));
        };
    forget(&renames, &mut sources, &mut targets);
    let is_file = |version: Option<FileVersion>| version.is_some_and(|version| version.mode.is_file());
    sources.retain(|at| is_file(changes[*at].old));
    targets.retain(|at| is_file(changes[*at].new));
    if sources.len().saturating_mul(targets.len()) <= MAX_COMPARED_PAIRS {
        let mut samples: HashMap<usize, Sample> = HashMap::new();
        for at in sources.iter().chain(&targets).filter(|_| !sources.is_empty() && !targets.is_empty()) {
            let change = &changes[*at];
            if let Some(version) = change.old.or(change.new) {
                samples.insert(*at, Sample::of(&content(change.path.as_bstr(), version)?));
            }
        }
        let score = |source: usize, target: usize| samples[&source].similarity(&samples[&target]);
        find_same_name(&changes, &sources, &targets, &score, &mut renames);
        forget(&renames, &mut sources, &mut targets);
        find_similar(&changes, &sources, &targets, &score, &mut renames);
    }
    let used: Vec<usize> = renames.values().map(|(source, _)| *source).collect();
    let joined = changes.iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(at, change)| {
        let mut change = change.clone();
        if let Some((source, score)) = renames.get(&at) {
            let source = &changes[*source];
            let percent = u32::try_from(score * 100 / MAX_SCORE).unwrap_or_default();
            change.renamed = Some((source.path.clone(), percent));
            change.old = source.old;
        }
        change
    });
    Ok(joined.collect())
}

fn base_name(change: &Change) -> &[u8] {
    change.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Finds files with equal content; those with the same name first.
fn find_equal(
    changes: &[Change],
    sources: &[usize],
    targets: &[usize],
    renames: &mut HashMap<usize, (usize, u64)>,
) {
    for target in targets {
        let Some(new) = changes[*target].new else { continue };
        let fits = |source: &&usize| {
            changes[**source].old.is_some_and(|old| {
                old.id == new.id && (old.mode.is_file() && new.mode.is_file() || old.mode == new.mode)
            })
        };
        let unused = |source: &&usize| !renames.values().any(|(used, _)| used == *source);
        let candidates: Vec<&usize> = sources.iter().filter(fits).filter(unused).collect();
        let same_name = |source: &&&usize| base_name(&changes[***source]) == base_name(&changes[*target]);
        if let Some(source) = candidates.iter().find(same_name).or(candidates.first()) {
            renames.insert(*target, (**source, MAX_SCORE));
        }
    }
}

/// Finds similar files that are the only ones with their name on both sides.
fn find_same_name(
    changes: &[Change],
    sources: &[usize],
    targets: &[usize],
    score: &impl Fn(usize, usize) -> u64,
    renames: &mut HashMap<usize, (usize, u64)>,
) {
    let unique = |all: &[usize]| {
        let mut names: HashMap<Vec<u8>, Option<usize>> = HashMap::new();
        for at in all {
            names
                .entry(base_name(&changes[*at]).to_vec())
                .and_modify(|other| *other = None)
                .or_insert(Some(*at));
        }
        names
    };
    let targets = unique(targets);
    for (name, source) in unique(sources) {
        if let (Some(source), Some(Some(target))) = (source, targets.get(&name)) {
            let score = score(source, *target);
            if score >= MIN_SCORE_OF_SAME_NAME {
                renames.insert(*target, (source, score));
            }
        }
    }
}

/// Finds the most similar pairs.
fn find_similar(
    changes: &[Change],
    sources: &[usize],
    targets: &[usize],
    score: &impl Fn(usize, usize) -> u64,
    renames: &mut HashMap<usize, (usize, u64)>,
) {
    let mut pairs = Vec::new();
    for target in targets {
        let mut best: Vec<(u64, bool, usize)> = sources
            .iter()
            .map(|source| {
                let same_name = base_name(&changes[*source]) == base_name(&changes[*target]);
                (score(*source, *target), same_name, *source)
            })
            .filter(|(score, _, _)| *score >= MIN_SCORE)
            .collect();
        best.sort_by_key(|(score, same_name, _)| std::cmp::Reverse((*score, *same_name)));
        best.truncate(MAX_CANDIDATES);
        pairs.extend(best.into_iter().map(|(score, same_name, source)| (score, same_name, source, *target)));
    }
    pairs.sort_by_key(|(score, same_name, _, _)| std::cmp::Reverse((*score, *same_name)));
    for (score, _, source, target) in pairs {
        if !renames.contains_key(&target) && !renames.values().any(|(used, _)| *used == source) {
            renames.insert(target, (source, score));
        }
    }
}

impl Sample {
    /// Cuts content into lines, and long lines into pieces. In text, CRLF counts as LF.
    fn of(content: &[u8]) -> Self {
        let is_text = !attributes::has_nul(content);
        let mut pieces = Pieces::new();
        let mut piece = Vec::new();
        let mut bytes = content.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            if is_text && byte == b'\r' && bytes.peek() == Some(&b'\n') {
                continue;
            }
            piece.push(byte);
            if byte == b'\n' || piece.len() == MAX_PIECE_BYTES {
                let length = piece.len() as u64;
                *pieces.entry(std::mem::take(&mut piece)).or_default() += length;
            }
        }
        if !piece.is_empty() {
            let length = piece.len() as u64;
            *pieces.entry(piece).or_default() += length;
        }
        Self { size: content.len() as u64, pieces }
    }

    /// The similarity of two files: the bytes that the new one has from the old one, as a part of the larger size.
    fn similarity(&self, new: &Self) -> u64 {
        let largest = self.size.max(new.size);
        let smallest = self.size.min(new.size);
        if smallest == 0 || largest * (MAX_SCORE - MIN_SCORE) < (largest - smallest) * MAX_SCORE {
            return 0;
        }
        let copied: u64 = self
            .pieces
            .iter()
            .map(|(piece, bytes)| new.pieces.get(piece).map_or(0, |others| *bytes.min(others)))
            .sum();
        copied * MAX_SCORE / largest
    }
}
