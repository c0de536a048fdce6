//! The checks of a server before it is used: its version, its role, and the marker that the keys with the prefix are
//! Moongate's.

use moongate_config::StoreConfig;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Value, cmd, from_redis_value};

use crate::error::{StoreError, message};

/// The version of the keys' format. A gateway refuses to use keys of a newer version.
pub const SCHEMA_VERSION: u32 = 1;

/// What follows the prefix in each key: the part up to the first colon or brace. A key with the prefix and another
/// family belongs to another program.
pub const KEY_FAMILIES: [&str; 6] = ["schema", "state", "rate", "used", "session", "gateway"];

/// The marker's key, after the prefix.
pub(crate) const SCHEMA_KEY: &str = "schema";

/// What the marker starts with. The version follows.
const SCHEMA_MARK: &str = "moongate ";

/// The oldest supported version.
const OLDEST_VERSION: (u32, u32) = (6, 2);

/// The number of keys that are examined for other programs' keys. Further ones are recognised when they are used.
const MAX_SCANNED_KEYS: usize = 100_000;

/// The keys of one step of a scan.
const SCAN_STEP: usize = 1_000;

/// Facts about a server that matter to operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    /// The name and version, such as `Valkey 8.1.0`.
    pub(crate) name: String,
    /// The reason that the server can lose data that it should keep.
    pub(crate) warning: Option<String>,
}

/// Logs in, and selects the database.
pub(crate) async fn log_in(
    connection: &mut MultiplexedConnection,
    config: &StoreConfig,
) -> Result<(), StoreError> {
    if let Some(password) = &config.password {
        let mut auth = cmd("AUTH");
        auth.arg(config.user.as_deref()).arg(password.expose());
        let _: Value = query(connection, &auth).await?;
    }
    if config.database != 0 {
        let _: Value = query(connection, cmd("SELECT").arg(config.database)).await?;
    }
    Ok(())
}

/// Checks a server, and marks the keys with the prefix as Moongate's.
pub(crate) async fn check_server(
    connection: &mut MultiplexedConnection,
    prefix: &str,
) -> Result<ServerFacts, StoreError> {
    let info: String = query(connection, &cmd("INFO")).await?;
    let facts = check_info(&info)?;
    check_marker(connection, prefix).await?;
    Ok(facts)
}

/// Checks the answer to INFO.
fn check_info(info: &str) -> Result<ServerFacts, StoreError> {
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let redis = field("redis_version").unwrap_or_default();
    let mut numbers = redis.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if version < OLDEST_VERSION {
        return Err(StoreError::OldServer(message(redis)));
    }
    if field("cluster_enabled") == Some("1") {
        return Err(StoreError::Cluster);
    }
    if field("role") == Some("slave") {
        return Err(StoreError::ReadOnly);
    }
    let name = match field("valkey_version") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {redis}"),
    };
    let policy = field("maxmemory_policy").unwrap_or("noeviction");
    let warning = (policy != "noeviction").then(|| {
        format!(
            "the store removes keys when its memory is full (`maxmemory-policy {policy}`), including plugins' state; \
             set the policy to `noeviction`"
        )
    });
    Ok(ServerFacts { name: message(&name).to_string(), warning })
}

/// Checks the marker, or writes it if there are no keys with the prefix, or only Moongate's.
async fn check_marker(connection: &mut MultiplexedConnection, prefix: &str) -> Result<(), StoreError> {
    let key = format!("{prefix}{SCHEMA_KEY}");
    let found: Option<Vec<u8>> =
        query(connection, cmd("GET").arg(&key)).await.map_err(|error| match error {
            StoreError::Foreign(_) => StoreError::Foreign(key.as_str().into()),
            other => other,
        })?;
    if let Some(found) = found {
        let found = String::from_utf8_lossy(&found);
        let version = found.strip_prefix(SCHEMA_MARK).and_then(|version| version.parse::<u32>().ok());
        return match version {
            Some(version) if version <= SCHEMA_VERSION => Ok(()),
            Some(version) => Err(StoreError::Newer(version.to_string().into())),
            None => Err(StoreError::Foreign(key.into())),
        };
    }
    if let Some(foreign) = find_foreign(connection, prefix).await? {
        return Err(StoreError::Foreign(message(&foreign)));
    }
    let _: Value = query(connection, &set_marker(prefix)).await?;
    Ok(())
}

/// Writes the marker, unless there is one. It also serves as a ping.
pub(crate) fn set_marker(prefix: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(format!("{prefix}{SCHEMA_KEY}")).arg(format!("{SCHEMA_MARK}{SCHEMA_VERSION}")).arg("NX");
    set
}

/// A key with the prefix that isn't Moongate's.
async fn find_foreign(
    connection: &mut MultiplexedConnection,
    prefix: &str,
) -> Result<Option<String>, StoreError> {
    let mut cursor = 0_u64;
    let mut scanned = 0;
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("{prefix}*")).arg("COUNT").arg(SCAN_STEP);
        let (next, keys): (u64, Vec<Vec<u8>>) = query(connection, &scan).await?;
        for key in keys {
            let key = String::from_utf8_lossy(&key);
            let family = key.strip_prefix(prefix).unwrap_or_default();
            let family = family.split([':', '{']).next().unwrap_or_default();
            if !KEY_FAMILIES.contains(&family) {
                return Ok(Some(key.into_owned()));
            }
        }
        scanned += SCAN_STEP;
        if next == 0 || scanned >= MAX_SCANNED_KEYS {
            return Ok(None);
        }
        cursor = next;
    }
}

pub(crate) async fn query<T: redis::FromRedisValue>(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
) -> Result<T, StoreError> {
    let value = connection.req_packed_command(command).await.and_then(Value::extract_error)?;
    from_redis_value(value).map_err(|error| StoreError::Lost(message(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_replicas_and_clusters_are_refused() {
        let check = |fields: &str| check_info(&format!("# Server\r\n{fields}\r\n"));
        assert_eq!(check("redis_version:6.2.0\r\nrole:master").unwrap().name, "Redis 6.2.0");
        let valkey =
            check("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\nmaxmemory_policy:noeviction").unwrap();
        assert_eq!((valkey.name.as_str(), valkey.warning), ("Valkey 9.1.2", None));
        assert_eq!(check("redis_version:6.0.16"), Err(StoreError::OldServer("6.0.16".into())));
        assert_eq!(check(""), Err(StoreError::OldServer("".into())));
        assert_eq!(check("redis_version:7.0.0\r\nrole:slave"), Err(StoreError::ReadOnly));
        assert_eq!(check("redis_version:7.0.0\r\ncluster_enabled:1"), Err(StoreError::Cluster));
        let evicting = check("redis_version:7.0.0\r\nmaxmemory_policy:allkeys-lru").unwrap();
        assert!(evicting.warning.unwrap().contains("allkeys-lru"));
    }
}
