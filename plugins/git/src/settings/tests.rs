//! The configuration file.

use super::*;

#[test]
fn reads_sections_quotes_and_comments() {
    let settings = RepositorySettings::parse(
        "; comment\n[Core] bare\n\tautoCRLF = input # comment\n[branch \"Ma\\\"in\"]\n remote = \"a # b\" \n\
         merge = refs/heads/\\\nmain\n[user]\nname=Ada  L. \n",
    );
    assert_eq!(settings.flag("core.bare"), Some(true));
    assert_eq!(settings.get("core.autocrlf"), Some("input"));
    assert_eq!(settings.get("branch.Ma\"in.remote"), Some("a # b"));
    assert_eq!(settings.get("branch.Ma\"in.merge"), Some("refs/heads/main"));
    assert_eq!(settings.get("user.name"), Some("Ada  L."));
    assert_eq!(settings.get("user.email"), None);
}
