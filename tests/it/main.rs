//! The whole gateway, as its users see it. One test binary; each module says what belongs there.

/// The order of modules, and which of them may speak of which library.
mod floors;
