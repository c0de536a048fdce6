//! The loop with fake plugins, and a clock that stands still but for what is waited for.

mod configured;
mod drained;
mod operator;
mod replaced;
