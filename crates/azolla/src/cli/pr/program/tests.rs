//! What a program's complaint stands for.

use super::*;
use crate::failure::Code;

fn said(stderr: &str) -> Said {
    Said { code: 1, stdout: String::new(), complaint: complaint(stderr) }
}

#[test]
fn a_network_that_is_down_is_temporary_and_the_rest_is_not() {
    for stderr in [
        "fatal: unable to access 'https://h/': Could not resolve host: h",
        "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.",
        "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com",
        "Post \"https://api.github.com/graphql\": dial tcp: lookup api.github.com: no such host",
    ] {
        assert_eq!(said(stderr).failure("x", "y").code(), Code::Temporary, "{stderr}");
    }
    for stderr in ["", "git@h: Permission denied (publickey).", "HTTP 404: Not Found"] {
        assert_eq!(said(stderr).failure("x", "y").code(), Code::Failure, "{stderr}");
    }
}

#[test]
fn t22_a_complaint_is_one_harmless_line() {
    assert_eq!(complaint("error: \u{1b}[31mno\n\nhint: try\nfatal: more\n"), "\u{fffd}[31mno; more");
    assert_eq!(said("").failure("gh pr list", "y").to_string(), "gh pr list: exit code 1");
}

#[test]
fn a_word_for_a_shell_stays_one_word() {
    assert_eq!((quoted("/srv/a.git"), quoted("a b'c")), ("/srv/a.git".to_owned(), r"'a b'\''c'".to_owned()));
}
