// What every scenario needs: the browser, the operator's session, forms as a person meets them, the command line beside
// the browser, and a watch over everything that no page may do. A scenario is started by tests/it/browser.rs with
//   AZOLLA        the program                 AZOLLA_HOME   the home that it works in
//   AZOLLA_URL    where its server listens    AZOLLA_TOOLS  where scripts/install-browser put its packages
//   AZOLLA_PLACE  the directory of the test   AZOLLA_SHOTS  where a failed step leaves its pictures

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

export const env = (name) => process.env[name] ?? stop(`${name} is not set: this is started by tests/it/browser.rs`);
const tools = createRequire(path.join(env("AZOLLA_TOOLS"), "package.json"));
/** Where the server listens. */
export let url = process.env.AZOLLA_URL ?? "";
export const at = (address) => { url = address; };

function stop(words) {
  console.error(words);
  process.exit(2);
}

// The command line, beside the browser.

const surroundings = (home) => ({
  PATH: process.env.PATH, HOME: path.join(env("AZOLLA_PLACE"), "person"), USER: "tester", AZOLLA_HOME: home ?? env("AZOLLA_HOME"),
});

/** Runs the program and returns how it answered. */
export function azolla(words, options = {}) {
  const cwd = options.cwd ?? env("AZOLLA_PLACE");
  const surrounding = { cwd, env: surroundings(options.home), input: options.input ?? "", encoding: "utf8" };
  const done = spawnSync(env("AZOLLA"), words, surrounding);
  if (done.error) throw done.error;
  return { code: done.status, stdout: done.stdout, stderr: done.stderr };
}

/** Runs the program, which has to say that all is well, and returns what it printed. */
export function ok(words, options = {}) {
  const answer = azolla(words, options);
  assert.equal(answer.code, 0, `azolla ${words.join(" ")}: ${answer.stdout}${answer.stderr}`);
  return answer.stdout.trimEnd();
}

/** Starts the server of a home, and says where it listens. */
export async function serve(home, words = ["--roles", "http"]) {
  const all = ["up", "--listen", "127.0.0.1:0", ...words];
  const child = spawn(env("AZOLLA"), all, { cwd: env("AZOLLA_PLACE"), env: surroundings(home), stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => child.on("exit", done));
  let said = "";
  const listens = new Promise((done, fail) => {
    child.stdout.on("data", (bytes) => {
      said += bytes;
      if (said.includes("Ctrl-C")) done(/^listens at (\S+)$/m.exec(said)[1]);
    });
    ended.then(() => fail(new Error(`the server ended: ${said}`)));
  });
  return { url: await listens, end: async () => { child.kill("SIGTERM"); await ended; } };
}

/** Reads a document of the store. */
export const json = (words) => JSON.parse(ok([...words, "--json"])).data;
export const objective = (id) => json(["objective", "show", id]);
export const candidates = () => json(["triage", "--all"]).candidates;
export const candidate = (title) => {
  const found = candidates().find((one) => one.content.title.includes(title));
  assert.ok(found, `there is no candidate about ${title}`);
  return found;
};

/** What home.mjs made. */
export const made = existsSync(path.join(env("AZOLLA_PLACE"), "made.json"))
  ? JSON.parse(readFileSync(path.join(env("AZOLLA_PLACE"), "made.json"), "utf8")) : {};

/** What the command line says to a step that it refuses: the fact and the hint, without their marks. */
export function refusal(words) {
  const answer = azolla(words);
  assert.notEqual(answer.code, 0, `azolla ${words.join(" ")} was not refused`);
  const lines = answer.stderr.trim().split("\n").map((line) => line.replace(/^(error|hint): /, ""));
  return { fact: lines[0], hint: lines[1] };
}

// The browser.

/** Starts Chromium with a fresh profile; nothing but the server can be reached from it. */
export async function launch() {
  const { chromium } = tools("playwright-core");
  const args = ["--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  return await chromium.launch({
    executablePath: env("AZOLLA_CHROMIUM"), args, chromiumSandbox: process.getuid() !== 0, timeout: 60_000,
  });
}

/** Returns a browser's own window with a session of the operator. */
export async function operator(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await logIn(page);
  return { context, page };
}

/** Begins a session with the operator's token. */
export async function logIn(page) {
  await page.goto(`${url}/login`);
  await enterToken(page);
  assert.ok(!page.url().includes("/login"), `the operator's token did not open the page: ${await text(page)}`);
}

/** Fills in the page that asks for the token. */
export async function enterToken(page) {
  const token = readFileSync(path.join(env("AZOLLA_HOME"), "operator.token"), "utf8").trim();
  const form = page.locator("form:has(input[name=token])");
  await reveal(form.locator("input[name=token]"));
  await form.locator("input[name=token]").fill(token);
  await Promise.all([
    page.waitForResponse((response) => response.url().includes("/login") && response.request().method() === "POST"),
    form.locator("button").click(),
  ]);
  await page.waitForLoadState("load");
}

/** Everything that a person reads on a page. */
export const text = (page) => page.locator("body").innerText();

// Forms, as a person meets them.

const quoted = (value) => JSON.stringify(String(value));

/** Finds the form that takes an act about these things. */
export function formOf(page, act, about = {}) {
  const fields = Object.entries({ act, ...about });
  const has = fields.map(([name, value]) => `:has(input[type=hidden][name=${quoted(name)}][value=${quoted(value)}])`);
  return page.locator(`form[action="/act"]${has.join("")}`).first();
}

