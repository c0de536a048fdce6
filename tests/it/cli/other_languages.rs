//! `new --lang` and `build`: from an empty directory to a call, in languages other than Rust. The build tools are those that
//! `cargo xtask build-plugins` installs.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use moongate_tests::{DockerRegistry, Stdio, Workspace, add_zig, foreign_tools, path_with, project_root};
use serde_json::json;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}\n{}", utf8(&output.stdout), utf8(&output.stderr));
    utf8(&output.stdout)
}

/// A new project.
pub(super) fn new_project(workspace: &Workspace, name: &str, language: &str) -> PathBuf {
    let output = workspace.run(&["new", name, "--lang", language]);
    let project = workspace.path().join(name);
    succeeded(&output);
    let next = format!("call --plugin target/{name}.wasm greet name=Ada\n");
    let shown = utf8(&output.stderr);
    assert!(shown.contains(" build && ") && shown.ends_with(&next), "{shown}");
    assert!(project.join("vendor/moongate/wit/world.wit").is_file());
    project
}

/// The gateway in a project, under the name that a reader uses.
pub(super) fn moongate(workspace: &Workspace, project: &Path, words: &[&str]) -> Command {
    let mut command = workspace.command(words);
    command.current_dir(project).env_remove("MOONGATE_CONFIG").env_remove("VIRTUAL_ENV");
    command
}

/// Builds the project, and calls its tool.
#[track_caller]
fn builds_and_answers(
    workspace: &Workspace,
    project: &Path,
    name: &str,
    add_tools: impl FnOnce(&mut Command),
) {
    let mut build = moongate(workspace, project, &["build"]);
    add_tools(&mut build);
    assert_eq!(succeeded(&build.output().unwrap()), format!("built `target/{name}.wasm`\n"));
    let file = format!("target/{name}.wasm");
    for (arguments, answer) in [("name=Ada", "Hello, Ada!\n"), ("name= ", "")] {
        let output =
            moongate(workspace, project, &["call", "--plugin", &file, "greet", arguments]).output().unwrap();
        if answer.is_empty() {
            assert_eq!(output.status.code(), Some(5), "{output:?}");
            assert!(utf8(&output.stdout).contains("pass a person's name"), "{output:?}");
        } else {
            assert_eq!(succeeded(&output), answer);
        }
    }
    let checked = moongate(workspace, project, &["check"]).output().unwrap();
    assert!(succeeded(&checked).contains("1 plugin, 1 tool"), "{checked:?}");
    publishes(&project.join(file), name);
}

/// Pushes a component to a registry, and calls it from there.
#[track_caller]
pub(super) fn publishes(component: &Path, name: &str) {
    let workspace = Workspace::new("");
    let Some(registry) = DockerRegistry::start(workspace.path()) else { return };
    let reference = format!("oci://{}/acme/{name}:1.0", registry.host());
    succeeded(&workspace.run(&["push", component.to_str().unwrap(), &reference]));
    workspace.write("gateway.toml", format!("version = 1\n[plugins.{name}]\nsource = \"{reference}\"\n"));
    succeeded(&workspace.run(&["fetch"]));
    assert_eq!(succeeded(&workspace.run(&["call", &format!("{name}_greet"), "name=Ada"])), "Hello, Ada!\n");
}

#[test]
fn a_new_python_project_passes_its_tests_builds_and_answers() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "word-count", "python");
    let python = foreign_tools("python-plugin-statistics");
    let tests = "import test_plugin as t; t.test_greets_by_name(); t.test_refuses_an_empty_name()";
    let mut run = Command::new(python.join("bin/python"));
    run.args(["-c", tests]).current_dir(&project).env("PYTHONPATH", "src:vendor:tests");
    succeeded(&run.output().unwrap());
    builds_and_answers(&workspace, &project, "word-count", |build| {
        build.env("PATH", path_with(&python.join("bin")));
    });
}

