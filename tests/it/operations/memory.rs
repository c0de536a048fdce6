//! The memory of the process after bursts of large requests.

use std::io::ErrorKind;
use std::thread;

use moongate_tests::{Http, ResourceUsage, Workspace, peak_memory, wait_until};
use serde_json::json;

/// The memory that may stay in use after a burst, in KiB.
const REMAINING_KIB: u64 = 64 << 10;

/// An allocator that keeps what it once used would let a few clients occupy the machine for good.
#[test]
fn memory_of_a_burst_is_returned_to_the_system() {
    const REQUESTS: usize = 4;
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let large: Vec<_> = (0..100_000).map(|_| json!({ "a": 0 })).collect();
    let arguments = json!({ "timezone": "UTC", "large": large });
    let _ = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    let resident = || ResourceUsage::of(http.pid()).resident;
    let before = resident();
    thread::scope(|scope| {
        for _ in 0..REQUESTS {
            scope.spawn(|| http.call("time_get_current_time", arguments.clone()));
        }
    });
    wait_until("the memory is returned", || resident() < before + REMAINING_KIB);
}

/// The status page reads forms and shows results. As trees of values, they took fifty times the memory of their text.
#[test]
fn forms_and_results_of_the_status_page_stay_text() {
    const FORMS: usize = 16;
    const HEADERS: &str =
        "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";
    let workspace = Workspace::new(
        "[gateway]\nmemory = \"64MiB\"\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let http = Http::start(&workspace);
    let admin = http.admin();
    let submit =
        |json: &str| admin.try_send("POST", "/try", HEADERS, &format!("tool=zoo_many_objects&json={json}"));
    let few = submit(r#"{"count":10}"#).unwrap();
    assert!(few.status == 200 && few.body.contains("badge good"), "{few:?}");
    let before = peak_memory(http.pid());
    let large = format!(r#"{{"count":[{}0]}}"#, "0,".repeat(1_000_000));
    let replies: Vec<_> = thread::scope(|scope| {
        let forms = (0..FORMS).map(|form| match form % 4 {
            0 => scope.spawn(|| submit(r#"{"count":100000}"#)),
            _ => scope.spawn(|| submit(&large)),
        });
        forms.collect::<Vec<_>>().into_iter().map(|form| form.join().unwrap()).collect()
    });
    for reply in replies {
        match reply {
            Ok(reply) => assert!(matches!(reply.status, 200 | 503), "{reply:?}"),
            // Forms that don't fit into the memory are refused before they are read.
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}")
            }
        }
    }
    assert_eq!(submit(r#"{"count":10}"#).unwrap().status, 200);
    let most = (REMAINING_KIB << 10) + (REMAINING_KIB << 9);
    let more = peak_memory(http.pid()) - before;
    assert!(more < most, "{} MiB more", more >> 20);
}
