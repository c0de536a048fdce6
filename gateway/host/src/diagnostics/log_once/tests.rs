//! New, repeated and too many messages.

use super::*;

#[test]
fn each_key_is_new_once_up_to_the_limit() {
    let once = LogOnce::default();
    for key in 0..MAX_LOGGED {
        assert_eq!((once.insert(key), once.insert(key)), (FirstTime::Yes, FirstTime::No));
    }
    assert_eq!(once.insert(3), FirstTime::No, "logged before");
    assert_eq!(once.insert(MAX_LOGGED), FirstTime::LimitReached);
    assert_eq!((once.insert(MAX_LOGGED), once.insert(MAX_LOGGED + 1)), (FirstTime::No, FirstTime::No));
}
