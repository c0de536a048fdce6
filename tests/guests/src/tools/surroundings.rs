//! Tools that look around for what wasn't given to them: variables, sockets, standard input, random bytes.

use moongate_sdk::prelude::*;

use crate::{reach, resources, wild};

/// Tools that look for ways out.
#[derive(Debug, Default)]
pub(crate) struct Surroundings;

#[plugin(part)]
impl Surroundings {
    /// Reads its standard input, which is the gateway's business: it is empty.
    #[tool]
    fn read_stdin(&self) -> String {
        wild::read_stdin()
    }

    /// Reads, skips and copies as much of its standard input as a number can say.
    #[tool]
    fn read_hugely(&self) -> String {
        wild::read_hugely()
    }

    /// Returns the variables, arguments and folder that it sees. For grants: there are only those in `allow.env`.
    #[tool]
    fn read_env(&self) -> Json<reach::Surroundings> {
        Json(reach::surroundings())
    }

    /// Opens a TCP connection to an address such as `127.0.0.1:80`. For grants: there is no network of that kind.
    #[tool]
    fn connect(&self, address: &str) -> String {
        reach::connect(address)
    }

    /// Resolves the name of a host. For grants: there is no network of that kind.
    #[tool]
    fn resolve_name(&self, name: &str) -> String {
        reach::resolve(name)
    }

    /// Listens at an address such as `127.0.0.1:0`. For grants: there is no network of that kind.
    #[tool]
    fn listen(&self, address: &str) -> String {
        wild::listen(address)
    }

    /// Sends a datagram to an address. For grants: there is no network of that kind.
    #[tool]
    fn send_datagram(&self, address: &str) -> String {
        wild::send_datagram(address)
    }

    /// Asks for sockets of all kinds, and for a name. For grants: there is no network of that kind.
    #[tool]
    fn sockets(&self) -> Vec<Content> {
        wild::sockets().into_iter().map(Content::text).collect()
    }

    /// Asks for bytes that needn't be very random: by default 1 GiB. For what a single host call may give.
    #[tool]
    fn insecure_flood(&self, bytes: Option<u64>) -> String {
        wild::insecure_flood(bytes.unwrap_or(1 << 30))
    }

    /// Asks for random bytes at once: by default 1 GiB. For what a single host call may give.
    #[tool]
    fn random_flood(&self, bytes: Option<u64>) -> String {
        resources::random_flood(bytes.unwrap_or(1 << 30))
    }

    /// Says that a resource changed that isn't its own. For the space of a plugin: nobody is told.
    #[tool]
    fn change_foreign_resource(&self) -> &'static str {
        changes::resource("test://watched-resource");
        "told of a change of `test://watched-resource`"
    }
}
