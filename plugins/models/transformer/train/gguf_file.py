"""Reads and writes GGUF version 3 files: metadata, F32, F16 and Q8_0 tensors.

Here: the container and the two directions of Q8_0. Not here: what the metadata means (llama.py) and every other
quantisation. The reader exists so that reference numbers are computed from the bytes that were stored, never from the
weights the trainer still holds in memory.

Layout (little-endian): magic, version, tensor count, pair count, key/value pairs, tensor descriptions, padding to the
alignment, tensor data. A tensor's first dimension in the file is its fastest one, the reverse of numpy's order.
"""

import struct

import numpy as np

ALIGNMENT = 32  # bytes; what every tool assumes, and written out as general.alignment all the same
BLOCK = 32  # weights per Q8_0 block: one half-precision scale, then 32 signed bytes

F32, F16, Q8_0 = 0, 1, 8

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_U32, _I32, _FLOAT, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


class I32(int):
    """An array element to be stored as a signed integer (token types), where a plain int is stored unsigned."""


def quantise_q8_0(rows):
    """Returns the Q8_0 bytes of a float32 matrix whose row length is a multiple of 32.

    Each block of 32 keeps d = max|x|/127 in half precision and round(x/d) in one byte each. The quotient uses d as
    stored, so rounding d costs no accuracy; ties go to even.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    if rows.shape[-1] % BLOCK:
        raise ValueError(f"quantise: row length {rows.shape[-1]} is no multiple of {BLOCK}; store this tensor as F16")
    blocks = rows.reshape(-1, BLOCK)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / 127.0).astype(np.float16)
    divisor = scale.astype(np.float32)
    quotient = np.divide(blocks, divisor, out=np.zeros_like(blocks), where=divisor > 0)
    levels = np.clip(np.rint(quotient), -127, 127).astype(np.int8)
    packed = np.empty((blocks.shape[0], 2 + BLOCK), dtype=np.uint8)
    packed[:, :2] = scale.view(np.uint8)
    packed[:, 2:] = levels.view(np.uint8)
    return packed.tobytes()


def dequantise_q8_0(data, shape):
    """Returns the float32 matrix that the Q8_0 bytes stand for."""
    packed = np.frombuffer(data, dtype=np.uint8).reshape(-1, 2 + BLOCK)
    scale = packed[:, :2].copy().view(np.float16).astype(np.float32)
    levels = packed[:, 2:].copy().view(np.int8).astype(np.float32)
    return (levels * scale).reshape(shape)


def encode(array, kind):
    """Returns the stored bytes of an array in one of the three tensor kinds."""
    if kind == F32:
        return np.ascontiguousarray(array, dtype="<f4").tobytes()
    if kind == F16:
        return np.ascontiguousarray(array, dtype="<f2").tobytes()
    if kind == Q8_0:
        return quantise_q8_0(array)
    raise ValueError(f"encode: tensor kind {kind} is unknown; use F32, F16 or Q8_0")


def write(path, metadata, tensors):
    """Writes a file from metadata {key: value} and tensors {name: (array, kind)}, both in the order given.

    Value types follow from Python's: bool, int (unsigned 32 bit), float (32 bit), str, and lists of bytes or str
    (strings), float, int or I32.
    """
    out = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        out += _string(key)
        out += _value(value)
    blobs, offset = [], 0
    for name, (array, kind) in tensors.items():
        blob = encode(array, kind)
        dims = array.shape[::-1]
        out += _string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
        blob += bytes(-len(blob) % ALIGNMENT)
        blobs.append(blob)
        offset += len(blob)
    out += bytes(-len(out) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(out + b"".join(blobs))


def read(path):
    """Returns (metadata, tensors) with every tensor as float32, just as an engine would see it."""
    with open(path, "rb") as file:
        data = file.read()
    cursor = _Cursor(data)
    magic, version, tensor_count, pair_count = cursor.unpack("<4sIQQ")
    if magic != b"GGUF" or version != 3:
        raise ValueError(f"read: {path}: magic {magic!r} and version {version}; expected b'GGUF' and 3")
    metadata = {}
    for _ in range(pair_count):
        key = cursor.string().decode()
        metadata[key] = cursor.value(cursor.unpack("<I")[0])
    described = []
    for _ in range(tensor_count):
        name = cursor.string().decode()
        (dim_count,) = cursor.unpack("<I")
        dims = cursor.unpack(f"<{dim_count}Q")
        kind, offset = cursor.unpack("<IQ")
        described.append((name, dims[::-1], kind, offset))
    start = -(-cursor.at // ALIGNMENT) * ALIGNMENT
    tensors = {}
    for name, shape, kind, offset in described:
        count = int(np.prod(shape))
        size = {F32: 4 * count, F16: 2 * count, Q8_0: count // BLOCK * (2 + BLOCK)}[kind]
        raw = data[start + offset : start + offset + size]
        if kind == Q8_0:
            tensors[name] = dequantise_q8_0(raw, shape)
        else:
            tensors[name] = np.frombuffer(raw, dtype="<f4" if kind == F32 else "<f2").astype(np.float32).reshape(shape)
    return metadata, tensors


def _string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    if isinstance(value, list):
        kind, body = _element(value[0])
        return struct.pack("<IIQ", _ARRAY, kind, len(value)) + body + b"".join(_element(v)[1] for v in value[1:])
    kind, body = _element(value)
    return struct.pack("<I", kind) + body


def _element(value):
    if isinstance(value, bool):  # before int: a bool is an int in Python
        return _BOOL, struct.pack("<?", value)
    if isinstance(value, I32):
        return _I32, struct.pack("<i", value)
    if isinstance(value, int):
        return _U32, struct.pack("<I", value)
    if isinstance(value, float):
        return _FLOAT, struct.pack("<f", value)
    if isinstance(value, (str, bytes)):
        return _STRING, _string(value)
    raise ValueError(f"write: metadata value {value!r} has no GGUF type here")


class _Cursor:
    """Walks over the bytes of a file."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def unpack(self, layout):
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values

    def string(self):
        (length,) = self.unpack("<Q")
        raw = self.data[self.at : self.at + length]
        self.at += length
        return raw

    def value(self, kind):
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            element, count = self.unpack("<IQ")
            return [self.value(element) for _ in range(count)]
        return self.unpack(_SCALARS[kind])[0]
