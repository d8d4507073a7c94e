// The page of lab explore, as a file and served: its draws are those of the command
// line, its controls work by mouse and keyboard, and it says what it cannot know.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, check, lab, open, picture, withBrowser } from "./kit.mjs";

const PROMPT = "The weather today is", CHAIN = "temperature:1.3 | top_k:60 | top_p:0.92 | min_p:0.02";
const large = JSON.parse(readFileSync(join(process.env.TREE, "plots/explore/testdata/large.json"), "utf8"));

// variant writes a page with other data: what a model of another size would give.
function variant(from, to, change) {
  const html = readFileSync(from, "utf8");
  const [, before, text, after] = html.match(/^([^]*id="data">)([^]*?)(<\/script>[^]*)$/);
  const data = JSON.parse(text);
  change(data);
  writeFileSync(to, before + JSON.stringify(data).replaceAll("<", "\\u003c") + after);
}

const said = page => page.locator("#said").textContent();
const chosen = async page => Number((await said(page)).match(/\(token (\d+)\)/)[1]);
const stage = (page, name) => page.locator("#v-" + name);
const ledger = page => page.locator("#ledger h3").allTextContents();
const frame = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
const number = p => p === 0 ? "0" : p >= 0.00005 ? p.toFixed(4) : p.toExponential(1);
const sideways = page => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

async function drawsAreTheCommandsOwn(browser) {
  lab("explore", PROMPT, "-o", "plain.html", "--chain", CHAIN);
  const { page, problems, close } = await open(browser, "plain.html");
  for (const seed of ["0", "1", "2", "7", "18446744073709551615"]) {
    const want = JSON.parse(lab("next", PROMPT, "--chain", CHAIN, "--seed", seed, "--json"));
    await page.locator("#seed").fill(seed);
    await frame(page);
    const line = await page.locator("#command").textContent();
    await page.locator("#draw").click();
    const got = await chosen(page);
    check(`seed ${seed}: the page draws what lab next draws`, got === want.drawn.token, `${got}, not ${want.drawn.token}`);
    const printed = execFileSync("bash", ["-c", line.replace(/^lab /, '"$LAB" ') + " --json"], { encoding: "utf8" });
    check(`seed ${seed}: the command shown draws it too`, JSON.parse(printed).drawn.token === got, line);
    await page.locator("#undo").click();
  }
  const want = JSON.parse(lab("next", PROMPT, "--chain", CHAIN, "--json")).ledger;
  const shown = await page.locator("#ledger li").evaluateAll(list => list.map(li => [...li.querySelectorAll("dd")].map(d => d.textContent)));
  want.slice(0, -1).forEach((w, i) => {
    const text = [`${number(w.kept_mass)}, ${w.support_before === w.support_after ? "0" : number(1 - w.kept_mass)}`, `${w.support_before.toLocaleString("en")} → ${w.support_after.toLocaleString("en")}`,
      `${w.entropy_before_bits.toFixed(3)} → ${w.entropy_after_bits.toFixed(3)}`, number(w.kl_bits), number(w.tv)];
    check(`the ledger's line ${i + 1} is the core's`, JSON.stringify(text) === JSON.stringify(shown[i]), `${shown[i]}; the core: ${text}`);
  });
  check("nothing went wrong while drawing", problems.length === 0, problems.join("; "));
  await close();
}

