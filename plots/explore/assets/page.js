// The page over the arithmetic: what is shown, and what a reader may do.
// Everything is written with textContent; nothing becomes markup.
(() => {
  if (typeof document === "undefined") return;
  const data = JSON.parse(document.getElementById("data").textContent), $ = id => document.getElementById(id);
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const prompt = bytes(data.prompt), rows = new Map();
  for (const n of data.nodes) rows.set(n.path.join(), n.row);
  const kinds = { // least, most, step, neutral
    temperature: [0, 3, 0.01, 1], top_k: [0, 200, 1, 0], top_p: [0, 1, 0.01, 1], min_p: [0, 1, 0.005, 0],
    typical: [0, 1, 0.01, 1], top_n_sigma: [0, 5, 0.05, 0] };
  const chain = Object.keys(kinds).map(name => [name, kinds[name][3]]);
  const path = [];
  const rowOf = () => {
    const text = rows.get(path.join());
    return text === undefined ? null : new Float32Array(bytes(text).buffer);
  };
  const make = (tag, parent, text, cls) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    parent.append(e);
    return e;
  };
  const rect = (svg, cls, width) => {
    const r = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [k, v] of Object.entries({ class: cls, x: 0, y: 2, height: 12, width: (100 * width).toFixed(3) + "%" })) r.setAttribute(k, v);
    svg.append(r);
  };
  const picture = parent => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("aria-hidden", "true");
    parent.append(svg);
    return svg;
  };
  const seed = () => {
    const text = $("seed").value.trim();
    return /^[0-9]{1,20}$/.test(text) && BigInt(text) < 1n << 64n ? BigInt(text) : null;
  };
  const active = () => chain.filter(([name, value]) => value !== kinds[name][3]);
  let out = null;

  function choose(id, how) {
    path.push(id);
    show();
    $("said").textContent = how + " “" + data.tokens[id] + "” (token " + id + ")." + (rowOf() ? "" : " This file carries no scores after it; undo leads back.");
  }

  function buildChain() {
    $("chain").replaceChildren();
    chain.forEach((stage, at) => {
      const [name, value] = stage, [least, most, step] = kinds[name], li = make("li", $("chain"));
      make("span", li, name, "name").id = "n-" + name;
      const inputs = ["range", "number"].map(type => {
        const i = make("input", li);
        Object.assign(i, { type, min: least, max: type === "number" && name !== "top_p" && name !== "min_p" && name !== "typical" ? "" : most, step: type === "range" ? step : name === "top_k" ? 1 : "any", value });
        i.setAttribute("aria-label", name + (type === "range" ? " slider" : ""));
        return i;
      });
      for (const i of inputs) i.addEventListener("input", () => {
        const v = Number(i.value);
        if (i.value === "" || !i.checkValidity()) {
          $("said").textContent = name + ": " + JSON.stringify(i.value) + " is no value it can have; " + stage[1] + " stays.";
          return;
        }
        stage[1] = v;
        for (const other of inputs) if (other !== i) other.value = v;
        show();
      });
      [["↑", -1, "earlier"], ["↓", 1, "later"]].forEach(([sign, by, word]) => {
        const b = make("button", li, sign);
        b.setAttribute("aria-label", "move " + name + " " + word);
        b.disabled = at + by < 0 || at + by >= chain.length;
        b.addEventListener("click", () => {
          [chain[at], chain[at + by]] = [chain[at + by], chain[at]];
          buildChain();
          show();
          const again = [...$("chain").querySelectorAll("button")].find(x => x.getAttribute("aria-label") === b.getAttribute("aria-label"));
          if (again && !again.disabled) again.focus();
        });
      });
    });
  }

  function showTokens(row) {
    $("tokens").replaceChildren();
    const model = lab.shape(row), after = lab.shape(out.row);
    const p = i => Math.exp(row[i] - model.top) / model.total, q = i => Math.exp(out.row[i] - after.top) / after.total;
    const ids = Array.from(row.keys()).filter(i => row[i] !== -Infinity).sort((a, b) => row[b] - row[a] || a - b).slice(0, data.list);
    const widest = Math.max(...ids.map(i => Math.max(p(i), q(i))));
    let restP = 1, restQ = 1;
    for (const i of ids) {
      const b = make("button", make("li", $("tokens"))), cut = out.row[i] === -Infinity;
      make("span", b, data.tokens[i], "token");
      const svg = picture(b);
      rect(svg, "sampling", q(i) / widest);
      rect(svg, "model", p(i) / widest);
      make("span", b, p(i).toFixed(4) + " → " + (cut ? "cut" : q(i).toFixed(4)), "number");
      b.addEventListener("click", () => choose(i, "You chose"));
      restP -= p(i);
      restQ -= q(i);
    }
    $("rest").textContent = model.support - ids.length + " other tokens hold " + Math.max(0, restP).toFixed(4) + " of the model distribution and " + Math.max(0, restQ).toFixed(4) + " of the sampling distribution.";
  }

  function show() {
    $("text").replaceChildren(document.createTextNode(data.shown));
    for (const id of path) make("span", $("text"), data.tokens[id]);
    $("step").textContent = path.length;
    $("undo").disabled = path.length === 0;
    const row = rowOf(), s = seed();
    $("seed").setAttribute("aria-invalid", s === null);
    $("draw").disabled = !row || s === null;
    $("ledger").replaceChildren();
    const text = active().map(([n, v]) => n + ":" + v).join(" | ");
    $("command").textContent = data.command + (text ? " --chain '" + text + "'" : "") + (s === null ? "" : " --seed " + s);
    $("tokens").replaceChildren();
    $("rest").textContent = "";
    if (!row) return;
    out = lab.run(row, active());
    showTokens(row);
    for (const l of out.ledger) {
      const tr = make("tr", $("ledger"));
      make("th", tr, l.name + " " + l.value).scope = "row";
      make("td", tr, l.supportBefore + " → " + l.supportAfter);
      const kept = make("td", tr, l.keptMass.toFixed(4)), svg = picture(kept);
      rect(svg, "cutbar", 1);
      rect(svg, "kept", l.keptMass);
      make("td", tr, (1 - l.keptMass).toFixed(4));
      make("td", tr, l.entropyBefore.toFixed(3) + " → " + l.entropyAfter.toFixed(3));
      make("td", tr, l.kl.toFixed(4));
      make("td", tr, l.tv.toFixed(4));
    }
  }

  $("about").textContent = data.about;
  $("seed").value = data.seed;
  $("seed").addEventListener("input", show);
  $("draw").addEventListener("click", () => choose(lab.draw(out.row, lab.uniform(seed(), prompt, path.length)), "Drawn:"));
  $("undo").addEventListener("click", () => { path.pop(); show(); $("said").textContent = "One step back."; });
  buildChain();
  show();
})();
