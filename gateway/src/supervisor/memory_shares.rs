//! The parts of `[gateway] memory`: instances of plugins, requests, unread responses, and everything else that waits
//! for clients. The rest, a sixth or more, is for everything else, such as loaded code and the gateway itself.

use moongate_config::Config;
use moongate_protocol::server::ServerMemory;
use moongate_system::memory_limit::memory_limit;

/// The memory of the process if neither the configuration nor the system has a limit, in bytes.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// The memory for each HTTP connection, in bytes: several times what an idle one keeps, which is up to 73 KiB over HTTP/2
/// after a large request.
const CONNECTION_BYTES: u64 = 256 << 10;

/// The parts of the process's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryShares {
    /// For plugins' instances.
    pub guests: u64,
    /// For the endpoint.
    pub server: ServerMemory,
    /// The number of HTTP connections for whose buffers the rest has room.
    pub http_connections: u64,
}

impl MemoryShares {
    /// The parts with this configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let memory = config.memory.map(|memory| memory.as_u64());
        Self::of_total(memory.unwrap_or_else(|| memory_limit().map_or(DEFAULT_MEMORY, |limit| limit / 4 * 3)))
    }

    fn of_total(memory: u64) -> Self {
        Self {
            guests: memory / 2,
            server: ServerMemory::of_process(memory),
            http_connections: memory / CONNECTION_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_leave_a_sixth_for_the_gateway_itself() {
        for memory in [64 << 20, 512 << 20, 4 << 30, 1 << 40] {
            let MemoryShares { guests, server, http_connections } = MemoryShares::of_total(memory);
            let ServerMemory { requests, responses, questions, streams, subscriptions } = server;
            assert_eq!((guests, requests, responses), (memory / 2, memory / 8, memory / 8));
            let waiting = questions + streams + subscriptions;
            assert!(guests + requests + responses + waiting <= memory - memory / 6, "{memory}");
            // The default leaves a quarter of the limit of the cgroup, a third of the memory.
            assert!(http_connections * (73 << 10) <= memory / 3, "idle connections have room");
            assert!((5 << 20..=160 << 20).contains(&waiting), "{memory}: {waiting}");
        }
    }
}