/** Opens what something is folded into, from the outside in, as a person would. */
export async function reveal(locator) {
  for (let folds = 0; folds < 8; folds++) {
    const closed = locator.locator("xpath=ancestor::details[not(@open)]").first();
    if ((await closed.count()) === 0) return;
    await closed.locator("xpath=./summary").click();
  }
  throw new Error("it is folded more than eight times");
}

/** Fills in the fields of a form. */
export async function fill(form, typed) {
  for (const [name, value] of Object.entries(typed)) {
    const field = form.locator(`[name=${quoted(name)}]:not([type=hidden])`);
    assert.ok(await field.count(), `the form has no field ${name}: ${await form.evaluate((node) => node.outerHTML)}`);
    const kind = await field.first().evaluate((node) => node.type || node.tagName.toLowerCase());
    if (kind === "select-one") await field.selectOption(String(value));
    else if (kind === "radio") await form.locator(`[name=${quoted(name)}][value=${quoted(value)}]`).check();
    else await field.fill(String(value));
  }
}

/** Sends a form by its button and waits for the page that answers it. */
export async function send(page, form) {
  const answered = page.waitForResponse((response) =>
    new URL(response.url()).pathname === "/act" && response.request().method() === "POST");
  await form.locator("button:not([type=button])").first().click();
  const response = await answered;
  await page.waitForLoadState("load");
  return response.status();
}

/** The acts that this scenario took. */
export const taken = new Set();

/** Takes an act on a page: finds its form, fills it in, sends it. Returns the status of the answer. */
export async function act(page, name, about = {}, typed = {}) {
  const form = formOf(page, name, about);
  taken.add(name);
  await form.waitFor({ state: "attached" });
  await reveal(form);
  await fill(form, typed);
  return await send(page, form);
}

/** Whether a page has a button for an act. */
export const offers = async (page, name, about = {}) => (await formOf(page, name, about).count()) > 0;

/** The page of an objective that home.mjs made. */
export const pageOf = (id) => `${url}/objectives/${made.azolla}/${id}`;

// What no page may do.

/** Notes everything that a page does and should not: dialogs, errors, violations of its policy, foreign requests. */
export async function watch(context) {
  const seen = [];
  const origin = new URL(url).origin;
  context.on("dialog", (dialog) => {
    seen.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  context.on("weberror", (error) => seen.push(`an error of the script: ${error.error()}`));
  context.on("console", (message) => {
    // What is refused is answered with its status, and Chromium writes that down as an error.
    if (message.type() === "error" && !/Failed to load resource.*status of (4|503)/.test(message.text())) {
      seen.push(`on the console: ${message.text()}`);
    }
  });
  context.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`)) seen.push(`a request elsewhere: ${request.url().slice(0, 200)}`);
  });
  await context.exposeBinding("azollaSaw", (_, words) => seen.push(words));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.azollaSaw(`against the policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  return {
    seen,
    /** Fails with what was seen since the last time. */
    nothing(where) {
      const found = seen.splice(0);
      assert.deepEqual(found, [], where);
    },
  };
}

/** Follows every link of ours from the first page and returns one address of each kind of page, or a few. */
export async function everyPage(page, each = 1) {
  const kind = (address) => address.pathname.replace(/\b(az|obj|run|out|cap|man|wo|evt)-[a-z0-9-]+/g, "$1")
    + (address.search ? `?${[...address.searchParams.keys()].join("&")}` : "");
  const found = new Map();
  const queue = ["/"];
  while (queue.length) {
    const address = new URL(queue.shift(), url);
    const same = found.get(kind(address)) ?? [];
    if (same.includes(address.href) || same.length >= each) continue;
    found.set(kind(address), [...same, address.href]);
    const response = await page.goto(address.href);
    assert.equal(response.status(), 200, address.href);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.href.split("#")[0]));
    queue.push(...links.filter((link) => new URL(link).origin === new URL(url).origin));
  }
  return [...found.values()].flat();
}

// Scenarios.

/** Runs steps one after another. What failed is printed with its pages as pictures; the others go on. */
export async function scenario(name, run) {
  const browser = await launch();
  const failed = [];
  const step = async (words, take) => {
    const begin = Date.now();
    try {
      await take();
      console.log(`ok      ${words} (${Date.now() - begin} ms)`);
    } catch (error) {
      failed.push(words);
      console.log(`FAILED  ${words}\n${told(error)}`);
      await pictures(browser, `${name}-${failed.length}`);
    }
  };
  try {
    await run({ browser, step });
  } catch (error) {
    failed.push("the scenario itself");
    console.log(`FAILED  ${told(error)}`);
    await pictures(browser, name);
  }
  await browser.close();
  if (failed.length) {
    console.log(`${failed.length} failed: ${failed.join("; ")}\npictures are in ${env("AZOLLA_SHOTS")}`);
  }
  process.exit(failed.length ? 1 : 0);
}

/** An error with the place in the scenario that it comes from. */
function told(error) {
  const places = (error.stack ?? "").split("\n").filter((line) => /tests\/browser\/(?!lib)/.test(line));
  return [error.message ?? error, ...places.slice(0, 1)].join("\n");
}

async function pictures(browser, name) {
  mkdirSync(env("AZOLLA_SHOTS"), { recursive: true });
  let number = 0;
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const file = path.join(env("AZOLLA_SHOTS"), `${name}-${++number}.png`);
    await page.screenshot({ path: file, timeout: 5_000 }).catch(() => {});
    console.log(`        at ${page.url()}: ${file}`);
  }
}

/** The text of axe-core, to be run inside a page. */
export const axe = () => readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");