async function controlsWork(browser) {
  const { page, problems, close } = await open(browser, "plain.html");
  await page.getByLabel("temperature slider").focus();
  await page.keyboard.press("ArrowRight");
  await frame(page);
  check("an arrow key moves a slider and its number", await stage(page, "temperature").inputValue() === "1.31", await stage(page, "temperature").inputValue());
  check("the ledger follows the slider", (await ledger(page))[0] === "1. temperature 1.31", await ledger(page));
  await stage(page, "top_p").fill("1.5");
  await frame(page);
  check("a value that top_p cannot have is marked and named", await stage(page, "top_p").getAttribute("aria-invalid") === "true" && await page.getByText('"1.5" is no value of top_p; 0.92 stays.').isVisible());
  check("and changes nothing", (await ledger(page))[2] === "3. top_p 0.92", await ledger(page));
  await stage(page, "top_p").fill("1");
  await frame(page);
  check("a stage at its neutral value leaves the ledger", (await ledger(page)).length === 3, await ledger(page));
  await stage(page, "top_p").fill("0.5");
  await stage(page, "temperature").fill("1.8");
  await frame(page);
  const up = page.getByLabel("Move top_p earlier");
  await up.focus();
  for (let i = 0; i < 2; i++) await page.keyboard.press("Enter");
  check("the keyboard moves a stage, and stays on its button", (await ledger(page))[0] === "1. top_p 0.5" && await up.evaluate(e => e === document.activeElement), await ledger(page));
  check("the move is announced", await said(page) === "top_p is now stage 1 of 6.", await said(page));
  const command = await page.locator("#command").textContent();
  check("the command has the new order", command.includes("'top_p:0.5 | temperature:1.8 | top_k:60 | min_p:0.02'"), command);
  const want = JSON.parse(lab("next", PROMPT, "--chain", "top_p:0.5 | temperature:1.8 | top_k:60 | min_p:0.02", "--seed", "3", "--json"));
  await page.locator("#seed").fill("3");
  await frame(page);
  await page.locator("#draw").click();
  check("and the draw follows it", await chosen(page) === want.drawn.token, await said(page));

  await page.locator("#restart").click();
  const second = page.locator("#tokens button").nth(1), name = await second.locator(".token").textContent();
  await second.focus();
  await page.keyboard.press("Enter");
  check("Enter on a token steps with it", (await said(page)).startsWith("You chose “" + name) && (await page.locator("#text").textContent()).endsWith(name), await said(page));
  check("the keyboard stays in the list", await page.evaluate(() => document.activeElement.closest("#tokens") !== null));
  check("a chosen token has no command", await page.locator("#command").isHidden() && await page.getByText("There is none: token 1 was chosen by hand").isVisible());
  await page.locator("#tokens button").first().click();
  await page.locator("#tokens button").first().click();
  check("a step beyond the file is said to be one", await page.getByText("This file carries no scores after this token").isVisible() && await page.locator("#draw").isDisabled());
  check("and the keyboard has somewhere to be", await page.evaluate(() => document.activeElement.id === "undo"));
  await picture(page, "explore-beyond");
  await page.keyboard.press("Enter");
  check("undo leads back", await page.locator("#tokens button").count() === 20 && await page.locator("#draw").isEnabled());
  await page.locator("#seed").fill("-1");
  await frame(page);
  check("a seed that is none is named, and nothing can be drawn", await page.getByText("A seed is a whole number").isVisible() && await page.locator("#draw").isDisabled());
  check("status messages are live regions", await page.locator("#said").getAttribute("role") === "status");
  check("nothing went wrong while changing", problems.length === 0, problems.join("; "));
  await close();
}

async function everyoneCanReadIt(browser) {
  for (const [name, options] of Object.entries({ light: {}, dark: { theme: "dark" }, narrow: { width: 360, height: 780 }, "narrow-dark": { width: 360, height: 780, theme: "dark" }, print: { media: "print", width: 760 } })) {
    const { page, problems, close } = await open(browser, "plain.html", options);
    const states = ["start", "drawn"];
    for (const state of states) {
      if (state === "drawn" && name !== "print") await page.locator("#tokens button").first().click();
      if (name !== "print") {
        const bad = await accessible(page);
        check(`${name}, ${state}: the accessibility rules hold`, bad.length === 0, bad.join("; "));
      }
      const over = await sideways(page);
      check(`${name}, ${state}: nothing hangs out sideways`, over <= 0, `${over} px`);
      await picture(page, `explore-${name}-${state}`);
    }
    check(`${name}: no problems`, problems.length === 0, problems.join("; "));
    await close();
  }
}

