"""Arrays of numbers, with numpy when it can be imported and without it else.

Everything that differs between the two is here and in ledger.py. Arrays are
numpy arrays, or array.array of the same element type; both index, iterate,
slice and give their bytes alike. Bytes are little-endian, as lab.proto says.
"""

from __future__ import annotations

import itertools
import math
import sys
from array import array

try:
    import numpy
except ImportError:
    numpy = None

LARGEST = 3.4028234663852886e38  # the largest finite binary32
_SWAP = sys.byteorder == "big"


def floats(raw: bytes):
    """Returns the binary32 numbers in raw, a copy of the caller's own."""
    return numpy.frombuffer(raw, "<f4").astype(numpy.float32) if numpy is not None else _read("f", raw)


def ints(raw: bytes):
    """Returns the int32 numbers in raw."""
    return numpy.frombuffer(raw, "<i4").astype(numpy.int32) if numpy is not None else _read("i", raw)


def doubles(raw: bytes):
    """Returns the binary64 numbers in raw."""
    return numpy.frombuffer(raw, "<f8").astype(numpy.float64) if numpy is not None else _read("d", raw)


def _read(code: str, raw: bytes):
    out = array(code)
    out.frombytes(raw)
    if _SWAP:
        out.byteswap()
    return out


def to_bytes(numbers) -> bytes:
    """Returns an array as it travels."""
    if _SWAP:
        numbers = numbers.byteswap() if numpy is not None else _swapped(numbers)
    return numbers.tobytes()


def _swapped(numbers):
    numbers = array(numbers.typecode, numbers)
    numbers.byteswap()
    return numbers


def tokens(raw: bytes) -> array:
    """Returns the token ids in raw as an array.array, whether numpy is there or not."""
    return _read("i", raw)


def token_bytes(ids) -> bytes:
    """Returns token ids as they travel; TypeError or OverflowError when they are none."""
    out = array("i", ids)
    return (_swapped(out) if _SWAP else out).tobytes()


def iota(count: int):
    """Returns 0, 1, … count - 1, the token ids of a dense row."""
    return numpy.arange(count, dtype=numpy.int32) if numpy is not None else range(count)


def scores(numbers, count: int):
    """Returns what a sampler or a model gave as scores as count binary32 numbers.

    ValueError says what is wrong: another length, another type, or a finite
    number that binary32 cannot hold, which would silently become infinite.
    """
    if numpy is not None:
        return _scores_numpy(numbers, count)
    if isinstance(numbers, array) and numbers.typecode == "f":
        out = numbers
    else:
        out = array("f", _narrow(numbers))
    if len(out) != count:
        raise ValueError(f"it returned {len(out)} scores where it was given {count}")
    return out


def _narrow(numbers):
    try:
        given = array("d", numbers)
    except TypeError as error:
        raise ValueError(f"it returned {type(numbers).__name__}, which is no sequence of scores: {error}") from None
    for at, x in enumerate(given):
        if abs(x) > LARGEST and not math.isinf(x):
            raise ValueError(f"score {at} is {x}, beyond the range of 32-bit numbers")
    return given


def _scores_numpy(numbers, count: int):
    try:
        given = numpy.asarray(numbers)
        if given.ndim == 0 and hasattr(numbers, "__iter__"):
            given = numpy.asarray(list(numbers))
    except ValueError as error:
        raise ValueError(f"it returned no sequence of scores: {error}") from None
    if given.shape != (count,):
        shape = f"{len(given)} scores" if given.ndim == 1 else f"an array of shape {given.shape}"
        raise ValueError(f"it returned {shape} where it was given {count} scores")
    if given.dtype == numpy.float32:
        return numpy.ascontiguousarray(given)
    if given.dtype.kind not in "fiu":
        raise ValueError(f"it returned elements of type {given.dtype}, not numbers")
    with numpy.errstate(over="ignore"):
        out = given.astype(numpy.float32)
    lost = numpy.isfinite(given) & ~numpy.isfinite(out)
    if lost.any():
        at = int(lost.argmax())
        raise ValueError(f"score {at} is {given[at]}, beyond the range of 32-bit numbers")
    return out


