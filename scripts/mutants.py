"""Changes the code that must not be wrong, one small change at a time, and expects a test to notice each.

cargo-mutants says what the changes are. All of them are compiled at once into a copy of the workspace, each behind a
switch that is read when the program runs; so there is one build instead of one for each. A first run of every test
notes which switches it comes to, and for a change only the tests that come to it are run, until one fails.

Run by scripts/mutants, which brings the tools and PostgreSQL.
"""

import argparse
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from fnmatch import fnmatch

import tree_sitter
import tree_sitter_rust

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target/mutants"
TREE, BUILD = WORK / "tree", WORK / "build"
SWITCH, REACHED = WORK / "switch", WORK / "reached"
RESULTS, REFUSED, RECORDING = WORK / "results.jsonl", WORK / "refused.json", WORK / "recording.json"
ACCEPTED = ROOT / "scripts/mutants.accepted"

# What is changed, and the crates whose tests have to notice.
AREAS = {
    "verdicts": (
        ["crates/azolla-exchange-membrane/src/gates/**"],
        ["azolla-exchange-membrane", "azolla-control-plane"],
    ),
    "paths": (
        [f"crates/azolla-control-plane/src/repo/{name}.rs" for name in ("policy", "policy/*", "reference", "protected")],
        ["azolla-control-plane"],
    ),
    "gates": (
        [f"crates/azolla-control-plane/src/{name}" for name in ("workers/gate.rs", "workers/gate/**", "checks.rs")],
        ["azolla-control-plane"],
    ),
    "auth": (
        [f"crates/azolla/src/{name}.rs" for name in ("token", "http/access", "http/front", "http/replay")]
        + [f"crates/azolla/src/dashboard/{name}.rs" for name in ("session", "once", "login")],
        ["azolla"],
    ),
    "claims": (
        [f"crates/azolla-substrate/src/{name}.rs" for name in ("claim", "plan", "commit", "sqlite/mod", "sqlite/writer")]
        + [f"crates/azolla-substrate/src/postgres/{name}.rs" for name in ("mod", "flight", "fault")]
        + [f"crates/azolla-control-plane/src/{name}.rs" for name in ("lease", "context")],
        ["azolla-substrate", "azolla-control-plane", "azolla-testkit"],
    ),
}
PACKAGES = sorted({package for _, packages in AREAS.values() for package in packages})
# Long forms of what shorter tests show, and what reads the source itself.
LEFT_OUT = re.compile(r"^(bench|browser|canary|chaos|conformance|dependencies|disk|kills|licences|points|property|sim|tidy)\b")

SECONDS_MAX = 8
LINTS = ["warnings", "arithmetic_overflow", "unconditional_panic"]
SWITCHES = """
#[doc(hidden)]
#[allow(warnings)]
pub mod mutant {
    use std::{fs, io::Write, sync::{OnceLock, atomic::{AtomicBool, Ordering::Relaxed}}};
    static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    static SWITCH: OnceLock<Option<u32>> = OnceLock::new();
    /// Returns which of these changes is on, or 0; notes that they were come to while that is asked for.
    pub fn at(numbers: &[u32]) -> u32 {
        let read = || fs::read_to_string("SWITCH").map_or(Some(0), |text| text.trim().parse().ok());
        let Some(number) = *SWITCH.get_or_init(read) else {
            for number in numbers {
                if !SEEN[*number as usize].swap(true, Relaxed)
                    && let Ok(mut file) = fs::OpenOptions::new().append(true).open("REACHED")
                {
                    let _ = file.write_all(format!("{number}\\n").as_bytes());
                }
            }
            return 0;
        };
        if numbers.contains(&number) { number } else { 0 }
    }
    pub fn on(number: u32) -> bool {
        at(&[number]) != 0
    }
    pub fn flip(number: u32, value: bool) -> bool {
        value ^ on(number)
    }
}
""".replace("COUNT", "4096").replace('"SWITCH"', f'"{SWITCH}"').replace('"REACHED"', f'"{REACHED}"')
AT, ON, FLIP = (f"::azolla_protocol::mutant::{name}" for name in ("at", "on", "flip"))


