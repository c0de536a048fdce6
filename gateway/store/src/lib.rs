//! The shared store: a Valkey or Redis server in which several gateways keep what they share.