/// Installs the packages of a project as npm does, without a network.
pub(super) fn install_packages(project: &Path) {
    let installed = foreign_tools("plugin-text").join("node_modules");
    let packages = project.join("node_modules");
    fs::create_dir_all(&packages).unwrap();
    for entry in fs::read_dir(installed).unwrap() {
        let path = entry.unwrap().path();
        symlink(&path, packages.join(path.file_name().unwrap())).unwrap();
    }
    symlink("../vendor/moongate", packages.join("moongate")).unwrap();
}

#[test]
fn new_javascript_and_typescript_projects_pass_their_tests_build_and_answer() {
    for (language, extension) in [("javascript", "js"), ("typescript", "ts")] {
        let workspace = Workspace::new("");
        let project = new_project(&workspace, "hello", language);
        install_packages(&project);
        let file = format!("tests/plugin.test.{extension}");
        let mut run = Command::new("node");
        run.args(["--import", "moongate/register", "--test", &file]).current_dir(&project);
        succeeded(&run.output().unwrap());
        builds_and_answers(&workspace, &project, "hello", |_| {});
    }
}

/// The C compiler of this machine.
fn native_compiler() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

#[test]
fn a_new_c_project_passes_its_tests_builds_and_answers() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "word-count", "c");
    let mut tests = Command::new("make");
    tests.arg("test").current_dir(&project);
    let printed = succeeded(&tests.output().unwrap());
    assert!(printed.ends_with("ok - refuses_an_empty_name\n# pass 2\n# fail 0\n"), "{printed}");
    builds_and_answers(&workspace, &project, "word-count", add_zig);
}

/// A plugin in C with a completion, and a tool that asks in two rounds.
const ORDERS: &str = r#"
#include "moongate.h"

static cJSON *count(void *context) {
    (void)context;
    int64_t number;
    return mg_state_increment("orders", 1, &number) ? cJSON_CreateNumber((double)number) : NULL;
}

static const mg_field sure[] = {{.name = "sure", .type = MG_BOOLEAN}, {0}};

static mg_result *order(const cJSON *arguments) {
    (void)arguments;
    const cJSON *number = mg_once("number", count, NULL);
    if (!number) return mg_stop();
    if (!mg_ask("first", mg_format("Send order %d?", number->valueint), sure)) return mg_stop();
    if (!mg_ask("second", "Really?", sure)) return mg_stop();
    return mg_text("order %d", number->valueint);
}

static mg_result *plan(const cJSON *arguments) {
    return mg_text("Plan %s.", mg_string(arguments, "city"));
}

static cJSON *cities(const char *typed, const cJSON *others) {
    if (*typed == '!') return mg_state_keys();
    cJSON *cities = cJSON_CreateArray();
    cJSON_AddItemToArray(cities, cJSON_CreateString(mg_format("%sslo, %s", typed, mg_string(others, "country"))));
    return cities;
}

static const mg_field city[] = {{.name = "country", .type = MG_STRING}, {.name = "city", .type = MG_STRING}, {0}};
static const mg_tool tools[] = {{.name = "order", .description = "Order.", .call = order}, {0}};
static const mg_prompt prompts[] = {{.name = "plan", .arguments = city, .get = plan}, {0}};
static const mg_completion completions[] = {{.prompt = "plan", .argument = "city", .suggest = cities}, {0}};

const mg_plugin plugin = {
    .name = "orders", .version = "0.1.0", .tools = tools, .prompts = prompts, .completions = completions,
};
"#;

