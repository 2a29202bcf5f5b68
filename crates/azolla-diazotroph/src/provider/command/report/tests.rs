//! What is read out of the output of real agents, and out of what none of them would print.

use std::time::Duration;

use azolla_protocol::Timestamp;

use super::{TroubleKind::*, *};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/agents/", $name))
    };
}

fn printed(text: &str, code: i32) -> Finished {
    let kept = |text: &str| Captured { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
    Finished {
        exit: Exit::Code(code),
        stdout: kept(text),
        stderr: kept(""),
        duration: Duration::ZERO,
        sandbox_mode: "off".into(),
    }
}

fn trouble(kind: OutputKind, text: &str) -> Option<TroubleKind> {
    read(kind, &printed(text, 1)).trouble.map(|trouble| trouble.kind)
}

#[test]
fn providers_3_what_the_agents_say_and_use_is_read() {
    let report = |kind, text| read(kind, &printed(text, 0));
    let done = |text: &str, usage| Report { text: Some(text.into()), usage, ..Report::default() };
    let usage = Usage {
        model: Some("claude-opus-4-8[1m]".into()),
        requests: 2,
        retries: 0,
        input_tokens: 840,
        output_tokens: 18,
        cost_microusd: Some(2_000),
    };
    let claude = fixture!("claude-ok.json");
    assert_eq!(report(OutputKind::Claude, claude), done("I wrote the file.", usage.clone()));
    // As a stream, and as a list.
    let stream = format!("{{\"type\":\"system\"}}\n{claude}");
    assert_eq!(report(OutputKind::Claude, &stream), done("I wrote the file.", usage.clone()));
    let list = format!("[{{\"type\":\"system\"}},{claude}]");
    assert_eq!(report(OutputKind::Claude, &list), done("I wrote the file.", usage));

    let usage = Usage { requests: 1, input_tokens: 840, output_tokens: 18, ..Usage::default() };
    assert_eq!(report(OutputKind::Codex, fixture!("codex-ok.jsonl")), done("I wrote the file.", usage));

    let goose = report(OutputKind::Goose, fixture!("goose-ok.json"));
    assert!(goose.text.as_ref().unwrap().starts_with("I will create it."), "{goose:?}");
    let usage = Usage { requests: 1, input_tokens: 420, output_tokens: 9, ..Usage::default() };
    assert_eq!((goose.usage, goose.trouble), (usage, None));

    let aider = report(OutputKind::Aider, fixture!("aider-ok.txt"));
    let usage = Usage {
        model: Some("openai/gpt-4o".into()),
        requests: 1,
        input_tokens: 420,
        output_tokens: 9,
        cost_microusd: Some(1_100),
        ..Usage::default()
    };
    assert_eq!(aider, Report { usage, ..Report::default() });
}

#[test]
#[rustfmt::skip] // A table.
fn providers_3_what_is_wrong_is_sorted_by_who_mends_it() {
    use OutputKind::{Aider, Claude, Codex, Goose};
    let cases = [
        (Claude, fixture!("claude-401.json"), Login),
        (Claude, fixture!("claude-login.json"), Login),
        (Claude, fixture!("claude-529.json"), Passing),
        (Claude, fixture!("claude-quota.json"), Quota),
        (Claude, fixture!("claude-limiting.json"), Passing),
        (Codex, fixture!("codex-401.jsonl"), Login),
        (Codex, fixture!("codex-529.jsonl"), Passing),
        (Codex, fixture!("codex-quota.jsonl"), Quota),
        (Goose, fixture!("goose-401.json"), Login),
        (Goose, fixture!("goose-529.json"), Passing),
        (Goose, fixture!("goose-quota.json"), Quota),
        (Goose, fixture!("goose-unconfigured.txt"), Login),
        (Aider, fixture!("aider-401.txt"), Login),
        (Aider, fixture!("aider-529.txt"), Passing),
        (Aider, fixture!("aider-quota.txt"), Quota),
        (Claude, r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#, Other),
        (Claude, r#"{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1794900000"}"#, Quota),
        (Claude, r#"{"type":"result","subtype":"error_during_execution","errors":["Context limit reached"]}"#, Other),
        (Goose, r#"{"messages":[],"metadata":{"status":"failed"}}"#, Other),
        (Codex, "{\"type\":\"turn.failed\"}", Other),
        (Codex, "{\"type\":\"turn.failed\",\"error\":{\"message\":\"at http://x/401/429/v1\"}}", Other),
    ];
    for (kind, text, expected) in cases {
        assert_eq!(trouble(kind, text), Some(expected), "{text}");
    }
}

#[test]
fn providers_4_what_an_agent_tried_again_is_counted() {
    let usage = |kind, text| read(kind, &printed(text, 1)).usage;
    let codex = usage(OutputKind::Codex, fixture!("codex-529.jsonl"));
    assert_eq!((codex.requests, codex.retries), (6, 5));
    let aider = usage(OutputKind::Aider, fixture!("aider-529.txt"));
    assert_eq!((aider.requests, aider.retries), (3, 2));
}

#[test]
fn an_error_that_was_mended_is_none() {
    let codex = "{\"type\":\"error\",\"message\":\"stream disconnected\"}\n{\"type\":\"turn.completed\"}\n";
    assert_eq!(trouble(OutputKind::Codex, codex), None);
    let aider = format!("{}{}", fixture!("aider-529.txt"), fixture!("aider-ok.txt"));
    assert_eq!(trouble(OutputKind::Aider, &aider), None);
}

#[test]
fn t31_what_is_no_output_of_the_agent_is_text() {
    let deep = "[".repeat(1_000_000);
    let deep_field = format!("{{\"type\":\"result\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let wrong = r#"{"type":"result","is_error":"yes","usage":"x","modelUsage":7,"num_turns":-1,"total_cost_usd":1e999,"result":{}}"#;
    let texts =
        ["", "\n", "null", "[]", "{}", "plain text", "{\"type\":1}", "\u{0}", &deep, "{\"messages\":{}}"];
    for kind in [OutputKind::Claude, OutputKind::Codex, OutputKind::Goose] {
        for text in texts {
            let report = read(kind, &printed(text, 0));
            assert!(report.is_unexpected, "{kind:?}: {}", &text[..text.len().min(40)]);
            assert_eq!((report.text, report.trouble), (None, None));
        }
    }
    for text in [deep_field.as_str(), wrong] {
        let report = read(OutputKind::Claude, &printed(text, 0));
        assert_eq!(report, Report::default(), "of it nothing is known, and it is a result");
    }
    let report = read(OutputKind::Aider, &printed(&deep, 0));
    assert_eq!(report, Report::default());
}

#[test]
fn t31_numbers_out_of_range_are_no_harm() {
    let most = u64::MAX;
    let claude = format!(
        r#"{{"type":"result","num_turns":{most},"usage":{{"input_tokens":{most},"cache_read_input_tokens":{most},
        "output_tokens":-5}},"total_cost_usd":-1,"modelUsage":{{"{}":{{}}}}}}"#,
        "m".repeat(500)
    );
    let usage = read(OutputKind::Claude, &printed(&claude, 0)).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_microusd), (most, 0, None));
    assert_eq!(usage.model.unwrap().len(), MODEL_BYTES_MAX);
    let lines = "Tokens: 1e400 sent, -3 received. Cost: $NaN message, $inf session.\nTokens: 4.2k sent, 1M cache hit, 2 received.\n";
    let usage = read(OutputKind::Aider, &printed(lines, 0)).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_microusd), (1_004_200, 2, None));
}

