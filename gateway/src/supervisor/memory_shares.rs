//! The parts of `[gateway] memory`: instances of plugins, requests, and responses that aren't sent yet. The rest, a
//! quarter, is for everything else, such as loaded code and the gateway itself.

use moongate_config::Config;
use moongate_system::memory_limit::memory_limit;

/// The memory of the process if neither the configuration nor the system has a limit, in bytes.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// The parts of the process's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryShares {
    /// For plugins' instances.
    pub guests: u64,
    /// For requests.
    pub requests: u64,
    /// For responses that aren't sent yet.
    pub answers: u64,
}

impl MemoryShares {
    /// The parts with this configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let memory = config.memory.map(|memory| memory.as_u64());
        Self::of_total(memory.unwrap_or_else(|| memory_limit().map_or(DEFAULT_MEMORY, |limit| limit / 4 * 3)))
    }

    fn of_total(memory: u64) -> Self {
        Self { guests: memory / 2, requests: memory / 8, answers: memory / 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_leave_a_quarter_for_the_gateway_itself() {
        let MemoryShares { guests, requests, answers } = MemoryShares::of_total(1 << 30);
        assert_eq!((guests, requests, answers), (512 << 20, 128 << 20, 128 << 20));
    }
}