async function headsSayWhatTheyDoNotKnow(browser) {
  lab("explore", PROMPT, "-o", "head.html", "--head", "30", "--chain", "temperature:1.3 | top_k:20");
  const { page, problems, close } = await open(browser, "head.html");
  check("a temperature over unknown tokens is refused", /temperature: a mass of 0\.\d+ is unlisted/.test(await page.locator("#refused").textContent()) && await page.locator("#draw").isDisabled());
  check("and how to go on is said", (await page.locator("#refused").textContent()).includes("Put top_k, top_p or min_p first"));
  const bad = await accessible(page);
  check("head: the accessibility rules hold", bad.length === 0, bad.join("; "));
  await picture(page, "explore-head");
  await page.getByLabel("Move temperature later").click();
  for (const seed of ["0", "1", "2"]) {
    const want = JSON.parse(lab("next", PROMPT, "--chain", "top_k:20 | temperature:1.3", "--seed", seed, "--json"));
    await page.locator("#seed").fill(seed);
    await frame(page);
    await page.locator("#draw").click();
    check(`head, seed ${seed}: the draw is that of the whole row`, await chosen(page) === want.drawn.token, await said(page));
    await page.locator("#undo").click();
  }
  check("head: no problems", problems.length === 0, problems.join("; "));
  await close();
}

async function hostileTokensStayText(browser) {
  const evil = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\u202Eevil", "&lt;b&gt;", "<style>*{display:none}</style>"];
  variant("plain.html", "evil.html", data => {
    Object.keys(data.tokens).forEach((id, i) => { data.tokens[id] = evil[i % evil.length]; });
    data.shown = evil.join(" ");
    data.about = evil[0];
    data.stages[0].meaning = evil[0];
  });
  const { page, problems, close } = await open(browser, "evil.html");
  await page.locator("#tokens button").first().click();
  check("hostile tokens become no elements", await page.locator("img, #tokens script, #text script, #tokens style, b").count() === 0);
  check("and are shown as they are", (await page.locator("#text").textContent()).startsWith(evil.join(" ")));
  check("and do nothing", problems.length === 0, problems.join("; "));
  await close();
}

async function endOfTextEndsTheText(browser) {
  variant("plain.html", "end.html", data => { data.end = Object.keys(data.tokens).map(Number); });
  const { page, close } = await open(browser, "end.html");
  await page.locator("#draw").click();
  check("nothing is drawn after the end of a text", await page.getByText("The text has ended here").isVisible() && await page.locator("#draw").isDisabled() && await page.locator("#tokens button").count() === 0);
  await close();
}

// The largest usual vocabulary, by the rule that the Go test has too.
async function largeVocabulariesWork(browser) {
  const row = new Float32Array(large.vocab);
  for (let i = 0, x = 8; i < row.length; i++) {
    let sum = 0;
    for (let j = 0; j < 4; j++) { x = Math.imul(x, 1664525) + 1013904223 >>> 0; sum += x / 4294967296; }
    row[i] = (sum - 2) * 6;
  }
  variant("plain.html", "large.html", data => {
    data.vocab = large.vocab;
    data.prompt = Buffer.from("p").toString("base64");
    data.tokens = Object.fromEntries(Array.from(row.keys(), i => [i, "token " + i]));
    data.nodes = [{ path: [], scores: Buffer.from(row.buffer).toString("base64"), unlisted: 0 }];
  });
  const start = performance.now();
  const { page, problems, close } = await open(browser, "large.html");
  console.log(`     a page of ${large.vocab} tokens opens in ${Math.round(performance.now() - start)} ms`);
  for (const t of large.trials) {
    const got = await page.evaluate(t => {
      const chain = t.chain.split(" | ").map(s => [s.split(":")[0], Number(s.split(":")[1])]), row = state.row();
      row.mass = undefined;
      const begin = performance.now(), out = lab.run(row, chain), first = performance.now() - begin;
      lab.run(row, chain);
      return { support: out.ledger.map(l => l.supportAfter), drawn: t.drawn.map((_, seed) => lab.draw(out.row, lab.uniform(BigInt(seed), [112], 0))),
        first, next: performance.now() - begin - first };
    }, t);
    check(`${large.vocab} tokens, ${t.chain}: supports and ${t.drawn.length} draws are the core's`, JSON.stringify([got.support, got.drawn]) === JSON.stringify([t.support, t.drawn]), JSON.stringify([got.support, got.drawn]));
    console.log(`     ${Math.round(got.first)} ms on a new row, ${Math.round(got.next)} ms when only the chain changes`);
  }
  check("large: no problems", problems.length === 0, problems.join("; "));
  await close();
}

