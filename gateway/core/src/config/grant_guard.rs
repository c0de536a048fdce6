//! Grants never reach the gateway itself.
//!
//! A granted directory may not hold, be or lie inside what the gateway lives by: its own program, its configuration,
//! the components, the cache of compiled code, the plugins' state, the files of secrets, the trace and the processes in
//! `/proc`. Configuration, state, secrets, trace and processes may not even be read; program, components and cache may,
//! but not changed. Nor may a directory lie inside another that a plugin can change: it could put a symbolic link in its
//! place, and the next sandbox would open whatever that points at.
//!
//! Paths are compared as they are found on the disk, symbolic links followed; so are their places on their file
//! systems, which mounts show under several paths, and the directories on the way, and a file that has several names
//! is looked for in what is granted. Links change, so this is asked again at
//! every reload: [`check`] needs nothing but the resolved configuration, and [`of_component`] is asked before a file is
//! loaded anew.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use self::places::Mounts;
use self::twins::{Identities, Identity, Listed, Search, files_of_several_names, of_several_names, search};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::{Config, DirGrant, DirMode, PluginConfig};

mod places;
mod twins;

/// No more entries of a granted directory, or of a guarded one, are looked at for other names of what the gateway
/// lives by.
const MOST_ENTRIES: usize = 50_000;

/// Something that the gateway lives by.
struct Guarded {
    /// What it is.
    what: String,
    /// Where it is.
    way: Way,
    /// Whether a plugin may read it.
    look: Look,
    kind: Kind,
}

/// What may have other names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It itself.
    File,
    /// The files in it.
    Folder,
}

/// Whether reading does harm.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Harmless,
    Forbidden,
}

/// How a path is reached: whoever can change one of these entries decides what stands at its end.
struct Way {
    /// The symbolic links on the way, as directory entries.
    links: Vec<PathBuf>,
    /// What it comes to. Parts that don't exist are taken as they are written.
    end: PathBuf,
    /// What that is, whatever it is called.
    identities: Identities,
}

/// One grant of one plugin.
struct Granted<'c> {
    plugin: &'c PluginConfig,
    grant: &'c DirGrant,
    way: Way,
}

/// All grants that reach the gateway itself, or from which one could be built that does.
#[must_use]
pub fn check(config: &Config) -> Vec<Problem> {
    check_past(config, MOST_ENTRIES)
}

/// The same, looking past no more than `most` entries of a directory.
fn check_past(config: &Config, most: usize) -> Vec<Problem> {
    let (guarded, mounts) = (guarded(config), Mounts::read());
    let (mut good, mut problems) = (Vec::new(), Vec::new());
    for plugin in &config.plugins {
        for grant in &plugin.allow.dirs {
            let granted = Granted { plugin, grant, way: way(&grant.named) };
            match reaches(&granted, &guarded, &mounts) {
                Some(problem) => problems.push(problem),
                None => good.push(granted),
            }
        }
    }
    problems.extend(good.iter().filter_map(|granted| lies_in_another(granted, &good, &mounts)));
    let named: Vec<Named<'_>> = if good.is_empty() {
        Vec::new()
    } else {
        guarded.iter().map(|guarded| guarded.of_several_names(most)).collect()
    };
    problems.extend(good.iter().filter_map(|granted| holds_another_name(granted, &named, most)));
    problems
}

/// The files of something guarded that have several names.
struct Named<'g> {
    of: &'g Guarded,
    /// What they are, and what is said of them.
    files: Vec<(Identity, String)>,
    /// Whether there may be more.
    in_part: bool,
}

/// Says that a granted directory holds, under another name, what a plugin mustn't reach; it looks past no more than
/// `most` entries.
fn holds_another_name(granted: &Granted<'_>, named: &[Named<'_>], most: usize) -> Option<Problem> {
    let mattering = || named.iter().filter(|named| granted.grant.mode.harms(named.of.look));
    let files: Vec<_> = mattering().flat_map(|named| &named.files).collect();
    let in_part = mattering().filter(|named| named.in_part).map(|named| named.of.what.as_str());
    let wanted: Vec<_> = files.iter().map(|(identity, _)| *identity).collect();
    let found = if wanted.is_empty() { Search::Nothing } else { search(&granted.way.end, &wanted, most) };
    let id = &granted.plugin.id;
    let (unknown, hint): (Vec<&str>, _) = match found {
        Search::Found(name, at) => {
            let (name, what) = (quoted(&name.to_string_lossy()), &files[at].1);
            let message = format!("the plugin `{id}` could reach {what}, of which {name} is another name");
            let hint = "remove that hard link, or copy the file instead";
            return Some(problem(granted, message).hint(hint));
        }
        Search::Nothing => (
            in_part.collect(),
            "what lies there is too much to look through, or can't be read: see that no file of it has another name here",
        ),
        Search::InPart => (
            in_part.chain(files.iter().map(|(_, what)| what.as_str())).collect(),
            "it has hard links, and this directory holds too much to look through, or can't be read: see that none is in it",
        ),
    };
    if unknown.is_empty() {
        return None;
    }
    let message = format!("whether the plugin `{id}` could reach {} isn't known", unknown.join(" or "));
    Some(Problem::warning(message).at(granted.grant.place.clone()).hint(hint))
}

