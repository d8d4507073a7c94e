// The page of lab report: read with mouse and keyboard, in both themes, on a narrow
// screen and on paper.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, check, lab, open, picture, withBrowser } from "./kit.mjs";

// A run of 1,000 samples, as the target says, and a script with a sweep of its own.
writeFileSync("grid.yaml", `grid:
  temperature: [0.3, 0.7, 1, 1.3, 1.6]
  top_p: [0.9, off]
prompt: The weather today is
model: tiny
samples: 100
max_tokens: 24
seed: 1
`);
writeFileSync("study.tengo", `lab := import("lab")
plot := import("plot")
say("<b>not bold</b>")
plot.temperatures(lab.model().next("The weather today is"), [0.5, 1, 2]).save("t.svg")
r := lab.sweep({temperature: [0.5, 1]}, {prompt: "<script>alert(1)</script>", model: "tiny", samples: 4, max_tokens: 12})
r.stats(["distinct_2"]).save("stats.csv")
`);
lab("sweep", "grid.yaml");
lab("report", "grid", "-o", "grid.html");
lab("report", "study.tengo", "-o", "study.html");
copyFileSync(join(process.env.TREE, "plots/report/testdata/golden/hostile.html"), "hostile.html");

const bytes = statSync("grid.html").size;
check("a run of 1,000 samples is under 5 MB", bytes < 5e6, `${bytes} bytes`);

