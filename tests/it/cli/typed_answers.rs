//! Tools that ask, called from the command line: what is shown, and what `--answer` gives, here and elsewhere.

use std::process::Output;

use moongate_tests::{Http, Workspace, component};
use serde_json::{Value, json};

use crate::protocol::questions::three_questions;

const ALL: &str = "[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\n\
    [plugins.everything.allow]\nclient = [\"elicitation\", \"sampling\", \"roots\"]\nstate = true\n\
    [plugins.zoo]\nsource = \"@zoo@\"\n\
    [plugins.zoo.allow]\nclient = [\"elicitation\", \"sampling\", \"roots\"]\n";

const BY_ROUNDS: &str = "test_input_required_result_multi_round";
const AT_ONCE: &str = "test_input_required_result_multiple_inputs";
const CHOICES: &str = "test_elicitation_sep1330_enums";

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `call` with these words, by the configuration of `workspace` and through the gateway that runs with it.
fn both(workspace: &Workspace, http: &Http, words: &[&str]) -> [Output; 2] {
    let url = format!("http://{}/mcp", http.address());
    let here = workspace.run(&[&["call"], words].concat());
    let elsewhere = Workspace::new("").run(&[&["call", "--url", &url], words].concat());
    [here, elsewhere]
}

#[test]
fn a_question_is_shown_with_all_that_is_needed_to_answer_it_and_the_hint_cures_it() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for output in both(&workspace, &http, &["test_elicitation", "message=Who are you?"]) {
        let err = said(&output.stderr);
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
    for tool in
        ["zoo_ask_name", AT_ONCE, CHOICES, "test_elicitation_sep1034_defaults", "test_streaming_elicitation"]
    {
        let asks = workspace.run(&["call", tool, "--format", "json"]);
        let document: Value = serde_json::from_slice(&asks.stdout).unwrap();
        let answers =
            document["questions"].as_array().unwrap().iter().flat_map(|it| it["answers"].as_array().unwrap());
        let answers = answers.flat_map(|answer| ["--answer", answer.as_str().unwrap()]);
        let words = [vec!["call", tool], answers.collect()].concat();
        let answered = workspace.run(&words);
        assert_eq!(answered.status.code(), Some(0), "{words:?}: {}", said(&answered.stderr));
        assert!(only_answers(&answered.stderr) > 0, "{answered:?}");
    }
}

/// Nothing is said beside but what is sent for which question; how many were.
fn only_answers(stderr: &[u8]) -> usize {
    let said = said(stderr);
    assert!(
        said.lines().all(|line| line.starts_with("note: answering `") && line.contains("; it asks ")),
        "{said}"
    );
    said.lines().count()
}

/// Calls with these answers, here and elsewhere, come to a result that says so, and nothing is said beside but the answers.
fn come_to(calls: &[(&[&str], &str)]) {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for (words, text) in calls {
        for output in both(&workspace, &http, words) {
            assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output.stderr));
            assert!(said(&output.stdout).contains(text), "{words:?}: {}", said(&output.stdout));
            assert!(only_answers(&output.stderr) > 0, "{words:?}");
        }
    }
}

