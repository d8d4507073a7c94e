// What the page does: its data, the steps of the reader, and the rows of scores
// that they need. How it looks is in view.js.
const state = (() => {
  if (typeof document === "undefined") return null;
  const data = JSON.parse(document.getElementById("data").textContent);
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const prompt = bytes(data.prompt), end = new Set(data.end);
  const carried = new Map(data.nodes.map(n => [n.path.join(), n]));
  const read = new Map(); // rows of the newest contexts, by path
  const chain = data.stages.map(s => ({ ...s }));
  const path = []; // {id, drawn: under which chain and seed, or ""}

  const ids = () => path.map(p => p.id);

  // row returns the scores of the context where the reader stands, or null.
  function row() {
    const key = ids().join();
    if (read.has(key)) return read.get(key);
    const n = carried.get(key);
    if (!n) return null;
    const r = { ids: n.ids ? new Int32Array(bytes(n.ids).buffer) : null, values: new Float32Array(bytes(n.scores).buffer), vocab: data.vocab, unlisted: n.unlisted };
    if (read.size === 8) read.delete(read.keys().next().value);
    read.set(key, r);
    return r;
  }

  const ended = () => path.length > 0 && end.has(path[path.length - 1].id);

  // ask gets the scores of a context from the server that gave the page. It
  // returns what went wrong, or "".
  async function ask(key, list) {
    try {
      const answer = await fetch("row", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ path: list }) });
      const got = await answer.json();
      if (!answer.ok) return got.error;
      Object.assign(data.tokens, got.tokens);
      carried.set(key, got.node);
      return "";
    } catch (e) {
      return "no answer from lab explore; is it still running? (" + e.message + ")";
    }
  }

  // missing returns "" when the scores of this context are there, else why not. A
  // server is asked for them first.
  async function missing() {
    const list = ids(), key = list.join();
    if (ended()) return "The text has ended here; undo leads back.";
    if (carried.has(key)) return "";
    if (!data.served) return "This file carries no scores after this token; undo leads back.";
    const problem = await ask(key, list);
    return problem && "The model gave no scores: " + problem;
  }

  const seed = text => /^[0-9]{1,20}$/.test(text.trim()) && BigInt(text.trim()) < 1n << 64n ? BigInt(text.trim()) : null;
  const active = () => chain.filter(s => s.value !== s.neutral);
  const chainText = () => active().map(s => s.name + ":" + s.value).join(" | ");

  // legal returns the number in a text when a stage may have it, or null.
  function legal(stage, text) {
    const v = Number(text);
    if (text.trim() === "" || !Number.isFinite(v) || stage.whole && !Number.isInteger(v)) return null;
    return stage.min !== null && v < stage.min || stage.max !== null && v > stage.max ? null : v;
  }

  // command returns the command that gives the next token, or why there is none.
  function command(s) {
    const marks = path.map(p => p.drawn), now = mark(s), at = marks.findIndex(m => m !== now);
    if (s === null) return { note: "", line: "" };
    if (at >= 0) {
      const why = marks[at] === "" ? "was chosen by hand" : "was drawn under another chain or seed";
      return { note: "There is none: token " + (at + 1) + " " + why + ", and a command draws every token.", line: "" };
    }
    const text = chainText(), [head, tail] = data.command, next = " \\\n  ";
    const options = (text ? next + "--chain '" + text + "'" : "") + next + "--seed " + s;
    if (path.length === 0) return { note: "", line: "lab next" + head + options + tail };
    return { note: "Its token " + (path.length + 1) + " is the one that is drawn here.",
      line: "lab generate" + head + options + " --max-tokens " + (path.length + 1) + tail };
  }

  // mark names a chain and a seed: what a drawn token depends on.
  const mark = s => chainText() + " --seed " + s;

  const draw = (row, s) => lab.draw(row, lab.uniform(s, prompt, path.length));

  return { data, chain, path, row, ended, missing, seed, active, legal, command, mark, draw };
})();
