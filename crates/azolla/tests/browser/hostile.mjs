// Forty attacks in every text that a page shows: titles, criteria, reasons, notes, labels, candidates, names of files, lines of
// a change, output of a worker and of checks, feedback, words of another machine. All of it stays text.

import assert from "node:assert/strict";
import { act, everyPage, made, operator, pageOf, scenario, text, url, watch } from "./lib.mjs";
import { payloads } from "./payloads.mjs";


/** What is in a page that our own markup never has. */
const injected = (page) => page.evaluate(() => {
  const found = [];
  const says = (node, why) => found.push(`${why}: ${node.outerHTML.slice(0, 200)}`);
  for (const node of document.querySelectorAll("*")) {
    if ([...node.attributes].some((one) => /^on/i.test(one.name) || one.name === "style" || one.name === "srcdoc")) says(node, "an attribute that runs");
    if (/^(iframe|object|embed|math|video|audio|base|template|noscript|style|frame|applet|marquee)$/i.test(node.localName)) says(node, "an element");
    for (const name of ["href", "src", "action", "formaction", "data", "xlink:href"]) {
      const value = node.getAttribute(name);
      if (value !== null && !/^(\/(?![/\\])|#|\?)/.test(value)) says(node, `${name} leads away`);
    }
  }
  for (const node of document.scripts) if (!node.src) says(node, "a script in the page");
  for (const node of document.querySelectorAll("img, #azolla-injected, meta[http-equiv]")) says(node, "an element");
  // What is edited is edited as it is stored; everything else is made readable.
  const shown = document.documentElement.cloneNode(true);
  for (const node of shown.querySelectorAll("textarea, input")) node.remove();
  if (/[\u202a-\u202e\u2066-\u2069]/.test(shown.innerHTML)) found.push("a character that turns text around");
  return found;
});

await scenario("hostile", async ({ browser, step }) => {
  const { context, page } = await operator(browser);
  const watched = await watch(context);
  const quiet = async (where) => {
    // Everything that is folded is opened, and what waits for a pointer gets one.
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    await page.mouse.move(300, 300);
    assert.deepEqual(await injected(page), [], where);
    watched.nothing(where);
  };

  await step("every kind of page keeps text as text", async () => {
    for (const address of await everyPage(page, 3)) {
      await page.goto(address);
      await quiet(address);
    }
  });

  await step("each attack is read as it was written", async () => {
    for (const [n, id] of made.objectives.entries()) {
      await page.goto(pageOf(id));
      const [first] = payloads[n].replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd").split("\n");
      const shown = (await page.locator("main").innerText()).replace(/\s+/g, " ");
      assert.ok(shown.includes(first.replace(/\s+/g, " ").slice(0, 40)), `${n + 1}: ${first}\n${shown.slice(0, 400)}`);
      await quiet(`${n + 1}: ${first}`);
    }
  });

  await step("a change, its files and its checks", async () => {
    for (const id of [made.done, made.rejected, made.failed]) {
      await page.goto(pageOf(id));
      const shown = await text(page);
      assert.ok(shown.includes("azollaSaw"), "it is there as text");
      await quiet(id);
    }
  });

  await step("attacks that are typed into every field", async () => {
    for (const payload of [payloads.join("\n"), ...payloads.slice(0, 4)]) {
      await page.goto(`${url}/`);
      await act(page, "capture", {}, { text: payload });
      await quiet(`captured ${payload}`);
    }
    const [found] = made.objectives;
    const about = { azolla: made.azolla, objective: found };
    for (const payload of payloads.slice(4, 8)) {
      await page.goto(pageOf(found));
      await act(page, "edit", about, { title: payload.replaceAll("\n", " "), criteria: payload });
      await quiet(`edited ${payload}`);
    }
    await page.goto(pageOf(found));
    await act(page, "edit", about, { title: " ", criteria: payloads.join("\n") });
    await quiet("a refusal that gives back what was typed");
  });

  await step("attacks in the address", async () => {
    for (const [n, payload] of payloads.entries()) {
      const written = encodeURIComponent(payload);
      const addresses = [`/${written}`, `/?said=${written}&back=${written}`, `/objectives?show=${written}&before=${written}`,
        `/objectives/${written}/${written}`, `/login?code=${written}&back=${written}`, `/runs?before="${written}`];
      await page.goto(`${url}${addresses[n % addresses.length]}`);
      await quiet(addresses[n % addresses.length]);
    }
  });
});
