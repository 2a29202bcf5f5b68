// Pictures of every page, for people; started by scripts/screens, which made the home. It starts the server itself, and lets
// one run be under way.

import { readdirSync } from "node:fs";
import path from "node:path";
import { at, env, everyPage, launch, made, objective, ok, operator, serve } from "./lib.mjs";

const place = env("AZOLLA_PLACE");
const out = (name) => path.join(env("AZOLLA_SHOTS"), `${name}.png`);

/** The name of a page's picture. */
function named(address) {
  const { pathname, searchParams } = new URL(address);
  const parts = pathname.split("/").filter((part) => part && !/^(az|man)-/.test(part));
  const which = Object.entries(made).find(([, id]) => parts.some((part) => part.includes(id.slice(4))))?.[0];
  const words = parts.map((part) => part.replace(/^(obj|run|out|cap)-.*/, which ?? "$1"));
  return [words.join("-") || "now", ...searchParams.values()].join("-").replace(/[^a-z0-9-]/gi, "_").slice(0, 60);
}

ok(["objective", "approve", made.todo]);
const server = await serve(undefined, []);
at(server.url);
const browser = await launch();
const { context, page } = await operator(browser);
while (objective(made.todo).status !== "IN_PROGRESS") await page.reload();
const objectives = ["confirmed", "failed", "rejected", "done", "new", "todo", "blocked", "archived"];
const addresses = new Set([
  ...await everyPage(page), ...objectives.map((name) => `${server.url}/objectives/${made.azolla}/${made[name]}`),
]);
for (const address of [...addresses, `${server.url}/nothing/here`]) await shoot(page, address, named(address));
await context.clearCookies();
await shoot(page, `${server.url}/login`, "login");
await page.setViewportSize({ width: 900, height: 600 });
await page.goto(`file://${place}/terminal.svg`);
await page.screenshot({ path: out("terminal") });
await browser.close();
await server.end();
console.log(`${readdirSync(env("AZOLLA_SHOTS")).length} pictures in ${env("AZOLLA_SHOTS")}`);

async function shoot(page, address, name) {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: width === 360 ? 720 : 860 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(address);
      await page.screenshot({ path: out(`${name}-${width}-${colorScheme}`), fullPage: true });
    }
  }
}