impl Guarded {
    /// Its files that have other names, of its first `most` entries.
    fn of_several_names(&self, most: usize) -> Named<'_> {
        let (files, in_part) = match self.kind {
            Kind::File => {
                let its = of_several_names(&self.way.end).map(|its| (its, self.what.clone()));
                (its.into_iter().collect(), false)
            }
            Kind::Folder => {
                let Listed { files, in_part } = files_of_several_names(&self.way.end, most);
                let what = |name: &OsStr| format!("{} of {}", quoted(&name.to_string_lossy()), self.what);
                (files.into_iter().map(|(its, name)| (its, what(&name))).collect(), in_part)
            }
        };
        Named { of: self, files, in_part }
    }
}

/// Could a plugin change the component of `plugin`, as the links on the way to it lead now? The file says the same as
/// before, but a link may lead elsewhere, and what lies there is about to be loaded. `all`: every table that holds.
#[must_use]
pub fn of_component(plugin: &PluginConfig, all: &[Arc<PluginConfig>]) -> Option<Problem> {
    let way_there = way(&plugin.source);
    let now = quoted(&way_there.end.to_string_lossy());
    let what = format!("the component of the plugin `{}`, which is {now}", plugin.id);
    let guarded = [Guarded { what, way: way_there, look: Look::Harmless, kind: Kind::File }];
    reached_by_any(&guarded, all)
}

/// Could a plugin have written the configuration, as the links on the way to it lead now? A file that says of itself
/// that nobody may write to it proves nothing: what counts is who could so far. `all`: every table that holds.
#[must_use]
pub fn of_configuration(file: &Path, all: &[Arc<PluginConfig>]) -> Option<Problem> {
    let way_there = way(file);
    let what = format!("the configuration, which is {} now", quoted(&way_there.end.to_string_lossy()));
    let guarded = [Guarded { what, way: way_there, look: Look::Harmless, kind: Kind::File }];
    // The grant stands in the file that was read before, not in this one.
    let problem = reached_by_any(&guarded, all)?;
    Some(Problem::error(problem.message).hint("keep it where no plugin may write"))
}

/// Could a plugin reach the trace, the record of what all clients say and are told? `all`: every table that holds or is
/// to hold.
#[must_use]
pub fn of_trace(file: &Path, all: &[Arc<PluginConfig>]) -> Option<Problem> {
    let way_there = way(file);
    let what = format!("the trace, which is {}", quoted(&way_there.end.to_string_lossy()));
    let guarded = [Guarded { what, way: way_there, look: Look::Forbidden, kind: Kind::File }];
    reached_by_any(&guarded, all)
}

fn reached_by_any(guarded: &[Guarded], all: &[Arc<PluginConfig>]) -> Option<Problem> {
    let mounts = Mounts::read();
    let mut grants = all.iter().flat_map(|plugin| plugin.allow.dirs.iter().map(move |grant| (plugin, grant)));
    grants.find_map(|(plugin, grant)| {
        let granted = Granted { plugin, grant, way: way(&grant.named) };
        reaches(&granted, guarded, &mounts)
    })
}

fn guarded(config: &Config) -> Vec<Guarded> {
    let guard = |what: String, path: &Path, look| Guarded { what, way: way(path), look, kind: Kind::File };
    let folder =
        |what: &str, path: &Path, look| Guarded { kind: Kind::Folder, ..guard(what.to_owned(), path, look) };
    let mut all = vec![
        guard("the configuration".to_owned(), &config.file, Look::Forbidden),
        folder("the cache of compiled code", &config.cache, Look::Harmless),
    ];
    if let Ok(program) = std::env::current_exe() {
        // What is put in its place runs with all rights the next time.
        all.push(guard("the gateway's own program".to_owned(), &program, Look::Harmless));
    }
    if let Some(file) = &config.ca_file {
        // Whoever can change it decides whom other plugins' requests trust.
        all.push(guard("the file of authorities".to_owned(), file, Look::Harmless));
    }
    if let Some(state) = &config.state {
        all.push(folder("the plugins' state", state, Look::Forbidden));
    }
    for file in &config.secret_files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        all.push(guard(format!("the secret file {}", quoted(&name)), file, Look::Forbidden));
    }
    for plugin in &config.plugins {
        let what = format!("the component of the plugin `{}`", plugin.id);
        all.push(guard(what, &plugin.source, Look::Harmless));
    }
    for place in process_files() {
        let what =
            format!("{}, which holds the gateway's memory and variables", quoted(&place.to_string_lossy()));
        all.push(guard(what, &place, Look::Forbidden));
    }
    all.retain(|guarded| !guarded.way.end.as_os_str().is_empty()); // what was wrong has no path
    all
}

