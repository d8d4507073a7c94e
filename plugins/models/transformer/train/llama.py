"""The Llama architecture: a decoder-only transformer, and its place in a GGUF file.

Here: the shape, the forward pass over whole documents, conversion to and from GGUF tensors. Not here: training
(train.py), the token loop (the Go engine has the KV cache; this file recomputes).

Rotary embedding turns the neighbouring elements 2i and 2i+1 of a head together, as GGUF's "llama" prescribes, so
nothing is permuted on export. Source: Touvron et al. 2023; rotary: Su et al. 2021; gated FFN: Shazeer 2020;
RMS norm: Zhang and Sennrich 2019.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

import gguf_file


@dataclass
class Shape:
    """Sizes of a model; names follow the GGUF keys."""

    vocab_size: int
    context_length: int
    embedding_length: int
    block_count: int
    head_count: int
    head_count_kv: int
    feed_forward_length: int
    rope_freq_base: float
    norm_epsilon: float
    tied: bool = True  # the output matrix is the embedding table

    @property
    def head_size(self):
        return self.embedding_length // self.head_count


class Block(nn.Module):
    """The weights of one transformer block; the names are GGUF's."""

    def __init__(self, shape):
        super().__init__()
        width, kv_width = shape.embedding_length, shape.head_count_kv * shape.head_size
        self.attn_norm = Norm(width)
        self.attn_q = nn.Linear(width, width, bias=False)
        self.attn_k = nn.Linear(width, kv_width, bias=False)
        self.attn_v = nn.Linear(width, kv_width, bias=False)
        self.attn_output = nn.Linear(width, width, bias=False)
        self.ffn_norm = Norm(width)
        self.ffn_gate = nn.Linear(width, shape.feed_forward_length, bias=False)
        self.ffn_up = nn.Linear(width, shape.feed_forward_length, bias=False)
        self.ffn_down = nn.Linear(shape.feed_forward_length, width, bias=False)