class Mutant:
    def __init__(self, number, listed, text):
        self.number, self.genre = number, listed["genre"]
        self.file, self.name, self.replacement = listed["file"], listed["name"], listed["replacement"]
        self.area = next(area for area, (globs, _) in AREAS.items() if any(fnmatch(self.file, glob) for glob in globs))
        self.returns = (listed["function"] or {}).get("return_type", "")
        self.unviable = None
        lines = text.splitlines(keepends=True)
        self.start, self.end = (
            sum(len(line.encode()) for line in lines[: at["line"] - 1])
            + len(lines[at["line"] - 1][: at["column"] - 1].encode())
            for at in (listed["span"]["start"], listed["span"]["end"])
        )
        # Without line and column, which move.
        line = lines[listed["span"]["start"]["line"] - 1].strip()
        self.lasting = re.sub(r":\d+:\d+:", ":", self.name, count=1) + f" | {line}"
        self.key = hashlib.sha256(text.encode()).hexdigest()[:16] + " " + self.name


def list_mutants():
    """Asks cargo-mutants for the changes of all areas; a number is a change's place in this list."""
    files = [argument for globs, _ in AREAS.values() for glob in globs for argument in ("-f", glob)]
    command = ["cargo", "mutants", "--workspace", "--list", "--json", *files]
    listed = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return [Mutant(place + 1, one, (ROOT / one["file"]).read_text()) for place, one in enumerate(listed)]


# --- Switches


def marked(mutants, text):
    """Marks what was written for these changes, so that an error of the compiler can be laid to them."""
    return f"/*[{','.join(str(mutant.number) for mutant in mutants)}*/{text}/*]*/"


def chosen(mutants, alternative, original):
    """One of several texts, by the switch."""
    arms = "".join(f"{mutant.number} => {{ {marked([mutant], alternative(mutant))} }} " for mutant in mutants)
    numbers = ", ".join(str(mutant.number) for mutant in mutants)
    return marked(mutants, f"(match {AT}(&[{numbers}]) {{ {arms}_ => {{ {original} }} }})")


class Source:
    """A file with its changes behind switches."""

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
    place = {
        "FnValue": ("block",),
        "BinaryOperator": ("binary_expression", "compound_assignment_expr", "let_chain"),
        "UnaryOperator": ("unary_expression",),
        "MatchArm": ("match_arm",),
        "MatchArmGuard": ("match_arm",),
        "StructField": ("struct_expression",),
    }

    def __init__(self, text, mutants):
        self.bytes = text.encode()
        self.root = self.parser.parse(self.bytes).root_node
        self.changes, self.unswitchable = collections.defaultdict(list), []
        for mutant in mutants:
            # An arm and a field are listed with their comma.
            end = mutant.start if mutant.genre in ("MatchArm", "StructField") else mutant.end
            node = self.root.descendant_for_byte_range(mutant.start, end)
            while not (node.type in self.place[mutant.genre] and (mutant.genre != "FnValue" or is_body(node))):
                node = node.parent
            if self.switchable(node, mutant):
                self.changes[node.id].append(mutant)
            else:
                self.unswitchable.append(mutant)

    def switchable(self, node, mutant):
        """Tells whether it can be behind a switch, where the compiler's error would not be in its place."""
        if mutant.genre == "MatchArm":
            # Without an arm for everything else, a guard leaves the match open.
            others = [self.text(arm.child_by_field_name("pattern")) for arm in node.parent.named_children if arm.type == "match_arm"]
            return "_" in others
        if node.type == "let_chain":
            mutant.unviable = "there is no || beside a let"
        # Behind an `impl` there is one type.
        return not mutant.unviable and not (mutant.genre == "FnValue" and "impl " in mutant.returns)

    def text(self, node):
        return self.bytes[node.start_byte : node.end_byte].decode()

    def switched(self):
        return self.render(self.root)

    def render(self, node):
        mutants = self.changes.get(node.id, [])
        return getattr(self, node.type)(node, mutants) if mutants else self.plain(node)

    def plain(self, node, instead=None, at=None):
        """The text of a node, with `instead` for the child `at`."""
        parts, end = [], node.start_byte
        for child in node.children:
            parts.append(self.bytes[end : child.start_byte].decode())
            parts.append(instead if at is not None and child.id == at.id else self.render(child))
            end = child.end_byte
        return "".join(parts) + self.bytes[end : node.end_byte].decode()

    def block(self, node, mutants):
        arms = "".join(f"{one.number} => {marked([one], f'return {one.replacement}')}, " for one in mutants)
        numbers = ", ".join(str(mutant.number) for mutant in mutants)
        return "{ " + marked(mutants, f"match {AT}(&[{numbers}]) {{ {arms}_ => {{}} }}") + self.plain(node)[1:]

    def binary_expression(self, node, mutants):
        left, right = (self.render(node.child_by_field_name(side)) for side in ("left", "right"))
        operator = node.child_by_field_name("operator").type
        if operator in ("&&", "||") and len(mutants) == 1:
            # By De Morgan, so that no operand is written twice, which would double with each that is nested.
            number = mutants[0].number
            text = f"{FLIP}({number}, {FLIP}({number}, {left}) {operator} {FLIP}({number}, {right}))"
            return marked(mutants, text)
        if operator in ("==", "!=") and len(mutants) == 1:
            return marked(mutants, f"{FLIP}({mutants[0].number}, {left} {operator} {right})")
        return chosen(mutants, lambda one: f"{left} {one.replacement} {right}", f"{left} {operator} {right}")

    def compound_assignment_expr(self, node, mutants):
        return self.binary_expression(node, mutants)

    def unary_expression(self, node, mutants):
        operand = self.render(node.children[-1])
        if node.children[0].type == "!":
            return marked(mutants, f"{FLIP}({mutants[0].number}, !{operand})")
        return chosen(mutants, lambda _: operand, f"{node.children[0].type}{operand}")

    def match_arm(self, node, mutants):
        pattern = node.child_by_field_name("pattern")
        condition = pattern.child_by_field_name("condition")
        if condition is None:
            off = marked(mutants, f"!{ON}({mutants[0].number})")
            return self.plain(node, f"{self.text(pattern)} if {off}", pattern)
        guard = chosen(mutants, lambda one: one.replacement, self.render(condition))
        return self.plain(node, self.plain(pattern, guard, condition), pattern)

    def struct_expression(self, node, mutants):
        fields = node.child_by_field_name("body")

        def without(mutant):
            gone = self.root.descendant_for_byte_range(mutant.start, mutant.start)
            while gone.parent.id != fields.id:
                gone = gone.parent
            # Its comma goes too: two in a row, or one right behind the brace, is what it leaves.
            text = self.plain(fields, "/*-*/", gone)
            return self.plain(node, re.sub(r"/\*-\*/\s*,?", "", text), fields)

        return chosen(mutants, without, self.plain(node))


