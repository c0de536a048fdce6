//! The table of a running gateway's plugins.

use serde_json::json;

use super::*;

#[test]
fn a_plugin_is_a_row_followed_by_its_problems() {
    let plugins = [
        json!({
            "id": "time", "state": "serving", "version": "1.0.2", "sha256": "0123456789abcdef", "since": "2027-01-15T08:00:01.000Z",
            "offers": { "tools": 2, "resources": 0, "templates": 0, "prompts": 1 },
            "trouble": null, "waiting": { "sha256": "fedcba9876543210", "grants": null },
        }),
        json!({
            "id": "notes", "state": "failed", "version": null, "sha256": null, "since": null,
            "offers": { "tools": 0, "resources": 0, "templates": 0, "prompts": 0 },
            "trouble": { "reason": "it is truncated", "hint": "rebuild it", "retry_at": "2027-01-15T08:01:00.000Z" },
            "waiting": { "sha256": null, "grants": ["env `LANG`", "dir `/notes`"] },
        }),
    ];
    assert_eq!(
        plugins_table(&plugins),
        "PLUGIN  STATE    VERSION  CODE          SINCE                    OFFERS\n\
         time    serving  1.0.2    0123456789ab  2027-01-15 08:00:01 UTC  2 tools, 1 prompt\n\
         \u{20} run `moongate reload` to load new code: fedcba987654\n\
         notes   failed   -        -             -                        -\n\
         \u{20} it is truncated\n\
         \u{20} hint: rebuild it\n\
         \u{20} next retry at 2027-01-15 08:01:00 UTC\n\
         \u{20} run `moongate reload` to apply wider grants: env `LANG`, dir `/notes`\n"
    );
}
