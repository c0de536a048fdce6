//! Tests of the owners and modes that each policy accepts.

use super::*;

#[test]
fn each_policy_accepts_its_owners_and_modes() {
    let me = rustix::process::geteuid().as_raw();
    let others = |mode| Err(Stranger::Others { mode });
    for (policy, mode, expected) in [
        (Hands::Secret, 0o600, Ok(())),
        (Hands::Secret, 0o640, others(0o640)),
        (Hands::Own, 0o755, Ok(())),
        (Hands::Own, 0o775, others(0o775)),
        (Hands::Own, 0o702, others(0o702)),
        (Hands::Sources, 0o775, Ok(())),
        (Hands::Sources, 0o777, others(0o777)),
    ] {
        assert_eq!(policy.check_mode(me, mode), expected, "{policy:?} {mode:o}");
        assert_eq!(policy.check_mode(me + 1, mode), Err(Stranger::Owner), "{policy:?} {mode:o}");
    }
    // Source trees can belong to root, because packages install them.
    assert_eq!(Hands::Sources.check_mode(0, 0o755), Ok(()));
    assert_eq!(Hands::Own.check_mode(0, 0o755), if me == 0 { Ok(()) } else { Err(Stranger::Owner) });
}
