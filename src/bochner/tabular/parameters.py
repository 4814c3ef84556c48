"""What both models of the front door take, and how many threads they use for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Integral

from .._loops.threads import at_most_threads

PARAMETERS = """
    priors : sequence of priors, default None
        Families that ``Evidence`` can learn; None is (Anova(), Laplace(), Gaussian()).
    evidence : Evidence, default None
        How a family is learned; None is ``Evidence(standardize=False)``, for labels of more than 1000 rows with n_rows=700,
        n_iterations=15 and n_refining_rows=2000.
    categorical_features : "from_dtype" or a list of columns, default "from_dtype"
        "from_dtype": columns of text, categories and objects of a frame are categorical.  A list of
        names, places or truth values adds columns to these; of an array it names all of them.
    trees : bool, default False
        Whether scikit-learn's histogram trees are a member too; their held-out scores are those of five folds up to 3500 rows.  Such
        a model has no ``input_gradient``.
    max_exact_rows : int, default 15000
        Up to here kernels are used exactly; their matrix takes 4 n² bytes.  Of more rows a sample of so many is; beside it 1024
        waves drawn from each learned prior descend over all rows, whose prepared columns are kept in memory up to 256 MiB and in a
        temporary file above.  Rows of a Dask array or frame are brought here whole up to this number; of more the
        sample, up to 2500 rows held out and 10 000 for each start of the waves come here, and the others stay where they are.
    n_jobs : int, default None
        Threads of a fit and of predictions, at most; −1: as many as there are cores, None: as many as BLAS may use.
    random_state : None, int, RandomState or Generator, default None
        For the rows that are drawn, and folds."""


def on_n_jobs(method: Callable) -> Callable:
    """The method, with at most ``n_jobs`` threads."""

    @wraps(method)
    def limited(self, *arguments, **keywords):
        n_jobs = self.n_jobs
        whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
        if n_jobs is not None and not (whole and (n_jobs >= 1 or n_jobs == -1)):
            raise ValueError(
                "n_jobs must be a number of threads, −1 for all cores or None for as many as BLAS "
                f"may use, got {n_jobs!r}. "
                "Write e.g. n_jobs=2."
            )
        with at_most_threads(n_jobs):
            return method(self, *arguments, **keywords)

    return limited
