//! The command line, diagnostics and documentation.

mod suggestions;
mod typed_answers;
mod bad_input;
mod commands;
mod applied_hints;
mod first_hour;
mod inspect;
#[cfg(unix)]
mod after_install;
#[cfg(unix)]
mod file_edits;
#[cfg(unix)]
mod install;
mod roles;
#[cfg(unix)]
mod diagnostic_places;
#[cfg(unix)]
mod readme;
mod mistyped_input;
#[cfg(unix)]
mod development;
mod other_languages;
