//! Plugins that change their lists while they serve.

use std::time::Instant;

use moongate_tests::{Http, Stdio, Workspace, text, wait_until};
use serde_json::{Value, json};

const STATEFUL: &str = "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n";

/// The names of all tools.
fn tools(http: &Http) -> Vec<String> {
    let list = http.request_and_wait("tools/list", json!({})).json();
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn is_listed(http: &Http, tool: &str) -> bool {
    tools(http).iter().any(|name| name == tool)
}

/// The number of log lines about unusable lists.
fn rejection_count(http: &Http) -> usize {
    http.log().matches("keeps its earlier lists").count()
}

#[test]
fn added_tool_is_listed_and_callable() {
    let workspace = Workspace::new(STATEFUL);
    let http = Http::start(&workspace);
    assert!(http.call("stateful_extra", json!({})).get("error").is_some());
    assert_eq!(text(&http.call("stateful_offer", json!({ "key": "extra" }))), "offered");
    wait_until("it is listed", || is_listed(&http, "stateful_extra"));
    assert_eq!(text(&http.call("stateful_extra", json!({}))), "`extra` was offered");
    assert_eq!(text(&http.call("stateful_withdraw", json!({ "key": "extra" }))), "withdrawn");
    wait_until("it isn't listed any more", || !is_listed(&http, "stateful_extra"));
    assert!(http.call("stateful_extra", json!({})).get("error").is_some());

    let resources =
        || http.request_and_wait("resources/list", json!({})).json()["result"]["resources"].clone();
    assert_eq!(resources(), json!([]));
    let _ = http.call("stateful_offer", json!({ "key": "stateful://state" }));
    wait_until("the resource is listed", || resources() != json!([]));
}

#[test]
fn failing_lists_change_nothing() {
    let workspace = Workspace::new(STATEFUL);
    let http = Http::start(&workspace);
    let before = tools(&http);
    assert_eq!(text(&http.call("stateful_break_lists", json!({ "key": "trap" }))), "broken");
    wait_until("the rejection is logged", || rejection_count(&http) == 1);
    assert_eq!(tools(&http), before);
    assert_eq!(
        text(&http.call("stateful_get", json!({ "key": "broken" }))),
        "trap",
        "its tools keep working"
    );
    let _ = http.call("stateful_offer", json!({ "key": "later" }));
    let _ = http.call("stateful_mend_lists", json!({}));
    wait_until("it is listed", || is_listed(&http, "stateful_later"));
    let part = "`tools.list-tools` failed: crashed";
    let is_logged = |line: &str| line.contains("keeps its earlier lists") && line.contains(part);
    wait_until("the failure is logged", || http.log().lines().any(is_logged));
}

#[test]
fn conflicting_lists_change_nothing() {
    let workspace = Workspace::new(
        "[plugins.one]\nsource = \"@stateful@\"\nprefix = \"same\"\nallow.state = true\n\
         tools.allow = [\"offer\", \"withdraw\", \"extra\"]\n\
         [plugins.two]\nsource = \"@stateful@\"\nallow.state = true\n\
         [plugins.two.tools]\nallow = [\"offer\", \"extra\", \"other\"]\nrename = { extra = \"same_extra\" }\n",
    );
    let http = Http::start(&workspace);
    let _ = http.call("same_offer", json!({ "key": "extra" }));
    wait_until("the first one's is listed", || is_listed(&http, "same_extra"));
    let before = tools(&http);
    let _ = http.call("two_offer", json!({ "key": "extra" }));
    wait_until("the rejection is logged", || rejection_count(&http) == 1);
    assert_eq!(tools(&http), before);
    assert_eq!(text(&http.call("same_extra", json!({}))), "`extra` was offered");
    // After the first plugin drops the tool, the second one's is listed once it reports a change again.
    let _ = http.call("same_withdraw", json!({ "key": "extra" }));
    wait_until("the first one's is removed", || !is_listed(&http, "same_extra"));
    let _ = http.call("two_offer", json!({ "key": "other" }));
    wait_until("the second one's are listed", || {
        is_listed(&http, "same_extra") && is_listed(&http, "two_other")
    });
    assert_eq!(rejection_count(&http), 1);
    http.wait_for_log("both offer the tool `same_extra`");
}

#[test]
fn refreshes_lists_at_most_once_a_second() {
    let workspace = Workspace::new(STATEFUL);
    let http = Http::start(&workspace);
    let list_requests = || text(&http.call("stateful_lists_asked", json!({}))).parse::<u64>().unwrap();
    let before = list_requests();
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(text(&http.call("stateful_report_often", json!({ "count": 50 }))), "reported");
    }
    wait_until("the lists are requested", || list_requests() > before);
    let now = list_requests() - before;
    let most = started.elapsed().as_secs() + 1;
    assert!(now <= most, "listed {now} times, at most {most} allowed");
    let _ = http.call("stateful_offer", json!({ "key": "last" }));
    wait_until("the last change is listed", || is_listed(&http, "stateful_last"));
}

#[test]
fn running_calls_survive_list_changes() {
    let workspace = Workspace::new(&format!("{STATEFUL}[plugins.stateful.limits]\nconcurrency = 4\n"));
    let http = Http::start(&workspace);
    let _ = http.call("stateful_offer", json!({ "key": "extra" }));
    wait_until("it is listed", || is_listed(&http, "stateful_extra"));
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| -> Vec<Value> {
                    (0..30).map(|_| http.call("stateful_add", json!({ "key": "n" }))).collect()
                })
            })
            .collect();
        for key in ["a", "b", "c"] {
            let _ = http.call("stateful_offer", json!({ "key": key }));
        }
        for answer in callers.into_iter().flat_map(|caller| caller.join().unwrap()) {
            assert!(text(&answer).parse::<u32>().is_ok(), "{answer}");
        }
    });
    wait_until("all are listed", || {
        ["a", "b", "c"].iter().all(|it| is_listed(&http, &format!("stateful_{it}")))
    });
    assert_eq!(text(&http.call("stateful_get", json!({ "key": "n" }))), "120");
}

#[test]
fn clients_are_notified_only_of_actual_changes() {
    let workspace = Workspace::new(STATEFUL);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let told = |stdio: &mut Stdio, method: &str| loop {
        let message = stdio.receive();
        if message["method"] == format!("notifications/{method}") {
            break message["params"].clone();
        }
    };
    let _ = stdio.call("stateful_offer", json!({ "key": "stateful://state" }));
    told(&mut stdio, "resources/list_changed");
    let subscribed = stdio.request_and_wait("resources/subscribe", json!({ "uri": "stateful://state" }));
    assert!(subscribed.get("result").is_some(), "{subscribed}");
    let _ = stdio.call("stateful_report_often", json!({ "count": 3 }));
    assert_eq!(told(&mut stdio, "resources/updated")["uri"], "stateful://state");
    let _ = stdio.call("stateful_offer", json!({ "key": "extra" }));
    told(&mut stdio, "tools/list_changed");
    // Reporting the same again changes nothing, neither that list nor the resources, which were only listed again.
    let _ = stdio.call("stateful_offer", json!({ "key": "extra" }));
    let _ = stdio.call("stateful_offer", json!({ "key": "another" }));
    told(&mut stdio, "tools/list_changed");
    let (left, _, _) = stdio.finish();
    assert!(
        !left.iter().any(|message| message["method"] == "notifications/resources/list_changed"),
        "{left:?}"
    );
}
