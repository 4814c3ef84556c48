"""One file per table or figure of the papers.

Each module holds

- ``PAPER``: which table or figure of which paper;
- ``CLAIM``: one sentence that can turn out false;
- ``cases(scale)``: the work as a list of plain dictionaries (JSON types only), for ``"smoke"``, ``"quick"`` or ``"paper"``;
- ``run(case, rng)``: the result of one case, a plain dictionary of numbers and strings;
- ``verdict(results)``: ``("holds" | "does not hold" | "cannot tell", why)`` from a list of (case, result) pairs;
- optionally ``NEEDS`` (names of data sets), ``DEVIATIONS`` (where the protocol is not the paper's) and
  ``figure(results)``, a matplotlib figure.
"""
