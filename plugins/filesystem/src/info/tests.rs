//! Metadata of files.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::tests::{Directory, error_of, text_of};

#[test]
fn returns_size_times_and_type() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "12345");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let info_text = text_of("get_file_info", json!({ "path": path }));
    let lines: Vec<&str> = info_text.lines().collect();
    assert_eq!(lines[0], "size: 5");
    assert_eq!(lines[1], "created: unknown");
    assert_eq!(lines[2], "modified: Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)");
    assert!(lines[3].starts_with("accessed: "));
    assert_eq!(lines[4..], ["isDirectory: false", "isFile: true", "permissions: read, write"]);
    let directory_info = text_of("get_file_info", json!({ "path": "." }));
    assert!(directory_info.contains("isDirectory: true\nisFile: false"), "{directory_info}");
    let gone = directory.path("gone");
    assert_eq!(
        error_of("get_file_info", json!({ "path": gone })),
        format!("ENOENT: no such file or directory, stat '{gone}'")
    );
}
