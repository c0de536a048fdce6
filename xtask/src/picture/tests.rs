//! Lines that are too long, characters that XML keeps for itself, and a gateway that doesn't say what it should.

use super::{COLUMNS, first_words, picture};

#[test]
fn a_long_line_is_broken_and_marked() {
    let svg = picture(&[("moongate check", format!("{}z\nend\n", "y".repeat(COLUMNS)))]);
    let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text ")).collect();
    assert_eq!(texts.len(), 4, "{svg}");
    assert!(texts[0].contains(r#"class="typed""#) && texts[0].ends_with(">$ moongate check</text>"), "{svg}");
    assert!(texts[1].contains(r#"class="said""#), "{svg}");
    assert!(texts[2].contains(r#"class="more""#) && texts[2].ends_with(">z</text>"), "{svg}");
    assert!(texts[3].contains(r#"class="said""#), "{svg}");
}

#[test]
fn what_is_printed_stays_text() {
    let svg = picture(&[("moongate check", "a <b> & c\n".to_owned())]);
    assert!(svg.contains(">a &lt;b&gt; &amp; c</text>"), "{svg}");
}

#[test]
fn a_gateway_that_says_nothing_to_try_is_an_error_with_what_it_said() {
    let heard = |lines: &[&str]| {
        let mut lines = lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>().into_iter();
        first_words(|_| lines.next())
    };
    let said =
        heard(&["moongate", "endpoint  http://127.0.0.1:9/mcp", "try  call http://127.0.0.1:9/mcp", "more"])
            .unwrap();
    assert_eq!(said, "moongate\nendpoint  http://127.0.0.1:8931/mcp\ntry  call http://127.0.0.1:8931/mcp\n");
    let error = heard(&["error: no"]).unwrap_err().to_string();
    assert!(error.ends_with("it said:\nerror: no\n"), "{error}");
}
