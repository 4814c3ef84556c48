"""SpectralRegressor: values from a table, nothing to tune."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin

from .._checks import as_generator
from .._estimator import RegressorScore, restore_on_failure, with_callbacks
from .._loops.threads import ordered_map
from ..data.targets import Values
from .base import SpectralModel
from .effects import TableEffects
from .parameters import PARAMETERS, on_n_jobs
from .solving import solve_leaving_out
from .spread import Spread
from .target_scales import TargetScale, ends_of, other_scales

# Another scale of the target must describe it better by so many nats a row.
_CLEARLY = 0.1


class SpectralRegressor(MultiOutputMixin, RegressorScore, SpectralModel):
    __doc__ = f"""Values from a table as it is: kernels whose lengths and weights per column are
    learned, used exactly, and blended.

    As ``SpectralClassifier``, for one or several outputs, with priors learned on up to 1000 rows
    each. A single output with a long tail is fitted on a logarithmic scale (``target_scale_``)
    where the evidence of the learning rows is in favor of it by 0.1 nats a row, change of density
    included, and leave-one-out predictions of the mean are not worse; predictions are then means
    over the held-out residuals, not medians.

    Parameters
    ----------{PARAMETERS}

    Attributes
    ----------
    members_ : what each family learned, its weight, held-out error and time; prints as a table
    blend_ : the fitted function on the scale of ``target_scale_``, a ``Blend`` of
        ``KernelExpansion``, of many rows also of ``WaveMember``
    target_scale_ : TargetScale
    spread_ : Spread, held-out residuals and their size
    inputs_ : TableInputs
    path_ : which way the rows were solved, and why
    feature_importances_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SpectralRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.4)
    True
    """

    _ridge_steps = 4

    @restore_on_failure
    @with_callbacks
    @on_n_jobs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralRegressor:
        """Learn the priors, solve, and blend.

        Weights are relative: multiplying all of them by a constant changes nothing. Equal rows
        count as copies of one observation, unless the same inputs occur with different outcomes;
        see the user guide on weights and repeated rows.
        """
        priors, rng = self._check_parameters(), as_generator(self.random_state)
        X_given = X
        X, n_given, kept, weights = self._received(X, sample_weight)
        values = Values.of(y, n_given, owner=type(self).__name__)
        values = values.take(kept)
        X, values, weights = self._without_repetitions(X, values, weights)
        tasks = self._tasks(priors, X.shape[0], X_given, y)
        for _ in tasks.each("preparing", ["columns and target"]):
            prepared = self._prepared(X, values, weights, rng)
            own = self._learning_rows(len(prepared.rows), len(priors), rng)
            begun = time.perf_counter()
            ends = None
            if (
                X.shape[0] > self.max_exact_rows
            ):  # a scale must be valid for all rows, not only for the sample
                ends = ends_of(values.rows, weights)
            others = other_scales(prepared.target.rows, prepared.counts, ends)
            scale, first = self._choose_scale(priors[0], prepared, others, own[0])
            choosing = time.perf_counter() - begun
        problem = prepared.problem(scale.forward(prepared.target.rows))
        learned, seconds = self._learn_families(
            priors, problem, Values.of(problem.Y), own, tasks, first
        )
        seconds[0] += choosing
        stream = self._stream(X, scale.forward(values.rows), weights)
        scores, held = self._fit_members(
            priors, problem, prepared.rows, learned, seconds, stream, rng, tasks
        )
        strongest = max(
            (one for one in self._reports if one.prior is not None), key=lambda one: one.weight
        ).prior
        of_strongest = next(one for one in learned if one.prior is strongest)
        judge = problem.take(held)
        self.spread_ = Spread.of(judge.Z, judge.Y - scores, judge.counts, of_strongest, rng)
        self.target_scale_ = scale
        self._one_dimensional = values.one_dimensional
        tasks.finished("blending", dict)
        tasks.close(dict)
        return self

    def _choose_scale(self, prior, prepared, others, some):
        """Return the scale of the target, and what the first family learned on it, or None if there
        was no choice.
        """
        rows, counts = prepared.target.rows, prepared.counts
        plain, sample = TargetScale.of(rows, counts), prepared.take(some)
        if not others:
            return plain, None

        def tried(scale):
            problem = sample.problem(scale.forward(rows[some]))
            learned = self._learn(prior, problem, Values.of(problem.Y))
            nats = learned.objective - scale.mean_log_slope(rows[some], counts[some])
            solved = solve_leaving_out(problem, learned, self._ridge_steps)
            spread = Spread(problem.Y - solved.held_out, problem.counts, None)
            means = _means(scale, solved.held_out, spread, np.ones_like(problem.Y))
            # In units of the target: squares of huge numbers are no numbers.
            return scale, learned, nats, ((means - rows[some]) / plain.unit)[:, 0] ** 2

        best, *rivals = ordered_map(tried, [plain, *others])
        for other in rivals:
            if _clearly_better(best[2] - other[2], best[3], other[3], counts[some]):
                best = other
        scale = best[0]
        # Center and unit of all rows.
        return TargetScale.of(rows, counts, scale.kind, scale.shift, scale.width), best[1]

    @on_n_jobs
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means, and with ``return_std`` the standard deviation of an observation around them.

        The deviation is that of held-out residuals, times a size that depends on the row where that
        describes them better.
        """
        if not return_std:
            return self._as_given(self._map_rows(X, self._means, self._n_outputs()))
        n_outputs = self._n_outputs()
        both = self._map_rows(
            X, lambda Z: np.hstack([self._means(Z), self._deviations(Z)]), 2 * n_outputs
        )
        return self._as_given(both[:, :n_outputs]), self._as_given(both[:, n_outputs:])

    @on_n_jobs
    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Lower and upper ends that a new observation lies between with probability ``level``:
        (n_samples, 2), or (n_samples, n_outputs, 2).

        The prediction ± the ⌈(n + 1) level⌉-th smallest of the n held-out residuals, where the size
        of residuals depends on the row measured in that size (jackknife up to 3500 rows, else
        split-conformal with a refit). The coverage is that of new rows of the same kind on average,
        not of each row; it is within a few percent of ``level`` from about a hundred rows on. With
        too few rows for a level ends are infinite. Intervals of rows with missing values or levels
        that training rows did not have are too narrow: a warning names these columns.
        """
        if not 0 < level < 1:
            raise ValueError(
                f"level must lie between 0 and 1, got {level!r}. Write e.g. level=0.9."
            )
        n_outputs = self._n_outputs()
        ends = self._map_rows(X, lambda Z: self._ends(Z, level).reshape(len(Z), -1), 2 * n_outputs)
        return self._as_given(ends.reshape(ends.shape[0], n_outputs, 2))

    def _n_outputs(self):
        return len(self.target_scale_.center) if hasattr(self, "target_scale_") else 0

    def _means(self, Z):
        return _means(
            self.target_scale_, self.blend_.evaluate(Z), self.spread_, self.spread_.sizes(Z)
        )

    def _deviations(self, Z):
        sizes = self.spread_.sizes(Z)
        if self.target_scale_.kind == "identity":
            return self.target_scale_.unit * sizes * self.spread_.root_mean_square()
        around = _around(self.target_scale_, self.blend_.evaluate(Z), self.spread_, sizes)
        return around.std(axis=0)

    def _ends(self, Z, level):
        """(n_samples, n_outputs, 2)."""
        center, reach = self.blend_.evaluate(Z), self.spread_.sizes(Z) * self.spread_.reach(level)
        with np.errstate(over="ignore"):
            return np.stack(
                [self.target_scale_.backward(center + side * reach) for side in (-1, 1)], axis=-1
            )

    @on_n_jobs
    def effects(self, X: Any, max_order: int = 2) -> TableEffects:
        """The prediction split exactly into a constant, main effects and pairs of columns
        (``max_order`` 2), and the rest.

        The effects are those of the Anova member (of the Laplace member where that one has no
        weight), times its weight; all that the other members add is part of the rest. Where
        ``target_scale_`` is logarithmic, it is the prediction on that scale, log(y + shift) or
        asinh((y − shift) / width), that is split.
        """
        found = self._effects(X, max_order, self.target_scale_.unit, self.target_scale_.center)
        return found.first_output() if self._one_dimensional else found

    @on_n_jobs
    def input_gradient(self, X: Any) -> np.ndarray:
        """Return ∂ ``predict`` / ∂ columns of the table, in their own units.

        The shape is (n_samples, n_columns), or (n_samples, n_outputs, n_columns).  A logarithmic
        ``target_scale_`` is taken into account, and a size of residuals on which the mean depends.
        A date counts in days, a truth value as zero or one.  Laplace kernels and ranks have a kink
        at every training value: there the result is the mean of both one-sided derivatives.
        Categories and missing numbers have no derivative: NaN.  Columns that were constant while
        fitting have derivative zero.
        """
        return self._as_given(self._input_gradient(X, self._slopes))

    def _slopes(self, Z, side):
        """Return ∂ means / ∂ prepared columns, (n_samples, n_outputs, n_columns)."""
        slopes, scale, spread = self.blend_.jacobian(Z, side), self.target_scale_, self.spread_
        if scale.kind == "identity":
            return scale.unit[:, None] * slopes
        quantiles, sizes = spread.quantiles()[:, None], spread.sizes(Z)
        rises = scale.slope_within(self.blend_.evaluate(Z) + sizes * quantiles)
        slopes = rises.mean(axis=0)[:, :, None] * slopes
        if spread.log_size is not None:
            slopes += (rises * sizes * quantiles).mean(axis=0)[
                :, :, None
            ] * spread.log_size.jacobian(Z, side)
        return slopes

    def _as_given(self, outputs):
        return outputs[:, 0] if self._one_dimensional else outputs


def _clearly_better(nats, errors, other_errors, counts):
    """Whether a scale that gains so many nats a row may be taken: its squared errors must not be
    larger, up to a standard error.

    Nor by a larger share than the nats: few rows of a long tail have large standard errors.
    """
    worse = other_errors - errors
    mean, n_rows = np.average(worse, weights=counts), counts.sum()
    standard_error = np.sqrt(np.average((worse - mean) ** 2, weights=counts) / n_rows)
    return nats > _CLEARLY and mean <= min(
        standard_error, nats * np.average(errors, weights=counts)
    )


def _around(scale, center, spread, sizes):
    """What observations may be: (101, n_samples, n_outputs) values around predictions on the scale
    of the fit.
    """
    return scale.backward(scale.within(center + sizes * spread.quantiles()[:, None]))


def _means(scale, center, spread, sizes):
    """The mean on the user's scale; on another scale that of a prediction plus each of the
    residuals.
    """
    return (
        scale.backward(center)
        if scale.kind == "identity"
        else _around(scale, center, spread, sizes).mean(axis=0)
    )