def is_body(node):
    return node.parent is not None and node.parent.type == "function_item"


# --- The build


def generate(mutants, alone=None):
    """Writes the copy of the workspace, files only where they change, and returns what cannot be behind a switch. With
    `alone`, that change is in it for good."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
    names = [name for name in names if name and (ROOT / name).is_file()]
    unswitchable = []
    for name in names:
        content = (ROOT / name).read_bytes()
        changes = [mutant for mutant in mutants if mutant.file == name]
        if alone and name == alone.file:
            content = content[: alone.start] + alone.replacement.encode() + content[alone.end :]
        elif changes:
            source = Source(content.decode(), changes)
            content = source.switched().encode()
            unswitchable += source.unswitchable
        elif name == "crates/azolla-protocol/src/lib.rs":
            content += SWITCHES.encode()
        elif name == "Cargo.toml":
            # What a lint would say of the switches is of no interest.
            lints = ["[workspace.lints.rust]", *(f'{lint} = "allow"' for lint in LINTS)]
            content = re.sub(rb"\[workspace\.lints\.(rust|clippy)\]\n(.+\n)+", b"", content)
            content += "\n".join(lints).encode()
        copy = TREE / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            copy.chmod((ROOT / name).stat().st_mode)
    for gone in {file for file in TREE.rglob("*") if file.is_file()} - {TREE / name for name in names}:
        gone.unlink()
    return unswitchable


def compile_tests():
    """Builds the tests. Returns the programs and no errors, or the compiler's errors."""
    command = ["cargo", "test", "--locked", "--no-run", "--message-format=json"]
    command += [argument for package in PACKAGES for argument in ("-p", package)]
    environment = os.environ | {"CARGO_TARGET_DIR": str(BUILD), "CARGO_PROFILE_DEV_DEBUG": "none"}
    done = subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    programs, errors = [], []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            errors.append(message["message"])
        elif message["reason"] == "compiler-artifact" and message["executable"]:
            programs.append(message)
    if done.returncode and not errors:
        sys.exit(done.stderr)
    return programs, errors


def culprits(error):
    """The numbers of the changes that an error is laid to: those of the innermost mark around it."""
    for span in error["spans"]:
        path = TREE / span["file_name"]
        if not span["is_primary"] or not path.is_relative_to(TREE):
            continue
        open_marks = []
        for mark in re.finditer(rb"/\*(?:\[([0-9,]+)|\])\*/", path.read_bytes()):
            if mark.start() > span["byte_start"]:
                break
            open_marks = [*open_marks, mark[1]] if mark[1] else open_marks[:-1]
        if open_marks:
            return [int(number) for number in open_marks[-1].split(b",")]
    return []


