//! How many descriptors the process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes as many as the system lets this user have. Most systems begin with 1,024, for programs from long ago; some calls
/// of one plugin that may open files would take them all, and then nobody could connect.
pub(super) fn take_all() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None: no limit.
    if current.is_none() || current == maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays {current:?}");
    }
}
