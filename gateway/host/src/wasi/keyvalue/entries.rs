//! The tables of the database, and the operations on them. A write runs in a transaction that has the write lock from
//! its start, so the values that it read are still current when it writes.

use std::sync::Arc;

use moongate_model::state::{
    KeyPage, MAX_PAGE_KEYS, StateError, StateOwner, StoredValue, SwapConflict, add_to_number, entry_size,
    new_store_size,
};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

/// Version 1 of the tables. Owners are `plugin:<id>` and `name:<name>`. Keys are bytes, so that they are ordered by
/// bytes. `size` is the total size of the owner's entries.
pub(super) const CREATE_TABLES_SQL: &str = "
    CREATE TABLE stores (
        owner TEXT NOT NULL PRIMARY KEY,
        size INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE entries (
        owner TEXT NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (owner, key)
    ) STRICT, WITHOUT ROWID;
";

const VALUE_OF: &str = "SELECT value FROM entries WHERE owner = ?1 AND key = ?2";
const VALUE_LENGTH_SQL: &str = "SELECT length(value) FROM entries WHERE owner = ?1 AND key = ?2";
const FIRST_PAGE: &str = "SELECT key FROM entries WHERE owner = ?1 AND key >= ?2 ORDER BY key LIMIT ?3";
const NEXT_PAGE: &str = "SELECT key FROM entries WHERE owner = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
const STORE_SIZE_SQL: &str = "SELECT size FROM stores WHERE owner = ?1";
const OWNERS_SQL: &str = "SELECT owner, size FROM stores WHERE size > 0 ORDER BY owner";
const SET_ENTRY_SQL: &str = "INSERT INTO entries (owner, key, value) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value";
const SET_STORE_SIZE_SQL: &str = "INSERT INTO stores (owner, size) VALUES (?1, ?2) \
                      ON CONFLICT (owner) DO UPDATE SET size = excluded.size";
const DELETE_ENTRY_SQL: &str = "DELETE FROM entries WHERE owner = ?1 AND key = ?2";

/// The result of an operation. The inner error is the plugin's own, in which case nothing is written.
pub(super) type OperationResult<T> = Result<std::result::Result<T, StateError>>;

/// The entries of one store.
pub(super) struct StoreEntries<'a> {
    pub(super) db: &'a Connection,
    pub(super) owner: &'a str,
}

impl StoreEntries<'_> {
    pub(super) fn get(&self, key: &str) -> Result<Option<StoredValue>> {
        let mut select = self.db.prepare_cached(VALUE_OF)?;
        let value = select.query_row(params![self.owner, key.as_bytes()], |row| {
            Ok(Arc::<[u8]>::from(row.get_ref(0)?.as_blob()?))
        });
        value.optional()
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool> {
        Ok(self.length(key)?.is_some())
    }

    pub(super) fn put(&self, key: &str, value: &[u8], limit: u64) -> OperationResult<()> {
        let before = self.length(key)?.map_or(0, |length| entry_size(key, length));
        let size = match new_store_size(self.size()?, before, entry_size(key, value.len() as u64), limit) {
            Ok(size) => size,
            Err(error) => return Ok(Err(error)),
        };
        self.db.prepare_cached(SET_ENTRY_SQL)?.execute(params![self.owner, key.as_bytes(), value])?;
        self.resize(size)?;
        Ok(Ok(()))
    }

    pub(super) fn delete(&self, key: &str) -> Result<()> {
        let Some(length) = self.length(key)? else { return Ok(()) };
        self.db.prepare_cached(DELETE_ENTRY_SQL)?.execute(params![self.owner, key.as_bytes()])?;
        self.resize(self.size()?.saturating_sub(entry_size(key, length)))
    }

    pub(super) fn page(&self, cursor: Option<&str>) -> Result<KeyPage> {
        let mut select = self.db.prepare_cached(if cursor.is_some() { NEXT_PAGE } else { FIRST_PAGE })?;
        let start = cursor.unwrap_or_default().as_bytes();
        let keys = select.query_map(params![self.owner, start, MAX_PAGE_KEYS as i64 + 1], |row| {
            Ok(String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned())
        })?;
        Ok(KeyPage::first_of(keys.collect::<Result<_>>()?))
    }

    pub(super) fn increment(&self, key: &str, delta: i64, limit: u64) -> OperationResult<i64> {
        let sum = match add_to_number(self.get(key)?.as_deref(), delta) {
            Ok(sum) => sum,
            Err(error) => return Ok(Err(error)),
        };
        let put = self.put(key, sum.to_string().as_bytes(), limit)?;
        Ok(put.map(|()| sum))
    }

    pub(super) fn swap(
        &self,
        key: &str,
        seen: Option<&StoredValue>,
        value: &[u8],
        limit: u64,
    ) -> OperationResult<std::result::Result<(), SwapConflict>> {
        let current = self.get(key)?;
        if current.as_ref() != seen {
            return Ok(Ok(Err(SwapConflict(current))));
        }
        Ok(self.put(key, value, limit)?.map(Ok))
    }

    fn length(&self, key: &str) -> Result<Option<u64>> {
        let mut select = self.db.prepare_cached(VALUE_LENGTH_SQL)?;
        select.query_row(params![self.owner, key.as_bytes()], number).optional()
    }

    pub(super) fn size(&self) -> Result<u64> {
        let size =
            self.db.prepare_cached(STORE_SIZE_SQL)?.query_row(params![self.owner], number).optional()?;
        Ok(size.unwrap_or_default())
    }

    fn resize(&self, size: u64) -> Result<()> {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.db.prepare_cached(SET_STORE_SIZE_SQL)?.execute(params![self.owner, size])?;
        Ok(())
    }
}

/// The owners that have entries, and the sizes of their stores.
pub(super) fn owners(db: &Connection) -> Result<Vec<(StateOwner, u64)>> {
    let mut select = db.prepare_cached(OWNERS_SQL)?;
    let rows = select.query_map((), |row| {
        let owner = row.get_ref(0)?.as_str()?.parse::<StateOwner>();
        Ok(owner.ok().map(|owner| (owner, row.get::<_, i64>(1).map(u64::try_from))))
    })?;
    let mut found = Vec::new();
    for row in rows {
        if let Some((owner, size)) = row? {
            found.push((owner, size?.unwrap_or_default()));
        }
    }
    Ok(found)
}

fn number(row: &rusqlite::Row<'_>) -> Result<u64> {
    row.get::<_, i64>(0).map(|number| u64::try_from(number).unwrap_or_default())
}