def build(mutants):
    """Builds all changes that can be behind a switch. Returns the programs and the other changes."""
    refused = json.loads(REFUSED.read_text()) if REFUSED.exists() else {}
    while True:
        others = generate([mutant for mutant in mutants if mutant.key not in refused])
        programs, errors = compile_tests()
        if not errors:
            break
        codes = {number: (error["code"] or {}).get("code") for error in errors for number in culprits(error)}
        if not codes:
            sys.exit("\n".join(error["rendered"] for error in errors))
        refused |= {mutant.key: codes[mutant.number] for mutant in mutants if mutant.number in codes}
        say(f"build: {len(refused)} are refused by the compiler")
        REFUSED.write_text(json.dumps(refused, indent=1))
    for mutant in mutants:
        if mutant.key in refused:
            others.append(mutant)
            # A value or an operator that its type does not have: no switch is to blame.
            if mutant.genre == "FnValue" or refused[mutant.key] in ("E0277", "E0369"):
                mutant.unviable = f"the compiler refuses it ({refused[mutant.key]})"
    return programs, others


# --- The tests


class Test:
    def __init__(self, program, name, package):
        self.program, self.name, self.package = program, name, package
        self.seconds, self.reached = 0.0, []
        self.process, self.until = None, 0.0

    def start(self):
        """Starts it alone, as nextest does."""
        folder = TREE / "crates" / self.package
        environment = os.environ | {"CARGO_MANIFEST_DIR": str(folder), "INSTA_WORKSPACE_ROOT": str(TREE), "INSTA_UPDATE": "no"}
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.until = time.monotonic() + 20 + 5 * self.seconds
        command = [self.program, "--exact", self.name]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **nothing)

    def outcome(self):
        """Returns nothing while it runs, then how it ended."""
        if self.process.poll() is None:
            return "caught by time" if time.monotonic() > self.until else None
        return "caught" if self.process.returncode else "passed"


def run(tests, jobs):
    """Runs tests in their order, some at a time. Returns the first that does not pass, and why."""
    waiting, running = collections.deque(tests), []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(waiting.popleft())
                running[-1].start()
            time.sleep(0.003)
            for test, outcome in [(test, test.outcome()) for test in running]:
                if outcome == "passed":
                    running.remove(test)
                elif outcome:
                    return test, outcome
        return None, "passed"
    finally:
        end_children()


def end_children():
    """Ends what a test has left behind: all of it falls to this process."""
    while children := pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in children:
            os.kill(int(child), signal.SIGKILL)
            os.waitpid(int(child), 0)


def record(programs, packages):
    """Runs every test once and notes what it comes to. What was recorded of the same programs is taken as it is."""
    known = json.loads(RECORDING.read_text()) if RECORDING.exists() else {}
    bins = sorted(os.stat(one["executable"]).st_mtime_ns for one in programs if "bin" in one["target"]["kind"])
    tests, broken = [], []
    for program in programs:
        package = pathlib.Path(program["manifest_path"]).parent.name
        if not program["profile"]["test"] or package not in packages or program["target"]["name"] == "claim_model":
            continue
        path = program["executable"]
        version = f"{os.stat(path).st_mtime_ns} {bins}"
        if known.get(path, {}).get("version") != version:
            known[path] = {"version": version, "tests": {}}
        listed = subprocess.run([path, "--list", "--format", "terse"], check=True, stdout=subprocess.PIPE, text=True).stdout
        names = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
        say(f"record: {len(names)} tests of {package}, {program['target']['name']}")
        for name in names:
            if LEFT_OUT.match(name):
                continue
            test, noted = Test(path, name, package), known[path]["tests"]
            if name not in noted:
                SWITCH.write_text("record")
                REACHED.write_text("")
                begin, test.seconds = time.monotonic(), SECONDS_MAX
                passed = run([test], 1)[0] is None
                reached = sorted({int(number) for number in REACHED.read_text().split()})
                noted[name] = [round(time.monotonic() - begin, 3), reached if passed else None]
            test.seconds, test.reached = noted[name]
            (tests if test.reached is not None else broken).append(test)
        RECORDING.write_text(json.dumps(known))
    for test in broken:
        say(f"record: {test.package} {test.name} fails without a change and is left out")
    return [test for test in tests if test.reached and test.seconds <= SECONDS_MAX]


