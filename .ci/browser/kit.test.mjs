// The kit itself: a page that errs, reaches for the network or cannot be read by
// everyone is found out. A test that cannot fail says nothing.
import { writeFileSync } from "node:fs";
import { accessible, check, open, withBrowser } from "./kit.mjs";

const page = (body) => `<!DOCTYPE html><html lang="en"><head><title>t</title></head><body><main><h1>t</h1>${body}</main></body></html>`;
writeFileSync("good.html", page("<p>Nothing is wrong here.</p>"));
writeFileSync("bad.html", page(`<img src="https://example.invalid/x.png"><p style="color:#ddd;background:#fff">pale</p><script>console.error("no"); throw new Error("thrown")</script>`));

await withBrowser(async (browser) => {
  const good = await open(browser, "good.html");
  check("a sound page has no problems", good.problems.length === 0, good.problems.join("; "));
  check("a sound page is accessible", (await accessible(good.page)).length === 0);
  const bad = await open(browser, "bad.html");
  const seen = bad.problems.join("; ");
  for (const what of ["console: no", "page: thrown", "request: https://example.invalid/x.png"]) check(`found: ${what}`, seen.includes(what), seen);
  const rules = (await accessible(bad.page)).join("; ");
  for (const rule of ["image-alt", "color-contrast"]) check(`found: ${rule}`, rules.includes(rule), rules);
});
