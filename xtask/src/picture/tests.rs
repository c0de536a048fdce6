//! Lines that are too long, and characters that XML keeps for itself.

use super::{COLUMNS, picture};

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