def judge(tests, kills, jobs, number=0):
    """Runs tests until one fails: what is quick and has noticed others first. With the number of a switch, one that fails
    without the change too has noticed nothing, but a busy machine or its own chance."""
    left = sorted(tests, key=lambda test: test.seconds / (1 + kills[test.name]))
    while True:
        SWITCH.write_text(str(number))
        failed, outcome = run(left, jobs)
        if not failed:
            return "missed", f"{len(left)} tests come to it" if left else "no test comes to it"
        SWITCH.write_text("0")
        if not number or run([failed], 1)[0] is None:
            kills[failed.name] += 1
            return outcome, f"{failed.package} {failed.name}"
        say(f"{failed.package} {failed.name} failed without a change and is not asked about {number}")
        left.remove(failed)


def judge_alone(mutant, mutants, tests, kills, jobs):
    """Judges a change that cannot be behind a switch, by a build of its own."""
    if mutant.unviable:
        return "unviable", mutant.unviable
    generate([one for one in mutants if one.file != mutant.file], alone=mutant)
    _, errors = compile_tests()
    if errors:
        return "unviable", errors[0]["message"]
    numbers = {one.number for one in mutants if one.file == mutant.file}
    return judge([test for test in tests if numbers & set(test.reached)], kills, jobs)


# --- The run


class Log:
    """What is decided: a change of a file as it is now is not tried again, unless it was missed."""

    def __init__(self):
        lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
        self.verdicts = {one["key"]: one["verdict"] for one in map(json.loads, lines)}
        lines = ACCEPTED.read_text().splitlines() if ACCEPTED.exists() else []
        self.accepted = {line for line in lines if line and not line.startswith("#")}

    def is_open(self, mutant):
        return self.verdicts.get(mutant.key, "missed") == "missed"

    def note(self, mutant, judge, *arguments):
        begin = time.monotonic()
        verdict, by = judge(*arguments)
        if mutant.lasting in self.accepted:
            if verdict != "missed":
                say(f"{verdict}, so it is no equivalent: {mutant.lasting}")
            verdict = "equivalent"
        self.verdicts[mutant.key] = verdict
        entry = {"key": mutant.key, "verdict": verdict, "by": by, "seconds": round(time.monotonic() - begin, 1)}
        with RESULTS.open("a") as file:
            print(json.dumps(entry), file=file)
        if verdict == "missed":
            say(f"missed: {mutant.name} ({by})")

    def summarise(self, mutants):
        for area in dict.fromkeys(mutant.area for mutant in mutants):
            counts = collections.Counter(self.verdicts[mutant.key] for mutant in mutants if mutant.area == area)
            say(f"{area}: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
        return 1 if any(self.verdicts[mutant.key] == "missed" for mutant in mutants) else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("areas", nargs="*", metavar="AREA", help=f"{', '.join(AREAS)}; otherwise all")
    arguments.add_argument("--jobs", type=int, default=1, help="how many tests run at a time; 1 if not given")
    areas, jobs = vars(arguments.parse_args()).values()
    areas = areas or list(AREAS)
    # Tests send it to programs; whoever started this in the background had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What tests leave behind becomes a child of this process (PR_SET_CHILD_SUBREAPER).
    ctypes.CDLL(None).prctl(36, 1)
    WORK.mkdir(parents=True, exist_ok=True)
    mutants, log = list_mutants(), Log()
    programs, others = build(mutants)
    say(f"build: {len(mutants)} changes, {len(others)} of them not behind a switch")
    tests, kills = {}, collections.Counter()
    for area in areas:
        wanted = [mutant for mutant in mutants if mutant.area == area and log.is_open(mutant)]
        if not wanted:
            continue
        tests[area] = record(programs, AREAS[area][1])
        say(f"{area}: {len(wanted)} to try")
        for mutant in wanted:
            if mutant not in others:
                reached = [test for test in tests[area] if mutant.number in test.reached]
                log.note(mutant, judge, reached, kills, jobs, mutant.number)
    # These take the place of the programs that were recorded, so they come last.
    for mutant in others:
        if mutant.area in areas and log.is_open(mutant):
            log.note(mutant, judge_alone, mutant, mutants, tests[mutant.area], kills, jobs)
    return log.summarise([mutant for mutant in mutants if mutant.area in areas])


def say(text):
    print(text, flush=True)


sys.exit(main())