class Norm(nn.Module):
    """The gain of an RMS norm."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


class Llama(nn.Module):
    """The whole model.

    Positions of all rows lie flat between the blocks' three parts (project, attend, finish: functions of tensors only),
    so that the first and the last see the same sizes whatever the documents' length: the trainer compiles each once.
    compute is the type of the matrix products; the stream between blocks, the norms and the logits stay in the type
    of the weights.
    """

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocab_size, shape.embedding_length)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.block_count))
        self.output_norm = Norm(shape.embedding_length)
        if not shape.tied:
            self.output = nn.Linear(shape.embedding_length, shape.vocab_size, bias=False)
        self.cos, self.sin = rotary_tables(shape)
        self.compute = torch.float32
        self.project, self.attend, self.finish = project, attend, finish

    def forward(self, ids):
        """ids[row, position] -> stream[row, position, width]; every row is one document starting at position 0."""
        rows, length = ids.shape
        shape, eps, compute = self.shape, self.shape.norm_epsilon, self.compute
        cos, sin = self.cos[:length].repeat(rows, 1), self.sin[:length].repeat(rows, 1)
        dtype = self.token_embd.weight.dtype
        mask = torch.full((length, length), float("-inf"), dtype=dtype).triu(1)
        stream = self.token_embd(ids.flatten())
        for b in self.blk:
            q, k, v = self.project(
                stream, b.attn_norm.weight, b.attn_q.weight, b.attn_k.weight, b.attn_v.weight,
                cos, sin, shape.head_size, eps, compute,
            )
            mixed = self.attend(q, k, v, mask, rows)
            stream = self.finish(
                stream, mixed, b.attn_output.weight, b.ffn_norm.weight,
                b.ffn_gate.weight, b.ffn_up.weight, b.ffn_down.weight, eps, compute,
            )
        return norm(stream, self.output_norm.weight, eps).view(rows, length, -1)

    def head_weight(self):
        return self.token_embd.weight if self.shape.tied else self.output.weight

    def logits(self, ids):
        return F.linear(self(ids), self.head_weight())

    def to_double(self):
        """Makes this a float64 model, rotary tables included, for reference numbers."""
        self.compute = torch.float64
        self.cos, self.sin = rotary_tables(self.shape, torch.float64)
        return self.double()


def norm(x, gain, eps):
    """x / sqrt(mean(x^2) + eps) * gain."""
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * gain


def linear(x, weight, compute):
    return F.linear(x.to(compute), weight.to(compute))


def project(stream, gain, wq, wk, wv, cos, sin, head_size, eps, compute):
    """Returns rotated queries and keys, and values: [flat position, head, element]."""
    x = norm(stream, gain, eps).to(compute)
    q = linear(x, wq, compute).unflatten(-1, (-1, head_size))
    k = linear(x, wk, compute).unflatten(-1, (-1, head_size))
    v = linear(x, wv, compute).unflatten(-1, (-1, head_size))
    return rotate(q, cos, sin), rotate(k, cos, sin), v


def attend(q, k, v, mask, rows):
    """Causal attention inside each row; returns [flat position, width]. Query head h reads kv head h*kv_heads//heads."""
    heads, kv_heads, size = q.shape[1], k.shape[1], q.shape[2]
    q, k, v = (x.view(rows, -1, x.shape[1], size).transpose(1, 2) for x in (q, k, v))
    if kv_heads < heads:
        k = k.repeat_interleave(heads // kv_heads, dim=1)
        v = v.repeat_interleave(heads // kv_heads, dim=1)
    scores = (q @ k.transpose(-1, -2)).to(mask.dtype) * size**-0.5 + mask
    mixed = scores.softmax(-1).to(v.dtype) @ v
    return mixed.transpose(1, 2).reshape(-1, heads * size)


def finish(stream, mixed, wo, gain, w_gate, w_up, w_down, eps, compute):
    """Adds the attention's output and then the gated FFN's to the stream."""
    stream = stream + linear(mixed, wo, compute).to(stream.dtype)
    x = norm(stream, gain, eps).to(compute)
    gated = F.silu(linear(x, w_gate, compute)) * linear(x, w_up, compute)
    return stream + linear(gated, w_down, compute).to(stream.dtype)


def rotate(x, cos, sin):
    """Turns the pairs (2i, 2i+1) of each head of x[flat position, head, element]; cos and sin: [flat position, pair]."""
    pairs = x.to(cos.dtype).unflatten(-1, (-1, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


def rotary_tables(shape, dtype=torch.float32):
    """cos and sin of position * base^(-2i/size), shape (context, size/2), computed in float64."""
    size = shape.head_size
    frequency = shape.rope_freq_base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.arange(shape.context_length, dtype=torch.float64)[:, None] * frequency[None, :]
    return angle.cos().to(dtype), angle.sin().to(dtype)


def metadata(shape, name, file_type, vocabulary):
    """The GGUF key/value pairs of a model. vocabulary: object with pieces (bytes), scores, types, bos, eos, unknown."""
    return {
        "general.architecture": "llama",
        "general.name": name,
        "general.file_type": file_type,
        "general.quantization_version": 2,
        "general.alignment": gguf_file.ALIGNMENT,
        "llama.block_count": shape.block_count,
        "llama.context_length": shape.context_length,
        "llama.embedding_length": shape.embedding_length,
        "llama.feed_forward_length": shape.feed_forward_length,
        "llama.attention.head_count": shape.head_count,
        "llama.attention.head_count_kv": shape.head_count_kv,
        "llama.attention.layer_norm_rms_epsilon": shape.norm_epsilon,
        "llama.rope.dimension_count": shape.head_size,
        "llama.rope.freq_base": shape.rope_freq_base,
        "llama.vocab_size": shape.vocab_size,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(vocabulary.pieces),
        "tokenizer.ggml.scores": [float(s) for s in vocabulary.scores],
        "tokenizer.ggml.token_type": [gguf_file.I32(t) for t in vocabulary.types],
        "tokenizer.ggml.bos_token_id": vocabulary.bos,
        "tokenizer.ggml.eos_token_id": vocabulary.eos,
        "tokenizer.ggml.unknown_token_id": vocabulary.unknown,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": True,
    }


def tensors(model, matrix_kind, table_kind):
    """The GGUF tensors of a model. matrix_kind may be a function of the name; norms are always F32."""
    chosen = matrix_kind if callable(matrix_kind) else lambda name: table_kind if name == "token_embd.weight" else matrix_kind
    out = {}
    for name, value in model.state_dict().items():
        array = value.detach().float().numpy()
        out[name] = (array, gguf_file.F32 if array.ndim == 1 else chosen(name))
    return out


def load(path):
    """Returns (model, metadata) from a GGUF file, weights as stored and dequantised."""
    meta, arrays = gguf_file.read(path)
    shape = Shape(
        vocab_size=meta["llama.vocab_size"],
        context_length=meta["llama.context_length"],
        embedding_length=meta["llama.embedding_length"],
        block_count=meta["llama.block_count"],
        head_count=meta["llama.attention.head_count"],
        head_count_kv=meta["llama.attention.head_count_kv"],
        feed_forward_length=meta["llama.feed_forward_length"],
        rope_freq_base=meta["llama.rope.freq_base"],
        norm_epsilon=meta["llama.attention.layer_norm_rms_epsilon"],
        tied="output.weight" not in arrays,
    )
    model = Llama(shape)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return model.eval(), meta
