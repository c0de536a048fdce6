//! Long lines, characters that XML reserves, and a gateway without an example.

use super::{COLUMNS, banner_lines, draw};

#[test]
fn wraps_and_marks_long_lines() {
    let svg = draw(&[("moongate check", format!("{}z\nend\n", "y".repeat(COLUMNS)))]);
    let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text ")).collect();
    assert_eq!(texts.len(), 4, "{svg}");
    assert!(texts[0].contains(r#"class="typed""#) && texts[0].ends_with(">$ moongate check</text>"), "{svg}");
    assert!(texts[1].contains(r#"class="said""#), "{svg}");
    assert!(texts[2].contains(r#"class="more""#) && texts[2].ends_with(">z</text>"), "{svg}");
    assert!(texts[3].contains(r#"class="said""#), "{svg}");
}

#[test]
fn escapes_reserved_characters() {
    let svg = draw(&[("moongate check", "a <b> & c\n".to_owned())]);
    assert!(svg.contains(">a &lt;b&gt; &amp; c</text>"), "{svg}");
}

#[test]
fn a_banner_without_an_example_is_an_error() {
    let banner = |lines: &[&str]| {
        let mut lines = lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>().into_iter();
        banner_lines(|_| lines.next())
    };
    let text =
        banner(&["moongate", "endpoint  http://127.0.0.1:9/mcp", "try  call http://127.0.0.1:9/mcp", "more"])
            .unwrap();
    assert_eq!(text, "moongate\nendpoint  http://127.0.0.1:8931/mcp\ntry  call http://127.0.0.1:8931/mcp\n");
    let error = banner(&["error: no"]).unwrap_err().to_string();
    assert!(error.ends_with("its output:\nerror: no\n"), "{error}");
}
