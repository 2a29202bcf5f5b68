//! What is kept of what a program prints, and in how much memory (T30, B-2).

use std::fs;

use azolla_process::{Bounds, Capture, Exit};

use crate::world::*;

const GIGABYTE: u64 = 1 << 30;

/// Returns the most memory that this process ever had, in bytes.
fn memory_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

#[tokio::test]
async fn a_gigabyte_of_output_takes_no_more_memory_than_asked_for() {
    let text = format!("head -c {GIGABYTE} /dev/zero; printf the end; head -c 100000 /dev/zero >&2");
    let change = |bounds: &mut Bounds| {
        bounds.stdout = Capture::Tail(64 * 1024);
        bounds.stderr = Capture::Head(10);
    };
    let finished = run_script(&text, &Mark::new(), Tree, change).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    assert_eq!(finished.stdout.total, GIGABYTE + 3);
    assert_eq!(finished.stdout.bytes.len(), 64 * 1024);
    assert!(finished.stdout.bytes.ends_with(b"\0\0the"));
    assert_eq!((finished.stderr.total, finished.stderr.bytes), (100_000, vec![0; 10]));
    // Far below what was printed, whatever other tests run in this process.
    assert!(memory_peak() < 256 << 20, "{} bytes", memory_peak());
}

#[tokio::test]
async fn one_byte_more_than_all_ends_the_program() {
    for containment in [Group, Tree] {
        let all = |bounds: &mut Bounds| bounds.stdout = Capture::All(1000);
        let mark = Mark::new();
        let finished = run_script("head -c 1000 /dev/zero", &mark, containment, all).await.unwrap();
        assert_eq!((finished.exit, finished.stdout.bytes), (Exit::Code(0), vec![0; 1000]));
        // Whether the program has ended when the last bytes are read makes no difference.
        for text in ["head -c 1001 /dev/zero", "head -c 1001 /dev/zero; (setsid sleep $0 &); sleep $0"] {
            let finished = run_script(text, &mark, containment, all).await.unwrap();
            assert_eq!((finished.exit, finished.stdout.bytes), (Exit::TooMuchOutput, vec![0; 1000]));
        }
        let all = |bounds: &mut Bounds| bounds.stderr = Capture::All(0);
        let finished = run_script("yes >&2", &mark, containment, all).await.unwrap();
        assert_eq!((finished.exit, finished.stderr.bytes), (Exit::TooMuchOutput, vec![]));
        if containment == Tree {
            mark.assert_no_survivors();
        }
    }
}

#[tokio::test]
async fn head_and_tail_let_the_program_go_on() {
    for containment in [Group, Tree] {
        let change = |bounds: &mut Bounds| {
            bounds.stdout = Capture::Head(4);
            bounds.stderr = Capture::Tail(4);
        };
        let text = "seq 100000; seq 100000 >&2; exit 3";
        let finished = run_script(text, &Mark::new(), containment, change).await.unwrap();
        assert_eq!(finished.exit, Exit::Code(3));
        assert_eq!(
            (finished.stdout.bytes.as_slice(), finished.stderr.bytes.as_slice()),
            (&b"1\n2\n"[..], &b"000\n"[..])
        );
        assert_eq!((finished.stdout.total, finished.stderr.total), (588_895, 588_895));
    }
}

/// A program that ends at once leaves its last words in the pipe.
#[tokio::test]
async fn the_last_words_are_read_however_fast_the_program_ends() {
    for containment in [Group, Tree] {
        for _ in 0..50 {
            let mark = Mark::new();
            let finished =
                run_script("head -c 60000 /dev/zero; echo x >&2", &mark, containment, |_| ()).await.unwrap();
            assert_eq!(
                (finished.stdout.bytes.len(), finished.stderr.bytes.as_slice()),
                (60_000, &b"x\n"[..])
            );
        }
    }
}

/// What has left the group and floods the stream is not read for ever.
#[tokio::test]
async fn an_escaped_flood_does_not_hold_up_the_end() {
    let mark = Mark::new();
    let change = |bounds: &mut Bounds| bounds.stdout = Capture::Tail(10);
    let finished = run_script("setsid sh -c 'yes $0 &' $0; exit 2", &mark, Group, change).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(2));
    // Nobody reads any more, so it ends by itself.
    mark.borne_by_none().await;
}
