//! Tests of system directories.

use std::path::PathBuf;

use super::library_directories;

#[test]
fn finds_directories_of_loaded_libraries() {
    let maps = "\
55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 1 /opt/moongate/moongate
7f0000000000-7f0000001000 r-xp 00000000 fe:00 2 /nix/store/abc-glibc 2.40/lib/libc.so.6
7f0000001000-7f0000002000 r--p 00001000 fe:00 2 /nix/store/abc-glibc 2.40/lib/libc.so.6
7f0000002000-7f0000003000 r-xp 00000000 fe:00 3 /opt/lib/libm.so
7f0000003000-7f0000004000 r-xp 00000000 fe:00 4 /home/me/.cache/moongate/code.cwasm
7f0000004000-7f0000005000 rw-p 00000000 00:00 0 
7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0 [vdso]
";
    let found = library_directories(maps);
    assert_eq!(found, ["/nix/store/abc-glibc 2.40/lib", "/opt/lib"].map(PathBuf::from));
}
