// What goes wrong between a person and a page: a page that is out of date, two clicks, two windows, a session that ends while
// somebody types, the way back. Nothing is done twice, nothing is lost, and a refusal says what the command line says.

import assert from "node:assert/strict";
import { act, candidate, enterToken, fill, formOf, made, json, objective, ok, operator, pageOf, refusal, reveal, scenario, send, text, url, watch } from "./lib.mjs";

const about = (id) => ({ azolla: made.azolla, objective: id });

await scenario("odds", async ({ browser, step }) => {
  const { context, page } = await operator(browser);
  const watched = await watch(context);
  // Without a script a page stays as it was, and can be out of date.
  const { page: stale } = await operator(browser, { javaScriptEnabled: false });
  const open = (at, id) => at.goto(pageOf(id));
  const flat = (words) => words.replace(/\s+/g, " ");

  /** Opens a page, lets something else happen, then acts: refused, in the words of the command. */
  const outOfDate = async (name, id, meanwhile, command, typed = {}) => {
    await open(stale, id);
    const form = formOf(stale, name, about(id));
    assert.ok((await form.count()) > 0, `${name} was offered`);
    for (const words of meanwhile) ok(words);
    const told = refusal(command);
    const answer = await act(stale, name, about(id), typed);
    assert.ok(answer >= 400 && answer < 500, `refused: ${answer}`);
    const shown = flat(await text(stale));
    assert.ok(shown.includes(flat(told.fact)), `${told.fact}\n${shown}`);
    if (told.hint) assert.ok(shown.includes(flat(told.hint)), `${told.hint}\n${shown}`);
    for (const value of Object.values(typed)) assert.ok(await keeps(stale, value), `what was typed is lost: ${value}`);
  };

  await step("approve, of what was archived meanwhile", () =>
    outOfDate("approve", made.blank, [["objective", "archive", made.blank]], ["objective", "approve", made.blank]));

  await step("confirm, of what was rejected meanwhile", () =>
    outOfDate("confirm", made.second, [["objective", "reject", made.second, "--feedback", "no"]], ["objective", "confirm", made.second]));

  await step("reject, of what was confirmed meanwhile: the feedback is not lost", () =>
    outOfDate("reject", made.done, [["objective", "confirm", made.done]], ["objective", "reject", made.done, "--feedback", "x"],
      { feedback: "Two words that took\na while to write." }));

  await step("discard, of what was promoted meanwhile", async () => {
    await stale.goto(`${url}/notes`);
    const found = candidate("negative sums");
    ok(["triage", "promote", found.candidate]);
    const told = refusal(["triage", "discard", found.candidate]);
    await act(stale, "discard", { azolla: made.notes, candidate: found.candidate });
    assert.ok(flat(await text(stale)).includes(flat(told.fact)), told.fact);
  });

  await step("an objective without a title is refused, and what has to hold is kept", async () => {
    await open(stale, made.new);
    const typed = { title: "   ", criteria: "Something that was thought about for long." };
    await act(stale, "edit", about(made.new), typed);
    assert.ok((await text(stale)).includes("the title is empty"));
    assert.ok(await keeps(stale, typed.criteria), "the criteria are lost");
    assert.equal(objective(made.new).title, "Name the currency");
  });

  await step("a double click acts once, with a script and without", async () => {
    const count = (words) => json(["triage", "captures"]).filter((one) => one.capture.raw_content === words).length;
    for (const [n, at] of [page, stale].entries()) {
      const words = `clicked twice ${n}`;
      await at.goto(`${url}/`);
      const form = formOf(at, "capture");
      await reveal(form);
      await fill(form, { text: words });
      const landed = at.waitForEvent("load");
      await form.locator("button:not([type=button])").first().dblclick();
      await landed;
      assert.equal(count(words), 1, words);
    }
  });

  await step("the way back leads to a fresh form, and the old one sent again acts once", async () => {
    const words = "sent again after the way back";
    const count = () => json(["triage", "captures"]).filter((one) => one.capture.raw_content === words).length;
    await stale.goto(`${url}/`);
    const form = formOf(stale, "capture");
    await reveal(form);
    await fill(form, { text: words });
    const fields = await form.evaluate((node) => Object.fromEntries(new FormData(node)));
    await send(stale, form);
    await stale.goBack();
    assert.notEqual(await formOf(stale, "capture").locator("[name=once]").inputValue(), fields.once);
    const again = await stale.context().request.post(`${url}/act`, { form: fields, headers: { origin: url } });
    assert.ok(again.ok(), `answered like the first: ${again.status()}`);
    assert.equal(count(), 1);
  });

  await step("the way back and forth leads through pages, not through acts", async () => {
    await page.goto(`${url}/`);
    await page.goto(`${url}/objectives`);
    await open(page, made.new);
    await act(page, "approve", about(made.new));
    assert.equal(objective(made.new).status, "TODO");
    await page.goBack();
    await page.goForward();
    await page.reload();
    assert.equal(objective(made.new).status, "TODO");
    assert.ok(!(await text(page)).includes("Confirm Form Resubmission"));
  });

  await step("two windows: what one does, the other is told", async () => {
    const other = await context.newPage();
    await open(page, made.overdue);
    await open(other, made.overdue);
    await act(page, "approve", about(made.overdue));
    await formOf(other, "withdraw", about(made.overdue)).waitFor({ state: "attached" });
    await act(other, "withdraw", about(made.overdue));
    await formOf(page, "approve", about(made.overdue)).waitFor({ state: "attached" });
    assert.equal(objective(made.overdue).status, "NEW");
    await other.close();
  });

  await step("a session that ends in the middle of a sentence loses none of it", async () => {
    for (const javaScriptEnabled of [true, false]) {
      const mine = await operator(browser, { javaScriptEnabled });
      const words = `A long thought, and the session is over; script ${javaScriptEnabled}`;
      await mine.page.goto(`${url}/`);
      const form = formOf(mine.page, "capture");
      await reveal(form);
      await fill(form, { text: words });
      await mine.context.clearCookies();
      await form.locator("button:not([type=button])").first().click();
      await mine.page.locator("input[name=token]").waitFor({ state: "attached" });
      assert.ok(await keeps(mine.page, words), `lost: ${await text(mine.page)}`);
      await enterToken(mine.page);
      const kept = () => json(["triage", "captures"]).some((one) => one.capture.raw_content.trim() === words);
      if (!kept()) {
        assert.ok(await keeps(mine.page, words), `lost after the token: ${await text(mine.page)}`);
        await send(mine.page, mine.page.locator('main form[action="/act"]:has(input[name=act][value=capture])'));
      }
      assert.ok(kept(), "the note is in the store");
      await mine.context.close();
    }
  });

  await step("a session that was ended is over in every window", async () => {
    const mine = await operator(browser);
    const other = await mine.context.newPage();
    await other.goto(`${url}/objectives`);
    await mine.page.locator("form[action='/logout'] button").click();
    await mine.page.locator("input[name=token]").waitFor({ state: "attached" });
    await other.goto(`${url}/objectives`);
    await other.locator("input[name=token]").waitFor({ state: "attached" });
    await mine.context.close();
  });

  await step("nothing happened that no page may do", async () => watched.nothing("the whole scenario"));
});

/** Whether a text is on the page still, as text or in a field. */
async function keeps(page, words) {
  const fields = await page.locator("textarea, input").evaluateAll((all) => all.map((one) => one.value));
  const flat = (some) => some.replace(/\s+/g, " ").trim();
  return [await text(page), ...fields].some((some) => flat(some).includes(flat(words)));
}
