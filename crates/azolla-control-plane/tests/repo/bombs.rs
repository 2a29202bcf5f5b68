//! T12: stored binary patches that are well-formed, and become something huge.

use std::{fs, os::unix::fs::PermissionsExt};

use azolla_control_plane::repo::{GitRepository, Repository};

use crate::{
    attacks::bounded,
    support::{World, attempt, refused},
};

/// A file of the base that a delta copies again and again: as much as one byte of a delta can say.
const BASE: usize = 1 << 16;
const MIB: usize = 1 << 20;

/// A world whose git has no more than 400 MB to itself, with a file of `BASE` zeros.
fn world() -> (World, GitRepository) {
    let world = World::new();
    world.write("zeros", vec![0; BASE]);
    world.commit("zeros");
    held(world)
}

/// Holds git to 400 MB.
fn held(world: World) -> (World, GitRepository) {
    let git = world.dir.path().join("git");
    fs::write(&git, format!("#!/bin/sh\nulimit -v 400000\nexec {} \"$@\"\n", world.git.display())).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = world.settings();
    settings.git = git;
    (world, GitRepository::open(settings).unwrap())
}

/// T12: a delta says how large its result is only once it is unpacked, and each of its bytes stands for 64 KiB.
#[tokio::test]
async fn t12_a_stored_delta_bomb_is_refused() {
    let (world, repository) = world();
    let attempt = attempt(&repository.base("main").await.unwrap());
    let old = world.run(&["rev-parse", "main:zeros"]);
    // What fits is taken: the bombs are refused for their size alone.
    let small = delta(&old, &id_of(&world, 2 * MIB), 2 * MIB);
    let taken = repository.rebuild(&attempt, &small).await.unwrap();
    assert_eq!(world.mirror_file(&taken.commit, "zeros"), vec![0; 2 * MIB]);

    let bombs = [
        // Named as what it really becomes.
        delta(&old, &id_of(&world, 64 * MIB), 64 * MIB),
        // More than git could have here.
        delta(&old, &"1".repeat(40), 4096 * MIB),
    ];
    for bomb in &bombs {
        assert!(bomb.len() < 100_000, "{} bytes", bomb.len());
        let told = bounded(async || refused(repository.rebuild(&attempt, bomb).await)).await;
        assert!(told.contains("larger than the limit for one file"), "{told}");
        let applies = bounded(async || repository.applies(&attempt.base, bomb).await).await;
        assert!(!applies.unwrap());
    }
}

/// T12: what a patch says of its size is what it is held to. The way back, which nobody goes, is not unpacked.
#[tokio::test]
async fn t12_a_stored_literal_that_is_more_than_it_says_is_refused() {
    let (world, repository) = world();
    let attempt = attempt(&repository.base("main").await.unwrap());
    let nothing = binary("literal", 0, &stored(b""));
    let run = run_of_zeros(64 * MIB);
    let bomb = new_binary("x", &"1".repeat(40), &binary("literal", 100, &run), &nothing);
    let told = bounded(async || refused(repository.rebuild(&attempt, &bomb).await)).await;
    assert!(told.contains("corrupt binary patch"), "{told}");
    let empty = id_of(&world, 0);
    let mut backs = vec![nothing.clone()];
    backs.extend(
        [("literal", 100), ("literal", 64 * MIB), ("literal", 4096 * MIB), ("delta", 4096 * MIB)]
            .map(|(kind, says)| binary(kind, says, &run)),
    );
    let mut commits = Vec::new();
    for back in backs {
        let patch = new_binary("x", &empty, &nothing, &back);
        commits.push(bounded(async || repository.rebuild(&attempt, &patch).await).await.unwrap().commit);
        assert!(bounded(async || repository.applies(&attempt.base, &patch).await).await.unwrap());
    }
    commits.dedup();
    assert_eq!(commits.len(), 1, "{commits:?}");
}

