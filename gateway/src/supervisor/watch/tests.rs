//! Watching, against the system as it is and against one that fails.

use std::path::Path;

use tokio::time::timeout;

use super::*;

pub(super) mod fake;
mod failing;
mod timing;
mod ways;

/// Only keeps a test from hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// A time that no test reaches.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// The files that are reported next.
async fn files(watch: &mut Watch) -> BTreeSet<PathBuf> {
    match timeout(PATIENCE, watch.changed()).await.expect("something is noticed") {
        Noticed::Files(files) => files,
        Noticed::Watching(watching) => panic!("{watching:?}"),
    }
}

/// How files are watched from now on.
async fn watching(watch: &mut Watch) -> Watching {
    match timeout(PATIENCE, watch.changed()).await.expect("something is noticed") {
        Noticed::Files(files) => panic!("{files:?}"),
        Noticed::Watching(watching) => watching,
    }
}

fn set(paths: &[&Path]) -> BTreeSet<PathBuf> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}
