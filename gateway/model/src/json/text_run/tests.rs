//! Tests of searches in text, against the simplest code that does the same.

use super::*;

/// Texts of all lengths up to a few blocks, with one special byte at each position.
#[test]
fn finds_each_special_byte_at_each_position() {
    for length in 0..3 * BLOCK_BYTES {
        let clean = vec![b'x'; length];
        assert_eq!(clean_run(&clean), length);
        for at in (0..length).rev() {
            let byte = [b'"', b'\\', b'\n', 0, 0x1F][at % 5];
            let mut text = clean.clone();
            text[at] = byte;
            assert_eq!(clean_run(&text), at, "{byte} at {at} of {length}");
            text[length - 1] = b'"';
            assert_eq!(clean_run(&text), at);
        }
    }
}

#[test]
fn tells_special_bytes_from_others() {
    for byte in 0..=u8::MAX {
        for position in [0, 3, 40, 70] {
            let mut text = [b'x'; 150];
            text[position] = byte;
            let expected = if is_special(byte) { position } else { text.len() };
            assert_eq!(clean_run(&text), expected, "{byte} at {position}");
        }
    }
}

#[test]
fn finds_the_ends_of_strings_and_scalars() {
    for (text, end) in [
        (r#""""#, 2),
        (r#""a"x"#, 3),
        (r#""a\"b"x"#, 6),
        (r#""a\\"b"#, 5),
        (r#""a"#, 2),
        (r#""a\"#, 3),
        (r#"""#, 1),
    ] {
        assert_eq!(string_end(text.as_bytes(), 0), end, "{text}");
    }
    for (text, end) in [("1,", 1), ("-1e5]", 4), ("true", 4), ("null }", 4), ("", 1)] {
        assert_eq!(scalar_end(text.as_bytes(), 0), end, "{text}");
    }
}

#[test]
fn finds_the_first_bracket_that_is_too_deep() {
    for (text, at) in [
        ("[[]]", None),
        ("[[[]]]", Some(2)),
        (r#"{"[[[":[1,"\"[[[",{}]}"#, Some(18)),
        (r#"{"[[[":["]"],"x":[]}"#, None),
        ("]][[", None),
    ] {
        assert_eq!(find_too_deep(text, 2), at, "{text}");
    }
}
