"""Muon for the matrices inside the blocks, AdamW for the embedding table and the norms.

Muon replaces a matrix's momentum by the nearest matrix with all singular values equal (five Newton-Schulz steps), so
that rare directions learn as fast as frequent ones. Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in
neural networks"; the quintic's coefficients are theirs. The factor sqrt(max(1, rows/columns)) is theirs too.
"""

import torch


def orthogonalise(matrix, steps=5):
    """Returns approximately U V^T of the matrix's singular value decomposition; singular values land in [0.7, 1.2]."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.bfloat16()
    x = x / (x.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.T if tall else x).float()


class Muon(torch.optim.Optimizer):
    """Orthogonalised Nesterov momentum with decoupled weight decay."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(state["momentum"], group["momentum"]))
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)
