//! What git's complaints are about, in its own words.

use super::*;

fn complaint(stderr: &str) -> Output {
    Output { code: Some(128), stdout: Vec::new(), stderr: stderr.to_owned() }
}

#[test]
fn pf7_a_disk_that_fails_a_part_that_was_killed_and_no_memory_are_faults_of_the_machine() {
    for stderr in [
        "fatal: sha1 file 'index-0.lock' write error. Out of diskspace",
        "error: unable to create temporary file: Input/output error\nfatal: unpack-objects failed",
        "error: unable to write loose object file: No space left on device",
        "error: unpack-objects died of signal 9\nfatal: unpack-objects failed",
        "fatal: Out of memory, malloc failed (tried to allocate 5000001 bytes)",
        "fatal: inflateInit: out of memory (no message)",
        "fatal: mmap failed: Cannot allocate memory",
        "error: open(\"x\"): Too many open files",
    ] {
        assert!(is_fault(&complaint(stderr)), "{stderr}");
    }
    for stderr in ["error: patch failed: a.txt:1", "fatal: Not a valid object name main"] {
        assert!(!is_fault(&complaint(stderr)), "{stderr}");
    }
}
