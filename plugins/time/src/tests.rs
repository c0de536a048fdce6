//! The tools as a client sees them.

use moongate_sdk::testing::Client;
use serde_json::{Value, json};

use super::Time;

fn failure(tool: &str, args: Value) -> String {
    let result = Client::<Time>::new().call(tool, args).unwrap();
    assert!(result.failed(), "{}", result.all_text());
    result.all_text()
}

#[test]
fn text_is_the_pretty_printed_content() {
    let client = Client::<Time>::new();
    let result = client.call("get_current_time", json!({ "timezone": "Asia/Tokyo" })).unwrap();
    let structured = result.structured_value();
    assert_eq!(structured["timezone"], "Asia/Tokyo");
    assert_eq!(result.all_text(), serde_json::to_string_pretty(&structured).unwrap());
    assert!(structured.as_object().unwrap().keys().eq(["timezone", "datetime", "day_of_week", "is_dst"]));
}

#[test]
fn errors_equal_those_of_the_original() {
    assert_eq!(
        failure("get_current_time", json!({ "timezone": "Nope/X" })),
        "Error executing tool get_current_time: Invalid timezone: 'No time zone found with key Nope/X'"
    );
    assert_eq!(
        failure("get_current_time", json!({ "timezone": "" })),
        "Error executing tool get_current_time: Missing required argument: timezone"
    );
    let convert = |source: &str, time: &str, target: &str| {
        failure("convert_time", json!({ "source_timezone": source, "time": time, "target_timezone": target }))
    };
    assert_eq!(
        convert("UTC", "24:00", "UTC"),
        "Error executing tool convert_time: Invalid time format. Expected HH:MM [24-hour format]"
    );
    assert_eq!(
        convert("Nope", "x", ""),
        "Error executing tool convert_time: Missing required argument: target_timezone"
    );
    assert_eq!(
        convert("UTC", "x", "Nope"),
        "Error executing tool convert_time: Invalid timezone: 'No time zone found with key Nope'"
    );
}

#[test]
fn argument_descriptions_name_the_local_zone() {
    let description = |client: Client<Time>| {
        let tools = client.tools();
        let schema: Value = serde_json::from_str(&tools[0].input_schema).unwrap();
        schema["properties"]["timezone"]["description"].as_str().unwrap().to_owned()
    };
    let set = description(Client::new().config("local_timezone", "Europe/Berlin"));
    assert!(set.ends_with("Use 'Europe/Berlin' as the local time zone if the user names none."), "{set}");
    let unknown = "If the user names none, ask for it; don't assume UTC.";
    assert!(description(Client::new()).ends_with(unknown));
    assert!(description(Client::new().config("local_timezone", "Mars")).ends_with(unknown));
}

#[test]
fn tools_have_read_only_hints() {
    for tool in Client::<Time>::new().tools() {
        let hints = tool.annotations.unwrap();
        assert_eq!(
            (hints.read_only, hints.destructive, hints.idempotent, hints.open_world),
            (Some(true), Some(false), Some(true), Some(false))
        );
        assert!(tool.output_schema.is_some());
    }
}
