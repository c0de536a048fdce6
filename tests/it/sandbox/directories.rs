//! A guest tries every way out of its directories, and every way to change a read-only one.
//!
//! The guest calls WASI functions directly (the zoo's `file_steps`), because a library would reject half of the attempts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use moongate_tests::{Http, Stdio, Workspace, send_signal, text, wait_until};
use serde_json::{Value, json};

mod missing;
mod own_files;
mod pipes;
mod swaps;

/// A workspace with `ro` and `rw`, granted to `zoo` with these modes, and `outside`, which isn't granted.
fn workspace() -> Workspace {
    workspace_with("")
}

fn workspace_with(more: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "{more}
[plugins.zoo]
source = \"@zoo@\"
[plugins.zoo.allow]
dirs = [{{ host = \"ro\", guest = \"/ro\" }}, {{ host = \"rw\", guest = \"/rw\", mode = \"rw\" }}]
"
    ));
    for dir in ["ro", "rw"] {
        workspace.write(&format!("{dir}/a.txt"), "inside");
        workspace.write(&format!("{dir}/sub/b.txt"), "deeper");
    }
    workspace.write("outside/secret.txt", "out of reach");
    workspace
}

/// Every operation that reads.
const READ_OPERATIONS: [&str; 4] = ["read", "list", "stat", "read_link"];

/// Every operation that changes something.
const WRITE_OPERATIONS: [&str; 13] = [
    "write",
    "create",
    "truncate",
    "write_read_only",
    "set_size",
    "create_directory",
    "remove_directory",
    "unlink",
    "rename",
    "hard_link",
    "symlink",
    "set_times",
    "set_times_open",
];

/// Another plugin, in a separate gateway, with a grant of the same `rw`.
fn neighbour(workspace: &Workspace) -> Workspace {
    let shared = workspace.path().join("rw").display().to_string();
    Workspace::new(&format!(
        "[plugins.neighbour]
source = \"@zoo@\"
[plugins.neighbour.allow]
dirs = [{{ host = \"{shared}\", guest = \"/rw\", mode = \"rw\" }}]
"
    ))
}

fn step(what: &str, dir: &str, path: &str) -> Value {
    json!({ "what": what, "dir": dir, "path": path, "to": "new" })
}

fn to(what: &str, dir: &str, path: &str, to_dir: &str, to: &str) -> Value {
    json!({ "what": what, "dir": dir, "path": path, "to_dir": to_dir, "to": to })
}

fn following(mut step: Value) -> Value {
    step["follow"] = true.into();
    step
}

/// Runs the steps in one call, and returns the result of each.
#[track_caller]
fn run_steps(stdio: &mut Stdio, plugin: &str, steps: &[Value]) -> Vec<String> {
    let answer = stdio.call(&format!("{plugin}_file_steps"), json!({ "steps": steps }));
    let result: Vec<String> = text(&answer).lines().map(str::to_owned).collect();
    assert_eq!(result.len(), steps.len(), "{answer}");
    result
}

/// Runs the steps, and asserts that every one is denied.
#[track_caller]
fn assert_refused(stdio: &mut Stdio, steps: &[Value]) {
    for (step, result) in steps.iter().zip(run_steps(stdio, "zoo", steps)) {
        assert!(result.starts_with("refused"), "{step} got: {result}");
    }
}

/// The content of a directory: type, links, content and modification time of each entry.
fn snapshot(directory: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            let time = if found.is_dir() { 0 } else { found.mtime_nsec() };
            let description = format!("{:?} {} {content} {time}", found.file_type(), found.nlink());
            all.insert(path.display().to_string(), description);
            if found.is_dir() {
                directories.push(path);
            }
        }
    }
    all
}

#[test]
fn no_path_escapes_a_granted_directory() {
    let workspace = workspace();
    let absolute = workspace.path().join("outside/secret.txt").display().to_string();
    let before = snapshot(workspace.path());
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let paths = [
        "..",
        "../",
        "../.",
        "./..",
        "sub/../..",
        "../outside/secret.txt",
        "./../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "sub/..//..//outside/secret.txt",
        "../rw/a.txt", // out and back in
        "../ro/a.txt",
        "nowhere/../../outside/secret.txt",
        "a.txt/../../outside/secret.txt",
        "/",
        "/ro",
        "/rw/a.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        &absolute,
        "",
        "a.txt\0",
        "..\\outside\\secret.txt",
    ];
    for dir in ["/ro", "/rw"] {
        let mut steps = Vec::new();
        for path in paths {
            steps.extend(READ_OPERATIONS.iter().chain(&WRITE_OPERATIONS).map(|what| step(what, dir, path)));
            steps.push(following(step("stat", dir, path)));
            steps.push(following(step("read", dir, path)));
            for what in ["rename", "hard_link"] {
                steps.push(to(what, "/rw", "a.txt", dir, path));
            }
        }
        // A Windows path is an ordinary name here, and creating it is harmless.
        steps.retain(|step| step["path"] != "..\\outside\\secret.txt" || !is_creation(step));
        steps.retain(|step| step["to"] != "..\\outside\\secret.txt");
        assert_refused(&mut stdio, &steps);
    }
    assert_eq!(snapshot(workspace.path()), before);
    let steps = [step("read", "/ro", "sub/../a.txt"), step("read", "/rw", "./sub/./b.txt")];
    assert_eq!(run_steps(&mut stdio, "zoo", &steps), ["inside", "deeper"]);
}

fn is_creation(step: &Value) -> bool {
    ["create", "create_directory", "symlink"].contains(&step["what"].as_str().unwrap())
}

#[test]
fn no_symlink_escapes_a_granted_directory() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    for dir in ["ro", "rw"] {
        for (name, target) in [
            ("absolute", at("outside/secret.txt")),
            ("absolute-folder", at("outside")),
            ("own-absolute", at(&format!("{dir}/a.txt"))), // absolute targets don't resolve
            ("relative", "../outside/secret.txt".into()),
            ("folder", "../outside".into()),
            ("up", "..".into()),
            ("chain", "sub/link".into()),
            ("sub/link", "../../outside/secret.txt".into()),
            ("back", format!("../{dir}/a.txt").into()), // out and back in
            ("itself", "itself".into()),
            ("process", "/proc/self".into()),
            ("zeros", "/dev/zero".into()),
            ("dangling", "../outside/new.txt".into()),
            ("good", "sub/b.txt".into()),
        ] {
            symlink(target, at(&format!("{dir}/{name}"))).unwrap();
        }
    }
    let before = snapshot(&at("outside"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for dir in ["/ro", "/rw"] {
        let ends = ["absolute", "own-absolute", "relative", "chain", "back", "itself", "zeros", "dangling"];
        let through = ["absolute-folder/secret.txt", "folder/secret.txt", "up/outside/secret.txt"];
        let mut steps = Vec::new();
        for path in ends.into_iter().chain(through).chain(["process/environ", "process/cwd/gateway.toml"]) {
            for what in ["read", "stat", "write", "create", "truncate", "list", "set_times", "set_size"] {
                // Without following, the symlink itself can be inspected, and its time be set.
                if through.contains(&path) || !["stat", "set_times"].contains(&what) {
                    steps.push(step(what, dir, path));
                }
                steps.push(following(step(what, dir, path)));
            }
        }
        steps.push(following(step("list", dir, "folder")));
        steps.push(following(step("list", dir, "up")));
        steps.push(step("create", dir, "folder/new.txt"));
        steps.push(step("create_directory", dir, "folder/new"));
        steps.push(step("unlink", dir, "folder/secret.txt"));
        steps.push(to("rename", "/rw", "a.txt", dir, "folder/a.txt"));
        steps.push(to("rename", "/rw", "folder/secret.txt", dir, "mine.txt"));
        steps.push(to("hard_link", "/rw", "folder/secret.txt", dir, "mine.txt"));
        assert_refused(&mut stdio, &steps);
        let good = following(step("read", dir, "good"));
        assert_eq!(run_steps(&mut stdio, "zoo", &[good]), ["deeper"]);
    }
    assert_eq!(snapshot(&at("outside")), before);
}

#[test]
fn symlinks_made_by_a_guest_let_no_plugin_escape() {
    let workspace = workspace();
    let absolute = workspace.path().join("outside/secret.txt").display().to_string();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let targets =
        ["../outside/secret.txt", "../outside", "..", "/etc/passwd", "/proc/self/environ", &absolute];
    let make: Vec<_> = targets
        .iter()
        .enumerate()
        .map(|(at, target)| to("symlink", "/rw", &format!("link-{at}"), "/rw", target))
        .collect();
    let made = run_steps(&mut stdio, "zoo", &make);
    for (target, result) in targets.iter().zip(&made) {
        // Absolute targets are rejected: they are harmless inside, but not to a program that follows them outside.
        assert_eq!(result == "done", !target.starts_with('/'), "{target}: {result}");
    }
    // A harmless symlink that leads out after it is moved.
    let moved = [
        to("symlink", "/rw", "sub/deep", "/rw", "../../outside/secret.txt"),
        to("symlink", "/rw", "sub/fine", "/rw", "../a.txt"),
        to("rename", "/rw", "sub/fine", "/rw", "link-fine"),
        to("hard_link", "/rw", "sub/deep", "/rw", "link-hard"),
    ];
    assert!(run_steps(&mut stdio, "zoo", &moved).iter().all(|result| result == "done"));
    let names = (0..targets.len()).filter(|at| made[*at] == "done").map(|at| format!("link-{at}"));
    let names = names.chain(["link-fine", "link-hard", "sub/deep"].map(str::to_owned));
    let mut steps = Vec::new();
    for name in names {
        for what in ["read", "write", "create", "truncate", "list"] {
            steps.push(following(step(what, "/rw", &name)));
        }
        steps.push(step("read", "/rw", &format!("{name}/secret.txt")));
        steps.push(step("read", "/rw", &format!("{name}/outside/secret.txt")));
    }
    assert_refused(&mut stdio, &steps);
    let neighbour = neighbour(&workspace);
    let mut neighbour = Stdio::initialized(&neighbour, "2025-11-25");
    for (step, result) in steps.iter().zip(run_steps(&mut neighbour, "neighbour", &steps)) {
        assert!(result.starts_with("refused"), "the neighbour's {step} got: {result}");
    }
    assert_eq!(fs::read_to_string(workspace.path().join("outside/secret.txt")).unwrap(), "out of reach");
}

#[test]
fn allows_hard_links_only_within_a_writable_directory() {
    let workspace = workspace();
    fs::hard_link(workspace.path().join("outside/secret.txt"), workspace.path().join("ro/given")).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let fine = [
        to("hard_link", "/rw", "a.txt", "/rw", "sub/same.txt"),
        step("write", "/rw", "sub/same.txt"),
        step("read", "/rw", "a.txt"),
    ];
    assert_eq!(run_steps(&mut stdio, "zoo", &fine), ["done", "wrote 3", "newide"]);
    assert_refused(
        &mut stdio,
        &[
            to("hard_link", "/ro", "a.txt", "/rw", "b.txt"),
            to("hard_link", "/rw", "a.txt", "/ro", "b.txt"),
            to("hard_link", "/ro", "a.txt", "/ro", "b.txt"),
            following(to("hard_link", "/rw", "a.txt", "/rw", "b.txt")),
            to("hard_link", "/rw", "a.txt/", "/rw", "b.txt"),
            to("hard_link", "/rw", "a.txt", "/rw", "b.txt/"),
            to("hard_link", "/rw", "sub", "/rw", "folder"),
            to("hard_link", "/rw", "a.txt", "/rw", "sub/same.txt"),
        ],
    );
    // A hard link that the operator made inside is granted by the operator, read-only.
    assert_eq!(run_steps(&mut stdio, "zoo", &[step("read", "/ro", "given")]), ["out of reach"]);
    assert_refused(&mut stdio, &WRITE_OPERATIONS.map(|what| step(what, "/ro", "given")));
    assert_eq!(fs::read_to_string(workspace.path().join("outside/secret.txt")).unwrap(), "out of reach");
}

#[test]
fn a_read_only_directory_rejects_every_change_and_logs_a_fix() {
    let workspace = workspace();
    fs::create_dir(workspace.path().join("ro/empty")).unwrap();
    symlink("a.txt", workspace.path().join("ro/link")).unwrap();
    let before = snapshot(&workspace.path().join("ro"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut steps = Vec::new();
    for path in
        ["a.txt", "sub/b.txt", "sub", "empty", "link", "new", "sub/new", "a.txt/", "sub/", "new/", "."]
    {
        for what in WRITE_OPERATIONS {
            steps.push(step(what, "/ro", path));
            steps.push(following(step(what, "/ro", path)));
        }
        steps.push(to("rename", "/ro", path, "/rw", "taken"));
        steps.push(to("rename", "/rw", "a.txt", "/ro", path));
    }
    assert_refused(&mut stdio, &steps);
    assert_eq!(snapshot(&workspace.path().join("ro")), before);
    assert_eq!(run_steps(&mut stdio, "zoo", &[step("read", "/ro", "sub/b.txt")]), ["deeper"]);
    let (_, _, log) = stdio.finish();
    let denials: Vec<_> = log.lines().filter(|line| line.contains("was denied")).collect();
    let host = workspace.path().join("ro").display().to_string();
    let fix = format!("entry in `dirs` with `{{ host = \"{host}\", guest = \"/ro\", mode = \"rw\" }}` in");
    assert_eq!(denials.len(), 1, "{denials:?}");
    assert!(
        denials[0].contains("was denied write access to `/ro`") && denials[0].contains("plugins.zoo.allow"),
        "{denials:?}"
    );
    assert!(denials[0].replace("\\\"", "\"").contains(&fix), "{denials:?}");
}

#[test]
fn logs_no_write_hint_for_reads_and_invalid_paths() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let steps = [
        step("read", "/ro", "a.txt"),
        step("read", "/ro", "../outside/secret.txt"),
        step("write", "/rw", "../outside/secret.txt"),
        step("create", "/rw", "a.txt"),
        step("write", "/rw", "a.txt"),
    ];
    run_steps(&mut stdio, "zoo", &steps);
    let (_, _, log) = stdio.finish();
    assert!(!log.contains("was denied"), "{log}");
}

#[test]
fn trailing_slashes_and_renames_behave_as_in_posix() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_refused(
        &mut stdio,
        &[
            step("read", "/rw", "a.txt/"),
            step("write", "/rw", "a.txt/"),
            step("create", "/rw", "new/"),
            step("unlink", "/rw", "sub/"),
            step("remove_directory", "/rw", "sub"),
            step("remove_directory", "/rw", "."),
            to("rename", "/rw", ".", "/rw", "elsewhere"),
            to("rename", "/rw", "sub", "/rw", "sub/deeper"),
            to("rename", "/rw", "a.txt", "/rw", "sub"),
            to("rename", "/rw", "sub", "/rw", "a.txt"),
            to("rename", "/rw", "a.txt", "/rw", ".."),
        ],
    );
    let done = [
        step("list", "/rw", "sub/"),
        step("create_directory", "/rw", "made/"),
        to("rename", "/rw", "made/", "/rw", "moved"),
        step("remove_directory", "/rw", "moved"),
        to("rename", "/rw", "a.txt", "/rw", "sub/b.txt"),
        step("read", "/rw", "sub/b.txt"),
    ];
    assert_eq!(run_steps(&mut stdio, "zoo", &done), ["b.txt", "done", "done", "done", "done", "inside"]);
}

#[test]
fn handles_long_and_strange_file_names() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let (long, longer, deep) = ("n".repeat(256), "n".repeat(200_000), "d/".repeat(20_000));
    let up = "../".repeat(5_000) + "etc/passwd";
    let paths = [&long, &longer, &deep, &up, &format!("sub/{}b.txt", "./".repeat(100_000))];
    for what in ["read", "create", "stat", "create_directory", "symlink"] {
        for path in &paths[..4] {
            assert_refused(&mut stdio, &[step(what, "/rw", path)]);
        }
    }
    // The result of such a long path depends on the system, but the next call is served.
    run_steps(&mut stdio, "zoo", &[step("read", "/rw", paths[4])]);
    let odd = "line\none\u{1b}[31m\u{202e}tail";
    let steps = [
        step("create", "/rw", odd),
        step("read", "/rw", odd),
        step("list", "/rw", "."),
        step("unlink", "/rw", odd),
    ];
    let result = run_steps(&mut stdio, "zoo", &steps);
    assert_eq!((&*result[0], &*result[1], &*result[3]), ("wrote 3", "new", "done"), "{result:?}");
    assert_refused(&mut stdio, &[step("create", "/ro", odd)]);
    let (_, _, log) = stdio.finish();
    assert!(!log.contains('\u{1b}') && !log.contains('\u{202e}'), "{log:?}");
}

#[test]
fn a_directory_replaced_by_a_symlink_is_not_opened() {
    // Forbidden files, each in a directory that a symlink could lead a grant to.
    let workspace = workspace_with(
        "[gateway]\nwatch = false\nstate = \"state\"\n[plugins.settled]\nsource = \"@time@\"\nconfig.key = { file = \"keys/key\" }\n",
    );
    workspace.write("state/of-others", "private");
    workspace.write("keys/key", "a-key-of-some-length");
    let http = Http::start(&workspace);
    let ask = |step: Value| text(&http.call("zoo_file_steps", json!({ "steps": [step] }))).to_owned();
    assert_eq!(ask(step("read", "/rw", "a.txt")), "inside");
    let at = |path: &str| workspace.path().join(path);
    for (round, target) in ["state", "keys", ".", "/proc/self"].into_iter().enumerate() {
        fs::rename(at("rw"), at("aside")).unwrap();
        symlink(target, at("rw")).unwrap();
        for path in ["of-others", "key", "gateway.toml", "environ", "a.txt"] {
            let result =
                http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", path)] })).to_string();
            assert!(result.contains("refused: /rw isn't granted"), "{target}: {result}");
        }
        send_signal(http.pid(), "HUP");
        wait_until("the gateway handled the signal", || {
            http.log().matches("signal=\"SIGHUP\"").count() > round
        });
        let result =
            http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "key")] })).to_string();
        assert!(result.contains("refused: /rw isn't granted"), "{target} after a reload: {result}");
        fs::remove_file(at("rw")).unwrap();
        fs::rename(at("aside"), at("rw")).unwrap();
        assert_eq!(ask(step("read", "/rw", "a.txt")), "inside", "the directory is back");
    }
    let (_, log) = http.terminate();
    assert!(log.contains("leads to `") && log.contains("could reach the plugins' state"), "{log}");
    assert!(!log.contains("a-key-of-some-length"), "{log}");
}

#[test]
fn a_reload_follows_a_symlink_to_a_new_directory() {
    let workspace = workspace_with("[gateway]\nwatch = false\n");
    let http = Http::start(&workspace);
    let ask = || http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "a.txt")] })).to_string();
    fs::rename(workspace.path().join("rw"), workspace.path().join("second")).unwrap();
    workspace.write("second/a.txt", "moved");
    symlink("second", workspace.path().join("rw")).unwrap();
    assert!(ask().contains("refused: /rw isn't granted"));
    send_signal(http.pid(), "HUP");
    http.wait_for_log("signal=\"SIGHUP\"");
    wait_until("the new directory is in use", || ask().contains("moved"));
    drop(http);
}
