// Every page in both schemes, wide and at 360 px: axe-core finds nothing serious, nothing is wider than the screen, the
// page keeps to its own policy, asks nobody else for anything, and weighs little.

import assert from "node:assert/strict";
import { axe, everyPage, made, operator, pageOf, scenario, url, watch } from "./lib.mjs";

/** How each page is looked at. The colours of a phone are those of a wide screen. */
const LOOKS = [[1280, "light"], [1280, "dark"], [360, "light"]];
/** What the first page may weigh with everything that it loads, and every other page. */
const BYTES_MAX = 100 * 1024;

await scenario("looks", async ({ browser, step }) => {
  const { context, page } = await operator(browser);
  const watched = await watch(context);
  // A list is one page, whatever it lists.
  const pages = (await everyPage(page)).filter((address) => !/[?&]azolla=/.test(address));
  // Objectives in states of their own: with a change and its checks, with a failure, with a reason to wait, at rest.
  const objectives = ["done", "failed", "blocked", "archived"].map((name) => pageOf(made[name]));
  const addresses = new Set([...pages, ...objectives, `${url}/nothing/here`]);
  const log_in = await context.browser().newContext();
  const outside = await log_in.newPage();
  const checker = axe();

  /** Looks at a page that is open. */
  const look = async (open, address) => {
    for (const [width, colorScheme] of LOOKS) {
      await open.setViewportSize({ width, height: 900 });
      await open.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const where = `${address} at ${width} px, ${colorScheme}`;
      assert.deepEqual(await tooWide(open), [], `${where}: wider than the screen`);
      const problems = await open.evaluate(async (text) => {
        if (!window.axe) (0, eval)(text);
        const found = await window.axe.run(document, { resultTypes: ["violations"] });
        return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) =>
          `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
      }, checker);
      assert.deepEqual(problems, [], where);
      await small(open, where, width);
    }
  };

  for (const address of addresses) {
    await step(address.slice(url.length), async () => {
      let bytes = 0;
      const weigh = async (response) => {
        if (!response.url().endsWith("/events")) bytes += (await response.body().catch(() => "")).length;
      };
      page.on("response", weigh);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(address);
      page.off("response", weigh);
      await look(page, address);
      assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`);
      watched.nothing(address);
    });
  }

  await step("/login", async () => {
    await outside.goto(`${url}/login`);
    await look(outside, "/login");
  });
});

/** What reaches beyond the screen, though nothing scrolls it. */
async function tooWide(page) {
  return await page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const scrolls = (node) => node && node !== document.body
      && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
    return [...document.body.querySelectorAll("*")]
      .filter((node) => node.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(node.parentElement))
      .map((node) => node.outerHTML.slice(0, 120)).slice(0, 5)
      .concat(`${root.scrollWidth} of ${root.clientWidth}`);
  });
}

/** Fails if something to tap is too small for a finger. Links inside a sentence are as tall as their line. */
async function small(page, where, width) {
  if (width > 400) return;
  const found = await page.evaluate(() => [...document.querySelectorAll("button, summary, select, input:not([type=hidden]), nav a")]
    .map((node) => [node, node.getBoundingClientRect()])
    .filter(([node, box]) => box.width > 0 && node.checkVisibility() && (box.height < 24 || box.width < 24))
    .map(([node, box]) => `${node.outerHTML.slice(0, 100)}: ${box.width} x ${box.height}`));
  assert.deepEqual(found, [], `${where}: too small to tap`);
}