def examine(values):
    """Returns the index of the first score that is NaN or +Inf, or -1, and the
    flags of the support: for each score, whether its token is in it."""
    if numpy is not None:
        if not values.max() <= LARGEST:
            return int((~(values <= LARGEST)).argmax()), None
        return -1, numpy.isfinite(values)
    total = sum(values)  # finite scores stay finite in binary64; all others show
    if math.isfinite(total):
        return -1, b"\x01" * len(values)
    if total == -math.inf:  # beside -Inf, +Inf would give NaN
        return -1, bytes(map(math.isfinite, values))
    return next((at for at, x in enumerate(values) if not x <= LARGEST), -1), None


def count(flags) -> int:
    """Returns how many flags are set."""
    return int(numpy.count_nonzero(flags)) if numpy is not None else flags.count(1)


def select(numbers, flags):
    """Returns the numbers whose flags are set, in their order and element type;
    the very array when all are."""
    if numpy is not None:
        return numbers if flags.all() else numbers[flags]
    if 0 not in flags and isinstance(numbers, array):
        return numbers
    code = numbers.typecode if isinstance(numbers, array) else "i"
    return array(code, itertools.compress(numbers, flags))


def restrict(flags, to):
    """Returns the flags at the places where to is set."""
    return flags[to] if numpy is not None else bytes(itertools.compress(flags, to))


def first_without(flags, allowed) -> int:
    """Returns the first place where flags is set and allowed is not, or -1."""
    if numpy is not None:
        wrong = flags & ~allowed
        return int(wrong.argmax()) if wrong.any() else -1
    if flags == allowed or 0 not in allowed:
        return -1
    return next((at for at, flag in enumerate(flags) if flag and not allowed[at]), -1)


def copy(numbers):
    """Returns a copy of the same type."""
    return numbers.copy() if numpy is not None else array(numbers.typecode, numbers)


def frozen(numbers):
    """Returns an array that cannot be written to, where there is such a thing."""
    if numpy is not None:
        numbers.flags.writeable = False
    return numbers


def ascending(ids, vocab: int) -> int:
    """Returns the first place whose token id is out of order or outside the
    vocabulary, or -1."""
    if numpy is not None:
        if len(ids) == 0 or ids[0] >= 0 and ids[-1] < vocab and bool((ids[1:] > ids[:-1]).all()):
            return -1
    last = -1
    for at, token in enumerate(ids):
        if token <= last or token >= vocab:
            return at
        last = token
    return -1


def outside(ids, vocab: int) -> int:
    """Returns the first place of a token id outside [0, vocab), or -1."""
    if len(ids) == 0 or min(ids) >= 0 and max(ids) < vocab:
        return -1
    return next(at for at, token in enumerate(ids) if not 0 <= token < vocab)


def probabilities(values):
    """Returns the softmax of scores in binary64: removed tokens have exactly 0.

    The sum runs over the tokens in the support alone, so that a row with -inf
    entries and the same row without them give the same bits.
    """
    if numpy is not None:
        values = numpy.asarray(values, dtype=numpy.float64)
        kept = numpy.isfinite(values)
        listed = values[kept]
        weights = numpy.exp(listed - listed.max())
        out = numpy.zeros(len(values))
        out[kept] = weights / weights.sum()
        return out
    top = max(values)
    weights = [math.exp(x - top) if math.isfinite(x) else 0.0 for x in values]
    total = math.fsum(weights)
    return [w / total for w in weights]


def entropy_nats(values) -> float:
    """Returns the entropy of the softmax of scores, in nats; 0 log 0 is 0."""
    p = probabilities(values)
    if numpy is not None:
        p = p[p > 0]
        return max(0.0, float(-(p * numpy.log(p)).sum()))
    return max(0.0, -math.fsum(x * math.log(x) for x in p if x > 0))


def entropy_bits(values) -> float:
    """Returns the entropy of the softmax of scores, in bits."""
    return entropy_nats(values) / math.log(2)