/// Where the system shows processes as files: whoever reads there reads the secrets in the gateway's variables, and
/// whoever writes there writes its memory.
fn process_files() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/proc")];
    // proc(5): the mount point is the fifth field, with blanks as `\040`; the type follows " - ".
    for line in fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines() {
        if let Some((mount, rest)) = line.split_once(" - ")
            && rest.starts_with("proc ")
            && let Some(place) = mount.split(' ').nth(4)
        {
            places.push(PathBuf::from(place.replace("\\040", " ")));
        }
    }
    places.sort();
    places.dedup();
    places
}

/// Says what a grant reaches that it mustn't.
fn reaches(granted: &Granted<'_>, guarded: &[Guarded], mounts: &Mounts) -> Option<Problem> {
    let dir = &granted.way.end;
    let mode = granted.grant.mode;
    let is_reached = |guarded: &&Guarded| {
        let leads_there = |link: &PathBuf| link.starts_with(dir) || mounts.shows(dir, link);
        mode.harms(guarded.look)
            && (overlap(&granted.way, &guarded.way) || mounts.overlap(dir, &guarded.way.end))
            || mode == DirMode::ReadWrite && guarded.way.links.iter().any(leads_there)
    };
    let reached: Vec<&Guarded> = guarded.iter().filter(is_reached).collect();
    let what: Vec<&str> = reached.iter().map(|guarded| guarded.what.as_str()).collect();
    let (last, rest) = what.split_last()?;
    let what = if rest.is_empty() { (*last).to_owned() } else { format!("{} and {last}", rest.join(", ")) };
    let only_writing = reached.iter().all(|guarded| guarded.look == Look::Harmless);
    let hint = if only_writing {
        "grant a directory apart from it, or this one with `mode = \"ro\"`"
    } else {
        "grant a directory apart from it, such as one that holds nothing but what the plugin needs"
    };
    let verb = if only_writing { "change" } else { "reach" };
    Some(problem(granted, format!("the plugin `{}` could {verb} {what}", granted.plugin.id)).hint(hint))
}

/// Says that a grant lies where another grant lets a plugin put something else.
fn lies_in_another(granted: &Granted<'_>, grants: &[Granted<'_>], mounts: &Mounts) -> Option<Problem> {
    let is_inside = |outer: &&Granted<'_>| {
        let dir = &outer.way.end;
        let inside =
            |entry: &PathBuf| entry.starts_with(dir) && entry != dir || mounts.shows_below(dir, entry);
        outer.grant.mode == DirMode::ReadWrite
            && (inside(&granted.way.end) || granted.way.links.iter().any(inside))
    };
    let outer = grants.iter().find(is_inside)?;
    let message =
        format!("the plugin `{}` could put another directory in the place of this one", outer.plugin.id);
    let problem =
        problem(granted, message).related(outer.grant.place.clone(), "because it may change this one");
    Some(problem.hint("grant directories that stand side by side, or the outer one with `mode = \"ro\"`"))
}

fn problem(granted: &Granted<'_>, message: String) -> Problem {
    let dir = quoted(&granted.way.end.to_string_lossy());
    Problem::error(message).at(granted.grant.place.clone()).label(format!("this is {dir}"))
}

impl DirMode {
    /// May what is guarded so not lie in a directory of this mode?
    fn harms(self, look: Look) -> bool {
        match (self, look) {
            (Self::ReadWrite, _) | (Self::ReadOnly, Look::Forbidden) => true,
            (Self::ReadOnly, Look::Harmless) => false,
        }
    }
}

/// Does one hold the other, or are they the same?
fn overlap(a: &Way, b: &Way) -> bool {
    a.end.starts_with(&b.end) || b.end.starts_with(&a.end) || a.identities.overlap(&b.identities)
}

/// What an absolute path comes to, links followed, as far as there is something.
pub(in crate::config) fn end(path: &Path) -> PathBuf {
    way(path).end
}

/// Follows an absolute path, link by link.
fn way(path: &Path) -> Way {
    let mut links = Vec::new();
    let mut end = PathBuf::new();
    let mut rest = path.to_owned();
    loop {
        let mut components = rest.components();
        let Some(first) = components.next() else {
            let identities = Identities::of(&end);
            return Way { links, end, identities };
        };
        let mut after = components.as_path().to_owned();
        match first {
            Component::Prefix(_) | Component::RootDir => end.push(first),
            Component::CurDir => {}
            Component::ParentDir => {
                end.pop();
            }
            Component::Normal(name) => {
                let entry = end.join(name);
                match fs::read_link(&entry) {
                    // No system follows more links than these; a circle ends here.
                    Ok(target) if links.len() < 40 => {
                        links.push(entry);
                        if target.is_absolute() {
                            end = PathBuf::new();
                        }
                        after = target.join(after);
                    }
                    Ok(_) | Err(_) => end = entry,
                }
            }
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests;
