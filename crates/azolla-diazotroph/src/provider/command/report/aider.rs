//! The prose of aider: lines that it writes itself, between those of the model. It ends with exit code 0 even where
//! its key is refused.

use azolla_protocol::Usage;

use super::{Report, Trouble, json::in_microusd};

/// Begins the line in which aider tells of an error of its provider; the words go on in the next.
const ERROR: &str = "litellm.";

/// Begins the line that says that a file was changed.
const APPLIED: &str = "Applied edit to ";

/// Reads the lines. An error counts if it is the last that happened: aider tries again by itself.
pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(ERROR) && line.contains("Error: ") {
            let mut message = line.trim_end().to_owned();
            while let Some(more) =
                lines.next_if(|line| !line.trim().is_empty() && !line.starts_with("Retrying in "))
            {
                message.push(' ');
                message.push_str(more.trim());
            }
            let retried = lines.next_if(|line| line.starts_with("Retrying in ")).is_some();
            report.usage.retries += u64::from(retried);
            report.trouble = Some(Trouble::told(&message, None));
        } else if line.starts_with(APPLIED) {
            report.trouble = None;
        } else if let Some(model) = line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: "))
        {
            let name = model.split_once(" with ").map_or(model, |(name, _)| name);
            report.usage.model.get_or_insert_with(|| name.to_owned());
        } else if let Some(numbers) = line.strip_prefix("Tokens: ") {
            add_usage(numbers, &mut report.usage);
            report.trouble = None;
        }
    }
    if report.usage.retries > 0 || report.usage.requests > 0 {
        report.usage.requests = report.usage.requests.max(1) + report.usage.retries;
    }
    report
}

/// Reads `4.2k sent, 1.1k cache write, 256 received. Cost: $0.01 message, $0.03 session.`
fn add_usage(line: &str, usage: &mut Usage) {
    let (tokens, cost) = line.split_once(" Cost: ").unwrap_or((line, ""));
    for part in tokens.trim_end_matches('.').split(", ") {
        let Some((number, what)) = part.split_once(' ') else { continue };
        let total = match what {
            "received" => &mut usage.output_tokens,
            _ => &mut usage.input_tokens,
        };
        *total = total.saturating_add(tokens_of(number).unwrap_or(0));
    }
    usage.requests += 1;
    // The cost of the session is that of all requests so far.
    let session = cost.split(", ").find_map(|part| part.strip_suffix(" session.")?.strip_prefix('$'));
    if let Some(cost) = session.and_then(|dollars| in_microusd(dollars.replace(',', "").parse().ok()?)) {
        usage.cost_microusd = Some(cost);
    }
}

fn tokens_of(number: &str) -> Option<u64> {
    let (digits, factor) = match number.strip_suffix(['k', 'M']) {
        Some(digits) if number.ends_with('k') => (digits, 1e3),
        Some(digits) => (digits, 1e6),
        None => (number, 1.0),
    };
    let tokens = digits.replace(',', "").parse::<f64>().ok()? * factor;
    (0.0..=1e15).contains(&tokens).then(|| tokens.round() as u64)
}
