"""One file per table or figure of the papers.

Each module holds

- ``PAPER``: which table or figure of which paper;
- ``CLAIM``: one sentence that can turn out false;
- ``cases(scale)``: the work as a list of plain dictionaries (JSON types only), for ``"smoke"``, ``"quick"`` or ``"paper"``;
- ``run(case, rng)``: the result of one case, a plain dictionary of numbers and strings;
- ``verdict(results)``: ``("holds" | "does not hold" | "cannot tell", why)`` from a list of (case, result) pairs; its documentation quotes the
  sentence of the paper that it judges;
- optionally ``left_out(case)``: whether the atlas does without a case of the paper's scale because it takes too long; its documentation says which and why,
  and such cases run last;
- optionally ``NEEDS`` (names of data sets), ``DEVIATIONS`` (where the protocol is not the paper's), ``TRIED`` (what was tried where the claim
  does not hold), ``figure(results)``, a matplotlib figure drawn from the results alone, and
  ``tables_shown(results)``, tables of its own as dictionaries of caption, columns and rows.

``bochner list`` finds such a module by itself, and ``bochner reproduce`` runs its cases on several
processes: ``rng`` depends on the experiment and the case alone, so neither order nor interruption
changes a number. Results are averaged over the entries of a case called seed, split, trial or the
like. Numbers that a paper prints are in ``published/<experiment>.json`` and appear beside ours.
Modules without a claim, and those whose name starts with an underscore, are helpers: ``_results``
lists, chooses and averages, ``<paper>_protocol`` is what the experiments of one paper share.
"""
