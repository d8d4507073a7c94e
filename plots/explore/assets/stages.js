// The stages of plugins/samplers that the page offers, under their names, and the
// chain of them. A stage returns a row, or throws a Refusal where the core does.
(() => {
  const { LOWEST, has, idOf } = lab;
  const REACHED = 1 - 1e-9; // truncate/top_p.go
  const BINS = 512, FEW = 40, BLOCK = 1024, TINY = 1e-300; // truncate/cut.go

  class Refusal extends Error {}

  // cheapest is truncate.cheapest: where to cut a list, whose weights it gathers
  // by cost, so that the shortest one of lowest cost with a weight of at least
  // need stays. whole says that the list came from one block.
  function cheapest(cost, weight, whole, least, usual, need) {
    let sum = 0, below = 0;
    if (!whole) ({ cost, weight, sum, below } = narrow(cost, weight, least, usual, 0, 0, need));
    while (cost.length > FEW) {
      let low = cost[0], high = cost[0];
      for (const c of cost) { if (c < low) low = c; if (c > high) high = c; }
      if (!(high - low >= TINY)) break;
      ({ cost, weight, sum, below } = narrow(cost, weight, low, high, sum, below, need));
    }
    const order = Array.from(cost.keys()).sort((a, b) => cost[a] - cost[b] || a - b);
    let at = 0;
    for (sum += weight[order[0]]; sum < need && at + 1 < order.length; sum += weight[order[at]]) at++;
    let first = at;
    while (first > 0 && cost[order[first - 1]] === cost[order[at]]) first--;
    return { cost: cost[order[at]], ties: at - first + 1, n: below + at + 1 };
  }

  // narrow returns the part of the list in which the running sum crosses need:
  // histogram.add and histogram.cross.
  function narrow(cost, weight, least, most, sum, below, need) {
    const factor = most - least >= TINY ? BINS / (most - least) : 0;
    const bin = c => Math.min(Math.trunc((c - least) * factor), BINS - 1);
    const weights = new Float64Array(BINS), counts = new Int32Array(BINS);
    for (let i = 0; i < cost.length; i++) {
      const b = bin(cost[i]);
      weights[b] += weight[i];
      counts[b]++;
    }
    let last = -1;
    for (let b = 0; b < BINS; b++) {
      if (counts[b] === 0) continue;
      if (last >= 0) { sum += weights[last]; below += counts[last]; }
      last = b;
      if (sum + weights[b] >= need) break;
    }
    const inCost = [], inWeight = [];
    for (let i = 0; i < cost.length; i++) if (bin(cost[i]) === last) { inCost.push(cost[i]); inWeight.push(weight[i]); }
    return { cost: inCost, weight: inWeight, sum, below };
  }

  // spareFloor is truncate.spareFloor: what is below it is not needed.
  function spareFloor(n, top, total, need) {
    const spare = (total - need) / (2 * n);
    return spare > 0 ? lab.step32(Math.fround(Math.max(top + lab.log(spare), LOWEST)), -1) : LOWEST;
  }

  // list returns the tokens of at least floor with a cost each.
  function list(row, floor, costOf) {
    const { weights } = lab.weigh(row), cost = [], weight = [];
    row.values.forEach((v, i) => { if (v >= floor) { cost.push(costOf(v)); weight.push(weights[i]); } });
    return { cost, weight };
  }

  // within keeps the tokens below a border of cost, and the first of those at it.
  function within(row, border, costOf) {
    if (border.n >= lab.weigh(row).support) return row;
    let ties = border.ties;
    const places = [];
    row.values.forEach((v, i) => {
      if (!has(v)) return;
      const c = costOf(v);
      if (c < border.cost || c === border.cost && ties-- > 0) places.push(i);
    });
    return lab.keep(row, places);
  }

  // keepBest keeps the k likeliest; truncate.cutTo.
  function keepBest(row, k) {
    const found = row.values.filter(has).sort();
    if (k >= found.length) return row;
    const floor = found[found.length - k];
    let ties = k;
    for (let i = found.length - 1; found[i] > floor; i--) ties--;
    return within(row, { cost: -floor, ties, n: k }, v => -v);
  }

  // keepAbove is truncate.keepAbove: floor is rounded up to a float32.
  function keepAbove(row, name, floor) {
    let f = Math.fround(floor);
    if (f < floor) f = lab.step32(f, 1);
    f = Math.max(f, LOWEST);
    const places = [], { support } = lab.weigh(row);
    row.values.forEach((v, i) => { if (v >= f) places.push(i); });
    if (row.unlisted > 0 && places.length === support) {
      throw new Refusal(name + ": all " + support + " listed tokens are above the threshold, and what of the unlisted mass " + row.unlisted.toPrecision(4) + " is, is not known");
    }
    return lab.listed(places.length === 0 ? keepBest(row, 1) : lab.keep(row, places));
  }

  function listedOnly(row, name) {
    if (row.unlisted > 0) throw new Refusal(name + ": a mass of " + row.unlisted.toPrecision(4) + " is unlisted, on which its result depends");
  }

  const stages = {
    temperature(row, t) {
      if (t === 1) return row;
      if (t === 0) return lab.listed(keepBest(row, 1));
      listedOnly(row, "temperature");
      let most = 0;
      for (const v of row.values) if (has(v)) most = Math.max(most, Math.abs(v));
      const shift = most / t > 65536 ? lab.weigh(row).top : 0; // rescale.shiftAbove
      return { ids: row.ids, values: row.values.map(v => has(v) ? Math.max((v - shift) / t, LOWEST) : v), vocab: row.vocab, unlisted: 0 };
    },
    top_k(row, k) {
      if (k <= 0) return row;
      const { support } = lab.weigh(row);
      if (row.unlisted > 0 && k > support) throw new Refusal("top_k: " + k + " tokens are wanted but only " + support + " are listed");
      return lab.listed(keepBest(row, k));
    },
    top_p(row, p) {
      if (p === 1) return row;
      const { top, total } = lab.weigh(row), n = row.values.length, need = p / (1 - row.unlisted) * total * REACHED;
      if (row.unlisted > 0 && need > total) {
        throw new Refusal("top_p: the nucleus of " + p + " is not known, the listed tokens hold " + (1 - row.unlisted).toPrecision(6));
      }
      const floor = spareFloor(n, top, total, need), { cost, weight } = list(row, floor, v => -v);
      const border = cheapest(cost, weight, n <= BLOCK, -top, -Math.max(floor, top + lab.log(1e-30)), need);
      return lab.listed(within(row, border, v => -v));
    },
    min_p(row, p) { return p === 0 ? row : keepAbove(row, "min_p", lab.weigh(row).top + lab.log(p)); },
    typical(row, p) {
      if (p === 1) return row;
      listedOnly(row, "typical");
      const { top, total, entropy } = lab.weigh(row), n = row.values.length, need = p * total * REACHED;
      const offset = lab.log(total) - entropy, costOf = v => Math.abs(top - v + offset);
      let floor = spareFloor(n, top, total, need);
      if (Math.abs(offset) >= top - floor + offset) floor = LOWEST;
      const { cost, weight } = list(row, floor, costOf);
      return within(row, cheapest(cost, weight, n <= BLOCK, 0, 12, need), costOf);
    },
    top_n_sigma(row, n) {
      if (!(n > 0)) return row;
      listedOnly(row, "top_n_sigma");
      const moments = shift => {
        const sum = lab.adder(), squares = lab.adder();
        row.values.forEach((v, i) => { if (has(v)) { sum.add(idOf(row, i), v - shift); squares.addProduct(idOf(row, i), v - shift, v - shift); } });
        return [sum.total(), squares.total()];
      };
      const { support, top } = lab.weigh(row), [off, squares] = moments(moments(0)[0] / support), rest = off / support;
      return keepAbove(row, "top_n_sigma", top - n * Math.sqrt(Math.max(0, squares / support - rest * rest)) / REACHED);
    },
  };

  // run applies [[name, value], …] and returns the last row, the ledger with the
  // row after each stage, and why a stage was refused, where the chain then ends.
  function run(row, chain) {
    const ledger = [];
    let refused = null;
    for (const [name, value] of chain) {
      let after;
      try {
        after = stages[name](row, value);
      } catch (e) {
        if (!(e instanceof Refusal)) throw e;
        refused = e.message;
        break;
      }
      ledger.push(Object.assign({ name, value, row: after }, lab.change(row, after)));
      row = after;
    }
    if (refused === null && row.unlisted > 0) refused = "draw: a mass of " + row.unlisted.toPrecision(4) + " is unlisted and cannot be drawn from";
    return { row, ledger, refused };
  }

  Object.assign(lab, { stages, run });
})();
