// What the tests of the web pages share: a browser that reaches no network, checks
// that count, the accessibility rules of axe-core, and pictures for people to look at.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const failures = [];
let passed = 0;

// lab runs a command of lab in the current folder and returns what it printed.
export function lab(...args) {
  return execFileSync(process.env.LAB, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

// check counts one statement about a page.
export function check(what, holds, seen = "") {
  if (holds) passed++;
  else failures.push(what + (seen === "" ? "" : ` (seen: ${seen})`));
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${holds || seen === "" ? "" : ` (seen: ${seen})`}`);
}

// withBrowser calls use with a browser, and ends the process by the checks made.
export async function withBrowser(use) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
  if (passed === 0) failures.push("no check was made");
  console.log(`${passed} checks passed, ${failures.length} failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

// open shows a file (or a URL of this machine) and notes what goes wrong in it: errors
// of the page and its console, and every request that is not to the page itself.
export async function open(browser, where, { theme = "light", width = 1200, height = 900, media = "screen" } = {}) {
  const url = where.includes("://") ? where : pathToFileURL(where).href;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  const page = await context.newPage();
  await page.emulateMedia({ media, colorScheme: theme });
  const problems = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") problems.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => problems.push(`page: ${e.message}`));
  page.on("dialog", (d) => { problems.push(`dialog: ${d.message()}`); d.dismiss(); });
  await context.route("**/*", (route) => {
    const to = route.request().url();
    if (to === url || to.startsWith("data:") || to.startsWith("blob:") || (url.startsWith("http") && new URL(to).origin === new URL(url).origin)) return route.continue();
    problems.push(`request: ${to}`);
    return route.abort();
  });
  await page.goto(url, { waitUntil: "load" });
  return { page, problems, close: () => context.close() };
}

// accessible returns what the rules of WCAG 2.2 A and AA, and the advice of axe-core,
// find wrong.
export async function accessible(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const r = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return { rules: r.passes.length, bad: r.violations.map((v) => `${v.id}: ${v.nodes.length} x ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary ?? ""}`) };
  });
  if (found.rules < 10) found.bad.push(`only ${found.rules} rules applied: did axe-core run?`);
  return found.bad;
}

// picture leaves the page as a picture when KEEP names a folder.
export async function picture(page, name, options = {}) {
  if (!process.env.KEEP) return;
  mkdirSync(process.env.KEEP, { recursive: true });
  await page.screenshot({ path: join(process.env.KEEP, name + ".png"), fullPage: true, ...options });
}