/// T12: files that are each within the limit for one are held to what all of them have together.
#[tokio::test]
async fn t12_stored_literals_that_are_too_large_together_are_refused_before_git() {
    const SIZE: usize = 5_000_000;
    let (world, repository) = world();
    let attempt = attempt(&repository.base("main").await.unwrap());
    let (id, zeros) = (id_of(&world, SIZE), binary("literal", SIZE, &run_of_zeros(SIZE)));
    let nothing = binary("literal", 0, &stored(b""));
    let patch = |count: usize| -> String {
        (0..count).map(|n| new_binary(&format!("new-{n}"), &id, &zeros, &nothing)).collect()
    };
    let bomb = patch(100);
    let told = refused(repository.rebuild(&attempt, &bomb).await);
    assert!(told.contains("too large together"), "{told}");
    assert!(!repository.applies(&attempt.base, &bomb).await.unwrap());
    // What fits is taken, and then the mirror has the file; it counts each time that the patch makes it.
    repository.rebuild(&attempt, &patch(3)).await.unwrap();
    let told = refused(repository.rebuild(&attempt, &bomb).await);
    assert!(told.contains("too large together"), "{told}");
    let hidden: String = (0..100).map(|n| new_binary(&format!("new-{n}"), &id, &nothing, &nothing)).collect();
    let told = refused(repository.rebuild(&attempt, &hidden).await);
    assert!(told.contains("too large together"), "{told}");
}

/// T12: what deltas become is known only once they are made, so that few are made at a time.
#[tokio::test]
async fn t12_stored_deltas_that_are_too_large_together_are_refused() {
    let (world, _) = world();
    (0..50).for_each(|n| world.write(&format!("zeros-{n}"), vec![0; BASE]));
    world.commit("many");
    let (world, repository) = held(world);
    let attempt = attempt(&repository.base("main").await.unwrap());
    let old = id_of(&world, BASE);
    let size = |n: usize| 4 * MIB + n * BASE;
    let parts: Vec<String> =
        (0..50).map(|n| delta_of(&format!("zeros-{n}"), &old, &id_of(&world, size(n)), size(n))).collect();
    let fits = parts[..6].concat();
    assert!(repository.applies(&attempt.base, &fits).await.unwrap());
    let taken = repository.rebuild(&attempt, &fits).await.unwrap();
    for n in 0..6 {
        assert_eq!(world.mirror_file(&taken.commit, &format!("zeros-{n}")).len(), size(n));
    }
    assert!(repository.applies(&attempt.base, &fits).await.unwrap());
    let told = refused(repository.rebuild(&attempt, &parts.concat()).await);
    assert!(told.contains("too large together"), "{told}");
}

/// T12, PF-7: a file that the mirror keeps as its difference from a much larger one can be changed: what git unpacks on the way
/// there is no part of the patch.
#[tokio::test]
async fn t12_pf7_a_file_that_was_much_larger_once_can_be_changed() {
    let world = World::new();
    // Nothing repeats in it, so that it cannot be kept any smaller; its beginning can be kept as a difference from all of it.
    let mut state = 1u64;
    let large: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(40 * MIB)
    .collect();
    world.write("asset", &large);
    world.commit("large");
    world.write("asset", &large[..4 * MIB]);
    world.commit("small");
    let (repository, attempt) = world.begin().await;
    // As a fetch of many objects leaves it.
    world.mirror_run(&["repack", "-a", "-d", "-f", "-q"]);
    let kept = world.ask_in(
        &world.mirror(),
        &["cat-file", "--batch-check=%(deltabase)"],
        format!("{}:asset\n", attempt.base).as_bytes(),
    );
    assert_ne!(String::from_utf8(kept).unwrap().trim(), "0".repeat(40), "it is kept as a difference");
    world.write("asset", [&large[..4 * MIB], b"x"].concat());
    let diff = world.ask_in(&world.repo, &["diff", "--binary", "--full-index"], b"");
    let diff = String::from_utf8(diff).unwrap();
    let taken = repository.rebuild(&attempt, &diff).await.unwrap();
    assert_eq!(world.mirror_file(&taken.commit, "asset").len(), 4 * MIB + 1);
    assert!(repository.applies(&attempt.base, &diff).await.unwrap());
}

