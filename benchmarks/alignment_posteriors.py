"""Bounds and test errors of the pseudo-posteriors on data sets of Letarte et al. 2019.

``python benchmarks/alignment_posteriors.py [names]``, with BOCHNER_DATA, prints a table in about
ten minutes. The scale of the columns and γ are computed from the validation rows, so that bounds
on the training rows are valid. Columns:

- loss: alignment loss on the training rows; safe and kl: its bounds of the two forms,
- svm: test error of a linear SVM on 100 frequencies, C chosen on the validation rows,
- exact: the same for an SVM with the closed-form kernel of the learned distribution.

PacBayesLangevin has no bound: KL(q ‖ p) of its law is not known.
"""

import sys

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from bochner import SpectralFeatures
from bochner.learners import PacBayes, PacBayesGaussian, PacBayesLangevin
from bochner.priors import Gaussian
from bochner_papers import pbrff_protocol as protocol

SETS = ("breast", "ads_dedup", "mnist17", "mnist49", "mnist56", "adult")
ROWS, COSTS = 2000, [10.0**k for k in range(-2, 4)]
LEARNERS = {
    "prior": None,
    "PacBayes": PacBayes(),
    "PacBayes bound": PacBayes("bound"),
    "Langevin": PacBayesLangevin(1.0),
    "Langevin 10": PacBayesLangevin(10.0),
    "Gaussian": PacBayesGaussian(),
    "Gaussian, m = 0": PacBayesGaussian(centered=True),
    "Gaussian, diagonal": PacBayesGaussian(covariance="diagonal"),
}


def parts_of(name):
    """Return rows and labels of the three parts, in units of the validation rows."""
    parts = protocol.split(name, 0, ROWS)
    rows = [X.toarray() if sp.issparse(X) else X.astype(float) for X in parts.rows]
    if not name.startswith("mnist"):
        scaler = StandardScaler().fit(rows[1])
        rows = [scaler.transform(X) for X in rows]
    return list(zip(rows, (parts.train[1], parts.valid[1], parts.test[1]), strict=True))


def test_error(make, parts):
    """Return the test error in percent at the C of least validation error."""
    (X, y), *others = parts
    errors = [
        [np.mean(m.predict(Z) != t) for Z, t in others] for m in (make(X, y, C) for C in COSTS)
    ]
    return 100 * min(errors)[1]


def row_of(learner, prior, parts):
    """Return loss, bounds and test errors of a learner; NaN if it has none."""
    (X, y), *_ = parts
    n_candidates = 5000 if isinstance(learner, PacBayes) else None
    settings = {"n_components": 100, "n_candidates": n_candidates, "random_state": 0}
    features = SpectralFeatures(prior, learner, target="labels" if learner else "auto", **settings)
    features.fit(X, y)
    loss = safe = kl = exact = np.nan
    if isinstance(learner, PacBayes | PacBayesGaussian):
        bound = features.alignment_bound(of="learned", form="kl")
        safe, kl = features.alignment_bound(of="learned").value, bound.value
        loss = bound.empirical
        assert bound.valid, bound.reason
    elif learner is not None:
        loss = features.report_.losses.mean()
    mapped = [(features.transform(Z), t) for Z, t in parts]
    svm = test_error(lambda X, y, C: LinearSVC(C=C, max_iter=5000).fit(X, y), mapped)
    if learner is None or isinstance(learner, PacBayesGaussian):
        kernel = (prior if learner is None else features.report_.prior).kernel
        grams = [(kernel(Z, X), t) for Z, t in parts]
        exact = test_error(lambda K, y, C: SVC(C=C, kernel="precomputed").fit(K, y), grams)
    return loss, safe, kl, svm, exact


def main(names):
    print(f"{'':10} {'':20}   loss   safe     kl    svm  exact")
    for name in names or SETS:
        parts = parts_of(name)
        prior = Gaussian(gamma=Gaussian("median").resolved(parts[1][0]).gamma)
        for label, learner in LEARNERS.items():
            if parts[0][0].shape[1] > 1000 and getattr(learner, "covariance", "") == "full":
                continue
            loss, safe, kl, svm, exact = row_of(learner, prior, parts)
            figures = f"{loss:6.3f} {safe:6.3f} {kl:6.3f} {svm:6.2f} {exact:6.2f}"
            print(f"{name:10} {label:20} {figures}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
