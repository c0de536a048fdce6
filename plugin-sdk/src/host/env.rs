//! The component's environment.

pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
