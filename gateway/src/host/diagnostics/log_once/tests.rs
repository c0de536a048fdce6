//! When something is news.

use super::*;

#[test]
fn each_thing_is_news_once_and_after_so_many_it_is_news_once_that_there_are_more() {
    let once = Once::default();
    for at in 0..MOST {
        assert_eq!((once.hear(at), once.hear(at)), (News::Yes, News::No));
    }
    assert_eq!(once.hear(3), News::No, "it was told before");
    assert_eq!(once.hear(MOST), News::More);
    assert_eq!((once.hear(MOST), once.hear(MOST + 1)), (News::No, News::No));
}
