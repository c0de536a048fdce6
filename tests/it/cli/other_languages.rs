//! `new --lang` and `build`: from an empty directory to a call, in languages other than Rust. The build tools are those that
//! `cargo xtask build-plugins` installs.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use moongate_tests::{Workspace, gateway_binary};

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}\n{}", utf8(&output.stdout), utf8(&output.stderr));
    utf8(&output.stdout)
}

/// The directory of the installed tools whose name starts with this, the one that was used last.
fn tools(prefix: &str) -> PathBuf {
    let all = gateway_binary().ancestors().nth(2).unwrap().join("tools");
    let found = fs::read_dir(&all).unwrap().map(|entry| entry.unwrap().path());
    let found = found.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
    let used = |path: &PathBuf| fs::metadata(path.join("installed")).and_then(|stamp| stamp.modified()).ok();
    found.max_by_key(used).unwrap_or_else(|| panic!("no `{prefix}…` in {}", all.display()))
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
fn builds_and_answers(workspace: &Workspace, project: &Path, name: &str, path: Option<&Path>) {
    let mut build = moongate(workspace, project, &["build"]);
    if let Some(path) = path {
        let others = env::var_os("PATH").unwrap_or_default();
        let all = [path.to_owned()].into_iter().chain(env::split_paths(&others));
        build.env("PATH", env::join_paths(all).unwrap());
    }
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
}

#[test]
fn a_new_python_project_passes_its_tests_builds_and_answers() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "word-count", "python");
    let python = tools("python-plugin-statistics");
    let tests = "import test_plugin as t; t.test_greets_by_name(); t.test_refuses_an_empty_name()";
    let mut run = Command::new(python.join("bin/python"));
    run.args(["-c", tests]).current_dir(&project).env("PYTHONPATH", "src:vendor:tests");
    succeeded(&run.output().unwrap());
    builds_and_answers(&workspace, &project, "word-count", Some(&python.join("bin")));
}

/// Installs the packages of a project as npm does, without a network.
pub(super) fn install_packages(project: &Path) {
    let installed = tools("plugin-text").join("node_modules");
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
        builds_and_answers(&workspace, &project, "hello", None);
    }
}

#[test]
fn build_names_what_to_install() {
    let workspace = Workspace::new("");
    let build = |project: &Path| {
        let mut command = moongate(&workspace, project, &["build"]);
        command.env("PATH", "/nowhere");
        utf8(&command.output().unwrap().stderr)
    };
    let error = build(workspace.path());
    assert!(error.contains("the current directory contains no plugin project"), "{error}");
    let python = build(&new_project(&workspace, "snake", "python"));
    assert!(
        python.contains("python3 isn't installed") && python.contains(".venv/bin/pip install"),
        "{python}"
    );
    let node = build(&new_project(&workspace, "coffee", "typescript"));
    assert!(node.contains("packages aren't installed") && node.contains("`npm install`"), "{node}");
}

#[test]
fn new_refuses_an_sdk_for_other_languages() {
    let workspace = Workspace::new("");
    let output = workspace.run(&["new", "hello", "--lang", "python", "--sdk", "https://git.example/m"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(utf8(&output.stderr).contains("`--sdk` is for Rust"), "{output:?}");
    assert!(!workspace.path().join("hello").exists());
}
