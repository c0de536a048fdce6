//! The text output of a reload.

use super::*;

#[test]
fn each_result_is_a_line() {
    assert_eq!(text(&[], &[], &[]), "nothing changed\n");
    assert_eq!(
        text(
            &["plugin `a` was replaced", "plugin `b` was added"],
            &["plugin `c` can't be loaded"],
            &["http.auth.tokens", "gateway.state"]
        ),
        "changed  plugin `a` was replaced\n\
         changed  plugin `b` was added\n\
         failed   plugin `c` can't be loaded\n\
         waits    needs a restart: `http.auth.tokens`; no static token works until then\n\
         waits    needs a restart: `gateway.state`\n"
    );
}
