//! The keys of `[audit]`.

use super::kind::{Key, NumberRange, ValueKind, key, optional};

/// The audit log.
pub static AUDIT: &[Key] = &[
    key(
        "file",
        ValueKind::Path("audit.jsonl"),
        "The file that records are appended to, private to the gateway. Gateways with the same file share it. Full \
         files are beside it. The default is `audit.jsonl` beside this file.",
    ),
    key(
        "key",
        ValueKind::Secret,
        "The key of the hashes, at least 32 characters: `{ env = \"NAME\" }` or `{ file = \"path\" }`. By default, it \
         is in a file beside the log, `audit.jsonl.key`, which the gateway creates.",
    ),
    optional(
        "when_full",
        ValueKind::OneOf(&["refuse", "drop"]),
        "\"refuse\"",
        "What happens to calls if records can't be written, for example because the disk is full. `refuse`: no call \
         runs without a record. `drop`: calls run, and records are dropped and counted.",
    ),
    optional(
        "arguments",
        ValueKind::OneOf(&["hash", "full"]),
        "\"hash\"",
        "How arguments are recorded. `hash`: only their size and keyed hash. `full`: also the arguments themselves, up \
         to 64KiB.",
    ),
    key(
        "mask",
        ValueKind::Array(&ValueKind::String("the name of a member")),
        "With `arguments = \"full\"`, members of arguments with these names, at any depth, are recorded as `\"***\"`.",
    ),
    optional(
        "max_size",
        ValueKind::Size(NumberRange {
            min: 4096,
            max: 1 << 40,
            zero_reason: Some("every file would be full"),
        }),
        "\"64MiB\"",
        "The size from which a file is full. It is then renamed, and a new one begins.",
    ),
    optional(
        "keep",
        ValueKind::Integer(NumberRange { max: 100_000, ..NumberRange::any() }),
        "10",
        "The number of full files to keep. The oldest ones are removed.",
    ),
];
