//! Tools with questions, called from the command line: the printed questions, and answers with `--answer`, both with a
//! configuration and through a running gateway (`--url`).

use std::process::Output;

use moongate_tests::{Http, Workspace, component};
use serde_json::{Value, json};

use crate::protocol::questions::three_questions;

const ALL: &str = "[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\n\
    [plugins.everything.allow]\nclient = [\"elicitation\", \"sampling\", \"roots\"]\nstate = true\n\
    [plugins.zoo]\nsource = \"@zoo@\"\n\
    [plugins.zoo.allow]\nclient = [\"elicitation\", \"sampling\", \"roots\"]\n";

const MULTI_ROUND: &str = "test_input_required_result_multi_round";
const MULTIPLE_INPUTS: &str = "test_input_required_result_multiple_inputs";
const ENUMS: &str = "test_elicitation_sep1330_enums";

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs `call` with these arguments, with the configuration of `workspace` and through the gateway that serves it.
fn call_both_ways(workspace: &Workspace, http: &Http, words: &[&str]) -> [Output; 2] {
    let url = format!("http://{}/mcp", http.address());
    let local = workspace.run(&[&["call"], words].concat());
    let remote = Workspace::new("").run(&[&["call", "--url", &url], words].concat());
    [local, remote]
}

#[test]
fn prints_questions_with_answers_that_work() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for output in call_both_ways(&workspace, &http, &["test_elicitation", "message=Who are you?"]) {
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{err}");
        assert_eq!(
            err,
            "error: the tool asked a question, and no `--answer` answers it\n  \
             `user` asks the user: [plugin: everything] Who are you?\n    \
             username: text (required); User's response\n    \
             email: text (required); User's email address\n    \
             --answer user.username=text --answer user.email=text, or --answer user=decline, or --answer user=cancel\n\
             hint: repeat the call with answers, such as: --answer user.username=text --answer user.email=text\n"
        );
    }
    for tool in [
        "zoo_ask_name",
        MULTIPLE_INPUTS,
        ENUMS,
        "test_elicitation_sep1034_defaults",
        "test_streaming_elicitation",
    ] {
        let asks = workspace.run(&["call", tool, "--format", "json"]);
        let document: Value = serde_json::from_slice(&asks.stdout).unwrap();
        let answers =
            document["questions"].as_array().unwrap().iter().flat_map(|it| it["answers"].as_array().unwrap());
        let answers = answers.flat_map(|answer| ["--answer", answer.as_str().unwrap()]);
        let words = [vec!["call", tool], answers.collect()].concat();
        let answered = workspace.run(&words);
        assert_eq!(answered.status.code(), Some(0), "{words:?}: {}", utf8(&answered.stderr));
        assert!(count_answer_notes(&answered.stderr) > 0, "{answered:?}");
    }
}

/// Asserts that stderr has only notes about the answers that were sent, and returns their number.
fn count_answer_notes(stderr: &[u8]) -> usize {
    let stderr = utf8(stderr);
    assert!(
        stderr.lines().all(|line| line.starts_with("note: answering `") && line.contains("; the tool asks ")),
        "{stderr}"
    );
    stderr.lines().count()
}

/// Asserts that each call prints this text on stdout, and only notes about answers on stderr.
fn assert_results(calls: &[(&[&str], &str)]) {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for (words, text) in calls {
        for output in call_both_ways(&workspace, &http, words) {
            assert_eq!(output.status.code(), Some(0), "{words:?}: {}", utf8(&output.stderr));
            assert!(utf8(&output.stdout).contains(text), "{words:?}: {}", utf8(&output.stdout));
            assert!(count_answer_notes(&output.stderr) > 0, "{words:?}");
        }
    }
}