#[test]
fn a_form_is_answered_field_by_field_as_a_whole_and_with_a_no() {
    let ask = ["test_elicitation", "message=x", "--answer"];
    let (defaults, whole) = ("test_elicitation_sep1034_defaults", r#"user={"username": "1", "email": "2"}"#);
    come_to(&[
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
                CHOICES,
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
fn a_model_and_folders_are_answered_alone_and_with_all_else() {
    let roots = "test_input_required_result_list_roots";
    let questions = three_questions().to_string();
    come_to(&[
        (&["test_sampling", "prompt=x", "--answer", "answer=Well, no."], "LLM response: Well, no."),
        (&[roots, "--answer", "client_roots=/srv/a b"], "Roots: file:///srv/a%20b"),
        (
            &[roots, "--answer", "client_roots=file:///x", "--answer", "client_roots=/y"],
            "Roots: file:///x, file:///y",
        ),
        (
            &[AT_ONCE, "--answer", "user_name=Ada", "--answer", "greeting=Hi", "--answer", "client_roots=/x"],
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
fn a_page_is_agreed_to_or_not() {
    let workspace = Workspace::new(ALL);
    let page = json!({ "message": "Log in", "mode": "url", "url": "https://example.org/login", "elicitationId": "1" });
    let questions =
        json!({ "questions": [{ "key": "login", "method": "elicitation/create", "params": page }] });
    let call = |more: &[&str]| {
        workspace.run(&[&["call", "zoo_ask", "--json", &questions.to_string()], more].concat())
    };
    let open = said(&call(&[]).stderr);
    assert!(open.contains("the page: https://example.org/login\n    --answer login=opened, or"), "{open}");
    assert!(said(&call(&["--answer", "login=opened"]).stdout).contains("accept"));
}

#[test]
fn what_was_answered_in_several_rounds_is_kept_and_what_nobody_asked_is_told() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    let answers = ["--answer", "step2=blue", "--answer", "else=1", "--answer", "step1=Ada"];
    for output in both(&workspace, &http, &[&[BY_ROUNDS], &answers[..]].concat()) {
        assert_eq!(said(&output.stdout), "Hello, Ada! Your color is blue.\n", "{output:?}");
        assert_eq!(
            said(&output.stderr),
            "note: answering `step1` with {\"name\":\"Ada\"}; the tool asks the user: [plugin: everything] Step 1: What is your name?\n\
             note: answering `step2` with {\"color\":\"blue\"}; the tool asks the user: [plugin: everything] Step 2: What is your favorite color?\n\
             note: `--answer else=1` wasn't used\n"
        );
    }
    for output in both(&workspace, &http, &[BY_ROUNDS, "--answer", "step1.name=Ada"]) {
        let err = said(&output.stderr);
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
    assert_eq!(said(&rounds(8).stdout), format!("asked 8 times: {}\n", "x".repeat(8)));
    let endless = rounds(9);
    assert_eq!(endless.status.code(), Some(5));
    assert!(
        said(&endless.stderr).contains("it asked the client 8 times and still requires input"),
        "{endless:?}"
    );
}

#[test]
fn an_answer_that_does_not_fit_is_told_before_the_tool_hears_of_it() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    for (tool, answer, what) in [
        ("test_elicitation_sep1034_defaults", "defaults.age=old", "age"),
        ("test_elicitation_sep1034_defaults", "defaults.agee=3", "no field `agee`; it has `name`, `age`"),
        (CHOICES, "choices.titledSingle=value9", "titledSingle"),
        (BY_ROUNDS, "step1.step1.name=x", "no field `step1.name`; it has `name`"),
        ("test_input_required_result_sampling", "capital_question.x=1", "has no fields"),
    ] {
        for output in both(&workspace, &http, &[tool, "--answer", answer]) {
            let err = said(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{answer}: {err}");
            let line = err.lines().find(|line| !line.starts_with("note: answering `")).unwrap();
            assert!(line.starts_with("error: invalid answer to `") && line.contains(what), "{answer}: {err}");
            assert!(err.contains("\nhint: a valid answer is: --answer "), "{answer}: {err}");
        }
    }
    let output = workspace.run(&["call", "zoo_ask_name", "--answer", "name"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output.stderr).contains("write `--answer KEY=VALUE`"), "{output:?}");
}

#[test]
fn what_the_operator_does_not_grant_is_not_asked_and_the_line_is_said() {
    let workspace = Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n");
    let call =
        |more: &[&str]| workspace.run(&[&["call", "zoo_ask_name", "--answer", "name=Ada"], more].concat());
    let refused = call(&[]);
    let err = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{err}");
    assert!(err.contains("add `client = [\"elicitation\"]` to `[plugins.zoo.allow]`"), "{err}");
    let explained = said(&call(&["--explain"]).stderr);
    assert!(explained.contains("missing\n  to ask the client for elicitation\n"), "{explained}");
    assert!(explained.contains("[plugins.zoo.allow]\n  client = [\"elicitation\"]\n"), "{explained}");
}

#[test]
fn a_bare_file_asks_who_called_it_and_the_table_that_it_would_need_is_said() {
    let workspace = Workspace::new("");
    let zoo = component("zoo");
    let call = |more: &[&str]| {
        workspace.run(&[&["call", "--plugin", zoo.to_str().unwrap(), "ask_name"], more].concat())
    };
    let open = said(&call(&[]).stderr);
    assert!(open.contains("such as: --answer name.name=text\n"), "{open}");
    assert!(
        open.contains("such questions need `client = [\"elicitation\"]` in `[plugins.zoo.allow]`"),
        "{open}"
    );
    let answered = call(&["--answer", "name=Ada", "--explain"]);
    assert_eq!(said(&answered.stdout), "Hello, Ada!\n", "{answered:?}");
    assert!(said(&answered.stderr).contains("used\n  client elicitation\n"), "{answered:?}");
}

#[test]
fn a_tool_may_be_told_that_nobody_can_be_asked() {
    let workspace = Workspace::new(ALL);
    let http = Http::start(&workspace);
    let tool = "test_input_required_result_capabilities";
    for output in both(&workspace, &http, &[tool, "--no-answers"]) {
        assert_eq!(said(&output.stdout), "0 answers\n", "{output:?}");
    }
    for output in both(&workspace, &http, &["zoo_ask_name", "--no-answers"]) {
        assert_eq!(output.status.code(), Some(5));
        assert!(said(&output.stderr).contains("elicitation.form"), "{output:?}");
    }
}
