//! Environment variables, as configuration sees them.
//!
//! Configuration never asks the process itself, so that a test can say what is set.

use std::collections::BTreeMap;
use std::env::VarError;

/// Where variables are looked up.
pub trait Environment {
    /// The value of the variable `name`.
    ///
    /// # Errors
    /// It isn't set, or isn't valid Unicode.
    fn variable(&self, name: &str) -> Result<String, VarError>;
}

/// The variables of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        std::env::var(name)
    }
}

impl Environment for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        self.get(name).cloned().ok_or(VarError::NotPresent)
    }
}