/// Returns the id of so many zeros.
fn id_of(world: &World, bytes: usize) -> String {
    let id = world.ask_in(&world.repo, &["hash-object", "--stdin"], &vec![0; bytes]);
    String::from_utf8(id).unwrap().trim().to_owned()
}

/// Returns a patch of a new file, there and back.
fn new_binary(path: &str, id: &str, there: &str, back: &str) -> String {
    let none = "0".repeat(40);
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\nindex {none}..{id}\nGIT binary patch\n{there}{back}"
    )
}

/// Returns a patch of `zeros` by a delta that copies all of it until there are `bytes`.
fn delta(old: &str, new: &str, bytes: usize) -> String {
    delta_of("zeros", old, new, bytes)
}

fn delta_of(path: &str, old: &str, new: &str, bytes: usize) -> String {
    let mut commands = [number(BASE), number(bytes)].concat();
    // Copy, from the beginning, 64 KiB: all that can be left out is.
    commands.extend(vec![0x80; bytes / BASE]);
    let there = binary("delta", commands.len(), &stored(&commands));
    let back = binary("literal", BASE, &run_of_zeros(BASE));
    format!("diff --git a/{path} b/{path}\nindex {old}..{new} 100644\nGIT binary patch\n{there}{back}")
}

/// A number as a delta has it: seven bits a byte, the lowest first.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(0x80 | (value & 0x7f) as u8);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// One part of a binary patch: how much it says it is, and bytes in base 85, 52 to a line.
fn binary(kind: &str, says: usize, packed: &[u8]) -> String {
    const DIGITS: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut text = format!("{kind} {says}\n");
    for line in packed.chunks(52) {
        let count = line.len() as u8;
        text.push(char::from(if count <= 26 { b'A' + count - 1 } else { b'a' + count - 27 }));
        for four in line.chunks(4) {
            let word = (0..4).fold(0_u32, |word, n| word << 8 | u32::from(four.get(n).copied().unwrap_or(0)));
            let digits = [52_200_625, 614_125, 7_225, 85, 1].map(|place| (word / place % 85) as usize);
            text.extend(digits.map(|digit| char::from(DIGITS[digit])));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The sum at the end of a zlib stream (RFC 1950).
fn adler(bytes: &[u8]) -> [u8; 4] {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    (b << 16 | a).to_be_bytes()
}

/// A zlib stream of bytes that are stored as they are (RFC 1951).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x78, 0x01];
    let blocks: Vec<&[u8]> = if bytes.is_empty() { vec![bytes] } else { bytes.chunks(0xffff).collect() };
    for (n, block) in blocks.iter().enumerate() {
        packed.push(u8::from(n + 1 == blocks.len()));
        let length = block.len() as u16;
        packed.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
        packed.extend(*block);
    }
    packed.extend(adler(bytes));
    packed
}

/// A zlib stream of zeros: one of them, then copies of the 258 bytes before, 13 bits each, by the codes of RFC 1951 that
/// are always there; then one by one.
fn run_of_zeros(bytes: usize) -> Vec<u8> {
    let code = |value: u16, length: u16| (0..length).rev().map(move |bit| value >> bit & 1);
    let mut bits: Vec<u16> = vec![1, 1, 0];
    let zero = || code(0x30, 8);
    bits.extend(zero());
    for _ in 0..(bytes - 1) / 258 {
        bits.extend(code(0b1100_0101, 8).chain(code(0, 5)));
    }
    (0..(bytes - 1) % 258).for_each(|_| bits.extend(zero()));
    bits.extend(code(0, 7));
    let byte = |bits: &[u16]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | *bit as u8);
    // Of zeros, the first sum stays 1 and the second counts them.
    let sum = ((bytes as u32 % 65_521) << 16 | 1).to_be_bytes();
    [&[0x78, 0x01][..], &bits.chunks(8).map(byte).collect::<Vec<u8>>(), &sum].concat()
}
