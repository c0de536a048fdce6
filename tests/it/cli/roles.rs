//! Roles on the command line: `list --as`, and what `check` finds.

use moongate_tests::Workspace;
use serde_json::Value;

const ROLES: &str = "\
[http.auth]
resource = \"https://gate.example/mcp\"
[[http.auth.tokens]]
name = \"ann\"
token = { file = \"ann\" }
[[http.auth.issuers]]
issuer = \"https://auth.example\"
jwks_file = \"keys\"
[plugins.everything]
source = \"@everything@\"
[roles.texts]
members = [{ token = \"ann\" }, { scope = \"read\" }]
allow.tools = [\"*_simple_text\"]
[roles.prompts]
members = [{ claim = \"groups\", value = \"staff\" }]
allow.prompts = [\"everything_*\"]
deny.prompts = [\"*_image\"]
";

fn workspace(more: &str) -> Workspace {
    let workspace = Workspace::new(&format!("{ROLES}{more}"));
    workspace.write("ann", "the-secret-token-of-ann");
    workspace.write("keys", "{\"keys\":[]}");
    workspace
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The names in each list.
fn listed(workspace: &Workspace, arguments: &[&str]) -> (Vec<String>, Vec<String>, String) {
    let output = workspace.run(&[&["list", "--format", "json"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = |kind: &str| {
        let items = document[kind].as_array().unwrap().iter();
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    (names("tools"), names("prompts"), utf8(&output.stderr))
}

#[test]
fn list_as_a_caller_shows_its_view() {
    let workspace = workspace("");
    let (tools, prompts, log) = listed(&workspace, &["--as", "ann"]);
    assert_eq!((tools.as_slice(), prompts.len()), (&["everything_test_simple_text".to_owned()][..], 0));
    assert!(log.contains("roles of this caller: texts"), "{log}");
    let subject = ["--as", "https://auth.example ann", "--scope", "read", "--claim", "groups=staff"];
    let (tools, prompts, log) = listed(&workspace, &subject);
    assert_eq!(tools, ["everything_test_simple_text"]);
    assert!(prompts.contains(&"everything_test_simple_prompt".to_owned()), "{prompts:?}");
    assert!(!prompts.contains(&"everything_test_prompt_with_image".to_owned()), "{prompts:?}");
    assert!(log.contains("roles of this caller: texts, prompts"), "{log}");
    for nobody in
        [&["--as", "bob"][..], &["--as", "stdio"], &["--as", "https://other.example ann", "--scope", "read"]]
    {
        let (tools, prompts, log) = listed(&workspace, nobody);
        assert_eq!((tools.len(), prompts.len()), (0, 0), "{nobody:?}");
        assert!(log.contains("this caller has no role and sees nothing"), "{log}");
    }
    // A typing error isn't a verdict about access.
    for (caller, reason) in [
        ("anne", "no static token is named `anne`; did you mean `ann`?"),
        ("https://other.example ann", "there is no issuer `https://other.example`"),
        ("dns:ci.example.com", "no caller has a client certificate"),
    ] {
        assert!(listed(&workspace, &["--as", caller]).2.contains(reason), "{reason}");
    }
    assert!(!listed(&workspace, &["--as", "ann"]).2.contains("no static token"));
    let wrong = workspace.run(&["list", "--as", "uid:abc"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(utf8(&wrong.stderr).contains("is named by a number"), "{wrong:?}");
    let (tools, _, _) = listed(&workspace, &[]);
    assert!(tools.len() > 10, "operators see everything: {tools:?}");
    let wrong = workspace.run(&["list", "--as", "ann", "--scope", "read"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(utf8(&wrong.stderr).contains("only access tokens have scopes and claims"), "{wrong:?}");
}

#[test]
fn check_reports_roles_that_match_nothing() {
    let clean = workspace("").run(&["check"]);
    assert!(!utf8(&clean.stderr).contains("matches"), "{clean:?}");
    let workspace = workspace(
        "[roles.mistaken]\n\
         members = [{ token = \"anne\" }, { issuer = \"https://auth.exampel\", subject = \"x\" }]\n\
         allow.plugins = [\"everithing\"]\n\
         allow.tools = [\"test_simple_text\"]\n\
         allow.prompts = [\"nothing_*\"]\n\
         allow.resources = [\"nobody://*\", \"test://static-*\", \"test://template/1*\"]\n\
         [roles.empty]\nmembers = []\n",
    );
    let output = workspace.run(&["check"]);
    let found = utf8(&output.stderr);
    for expected in [
        "no static token is named `anne`",
        "did you mean `ann`?",
        "there is no issuer `https://auth.exampel`",
        "no plugin matches `everithing`",
        "did you mean `everything`?",
        "no tool matches `test_simple_text`",
        "no prompt matches `nothing_*`",
        "no resource or template matches `nobody://*`",
        "no caller has the role `empty`",
        "the role `empty` allows nothing",
    ] {
        assert!(found.contains(expected), "`{expected}` is missing: {found}");
    }
    assert!(!found.contains("matches `test://"), "{found}");
    assert_eq!(workspace.run(&["check", "--deny-warnings"]).status.code(), Some(78));
}

/// A role that only sets a limit hides everything from all other callers.
#[test]
fn check_reports_tokens_that_see_nothing() {
    let config = |tokens: &str, roles: &str| {
        let workspace = Workspace::new(&format!(
            "[http.auth]\ntokens = [{tokens}]\n[plugins.everything]\nsource = \"@everything@\"\n{roles}"
        ));
        for name in ["ann", "bob", "eve"] {
            workspace.write(name, format!("the-secret-token-of-{name}"));
        }
        utf8(&workspace.run(&["check"]).stderr)
    };
    let token = |name: &str| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}");
    let three = ["ann", "bob", "eve"].map(token).join(", ");
    let everyone = "[roles.all]\nmembers = [{ caller = \"any\" }]\nallow.plugins = [\"*\"]\n";
    let faster = "[roles.faster]\nmembers = [{ token = \"ann\" }]\nlimits = { calls = \"10/min\" }\n";
    let of_bob = "[roles.bob]\nmembers = [{ token = \"bob\" }]\nallow.plugins = [\"*\"]\n";
    for (tokens, roles, expected) in [
        (&three, String::new(), None),
        (&three, format!("{faster}{everyone}"), None),
        (&three, faster.to_owned(), Some("the tokens `ann`, `bob`, `eve` anything, so they see nothing")),
        (&three, format!("{faster}{of_bob}"), Some("the tokens `ann`, `eve` anything")),
        (&token("ann"), faster.to_owned(), Some("the token `ann` anything, so it sees nothing")),
        (&token("bob"), of_bob.to_owned(), None),
    ] {
        let found = config(tokens, &roles);
        match expected {
            Some(expected) => assert!(found.contains(expected), "{expected}: {found}"),
            None => assert!(!found.contains("nothing"), "{found}"),
        }
    }
}

#[test]
fn check_rejects_roles_without_a_meaning() {
    for (roles, expected) in [
        ("[roles]\n", "`[roles]` has no role"),
        ("[roles.x]\nallow.plugins = [\"*\"]\n", "members"),
        ("[roles.x]\nmembers = [{}]\n", "this member has no condition"),
        ("[roles.x]\nmembers = [{ token = \"ann\", scope = \"read\" }]\n", "can't be combined"),
        ("[roles.x]\nmembers = [{ claim = \"groups\" }]\n", "`claim` needs `value`"),
        ("[roles.x]\nmembers = [{ caller = \"everyone\" }]\n", "any"),
        ("[roles.x]\nmembers = [{ tokn = \"ann\" }]\n", "did you mean `token`?"),
        ("[roles.x]\nmembers = [{ caller = \"any\" }]\nallow.tools = [\"\"]\n", "invalid pattern"),
        ("[roles.\"x y\"]\nmembers = [{ caller = \"any\" }]\n", "invalid role name"),
        (
            "[[http.auth.issuers]]\nissuer = \"https://b.example\"\njwks_file = \"keys\"\n[roles.x]\nmembers = [{ scope = \"read\" }]\n",
            "this member needs `issuer`, because there are several issuers",
        ),
    ] {
        let more = roles.replace("[roles]\n", "");
        let text = if roles == "[roles]\n" {
            let Some((without, _)) = ROLES.split_once("[roles.") else { panic!("no roles") };
            format!("{without}{roles}")
        } else {
            format!("{ROLES}{more}")
        };
        let workspace = Workspace::new(&text);
        workspace.write("ann", "the-secret-token-of-ann");
        workspace.write("keys", "{\"keys\":[]}");
        let output = workspace.run(&["check"]);
        assert!(!output.status.success(), "{roles}: {output:?}");
        assert!(utf8(&output.stderr).contains(expected), "{roles}: {output:?}");
    }
}
