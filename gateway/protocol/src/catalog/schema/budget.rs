//! The memory that the compiled schemas of one plugin take together.

use crate::json::Json;
use crate::policy::SchemaBounds;
use crate::tape::count_entries;

use super::{Schema, SchemaError};

/// The maximum number of values in all schemas of a plugin. A compiled schema takes up to a kilobyte for each.
const MAX_VALUES: usize = 50_000;

/// The maximum size of all compiled regular expressions of a plugin, in bytes, as estimated.
const MAX_PATTERN_BYTES: u64 = 32 << 20;

/// Counts the schemas of one plugin. Those above its limits aren't compiled.
#[derive(Debug, Default)]
pub(in crate::catalog) struct SchemaBudget {
    values: usize,
    pattern_bytes: u64,
}

impl SchemaBudget {
    /// Compiles a schema, see [`Schema::compile`].
    ///
    /// # Errors
    /// The schema can't be used, or the plugin's schemas are too large together.
    pub(in crate::catalog) fn compile(
        &mut self,
        text: &Json,
        bounds: SchemaBounds,
    ) -> Result<Schema, SchemaError> {
        let too_large = |message: String| SchemaError { pointer: String::new(), message };
        let values = self.values.saturating_add(count_entries(text.get()));
        if values > MAX_VALUES {
            return Err(too_large(format!(
                "all schemas of the plugin together have more than {MAX_VALUES} values"
            )));
        }
        let schema = Schema::compile(text, bounds)?;
        let pattern_bytes = self.pattern_bytes.saturating_add(schema.pattern_bytes());
        if pattern_bytes > MAX_PATTERN_BYTES {
            let message =
                "all regular expressions of the plugin together are too large, because they repeat too much";
            return Err(too_large(message.to_owned()));
        }
        (self.values, self.pattern_bytes) = (values, pattern_bytes);
        Ok(schema)
    }
}
