"""Writes reference.json: numbers of scipy, statsmodels, nltk and numpy that the tests compare with.

Run it in an environment with the versions that reference.json names."""
import itertools, json, math, types
import nltk, numpy as np, scipy, statsmodels
import statsmodels.api as sm
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.proportion import proportion_confint

rng = np.random.default_rng(20261203)
out = {"versions": {m.__name__: m.__version__ for m in (np, scipy, statsmodels, nltk)}}
f = float

# self-BLEU of random texts, some short, some equal
texts = [rng.integers(0, 6, n).tolist() for n in (9, 12, 12, 3, 1, 20, 7)]
texts.append(list(texts[1]))
texts.append([90, 91, 92])
bleu = {}
for n in (1, 2, 3, 4, 5):
    bleu[str(n)] = [f(sentence_bleu([t for j, t in enumerate(texts) if j != i], h, [1 / n] * n,
                                    smoothing_function=SmoothingFunction().method1)) for i, h in enumerate(texts)]
out["self_bleu"] = {"texts": texts, "scores": bleu}

# Zipf exponents
zipf = []
for counts in ([12, 6, 4, 3], [10, 5, 2, 1], sorted(rng.integers(1, 400, 60).tolist(), reverse=True), [1000, 1], [7, 7, 7]):
    r = np.log(np.arange(1, len(counts) + 1)); c = np.array(counts, float)
    nll = lambda s: s * (c * r).sum() + c.sum() * np.log(np.exp(-s * r).sum())
    fit = optimize.minimize_scalar(nll, bounds=(-1, 40), method="bounded", options={"xatol": 1e-12})
    zipf.append({"counts": counts, "regression": f(-np.polyfit(r, np.log(c), 1)[0]), "mle": f(fit.x)})
out["zipf"] = zipf

# intervals
x = np.round(rng.gamma(2, 3, 23), 3)
m, se = x.mean(), stats.sem(x)
out["mean"] = {"x": x.tolist(), "t95": list(map(f, stats.t.interval(0.95, 22, m, se))), "t80": list(map(f, stats.t.interval(0.8, 22, m, se)))}
replicates = np.array([rng.choice(x, x.size).mean() for _ in range(999)])
for method in ("percentile", "bca"):
    r = stats.bootstrap((x,), np.mean, n_resamples=0, confidence_level=0.9, method=method, vectorized=False,
                        bootstrap_result=types.SimpleNamespace(bootstrap_distribution=replicates))
    out["mean"][method + "90"] = [f(r.confidence_interval.low), f(r.confidence_interval.high)]
out["mean"]["replicates"] = replicates.tolist()
den = rng.integers(1, 40, 23).astype(float)
R = x.sum() / den.sum()
e = x - R * den
half = stats.t.ppf(0.975, 22) * math.sqrt(23 / 22 * (e ** 2).sum()) / den.sum()
out["ratio"] = {"den": den.tolist(), "value": f(R), "t95": [f(R - half), f(R + half)]}

props = []
for k, n in ((0, 10), (7, 10), (10, 10), (1, 3), (37, 400), (0, 1), (1, 1), (499999, 1000000)):
    row = {"k": k, "n": n}
    for level in (0.95, 0.8):
        row["wilson%d" % (100 * level)] = list(map(f, proportion_confint(k, n, 1 - level, "wilson")))
        b = stats.binomtest(k, n).proportion_ci(level, "exact")
        row["exact%d" % (100 * level)] = [f(b.low), f(b.high)]
    props.append(row)
out["proportions"] = props

