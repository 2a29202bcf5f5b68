//! Three targets of P10: what an answer may be, what a path may be, what a name may be. Each is held to a second reading
//! that shares no code with the first.

mod names;
mod patch;
mod path;

use azolla_fuzz::Target;

#[test]
fn p10_t32_an_answer_in_any_format_becomes_the_files_that_its_diff_makes_or_is_refused() {
    Target { name: "patch", inputs: 4_000, bytes_max: 6_000, words: patch::WORDS, check: patch::check }.run();
}

#[test]
fn p10_t1_t2_t3_a_path_that_is_taken_stays_in_the_tree_and_is_git_s_on_no_file_system() {
    Target { name: "path", inputs: 20_000, bytes_max: 1_200, words: path::WORDS, check: path::check }.run();
}

#[test]
fn p10_t18_t19_t20_a_name_that_is_taken_is_a_ref_for_git_and_no_option_or_program() {
    Target { name: "names", inputs: 14_000, bytes_max: 400, words: names::WORDS, check: names::check }.run();
}
