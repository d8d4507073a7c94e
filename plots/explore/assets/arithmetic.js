// The arithmetic of the page: random numbers, stages, the ledger and the draw.
// Each function is the twin of one in Go, named beside it; a test compares them.
//
// A row is a Float32Array over the whole vocabulary, -Infinity for a removed
// token. Weights and sums are float64. Math.exp and the plain order of addition
// differ from the core's by rounding only (below 1e-10 relative for 262,144
// tokens); a draw could differ only where the uniform number falls that close to
// the border of two tokens.
"use strict";
const lab = (() => {
  // SHA-256 (FIPS 180-4) of an array of bytes, as 32 bytes.
  function sha256(bytes) {
    const primes = [];
    for (let n = 2; primes.length < 64; n++) if (primes.every(p => n % p)) primes.push(n);
    const fraction = x => Math.floor((x - Math.floor(x)) * 4294967296) | 0;
    // Cube roots are settled in integers: Math.cbrt may be off by a unit.
    const k = primes.map(p => Number(root(BigInt(p) << 96n, 3n) & 0xffffffffn) | 0);
    const h = primes.slice(0, 8).map(p => fraction(Math.sqrt(p)));
    const length = bytes.length, padded = new Uint8Array(((length + 8 >> 6) + 1) * 64);
    padded.set(bytes);
    padded[length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(length / 0x20000000));
    view.setUint32(padded.length - 4, length << 3 >>> 0);
    const w = new Int32Array(64), rot = (x, n) => x >>> n | x << 32 - n;
    for (let at = 0; at < padded.length; at += 64) {
      for (let i = 0; i < 64; i++) {
        if (i < 16) { w[i] = view.getInt32(at + 4 * i); continue; }
        const a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rot(a, 7) ^ rot(a, 18) ^ a >>> 3) + w[i - 7] + (rot(b, 17) ^ rot(b, 19) ^ b >>> 10);
      }
      const v = h.slice();
      for (let i = 0; i < 64; i++) {
        const e = v[4], a = v[0];
        const t1 = v[7] + (rot(e, 6) ^ rot(e, 11) ^ rot(e, 25)) + (e & v[5] ^ ~e & v[6]) + k[i] + w[i] | 0;
        const t2 = (rot(a, 2) ^ rot(a, 13) ^ rot(a, 22)) + (a & v[1] ^ a & v[2] ^ v[1] & v[2]) | 0;
        v.pop();
        v.unshift(t1 + t2 | 0);
        v[4] = v[4] + t1 | 0;
      }
      for (let i = 0; i < 8; i++) h[i] = h[i] + v[i] | 0;
    }
    const out = new Uint8Array(32), o = new DataView(out.buffer);
    h.forEach((x, i) => o.setInt32(4 * i, x));
    return out;
  }

  // root is the whole part of the n-th root of a BigInt, by bisection.
  function root(x, n) {
    let low = 0n, high = 1n << 64n;
    while (low < high) {
      const mid = (low + high + 1n) / 2n;
      if (mid ** n <= x) low = mid; else high = mid - 1n;
    }
    return low;
  }

  // key is core/seed.New: seed is a BigInt below 2^64.
  function key(seed, prompt) {
    const head = Array.from("lab/seed/1", c => c.charCodeAt(0));
    for (let i = 0n; i < 8n; i++) head.push(Number(seed >> 8n * i & 255n));
    const sum = new DataView(sha256(Uint8Array.from(head.concat(Array.from(prompt)))).buffer);
    return [sum.getUint32(0, true), sum.getUint32(4, true)];
  }

  // mul32 returns the high and the low half of a product of 32-bit numbers.
  function mul32(a, b) {
    const a1 = a >>> 16, a0 = a & 0xffff, b1 = b >>> 16, b0 = b & 0xffff;
    const low = a0 * b0, mid = a1 * b0 + Math.floor(low / 65536), mid2 = a0 * b1 + mid % 65536;
    return [a1 * b1 + Math.floor(mid / 65536) + Math.floor(mid2 / 65536) >>> 0, Math.imul(a, b) >>> 0];
  }

  // philox is core/seed's: ten rounds of Philox4x32 (Salmon et al. 2011).
  function philox(ctr, key) {
    let [c0, c1, c2, c3] = ctr, [k0, k1] = key;
    for (let round = 0; round < 10; round++) {
      if (round > 0) { k0 = k0 + 0x9E3779B9 >>> 0; k1 = k1 + 0xBB67AE85 >>> 0; }
      const [h0, l0] = mul32(0xD2511F53, c0), [h1, l1] = mul32(0xCD9E8D57, c2);
      [c0, c1, c2, c3] = [(h1 ^ c1 ^ k0) >>> 0, l1, (h0 ^ c3 ^ k1) >>> 0, l0];
    }
    return [c0, c1, c2, c3];
  }

  // uniform is the first number of Stream.Uniforms for sample 0 and the lane of
  // the token draw: in [0, 1), a multiple of 2^-53.
  function uniform(seed, prompt, step) {
    const out = philox([0, step, 0, 0], key(seed, prompt));
    return (out[0] * 2097152 + (out[1] >>> 11)) / 9007199254740992;
  }

  // shape is core/dist's mass: natural logarithms, entropy in nats.
  function shape(row) {
    let top = -Infinity, total = 0, lean = 0, support = 0;
    for (const v of row) if (v > top) top = v;
    for (const v of row) {
      if (v === -Infinity) continue;
      const w = Math.exp(v - top);
      support++;
      total += w;
      if (w > 0) lean += w * (v - top);
    }
    return { top, total, support, entropy: Math.log(total) - lean / total };
  }

  const REACHED = 1 - 1e-9, AT_BORDER = 1e-12, LOWEST = -3.4028234663852886e38; // truncate/top_p.go, floor.go

  // keepCheapest keeps the shortest list of tokens of lowest cost whose weights
  // reach need, ties by id; truncate.cheapest.
  function keepCheapest(row, cost, weight, need) {
    const ids = [];
    row.forEach((v, i) => { if (v !== -Infinity) ids.push(i); });
    const costs = Float64Array.from(row, v => v === -Infinity ? 0 : cost(v));
    ids.sort((a, b) => costs[a] - costs[b] || a - b);
    let n = 0;
    for (let sum = 0; n < ids.length && (n === 0 || sum < need); n++) sum += weight(row[ids[n]]);
    for (let i = n; i < ids.length; i++) row[ids[i]] = -Infinity;
  }

  // keepAbove keeps the scores of at least floor, and never less than the best
  // token, the lowest id of tied ones; truncate.keepAbove.
  function keepAbove(row, floor) {
    if (!row.some(v => v >= Math.max(floor, LOWEST))) return keepCheapest(row, v => -v, () => 1, 1);
    row.forEach((v, i) => { if (v < floor) row[i] = -Infinity; });
  }

  // stages change a row in place; names and settings are those of plugins/samplers.
  const stages = {
    temperature(row, t) {
      if (t === 1) return;
      if (t === 0) return keepCheapest(row, v => -v, () => 1, 1);
      let most = 0, top = -Infinity;
      for (const v of row) if (v !== -Infinity) { most = Math.max(most, Math.abs(v)); top = Math.max(top, v); }
      const shift = most / t > 65536 ? top : 0;
      row.forEach((v, i) => { if (v !== -Infinity) row[i] = Math.max((v - shift) / t, LOWEST); });
    },
    top_k(row, k) { if (k > 0) keepCheapest(row, v => -v, () => 1, k); },
    top_p(row, p) {
      if (p === 1) return;
      const d = shape(row);
      keepCheapest(row, v => -v, v => Math.exp(v - d.top), p * d.total * REACHED);
    },
    min_p(row, p) { if (p > 0) keepAbove(row, shape(row).top + Math.log(p)); },
    typical(row, p) {
      if (p === 1) return;
      const d = shape(row), offset = Math.log(d.total) - d.entropy;
      keepCheapest(row, v => Math.abs(d.top - v + offset), v => Math.exp(v - d.top), p * d.total * REACHED);
    },
    top_n_sigma(row, n) {
      if (!(n > 0)) return;
      let count = 0, sum = 0, squares = 0, off = 0, top = -Infinity;
      for (const v of row) if (v !== -Infinity) { count++; sum += v; top = Math.max(top, v); }
      for (const v of row) if (v !== -Infinity) { const x = v - sum / count; off += x; squares += x * x; }
      const rest = off / count;
      keepAbove(row, top - n * Math.sqrt(Math.max(0, squares / count - rest * rest)) / REACHED);
    },
  };

  // change is core/dist's Compare: bits, the numbers of one line of the ledger.
  function change(before, after) {
    const b = shape(before), a = shape(after), lnB = Math.log(b.total), lnA = Math.log(a.total);
    let kept = 0, kl = 0, l1 = 0;
    for (let i = 0; i < before.length; i++) {
      const p = Math.exp(before[i] - b.top) / b.total, q = Math.exp(after[i] - a.top) / a.total;
      if (after[i] !== -Infinity) {
        kept += p;
        if (q > 0) kl += q * (after[i] - a.top - lnA - (before[i] - b.top - lnB));
      }
      l1 += Math.abs(p - q);
    }
    return { supportBefore: b.support, supportAfter: a.support, keptMass: Math.min(1, kept),
      entropyBefore: b.entropy / Math.LN2, entropyAfter: a.entropy / Math.LN2,
      kl: Math.max(0, kl / Math.LN2), tv: l1 / 2 };
  }

  // draw is vec.Draw: the first token, by id, whose running sum exceeds u * total.
  function draw(row, u) {
    const d = shape(row);
    let sum = 0, last = -1;
    for (let i = 0; i < row.length; i++) {
      const w = Math.exp(row[i] - d.top);
      if (w === 0) continue;
      last = i;
      if ((sum += w) > u * d.total) return i;
    }
    return last;
  }

  // run applies [[name, value], …] to a copy of a row.
  function run(row, chain) {
    let now = Float32Array.from(row);
    const ledger = [];
    for (const [name, value] of chain) {
      const after = Float32Array.from(now);
      stages[name](after, value);
      ledger.push(Object.assign({ name, value, row: after }, change(now, after)));
      now = after;
    }
    return { row: now, ledger };
  }

  return { sha256, key, philox, uniform, shape, change, draw, run, stages };
})();
