//! Parts of a text, counted in characters.

use super::of;

#[test]
fn counts_characters_not_bytes() {
    let text = "aä€😀e";
    assert_eq!(of(text, 0, 5, None), text);
    assert!(of(text, 0, 4, None).starts_with("aä€😀\n\n<error>Content truncated."));
    assert!(of(text, 1, 2, None).starts_with("ä€\n\n<error>"));
    assert_eq!(of(text, 3, 9, None), "😀e");
}

#[test]
fn parts_add_up_to_the_text() {
    let text: String = (0..997_u32).filter_map(|n| char::from_u32(0x20 + n * 37)).collect();
    let (mut all, mut start) = (String::new(), 0);
    loop {
        let part = of(&text, start, 100, None);
        let Some((part, rest)) = part.split_once("\n\n<error>") else {
            all.push_str(&part);
            break;
        };
        all.push_str(part);
        start = rest.split(' ').find_map(|word| word.parse().ok()).unwrap();
    }
    assert_eq!(all, text);
}

#[test]
fn reports_the_end() {
    for start in [3, 4, usize::MAX] {
        assert_eq!(of("abc", start, 5, Some("!")), "<error>No more content available.</error>");
    }
    assert_eq!(of("", 0, 5, None), "<error>No more content available.</error>");
    assert_eq!(of("abc", 0, 3, Some("!")), "abc!");
    assert!(!of("abc", 0, 2, Some("!")).contains('!'));
}
