// Every act that a page offers, taken in the browser and looked up in the store by the command line.
//   node actions.mjs script       as a browser comes
//   node actions.mjs no-script    with JavaScript turned off: reading and every act work all the same

import assert from "node:assert/strict";
import { act, candidate, everyPage, formOf, made, json, objective, ok, offers, operator, pageOf, scenario, taken, text, url, watch } from "./lib.mjs";

const javaScriptEnabled = process.argv[2] === "script";

await scenario(`actions-${process.argv[2]}`, async ({ browser, step }) => {
  const { context, page } = await operator(browser, { javaScriptEnabled });
  const watched = await watch(context);
  const notes = (about = {}) => ({ azolla: made.notes, ...about });
  const open = (id) => page.goto(pageOf(id));
  const about = (id) => ({ azolla: made.azolla, objective: id });
  const status = (id) => objective(id).status;
  /** The page says in words what was done. */
  const says = async (words) => assert.match(await text(page), words);

  const offered = new Set();
  const note = async () => {
    const acts = await page.locator('form[action="/act"] input[name=act]').evaluateAll((all) => all.map((one) => one.value));
    acts.forEach((name) => offered.add(name));
  };

  await step("every page can be read", async () => {
    const objectives = Object.values(made).filter((id) => id.startsWith("obj-")).map(pageOf);
    for (const address of new Set([...await everyPage(page), ...objectives])) {
      await page.goto(address);
      await note();
      assert.equal(await page.locator("h1").count(), 1, `one heading: ${address}`);
      assert.ok((await page.locator("main").innerText()).length > 20, `something to read: ${address}`);
      watched.nothing(address);
    }
  });

  // Notes and candidates.

  await step("capture keeps a note", async () => {
    await page.goto(`${url}/`);
    const words = `The sums could be printed in columns <& "quoted" 'text'>\nsecond line ${process.argv[2]}`;
    await act(page, "capture", {}, { text: words });
    const kept = json(["triage", "captures"]).map((one) => one.capture.raw_content.replaceAll("\r\n", "\n"));
    assert.ok(kept.includes(words), JSON.stringify(kept));
    await says(/captured|note|kept/i);
  });

  await step("promote makes an objective, in words of its own", async () => {
    await page.goto(`${url}/notes`);
    const found = candidate("README how to run");
    const typed = { title: "Tell in the README how to run it", criteria: "It names check.sh.", urgency: "1", importance: "0", target: made.azolla };
    await act(page, "promote", notes({ candidate: found.candidate }), typed);
    const { resolution } = candidate("README how to run");
    assert.equal(resolution.outcome, "PROMOTED");
    const all = json(["objective", "list", "--all", "--azolla", made.azolla]);
    const promoted = all.find((one) => one.title === typed.title);
    assert.ok(promoted, "there is an objective of that title");
    assert.deepEqual([promoted.status, promoted.acceptance_criteria, promoted.urgency, promoted.importance], ["NEW", typed.criteria, 1, 0]);
  });

  for (const [name, title, outcome] of [["discard", "ask Kim", "DISCARDED"], ["defer", "negative sums", "DEFERRED"]]) {
    await step(`${name} settles a candidate`, async () => {
      await page.goto(`${url}/notes`);
      const found = candidate(title.replace("ask", "Ask"));
      await act(page, name, notes({ candidate: found.candidate }));
      assert.equal(candidate(title.replace("ask", "Ask")).resolution.outcome, outcome);
    });
  }

  await step("undo takes a discard back", async () => {
    await page.goto(`${url}/notes`);
    const found = candidate("logo");
    if (!(await offers(page, "undo", notes({ candidate: found.candidate })))) {
      await page.getByRole("link", { name: /settled|all|discarded/i }).first().click();
    }
    await act(page, "undo", notes({ candidate: found.candidate }));
    assert.equal(candidate("logo").resolution, null);
  });

  await step("duplicate names the objective that a candidate repeats", async () => {
    await page.goto(`${url}/notes`);
    const found = candidate("Sort the sums");
    await act(page, "duplicate", notes({ candidate: found.candidate }), { objective: made.new });
    const { resolution } = candidate("Sort the sums");
    assert.deepEqual([resolution.outcome, resolution.objective_id ?? resolution.duplicate_of], ["DUPLICATE", made.new]);
  });

  await step("a note that was given up is tried again", async () => {
    const held = () => json(["triage", "captures"]).filter((one) => one.held).length;
    assert.equal(held(), 1, "there is one");
    await page.goto(`${url}/notes`);
    await act(page, "triage_retry", notes());
    assert.equal(held(), 0);
  });

  await step("an orientation is asked for", async () => {
    await page.goto(`${url}/manifests`);
    const stored = () => ok(["export", "--azolla", made.notes]).split("\n").map((line) => JSON.parse(line));
    const asked = () => stored().filter((one) => one.kind === "event" && JSON.stringify(one).includes('"MANIFEST_REQUESTED"')).length;
    const before = asked();
    await act(page, "manifest", notes());
    assert.equal(asked(), before + 1, "one more event");
  });

  // Objectives.

  await step("new describes a piece of work", async () => {
    await page.goto(`${url}/objectives`);
    if (!(await offers(page, "new"))) await page.goto(`${url}/objectives/new`);
    const form = formOf(page, "new");
    const typed = { title: "Round to five cents", criteria: "1 ct is 0 ct\n3 ct are 5 ct" };
    if ((await form.locator("[name=azolla]:not([type=hidden])").count()) > 0) typed.azolla = made.azolla;
    await act(page, "new", {}, typed);
    const found = json(["objective", "list", "--azolla", made.azolla]).find((one) => one.title === typed.title);
    assert.ok(found, "it is in the store");
    assert.equal(found.acceptance_criteria.replaceAll("\r\n", "\n"), typed.criteria);
  });

  await step("edit changes what has to hold", async () => {
    await open(made.new);
    await act(page, "edit", about(made.new), { title: "Name the currency, in short", criteria: "The output says ct, once.", urgency: "2", importance: "3" });
    const found = objective(made.new);
    assert.deepEqual([found.title, found.acceptance_criteria, found.urgency, found.importance],
      ["Name the currency, in short", "The output says ct, once.", 2, 3]);
  });

  await step("approve lets it run, withdraw takes that back", async () => {
    await open(made.new);
    await act(page, "approve", about(made.new));
    assert.equal(status(made.new), "TODO");
    await open(made.new);
    assert.ok(!(await offers(page, "approve", about(made.new))), "what was done is not offered again");
    await act(page, "withdraw", about(made.new));
    assert.equal(status(made.new), "NEW");
  });

  await step("block holds it with a reason, unblock lets it go on", async () => {
    ok(["objective", "approve", made.new]);
    await open(made.new);
    const form = formOf(page, "block", about(made.new));
    const kinds = await form.locator("[name=kind] option").evaluateAll((all) => all.map((one) => one.value));
    await act(page, "block", about(made.new), { reason: "Kim is away", ...(kinds.length ? { kind: kinds[0] } : {}) });
    assert.equal(status(made.new), "BLOCKED");
    assert.ok(JSON.stringify(objective(made.new)).includes("Kim is away"));
    await open(made.new);
    await act(page, "unblock", about(made.new));
    assert.notEqual(status(made.new), "BLOCKED");
  });

  await step("snooze moves the reminder", async () => {
    await page.goto(`${url}/`);
    if (!(await offers(page, "snooze", about(made.overdue)))) await open(made.overdue);
    const overdue = () => json([]).azollas.find((one) => one.azolla_id === made.notes).notes.overdue.map((one) => one.objective_id);
    assert.ok(overdue().includes(made.overdue));
    await act(page, "snooze", about(made.overdue));
    assert.ok(!overdue().includes(made.overdue), JSON.stringify(overdue()));
  });

  await step("reject sends it back with the feedback", async () => {
    await open(made.second);
    await act(page, "reject", about(made.second), { feedback: "Say it on stderr,\nnot on stdout." });
    assert.equal(status(made.second), "TODO");
    assert.ok(ok(["export", "--azolla", made.azolla]).includes("Say it on stderr"));
  });

  await step("confirm is final", async () => {
    await open(made.done);
    await act(page, "confirm", about(made.done));
    assert.equal(objective(made.done).metadata.completion.confirmed_by.length > 0, true);
    await open(made.done);
    assert.ok(!(await offers(page, "reject", about(made.done))), "nothing is left to reject");
  });

  await step("retry runs what failed again", async () => {
    await open(made.failed);
    await act(page, "retry", about(made.failed));
    assert.equal(status(made.failed), "TODO");
  });

  await step("archive puts it away, unarchive brings it back", async () => {
    await open(made.blank);
    await act(page, "archive", about(made.blank));
    assert.ok(!json(["objective", "list", "--azolla", made.azolla]).some((one) => one.objective_id === made.blank));
    await open(made.blank);
    await act(page, "unarchive", about(made.blank));
    assert.ok(json(["objective", "list", "--azolla", made.azolla]).some((one) => one.objective_id === made.blank));
  });

  await step("what was seen is seen on the command line too", async () => {
    ok([]);
    ok(["objective", "archive", made.blank]);
    await page.goto(`${url}/`);
    await says(/since you last looked/i);
    await note();
    await act(page, "seen");
    assert.ok(!/since you last looked/i.test(await text(page)), "it is not told again");
    assert.ok(!ok([]).includes("Since you last looked"));
  });

  await step("every act that a page offers was taken", async () => {
    assert.deepEqual([...offered].filter((name) => !taken.has(name)).sort(), []);
    assert.ok(offered.size > 15, [...offered].join(", "));
  });

  await step("nothing happened that no page may do, and every invariant holds", async () => {
    watched.nothing("the whole scenario");
    assert.deepEqual(json(["verify"]), []);
  });
});
