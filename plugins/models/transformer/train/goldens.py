"""Reference logits for the Go engine, computed from the stored weights.

The weights are read back from the GGUF file and dequantised, then the model runs in float64, so that the reference
itself adds no rounding worth speaking of. The tolerance written beside the numbers covers an engine that computes in
float32 with any order of summation.
"""

import json

import torch

import llama

TOLERANCE = 1e-3
REASON = (
    "reference in float64 from the dequantised stored weights; a float32 engine rounds each of some thousand additions "
    "per logit, which torch's own float32 run shows as float32_deviation (largest absolute difference over all logits "
    "of all prompts); the tolerance leaves room for another order of summation and for float32 rotary tables, and is far "
    "below what a wrong rotation, norm or head order would change"
)


def build(path, prompts, seed):
    """Returns the golden object for a file. prompts: list of (name, ids, positions)."""
    model, meta = llama.load(path)
    model.to_double()
    single, _ = llama.load(path)
    pick = torch.Generator().manual_seed(seed)
    cases, deviation = [], 0.0
    with torch.no_grad():
        for name, ids, positions in prompts:
            exact = model.logits(torch.tensor([ids]))[0]
            deviation = max(deviation, (exact - single.logits(torch.tensor([ids]))[0]).abs().max().item())
            rows = []
            for position in positions:
                row = exact[position]
                top = row.topk(min(16, row.numel())).indices.tolist()
                others = torch.randperm(row.numel(), generator=pick)[:24].tolist()
                chosen = sorted(set(top + others))
                rows.append(
                    {
                        "position": position,
                        "argmax": int(row.argmax()),
                        "log_sum_exp": row.logsumexp(0).item(),
                        "ids": chosen,
                        "logits": [round(row[i].item(), 7) for i in chosen],
                    }
                )
            cases.append({"name": name, "tokens": ids, "rows": rows})
    return {
        "model": meta["general.name"].decode(),
        "tolerance": TOLERANCE,
        "tolerance_reason": REASON,
        "float32_deviation": deviation,
        "prompts": cases,
    }


def write(path, golden):
    """Writes the object with one line per row, so that a change can be read."""
    with open(path, "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")
