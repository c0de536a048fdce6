//! The environment that the gateway gives the component.

pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
