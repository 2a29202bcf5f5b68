// What a page does by itself: it shows what others change, without a reload and without taking anything away from somebody who
// types; and the way from the first page over the review to the confirmation by keyboard alone.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { act, at, env, formOf, made, objective, ok, operator, pageOf, reveal, scenario, serve, url, watch } from "./lib.mjs";

const about = (id) => ({ azolla: made.azolla, objective: id });

await scenario("live", async ({ browser, step }) => {
  const { context, page } = await operator(browser);
  const watched = await watch(context);
  /** Marks the document: a reload would lose the mark. */
  const mark = () => page.evaluate(() => { window.azollaMark = true; });
  const unmoved = async () => assert.equal(await page.evaluate(() => window.azollaMark), true, "the page was loaded again");
  const shows = (words) => page.getByText(words).first().waitFor();
  /** Waits for another heading than this one. */
  const moves = (heading) => page.locator("h1").filter({ hasNotText: heading }).waitFor();
  const heading = () => page.locator("h1").innerText();

  await step("what the command line does shows on the first page without a reload", async () => {
    await follow(page, `${url}/`);
    await mark();
    const before = await heading();
    ok(["objective", "archive", made.blank]);
    await moves(before);
    const after = await heading();
    ok(["objective", "unarchive", made.blank]);
    await moves(after);
    assert.equal(await heading(), before);
    await unmoved();
  });

  await step("an objective's page follows its state, and offers what fits it", async () => {
    await follow(page, pageOf(made.new));
    await mark();
    assert.ok((await formOf(page, "approve", about(made.new)).count()) > 0);
    ok(["objective", "approve", made.new]);
    await formOf(page, "withdraw", about(made.new)).waitFor({ state: "attached" });
    await formOf(page, "approve", about(made.new)).waitFor({ state: "detached" });
    await unmoved();
    ok(["objective", "withdraw", made.new]);
    await formOf(page, "approve", about(made.new)).waitFor({ state: "attached" });
  });

  await step("what somebody types stays, with its cursor, while everything else moves on", async () => {
    await follow(page, `${url}/`);
    await mark();
    const field = formOf(page, "capture").locator("[name=text]");
    await reveal(field);
    await field.click();
    await field.pressSequentially("half a tho");
    const before = await heading();
    ok(["objective", "archive", made.blank]);
    await moves(before);
    await field.pressSequentially("ught");
    assert.equal(await field.inputValue(), "half a thought");
    assert.ok(await field.evaluate((node) => node === document.activeElement), "it has the focus still");
    await unmoved();
  });

  await step("a change is told to who does not see it, politely", async () => {
    const told = page.locator("[aria-live=polite], [role=status]").filter({ hasText: /\S/ });
    await told.first().waitFor({ state: "attached" });
  });

  await step("what is confirmed is what is shown, also while somebody marks a part of the change", async () => {
    const address = pageOf(made.done);
    await follow(page, address);
    await mark();
    const run = () => formOf(page, "confirm", about(made.done)).locator("[name=run]").inputValue();
    const first = await run();
    // The next time that the page looks, another run has ended.
    await page.route(address, async (route) => {
      if (!route.request().headers()["azolla-live"]) return route.continue();
      const response = await route.fetch();
      const body = (await response.text()).replaceAll(`value="${first}"`, 'value="run-another-1"')
        .replace('id="change-title">Change<', 'id="change-title">Another change<').replace("<h2>Timeline<", "<h2>What happened<");
      return route.fulfill({ response, body });
    });
    await page.evaluate(() => getSelection().selectAllChildren(document.getElementById("change-title")));
    ok(["objective", "unarchive", made.blank]);
    await page.getByRole("heading", { name: "What happened" }).waitFor();
    assert.equal(await page.locator("#change-title").innerText(), "Change");
    assert.equal(await run(), first);
    await page.evaluate(() => getSelection().removeAllRanges());
    ok(["objective", "archive", made.blank]);
    await page.getByRole("heading", { name: "Another change" }).waitFor();
    assert.equal(await run(), "run-another-1");
    await unmoved();
    await page.unroute(address);
  });

  await step("a page whose stream was refused asks again, and says so", async () => {
    const told = (words) => page.locator("#told").filter({ hasText: words }).waitFor({ state: "attached" });
    let refusals = 0;
    await page.route("**/events?*", (route) =>
      refusals++ < 2 ? route.fulfill({ status: refusals === 1 ? 503 : 429, body: "not now" }) : route.continue());
    await page.goto(pageOf(made.new));
    await mark();
    await told("does not follow changes now");
    await told("follows changes again");
    ok(["objective", "approve", made.new]);
    await formOf(page, "withdraw", about(made.new)).waitFor({ state: "attached" });
    await unmoved();
    ok(["objective", "withdraw", made.new]);
    await page.unroute("**/events?*");
  });

  await step("review and confirm by keyboard alone, with the focus in sight at each step", async () => {
    await page.goto(`${url}/`);
    // The first result that waits.
    const links = await page.locator('main a[href^="/objectives/"]').evaluateAll((all) => all.map((one) => one.pathname));
    const address = links.find((link) => /\/obj-[^/]*$/.test(link) && objective(link.split("/").pop()).status === "DONE");
    const id = address.split("/").pop();
    await tabTo(page, (node, wanted) => node.localName === "a" && node.pathname === wanted, address);
    await Promise.all([page.waitForURL((at) => at.pathname === address), page.keyboard.press("Enter")]);
    // What has to be read is reached on the way: every fold of the change opens by a key.
    const opens = page.locator("main details:has(pre), main details:has(table)").first();
    if (await opens.count()) {
      const was = await opens.evaluate((node) => node.open);
      await tabTo(page, (node) => node.localName === "summary" && node.parentElement.querySelector("pre, table"));
      await page.keyboard.press("Enter");
      assert.notEqual(await page.evaluate(() => document.activeElement.parentElement.open), was, "a fold moves by Enter");
    }
    await page.goto(page.url());
    const isConfirm = (node) => {
      const holds = node.localName === "summary" ? node.parentElement : node.closest("form");
      return ["summary", "button"].includes(node.localName) && holds?.querySelector("input[name=act][value=confirm]");
    };
    await tabTo(page, isConfirm);
    if (await page.evaluate(() => document.activeElement.localName === "summary")) {
      await page.keyboard.press("Enter");
      await tabTo(page, (node) => node.localName === "button" && node.closest("form")?.querySelector("input[name=act][value=confirm]"));
    }
    await page.keyboard.press("Enter");
    await shows(/confirmed/);
    assert.ok(objective(id).metadata.completion, "it is confirmed in the store");
  });

  await step("the keys that are documented", async () => {
    await page.goto(`${url}/`);
    for (const [keys, where] of [["go", "/objectives"], ["gm", "/manifests"], ["gr", "/runs"], ["gh", "/health"], ["gn", "/"]]) {
      await page.keyboard.press(keys[0]);
      await Promise.all([page.waitForURL((at) => at.pathname === where), page.keyboard.press(keys[1])]);
      await page.waitForLoadState("load");
    }
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    await page.keyboard.press("c");
    assert.equal(await page.evaluate(() => document.activeElement.name), "text", "c leads to the note");
    await page.keyboard.type("gogo?");
    assert.equal(await page.evaluate(() => document.activeElement.value), "gogo?", "keys are letters where one types");
  });

  await step("a run is followed while it lasts: its step, its budget; then it is stopped", async () => {
    // What is under way is told by the process that does it.
    const server = await serve(undefined, []);
    const elsewhere = url;
    at(server.url);
    try {
      const mine = await operator(browser);
      await follow(mine.page, pageOf(made.todo));
      ok(["objective", "approve", made.todo]);
      const main = mine.page.locator("main");
      await main.getByText("the worker is running").first().waitFor();
      await main.locator("progress").first().waitFor();
      await mine.page.goto(`${url}/`);
      await main.getByText("Wait for a word").first().waitFor();
      await main.getByText("the worker is running").first().waitFor();
      await follow(mine.page, pageOf(made.todo));
      await act(mine.page, "cancel", about(made.todo), { reason: "not now" });
      // It is heard at the next renewal of the claim, or, as here, at the end of the work.
      writeFileSync(path.join(env("AZOLLA_PLACE"), "go"), "");
      await formOf(mine.page, "retry", about(made.todo)).waitFor({ state: "attached" });
      assert.equal(objective(made.todo).status, "BLOCKED");
      await mine.context.close();
    } finally {
      await server.end();
      at(elsewhere);
    }
  });

  await step("nothing happened that no page may do", async () => watched.nothing("the whole scenario"));
});

/** Opens a page, and waits until it hears of changes. */
async function follow(page, address) {
  const hears = page.waitForResponse((response) => new URL(response.url()).pathname === "/events");
  await page.goto(address);
  assert.equal((await hears).status(), 200);
}

/** Presses Tab until this has the focus; on the way everything that gets it shows that it has it. */
async function tabTo(page, is, argument) {
  const condition = `(${is})(document.activeElement, ${JSON.stringify(argument)})`;
  for (let presses = 0; presses < 400; presses++) {
    await page.keyboard.press("Tab");
    const [seen, what] = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return [true, "the page itself"];
      const style = getComputedStyle(node);
      const box = node.getBoundingClientRect();
      const inSight = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
      const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
      return [inSight && (outlined || style.boxShadow !== "none"), node.outerHTML.slice(0, 150)];
    });
    assert.ok(seen, `it has the focus and does not show it: ${what}`);
    if (await page.evaluate(condition)) return;
  }
  throw new Error(`400 times Tab did not lead to ${is}`);
}
