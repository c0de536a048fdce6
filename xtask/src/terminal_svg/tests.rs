//! Long lines, characters that XML reserves, and a gateway without an example.

use super::{Banner, COLUMNS, banner, draw};

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
fn keeps_the_colours_of_the_terminal() {
    let svg = draw(&[("moongate serve", "\x1b[2m12:00:00\x1b[0m \x1b[32mok\x1b[0m\x1b[K a\n".to_owned())]);
    let line = "><tspan class=\"dim\">12:00:00</tspan> <tspan class=\"green\">ok</tspan> a</text>";
    assert!(svg.contains(line), "{svg}");
    let wrapped = draw(&[("moongate serve", format!("\x1b[31m{}z\x1b[0m", "y".repeat(COLUMNS)))]);
    assert!(wrapped.contains("<tspan class=\"red\">z</tspan></text>"), "{wrapped}");
}

#[test]
fn a_banner_without_an_example_is_an_error() {
    let read = |lines: &[&str]| {
        let mut lines = lines.iter().map(|line| Ok((*line).to_owned())).collect::<Vec<_>>().into_iter();
        banner(&mut |_| lines.next())
    };
    let Banner { text, endpoint } = read(&[
        "moongate\r",
        "endpoint  http://127.0.0.1:9/mcp\r",
        "try  call http://127.0.0.1:9/mcp\r",
        "more",
    ])
    .unwrap();
    assert_eq!(text, "moongate\nendpoint  http://127.0.0.1:8931/mcp\ntry  call http://127.0.0.1:8931/mcp\n");
    assert_eq!(endpoint, "http://127.0.0.1:9/mcp");
    let error = read(&["error: no"]).unwrap_err().to_string();
    assert!(error.ends_with("its output:\nerror: no\n"), "{error}");
}
