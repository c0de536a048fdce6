//! Environment variables, as configuration sees them.
//!
//! Configuration never asks the process itself, so that a test can say what is set.

use std::collections::BTreeMap;
use std::env::VarError;

use crate::names::alike;

/// Where variables are looked up.
pub trait Environment {
    /// The value of the variable `name`.
    ///
    /// # Errors
    /// It isn't set, or isn't valid Unicode.
    fn variable(&self, name: &str) -> Result<String, VarError>;

    /// The names of all variables, as far as they can be told: for whoever misspelt one.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The variable that is set and probably meant by this name, which isn't.
pub(in crate::config) fn meant(name: &str, environment: &dyn Environment) -> Option<String> {
    let names = environment.names();
    let near = alike(name, names.iter().map(String::as_str)).filter(|_| name.len() > 3)?;
    Some(near.to_owned())
}

/// The variables of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        std::env::var(name)
    }

    fn names(&self) -> Vec<String> {
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
    }
}

impl Environment for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        self.get(name).cloned().ok_or(VarError::NotPresent)
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}
