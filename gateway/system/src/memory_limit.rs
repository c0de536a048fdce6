//! The memory that this process may use: the limit of its cgroups, or the memory of the machine.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit of cgroup v1 that is at least this large means that there is none.
const V1_UNLIMITED: u64 = 1 << 60;

/// The memory that this process may use, in bytes. `None` if it is unknown.
#[must_use]
pub fn memory_limit() -> Option<u64> {
    let mounts = Path::new("/sys/fs/cgroup");
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_memory(&text));
    [cgroup_limit(&groups, mounts), machine].into_iter().flatten().min()
}

/// `MemTotal` of `/proc/meminfo`.
fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The lowest limit of the cgroups in the text of `/proc/self/cgroup`, and of those around them.
fn cgroup_limit(groups: &str, mounts: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if controllers.is_empty() {
            lowest(mounts, path, "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            lowest(&mounts.join("memory"), path, "memory.limit_in_bytes")
                .filter(|limit| *limit < V1_UNLIMITED)
        } else {
            None
        }
    });
    limits.min()
}

/// The lowest number in `file` of a directory and the directories around it. In a container, the path can be that of
/// the host, which isn't mounted; the mount point is then the container's own group.
fn lowest(mount: &Path, path: &str, file: &str) -> Option<u64> {
    let group: PathBuf = mount.join(path.trim_start_matches('/'));
    let around = group.ancestors().take_while(|directory| directory.starts_with(mount));
    around.filter_map(|directory| fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lowest_limit_of_either_version() {
        let mounts = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = mounts.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("a/memory.max", "4096\n");
        write("a/b/memory.max", "max\n");
        write("memory/v1/memory.limit_in_bytes", "8192\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        for (groups, limit) in [
            ("0::/a/b\n", Some(4096)),
            ("0::/\n", None),
            ("0::/../elsewhere\n", None),
            ("5:cpu,memory:/v1\n", Some(8192)),
            ("5:memory:/docker/1\n", None),
            ("4:cpu:/v1\n0::/a\n", Some(4096)),
            ("", None),
            ("nonsense\n:\n", None),
        ] {
            assert_eq!(cgroup_limit(groups, mounts.path()), limit, "{groups}");
        }
    }

    #[test]
    fn reads_the_memory_of_the_machine() {
        assert_eq!(total_memory("MemTotal:        2048 kB\nMemFree: 1 kB\n"), Some(2048 * 1024));
        assert_eq!(total_memory("MemTotal: many"), None);
        assert!(memory_limit().is_some_and(|bytes| bytes > 1 << 20));
    }
}