#[test]
fn components_in_c_complete_arguments_and_run_work_once() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "orders", "c");
    fs::write(project.join("src/plugin.c"), ORDERS).unwrap();
    let mut build = moongate(&workspace, &project, &["build"]);
    add_zig(&mut build);
    succeeded(&build.output().unwrap());
    let table = format!("[plugins.orders]\nsource = \"{}\"\n", project.join("target/orders.wasm").display());
    let grants = "allow = { state = true, client = [\"elicitation\"] }\n";
    workspace.write("gateway.toml", format!("version = 1\n{table}{grants}"));
    let answers = ["--answer", "first=true", "--answer", "second=true"];
    let ordered = workspace.run(&[&["call", "orders_order"][..], &answers].concat());
    assert_eq!(succeeded(&ordered), "order 1\n");
    let complete = |stdio: &mut Stdio, typed: &str| {
        let whose = json!({ "type": "ref/prompt", "name": "orders_plan" });
        let argument = json!({ "name": "city", "value": typed });
        let others = json!({ "arguments": { "country": "Norway" } });
        let params = json!({ "ref": whose, "argument": argument, "context": others });
        stdio.request_and_wait("completion/complete", params)
    };
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = complete(&mut stdio, "O");
    assert_eq!(answer["result"]["completion"]["values"], json!(["Oslo, Norway"]), "{answer}");
    workspace.write("gateway.toml", format!("version = 1\n{table}"));
    let answer = complete(&mut Stdio::initialized(&workspace, "2025-11-25"), "!");
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(message, "plugin `orders`: state isn't granted; an operator can allow it");
}

#[test]
fn tests_in_c_need_only_zig() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "hello", "c");
    let path = env::var_os("PATH").unwrap();
    let make = env::split_paths(&path).map(|path| path.join("make")).find(|path| path.is_file()).unwrap();
    let programs = workspace.path().join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(make, programs.join("make")).unwrap();
    let commands = || {
        let mut make = Command::new("make");
        make.args(["-n", "test"]).current_dir(&project).env("PATH", &programs).env_remove("CC");
        succeeded(&make.output().unwrap())
    };
    let printed = commands();
    assert!(printed.contains("\n.venv/bin/python -m ziglang cc -std=c17 "), "{printed}");
    symlink(env::current_exe().unwrap(), programs.join("zig")).unwrap();
    let printed = commands();
    assert!(printed.contains("\nzig cc -std=c17 "), "{printed}");
}

#[test]
fn a_broken_c_project_shows_the_compilers_errors() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "hello", "c");
    let source = project.join("src/plugin.c");
    let broken = fs::read_to_string(&source).unwrap().replace("mg_text(\"Hello, %s!\", name)", "greeting");
    fs::write(&source, broken).unwrap();
    let mut build = moongate(&workspace, &project, &["build"]);
    add_zig(&mut build);
    let output = build.output().unwrap();
    let error = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("src/plugin.c:12:12: error:") && error.contains("greeting"), "{error}");
    assert!(error.contains("the C compiler couldn't build the plugin"), "{error}");
    assert!(!project.join("target/hello.wasm").exists());
}

