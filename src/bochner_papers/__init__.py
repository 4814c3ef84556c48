"""One file per table or figure of the papers.

Each module has

- ``PAPER``: the table or figure of a paper;
- ``CLAIM``: one sentence that can turn out false;
- ``cases(scale)``: the work as a list of plain dictionaries (JSON types only), for ``"smoke"``,
  ``"quick"`` or ``"paper"``;
- ``run(case, rng)``: the result of one case, a plain dictionary of numbers and strings;
- ``verdict(results)``: ``("holds" | "does not hold" | "cannot tell", why)`` from a list of (case,
  result) pairs; its docstring quotes the sentence of the paper that it tests;
- optionally ``left_out(case)``: True for cases of the paper's scale that the atlas leaves out
  because of their time, and that run last; its docstring gives the reason;
- optionally ``NEEDS`` (names of data sets), ``DEVIATIONS`` (from the paper's protocol), ``TRIED``
  (attempts for a claim that does not hold), ``figure(results)``, a matplotlib figure drawn from
  the results, and ``tables_shown(results)``, tables as dictionaries of caption, columns and rows.

``bochner list`` finds such a module by itself, and ``bochner reproduce`` runs its cases on several
processes. ``rng`` depends only on the experiment and the case, so neither order nor interruptions
change results. Results are averaged over the entries of a case called seed, split, trial or the
like. Numbers that a paper prints are in ``published/<experiment>.json`` and appear beside ours.
Modules without a claim are helpers: ``runner`` runs experiments, ``<paper>_protocol`` is shared by
the experiments of one paper.
"""
