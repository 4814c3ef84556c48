"""SpectralModel: exact kernel machines with learned priors, blended into one model of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial, wraps
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from .._checks import as_generator, check_count, check_flag, refuse_class
from .._estimator import Estimator, FitTasks, restore_on_failure, with_callbacks
from .._loops.threads import at_most_threads
from ..data.checks import check_weights
from ..data.inputs import TableInputs
from ..data.tables import open_table
from ..data.unfamiliar import collect_unfamiliar
from ..learners.evidence import Evidence, LearnedPrior
from . import explanations, fitting, learning
from .bands import KernelSystem
from .directions import directions
from .effects import LinearQuantity, LinkedQuantity, column_importances
from .imputation import integrated, mean_over_donors
from .members import Members
from .monotone import Rearrangement
from .neighbors import Neighbors
from .notebook import model_html, quick_importances
from .preparation import PreparedData, TableData, prepare_all_rows, prepare_columns, with_codes

# Default evidence, and that for labels of many rows. More than 1000 rows improve the priors for
# labels only.
_USUAL = Evidence(standardize=False)
_FOR_MANY_LABELS = Evidence(n_rows=700, n_iterations=15, n_refining_rows=2000, standardize=False)
# One leaf of 10 000 rows was better than two on most tables, in the same time.
_MOST_LEAF_ROWS = 10_000
# Rows over which effects and importances are averaged.
_BACKGROUND_ROWS = 256

PARAMETERS = """
    priors : prior or sequence of priors, default None
        Families of priors, of those that ``Evidence`` can learn. None is (Anova(), Laplace(),
        Gaussian()).
    evidence : Evidence, default None
        Learner of the priors. None is ``Evidence(standardize=False)``, with n_rows=700,
        n_iterations=15 and n_refining_rows=2000 for labels of more than 1000 rows.
    categorical_features : "from_dtype" or list of columns, default "from_dtype"
        "from_dtype": columns of text, categories and objects of a frame are categorical. A list of
        names, positions or booleans adds columns to these; for an array it lists all categorical
        columns.
    trees : bool, default False
        If True, histogram trees of scikit-learn are a member of the blend, too. Their held-out
        scores are cross-fitted in five folds up to 3500 rows. Such a model has no
        ``input_gradient``.
    max_leaf_rows : int, default 10000
        Largest number of rows whose kernel matrix is computed, which needs 4 n² bytes. More rows
        are split into leaves of at most this size, at medians of the columns along which the
        learned kernel varies most. Each leaf has kernels of its own, and 1024 waves of the first
        learned prior are fitted to all rows by gradient descent. A Dask array or frame is prepared
        by the workers and brought to the client, as the fitted model keeps all rows: in memory up
        to 256 MiB, otherwise in a temporary file.
    n_jobs : int, default None
        Largest number of threads of ``fit`` and of predictions. −1 uses all cores, None as many
        threads as BLAS may use.
    random_state : None, int, RandomState or Generator, default None
        Determines samples, held-out rows and folds.
    max_exact_rows : int, default "deprecated"
        The former name of ``max_leaf_rows``.
    monotonic_cst : array of -1, 0 and 1, or dict of column name to -1, 0 or 1, default None
        Directions of columns of numbers: predictions never fall (1) or never rise (-1) with the
        column, other cells fixed. An array has one entry for each column. Up to three columns of
        one output or two classes may have a direction. Predictions, bounds and probabilities are
        sorted along these columns after the fit, see the user guide on monotone predictions."""


ATTRIBUTES = """
    members_ : Members
        Learned prior, weight, held-out error and fitting time of each member; prints as a table.
    inputs_ : TableInputs
        The fitted encoder of columns.
    path_ : str
        A sentence on how the rows were solved, and why.
    feature_importances_ : array of shape (n_columns,)
        The importance of each column.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (n_columns,)
        The names of the columns, if X is a frame."""


def limit_threads(method: Callable) -> Callable:
    """Run a method with at most ``n_jobs`` threads."""

    @wraps(method)
    def limited(self, *arguments, **keywords):
        n_jobs = self.n_jobs
        whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
        if n_jobs is not None and not (whole and (n_jobs >= 1 or n_jobs == -1)):
            raise ValueError(
                "n_jobs must be a number of threads, −1 for all cores or None for as many as BLAS "
                f"may use, got {n_jobs!r}. Write e.g. n_jobs=2."
            )
        with at_most_threads(n_jobs):
            return method(self, *arguments, **keywords)

    return limited


@dataclass(eq=False, repr=False)
class SpectralModel(Estimator):
    """Base class of ``SpectralClassifier`` and ``SpectralRegressor``."""

    _defaults: ClassVar = {"evidence": _USUAL}
    # Most half decades between the noise of the evidence and the ridge.
    _ridge_steps: ClassVar[int]
    # Name of the first task of a fit.
    _prepared_parts: ClassVar[str]
    # No field, as it has no annotation. Files of models without it use this value.
    _rearrangement = None  # type: Rearrangement | None

    priors: Any = None
    evidence: Evidence | None = None
    _: KW_ONLY
    categorical_features: Any = "from_dtype"
    trees: bool = False
    max_leaf_rows: int = _MOST_LEAF_ROWS
    n_jobs: int | None = None
    random_state: Any = None
    max_exact_rows: Any = "deprecated"
    monotonic_cst: Any = None

    # --- fitting ----------------------------------------------------------------------------------

    @restore_on_failure
    @with_callbacks
    @limit_threads
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Equal rows count as copies of one observation, unless the same inputs occur with different
        outcomes. See the user guide on weights and repeated rows.

        Parameters
        ----------
        X : frame, array, sparse matrix, memory map, or Dask collection of shape (n_rows, n_columns)
            The table. Missing values are allowed.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The labels of a classifier, or the values of a regressor.
        sample_weight : array of shape (n_rows,), default None
            Weights of the rows. They are relative: multiplying all of them by a constant changes
            nothing.

        Returns
        -------
        self
        """
        priors, rng = self._check_parameters(), as_generator(self.random_state)
        data = self._read(X, y, sample_weight)
        signs: dict[int, int] = {}
        if self.monotonic_cst is not None:
            constraints = self.monotonic_cst, data.table, self.categorical_features, data.target
            signs = directions(*constraints)
        is_large = len(data) > self._most_leaf_rows()
        has_waves = self._has_waves(len(data), is_large)
        n_tasks = 1 + 2 * len(priors) + has_waves + self.trees + 1
        tasks = FitTasks(self, None if is_large else n_tasks, X, y)
        rows = self._fit(data, priors, rng, tasks)
        self._rearrangement = None
        if signs:
            self._rearrangement = Rearrangement.of(signs, self.inputs_, rows.Z, rows.row_counts)
        tasks.finished("blending", dict)
        tasks.close(dict)
        return self

    def _check_parameters(self):
        check_count(self.max_leaf_rows, "max_leaf_rows", minimum=100)
        if self._has_former_name():
            check_count(self.max_exact_rows, "max_exact_rows", minimum=100)
            if self.max_leaf_rows != _MOST_LEAF_ROWS:
                raise ValueError(
                    "max_exact_rows is the former name of max_leaf_rows, and both were given. "
                    f"Write max_leaf_rows={self.max_leaf_rows} alone."
                )
            warnings.warn(
                "max_exact_rows is now called max_leaf_rows. Write "
                f"max_leaf_rows={self.max_exact_rows}.",
                FutureWarning,
                stacklevel=2,
            )
        refuse_class(self.evidence, "evidence")
        if self.evidence is not None:
            if not isinstance(self.evidence, Evidence):
                raise TypeError(
                    "evidence must be an Evidence, e.g. Evidence(n_rows=500), got "
                    f"{self.evidence!r}."
                )
            self.evidence._check_parameters()
        check_flag(self.trees, "trees")
        return learning.check_priors(self.priors)

    def _most_leaf_rows(self) -> int:
        return self.max_exact_rows if self._has_former_name() else self.max_leaf_rows

    def _has_former_name(self) -> bool:
        """Return True if ``max_exact_rows`` is given; by type, as it may be an array."""
        return not (isinstance(self.max_exact_rows, str) and self.max_exact_rows == "deprecated")

    def _has_waves(self, n_rows, has_leaves):
        """Return True if waves are a member: for many rows, and for labels if some are held out."""
        return has_leaves or (is_classifier(self) and n_rows > fitting.LEAVE_ONE_OUT_ROWS)

    def _read(self, X, y, sample_weight) -> Any:
        """Return the rows that have a weight, without copies if they are too many for one leaf.

        A table on Dask keeps its rows without weight.
        """
        table = open_table(self, X, reset=True).in_memory(self._most_leaf_rows())
        n_rows = table.shape[0]
        if n_rows < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 rows, got n_samples = {n_rows}."
            )
        weights = check_weights(sample_weight, n_rows)
        weights = np.ones(n_rows) if weights is None else weights
        kept = table.rows_to_read(weights)
        target = self._read_target(y, n_rows, kept, weights[kept])
        data = TableData(table.select(kept), target, weights[kept])
        is_large = len(data) > self._most_leaf_rows()
        return data.merge_equal_rows(fitting.LEAVE_ONE_OUT_ROWS) if is_large else data

    def _fit(self, data, priors, rng, tasks):  # type: ignore[override]
        """Prepare the columns, learn a prior for each family, solve the members, and blend them.

        The result is all prepared rows.
        """
        most_rows = self._most_leaf_rows()
        is_large = len(data) > most_rows
        for _ in tasks.each("preparing", [self._prepared_parts]):
            preparation = prepare_columns(
                self.categorical_features,
                data,
                is_large,
                fitting.LEAVE_ONE_OUT_ROWS,
                rng,
                priors,
            )
            preparation = learning.choose_rank_encoding(preparation, rng)
            self.inputs_: TableInputs = preparation.inputs
            sample, note = preparation.data, preparation.note
            if hasattr(self.inputs_, "feature_names_in_"):
                self.feature_names_in_ = self.inputs_.feature_names_in_
            priors = with_codes(priors, self.inputs_)
            evidence = self._evidence(len(sample))
            rows = learning.learning_rows(evidence, len(sample), len(priors), rng)
            learn = partial(learning.learn_prior, evidence, priors[0])
            first = learning.timed(self._choose_scale, data, sample, rows[0], learn)
        costs = self._costs(data)
        sample = self._scaled_and_weighted(sample, costs)
        families = learning.learn_families(evidence, priors, sample, rows, tasks, first)
        if is_large:
            prepared, more = prepare_all_rows(data, self.inputs_)
            sample, note = self._scaled_and_weighted(prepared, costs), note or more
        leaves = fitting.Leaves.of(sample, families[0].learned.prior, most_rows, rng)
        members = fitting.solve_families(families, leaves, evidence, self._ridge_steps, rng, tasks)
        if self._has_waves(len(leaves.data), leaves.tree is not None):
            members += fitting.fit_waves(families[0], leaves, rng, tasks)
        if self.trees:
            members += fitting.grow_trees(leaves, rng, tasks)
        self.path_ = leaves.sentence(most_rows) + note
        n_rows = len(leaves.data)
        # Evenly spread rows, which are copied, so that the model does not keep all rows.
        some = np.linspace(0, n_rows - 1, min(n_rows, _BACKGROUND_ROWS)).round().astype(np.intp)
        self._background = np.array(leaves.data.Z[some], dtype=np.float64)
        held_out = np.stack([one.solved.held_out for one in members])
        blend, weights = self._blend(members, held_out, leaves.evaluation, rng)
        self.blend_: Any = blend  # a Mixture for labels
        self._systems = self._kernel_systems(members, weights, leaves)
        self._reports = fitting.member_reports(members, weights, leaves.evaluation)
        prior = fitting.heaviest_prior(members, weights)
        # Drawn last, by a generator of its own: nothing else in the fit depends on it.
        self._neighbors = Neighbors.drawn(
            leaves.data, prior, self.inputs_.sources_, rng.spawn(1)[0]
        )
        return leaves.data

    def _scaled_and_weighted(self, data, costs) -> PreparedData:
        """Return rows with the target on the scale of the fit, and weights times ``costs``."""
        weights = data.row_weights if costs is None else data.row_weights * costs[data.numbers]
        return replace(data, target=self._scaled(data.target), row_weights=weights)

    # Steps that differ between labels and values.

    def _read_target(self, y, n_rows, kept, weights):
        """Validate y, and return the target of the rows ``kept``, which have these weights."""
        raise NotImplementedError

    def _costs(self, data):
        """Return the weights of the classes for each row of the table, or None."""

    def _choose_scale(self, data, prepared, rows, learn) -> LearnedPrior | None:
        """Choose the scale of the target by ``learn`` from these rows of ``prepared``.

        The result is the first prior, or None if it was not learned.
        """

    def _scaled(self, target):
        """Return the target on the scale of the fit."""
        return target

    def _blend(self, members, held_out, evaluation, rng):
        """Return the blend of the members by their scores of held-out rows, and all weights."""
        raise NotImplementedError

    def _quantity(self, output) -> LinearQuantity | LinkedQuantity:
        """Return the quantity that effects explain; its name is ``output``."""
        raise NotImplementedError

    def _explained(self):
        """Return the output that ``shapley`` explains, and names of several outputs."""
        raise NotImplementedError

    def _scores_scale(self):
        """Return unit and center of the scores, and True if there is no axis of outputs."""
        raise NotImplementedError

    def _kernel_systems(self, members, weights, leaves) -> tuple[KernelSystem, ...]:
        """Return the systems of the members of the blend, none if these have no bands."""
        return ()

    def _slopes(self, Z, side):
        """Return one-sided ∂ outputs / ∂ prepared columns, (n_samples, n_outputs, n_columns)."""
        raise NotImplementedError

    def _as_given(self, outputs):
        """Return (n_samples, n_outputs, ...) in the shape of y."""
        return outputs

    def _evidence(self, n_rows):
        """Return the parameter ``evidence``, or its default for this number of rows."""
        if self.evidence is not None:
            return self.evidence
        return _FOR_MANY_LABELS if is_classifier(self) and n_rows > _USUAL.n_rows else _USUAL

    # --- fitted models ----------------------------------------------------------------------------

    def _map_rows(self, X, function, n_columns, of_completed=None):
        """Return ``function(prepared rows)``, (n_samples, n_columns), block by block.

        For a row with unfamiliar cells, return ``of_completed`` of its ``completed_rows``. None is
        the mean of ``function`` over these.
        """
        check_is_fitted(self)
        if of_completed is None:
            of_completed = partial(mean_over_donors, function)
        # Donors are chosen without the constrained columns, so that means over them are monotone.
        fixed = self._rearrangement
        ignored = () if fixed is None else tuple(self.inputs_.sources_[fixed.columns].tolist())
        mapped = integrated(self._neighbors, function, of_completed, ignored)
        return open_table(self, X).map_prepared(self.inputs_, mapped, n_columns)

    def _map_marks(self, X, function):
        """Return ``function(prepared rows, marks)``, one number per row, without a warning."""
        check_is_fitted(self)
        with collect_unfamiliar():
            return open_table(self, X).map_prepared(self.inputs_, function, 1)[:, 0]

    def _table_in_memory(self, X):
        check_is_fitted(self)
        refusal = TypeError(
            "Effects, Shapley values and derivatives need rows in memory, but X is on a cluster. "
            "Give some of its rows, e.g. X.head() or X[:1000].compute()."
        )
        return open_table(self, X).in_memory(-1, refusal)

    @property
    def members_(self) -> Members:
        """Members of the blend: learned prior, weight, held-out error and fitting time of each."""
        check_is_fitted(self)
        return Members(self._reports)

    @property
    @limit_threads
    def feature_importances_(self) -> np.ndarray:
        """Importance of each column of the table, (n_columns,); their sum is one.

        The importance of column j is S_j / Σ_k S_k, with S_j = mean_i ½ ‖f(x_i) − f(x'_i)‖². Here
        x'_i is x_i with the cell in column j of another row. This is Jansen's estimate of the total
        effect of a column. The rows are up to 256 evenly spread training rows, and the other row is
        half of them further on.
        """
        check_is_fitted(self)
        return column_importances(self.blend_, self.inputs_, self._background)

    novelty = limit_threads(explanations.novelty)
    imputed_cells = limit_threads(explanations.imputed_cells)
    effects = limit_threads(explanations.effects)
    shapley = limit_threads(explanations.shapley)
    input_gradient = limit_threads(explanations.input_gradient)

    # --- in notebooks -----------------------------------------------------------------------------

    def _repr_html_inner(self):
        return self._html_repr()

    def _html_repr(self):
        """Return scikit-learn's diagram, followed by the members of a fitted model."""
        return estimator_html_repr(self) + (self._learned_html() if hasattr(self, "blend_") else "")

    @limit_threads
    def _learned_html(self):
        importances = quick_importances(self.blend_, self.inputs_, self._background)
        prepared = self.inputs_.get_feature_names_out()
        return model_html(self.members_, self.path_, importances, self.inputs_.names_, prepared)

    def _repr_mimebundle_(self, **kwargs):
        """Return HTML and, for notebooks without HTML, the members as a plain table."""
        shown = {"text/plain": repr(self)}
        if hasattr(self, "blend_"):
            shown["text/plain"] += f"\n\n{self.members_!r}\n\n{self.path_}"
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._html_repr()
        return shown

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
