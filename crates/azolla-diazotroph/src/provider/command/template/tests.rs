//! Which words are replaced, and which argv is refused.

use super::*;

const STDOUT: ResultBy = ResultBy::Stdout(azolla_protocol::AnswerForm::Diff);

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn filled(argument: &str) -> String {
    let words =
        Words { prompt: "do {worktree}", prompt_file: Path::new("/run/prompt"), worktree: Path::new("/w") };
    parse_one(argument).unwrap().fill(&words).into_string().unwrap()
}

#[test]
fn words_are_replaced_once() {
    assert_eq!(filled("--message={prompt}!"), "--message=do {worktree}!");
    assert_eq!(filled("{prompt_file}:{worktree}/x"), "/run/prompt:/w/x");
    assert_eq!(filled(""), "");
}

#[test]
fn braces_that_hold_no_word_stay_as_they_are() {
    for text in ["${HOME}", "{\"a\": {}}", "{print $1}", "{", "}", "{}", "a{b", "{{", "{x y}", "{A}", "${1}"]
    {
        assert_eq!(filled(text), text);
    }
    assert_eq!(filled("{{prompt}} and {{other}}"), "{prompt} and {other}");
}

#[test]
fn an_unknown_word_is_refused_with_the_known_ones() {
    let refused = parse(&argv(&["agent", "{promt}"]), PromptBy::Stdin, STDOUT).unwrap_err();
    assert_eq!(
        refused,
        "{promt} is not known; known are {prompt}, {prompt_file}, {worktree}, and {{promt}} stands for {promt} itself"
    );
}

#[test]
fn words_have_to_fit_how_prompt_and_answer_are_passed() {
    use PromptBy::{Argument, File, Stdin};
    use ResultBy::Worktree;
    let cases: [(&[&str], PromptBy, ResultBy, &str); 12] = [
        (&[], Stdin, STDOUT, "is empty; it begins with the program"),
        (&[""], Stdin, STDOUT, "the program has no name"),
        (&["./agent"], Stdin, STDOUT, "the program \"./agent\" is neither a name nor an absolute path"),
        (&["bin/agent"], Stdin, STDOUT, "the program \"bin/agent\" is neither a name nor an absolute path"),
        (&["{worktree}"], Stdin, Worktree, "the program \"{worktree}\" has a word in braces"),
        (&["/{other}"], Stdin, Worktree, "the program \"/{other}\" has a word in braces"),
        (&["a", "{prompt}"], Stdin, STDOUT, "{prompt} is only for where the prompt is passed by argument"),
        (
            &["a", "{prompt_file}"],
            Stdin,
            STDOUT,
            "{prompt_file} is only for where the prompt is passed by file",
        ),
        (&["a"], Argument, STDOUT, "{prompt} is missing, though the prompt is passed by argument"),
        (&["a"], File, STDOUT, "{prompt_file} is missing, though the prompt is passed by file"),
        (&["a", "{worktree}"], Stdin, STDOUT, "{worktree} is for a program whose answer is the worktree"),
        (&["a", "x\0"], Stdin, STDOUT, "an argument has a NUL in it"),
    ];
    for (words, prompt, result, reason) in cases {
        assert_eq!(parse(&argv(words), prompt, result).unwrap_err(), reason, "{words:?}");
    }
    for program in ["agent", "/opt/agent"] {
        assert!(parse(&argv(&[program, "{worktree}"]), Stdin, Worktree).is_ok());
    }
}
