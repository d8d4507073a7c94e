// How the page looks. Everything is written with textContent: nothing becomes
// markup, whatever a token holds.
(() => {
  if (state === null) return;
  const { data, chain, path } = state, $ = id => document.getElementById(id);
  let out = null; // what the chain made of the row
  let trouble = ""; // why there are no scores
  let turn = 0; // counts steps, so that a late answer changes nothing

  function make(tag, parent, text, cls) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    parent.append(e);
    return e;
  }

  // bars adds a picture of shares from 0 to 1: {cls, from, to}.
  function bars(parent, list) {
    const make = tag => document.createElementNS("http://www.w3.org/2000/svg", tag), svg = make("svg");
    svg.setAttribute("aria-hidden", "true");
    for (const b of list) {
      const r = make("rect"), percent = x => (100 * x).toFixed(3) + "%";
      for (const [k, v] of Object.entries({ class: b.cls, x: percent(b.from), y: 2, height: 12, width: percent(Math.max(0, b.to - b.from)) })) r.setAttribute(k, v);
      svg.append(r);
    }
    parent.append(svg);
  }

  const number = p => Number.isNaN(p) ? "?" : p === 0 ? "0" : p >= 0.00005 ? p.toFixed(4) : p.toExponential(1);
  const count = n => n.toLocaleString("en");
  const name = id => "“" + data.tokens[id] + "”";
  const currentSeed = () => state.seed($("seed").value);

  // choose steps forward by one token.
  function choose(id, how, drawn) {
    path.push({ id, drawn });
    $("said").textContent = how + " " + name(id) + " (token " + id + ").";
    return arrive();
  }

  // arrive shows the context where the reader now stands, once its scores are there.
  async function arrive() {
    const mine = ++turn;
    const asking = data.served && state.row() === null && !state.ended();
    if (asking) show("Asking the model …");
    const problem = await state.missing();
    if (mine === turn) show(problem);
  }

  function buildChain() {
    const list = $("chain");
    list.replaceChildren();
    chain.forEach((stage, at) => {
      const li = make("li", list), id = "v-" + stage.name, head = make("div", li, undefined, "stage");
      const label = make("label", head, stage.name);
      label.htmlFor = id;
      const slider = make("input", head), box = make("input", head);
      Object.assign(slider, { type: "range", min: stage.least, max: stage.most, step: stage.step, value: stage.value });
      slider.setAttribute("aria-label", stage.name + " slider");
      Object.assign(box, { type: "text", inputMode: "decimal", autocomplete: "off", id, value: stage.value });
      box.setAttribute("aria-describedby", "m-" + stage.name);
      const set = (text, from) => {
        const v = state.legal(stage, text);
        box.setAttribute("aria-invalid", v === null);
        problem.hidden = v !== null;
        problem.textContent = v === null ? JSON.stringify(text) + " is no value of " + stage.name + "; " + stage.value + " stays." : "";
        if (v === null) return;
        stage.value = v;
        if (from !== slider) slider.value = v;
        if (from !== box) box.value = v;
        mark(li, stage);
        later();
      };
      slider.addEventListener("input", () => set(slider.value, slider));
      box.addEventListener("input", () => set(box.value, box));
      for (const [sign, by, word] of [["↑", -1, "earlier"], ["↓", 1, "later"]]) {
        const b = make("button", head, sign);
        b.type = "button";
        b.setAttribute("aria-label", "Move " + stage.name + " " + word);
        b.setAttribute("aria-disabled", at + by < 0 || at + by >= chain.length);
        b.addEventListener("click", () => move(at, by, word));
      }
      make("p", li, stage.meaning + ".", "muted").id = "m-" + stage.name;
      const problem = make("p", li, "", "note");
      problem.hidden = true;
      problem.setAttribute("role", "status");
      mark(li, stage);
    });
  }

  const mark = (li, stage) => li.classList.toggle("active", stage.value !== stage.neutral);

  function move(at, by, word) {
    if (at + by < 0 || at + by >= chain.length) return;
    const [stage] = chain.splice(at, 1);
    chain.splice(at + by, 0, stage);
    buildChain();
    show(trouble);
    $("said").textContent = stage.name + " is now stage " + (at + by + 1) + " of " + chain.length + ".";
    document.querySelector("[aria-label=\"Move " + stage.name + " " + word + "\"]").focus();
  }

  function showTokens(row) {
    const places = lab.best(row, data.list), list = $("tokens");
    const shown = places.map(i => lab.idOf(row, i)).map(id => ({ id, p: lab.probability(row, id), q: out.refused ? NaN : lab.probability(out.row, id) }));
    const widest = Math.max(...shown.map(t => Math.max(t.p, t.q || 0)));
    for (const t of shown) {
      const b = make("button", make("li", list)), cut = t.q === 0 && !out.refused;
      b.type = "button";
      make("span", b, data.tokens[t.id], "token");
      bars(b, [{ cls: "sampling", from: 0, to: (t.q || 0) / widest }, { cls: "model", from: 0, to: t.p / widest }]);
      make("span", b, number(t.p) + " → " + (cut ? "cut" : number(t.q)), "number");
      b.addEventListener("click", async () => {
        await choose(t.id, "You chose", "");
        focusAfter(shown.indexOf(t));
      });
    }
    const others = (row.unlisted > 0 ? row.vocab : lab.weigh(row).support) - shown.length;
    if (others > 0) {
      const rest = r => number(lab.massWithout(r, shown.map(t => t.id)));
      $("rest").textContent = count(others) + " other tokens hold " + rest(row) + " of the model distribution" +
        (out.refused ? "." : " and " + rest(out.row) + " of the sampling distribution.") +
        (row.unlisted > 0 ? " For " + count(row.vocab - row.values.length) + " of them, the mass " + number(row.unlisted) + " that they hold together is all that is known." : "");
    }
  }

  // focusAfter keeps a keyboard where it was when the list was made anew.
  function focusAfter(at) {
    const buttons = $("tokens").querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] || $("undo")).focus();
  }

  function showLedger() {
    const list = $("ledger");
    const stopped = out.ledger.length < state.active().length;
    $("ledger-note").textContent = (out.ledger.length > 0 ? "Blue is what is left, amber what was cut, an outline what was there before. Green is a distance: KL beside the largest here, TV out of 1. " : stopped ? "" : "No stage changes anything yet.") +
      (stopped ? "Stage " + (out.ledger.length + 1) + ", " + state.active()[out.ledger.length].name + ", is refused, and the chain ends there." : "");
    const deepest = Math.max(...out.ledger.map(l => l.entropyBefore), ...out.ledger.map(l => l.entropyAfter), 1e-9);
    const farthest = Math.max(...out.ledger.map(l => l.kl), 1e-9);
    out.ledger.forEach((l, at) => {
      const li = make("li", list);
      make("h3", li, at + 1 + ". " + l.name + " " + l.value);
      const dl = make("dl", li), bound = l.unlistedBefore > 0 ? "≥ " : "";
      const pair = (what, text, list) => {
        const div = make("div", dl);
        make("dt", div, what);
        const dd = make("dd", div, text);
        if (list) bars(dd, list);
      };
      pair("mass kept, cut", number(l.keptMass) + ", " + number(l.cutMass), [{ cls: "sampling", from: 0, to: l.keptMass }, { cls: "cut", from: l.keptMass, to: 1 }]);
      pair("tokens", count(l.supportBefore) + " → " + count(l.supportAfter), [{ cls: "sampling", from: 0, to: l.supportAfter / l.supportBefore }, { cls: "cut", from: l.supportAfter / l.supportBefore, to: 1 }]);
      pair("entropy, bits", bound + l.entropyBefore.toFixed(3) + " → " + (l.unlistedAfter > 0 ? "≥ " : "") + l.entropyAfter.toFixed(3), [{ cls: "sampling", from: 0, to: l.entropyAfter / deepest }, { cls: "model", from: 0, to: l.entropyBefore / deepest }]);
      pair("KL(after‖before), bits", number(l.kl), [{ cls: "distance", from: 0, to: l.kl / farthest }, { cls: "model", from: 0, to: 1 }]);
      pair("TV", number(l.tv), [{ cls: "distance", from: 0, to: l.tv }, { cls: "model", from: 0, to: 1 }]);
    });
  }

  // show writes everything that depends on the step, the chain and the seed.
  // problem says why there are no scores.
  function show(problem) {
    trouble = problem;
    const s = currentSeed(), row = problem ? null : state.row();
    $("text").replaceChildren(document.createTextNode(data.shown));
    for (const p of path) make("mark", $("text"), data.tokens[p.id]);
    $("step").textContent = path.length + 1;
    for (const id of ["undo", "restart"]) $(id).disabled = path.length === 0;
    $("seed").setAttribute("aria-invalid", s === null);
    $("seed-note").hidden = s !== null;
    const line = state.command(s);
    $("command-note").textContent = line.note;
    $("command").textContent = line.line;
    $("command").hidden = line.line === "";
    for (const id of ["tokens", "ledger"]) $(id).replaceChildren();
    for (const id of ["rest", "ledger-note"]) $(id).textContent = row ? "" : "There are no scores here.";
    out = row && lab.run(row, state.active().map(a => [a.name, a.value]));
    say($("refused"), problem || out.refused && refusal(row));
    $("draw").disabled = !row || s === null || out.refused !== null;
    if (!row) return;
    showTokens(row);
    showLedger();
  }

  // say changes a live region only when it says something new.
  function say(e, text) {
    if (e.textContent !== (text || "")) e.textContent = text || "";
    e.hidden = !text;
  }

  function refusal(row) {
    return "Nothing can be drawn: " + out.refused + ". Put top_k, top_p or min_p first, with a value that " + count(row.values.length) + " tokens can answer" +
      (data.served ? "." : ", or write the page with every score (--head 0).");
  }

  // later shows the page before the next frame, however many events there were.
  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show(trouble);
    });
  }

  async function back(n, words) {
    path.length = n;
    $("said").textContent = words;
    await arrive();
    if ($("undo").disabled && [document.body, $("undo"), $("restart")].includes(document.activeElement)) $("draw").focus();
  }

  $("about").textContent = data.about;
  $("seed").value = data.seed;
  $("seed").addEventListener("input", later);
  $("draw").addEventListener("click", async () => {
    const s = currentSeed();
    await choose(state.draw(out.row, s), "Drawn:", state.mark(s));
    if ($("draw").disabled) $("undo").focus();
  });
  $("undo").addEventListener("click", () => back(path.length - 1, "One step back."));
  $("restart").addEventListener("click", () => back(0, "Back at the prompt."));
  $("said").textContent = "No token yet: draw one, or choose one from the list.";
  buildChain();
  arrive();
})();
