// The numbers of core/dist/vec: a fused multiply-add, which JavaScript lacks, the
// exponential made of it, the logarithm of Go's package math, and sums whose order
// is part of their definition.
(() => {
  const double = new Float64Array(1), words = new Uint32Array(double.buffer);
  double[0] = 1;
  const LOW = words[1] ? 0 : 1, HIGH = 1 - LOW; // of a double's two words

  // fma returns a*b + c, rounded once (Boldo and Melquiond 2008, Emulation of FMA
  // and correctly rounded sums: proved algorithms using rounding to odd). Products
  // are below 2^970, and above 2^-960 where their last bit matters.
  function fma(a, b, c) {
    let t = 134217729 * a; // 2^27 + 1 splits a number in two halves (Dekker 1971)
    const p = a * b, aHigh = t - (t - a), aLow = a - aHigh;
    t = 134217729 * b;
    const bHigh = t - (t - b), bLow = b - bHigh;
    const rest = aLow * bLow - (p - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
    const s = c + rest, sPart = s - c, sRest = (c - (s - sPart)) + (rest - sPart);
    const v = p + s, vPart = v - p, vRest = (p - (v - vPart)) + (s - vPart);
    let odd = sRest + vRest;
    const part = odd - sRest, off = (sRest - (odd - part)) + (vRest - part);
    if (off !== 0) {
      double[0] = odd;
      if ((words[LOW] & 1) === 0) {
        if (off > 0 === odd > 0) words[LOW] |= 1;
        else if (words[LOW]-- === 0) words[HIGH]--;
        odd = double[0];
      }
    }
    return v + odd;
  }

  // exp is vec.Exp, coefficient by coefficient.
  const MAGIC = 6755399441055744, LOG2E = 1.4426950408889634, LN2_HIGH = 0.6931471805599453, LN2_LOW = 2.3190468138462996e-17;
  const Q = [
    0.5000000000000001, 0.16666666666666669, 0.041666666666624164, 0.008333333333330065, 0.0013888888917196719,
    0.00019841269863040545, 2.4801521322368692e-05, 2.7557268480310024e-06, 2.7620075879983367e-07, 2.5100375832561234e-08];
  function exp(x) {
    if (!(x >= -708)) return 0;
    const shifted = fma(x, LOG2E, MAGIC), n = shifted - MAGIC;
    const r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    let p = Q[9];
    for (let i = 8; i >= 0; i--) p = fma(p, r, Q[i]);
    p = fma(fma(p, r, 1), r, 1);
    double[0] = shifted;
    const shift = words[LOW] << 20;
    double[0] = p;
    words[HIGH] += shift;
    return double[0];
  }

  // log is math.Log of a positive number, which is e_log.c of FreeBSD.
  function log(x) {
    let k = 0;
    if (x < 2.2250738585072014e-308) { x *= 4503599627370496; k = -52; }
    double[0] = x;
    k += (words[HIGH] >>> 20) - 1022;
    words[HIGH] = words[HIGH] & 0xfffff | 0x3fe00000;
    let f = double[0];
    if (f < Math.SQRT1_2) { f *= 2; k--; }
    f -= 1;
    const s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
    const t1 = s2 * (6.666666666666735130e-01 + s4 * (2.857142874366239149e-01 + s4 * (1.818357216161805012e-01 + s4 * 1.479819860511658591e-01)));
    const t2 = s4 * (3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01));
    const half = 0.5 * f * f;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + (t1 + t2)) + k * 1.90821492927058770002e-10)) - f);
  }

  // below returns the largest double under a positive one.
  function below(x) {
    double[0] = x;
    if (words[LOW]-- === 0) words[HIGH]--;
    return double[0];
  }

  const single = new Float32Array(1), bits = new Int32Array(single.buffer);

  // step32 returns the float32 number next to one, in the direction of by.
  function step32(v, by) {
    if (v === 0) return by * 1.401298464324817e-45;
    single[0] = v;
    bits[0] += v > 0 === by > 0 ? 1 : -1;
    return single[0];
  }

  // adder adds numbers of tokens in ascending order: each to lane id mod 8 of its
  // block id / 1024, then the lanes in halves, then the blocks in order.
  function adder() {
    const lanes = new Float64Array(8);
    let block = -1, total = 0;
    const fold = () => {
      const sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
      lanes.fill(0);
      return sum;
    };
    return {
      add(id, x) {
        if (id >> 10 !== block) { total += fold(); block = id >> 10; }
        lanes[id & 7] += x;
      },
      addProduct(id, x, y) { // fused
        if (id >> 10 !== block) { total += fold(); block = id >> 10; }
        lanes[id & 7] = fma(x, y, lanes[id & 7]);
      },
      total() { total += fold(); return total; },
    };
  }

  Object.assign(lab, { fma, exp, log, below, step32, adder });
})();
