//! Which charset it is, and what of it becomes text.

use super::decode;

#[test]
fn the_server_is_believed_before_the_document() {
    let page = b"<meta charset=utf-8>\xe4";
    assert!(decode(page, "text/html; charset=ISO-8859-1").ends_with('ä'));
    assert!(decode(page, "text/html;Charset = \"latin1\"").ends_with('ä'));
    assert!(decode(b"\xb3\xf1", "text/plain; charset=iso-8859-2; x=y").ends_with("łń"));
    assert_eq!(decode(b"\x93\xfa\x96\x7b", "text/html; charset='Shift_JIS'"), "日本");
}

#[test]
fn a_byte_order_mark_comes_before_all_and_is_left_out() {
    assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa4", "text/html; charset=latin1"), "ä");
    assert_eq!(decode(b"\xff\xfea\0\xe4\0", "text/html; charset=utf-8"), "aä");
    assert_eq!(decode(b"\xfe\xff\0a\0\xe4", ""), "aä");
}

#[test]
fn the_document_is_believed_where_the_server_says_nothing() {
    for head in [
        "<html><head><meta charset=windows-1251>",
        "<META CHARSET='windows-1251' />",
        "<meta name=charset content=x><meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">",
        "<?xml version='1.0' encoding='windows-1251'?>",
    ] {
        let bytes = [head.as_bytes(), b"\xf0"].concat();
        assert!(decode(&bytes, "text/html").ends_with('р'), "{head}");
    }
    let utf16 = "<meta charset=utf-16>ä";
    assert!(decode(utf16.as_bytes(), "text/html").ends_with('ä'), "it could be read as single bytes so far");
}

#[test]
fn unknown_charsets_are_guessed() {
    assert_eq!(decode("ä".as_bytes(), "text/plain"), "ä");
    assert_eq!(decode("ä".as_bytes(), "text/plain; charset=klingon"), "ä");
    assert_eq!(decode(b"caf\xe9 \x80", "text/plain"), "café €");
    assert_eq!(decode("ä€".as_bytes().split_last().unwrap().1, "text/plain"), "ä\u{fffd}", "cut off");
    assert_eq!(decode(b"a\xffb", "text/plain; charset=utf-8"), "a\u{fffd}b");
    assert_eq!(decode(b"", "charset"), "");
}