#[test]
fn answers_forms_by_field_as_json_or_by_declining() {
    let ask = ["test_elicitation", "message=x", "--answer"];
    let defaults = "test_elicitation_sep1034_defaults";
    let whole = r#"user={"username": "1", "email": "2"}"#;
    assert_results(&[
        (
            &[&ask[..], &["user.username=Ada", "--answer", "user.email=a@b"]].concat(),
            r#"action=accept, content={"username":"Ada","email":"a@b"}"#,
        ),
        (&[&ask[..], &[whole]].concat(), r#"content={"username":"1","email":"2"}"#),
        (&[&ask[..], &["user=decline"]].concat(), "action=decline"),
        (&[&ask[..], &["user=cancel"]].concat(), "action=cancel"),
        (
            &[defaults, "--answer", "defaults.age=31"],
            r#"{"name":"John Doe","age":31,"score":95.5,"status":"active","verified":true}"#,
        ),
        (
            &[
                ENUMS,
                "--answer",
                "choices.titledSingle=value2",
                "--answer",
                "choices.titledMulti=value1,value3",
            ],
            r#"{"titledSingle":"value2","titledMulti":["value1","value3"]}"#,
        ),
    ]);
}

#[test]
fn answers_sampling_and_roots_alone_and_combined() {
    let roots = "test_input_required_result_list_roots";
    let questions = three_questions().to_string();
    assert_results(&[
        (&["test_sampling", "prompt=x", "--answer", "answer=Well, no."], "LLM response: Well, no."),
        (&[roots, "--answer", "client_roots=/srv/a b"], "Roots: file:///srv/a%20b"),
        (
            &[roots, "--answer", "client_roots=file:///x", "--answer", "client_roots=/y"],
            "Roots: file:///x, file:///y",
        ),
        (
            &[
                MULTIPLE_INPUTS,
                "--answer",
                "user_name=Ada",
                "--answer",
                "greeting=Hi",
                "--answer",
                "client_roots=/x",
            ],
            "Name: Ada; greeting: Hi; roots: 1; state of the first round",
        ),
        (
            &[
                "zoo_ask",
                "--json",
                &questions,
                "--answer",
                "person.ok=true",
                "--answer",
                "model=hm",
                "--answer",
                "host=",
            ],
            r#""content":{"ok":true}"#,
        ),
    ]);
}

#[test]
fn answers_url_elicitation() {
    let workspace = Workspace::new(ALL);
    let page = json!({ "message": "Log in", "mode": "url", "url": "https://example.org/login", "elicitationId": "1" });
    let questions =
        json!({ "questions": [{ "key": "login", "method": "elicitation/create", "params": page }] });
    let call = |more: &[&str]| {
        workspace.run(&[&["call", "zoo_ask", "--json", &questions.to_string()], more].concat())
    };
    let open = utf8(&call(&[]).stderr);
    assert!(open.contains("the page: https://example.org/login\n    --answer login=opened, or"), "{open}");
    assert!(utf8(&call(&["--answer", "login=opened"]).stdout).contains("accept"));
}

#[test]
fn answers_several_rounds_and_reports_unused_answers() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    let answers = ["--answer", "step2=blue", "--answer", "else=1", "--answer", "step1=Ada"];
    for output in call_both_ways(&workspace, &http, &[&[MULTI_ROUND], &answers[..]].concat()) {
        assert_eq!(utf8(&output.stdout), "Hello, Ada! Your color is blue.\n", "{output:?}");
        assert_eq!(
            utf8(&output.stderr),
            "note: answering `step1` with {\"name\":\"Ada\"}; the tool asks the user: [plugin: everything] Step 1: What is your name?\n\
             note: answering `step2` with {\"color\":\"blue\"}; the tool asks the user: [plugin: everything] Step 2: What is your favorite color?\n\
             note: `--answer else=1` wasn't used\n"
        );
    }
    for output in call_both_ways(&workspace, &http, &[MULTI_ROUND, "--answer", "step1.name=Ada"]) {
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{err}");
        let (_, asked) = err.split_once("error: ").unwrap();
        assert!(asked.contains("`step2` asks the user") && !asked.contains("`step1`"), "{err}");
    }
    let rounds = |number: usize| {
        let answers =
            (0..number).flat_map(|round| ["--answer".to_owned(), format!("round{round}.round{round}=x")]);
        let words = ["call".to_owned(), "zoo_ask_in_rounds".to_owned(), format!("rounds={number}")];
        let words: Vec<String> = words.into_iter().chain(answers).collect();
        workspace.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(utf8(&rounds(8).stdout), format!("asked 8 times: {}\n", "x".repeat(8)));
    let endless = rounds(9);
    assert_eq!(endless.status.code(), Some(5));
    assert!(
        utf8(&endless.stderr).contains("it asked the client 8 times and still requires input"),
        "{endless:?}"
    );
}

#[test]
fn rejects_invalid_answers_before_sending_them() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for (tool, answer, what) in [
        ("test_elicitation_sep1034_defaults", "defaults.age=old", "age"),
        (
            "test_elicitation_sep1034_defaults",
            "defaults.agee=3",
            "no field `agee`; its fields are `name`, `age`",
        ),
        (ENUMS, "choices.titledSingle=value9", "titledSingle"),
        (MULTI_ROUND, "step1.step1.name=x", "no field `step1.name`; its fields are `name`"),
        ("test_input_required_result_sampling", "capital_question.x=1", "has no fields"),
    ] {
        for output in call_both_ways(&workspace, &http, &[tool, "--answer", answer]) {
            let err = utf8(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{answer}: {err}");
            let line = err.lines().find(|line| !line.starts_with("note: answering `")).unwrap();
            assert!(line.starts_with("error: invalid answer to `") && line.contains(what), "{answer}: {err}");
            assert!(err.contains("\nhint: a valid answer is: --answer "), "{answer}: {err}");
        }
    }
    let output = workspace.run(&["call", "zoo_ask_name", "--answer", "name"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("write `--answer KEY=VALUE`"), "{output:?}");
}

#[test]
fn reports_a_missing_grant_of_questions() {
    let workspace = Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n");
    let call =
        |more: &[&str]| workspace.run(&[&["call", "zoo_ask_name", "--answer", "name=Ada"], more].concat());
    let refused = call(&[]);
    let err = utf8(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{err}");
    assert!(err.contains("add `client = [\"elicitation\"]` to `[plugins.zoo.allow]`"), "{err}");
    let explained = utf8(&call(&["--explain"]).stderr);
    assert!(explained.contains("missing\n  to ask the client for elicitation\n"), "{explained}");
    assert!(explained.contains("[plugins.zoo.allow]\n  client = [\"elicitation\"]\n"), "{explained}");
}

#[test]
fn a_component_file_may_ask_and_names_the_needed_grant() {
    let workspace = Workspace::new("");
    let zoo = component("zoo");
    let call = |more: &[&str]| {
        workspace.run(&[&["call", "--plugin", zoo.to_str().unwrap(), "ask_name"], more].concat())
    };
    let open = utf8(&call(&[]).stderr);
    assert!(open.contains("such as: --answer name.name=text\n"), "{open}");
    assert!(
        open.contains("such questions need `client = [\"elicitation\"]` in `[plugins.zoo.allow]`"),
        "{open}"
    );
    let answered = call(&["--answer", "name=Ada", "--explain"]);
    assert_eq!(utf8(&answered.stdout), "Hello, Ada!\n", "{answered:?}");
    assert!(utf8(&answered.stderr).contains("used\n  client elicitation\n"), "{answered:?}");
}

#[test]
fn no_answers_acts_like_a_client_without_elicitation() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    let tool = "test_input_required_result_capabilities";
    for output in call_both_ways(&workspace, &http, &[tool, "--no-answers"]) {
        assert_eq!(utf8(&output.stdout), "0 answers\n", "{output:?}");
    }
    for output in call_both_ways(&workspace, &http, &["zoo_ask_name", "--no-answers"]) {
        assert_eq!(output.status.code(), Some(5));
        assert!(utf8(&output.stderr).contains("elicitation.form"), "{output:?}");
    }
}
