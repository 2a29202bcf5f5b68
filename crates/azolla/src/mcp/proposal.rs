//! A proposal as a note: title, reason and criteria in a form that triage keeps together as one candidate, by fixed rules
//! and with a model alike.

use azolla_protocol::AzollaId;

/// What is proposed, each part checked.
pub(super) struct Proposal<'a> {
    pub(super) title: &'a str,
    pub(super) criteria: &'a str,
    pub(super) rationale: Option<&'a str>,
    pub(super) target: Option<&'a AzollaId>,
}

impl Proposal<'_> {
    /// Returns the text of the note. What comes before the criteria is prose, so that no line of it is taken for a task
    /// of its own.
    pub(super) fn text(&self) -> String {
        let mut about = String::new();
        if let Some(rationale) = self.rationale.map(one_line).filter(|rationale| !rationale.is_empty()) {
            about = format!("Why: {}.\n", rationale.trim_end_matches('.'));
        }
        if let Some(target) = self.target {
            about += &format!("It is about {target}.\n");
        }
        let criteria: Vec<String> =
            self.criteria.lines().map(criterion).filter(|line| !line.is_empty()).collect();
        let criteria: String = criteria.iter().map(|line| format!("- {line}\n")).collect();
        let about = if about.is_empty() { about } else { format!("{about}\n") };
        format!("{}\n\n{about}Acceptance criteria:\n{criteria}", one_line(self.title))
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns one criterion without the mark of a list that it may come with.
fn criterion(line: &str) -> String {
    let line = one_line(line);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "));
    let marked =
        ["- ", "* ", "• ", "[ ] ", "- [ ] "].into_iter().rev().find_map(|mark| line.strip_prefix(mark));
    let bare = marked.or(numbered.filter(|_| (1..=3).contains(&digits)));
    bare.unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place_and_no_list_is_in_another() {
        let target = AzollaId::new("az-app").unwrap();
        let proposal = Proposal {
            title: " Round half\tup ",
            criteria: "- 0.5 rounds to 1\n\n2) the tests pass\n- [ ] the docs say so\n  * deep\n",
            rationale: Some("Invoices are off\n- by a cent."),
            target: Some(&target),
        };
        assert_eq!(
            proposal.text(),
            "Round half up\n\nWhy: Invoices are off - by a cent.\nIt is about az-app.\n\n\
             Acceptance criteria:\n- 0.5 rounds to 1\n- the tests pass\n- the docs say so\n- deep\n"
        );
        let short = Proposal { title: "A", criteria: "b", rationale: None, target: None };
        assert_eq!(short.text(), "A\n\nAcceptance criteria:\n- b\n");
    }
}