#[test]
fn the_beginning_of_output_may_be_cut_off() {
    let cut = |kind, text: &str| {
        let mut finished = printed(text, 0);
        finished.stdout.total += 1;
        read(kind, &finished)
    };
    let whole = fixture!("codex-ok.jsonl");
    let report = cut(OutputKind::Codex, &whole[20..]);
    assert_eq!((report.text.as_deref(), report.usage.output_tokens), (Some("I wrote the file."), 18));
    let error = fixture!("goose-529.json");
    let report = cut(OutputKind::Goose, &error[200..]);
    assert_eq!(report.trouble.unwrap().kind, Passing);
}

#[test]
fn the_time_at_which_a_quota_is_back_is_read() {
    // A Monday, 03:00.
    let now: Timestamp = "2026-11-16T03:00:00.000Z".parse().unwrap();
    let (minute, hour, day) = (60, 3_600, 86_400);
    let cases = [
        ("Claude AI usage limit reached|1794805200", Some(2 * hour)),
        ("Claude AI usage limit reached|1794805200000", Some(2 * hour)),
        ("usage limit reached|1", None),
        ("limit reached|1000000000", Some(minute)),
        ("You've hit your limit · resets 5am (UTC)", Some(2 * hour)),
        ("5-hour limit reached ∙ resets 2:30am", Some(23 * hour + 30 * minute)),
        ("You've hit your limit · resets 5am (Europe/Berlin)", None),
        ("weekly limit · resets Nov 18, 3am (UTC)", Some(2 * day)),
        ("resets Nov 18 at 3pm", Some(2 * day + 12 * hour)),
        ("try again at Nov 17th, 2026 5:06 PM.", Some(day + 14 * hour + 6 * minute)),
        ("try again at Jan 17th, 2030 5:06 PM.", Some(7 * day)),
        ("Try again at 12:00 AM.", Some(21 * hour)),
        ("resets at 15:30", Some(12 * hour + 30 * minute)),
        ("Please try again in 7m12s. Visit", Some(7 * minute + 12)),
        ("try again in 3 days 4 hours 5 minutes.", Some(3 * day + 4 * hour + 5 * minute)),
        ("try again in 1 hour and 2 minutes", Some(hour + 2 * minute)),
        ("retry after 90", Some(90)),
        ("try again in 250ms", Some(minute)),
        ("try again in 99999999999999999999 days", Some(7 * day)),
        ("try again later", None),
        ("Try again in a moment.", None),
        ("resets soon", None),
        ("resets Feb 99 3pm", None),
        ("resets 99pm", None),
        ("resets 13:99", None),
        ("resets 9223372036854775807:0", None),
        ("resets 1:9223372036854775807", None),
        ("resets ", None),
        ("", None),
    ];
    for (message, expected) in cases {
        assert_eq!(until_reset(message, now, true).map(|wait| wait.as_secs()), expected, "{message}");
    }
    assert_eq!(until_reset("resets 5am", now, false), None, "of an unknown zone");
    assert_eq!(until_reset("resets 5am (UTC)", now, false), Some(Duration::from_secs(2 * hour)));
    let new_year: Timestamp = "2027-12-31T23:00:00.000Z".parse().unwrap();
    let leap: Timestamp = "2028-02-28T23:00:00.000Z".parse().unwrap();
    assert_eq!(until_reset("resets Jan 1, 2am", new_year, true), Some(Duration::from_secs(3 * hour)));
    assert_eq!(until_reset("resets Mar 1, 2am", leap, true), Some(Duration::from_secs(day + 3 * hour)));
}
