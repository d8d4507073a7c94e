// Rows of scores, as core/dist has them: every token in order (ids null), or a
// list of tokens, ascending. A removed token has the score -Infinity or is not
// listed. With an unlisted mass above 0 the others are not removed but unknown:
// they hold that mass together, and none of them is likelier than a listed one.
// Rows are not changed once made.
(() => {
  const LOWEST = -3.4028234663852886e38;
  const idOf = (row, place) => row.ids === null ? place : row.ids[place];
  const has = v => v >= LOWEST;

  // weigh is dist.weigh, kept with the row: weights are exp(score - top).
  function weigh(row) {
    if (row.mass) return row.mass;
    let top = -Infinity, support = 0;
    for (const v of row.values) {
      if (v > top) top = v;
      if (has(v)) support++;
    }
    const weights = new Float64Array(row.values.length), sum = lab.adder(), slope = lab.adder();
    for (let i = 0; i < weights.length; i++) {
      const x = row.values[i] - top, w = lab.exp(x);
      if (w === 0) continue;
      weights[i] = w;
      sum.add(idOf(row, i), w);
      slope.addProduct(idOf(row, i), w, x);
    }
    const total = sum.total(), lean = slope.total();
    return row.mass = { top, support, weights, total, lean, share: (1 - row.unlisted) / total, entropy: lab.log(total) - lean / total };
  }

  // lnTotal is mass.lnTotal: a token's log probability is score - top - lnTotal.
  function lnTotal(row) {
    const ln = lab.log(weigh(row).total);
    return row.unlisted === 0 ? ln : ln - Math.log1p(-row.unlisted);
  }

  // entropyBits is the low one of mass.entropyBounds: exact when all is listed.
  function entropyBits(row) {
    const m = weigh(row), u = row.unlisted;
    if (u === 0) return m.entropy / Math.LN2;
    let least = Infinity;
    for (let i = 0; i < m.weights.length; i++) if (has(row.values[i])) least = Math.min(least, m.weights[i]);
    const cap = Math.min(u, m.share * least);
    return (1 - u) * (m.entropy - Math.log1p(-u)) / Math.LN2 - (cap > 0 ? u * Math.log2(cap) : 0);
  }

  // place returns where a token stands in a row, or -1.
  function place(row, id) {
    if (row.ids === null) return id < row.values.length ? id : -1;
    let low = 0, high = row.ids.length;
    while (low < high) {
      const mid = low + high >> 1;
      if (row.ids[mid] < id) low = mid + 1; else high = mid;
    }
    return row.ids[low] === id ? low : -1;
  }

  // probability is 0 for a removed token and NaN for an unlisted one.
  function probability(row, id) {
    const at = place(row, id);
    if (at < 0) return row.unlisted > 0 ? NaN : 0;
    return weigh(row).share * weigh(row).weights[at];
  }

  // keep returns a row of the given places; KeepPlaces.
  function keep(row, places) {
    if (places.length === row.values.length) return row;
    return { ids: Int32Array.from(places, p => idOf(row, p)), values: Float32Array.from(places, p => row.values[p]), vocab: row.vocab, unlisted: row.unlisted };
  }

  // listed returns a row without its unlisted tokens.
  const listed = row => row.unlisted === 0 ? row : { ids: row.ids, values: row.values, vocab: row.vocab, unlisted: 0 };

  // best returns the places of the n likeliest tokens, ties by id, and sorts no
  // more than those.
  function best(row, n) {
    const out = [], v = row.values;
    for (let i = 0; i < v.length; i++) {
      if (!has(v[i]) || out.length === n && !(v[i] > v[out[n - 1]])) continue;
      let at = out.length;
      while (at > 0 && v[out[at - 1]] < v[i]) at--;
      out.splice(at, 0, i);
      if (out.length > n) out.pop();
    }
    return out;
  }

  // massWithout returns the probability of all tokens but some.
  function massWithout(row, ids) {
    const { weights, share } = weigh(row), out = new Set(ids.map(id => place(row, id)));
    let sum = 0;
    weights.forEach((w, i) => { if (w > 0 && !out.has(i)) sum += w; });
    return share * sum + row.unlisted;
  }

  // draw is vec.Draw: the first token, by id, whose running sum exceeds u times
  // the total. It runs over the blocks first and then within one.
  function draw(row, u) {
    const { weights, total } = weigh(row), target = Math.min(u * total, lab.below(total));
    let before = 0, from = 0, to = 0;
    for (let at = 0; ; from = at) {
      const block = idOf(row, at) >> 10, sum = lab.adder();
      for (; at < weights.length && idOf(row, at) >> 10 === block; at++) sum.add(idOf(row, at), weights[at]);
      to = at;
      const next = before + sum.total();
      if (next > target || at === weights.length) break;
      before = next;
    }
    let last = from;
    for (let i = from; i < to; i++) {
      if (weights[i] === 0) continue;
      last = i;
      if ((before += weights[i]) > target) break;
    }
    return idOf(row, last);
  }

  // change is dist.Compare for stages that add no token: one line of the ledger,
  // in bits. Its sums are plain ones, off by their rounding.
  function change(before, after) {
    const b = weigh(before), a = weigh(after), shift = lnTotal(after) - lnTotal(before);
    let kept = 0, dropped = 0, kl = 0, l1 = 0, j = 0;
    for (let i = 0; i < before.values.length; i++) {
      const id = idOf(before, i);
      while (j < after.values.length && idOf(after, j) < id) j++;
      if (!has(before.values[i])) continue;
      if (j === after.values.length || idOf(after, j) !== id || !has(after.values[j])) {
        dropped += b.weights[i];
        continue;
      }
      const q = a.share * a.weights[j];
      kept += b.weights[i];
      l1 += Math.abs(q - b.share * b.weights[i]);
      if (q > 0) kl += q * (after.values[j] - a.top - (before.values[i] - b.top) - shift);
    }
    l1 += b.share * dropped + before.unlisted - after.unlisted;
    return { supportBefore: b.support, supportAfter: a.support, cutMass: b.share * dropped + before.unlisted - after.unlisted, keptMass: Math.min(1, b.share * kept + after.unlisted),
      entropyBefore: entropyBits(before), entropyAfter: entropyBits(after), unlistedBefore: before.unlisted, unlistedAfter: after.unlisted,
      kl: Math.max(0, kl / Math.LN2), tv: Math.min(1, l1 / 2) };
  }

  Object.assign(lab, { LOWEST, idOf, has, weigh, probability, keep, listed, best, massWithout, draw, change });
})();
