//! Walks through commits, newest first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::fault::GitResult;
use crate::object::{Commit, ObjectId};
use crate::repository::Repository;

/// A walk through the ancestors of a commit in the order of their commit times.
#[derive(Debug)]
pub(crate) struct Ancestors<'r> {
    repository: &'r Repository,
    queue: BinaryHeap<(i64, Reverse<usize>, ObjectId)>,
    commits: HashMap<ObjectId, Commit>,
    seen: HashSet<ObjectId>,
}

impl<'r> Ancestors<'r> {
    pub(crate) fn of(repository: &'r Repository, start: ObjectId) -> GitResult<Self> {
        let mut walk =
            Self { repository, queue: BinaryHeap::new(), commits: HashMap::new(), seen: HashSet::new() };
        walk.push(start)?;
        Ok(walk)
    }

    fn push(&mut self, id: ObjectId) -> GitResult<()> {
        if self.seen.insert(id) {
            let commit = self.repository.commit(id)?;
            self.queue.push((commit.committer.seconds, Reverse(self.seen.len()), id));
            self.commits.insert(id, commit);
        }
        Ok(())
    }

    /// The next commit with its id. `None` after the last one.
    pub(crate) fn next(&mut self) -> GitResult<Option<(ObjectId, Commit)>> {
        let Some((_, _, id)) = self.queue.pop() else { return Ok(None) };
        let Some(commit) = self.commits.remove(&id) else { return Ok(None) };
        for parent in &commit.parents {
            self.push(*parent)?;
        }
        Ok(Some((id, commit)))
    }
}

/// The ids of a commit and all its ancestors.
pub(crate) fn ancestors(repository: &Repository, id: ObjectId) -> GitResult<HashSet<ObjectId>> {
    let mut found = HashSet::from([id]);
    let mut left = vec![id];
    while let Some(id) = left.pop() {
        for parent in repository.commit(id)?.parents {
            if found.insert(parent) {
                left.push(parent);
            }
        }
    }
    Ok(found)
}

/// The numbers of commits that only the first and only the second commit has.
pub(crate) fn ahead_and_behind(
    repository: &Repository,
    ours: ObjectId,
    theirs: ObjectId,
) -> GitResult<(usize, usize)> {
    const OURS: u8 = 1;
    const THEIRS: u8 = 2;
    let mut sides: HashMap<ObjectId, u8> = HashMap::new();
    let mut commits: HashMap<ObjectId, Commit> = HashMap::new();
    let mut queue = BinaryHeap::new();
    for (id, side) in [(ours, OURS), (theirs, THEIRS)] {
        *sides.entry(id).or_default() |= side;
        let commit = repository.commit(id)?;
        queue.push((commit.committer.seconds, id));
        commits.insert(id, commit);
    }
    while let Some((_, id)) = queue.pop() {
        let side = sides.get(&id).copied().unwrap_or_default();
        let parents = commits.get(&id).map(|commit| commit.parents.clone()).unwrap_or_default();
        // When all commits in the queue belong to both sides, new commits do, too. Those already seen still have to be
        // marked, because times of commits can be out of order.
        let is_both = |id: &ObjectId| sides.get(id) == Some(&(OURS | THEIRS));
        let is_open = !is_both(&id) || !queue.iter().all(|(_, id)| is_both(id));
        for parent in parents {
            if !is_open && !sides.contains_key(&parent) {
                continue;
            }
            let known = sides.entry(parent).or_default();
            if *known | side != *known {
                *known |= side;
                let commit = repository.commit(parent)?;
                queue.push((commit.committer.seconds, parent));
                commits.insert(parent, commit);
            }
        }
    }
    let count = |wanted: u8| sides.values().filter(|side| **side == wanted).count();
    Ok((count(OURS), count(THEIRS)))
}
