// The arithmetic of the page, twin of the core's: the same operations on the same
// numbers in the same order, so that a draw is the same token and not nearly so.
// Each function names what it follows in Go; tests compare the two to the bit.
// This file: the random numbers of core/seed.
"use strict";
const lab = {};
(() => {
  // root is the whole part of the n-th root of a BigInt, by bisection.
  function root(x, n) {
    let low = 0n, high = 1n << 64n;
    while (low < high) {
      const mid = (low + high + 1n) / 2n;
      if (mid ** n <= x) low = mid; else high = mid - 1n;
    }
    return low;
  }

  // The constants of SHA-256 (FIPS 180-4): fractions of the roots of the first
  // primes. Cube roots are settled in integers, since Math.cbrt may be off by a unit.
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every(p => n % p)) primes.push(n);
  const K = primes.map(p => Number(root(BigInt(p) << 96n, 3n) & 0xffffffffn) | 0);
  const H = primes.slice(0, 8).map(p => Math.floor((Math.sqrt(p) - Math.floor(Math.sqrt(p))) * 4294967296) | 0);

  // sha256 hashes an array of bytes to 32 bytes.
  function sha256(bytes) {
    const h = H.slice();
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
        const t1 = v[7] + (rot(e, 6) ^ rot(e, 11) ^ rot(e, 25)) + (e & v[5] ^ ~e & v[6]) + K[i] + w[i] | 0;
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

  Object.assign(lab, { sha256, philox, uniform });
})();