groups = ["p%d" % g for g in rng.integers(0, 12, 60)]
effect = {g: rng.normal() for g in sorted(set(groups))}
y = np.round(np.array([effect[g] + rng.normal() for g in groups]), 4)
codes = np.unique(groups, return_inverse=True)[1]
fit = sm.OLS(y, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
by = [y[codes == c] for c in range(codes.max() + 1)]
F = stats.f_oneway(*by).statistic
n0 = (60 - sum(len(b) ** 2 for b in by) / 60) / (len(by) - 1)
icc = (F - 1) / (F - 1 + n0)
out["cluster"] = {"y": y.tolist(), "groups": groups, "t95": list(map(f, fit.conf_int(0.05)[0])),
                  "design_effect": f(fit.bse[0] ** 2 / (y.var(ddof=1) / 60)), "icc": f(icc),
                  "kish": f(1 + (sum(len(b) ** 2 for b in by) / 60 - 1) * icc)}

quantiles = []
for n in (5, 8, 23, 100):
    v = np.sort(np.round(rng.normal(size=n), 5))
    for q in (0.5, 0.25, 0.9):
        ci = stats.quantile_test(v, p=q).confidence_interval(0.95)
        quantiles.append({"x": v.tolist(), "q": q, "value": f(np.quantile(v, q)),
                          "exact95": [None if not np.isfinite(t) else f(t) for t in (ci.low, ci.high)]})
out["quantiles"] = quantiles

# paired tests
pairs = []
for n, rounded in ((5, False), (12, True), (30, True), (60, False), (250, True)):
    a = rng.normal(0.3, 1, n); b = 0.6 * a + rng.normal(0, 0.8, n)
    a, b = (np.round(a, 1), np.round(b, 1)) if rounded else (np.round(a, 6), np.round(b, 6))
    d = np.round(a - b, 6)
    row = {"a": a.tolist(), "b": b.tolist(), "t": f(stats.ttest_rel(a, b).statistic), "t_p": f(stats.ttest_rel(a, b).pvalue),
           "sign_p": f(stats.binomtest(int((d > 0).sum()), int((d != 0).sum())).pvalue), "corr": f(np.corrcoef(a, b)[0, 1])}
    nz = d[d != 0]
    if n > 100:
        w = stats.wilcoxon(d, method="asymptotic", correction=True)
        row["wilcoxon_p"] = f(w.pvalue)
    elif len(np.unique(np.abs(nz))) == len(d):
        row["wilcoxon_p"] = f(stats.wilcoxon(d, method="exact").pvalue)
    if n <= 12:
        p = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf)
        row["permutation_p"] = f(p.pvalue)
        r = stats.rankdata(np.abs(nz))
        sums = [sum(ri for ri, s in zip(r, signs) if s) for signs in itertools.product((0, 1), repeat=len(r))]
        obs = r[nz > 0].sum()
        low, high = np.mean([s <= obs + 1e-9 for s in sums]), np.mean([s >= obs - 1e-9 for s in sums])
        row["wilcoxon_p"] = f(min(1, 2 * min(low, high)))
    pairs.append(row)
out["pairs"] = pairs
out["mcnemar"] = [{"b": b, "c": c, "p": f(mcnemar([[5, b], [c, 7]], exact=True).pvalue)} for b, c in ((1, 9), (4, 4), (0, 3), (20, 41), (0, 1))]

# independent groups
two = []
for n, m, rounded in ((4, 5, False), (5, 6, True), (20, 17, False), (90, 70, True), (40, 60, False)):
    a, b = rng.normal(0.4, 1, n), rng.normal(0, 2, m)
    a, b = (np.round(a), np.round(b)) if rounded else (np.round(a, 6), np.round(b, 6))
    w = stats.ttest_ind(a, b, equal_var=False)
    ci = w.confidence_interval(0.9)
    row = {"a": a.tolist(), "b": b.tolist(), "t": f(w.statistic), "df": f(w.df), "t_p": f(w.pvalue), "welch90": [f(ci.low), f(ci.high)],
           "u": f(stats.mannwhitneyu(a, b).statistic)}
    if n + m > 100:
        row["u_p"] = f(stats.mannwhitneyu(a, b, method="asymptotic").pvalue)
    elif not rounded:
        row["u_p"] = f(stats.mannwhitneyu(a, b, method="exact").pvalue)
    if n + m <= 11:
        mean = lambda u, v: np.mean(u) - np.mean(v)
        every = [mean(z[list(i)], np.delete(z, list(i))) for z in [np.concatenate([a, b])] for i in itertools.combinations(range(n + m), n)]
        row["permutation_p"] = f(np.mean(np.abs(every) >= abs(mean(a, b)) - 1e-9))
        ranks = stats.rankdata(np.concatenate([a, b]))
        sums = np.array([ranks[list(i)].sum() for i in itertools.combinations(range(n + m), n)])
        row["u_p"] = f(min(1, 2 * min((sums <= ranks[:n].sum() + 1e-9).mean(), (sums >= ranks[:n].sum() - 1e-9).mean())))
    two.append(row)
out["groups"] = two

p = np.round(rng.uniform(0, 0.2, 9), 5); p[3] = p[5]
out["many"] = {"p": p.tolist(), "holm": multipletests(p, method="holm")[1].tolist(), "bh": multipletests(p, method="fdr_bh")[1].tolist()}

power = []
for d, n, alpha in ((0.5, 20, 0.05), (0.2, 100, 0.01), (1.5, 3, 0.05), (0.8, 2, 0.1), (0.05, 4000, 0.05)):
    power.append({"d": d, "n": n, "alpha": alpha, "paired": f(TTestPower().power(d, n, alpha)), "groups": f(TTestIndPower().power(d, n, alpha))})
out["power"] = power
out["needed"] = [{"d": d, "power": w, "paired": math.ceil(TTestPower().solve_power(d, None, 0.05, w)),
                  "groups": math.ceil(TTestIndPower().solve_power(d, None, 0.05, w))} for d, w in ((0.5, 0.8), (0.2, 0.9), (1.0, 0.8), (0.1, 0.95))]

json.dump(out, open("reference.json", "w"), indent=1)
