//! `networks` of a grant: addresses that aren't public but may be reached all the same.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::config::grants::is_public;
use crate::config::model::http_pattern::Fault;
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text};

/// Where clouds hand out credentials to whoever asks on a machine of theirs.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

impl Reading<'_> {
    /// The networks of a grant, if it names any.
    pub(in crate::config) fn networks(&mut self, table: &Table<'_>) -> Option<Vec<IpNet>> {
        let mut networks: Vec<IpNet> = Vec::new();
        for text in self.texts(table, "networks")? {
            match network(&text.text) {
                Ok(network) => {
                    self.judge_network(&text, network, &networks);
                    networks.push(network);
                }
                Err(fault) => {
                    // What is meant is plain, and nothing more is wrong with it.
                    networks.extend(text.text.parse::<IpAddr>().map(IpNet::from));
                    self.fault(&text, fault);
                }
            }
        }
        Some(networks)
    }

    fn judge_network(&mut self, text: &Text, network: IpNet, earlier: &[IpNet]) {
        let problem = if let Some(other) = earlier.iter().find(|other| other.contains(&network)) {
            Problem::warning(format!("`{network}` lies in `{other}`, which is granted already"))
                .hint("remove it")
        } else if METADATA.iter().any(|address| network.contains(address))
            && network.prefix_len() < network.max_prefix_len()
        {
            let message =
                format!("`{network}` holds the address at which clouds hand out the machine's credentials");
            Problem::warning(message).hint("grant a smaller network that doesn't")
        } else if is_public_net(network) {
            Problem::warning(format!("`{network}` is public, and reached without being named here"))
                .hint("remove it")
        } else {
            return;
        };
        self.note(problem.at(text.place.clone()));
    }
}

/// So many bits are less than what any network that isn't public needs.
fn shortest(network: IpNet) -> u8 {
    match network {
        IpNet::V4(_) => 8, // 10.0.0.0/8
        IpNet::V6(_) => 7, // fc00::/7
    }
}

fn is_public_net(network: IpNet) -> bool {
    // Small enough to hold nothing else between its ends.
    let small = match network {
        IpNet::V4(_) => 24,
        IpNet::V6(_) => 32,
    };
    network.prefix_len() >= small && is_public(network.network()) && is_public(network.broadcast())
}

/// Reads a network such as `10.1.0.0/16`.
pub(in crate::config) fn network(text: &str) -> Result<IpNet, Fault> {
    const FORM: &str = "write it such as \"10.1.0.0/16\" or \"fd00::/8\"";
    let whole = 0..text.len();
    let no_network = || Fault::new(whole.clone(), format!("{} is no network", quoted(text)), FORM);
    let Some((address, length)) = text.split_once('/') else {
        return Err(match text.parse::<IpAddr>() {
            Ok(address) => Fault::new(
                whole.clone(),
                format!("`{address}` is an address, not a network"),
                format!("write `{}` for it alone", IpNet::from(address)),
            ),
            Err(_) => no_network(),
        });
    };
    let address: IpAddr = address.parse().map_err(|_| no_network())?;
    let after = text.len() - length.len()..text.len();
    let most = IpNet::from(address).max_prefix_len();
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse::<u8>().ok().filter(|length| is_number && *length <= most);
    let network = length.and_then(|length| IpNet::new(address, length).ok()).ok_or_else(|| {
        Fault::new(after.clone(), "this is no length of a network", format!("write a number up to {most}"))
    })?;
    if let IpAddr::V6(address) = address
        && address.to_ipv4_mapped().is_some()
    {
        return Err(Fault::new(whole, "an IPv4 network is written as one", FORM));
    }
    if network.prefix_len() < shortest(network) {
        let message = format!("{} holds the internet and every private network", quoted(text));
        let hint = match network {
            IpNet::V4(_) => {
                "name what is meant, such as \"10.0.0.0/8\", \"172.16.0.0/12\" or \"192.168.0.0/16\""
            }
            IpNet::V6(_) => "name what is meant, such as \"fc00::/7\" or \"fe80::/10\"",
        };
        return Err(Fault::new(after, message, hint));
    }
    if network.addr() != network.network() {
        let message = format!("{} names an address inside a network", quoted(text));
        let hint = format!(
            "write `{}` for the network, or `{}` for the address",
            network.trunc(),
            IpNet::from(address)
        );
        return Err(Fault::new(whole, message, hint));
    }
    Ok(network)
}
