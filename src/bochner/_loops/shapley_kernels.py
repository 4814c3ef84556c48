"""Fused kernel of Shapley values of sums of products, by quadrature of their integrals.

One row and one background row need two products of the factors per node: those before each group,
and those after it. Both are computed for many terms at a time, along memory.
"""

import numpy as np

from .compiling import compiled
from .intrinsics import larger

# Terms that are computed together; the number of terms is a multiple of it. For less than 64, LLVM
# unrolls the loops and does not vectorize them.
LANES = 64


@compiled(sums=True)
def shapley_gains(own, others, sizes, limits, nodes, weights, gains):
    """Compute Σ_l (p_j − q_lj) ∫₀¹ Π_{k ≠ j} ((1 − t) q_lk + t p_k) dt for each term.

    Equal to the mean, over all orders of the groups, of the change of Π_k by group j, and much
    faster. Groups whose factors p and q are equal change nothing: they leave the integral as common
    factors.

    Parameters
    ----------
    own : array (n_groups, n_terms)
        p, positive, or complex numbers of absolute value one.
    others : array (n_others, n_groups, n_terms)
        q of each background row l.
    sizes : array (n_rules,)
        Numbers of nodes of Gauss-Legendre rules, in increasing order.
    limits : array (n_rules,)
        The largest Σ_k |p_k − q_k| / max(|p_k|, |q_k|) for which a rule is accurate. A rule of m
        nodes is exact for up to 2m different groups.
    nodes, weights : arrays (n_rules, largest size)
        The rules on (0, 1).
    gains : array (n_groups, n_terms)
        The result.
    """
    n_others, n_groups, n_terms = others.shape
    low = np.empty((n_groups, LANES), own.dtype)
    rise, total = np.empty_like(low), np.empty_like(low)
    before = np.empty((n_groups + 1, LANES), own.dtype)
    common, after = np.empty(LANES, own.dtype), np.empty(LANES, own.dtype)
    spread, active = np.empty(LANES), np.empty(n_groups, np.intp)
    lanes = range(np.uint64(0), np.uint64(LANES))
    for start in range(0, n_terms, LANES):
        gains[:, start : start + LANES] = 0
        for other in range(n_others):
            n_active = 0
            spread[:] = 0
            common[:] = 1
            for g in range(n_groups):
                p, q = own[g, start : start + LANES], others[other, g, start : start + LANES]
                n_different = 0
                for i in lanes:
                    n_different += p[i] != q[i]
                if n_different == 0:
                    for i in lanes:
                        common[i] *= p[i]
                    continue
                a, b, c = low[n_active], rise[n_active], total[n_active]
                for i in lanes:
                    a[i] = q[i]
                    b[i] = p[i] - q[i]
                    c[i] = 0
                    spread[i] += abs(p[i] - q[i]) / larger(abs(p[i]), abs(q[i]))
                active[n_active] = g
                n_active += 1
            widest = 0.0
            for i in lanes:
                widest = larger(widest, spread[i])
            rule = 0
            while 2 * sizes[rule] < n_active and widest > limits[rule]:
                rule += 1
            for node in range(sizes[rule]):
                t, weight, first = nodes[rule, node], weights[rule, node], before[0]
                for i in lanes:
                    first[i] = weight * common[i]
                    after[i] = 1
                for k in range(n_active):
                    a, b, c, d = low[k], rise[k], before[k], before[k + 1]
                    for i in lanes:
                        d[i] = c[i] * (a[i] + t * b[i])
                for j in range(n_active):
                    k = n_active - 1 - j
                    a, b, c, d = low[k], rise[k], before[k], total[k]
                    for i in lanes:
                        d[i] += c[i] * after[i]
                        after[i] *= a[i] + t * b[i]
            for k in range(n_active):
                a, b, c = gains[active[k], start : start + LANES], rise[k], total[k]
                for i in lanes:
                    a[i] += b[i] * c[i]