#[test]
fn every_block_of_the_guide_for_c_passes_its_tests() {
    let guide = fs::read_to_string(project_root().join("docs/guide/c.md")).unwrap();
    let library = project_root().join("plugin-sdk/c");
    let workspace = Workspace::new("");
    let sources = fs::read_dir(&library).unwrap().map(|entry| entry.unwrap().path());
    let sources: Vec<_> = sources.filter(|path| path.extension().is_some_and(|kind| kind == "c")).collect();
    let mut compile = native_compiler();
    compile
        .args(["-std=c17", "-Wall", "-Wextra", "-Werror", "-c"])
        .args(&sources)
        .current_dir(workspace.path());
    succeeded(&compile.output().unwrap());
    let objects = sources.iter().map(|path| format!("{}.o", path.file_stem().unwrap().to_str().unwrap()));
    let objects: Vec<_> = objects.collect();
    let blocks: Vec<_> =
        guide.split("```c\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 8, "{}", blocks.len());
    for block in blocks {
        workspace.write("block.c", block);
        let mut compile = native_compiler();
        compile
            .args(["-std=c17", "-Wall", "-Wextra", "-Werror", "-o", "block", "block.c", "-I"])
            .arg(&library);
        succeeded(&compile.args(&objects).arg("-lm").current_dir(workspace.path()).output().unwrap());
        let output = Command::new(workspace.path().join("block")).output().unwrap();
        assert!(output.status.success(), "{}\n{block}", utf8(&output.stdout));
    }
}

#[test]
fn build_names_what_to_install() {
    let workspace = Workspace::new("");
    let build = |project: &Path| {
        let mut command = moongate(&workspace, project, &["build"]);
        command.env("PATH", "/nowhere").env_remove("WASI_SDK_PATH");
        utf8(&command.output().unwrap().stderr)
    };
    let error = build(workspace.path());
    assert!(error.contains("the current directory contains no plugin project"), "{error}");
    let python = build(&new_project(&workspace, "snake", "python"));
    assert!(
        python.contains("python3 isn't installed") && python.contains(".venv/bin/pip install"),
        "{python}"
    );
    let project = new_project(&workspace, "sea", "c");
    let c = build(&project);
    assert!(c.contains("no C compiler for WASI is installed") && c.contains("pip install ziglang"), "{c}");
    let mut with_sdk = moongate(&workspace, &project, &["build"]);
    let c = utf8(&with_sdk.env("WASI_SDK_PATH", "/nowhere").output().unwrap().stderr);
    assert!(c.contains("`WASI_SDK_PATH` contains no compiler: `/nowhere/bin/clang` doesn't exist"), "{c}");
    let node = build(&new_project(&workspace, "coffee", "typescript"));
    assert!(node.contains("packages aren't installed") && node.contains("`npm install`"), "{node}");
}

#[test]
fn a_broken_python_module_is_shown_with_its_line_and_the_fix() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "snake", "python");
    let python = foreign_tools("python-plugin-statistics");
    let source = fs::read_to_string(project.join("src/plugin.py")).unwrap();
    for (first_line, expected) in [
        ("def f()", "line 1\n    def f()\n           ^\nSyntaxError: expected ':'\n"),
        (
            "import nosuch",
            "No module named 'nosuch'\nhint: to add a package, run `pip install --target packages nosuch`\n",
        ),
        ("import requests", "hint: `requests` opens sockets, which plugins can't; use `moongate.http`\n"),
        ("1 / 0", "line 1, in <module>\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n"),
    ] {
        fs::write(project.join("src/plugin.py"), format!("{first_line}\n{source}")).unwrap();
        let mut build = moongate(&workspace, &project, &["build"]);
        let error = utf8(&build.env("PATH", path_with(&python.join("bin"))).output().unwrap().stderr);
        assert!(error.starts_with("error: can't import `plugin`:\n  File \""), "{error}");
        assert!(error.contains(expected) && !error.contains("importlib"), "{error}");
    }
}

#[test]
fn a_broken_javascript_module_is_shown_with_its_line_and_the_fix() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "coffee", "typescript");
    install_packages(&project);
    let source = fs::read_to_string(project.join("src/plugin.ts")).unwrap();
    for (first_line, expected) in [
        (
            "import { sep } from \"node:path\"; sep.length;",
            "`node:path` is a Node module, and plugins don't run in Node",
        ),
        ("import fs from \"fs\"; fs.length;", "plugins don't run in Node; use `files` from `moongate`"),
        (
            "await fetch(\"https://rates.example\");",
            "`fetch` works only in calls; top-level code runs at build time",
        ),
        ("(undefined as any).x;", "(src/plugin.ts:1:"),
    ] {
        fs::write(project.join("src/plugin.ts"), format!("{first_line}\n{source}")).unwrap();
        let error = utf8(&moongate(&workspace, &project, &["build"]).output().unwrap().stderr);
        assert!(error.contains(expected) && error.contains("src/plugin.ts"), "{error}");
        assert!(!error.contains("platform"), "{error}");
    }
}

#[test]
fn new_refuses_an_sdk_for_other_languages() {
    let workspace = Workspace::new("");
    let output = workspace.run(&["new", "hello", "--lang", "python", "--sdk", "https://git.example/m"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(utf8(&output.stderr).contains("`--sdk` is for Rust"), "{output:?}");
    assert!(!workspace.path().join("hello").exists());
}
