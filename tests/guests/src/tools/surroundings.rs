//! Tools that look for things they weren't given: variables, sockets, standard input, random bytes.

use moongate_sdk::prelude::*;

use crate::{reach, resources, wild};

/// Tools that look for ways out.
#[derive(Debug, Default)]
pub(crate) struct Surroundings;

#[plugin(part)]
impl Surroundings {
    /// Read standard input. For the gateway's own input: it is empty.
    #[tool]
    fn read_stdin(&self) -> String {
        wild::read_stdin()
    }

    /// Read, skip and copy as much standard input as possible in one call.
    #[tool]
    fn read_hugely(&self) -> String {
        wild::read_hugely()
    }

    /// Return the variables, arguments and working directory. For grants: only those in `allow.env`.
    #[tool]
    fn read_env(&self) -> Json<reach::Surroundings> {
        Json(reach::surroundings())
    }

    /// Open a TCP connection to an address such as `127.0.0.1:80`. For sockets: there are none.
    #[tool]
    fn connect(&self, address: &str) -> String {
        reach::connect(address)
    }

    /// Resolve a host name. For sockets: there are none.
    #[tool]
    fn resolve_name(&self, name: &str) -> String {
        reach::resolve(name)
    }

    /// Listen at an address such as `127.0.0.1:0`. For sockets: there are none.
    #[tool]
    fn listen(&self, address: &str) -> String {
        wild::listen(address)
    }

    /// Send a datagram to an address. For sockets: there are none.
    #[tool]
    fn send_datagram(&self, address: &str) -> String {
        wild::send_datagram(address)
    }

    /// Create sockets of all kinds, and resolve a name. For sockets: there are none.
    #[tool]
    fn sockets(&self) -> Vec<Content> {
        wild::sockets().into_iter().map(Content::text).collect()
    }

    /// Request insecure random bytes: by default 1 GiB. For the limit of a single host call.
    #[tool]
    fn insecure_flood(&self, bytes: Option<u64>) -> String {
        wild::insecure_flood(bytes.unwrap_or(1 << 30))
    }

    /// Request random bytes in one call: by default 1 GiB. For the limit of a single host call.
    #[tool]
    fn random_flood(&self, bytes: Option<u64>) -> String {
        resources::random_flood(bytes.unwrap_or(1 << 30))
    }

    /// Report a change to another plugin's resource. For ownership of URIs: no notification is sent.
    #[tool]
    fn change_foreign_resource(&self) -> &'static str {
        changes::resource("test://watched-resource");
        "reported a change to `test://watched-resource`"
    }
}
