"""What SpectralClassifier and SpectralRegressor share: rows at the door, priors learned one after
the other, members blended.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_flag, refuse_class
from .._estimator import CallbackSupportMixin, FitTasks, NestedDefaults
from .._loops.threads import thread_count
from ..data import RemoteTable
from ..data.columns import is_frame
from ..data.inputs import TableInputs
from ..data.repetitions import held_out_size
from ..data.targets import Target
from ..learners.evidence import Evidence, LearnedPrior
from ..priors import SpectralPrior
from .blending import blend_weights
from .effects import column_importances, table_effects
from .families import checked_priors, each_family, family_names
from .members import LEAST_WEIGHT, Blend, Member, Members
from .notebook import model_html, quick_importances
from .parameters import on_n_jobs
from .preparation import (
    Prepared,
    all_prepared,
    merge_equal_rows,
    repetition_note,
    select_rows,
    with_ranks_where_better,
)
from .reader import TableDoor
from .solving import Problem, Solved, solve_holding_out, solve_leaving_out
from .trees import TreeMember, cross_fitted_trees
from .waves import Stream, solve_descending

# Up to here the inverse of the kernel matrix is a matter of seconds, and with it exact
# leave-one-out scores.
_LEAVE_ONE_OUT_ROWS = 3500
# Kernel matrices of several families are made at once while one is not larger than this.
_TOGETHER_BYTES = 2**29
# How priors are learned: labels of many rows from more of them, which pays for labels alone, and is
# quick in float32.
_USUAL = Evidence(standardize=False)
_FOR_MANY_LABELS = Evidence(n_rows=700, n_iterations=15, n_refining_rows=2000, standardize=False)
# Rows that importances are averaged over.
_IMPORTANCE_ROWS = 256


class SpectralModel(CallbackSupportMixin, TableDoor, NestedDefaults):
    """A blend of kernel machines whose priors are learned by evidence; see ``SpectralClassifier``
    and ``SpectralRegressor``.
    """

    _defaults: ClassVar = {"evidence": _USUAL}  # what ``evidence__n_rows`` and the like start from
    _ridge_steps: int  # half decades that a ridge may lie from the noise that the evidence found
    _repetitions: str = ""  # how equal rows were treated, as the end of a sentence

    def __init__(
        self,
        priors: Any = None,
        evidence: Evidence | None = None,
        *,
        categorical_features: Any = "from_dtype",
        trees: bool = False,
        max_exact_rows: int = 15_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.priors = priors
        self.evidence = evidence
        self.categorical_features = categorical_features
        self.trees = trees
        self.max_exact_rows = max_exact_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    def _check_parameters(self):
        check_count(self.max_exact_rows, "max_exact_rows", minimum=100)
        refuse_class(self.evidence, "evidence")
        if self.evidence is not None and not isinstance(self.evidence, Evidence):
            raise TypeError(
                f"evidence must be an Evidence, e.g. Evidence(n_rows=500), got {self.evidence!r}."
            )
        check_flag(self.trees, "trees")
        return checked_priors(self.priors)

    def _without_repetitions(self, X, target, weights):
        """Merge equal rows if there are too many rows in memory for exact kernels; others are
        merged by ``_prepared``.
        """
        self._repetitions = ""
        if isinstance(X, RemoteTable) or X.shape[0] <= self.max_exact_rows:
            return X, target, weights
        X, target, weights, self._repetitions = merge_equal_rows(
            X, target, weights, _LEAVE_ONE_OUT_ROWS
        )
        return X, target, weights

    def _prepared(self, X, target, weights, rng) -> Prepared:
        """Fit the preparation of columns, and prepare all rows, or a sample if there are too many
        for exact kernels.
        """
        many = X.shape[0] > self.max_exact_rows
        rows = np.arange(X.shape[0])
        if many:
            present = np.flatnonzero(weights > 0)
            n_rows = len(present)
            n_drawn = min(self.max_exact_rows + held_out_size(n_rows, 4), n_rows)
            rows = present[np.sort(rng.choice(n_rows, n_drawn, replace=False))]
            X, target, weights = select_rows(X, rows), target.take(rows), weights[rows]
        inputs = TableInputs(self.categorical_features).fit(X, sample_weight=weights)
        prepared, equal = Prepared.of(
            inputs.transform(X), target, weights, 0 if many else _LEAVE_ONE_OUT_ROWS
        )
        self._repetitions = self._repetitions or repetition_note(equal)
        self._has_ties = equal.are_ties
        X = select_rows(X, prepared.rows)
        self.inputs_ = with_ranks_where_better(
            inputs, X, prepared.Z, prepared.target, prepared.counts, rng
        )
        self.n_features_in_ = inputs.n_features_in_
        names = vars(inputs).get(
            "feature_names_in_"
        )  # only where the columns of a frame are called by text
        if names is not None:
            self.feature_names_in_ = names
        Z = prepared.Z if self.inputs_ is inputs else self.inputs_.transform(X)
        return replace(prepared, Z=Z, rows=rows[prepared.rows])

    def _stream(self, X, Y, weights):
        """All rows, their columns prepared, for passes over them; None where ``_prepared`` has
        taken them all.
        """
        if X.shape[0] <= self.max_exact_rows:
            return None
        kept = weights > 0
        return Stream(all_prepared(self.inputs_, X), Y, kept, weights / weights[kept].mean())

    def _evidence(self, n_rows):
        """The user's, or what is usual for so many rows: labels are learned from more of them."""
        if self.evidence is not None:
            return self.evidence
        return _FOR_MANY_LABELS if is_classifier(self) and n_rows > _USUAL.n_rows else _USUAL

    def _learn(
        self, prior: SpectralPrior, problem: Problem, target: Target, seed: int = 0
    ) -> LearnedPrior:
        n_columns = problem.Z.shape[1]
        if len(problem.Y) < 2 or not np.any(
            np.ptp(problem.Y, axis=0) > 0
        ):  # a constant: nothing to learn from
            prior = prior.with_rates(np.ones(n_columns), np.ones(n_columns))
            return LearnedPrior(prior, 1.0, np.zeros(n_columns), 0.0, 0)
        evidence, rng = self._evidence(len(problem.Y)), np.random.default_rng(seed)
        return evidence.learn(prior, problem.Z, target, rng, problem.counts)

    def _learn_families(self, priors, problem, target, rows, tasks, first=None):
        """What each family learned from its rows, on threads of their own, and its seconds;
        ``first`` is known already where given.
        """

        def learn(k):
            if k == 0 and first is not None:
                return first
            return self._learn(priors[k], problem.take(rows[k]), target.take(rows[k]), k)

        return each_family(learn, tasks.each("learning", family_names(priors)), len(priors))

    def _learning_rows(self, n_rows, n_families, rng):
        """The rows that each family learns from; of many each has its own: what chance brings in is
        then averaged by the blend.
        """
        evidence = self._evidence(n_rows)
        most = max(evidence.n_rows, evidence.n_refining_rows)
        if n_rows <= most:
            return [np.arange(n_rows)] * n_families
        return [np.sort(rng.choice(n_rows, most, replace=False)) for _ in range(n_families)]

    def _tasks(self, priors, n_rows, X, y):
        """For callbacks, X and y as given: columns; each family is learned, solved and, of many
        rows, descends over them; trees; the blend.
        """
        return FitTasks(
            self,
            1 + (3 if n_rows > self.max_exact_rows else 2) * len(priors) + self.trees + 1,
            X,
            y,
        )

    def _fit_members(self, priors, problem, rows, learned, seconds, stream, rng, tasks):
        """Solve and blend: the fitted ``blend_``; returns held-out scores of the blend, and which
        of the rows they are for.

        ``problem`` is that of the ``rows`` of a ``stream``, or of all there are where that is None.
        Of families that a callback has stopped before there is nothing in the blend.
        """
        n_rows = len(problem.Z)
        exact = stream is None and n_rows <= _LEAVE_ONE_OUT_ROWS
        n_held = (
            n_rows
            if exact
            else held_out_size(n_rows if stream is None else int(stream.kept.sum()), 4)
        )
        n_held = (
            n_held if exact else min(n_held, n_rows // 2)
        )  # a sample with many copies has fewer rows
        order = np.arange(n_rows) if exact else rng.permutation(n_rows)
        problem, judge = problem.take(order), problem.take(order[n_rows - n_held :])
        names, generators = family_names(priors)[: len(learned)], rng.spawn(len(learned))

        def solve(k):
            if exact:
                return solve_leaving_out(problem, learned[k], self._ridge_steps)
            return solve_holding_out(
                problem, learned[k], self._ridge_steps, n_held, generators[k], stream is None
            )

        # Several matrices at once, unless there are threads for more than that, or they would fill
        # the memory.
        together = thread_count() <= len(learned) and 4 * n_rows**2 <= _TOGETHER_BYTES
        solved, more_seconds = each_family(
            solve, tasks.each("solving", names), len(learned), together
        )
        seconds = [before + after for before, after in zip(seconds, more_seconds)]
        names, members = names[: len(solved)], list(learned[: len(solved)])
        self.path_ = (
            f"exact: {n_rows} different rows, at most {_LEAVE_ONE_OUT_ROWS}, so every score is "
            "leave-one-out"
            if exact
            else f"exact by conjugate gradients: {n_rows} different rows; {n_held} were held out "
            "to choose and to blend, then all fitted"
        )
        if stream is not None:
            stream = stream.without(rows[order[n_rows - n_held :]], and_equal=not self._has_ties)
            for k in tasks.each("passing over all rows", names):
                begun = time.perf_counter()
                solved.append(solve_descending(stream, learned[k], is_classifier(self), judge, rng))
                seconds.append(time.perf_counter() - begun)
            passed = len(solved) - len(names)
            members, names = (
                members + members[:passed],
                names + [f"{name} waves" for name in names[:passed]],
            )
            self.path_ = (
                f"many rows: {len(stream.rows)} are more than "
                f"max_exact_rows={self.max_exact_rows}, so kernels are exact on a sample of "
                f"{n_rows - n_held}, and waves of the same priors descend over all rows; {n_held} "
                "were held out to choose and to blend"
            )
        for _ in tasks.each("growing", ["trees"] if self.trees else []):
            begun = time.perf_counter()
            if stream is None:
                grown, held_out = cross_fitted_trees(
                    problem, None if exact else n_held, is_classifier(self), rng
                )
            else:
                grown = TreeMember.fitted(
                    stream.problem(), is_classifier(self), int(rng.integers(2**31))
                )
                held_out = grown.evaluate(judge.Z)
            solved.append(Solved(grown, held_out, np.nan))
            seconds.append(time.perf_counter() - begun)
            members, names = [*members, None], [*names, "trees"]
        self.path_ += self._repetitions
        self._some_rows = problem.Z[:: max(1, n_rows // _IMPORTANCE_ROWS)][:_IMPORTANCE_ROWS]
        return self._blended(names, members, solved, judge, seconds), order[n_rows - n_held :]

    def _blended(self, names, learned, solved, judge, seconds):
        """Weights from held-out scores of the rows ``judge``; returns the held-out scores of the
        blend.
        """
        held_out = np.stack([one.held_out for one in solved])
        weights = blend_weights(held_out, judge.Y, judge.weights)
        weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        weights /= weights.sum()
        total = np.average(
            np.sum((judge.Y - np.average(judge.Y, axis=0, weights=judge.weights)) ** 2, axis=1),
            weights=judge.weights,
        )
        self._reports = [
            Member(
                name=name,
                prior=None if learned[k] is None else learned[k].prior,
                weight=float(weights[k]),
                held_out_error=float(
                    np.average(np.sum((judge.Y - held_out[k]) ** 2, axis=1), weights=judge.weights)
                    / (total if total > 0 else 1.0)
                ),
                ridge=float(solved[k].ridge),
                noise=np.nan if learned[k] is None else learned[k].noise,
                n_points=len(solved[k].expansion),
                seconds=float(seconds[k]),
            )
            for k, name in enumerate(names)
        ]
        used = np.flatnonzero(weights)
        self.blend_ = Blend(
            tuple(solved[k].expansion for k in used), tuple(float(weights[k]) for k in used)
        )
        return np.tensordot(weights, held_out, axes=1)

    # --- what a fitted model says -----------------------------------------------------------------

    @property
    def members_(self) -> Members:
        """What each member learned, its weight in the blend, its held-out error and its time;
        prints as a table.
        """
        check_is_fitted(self)
        return Members(self._reports)

    @property
    @on_n_jobs
    def feature_importances_(self) -> np.ndarray:
        """One number for each column of the table, of sum one: how much the scores change when only
        that column does.

        S_j = mean_i ½ ‖f(x_i) − f(x_i with column j taken from another row)‖², divided by Σ_j S_j:
        Jansen's estimate of the total effect of a column, over up to 256 evenly spread training
        rows; the other row is half of them further on.
        """
        check_is_fitted(self)
        return column_importances(self.blend_, self.inputs_, self._some_rows)

    def _repr_html_inner(self):
        return self._html_repr()

    def _html_repr(self):
        """scikit-learn's diagram, under it what was learned."""
        return estimator_html_repr(self) + (self._learned_html() if hasattr(self, "blend_") else "")

    @on_n_jobs
    def _learned_html(self):
        importances = quick_importances(self.blend_, self.inputs_, self._some_rows)
        prepared = self.inputs_.get_feature_names_out()
        return model_html(self.members_, self.path_, importances, self.inputs_.names_, prepared)

    def _repr_mimebundle_(self, **kwargs):
        """For notebooks; where there is no HTML, the members as a plain table."""
        shown = {"text/plain": repr(self)}
        if hasattr(self, "blend_"):
            shown["text/plain"] += f"\n\n{self.members_!r}\n\n{self.path_}"
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._html_repr()
        return shown

    def _effects(self, X, max_order, unit, center):
        return table_effects(
            self.blend_, self.inputs_, self._prepared_for_looks(X), max_order, unit, center
        )

    def _input_gradient(self, X, slopes):
        """Return ∂ outputs / ∂ columns of the table, (n_samples, n_outputs, n_features_in).

        ``slopes(Z, side)`` are derivatives in prepared columns. The chain rule holds from each
        side: where kernels and ranks have their kinks together, the mean of products is not the
        product of means. Categories have no derivative, and neither has the indicator of a missing
        number.
        """
        Z = self._prepared_for_looks(X)
        X = X if is_frame(X) else self._checked_rows(X, reset=False)
        numbers = self.inputs_.numbers_
        sides = (-1, 1) if self.inputs_.ranks > 0 else (0,)
        gradient: Any = 0.0
        for side in sides:
            of_prepared = slopes(Z, side)
            one_sided = np.zeros((*of_prepared.shape[:2], self.n_features_in_))
            one_sided[:, :, numbers] = of_prepared[:, :, : len(numbers)]
            gradient = gradient + one_sided * self.inputs_.slopes(X, side)[:, None] / len(sides)
        return gradient

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
