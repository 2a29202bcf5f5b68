//! What a program sees: its arguments, directory, environment and streams, and nothing else of ours.

use std::{collections::BTreeMap, os::fd::AsRawFd};

use azolla_process::{Capture, Containment, Exit, Program, run};

use crate::world::{text as text_of, *};

async fn output(program: &Program, containment: Containment) -> String {
    let finished = run(program, &bounds(containment)).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    text_of(&finished)
}

#[tokio::test]
async fn the_environment_is_the_programs_own_and_nothing_more() {
    for containment in [Group, Tree] {
        let mark = Mark::new();
        let mut program = script("", &mark);
        program.path = "/usr/bin/env".into();
        program.arguments.clear();
        program.environment = BTreeMap::from([("B".into(), "2 =\n3".into()), ("A".into(), "".into())]);
        assert_eq!(output(&program, containment).await, "A=\nB=2 =\n3");
        program.environment.clear();
        assert_eq!(output(&program, containment).await, "");
    }
}

#[tokio::test]
async fn arguments_and_directory_arrive_as_they_are() {
    for containment in [Group, Tree] {
        let directory = tempfile::tempdir().unwrap();
        let mut program = script("pwd; printf '<%s>' \"$@\"", &Mark::new());
        program.arguments.extend(["".into(), "a b".into(), "$(id)".into(), "-n\n*".into()]);
        program.directory = directory.path().to_owned();
        let expected = format!("{}\n<><a b><$(id)><-n\n*>", directory.path().display());
        assert_eq!(output(&program, containment).await, expected);
    }
}

/// With a descriptor open here that says nothing of exec, as a careless parent of ours would leave one.
#[tokio::test]
async fn no_descriptor_is_inherited_but_the_three_streams() {
    let file = std::fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    assert!(file.as_raw_fd() > 2);
    for (containment, input) in [(Group, ""), (Tree, ""), (Group, "x"), (Tree, "x")] {
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let mut program = script("", &Mark::new());
        program.path = "/bin/ls".into();
        program.arguments = vec!["/proc/self/fd".into()];
        program.input = input.into();
        // The fourth is the directory that it lists.
        assert_eq!(output(&program, containment).await, "0\n1\n2\n3");
    }
}

/// Returns a line of the program's own status, of which each bit is a signal.
async fn signals(line: &str, containment: Containment) -> u64 {
    let mut program = script("", &Mark::new());
    program.path = "/bin/cat".into();
    program.arguments = vec!["/proc/self/status".into()];
    let status = output(&program, containment).await;
    let found = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    u64::from_str_radix(found.trim(), 16).unwrap()
}

#[tokio::test]
async fn a_tree_begins_with_every_signal_as_it_is_by_default() {
    // The C library keeps 32 and 33 for itself: they cannot be reset, and need not be.
    let of_the_c_library = 0b11 << 31;
    for line in ["SigBlk:", "SigIgn:", "SigCgt:"] {
        assert_eq!(signals(line, Tree).await & !of_the_c_library, 0, "{line}");
    }
}

#[tokio::test]
async fn a_group_begins_with_no_signal_blocked_and_with_broken_pipes_deadly() {
    assert_eq!(signals("SigBlk:", Group).await, 0);
    assert_eq!(signals("SigIgn:", Group).await & 1 << (libc::SIGPIPE - 1), 0);
}

#[tokio::test]
async fn the_input_is_read_whole_and_ends() {
    for containment in [Group, Tree] {
        let mut program = script("cksum; cat", &Mark::new());
        assert_eq!(output(&program, containment).await, "4294967295 0", "no input is an empty one");
        program.input = (0..10_000_000u32).map(|n| (n % 251) as u8).collect();
        let whole = output(&program, containment).await;
        program.path = "/bin/cat".into();
        program.arguments.clear();
        let mut all = bounds(containment);
        all.stdout = Capture::All(program.input.len());
        let finished = run(&program, &all).await.unwrap();
        assert_eq!(finished.exit, Exit::Code(0));
        assert!(finished.stdout.bytes == program.input, "what comes back is what went in");
        assert!(whole.ends_with(" 10000000"), "{whole}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_is_not_waited_for() {
    for (containment, text) in [
        (Group, "echo done; exit 5"),
        (Tree, "echo done; exit 5"),
        (Group, "exec <&-; echo done; sleep 0.1; exit 5"),
        (Tree, "exec <&-; echo done; sleep 0.1; exit 5"),
        (Tree, "(setsid sleep $0 <&0 &); echo done; exit 5"),
    ] {
        let mark = Mark::new();
        let mut program = script(text, &mark);
        program.input = vec![b'x'; 10_000_000];
        let finished = run(&program, &bounds(containment)).await.unwrap();
        assert_eq!((finished.exit, text_of(&finished).as_str()), (Exit::Code(5), "done"));
    }
}
