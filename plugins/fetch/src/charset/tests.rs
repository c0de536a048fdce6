//! Charset detection and decoding.

use super::decode;

#[test]
fn prefers_the_server_over_the_document() {
    let page = b"<meta charset=utf-8>\xe4";
    assert!(decode(page, "text/html; charset=ISO-8859-1").ends_with('ä'));
    assert!(decode(page, "text/html;Charset = \"latin1\"").ends_with('ä'));
    assert!(decode(b"\xb3\xf1", "text/plain; charset=iso-8859-2; x=y").ends_with("łń"));
    assert_eq!(decode(b"\x93\xfa\x96\x7b", "text/html; charset='Shift_JIS'"), "日本");
}

#[test]
fn prefers_and_removes_a_byte_order_mark() {
    assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa4", "text/html; charset=latin1"), "ä");
    assert_eq!(decode(b"\xff\xfea\0\xe4\0", "text/html; charset=utf-8"), "aä");
    assert_eq!(decode(b"\xfe\xff\0a\0\xe4", ""), "aä");
}

#[test]
fn uses_the_documents_charset_as_fallback() {
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
    assert!(
        decode(utf16.as_bytes(), "text/html").ends_with('ä'),
        "the declaration itself was readable as single bytes"
    );
}

#[test]
fn guesses_unknown_charsets() {
    assert_eq!(decode("ä".as_bytes(), "text/plain"), "ä");
    assert_eq!(decode("ä".as_bytes(), "text/plain; charset=klingon"), "ä");
    assert_eq!(decode(b"caf\xe9 \x80", "text/plain"), "café €");
    assert_eq!(decode("ä€".as_bytes().split_last().unwrap().1, "text/plain"), "ä\u{fffd}", "cut off");
    assert_eq!(decode(b"a\xffb", "text/plain; charset=utf-8"), "a\u{fffd}b");
    assert_eq!(decode(b"", "charset"), "");
}