await withBrowser(async (browser) => {
  for (const name of ["grid", "study", "hostile"]) {
    for (const theme of ["light", "dark"]) {
      const { page, problems, close } = await open(browser, `${name}.html`, { theme });
      const bad = await accessible(page);
      check(`${name}, ${theme}: accessible`, bad.length === 0, bad.join("\n"));
      check(`${name}, ${theme}: nothing of it goes wrong or leaves the page`, problems.length === 0, problems.join("; "));
      await picture(page, `report-${name}-${theme}`);
      await close();
    }
    for (const theme of ["light", "dark"]) {
      const narrow = await open(browser, `${name}.html`, { width: 400, height: 800, theme });
      const wide = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
      check(`${name}: 400 px are wide enough, ${theme}`, wide <= 400, `${wide} px`);
      await narrow.page.locator(".tokens .t").first().focus(); // with its panel filled
      const bad = await accessible(narrow.page);
      check(`${name}: accessible at 400 px, ${theme}`, bad.length === 0, bad.join("\n"));
      await picture(narrow.page, `report-${name}-narrow-${theme}`);
      await narrow.close();
    }
  }

  // Interactive: from the request to a token that answers. The size decides what the
  // page costs; the bound is generous, since machines differ.
  const { page, problems, close } = await open(browser, "grid.html");
  const ready = await page.evaluate(() => {
    const t = performance.getEntriesByType("navigation")[0];
    return document.documentElement.dataset.ready === "true" ? t.domContentLoadedEventEnd - t.startTime : Infinity;
  });
  console.log(`     interactive after ${Math.round(ready)} ms, ${(bytes / 1e6).toFixed(2)} MB`);
  check("interactive within 2 s", ready < 2000, `${ready} ms`);

  // Mouse.
  const example = page.locator(".example").nth(2);
  const panel = example.locator(".panel");
  await example.locator(".t").nth(3).hover();
  const said = await panel.innerText();
  for (const what of ["token 4 of ", "model", "sampling", "probability", "rank", "surprisal, bits", "What each stage did", "temperature", "top_p", "kept mass", "KL(after‖before), bits", "TV"]) {
    check(`pointing at a token shows: ${what}`, said.includes(what), said);
  }
  check("and what a stage cut", /top_p cut [\d,]+ tokens? with .* of the mass/.test(said), said);

  // Keyboard alone, from the top of the page: Tab reaches the tokens, arrows move.
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  let steps = 0;
  for (; steps < 80; steps++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.classList.contains("t"))) break;
  }
  check("Tab reaches the tokens", steps < 80, `${steps} times`);
  const focused = () => page.evaluate(() => {
    const box = document.activeElement.closest(".example");
    return { text: document.activeElement.firstChild.textContent, selected: document.activeElement.getAttribute("aria-selected"), at: [...box.querySelectorAll(".t")].indexOf(document.activeElement), panel: box.querySelector(".panel").innerText };
  });
  const first = await focused();
  check("the token that has the focus is described", first.at === 0 && first.selected === "true" && first.panel.includes("token 1 of "), JSON.stringify(first));
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const third = await focused();
  check("the arrow goes to the next", third.at === 2 && third.panel.includes("token 3 of "), JSON.stringify(third));
  await page.keyboard.press("End");
  const last = await focused();
  check("End goes to the last", last.at === 23, JSON.stringify(last));
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  const below = await focused();
  check("down goes to the next line", below.at > 0 && below.at < 23, JSON.stringify(below));
  await page.keyboard.press("ArrowUp");
  check("and up back", (await focused()).at === 0);
  await page.keyboard.press("Tab");
  check("one Tab leaves the tokens", !(await page.evaluate(() => document.activeElement.classList.contains("t"))));

  // Numbers of the page are those of lab.
  const exported = JSON.parse(execFileSync(process.env.LAB, ["runs", "export", "grid", "--steps"], { encoding: "utf8", maxBuffer: 1 << 28 }).split("\n")[0]);
  const step = exported.steps[0];
  await page.locator(".example").first().locator(".t").first().hover();
  const row = await page.locator(".example").first().locator(".panel table").first().locator("tbody tr").first().innerText();
  check("probability and rank are those of the run", row.includes(String(step.model.rank)) && row.includes(Number(step.model.prob.toPrecision(4)).toString()), `${row} / ${step.model.prob}`);

  // The switch of colours.
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole("button", { name: "Dark" }).click();
  const dark = await paper();
  check("the switch makes it dark", light === "rgb(255, 255, 255)" && dark !== light, `${light} ${dark}`);
  const shown = await page.evaluate(() => [...document.querySelectorAll("figure img")].filter((i) => i.offsetWidth > 0).map((i) => i.className));
  check("and its figures", shown.length > 0 && shown.every((c) => c === "dark"), shown.join(" "));
  check("every picture has its words", await page.evaluate(() => [...document.querySelectorAll("img")].every((i) => i.alt.length > 20 && i.naturalWidth > 100)));

  // Paper: always light, without what only a screen can do.
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  check("paper is light", (await paper()) === "rgb(255, 255, 255)");
  check("paper has no switch, contents and panels", await page.evaluate(() => [".switch", "nav", ".panel"].every((s) => document.querySelector(s).offsetHeight === 0)));
  await page.evaluate(() => { window.unfolded = 0; addEventListener("beforeprint", () => { window.unfolded = [...document.querySelectorAll("details")].filter((d) => !d.closest("figure")).every((d) => d.open) ? 1 : -1; }); });
  await page.pdf({ path: "grid.pdf", preferCSSPageSize: true, format: "A4" });
  check("what is folded is printed open", (await page.evaluate(() => window.unfolded)) === 1);
  check("and folded again", (await page.locator("details[open]").count()) === 0);
  const over = await page.evaluate(() => { document.body.style.width = "680px"; return [...document.querySelectorAll("table")].filter((t) => t.offsetWidth > 690).map((t) => `${t.caption.textContent} ${t.offsetWidth}`); });
  check("no table is wider than paper", over.length === 0, over.join("; "));
  const pdf = readFileSync("grid.pdf");
  check("it prints", pdf.subarray(0, 5).toString() === "%PDF-" && pdf.length > 50_000, `${pdf.length} bytes`);
  if (process.env.KEEP) copyFileSync("grid.pdf", join(process.env.KEEP, "report-grid.pdf"));
  check("nothing went wrong meanwhile", problems.length === 0, problems.join("; "));
  await close();

  const evil = await open(browser, "hostile.html");
  await evil.page.locator(".tokens .t").first().hover();
  check("hostile tokens are text in the panel too", (await evil.page.locator(".panel strong").first().innerText()) === "<script>alert(1)</script>");
  check("and run nothing", evil.problems.length === 0 && (await evil.page.locator(".tokens script, .panel script, .panel img").count()) === 0, evil.problems.join("; "));
  await evil.close();
});
