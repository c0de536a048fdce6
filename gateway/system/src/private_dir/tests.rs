//! Tests of the owners and modes that each policy accepts.

use super::*;

#[test]
fn each_policy_accepts_its_owners_and_modes() {
    let me = rustix::process::geteuid().as_raw();
    let others = |mode| Err(OwnershipError::Permissions { mode });
    for (policy, mode, expected) in [
        (Ownership::OwnerOnly, 0o600, Ok(())),
        (Ownership::OwnerOnly, 0o640, others(0o640)),
        (Ownership::OwnerWrites, 0o755, Ok(())),
        (Ownership::OwnerWrites, 0o775, others(0o775)),
        (Ownership::OwnerWrites, 0o702, others(0o702)),
        (Ownership::SourceTree, 0o775, Ok(())),
        (Ownership::SourceTree, 0o777, others(0o777)),
    ] {
        assert_eq!(policy.check_mode(me, mode), expected, "{policy:?} {mode:o}");
        assert_eq!(policy.check_mode(me + 1, mode), Err(OwnershipError::Owner), "{policy:?} {mode:o}");
    }
    // Source trees can belong to root, because packages install them.
    assert_eq!(Ownership::SourceTree.check_mode(0, 0o755), Ok(()));
    assert_eq!(
        Ownership::OwnerWrites.check_mode(0, 0o755),
        if me == 0 { Ok(()) } else { Err(OwnershipError::Owner) }
    );
}
