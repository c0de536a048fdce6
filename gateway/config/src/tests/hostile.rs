//! Damaged and hostile files: loading always ends with a configuration or with problems, and neither shows a secret.

use super::*;

/// Loads a text and checks everything that could be shown about it.
fn read(text: String) {
    let loaded = parse_config(&goldens_dir().join("gateway.toml"), text, &environment());
    assert_eq!(
        loaded.config.is_none(),
        loaded.problems.iter().any(Diagnostic::is_error),
        "{}",
        loaded.source.text
    );
    let mut shown = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
    shown += &render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Colour).replace('\u{1b}', "");
    write!(shown, "{:?}", loaded.config).unwrap();
    for problem in &loaded.problems {
        write!(shown, "{problem}").unwrap();
        assert!(!problem.is_error() || !problem.message.is_empty());
    }
    for secret in [&environment()["GATEWAY_TOKEN"], "a-secret-of-thirty-two-characters"] {
        assert!(!shown.contains(secret), "a secret is shown for:\n{}\n{shown}", loaded.source.text);
    }
    let hidden = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!shown.contains(hidden), "{shown:?}");
}

/// A deterministic random generator (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

#[test]
fn damaged_files_never_break_the_reader() {
    const SCRAPS: [&str; 24] = [
        "\"",
        "'''",
        "[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        "#",
        "\n",
        "\r",
        "${",
        "${LANG}",
        "$${",
        "\\u202e",
        "\u{202e}",
        "\u{e0041}",
        "é",
        "-1",
        "99999999999999999999",
        "nan",
        "true",
        "\"\"",
    ];
    let good = fs::read_to_string(goldens_dir().join("good.toml")).unwrap();
    let mut dice = Dice(1);
    for _ in 0..600 {
        let mut characters: Vec<char> = good.chars().collect();
        for _ in 0..=dice.below(4) {
            let at = dice.below(characters.len());
            let end = at + dice.below(characters.len() - at).min(12);
            let scrap = SCRAPS[dice.below(SCRAPS.len())];
            match dice.below(4) {
                0 => drop(characters.drain(at..end)),
                1 => drop(characters.splice(at..at, scrap.chars())),
                2 => drop(characters.splice(at..end, scrap.chars())),
                _ => {
                    let copied = characters[at..end].to_vec();
                    let to = dice.below(characters.len());
                    drop(characters.splice(to..to, copied));
                }
            }
        }
        read(characters.into_iter().collect());
    }
}

#[test]
fn renders_places_of_another_version_of_the_file() {
    let source = ConfigSource { path: "gateway.toml".into(), text: "é = 1\nb = 2".to_owned() };
    let places = [0..0, 1..1, 0..1, 1..400, 400..500, 5..8, 11..12, 12..12, usize::MAX..usize::MAX];
    for place in places {
        let problem = Diagnostic::error("wrong")
            .with_span(place.clone())
            .with_label("here")
            .with_related(place.clone(), "and here");
        let drawn = render_diagnostics(&[problem.with_hint("do better")], &source, RenderStyle::Plain);
        assert!(
            drawn.starts_with("error: wrong\n") && drawn.ends_with("hint: do better\n"),
            "{place:?}: {drawn}"
        );
    }
    let empty = ConfigSource { path: "gateway.toml".into(), text: String::new() };
    assert!(
        render_diagnostics(&[Diagnostic::warning("odd").with_span(0..0)], &empty, RenderStyle::Plain)
            .contains("gateway.toml")
    );
}

#[test]
fn survives_deep_nesting() {
    for (open, close) in [("[", "]"), ("{ a = ", " }")] {
        read(with_plugin(&format!("config.a = {}1{}", open.repeat(50_000), close.repeat(50_000))));
    }
    read(format!("{}a = 1", "a.".repeat(50_000)));
}

#[test]
fn renders_the_first_of_many_problems() {
    let shown = |text: String, most: usize| {
        let loaded = parse_config(&goldens_dir().join("gateway.toml"), text, &environment());
        let drawn = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
        assert_eq!(drawn.matches("error: ").count(), most);
        let more = loaded.problems.len() - most;
        assert!(drawn.ends_with(&format!("\n{more} more not shown\n")), "{}", &drawn[drawn.len() - 200..]);
    };
    let keys: String = (0..50_000).map(|at| format!("unknown{at} = 1\n")).collect();
    shown(format!("{keys}version = 1\n"), 100);
    shown("%$#@ no TOML [[[ \n".repeat(50_000), 100);
    let plugins: String = (0..5_000).map(|at| format!("[plugins.p{at}]\nsource = \"\"\n")).collect();
    shown(format!("version = 1\n{plugins}"), 100);
}

#[test]
fn errors_take_precedence_over_warnings() {
    let source = ConfigSource { path: "gateway.toml".into(), text: String::new() };
    let mut problems = vec![Diagnostic::warning("odd"); 150];
    problems.push(Diagnostic::error("wrong"));
    let drawn = render_diagnostics(&problems, &source, RenderStyle::Plain);
    assert_eq!((drawn.matches("odd").count(), drawn.matches("wrong").count()), (99, 1));
    assert!(drawn.ends_with("\n51 more not shown\n"), "{drawn}");
}

#[test]
fn cuts_very_long_keys() {
    read(format!("version = 1\n{} = 1\n", "a".repeat(1_000_000)));
}

#[test]
#[cfg(unix)]
fn rejects_a_pipe_without_waiting() {
    let dir = tempfile::TempDir::new().unwrap();
    let pipe = dir.path().join("gateway.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let loaded = load_config(&pipe, &environment());
    assert!(loaded.config.is_none() && loaded.problems[0].message.ends_with("not a regular file"));
}
