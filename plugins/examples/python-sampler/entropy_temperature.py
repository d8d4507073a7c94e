"""A sampler for lab: a temperature that follows the entropy.

Where the model is sure, the distribution is sharpened; where many tokens are
about equally good, it is left nearly as it is. The rule is EDT of Zhang, Bao and
Huang (2024). Everything lab must know of it is in the declaration below; the rest
is one function.
"""

import math

from lab_plugin import entropy_nats, param, sampler, serve

try:
    import numpy as np
except ImportError:  # plain lists do as well, only slower
    np = None

LOWEST = -3.4028234663852886e38  # of 32-bit numbers; beside any other score its probability is 0


@sampler(
    formula="l_i / T with T = temperature · base^(theta / H), H the entropy of the row in nats",
    source="Zhang, Bao, Huang 2024, EDT: Improving Large Language Models' Generation by Entropy-based Dynamic Temperature "
           "Sampling, arXiv 2403.14541",
    aliases=["edt"],
    params=[
        param.number("temperature", aliases=["t"], default=1.0, min=0, min_open=True, max=100,
                     meaning="the temperature that is approached as the entropy grows; with theta = 0 it is the temperature itself"),
        param.number("theta", default=0.5, min=0, max=100, unit="nats",
                     meaning="how strongly a low entropy cools; 0 makes the temperature constant"),
        param.number("base", aliases=["n"], default=0.8, min=0, min_open=True, max=1,
                     meaning="the factor of the temperature at an entropy of theta; 1 makes the temperature constant"),
    ],
)
def entropy_temperature(scores, row, *, temperature, theta, base):
    """Divides every score by a temperature that falls with the entropy of the row: sure steps are sharpened, open ones
    are not. The order of tokens stays, ties stay ties, and no token is removed.
    """
    t = cooled(entropy_nats(scores), temperature, theta, base)
    if t == 1:
        return scores
    if np is None:
        top = max(scores)
        return [x if x == -math.inf else divide(x - top, t) for x in scores]
    top = float(scores.max())
    out = np.full(len(scores), -np.inf)
    listed = np.isfinite(scores)
    below = scores[listed].astype(np.float64) - top
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        out[listed] = np.where(below == 0, 0.0, np.maximum(below / t, LOWEST))
    return out


def cooled(entropy, temperature, theta, base):
    """Returns the temperature for an entropy in nats. It tends to 0 with the
    entropy, unless nothing cools."""
    if theta == 0 or base == 1:
        return temperature
    if entropy == 0:
        return 0.0
    return temperature * base ** (theta / entropy)


def divide(below, t):
    """Divides a score, relative to the largest one; at t = 0 the limit: only the
    largest ones count."""
    if below == 0:
        return 0.0
    return max(below / t, LOWEST) if t > 0 else LOWEST


if __name__ == "__main__":
    serve("entropy", version="0.1.0", samplers=[entropy_temperature])
