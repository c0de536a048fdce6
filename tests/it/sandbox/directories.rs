//! A guest that tries every way out of its directories, and every way to change what it may only read.
//!
//! It calls WASI's functions itself (the zoo's `file_steps`), because a library would refuse half of this beforehand.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use moongate_tests::{Http, Stdio, Workspace, send_signal, text, wait_until};
use serde_json::{Value, json};

mod own_files;
mod pipes;
mod swaps;

/// A folder with `ro` and `rw`, which are granted to `zoo` so, and `outside`, which isn't.
fn cage() -> Workspace {
    caged("")
}

fn caged(more: &str) -> Workspace {
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

/// Every way to read, with a path of its own.
const READING: [&str; 4] = ["read", "list", "stat", "read_link"];

/// Every way to change something, with a path of its own.
const CHANGING: [&str; 13] = [
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

/// Another plugin, in a gateway of its own, which may read the same `rw`.
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

/// Takes the steps in one call, and tells what came of each.
#[track_caller]
fn take(stdio: &mut Stdio, plugin: &str, steps: &[Value]) -> Vec<String> {
    let answer = stdio.call(&format!("{plugin}_file_steps"), json!({ "steps": steps }));
    let told: Vec<String> = text(&answer).lines().map(str::to_owned).collect();
    assert_eq!(told.len(), steps.len(), "{answer}");
    told
}

/// Takes the steps, all of which must be refused.
#[track_caller]
fn refused(stdio: &mut Stdio, steps: &[Value]) {
    for (step, told) in steps.iter().zip(take(stdio, "zoo", steps)) {
        assert!(told.starts_with("refused"), "{step} got: {told}");
    }
}

/// What is in a folder: kind, size, content and time of change of each entry.
fn state(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            let time = if found.is_dir() { 0 } else { found.mtime_nsec() };
            let said = format!("{:?} {} {content} {time}", found.file_type(), found.nlink());
            all.insert(path.display().to_string(), said);
            if found.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

#[test]
fn no_path_leads_out_of_a_directory() {
    let workspace = cage();
    let absolute = workspace.path().join("outside/secret.txt").display().to_string();
    let before = state(workspace.path());
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
        "../rw/a.txt", // out and in again
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
            steps.extend(READING.iter().chain(&CHANGING).map(|what| step(what, dir, path)));
            steps.push(following(step("stat", dir, path)));
            steps.push(following(step("read", dir, path)));
            for what in ["rename", "hard_link"] {
                steps.push(to(what, "/rw", "a.txt", dir, path));
            }
        }
        // What looks like a path of another system is a name like any other; making it does no harm.
        steps.retain(|step| step["path"] != "..\\outside\\secret.txt" || !is_making(step));
        steps.retain(|step| step["to"] != "..\\outside\\secret.txt");
        refused(&mut stdio, &steps);
    }
    assert_eq!(state(workspace.path()), before);
    let steps = [step("read", "/ro", "sub/../a.txt"), step("read", "/rw", "./sub/./b.txt")];
    assert_eq!(take(&mut stdio, "zoo", &steps), ["inside", "deeper"]);
}

fn is_making(step: &Value) -> bool {
    ["create", "create_directory", "symlink"].contains(&step["what"].as_str().unwrap())
}

#[test]
fn no_link_leads_out_of_a_directory_whoever_made_it() {
    let workspace = cage();
    let at = |path: &str| workspace.path().join(path);
    for dir in ["ro", "rw"] {
        for (name, target) in [
            ("absolute", at("outside/secret.txt")),
            ("absolute-folder", at("outside")),
            ("own-absolute", at(&format!("{dir}/a.txt"))), // absolute paths start nowhere
            ("relative", "../outside/secret.txt".into()),
            ("folder", "../outside".into()),
            ("up", "..".into()),
            ("chain", "sub/link".into()),
            ("sub/link", "../../outside/secret.txt".into()),
            ("back", format!("../{dir}/a.txt").into()), // out and in again
            ("itself", "itself".into()),
            ("process", "/proc/self".into()),
            ("zeros", "/dev/zero".into()),
            ("dangling", "../outside/new.txt".into()),
            ("good", "sub/b.txt".into()),
        ] {
            symlink(target, at(&format!("{dir}/{name}"))).unwrap();
        }
    }
    let before = state(&at("outside"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for dir in ["/ro", "/rw"] {
        let ends = ["absolute", "own-absolute", "relative", "chain", "back", "itself", "zeros", "dangling"];
        let through = ["absolute-folder/secret.txt", "folder/secret.txt", "up/outside/secret.txt"];
        let mut steps = Vec::new();
        for path in ends.into_iter().chain(through).chain(["process/environ", "process/cwd/gateway.toml"]) {
            for what in ["read", "stat", "write", "create", "truncate", "list", "set_times", "set_size"] {
                // Without following, a link itself can be looked at, and its own time be set.
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
        refused(&mut stdio, &steps);
        let good = following(step("read", dir, "good"));
        assert_eq!(take(&mut stdio, "zoo", &[good]), ["deeper"]);
    }
    assert_eq!(state(&at("outside")), before);
}

#[test]
fn links_that_a_guest_makes_lead_neither_it_nor_its_neighbour_out() {
    let workspace = cage();
    let absolute = workspace.path().join("outside/secret.txt").display().to_string();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let targets =
        ["../outside/secret.txt", "../outside", "..", "/etc/passwd", "/proc/self/environ", &absolute];
    let make: Vec<_> = targets
        .iter()
        .enumerate()
        .map(|(at, target)| to("symlink", "/rw", &format!("link-{at}"), "/rw", target))
        .collect();
    let made = take(&mut stdio, "zoo", &make);
    for (target, told) in targets.iter().zip(&made) {
        // Absolute ones mean nothing inside, and much to whoever follows them outside.
        assert_eq!(told == "done", !target.starts_with('/'), "{target}: {told}");
    }
    // And a good one, made bad by moving it to where it leads elsewhere.
    let moved = [
        to("symlink", "/rw", "sub/deep", "/rw", "../../outside/secret.txt"),
        to("symlink", "/rw", "sub/fine", "/rw", "../a.txt"),
        to("rename", "/rw", "sub/fine", "/rw", "link-fine"),
        to("hard_link", "/rw", "sub/deep", "/rw", "link-hard"),
    ];
    assert!(take(&mut stdio, "zoo", &moved).iter().all(|told| told == "done"));
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
    refused(&mut stdio, &steps);
    let beside = neighbour(&workspace);
    let mut beside = Stdio::initialized(&beside, "2025-11-25");
    for (step, told) in steps.iter().zip(take(&mut beside, "neighbour", &steps)) {
        assert!(told.starts_with("refused"), "the neighbour's {step} got: {told}");
    }
    assert_eq!(fs::read_to_string(workspace.path().join("outside/secret.txt")).unwrap(), "out of reach");
}

#[test]
fn hard_links_join_only_what_is_granted_alike() {
    let workspace = cage();
    fs::hard_link(workspace.path().join("outside/secret.txt"), workspace.path().join("ro/given")).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let fine = [
        to("hard_link", "/rw", "a.txt", "/rw", "sub/same.txt"),
        step("write", "/rw", "sub/same.txt"),
        step("read", "/rw", "a.txt"),
    ];
    assert_eq!(take(&mut stdio, "zoo", &fine), ["done", "wrote 3", "newide"]);
    refused(
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
    // A name that the operator gave a file inside is the operator's grant: to be read, not changed.
    assert_eq!(take(&mut stdio, "zoo", &[step("read", "/ro", "given")]), ["out of reach"]);
    refused(&mut stdio, &CHANGING.map(|what| step(what, "/ro", "given")));
    assert_eq!(fs::read_to_string(workspace.path().join("outside/secret.txt")).unwrap(), "out of reach");
}

#[test]
fn what_may_only_be_read_cannot_be_changed_in_any_way_and_the_operator_is_told_how_to_allow_it() {
    let workspace = cage();
    fs::create_dir(workspace.path().join("ro/empty")).unwrap();
    symlink("a.txt", workspace.path().join("ro/link")).unwrap();
    let before = state(&workspace.path().join("ro"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut steps = Vec::new();
    for path in
        ["a.txt", "sub/b.txt", "sub", "empty", "link", "new", "sub/new", "a.txt/", "sub/", "new/", "."]
    {
        for what in CHANGING {
            steps.push(step(what, "/ro", path));
            steps.push(following(step(what, "/ro", path)));
        }
        steps.push(to("rename", "/ro", path, "/rw", "taken"));
        steps.push(to("rename", "/rw", "a.txt", "/ro", path));
    }
    refused(&mut stdio, &steps);
    assert_eq!(state(&workspace.path().join("ro")), before);
    assert_eq!(take(&mut stdio, "zoo", &[step("read", "/ro", "sub/b.txt")]), ["deeper"]);
    let (_, _, log) = stdio.finish();
    let told: Vec<_> = log.lines().filter(|line| line.contains("was denied")).collect();
    let host = workspace.path().join("ro").display().to_string();
    let cure = format!("dirs = [{{ host = \"{host}\", guest = \"/ro\", mode = \"rw\" }}]");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("was denied write access to `/ro`") && told[0].contains("plugins.zoo.allow"),
        "{told:?}"
    );
    assert!(told[0].replace("\\\"", "\"").contains(&cure), "{told:?}");
}

#[test]
fn reading_and_refused_paths_tell_the_operator_nothing_about_writing() {
    let workspace = cage();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let steps = [
        step("read", "/ro", "a.txt"),
        step("read", "/ro", "../outside/secret.txt"),
        step("write", "/rw", "../outside/secret.txt"),
        step("create", "/rw", "a.txt"),
        step("write", "/rw", "a.txt"),
    ];
    take(&mut stdio, "zoo", &steps);
    let (_, _, log) = stdio.finish();
    assert!(!log.contains("was denied"), "{log}");
}

#[test]
fn trailing_slashes_and_renames_do_what_a_system_does() {
    let workspace = cage();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    refused(
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
    assert_eq!(take(&mut stdio, "zoo", &done), ["b.txt", "done", "done", "done", "done", "inside"]);
}

#[test]
fn long_and_strange_names_are_names_or_refused() {
    let workspace = cage();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let (long, longer, deep) = ("n".repeat(256), "n".repeat(200_000), "d/".repeat(20_000));
    let up = "../".repeat(5_000) + "etc/passwd";
    let paths = [&long, &longer, &deep, &up, &format!("sub/{}b.txt", "./".repeat(100_000))];
    for what in ["read", "create", "stat", "create_directory", "symlink"] {
        for path in &paths[..4] {
            refused(&mut stdio, &[step(what, "/rw", path)]);
        }
    }
    // Whatever the system says of a path as long as this, the next call is served.
    take(&mut stdio, "zoo", &[step("read", "/rw", paths[4])]);
    let odd = "line\none\u{1b}[31m\u{202e}tail";
    let steps = [
        step("create", "/rw", odd),
        step("read", "/rw", odd),
        step("list", "/rw", "."),
        step("unlink", "/rw", odd),
    ];
    let told = take(&mut stdio, "zoo", &steps);
    assert_eq!((&*told[0], &*told[1], &*told[3]), ("wrote 3", "new", "done"), "{told:?}");
    refused(&mut stdio, &[step("create", "/ro", odd)]);
    let (_, _, log) = stdio.finish();
    assert!(!log.contains('\u{1b}') && !log.contains('\u{202e}'), "{log:?}");
}

#[test]
fn a_directory_that_became_a_link_is_not_opened_and_no_reload_takes_it_where_it_must_not_lead() {
    // What no plugin may reach, each under a directory that a grant could be led to.
    let workspace = caged(
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
            let told =
                http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", path)] })).to_string();
            assert!(told.contains("the granted directory `/rw` can't be opened"), "{target}: {told}");
        }
        send_signal(http.pid(), "HUP");
        wait_until("the signal was heeded", || http.log().matches("signal=\"SIGHUP\"").count() > round);
        let told = http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "key")] })).to_string();
        assert!(told.contains("can't be opened"), "{target} after a reload: {told}");
        fs::remove_file(at("rw")).unwrap();
        fs::rename(at("aside"), at("rw")).unwrap();
        assert_eq!(ask(step("read", "/rw", "a.txt")), "inside", "it is there again");
    }
    let (_, log) = http.terminate();
    assert!(log.contains("leads to `") && log.contains("could reach the plugins' state"), "{log}");
    assert!(!log.contains("a-key-of-some-length"), "{log}");
}

#[test]
fn a_directory_that_became_a_link_to_another_is_used_after_a_reload() {
    let workspace = caged("[gateway]\nwatch = false\n");
    let http = Http::start(&workspace);
    let ask = || http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "a.txt")] })).to_string();
    fs::rename(workspace.path().join("rw"), workspace.path().join("second")).unwrap();
    workspace.write("second/a.txt", "moved");
    symlink("second", workspace.path().join("rw")).unwrap();
    assert!(ask().contains("can't be opened"));
    send_signal(http.pid(), "HUP");
    http.wait_for_log("signal=\"SIGHUP\"");
    wait_until("the new place is used", || ask().contains("moved"));
    drop(http);
}
