// Makes a home as an operator has one after two weeks: a repository with checks, a worker, objectives in every state, notes,
// candidates, an orientation, something overdue. Everything is done by the program itself. Prints what was made, as JSON.
//   node home.mjs office      what the scenarios and scripts/screens work with
//   node home.mjs hostile     the same kinds of things, every text of which attacks the page

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { azolla, candidate, env, ok, serve } from "./lib.mjs";
import { payloads } from "./payloads.mjs";

const place = env("AZOLLA_PLACE");
const at = (name) => path.join(place, name);

function git(repository, words) {
  const own = ["-c", "user.name=P", "-c", "user.email=p@localhost.invalid"];
  const quiet = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const done = spawnSync("git", [...own, ...words], { cwd: repository, env: quiet, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`git ${words.join(" ")}: ${done.stderr}`);
}

/** Makes a repository with one commit on `main`. */
function repository(name, files) {
  const root = at(name);
  mkdirSync(root);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  git(root, ["init", "--quiet", "--initial-branch=main"]);
  git(root, ["add", "--all"]);
  git(root, ["commit", "--quiet", "--message=x"]);
  return root;
}

/** Sets up a repository whose work is done by a script of the shell. */
function setUp(root, worker) {
  writeFileSync(at("worker.sh"), worker);
  ok(["init", "--provider-command", `sh ${at("worker.sh")}`], { cwd: root });
  if (spawnSync("test", ["-e", path.join(root, ".azolla.toml")]).status === 0) ok(["trust", "--yes"], { cwd: root });
}

function configure(words) {
  const file = path.join(env("AZOLLA_HOME"), "config.toml");
  writeFileSync(file, `${readFileSync(file, "utf8")}\n${words}\n`);
}

/** Takes a note that is answered with this when it is triaged, and is therefore given up. */
function givenUp(said, note) {
  const file = path.join(env("AZOLLA_HOME"), "config.toml");
  const before = readFileSync(file, "utf8");
  writeFileSync(at("said.txt"), said);
  writeFileSync(file, before.replace("[azolla.az-taskmgmt]\n", '[azolla.az-taskmgmt]\ntriage_provider = "prose"\n'));
  configure(`[provider.prose]\nkind = "recorded"\nanswers = ${JSON.stringify(at("said.txt"))}`);
  ok(["capture", note]);
  azolla(["triage", "--now"]);
  writeFileSync(file, before);
}

function objective(title, criteria, more = []) {
  return ok(["objective", "new", title, "--criteria", criteria, "--azolla", "az-shares", ...more]);
}

/** Makes an objective and lets it run to its end, which may be a bad one. */
function ran(title, criteria, more = []) {
  const id = objective(title, criteria, more);
  ok(["objective", "approve", id]);
  azolla(["run", "--until-idle", "--azolla", "az-shares"]);
  return id;
}

const SHARE = `#!/bin/sh
# share.sh CENTS PEOPLE: prints what each of them pays, in cents.
cents=$1
people=$2

if [ "$people" -eq 0 ]; then
    echo "nobody is there to pay" >&2
    exit 1
fi

echo $(($1 / $2))
`;

const CHECK = `#!/bin/sh
# Every sum that somebody complained about.
is=$(sh share.sh 500 3)
[ "$is" = 167 ] || { echo "500 cents among 3 people: $is each, not 167"; exit 1; }
echo "1 sum is right"
`;

const CHECKS = `checks = [{ name = "shares", command = ["sh", "check.sh"] }]\n`;

/** What is asked for is in the prompt; the worker does it, or something else. */
const WORKER = `prompt=$(cat)
asked() { case $prompt in *"$1"*) return 0 ;; esac; return 1; }
if asked "Wait for a word"; then
    while ! [ -e ${at("go")} ]; do sleep 0.05; done
fi
if asked "Break the sums"; then
    sed -i 's|/ .2|/ ($2 + 1)|' share.sh
else
    sed -i 's|.1 / .2|($1 + $2 / 2) / $2|' share.sh
fi
if asked "Say it in the README"; then
    mkdir -p .github/workflows
    printf 'on: push\\njobs:\\n  check:\\n    runs-on: ubuntu-latest\\n    steps:\\n      - run: sh check.sh\\n' > .github/workflows/check.yml
    printf '# Shares\\n\\n\`share.sh CENTS PEOPLE\` prints what each pays, rounded half up.\\n\\nA long line: ${"word ".repeat(60)}\\n' > README.md
    printf '\\000\\001\\002' > logo.bin
    mv notes.txt history.txt
fi
echo "The quotient was cut off. Half of the divisor is added before the division."
`;

/** Two weeks of an operator's life. */
function office() {
  const shares = repository("shares", {
    "share.sh": SHARE, "check.sh": CHECK, ".azolla.toml": CHECKS, "notes.txt": "one\ntwo\nthree\nfour\nfive\n",
  });
  setUp(shares, WORKER);
  const site = repository("site", { "index.html": "<h1>Shares</h1>\n" });
  ok(["init"], { cwd: site });
  configure(`[limits]\nattempts_max = 1\n[attention]\nreview_limit = 9\n[sandbox]\nread = [${JSON.stringify(place)}]`);
  const made = { azolla: "az-shares", notes: "az-taskmgmt" };

  made.confirmed = ran("Round a share half up", "500 among 3 is 167\nall sums of check.sh are right");
  ok(["objective", "confirm", made.confirmed]);
  made.failed = ran("Break the sums", "The check tells that they are broken.");
  made.rejected = ran("Round in the shell", "No other program is needed.");
  ok(["objective", "reject", made.rejected, "--feedback", "Please keep the names cents and people in the sum."]);
  azolla(["run", "--until-idle", "--azolla", "az-shares"]);
  made.done = ran("Say it in the README, and check it in CI", "The README names the rounding.\nCI runs check.sh.");
  made.second = ran("Round a share of nobody", "0 people are an error.");
  made.new = objective("Name the currency", "The output says ct.", ["--importance", "1"]);
  made.blank = objective("Count the people by name", "share.sh takes names.", ["--urgency", "4"]);
  made.todo = objective("Wait for a word", "The word was said.");
  made.blocked = objective("Translate the messages", "They are in French too.");
  ok(["objective", "approve", made.blocked]);
  ok(["objective", "block", made.blocked, "--reason", "Kim has to say which language comes first"]);
  made.archived = objective("Rewrite it in another shell", "It runs in fish.");
  ok(["objective", "archive", made.archived]);
  made.overdue = objective("Renew the certificate", "It is valid for a year.", ["--urgency", "0"]);

  ok(["capture", "- [ ] say in the README how to run check.sh\n- ask Kim by Friday whether shares of 0 people are an error"]);
  ok(["capture", "share.sh: negative sums are not refused. It should say so and end with 1."]);
  ok(["capture", "- sort the sums by size\n- drop the old notes\n- draw a logo", "--label", "meeting"]);
  ok(["triage", "--now"]);
  ok(["triage", "discard", candidate("logo").candidate]);
  ok(["triage", "defer", candidate("old notes").candidate]);
  ok(["manifest"]);
  azolla(["run", "--until-idle", "--azolla", "az-taskmgmt"]);
  givenUp("I cannot make sense of this.", "qwertz uiop, asdf");
  ok(["capture", "the output could say who paid already", "--label", "phone"]);
  return made;
}

/** Another machine whose words are attacks too, asked for an orientation. */
async function elsewhere(all) {
  const home = at("elsewhere");
  const far = repository("far", { "a.txt": "one\n" });
  ok(["init"], { cwd: far, home });
  for (const payload of all.slice(0, 8)) {
    ok(["objective", "new", payload, "--criteria", payload, "--urgency", "0"], { home });
  }
  const token = ok(["peer", "add", "az-taskmgmt"], { home });
  const server = await serve(home);
  try {
    ok(["peer", "add", "az-far", "--url", server.url], { input: token });
    ok(["manifest"]);
    azolla(["run", "--until-idle", "--azolla", "az-taskmgmt"]);
  } finally {
    await server.end();
  }
}

/** A home whose every text is an attack. */
async function hostile() {
  const all = payloads.map((payload) => payload.replaceAll("\n", " "));
  writeFileSync(at("payloads.txt"), `${all.join("\n")}\n`);
  writeFileSync(at("long.txt"), payloads.join("\n"));
  const shares = repository("shares", { "a.txt": "one\n", ".azolla.toml":
    `checks = [{ name = "said", command = ["sh", "-c", "cat payloads.txt; cat payloads.txt >&2; test ! -e fail"] }]\n` });
  // Names of files, lines of the change, notes and output of the worker; nothing of it may become markup.
  setUp(shares, `prompt=$(cat)
cat ${at("payloads.txt")} > payloads.txt
cat ${at("payloads.txt")} >> a.txt
n=0
while IFS= read -r line; do
    n=$((n + 1))
    name=$(printf %s "$line" | tr -d '/:\\\\' | cut -c1-60)
    [ -z "$name" ] || printf '%s\\n' "$line" > "p$n $name" || :
done < ${at("payloads.txt")}
case $prompt in *"It fails"*) touch fail ;; esac
cat ${at("payloads.txt")}
`);
  configure(`[limits]\nattempts_max = 1\n[attention]\nreview_limit = 9\n[sandbox]\nread = [${JSON.stringify(place)}]`);
  const made = { azolla: "az-shares", objectives: all.map((payload, n) => {
    const id = objective(payload, payloads[n]);
    if (n % 2) ok(["objective", "block", id, "--reason", payload]);
    return id;
  }) };
  made.done = ran(`Done ${all[0]}`, payloads.join("\n"));
  made.rejected = ran(`Twice ${all[1]}`, payloads.join("\n"));
  ok(["objective", "reject", made.rejected, "--feedback", payloads.join("\n")]);
  azolla(["run", "--until-idle", "--azolla", "az-shares"]);
  made.failed = ran(`It fails ${all[2]}`, all[3]);
  for (let n = 0; n < payloads.length; n += 8) {
    ok(["capture", all.slice(n, n + 8).map((payload) => `- ${payload}`).join("\n"), "--label", all[n].slice(0, 60)]);
  }
  ok(["triage", "--now"]);
  await elsewhere(all);
  givenUp(payloads.join("\n"), payloads.join("\n"));
  for (const payload of payloads.slice(0, 5)) ok(["capture", payload, "--label", "later"]);
  return made;
}

const kinds = { office, hostile };
const made = await kinds[process.argv[2]]?.();
if (!made) throw new Error(`there is no home ${process.argv[2]}; there are ${Object.keys(kinds).join(", ")}`);
writeFileSync(at("made.json"), JSON.stringify(made));
chmodSync(at("made.json"), 0o600);
