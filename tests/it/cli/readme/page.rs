//! The content of a Markdown page: code blocks, commands, links and headings.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use moongate_tests::project_root;

/// A page of this repository.
pub(super) struct Page {
    file: String,
    text: String,
}

/// A fenced code block.
pub(super) struct Block {
    /// The language after the opening fence.
    pub(super) language: String,
    /// The file to write: the prose above ends with "`FILE` with this:".
    pub(super) file: Option<String>,
    /// All lines, including line endings.
    pub(super) text: String,
    /// The page, and the line of the opening fence.
    pub(super) place: String,
}

impl Page {
    /// Reads a page by its path from the repository's root.
    pub(super) fn read(file: &str) -> Self {
        let text =
            fs::read_to_string(project_root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        Self { file: file.to_owned(), text }
    }

    /// The blocks of one language, in order.
    pub(super) fn blocks(&self, language: &str) -> Vec<Block> {
        let mut blocks = self.all_blocks();
        blocks.retain(|block| block.language == language);
        blocks
    }

    /// All blocks, in order.
    pub(super) fn all_blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut above = "";
        let mut lines = (1..).zip(self.text.lines());
        while let Some((number, line)) = lines.next() {
            let Some(language) = line.strip_prefix("```") else {
                above = if line.is_empty() { above } else { line };
                continue;
            };
            let inner = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```"));
            let text: String = inner.flat_map(|line| [line, "\n"]).collect();
            let place = format!("{}:{number}", self.file);
            assert!(!language.is_empty(), "{place}: a block without a language");
            let file = above.strip_suffix("` with this:").and_then(|line| line.rsplit('`').next());
            blocks.push(Block { language: language.to_owned(), file: file.map(str::to_owned), text, place });
        }
        blocks
    }

    /// The text outside blocks and inline code.
    fn prose(&self) -> String {
        let mut is_code = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                prose.extend(line.split('`').step_by(2));
                prose.push('\n');
            }
        }
        prose
    }

    /// The anchors of the headings, as GitHub generates them.
    fn anchors(&self) -> BTreeSet<String> {
        let mut is_code = false;
        let mut anchors = BTreeSet::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if line.starts_with('#') && !is_code {
                anchors.insert(anchor(line.trim_start_matches('#').trim()));
            }
        }
        anchors
    }

    /// Links into this repository without a target.
    pub(super) fn broken_links(&self) -> Vec<String> {
        let prose = self.prose();
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        links
            .filter_map(|link| self.link_error(link).map(|why| format!("{}: `{link}`: {why}", self.file)))
            .collect()
    }

    fn link_error(&self, link: &str) -> Option<&'static str> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (file, fragment) = link.split_once('#').map_or((link, None), |(file, rest)| (file, Some(rest)));
        let file = if file.is_empty() {
            self.file.clone()
        } else {
            let mut path = PathBuf::from(&self.file);
            path.pop();
            path.join(file).to_str().expect("the path is UTF-8").to_owned()
        };
        if !project_root().join(&file).exists() {
            return Some("there is no such file");
        }
        let is_there = fragment.is_none_or(|fragment| Self::read(&file).anchors().contains(fragment));
        (!is_there).then_some("there is no such heading")
    }
}

impl Block {
    /// Each command, without its prompt, and the output below it.
    pub(super) fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), String::new()));
            } else if let Some((_, shown)) = commands.last_mut() {
                shown.push_str(line);
                shown.push('\n');
            } else {
                panic!("{}: a session starts with a command: {line}", self.place);
            }
        }
        commands
    }
}

/// The anchor that GitHub generates for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text of a line of XML.
pub(super) fn without_tags(line: &str) -> String {
    let text: String =
        line.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
fn generates_anchors_like_github() {
    for (heading, expected) in [
        ("What is not there yet", "what-is-not-there-yet"),
        ("`[http]`", "http"),
        ("The operator's listener", "the-operators-listener"),
        ("`plugins.<name>.allow`", "pluginsnameallow"),
    ] {
        assert_eq!(anchor(heading), expected);
    }
}