// serve starts lab explore --serve and returns its address and its end.
async function serve(...args) {
  const child = spawn(process.env.LAB, ["explore", PROMPT, "--serve", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const ended = new Promise(done => child.on("exit", (code, signal) => done(signal || code)));
  const url = await new Promise((done, fail) => {
    let text = "";
    child.stdout.on("data", d => { text += d; if (text.includes("\n")) done(text.split("\n")[0]); });
    child.on("exit", () => fail(new Error("lab explore --serve ended: " + text)));
  });
  return { url, stop: () => { child.kill("SIGINT"); return ended; } };
}

async function servedPagesAskTheModel(browser) {
  const { url, stop } = await serve("--chain", CHAIN, "--seed", "5");
  const a = await open(browser, url), b = await open(browser, url, { theme: "dark" });
  const want = JSON.parse(lab("generate", PROMPT, "--chain", CHAIN, "--seed", "5", "--max-tokens", "8", "--json")).samples[0].tokens;
  const drawn = [];
  for (let i = 0; i < want.length; i++) {
    await a.page.locator("#draw:not([disabled])").click();
    drawn.push(await chosen(a.page));
    if (i === 3) {
      await b.page.locator("#tokens button").nth(2).click();
      await b.page.locator("#tokens button").nth(1).click();
    }
    await a.page.waitForFunction(n => document.querySelector("#step").textContent === String(n + 2) && !document.querySelector("#refused").textContent.startsWith("Asking"), i);
  }
  check("a served page draws the sample of lab generate, step by step", JSON.stringify(drawn) === JSON.stringify(want), `${drawn}; lab generate: ${want}`);
  for (let i = 0; i < 3; i++) await a.page.locator("#undo").click();
  const line = await a.page.locator("#command").textContent();
  const again = JSON.parse(execFileSync("bash", ["-c", line.replace(/^lab /, '"$LAB" ') + " --json"], { encoding: "utf8" })).samples[0].tokens;
  check("the command of a later step draws the same", JSON.stringify(again) === JSON.stringify(want.slice(0, 6)), `${line}: ${again}`);
  await b.page.waitForFunction(() => document.querySelectorAll("#tokens button").length === 20);
  check("two readers have a path each", await b.page.locator("#text mark").count() === 2 && await a.page.locator("#text mark").count() === 5);
  for (const [name, p] of Object.entries({ a: a.page, b: b.page })) {
    const bad = await accessible(p);
    check(`served, ${name}: the accessibility rules hold`, bad.length === 0, bad.join("; "));
    await picture(p, "explore-served-" + name);
  }

  const other = await browser.newContext(), elsewhere = await other.newPage();
  await elsewhere.goto("data:text/html,<title>another page</title>");
  const got = await elsewhere.evaluate(async row => {
    const tries = [{ method: "POST", headers: { "Content-Type": "application/json" }, body: '{"path":[]}' }, { method: "POST", body: '{"path":[]}', mode: "no-cors" }, {}];
    return Promise.all(tries.map(t => fetch(row, t).then(a => a.type + " " + a.status, () => "refused")));
  }, url + "row");
  check("another page reads nothing", got.every(g => g === "refused" || g === "opaque 0"), got.join(", "));
  await other.close();

  check("served: no problems", a.problems.length + b.problems.length === 0, a.problems.concat(b.problems).join("; "));
  const code = await stop();
  check("Ctrl-C ends the server well", code === 0, code);
  await a.page.locator("#tokens button").nth(4).click();
  await a.page.waitForFunction(() => document.querySelector("#refused").textContent.includes("no answer from lab explore"));
  await a.page.locator("#undo").click();
  check("a server that is gone is said to be, and undo works", await a.page.locator("#tokens button").count() === 20);
  await a.close();
  await b.close();
}

await withBrowser(async browser => {
  for (const part of [drawsAreTheCommandsOwn, controlsWork, everyoneCanReadIt, headsSayWhatTheyDoNotKnow, hostileTokensStayText, endOfTextEndsTheText, largeVocabulariesWork, servedPagesAskTheModel]) await part(browser);
});
