"""Wrong formulas for ``mutants.py``, each with the tests that must fail for it.

``text`` occurs once in one of ``files`` (below ``src/bochner``), or once in the whole package if
the code has moved. ``mutants.py`` replaces it by ``wrong`` and runs ``tests`` (below ``tests``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One wrong formula.  ``long``: also run tests that are marked long."""

    name: str
    files: tuple[str, ...]
    text: str
    wrong: str
    tests: tuple[str, ...]
    long: bool = False


def _group(files: str, tests: str, mutants: dict[str, tuple[str, str]]) -> list[Mutant]:
    """Mutants with common files and tests, both separated by blanks.

    "~" at the end of a name: the tests marked long are run, too.
    """
    files_, tests_ = tuple(files.split()), tuple(tests.split())
    return [
        Mutant(name.rstrip("~"), files_, text, wrong, tests_, name.endswith("~"))
        for name, (text, wrong) in mutants.items()
    ]


PINNED = "unit/bounds/test_pinned_bounds.py"

MUTANTS: list[Mutant] = [
    # --- bounds -----------------------------------------------------------------------------------
    *_group(
        "bounds/risk.py",
        f"{PINNED} unit/test_certificates.py",
        {
            "risk-pac-bayes-kl-log": (
                "np.log(2 * np.sqrt(n_samples) * n_tried / delta)",
                "np.log(n_tried / delta)",
            ),
            "risk-pac-bayes-kl-tries": ("* n_tried / delta)) / n", "/ delta)) / n"),
            "risk-bernstein-seven-thirds": (('complexity = np.sqrt(2 * losses.var(ddof=1) * log_term / n_samples) + 7 * largest * log_term / (\n'
'        3 * (n_samples - 1)\n'
'    )'), 'complexity = np.sqrt(2 * losses.var(ddof=1) * log_term / n_samples)'),
            "risk-bernstein-variance": ("np.sqrt(2 * losses.var(ddof=1)", "np.sqrt(losses.var(ddof=1)"),
            "risk-bernstein-log": ("log_term = np.log(2 / delta)", "log_term = np.log(1 / delta)"),
            "risk-bernstein-range": ("7 * largest * log_term", "7 * log_term"),
            "risk-binomial-tail": (
                "beta.ppf(1 - delta, n_errors + 1, n_samples - n_errors)",
                "beta.ppf(1 - delta, n_errors + 1, n_samples - n_errors + 1)",
            ),
            "risk-kl-backwards": ("allowed = _binary_kl(empirical, middle) <=", "allowed = _binary_kl(middle, empirical) <="),
        },
    ),
    *_group(
        "bounds/alignment.py",
        f"{PINNED} unit/test_alignment_bounds.py",
        {
            "alignment-landmark-union": ("np.log(n_landmarks / delta)", "np.log(1 / delta)"),
            "alignment-landmark-rows": ("n_samples - 1 if in_sample else n_samples", "n_samples"),
            "alignment-first-order-hoeffding": (
                '((2 if form == "paper" else 8) * n_rows)',
                '((2 if form == "paper" else 16) * n_rows)',
            ),
            "alignment-kl-pairs": ("divergence, n_samples // 2, delta=delta", "divergence, n_samples, delta=delta"),
            "alignment-kl-landmarks": ("n_rows, delta=delta, n_tried=n_landmarks", "n_rows, delta=delta"),
            "alignment-corollary-2-factor": ("complexity = 2 / t *", "complexity = 1 / t *"),
            "alignment-corollary-2-union": ("np.log((n_samples + 1) / delta)", "np.log(1 / delta)"),
            "alignment-second-order-pairs": ("8 * (n_samples // 2)", "8 * n_samples"),
            "alignment-second-order-tries": ("np.log(n_tried / delta)", "np.log(1 / delta)"),
            "alignment-f-divergence-variance": ("(1 / (2 * n_samples * delta))", "(1 / (4 * n_samples * delta))"),
            "alignment-f-divergence-moment": ("(2 * n_samples) ** -0.5", "(2 * n_samples) ** (1 / "
                                                                         "mu - 1)"),
            "alignment-f-divergence-spread": ("(divergence + 1) ** (1 / mu)", "divergence ** (1 / "
                                                                              "mu)"),
            "alignment-chi-square-order": ("n_samples, mu=2.0, delta", "n_samples, mu=3.0, delta"),
            "alignment-power-divergence": ("(ratio / largest) ** mu", "(ratio / largest) ** (mu - "
                                                                      "1)"),
            "alignment-kl-backwards": ("rel_entr(posterior, prior)", "rel_entr(prior, posterior)"),
        },
    ),
    *_group(
        "bounds/bound.py features/spectral.py",
        "unit/bounds/test_bound_arguments.py unit/test_spectral_features_learning.py",
        {
            "arguments-rate-range": ("if not -ROUNDING <= value <= 1 + ROUNDING:", "if False:"),
            "arguments-rate-nan": ("if np.isnan(float(value)):", "if False:"),
            "arguments-divergence-sign": ("if value < -ROUNDING:", "if False:"),
            "arguments-vector-finite": ("if not np.all(np.isfinite(vector)):", "if False:"),
            "arguments-learned-prior": ("isinstance(value, SpectralPrior) and value._learned", "False"),
        },
    ),
    *_group(
        "bounds/margin.py",
        f"{PINNED} unit/bounds/test_margin_bounds.py",
        {
            "margin-regret": ("1.5 * C * n * (1 + C * n)", "1.5 * C * n * (1 + C)"),
            "margin-objective-half": ("heights.mean() / 2", "heights.mean()"),
            "margin-error-complexity": ("2 * rademacher / thetas", "rademacher / thetas"),
            "margin-error-origin": ("else 3 * radius + 1", "else 3 * radius"),
            "margin-error-union": ("2 * union / delta", "2 / delta"),
            "margin-deviation-bias": ("epsilon / 2 - 1 / n", "epsilon / 2"),
            "margin-deviation-sides": ("np.log(2) + net", "net"),
            "margin-competitive-ratio": ("gap * best_margin**2", "gap * best_margin"),
        },
    ),
    *_group(
        "bounds/operator.py operators/approximation.py operators/vector_field.py",
        f"{PINNED} unit/test_operator_approximation.py",
        {
            "operator-uniform-split": ("(4 if form == \"safe\" else 2)", "2"),
            "operator-promised-slope": ("form=form)) / far", "form=form)) / (2 * far)"),
            "operator-uniform-exponent": ("(8 * (d + 2) * (b", "(4 * (d + 2) * (b"),
            "operator-uniform-far": ("((d + 2) * (math.e - 1) * u)", "((math.e - 1) * u)"),
            "operator-uniform-cover": ("2 / (1 + 2 / d)", "1 / (1 + 2 / d)"),
            "operator-uniform-orlicz": ("4 * (constants.orlicz + constants.sup_norm)", "4 * constants.orlicz"),
            "operator-fourth-moment": ("first**2 + 2 * second", "first**2 + second"),
            "operator-variance": ("(mass * (mass + doubled) / 2)", "(mass * (mass + doubled))"),
        },
    ),
    # --- certificates -----------------------------------------------------------------------------
    *_group(
        "models/certified.py",
        f"{PINNED} unit/test_certificates.py",
        {
            "certificate-widths-free": ("n_tried=len(_WIDTHS)", "n_tried=1"),
            "certificate-never-moves": ("np.linspace(0, 1, 21)", "np.zeros(21)"),
            "certificate-divergence": ("/ (2 * widths**2)", "/ (4 * widths**2)"),
            "certificate-gibbs-twice": ("2 * bound.value", "bound.value"),
            "certificate-on-all-rows": (
                "self._minimize_bound(rows, codes, first, observations,",
                "self._minimize_bound(rows, codes, first, first + second,",
            ),
            "certificate-one-class-moves~": ("np.sum(step**2)", "np.sum(step[:1] ** 2)"),
            "certificate-prior-on-all-rows": (
                "prior_mean = self._linear(rows, codes, weighed)",
                "prior_mean = self._linear(rows, codes, first + second)",
            ),
        },
    ),
    *_group(
        "models/certified.py data/training.py data/repetitions.py",
        "unit/test_certificates.py unit/test_row_draws.py",
        {
            "copies-certified-each": ("observations[rows] = second", "observations[:] = "
                                                                     "second[groups]"),
            "copies-certified-merged": (
                "return first * counts, second * counts, second\n",
                "return first * counts, second * counts, second * counts\n",
            ),
            "copies-split-apart": ("_, rows, groups = np.unique(equal.split_groups(),", "_, rows, groups = np.unique(np.arange(len(equal.groups)),"),
            "copies-merged-apart": ("split_counts(np.sign(counts), share, rng)", "split_counts(counts, share, rng)"),
            "copies-of-ties": ("split_counts(counts / equal.unit, share, rng)", "split_counts(counts, share, rng)"),
            "copies-of-ties-apart": ("if self.unit <= row_weights.max() * (1 + _ROUNDING):", "if True:"),
            "copies-certify": ("prediction, y = prediction[chosen], y[chosen]", "pass"),
        },
    ),
    *_group(
        "tables/evaluate/splitting.py tables/evaluate/thresholds.py tables/columns/reader.py "
        "tables/evaluate/usable_rows.py tables/fitting.py tables/evaluate/copies.py",
        "unit/test_table_copies.py",
        {
            "copies-in-training": ("train = observations.with_copies(train)", "train = rows[~np.isin(rows, test)]"),
            "copies-held-out": ("test = observations.first(test)\n", "test = rows[np.isin(rows, "
                                                                     "test)]\n"),
            "copies-in-threshold-folds": (
                "observations.folds(StratifiedKFold(**options), y)",
                "StratifiedKFold(**options).split(y, y)",
            ),
            "copies-of-other-groups": ("in (\"drop\", \"identifier\")} - {split_by}", "in (\"drop\", \"identifier\")}"),
            "copies-with-running-numbers": ("elif is_identifier is None or not is_identifier(name):", "else:"),
        },
    ),
    *_group(
        "tables/evaluate/evaluation.py",
        f"{PINNED} unit/test_tables.py",
        {"certificate-interval": ("int(binom.ppf(1 - _DELTA, n, _COVERAGE)) + 1", "int(binom.ppf(1 - _DELTA, n, _COVERAGE))")},
    ),
    # --- alignment and its learners ---------------------------------------------------------------
    *_group(
        "learners/alignment.py",
        "reference/test_alignment_double_sums.py",
        {
            "loss-trace": ("0.5 - (energy - trace) / (2 * n_pairs)", "0.5 - energy / (2 * n_pairs)"),
            "loss-pairs": ("n_samples * (n_samples - 1)", "n_samples**2"),
            "loss-classes": ("energy = 2 * np.sum(self.sums**2", "energy = np.sum(self.sums**2"),
            "loss-gradient": ("2 * rows.sum(pull", "rows.sum(pull"),
            "loss-values-scale": ("max(self.high[0] - mean, mean - self.low[0])", "self.high[0] - "
                                                                                  "mean"),
            "loss-values-trace": (
                "self.second - self.n_samples * float(offset @ offset)",
                "self.second + self.n_samples * float(offset @ offset)",
            ),
        },
    ),
    *_group(
        "learners/pac_bayes.py",
        "unit/test_alignment_learners.py properties/test_posteriors.py",
        {
            "pac-bayes-betas-free": ("n_samples, beta, len(BETA_GRID))", "n_samples, beta, 1)"),
            "pac-bayes-gibbs-root": ("beta * np.sqrt(n_samples) * gaps", "beta * n_samples * gaps"),
            "pac-bayes-choice-t": (
                "mass, t = prior_weights.sum(), beta * np.sqrt(n_samples)",
                "mass, t = prior_weights.sum(), beta * n_samples",
            ),
            "pac-bayes-bound-t": (
                "return beta * np.sqrt(report.n_samples)",
                "return np.sqrt(report.n_samples)",
            ),
        },
    ),
    *_group(
        "learners/pac_bayes_gaussian.py",
        "unit/learners/test_pac_bayes_gaussian.py",
        {
            "pac-bayes-gaussian-divergence": ("sizes / 2 - np.sum(np.log(diagonal))", "sizes / 2 - np.sum(np.log(diagonal)) / 2"),
            "pac-bayes-gaussian-sign": ("2 * distance * (distance + z)", "distance * (distance + z)"),
            "pac-bayes-gaussian-trace": ("0.5 - (energy - trace)", "0.5 - energy"),
            "pac-bayes-gaussian-metric": ("near = similar[:, None] * X[some] - gram @ X", "near = similar[:, None] * X[some]"),
            "pac-bayes-gaussian-mean": ("waves[some, 1] * sums[:, 0] - waves", "waves[some, 1] * sums[:, 0] + waves"),
            "pac-bayes-gaussian-cost": ("1 / (4 * n_blocks * cost)", "1 / (2 * n_blocks * cost)"),
            "pac-bayes-gaussian-draws": ("np.log(1 / share) / (2 * n_drawn)", "np.log(1 / share) / (4 * n_drawn)"),
            "pac-bayes-gaussian-share": ("share = delta if n_drawn is None else delta / 2", "share = delta"),
        },
    ),
    *_group(
        "priors/metric.py",
        "conformance/test_priors.py",
        {
            "prior-metric-volume": ("return values - log_volume", "return values + log_volume"),
            "prior-metric-wave": ("np.cos(np.subtract.outer(X @ mean, Z @ mean))", "np.cos(X @ mean)[:, None]"),
            "prior-metric-hessian": ("(crossed + crossed.swapaxes(2, 3))", "2 * crossed"),
        },
    ),
    *_group(
        "learners/optimal_alignment.py",
        "reference/test_divergence_ball.py unit/test_alignment_learners.py",
        {
            "ball-exponent": ("/ (mu - 1))", "/ mu)"),
            "ball-largest-radius": ("** (1 - mu) - 1", "** (1 - mu) / 2 - 1"),
            "ball-sign": ("prior_weights, -row,", "prior_weights, row,"),
            "ball-bound": ("f_divergence(empirical, divergence, int(", "f_divergence(empirical, "
                                                                       "0.0, int("),
        },
    ),
    *_group(
        "features/landmarks.py",
        "reference/test_alignment_double_sums.py unit/test_landmarks.py "
        "unit/test_alignment_bounds.py",
        {
            "landmark-own-similarity": ("agreement -= own_similarity[:, None]", "agreement -= 0.0"),
            "landmark-rows": ("        n_rows -= 1\n", "        n_rows -= 0\n"),
            "landmark-classes": ("2 * sums[chosen.targets", "sums[chosen.targets"),
            "landmark-bound-independent": ("independent=in_sample or independent", "independent=in_sample"),
            "landmark-bound-kl-tries": ("theorem(loss, kl, n_samples, union)", "theorem(loss, kl, n_samples, 1)"),
            "landmark-bound-union": ("union = n_samples if in_sample and self._chosen_by_data else "
                                     "len", "union = len"),
        },
    ),
    # --- the margin game --------------------------------------------------------------------------
    *_group(
        "learners/game/duals.py",
        "unit/learners/test_duals.py unit/bounds/test_margin_bounds.py "
        "unit/learners/test_margin_game.py",
        {
            "dual-projection": ("return np.clip(z - shift * y, 0, C)", "return np.clip(z - shift * "
                                                                       "y, 0, 2 * C)"),
            "dual-hinge-gradient": ("return 1 - self.targets * response\n", "return 1 - self.targets * response / 2\n"),
            "dual-squared-hinge-gradient": ("1 - self.targets * response - alpha / self.C", "1 - self.targets * response"),
            "dual-squared-gradient": ("self.targets - response - alpha / self.C", "self.targets - "
                                                                                  "response + alpha / self.C"),
            "dual-gradient-bound": ("* (1 + self.C * self.total)", "* (1 + 2 * self.C)"),
            "dual-scaled": ("return s * linear - s**2 * quadratic / 2", "return s * linear - s * "
                                                                        "quadratic / 2"),
        },
    ),
    *_group(
        "learners/game/value.py learners/game/margin_game.py learners/game/equilibrium.py",
        "unit/learners/test_margin_game.py unit/learners/test_duals.py "
        "unit/bounds/test_margin_bounds.py",
        {
            "game-local-search": ("plays = concatenate([self.search.find(signal, self.rng, 1), learned])", "plays = learned"),
            "game-lower-curvature": ("largest_potential + 2 * curvature", "largest_potential + "
                                                                          "curvature"),
            "game-upper-norm": (
                "penalty = float(np.sum(coefficients**2)) / 2",
                "penalty = 0.0",
            ),
            "game-upper-sampled": ("return penalty + float(losses)", "return penalty + "
                                                                     "float(losses) / 2"),
            "game-margin": ("1 / np.sqrt(2 * self.upper)", "1 / np.sqrt(self.upper)"),
            "game-ratio": ("np.sqrt(max(self.lower, 0.0) / self.upper)", "max(self.lower, 0.0) / "
                                                                         "self.upper"),
            "game-theory-step": (
                "dual.diameter / (dual.gradient_bound * np.sqrt(number))",
                "dual.gradient_bound / (dual.diameter * np.sqrt(number))",
            ),
            "game-adaptive-step": ("dual.diameter / np.sqrt(squared_gradients)", "dual.diameter / "
                                                                                 "squared_gradients"),
            "game-equilibrium-lower": ("float(potentials.max())", "float(potentials.mean())"),
        },
    ),
    *_group(
        "learners/game/peaks.py learners/game/exhaustive.py",
        "unit/learners/test_peaks.py",
        {
            "peaks-langevin-noise": ("np.sqrt(2 * step * self.temperature)", "np.sqrt(2 * self.temperature / step)"),
            "peaks-penalty-slope": ("self.dtype(2 * self.bend)", "self.dtype(self.bend)"),
            "peaks-zonal-share": ("weights=heights) / counts", "weights=heights)"),
        },
    ),
    *_group(
        "learners/descent/joint_descent.py",
        "unit/learners/test_joint_descent.py",
        {
            "descent-penalty": ("np.divide(self.penalty, shares", "np.divide(self.penalty, "
                                                                  "shares**2"),
            "descent-head-rate": ("head_rate * np.sqrt(shares)", "head_rate"),
            "descent-decay": ("decays=parameters.like(self.frequency_decay)", "decays=parameters.like(0.0)"),
        },
    ),
    # --- priors, measures, harmonics --------------------------------------------------------------
    *_group(
        "priors/gaussian.py priors/matern.py priors/laplace.py priors/cauchy.py "
        "priors/rational_quadratic.py priors/sinc.py "
        "priors/mixture.py priors/sampling.py priors/base.py",
        "unit/test_priors.py conformance/test_priors.py",
        {
            "prior-radial-slopes": ("return 4 * (pull.sum(axis=1)", "return 2 * (pull.sum(axis=1)"),
            "prior-radial-pull": ("np.tril(pull) + np.tril(pull, -1).T\n        pull *= self._slopes", "np.tril(pull)\n        pull *= self._slopes"),
            "prior-gaussian-two-gamma": ("1 / np.sqrt(2 * bandwidths)", "1 / np.sqrt(bandwidths)"),
            "prior-gaussian-length": ('bandwidths if self._bandwidth_name() == "length_scale" else 1 / np.sqrt(2 * bandwidths)', ('2 * bandwidths\n'
'            if self._bandwidth_name() == "length_scale"\n'
'            else 1 / np.sqrt(2 * bandwidths)')),
            "prior-matern-degrees": ("nu / gammaincinv(nu, uniform)", "nu / gammaincinv(2 * nu, "
                                                                      "uniform)"),
            "prior-matern-five-halves": ("s**2 / 3", "s**2 / 2"),
            "prior-matern-debye": ("81 * p**2", "18 * p**2"),
            "prior-laplace-quantile": ("np.tan(np.pi * (uniform - 0.5))", "np.tan(np.pi * (uniform "
                                                                          "- 0.5) / 2)"),
            "prior-cauchy-quantile": ("np.log1p(-2 * np.abs(centered))", "np.log1p(-np.abs(centered))"),
            "prior-rational-rate": ("gammaincinv(alpha, uniform) / alpha", "gammaincinv(alpha, "
                                                                           "uniform)"),
            "prior-sinc-width": ("2 * uniform - 1", "uniform - 0.5"),
            "prior-mixture-scale": ("scales[part] * normals", "scales[part] ** 2 * normals"),
            "prior-orthogonal-radii": ("rng.chisquare(n_features, n_draws)", "np.full(n_draws, "
                                                                             "float(n_features))"),
            "prior-scale-length": ("n_features * variance / 2", "n_features * variance"),
        },
    ),
    *_group(
        "measures/fourier.py learners/selection.py",
        "unit/test_measures.py properties/test_measure_properties.py "
        "unit/test_spectral_features_learning.py",
        {
            "measure-systematic-start": ("(rng.random() + np.arange(n_atoms))", "(0.5 + np.arange(n_atoms))"),
            "measure-resampled-mass": (('return np.minimum(chosen, np.flatnonzero(weights)[-1]), np.full(\n'
'        n_atoms, np.sum(weights) / n_atoms\n'
'    )'), 'return np.minimum(chosen, np.flatnonzero(weights)[-1]), np.full(n_atoms, 1 / n_atoms)'),
            "measure-merged-weights": (
                "np.bincount(labels, weights=self.weights[kept])",
                "self.weights[kept[first]]",
            ),
            "measure-merged-signs": ("np.where(signs == 0, 1, signs)", "np.abs(signs) + (signs == "
                                                                       "0)"),
            "measure-top-mass": ("* (cumulative[-1] / weights[largest].sum())", "* cumulative[-1]"),
        },
    ),
    *_group(
        "measures/fourier.py measures/scikit_kernel.py features/spectral.py learners/base.py operators/measure.py boosting/gbrff_base.py",
        "unit/test_measures_as_priors.py",
        {
            "measure-prior-product": ("self.learned or other.learned", "self.learned"),
            "measure-prior-boosted": ("weights.ravel(), learned=True)", "weights.ravel())"),
            "measure-prior-gradient": ("(cosine * own - sine * along)", "(cosine * own + sine * along)"),
            "measure-prior-hessian": ("left * waves[:, a] * waves[:, b]", "left * waves[:, a]"),
            "measure-prior-order": ("self.frequencies[rng.permutation(chosen)]", "self.frequencies[chosen]"),
            "measure-prior-whole": ("len(self.prior_) <= n_atoms", "len(self.prior_) < n_atoms"),
            "measure-prior-mark": ("            if value.learned:", "            if False:"),
            "measure-prior-mark-of-learners": ("self.measure.marked_learned())", "self.measure)"),
            "measure-prior-mark-of-scale": ("            measure = measure.marked_learned()", "            pass"),
            "measure-prior-mark-of-sums": ("learned=any(measure.learned for measure in (self, *others))", "learned=self.learned"),
            "measure-prior-diagonal": ("np.full(len(X), self.source._mass())", "np.ones(len(X))"),
            "measure-prior-onnx": ("self.features(points), coefficients)", "self.features(points) ** 2, coefficients)"),
        },
    ),
    *_group(
        "measures/harmonic.py",
        "unit/test_harmonics.py",
        {
            "harmonic-constant": ("1 / np.sqrt(2 * pi)", "1 / np.sqrt(pi)"),
            "harmonic-lift": ("lgamma(mu + 0.5)", "lgamma(mu + 1.5)"),
            "harmonic-recurrence": ("(m + 1) * (m + 2 * mu)", "(m + 1) * (m + mu)"),
            "harmonic-area": ("2 * np.exp(n_features / 2 * np.log(pi)", "np.exp(n_features / 2 * "
                                                                        "np.log(pi)"),
            "harmonic-zonal": ("np.asarray(weights) / counts", "np.asarray(weights)"),
            "harmonic-arc-cosine": ("(pi - angle) * cosine", "(pi + angle) * cosine"),
        },
    ),
    # --- operators --------------------------------------------------------------------------------
    *_group(
        "operators/vector_field.py priors/base.py priors/matern.py priors/sinc.py priors/mixture.py",
        "unit/test_operator_kernels.py properties/test_operator_properties.py",
        {
            "operator-divergence-free-sign": (
                "(trace * np.eye(curl_free.shape[-1]) - curl_free)",
                "(trace * np.eye(curl_free.shape[-1]) + curl_free)",
            ),
            "operator-helmholtz-share": (
                "share * curl_free + (1 - share) * (trace * np.eye(curl_free.",
                "(1 - share) * curl_free + share * (trace * np.eye(curl_free.",
            ),
            "operator-across-share": ("np.sqrt(1 - share) * across_basis", "(1 - share) * across_basis"),
            "operator-hessian-bend": ("hessian = -4 * bend", "hessian = -2 * bend"),
            "operator-hessian-rational": ("(alpha + 1) / (4 * alpha)", "1 / 4"),
            "operator-hessian-matern": ("slope = -nu / (2 * (nu - 1))", "slope = -nu / (2 * nu)"),
            "operator-hessian-cauchy": ("6 * u**2 - 2", "6 * u**2 - 1"),
            "operator-hessian-sinc": ("-value - 2 * first / safe", "-value - first / safe"),
            "operator-hessian-mixture": ("* cosine - crossed * sine", "* cosine + crossed * sine"),
            "operator-simplex": ("code[0, 1:] = -1 / p\n", "code[0, 1:] = -1 / p**2\n"),
        },
    ),
    # --- ridge ------------------------------------------------------------------------------------
    *_group(
        "solvers/problem.py solvers/direct.py models/ridge/spectral.py",
        "unit/test_spectral_ridge.py unit/test_solvers.py",
        {
            "ridge-unseen-directions": (" + unseen[:, None] / penalties", ""),
            "ridge-leverage-intercept": ("design**2 @ inverse + share, weights", "design**2 @ inverse, weights"),
            "ridge-leverage-weights": ("remainder = 1 - weights[:, None] * leverages", "remainder = 1 - leverages"),
            "ridge-noise-of-the-row": ('1 + self.rows.share + self.outputs.variances(features, design, inverse, penalties)', 'self.rows.share + self.outputs.variances(features, design, inverse, penalties)'),
            "ridge-noise-variance": (
                "np.maximum(self._solution.unexplained, 0.0) / self._statistics.weight",
                "np.maximum(self._solution.unexplained, 0.0)",
            ),
            "ridge-variance-intercept": (('out[rows] = noise * (\n'
'                1 + self.rows.share + self.outputs.variances(features, design, inverse, penalties)\n'
'            )'), 'out[rows] = noise * (1 + self.outputs.variances(features, design, inverse, penalties))'),
            "ridge-mean-leverage": ("spent / (outputs.n_outputs * weight)", "spent / weight"),
            "ridge-mean-leverage-eigen": ("/ (self.outputs.n_outputs * self.weight) + "
                                          "self.rows.mean_share", "/ self.weight"),
        },
    ),
    *_group(
        "solvers/problem.py solvers/direct.py models/ridge/operator.py",
        "unit/test_operator_ridge.py unit/test_solvers.py",
        {
            "operator-ridge-leverage": ("_left_out(residuals, leverages + share, weights)", "_left_out(residuals, leverages, weights)"),
            "operator-ridge-variance": ("return design**2 @ inverse[:, 0]", "return design @ "
                                                                            "inverse[:, 0]"),
            "operator-ridge-noise": ("(self._statistics.weight * len(unexplained))", "self._statistics.weight"),
            "operator-ridge-penalties": ('return np.divide(', 'return np.multiply('),
            "operator-ridge-turned-variance": ("@ (self.vectors**2).T", "@ self.vectors.T"),
        },
    ),
    *_group(
        "operators/measure.py models/ridge/fields.py",
        "unit/test_operator_kernels.py unit/test_vector_fields.py",
        {
            "operator-merged-matrices": ("keys = np.column_stack([keys, operators", "np.column_stack([keys, operators"),
            "field-potential-sign": ("field.frequencies, -sine, cosine", "field.frequencies, sine, "
                                                                         "cosine"),
            "field-curl-sign": ("space[a], column] -= 1", "space[a], column] += 1"),
        },
    ),
    *_group(
        "data/targets.py",
        "unit/test_operator_models.py",
        {
            "convex-covariance": ("return np.average(self.rows, axis=0, weights=weights)",
                                  "return np.average(self.rows, axis=0)"),
        },
    ),
    *_group(
        "solvers/partial.py solvers/direct.py solvers/convex.py models/ridge/exact.py "
        "data/targets.py data/training.py",
        "unit/test_missing_outputs.py",
        {
            "missing-design": ("design * observed[:, :, None]", "design"),
            "missing-share": ("share = share * observed", "share = share * np.ones_like(targets)"),
            "missing-intercept": ("gram=self.gram - self.feature_sum[:, :, None] * means[:, None, :]", "gram=self.gram"),
            "missing-weights": ("scaled = tile[h > 0] * h[h > 0, None]", "scaled = tile[h > 0]"),
            "missing-diagonal": ("squared = np.abs(self.measure.atom_factors()) ** 2", "squared = np.abs(self.measure.atom_factors())"),
            "missing-curvature": ("return bend * ~np.isnan(targets)", "return bend"),
            "missing-exact-errors": ("weights=weights) / share", "weights=weights)"),
            "missing-pairs": ("products / np.sqrt(np.outer(totals, totals))", "products / totals"),
            "missing-empty-rows": ("np.where(empty, 0.0, 1.0 if", "np.where(empty, 1.0, 1.0 if"),
        },
    ),
    *_group(
        "operators/measure.py operators/custom.py solvers/problem.py solvers/convex.py "
        "operators/sums.py",
        "unit/test_hermitian_kernels.py unit/test_kernel_sums.py",
        {
            "hermitian-kernel-sign": ("= even + odd, even - odd", "= even - odd, even + odd"),
            "hermitian-features": ("(cosine + 1j * sine)", "(cosine - 1j * sine)"),
            "hermitian-contract": ("1j * stacked[1], self.factors.conj()", "1j * stacked[1], self.factors"),
            "hermitian-mirrored": ("np.where(turned, self.operators().conj()", "np.where(turned, self.operators()"),
            "hermitian-transform": ("np.concatenate(sums).conj()", "np.concatenate(sums)"),
            "hermitian-ridge": ("\"acjpr,ajbk,bdkps->cjrdks\"", "\"cajpr,ajbk,dbkps->cjrdks\""),
            "hermitian-hessian": ("\"acjr,ajbk,bdks->cjrdks\"", "\"cajr,ajbk,bdks->cjrdks\""),
            "sum-shares": ("2 * self.scale * softmax", "self.scale * softmax"),
            "sum-mean": ("PriorSum(*priors) * 0.5", "PriorSum(*priors) * 1.0"),
            "spectrum-mass": ("np.log(prior._mass() / 2)", "np.log(0.5)"),
            "spectrum-mirrored": ("for sign in (1, -1)]\n    return np.logaddexp", "for sign in (1, 1)]\n    return np.logaddexp"),
            "sum-one-prior": ("if not self._has_two_priors:", "if True:"),
        },
    ),
    # --- convex losses, kernels and laws of one's own ---------------------------------------------
    *_group(
        "solvers/convex.py models/operator.py operators/custom.py "
        "learners/game/harmonic_chain.py learners/pac_bayes_langevin.py",
        "unit/test_operator_models.py unit/test_custom_kernel.py "
        "unit/learners/test_harmonic_chain.py unit/learners/test_pac_bayes_langevin.py",
        {
            "convex-hessian": ("theta += product if a == b else product + product.T", "theta += product"),
            "convex-diagonal": ("twice = 1 if a == b else 2", "twice = 1"),
            "convex-smallest-count": ("        loss.check_targets(values[~np.isnan(values)][:, None])\n", ""),
            "custom-transform": ("/ (2 * np.pi)) ** n_features", "/ np.pi) ** n_features"),
            "custom-conjugate": ("_check_equal(opposite, operators.conj()", "_check_equal(opposite, opposite"),
            "custom-hermitian": ("_check_equal(operators, operators.conj().transpose(0, 2, 1)", "_check_equal(operators, operators"),
            "custom-transposed": ("_check_equal(opposite, values.transpose(0, 2, 1)", "_check_equal(opposite, values"),
            "custom-complex": ("if is_complex and name == \"signature\":", "if False:"),
            "custom-signature-unchecked": ("for sign in (1, -1))", "for sign in (1, 1))"),
            "custom-roots": ("np.sqrt(values)[:, None]", "values[:, None]"),
            "chain-counts": ("beta * rise + np.log(ratio)", "beta * rise - np.log(ratio)"),
            "posterior-proposals": ("(forth - back) / 2", "(back - forth) / 2"),
            "posterior-jumps": ("gain = -posterior.temperature *", "gain = -0.5 * posterior.temperature *"),
        },
    ),
    # --- boosting ---------------------------------------------------------------------------------
    *_group(
        "boosting/gbrff_base.py boosting/gbrff1.py boosting/gbrff2.py",
        "reference/test_boosting_formulas.py unit/test_gbrff_classifiers.py",
        {
            "gbrff-step": ("return 0.5 * float(np.log((total + edge", "return float(np.log((total "
                                                                      "+ edge"),
            "gbrff-step-sign": ("(total + edge + guard) / (total - edge + guard)", "(total - edge + guard) / (total + edge + guard)"),
            "gbrff-start": ("return 0.5 * np.log1p(2 * mean / (1 - mean))", "return 0.25 * np.log1p(2 * mean / (1 - mean))"),
            "gbrff-probabilities": ("expit(2 * scores)", "expit(scores)"),
            "gbrff1-landmark-gradient": (
                "cosine * back[n_frequencies:] - sine * back",
                "cosine * back[n_frequencies:] + sine * back",
            ),
            "gbrff1-posterior-root": (".weigh(equal, losses, n_samples)", ".weigh(equal, losses, "
                                                                          "n_samples**2)"),
            "gbrff2-penalty-slope": ("gradient += 2 * penalty * frequency", "gradient += penalty * frequency"),
            "gbrff2-phase-step": ("phases = np.array([center - step,", "phases = np.array([center "
                                                                       "+ step,"),
            "gbrff1-free-coordinate": ("landmark[self.landmark] = phase / along", "landmark[self.landmark] = phase * along"),
            "gbrff1-random-row": ("size=1, p=counts / counts.sum())", "size=1)"),
            "gbrff2-phase-grid": ("np.linspace(-np.pi, np.pi, 64,", "np.linspace(-np.pi, np.pi, 3,"),
        },
    ),
    *_group(
        "boosting/gbrff_base.py",
        "unit/test_gbrff_parts.py",
        {
            "gbrff-measure-weights": (
                "np.abs(self.alphas_)[:, :, None] * self.weights_",
                "np.abs(self.alphas_)[:, :, None] * np.ones_like(self.weights_)",
            ),
            "gbrff-parts-of-rounds": (
                "np.reshape(new, (-1, n_outputs, *size))",
                "np.reshape(new, (n_outputs, -1, *size)).swapaxes(0, 1)",
            ),
            "gbrff-subsample-search": (
                "margins.signal(k), counts, counts.sum(), rng",
                "margins.signal(k), margins.counts, counts.sum(), rng",
            ),
            "gbrff-subsample-sum": (
                "margins.signal(k), counts, counts.sum(), rng",
                "margins.signal(k), counts, margins.n_samples, rng",
            ),
            "gbrff-subsample-twice": (
                "rng.choice(rows, n_left_out, replace=False",
                "rng.choice(rows, n_left_out, replace=True",
            ),
        },
    ),
    *_group(
        "boosting/gbrff_base.py boosting/gbrff2.py _loops/boosting_kernels.py data/rows.py",
        "properties/test_boosting_properties.py unit/test_gbrff_layouts.py",
        {
            "gbrff2-strided-grid": (
                "values, slopes, curvatures = _phase_losses(phases, turns, signal, counts)",
                "values, slopes, curvatures = _phase_losses(phases, *(part[::2] for part in "
                "(turns, signal, counts)))",
            ),
            "gbrff2-first-rows-grid": (
                "values, slopes, curvatures = _phase_losses(phases, turns, signal, counts)",
                "values, slopes, curvatures = _phase_losses(phases, *(part[: len(turns) // 2] for "
                "part in (turns, signal, counts)))",
            ),
            "gbrff2-unchecked-phase": ("        if values[k] < values[best] * (1 - margin):\n      "
                                       "      best = k\n    return phases[best]\n\n\ndef "
                                       "_phase_losses", "        pass\n    return "
                                                        "phases[best]\n\n\ndef _phase_losses"),
            "gbrff2-unchecked-kernel": ("        if values[k] < values[best] * (1 - margin):\n     "
                                        "       best = k\n    return phases[best]\n\n\n@compiled", "        pass\n    return phases[best]\n\n\n@compiled"),
            "gbrff-own-layout": ("._with_target(rows.in_c_order(SMALL), y", "._with_target(rows, y"),
            "gbrff-own-blocks": ("if isinstance(self.source, np.ndarray) else self",
                                 "if self.in_memory else self"),
        },
    ),
    *_group(
        "boosting/gbrff_base.py boosting/gbrff2.py "
        "data/dask/rows.py",
        "unit/test_gbrff_dask.py unit/test_gbrff_calibration.py",
        {
            "gbrff-loss-weights": ("self._shares = counts / self.n_samples", "self._shares = "
                                                                             "np.ones(len(counts)) "
                                                                             "/ self.n_samples"),
            "gbrff-new-weights": ("np.multiply(-signs, scores, out=weights)", "np.multiply(signs, "
                                                                              "scores, out=weights)"),
            "gbrff-there-held-out~": ("        left[excluded] = 0\n", ""),
            "gbrff-there-read-again": (
                "groups, sizes = self._groups.current()\n        function",
                "groups, sizes = self._groups._partitions(), self._groups.lengths\n        function",
            ),
            "gbrff-held-out-of-many": ("size = max(_MOST_HELD_OUT * n_members // n_rows if many "
                                       "else", "size = max(_MOST_HELD_OUT if many else"),
        },
    ),
    *_group(
        "boosting/gbrff_base.py features/landmarks.py solvers/direct.py "
        "data/targets.py data/training.py models/certified.py _loops/boosting_kernels.py",
        "conformance/test_estimator_laws.py unit/test_operator_ridge.py unit/test_certificates.py "
        "unit/test_boosting_kernels.py unit/test_landmarks.py",
        {
            "weights-of-a-step": ("bound_minimizer(signs * prediction, self.counts * weights)", "bound_minimizer(signs * prediction, weights)"),
            "weights-of-landmark-sums": ("len(target.classes), weights).reshape(", "len(target.classes)).reshape("),
            "weights-balanced": ("counts = self.totals(weights)\n            return", "counts = self.totals()\n            return"),
            "weights-merged": ("totals = np.bincount(places, self.weights)", "totals = np.bincount(places)"),
            "weights-of-phases": ("value = counts[i] * _exp(min(z, highest))\n            values", "value = _exp(min(z, highest))\n            values"),
            "weights-certified": ('fields = {"valid": not caveat,', 'fields = {"valid": True,'),
        },
    ),
    *_group(
        "losses.py boosting/rounds.py",
        "conformance/test_loss_laws.py reference/test_boosting_formulas.py "
        "properties/test_boosting_properties.py unit/test_check_loss.py",
        {
            "loss-huber-scaled": ("delta=self.delta / scale", "delta=self.delta * scale"),
            "loss-logistic-curvature": ("np.maximum(miss * (1 - miss),", "np.maximum(miss,"),
            "loss-multinomial-curvature": ("np.maximum(shares * (1 - shares),", "np.maximum(shares,"),
            "loss-poisson-curvature": ("np.maximum(mean, _LEAST_CURVATURE)", "np.maximum(mean**2, "
                                                                             "_LEAST_CURVATURE)"),
            "loss-exponential-curvature": ("weight + np.asarray(_LEAST", "0.5 * weight + "
                                                                         "np.asarray(_LEAST"),
            "loss-logistic-start": ("return np.log1p(2 * mean / (1 - mean))", "return 0.5 * np.log1p(2 * mean / (1 - mean))"),
            "loss-quantile-slope": ("-self.level, 1 - self.level)", "self.level - 1, self.level)"),
            "loss-huber-values": ("self.delta * (size - 0.5 * self.delta)", "self.delta * size"),
            "loss-weighted-quantile": ("np.cumsum(weights[order]", "np.cumsum(weights"),
            "round-line-search": ("            low, low_slope = middle, middle_slope\n    return "
                                  "low", "            low, low_slope = middle, middle_slope\n    "
                                         "return high"),
            "round-closed-form-ridge": ("double + self.ridge, self._total - double", "double, self._total - double"),
            "round-gain": ("gain = -0.5 * (", "gain = -1.0 * ("),
        },
    ),
    *_group(
        "boosting/rounds.py _loops/wave_kernels.py boosting/fitting.py boosting/booster.py",
        "reference/test_boosting_rounds.py unit/test_fourier_boosting.py "
        "unit/test_boosting_importances.py unit/test_boosting_columns.py",
        {
            "round-newton-slope": ("target = columns @ pull + penalty", "target = 0.5 * (columns @ "
                                                                        "pull) + penalty"),
            "round-lbfgs-slope": ("slope = (columns @ model.slopes(state)[0])", "slope = 0.5 * (columns @ model.slopes(state)[0])"),
            "round-several-slopes": (
                "np.multiply.outer(state.cosines, sine) - np.multiply.outer(state.sines, cosine)",
                "np.multiply.outer(state.cosines, sine) + np.multiply.outer(state.sines, cosine)",
            ),
            "round-kernel-slopes": ("slope = sine * cosines[i] - cosine * sines[i]", "slope = sine * cosines[i] + cosine * sines[i]"),
            "round-penalty-slope": ("penalty = 2 * self._penalty_weight(", "penalty = self._penalty_weight("),
            "boost-pilots-inverse": ('factors = np.sqrt(', 'factors = 1 / np.sqrt('),
            "boost-worst-epoch": ("held_out_losses[-1] < self.lowest:", "held_out_losses[-1] > "
                                                                        "self.lowest:"),
            "boost-worst-round": ("if validation_losses[-1] < best_loss:", "if validation_losses[-1] > best_loss:"),
            "boost-phase-shift": (
                "cosine = self.cosine * np.cos(turn) - self.sine * np.sin(turn)",
                "cosine = self.cosine * np.cos(turn) + self.sine * np.sin(turn)",
            ),
            "boost-relevance-units": ("after_scaling(np.zeros(len(scale)), scale)", "after_scaling(np.zeros(len(scale)), np.ones(len(scale)))"),
            "boost-offset": ("_CONSTANT = 16 * np.finfo(np.float64).eps", "_CONSTANT = 1e-12"),
            "boost-deviations": ("np.sqrt(2 * np.array(_DEFAULT_GAMMAS)", "np.sqrt(np.array(_DEFAULT_GAMMAS)"),
        },
    ),
    *_group(
        "_loops/wave_kernels.py learners/descent/loop.py learners/descent/gradients.py",
        "reference/test_joint_gradient.py reference/test_boosting_rounds.py "
        "unit/test_fourier_boosting.py",
        {
            "joint-kernel-gradient": ("g * (sines[j] * c - cosines[j] * s)", "g * (sines[j] * c + "
                                                                             "cosines[j] * s)"),
            "joint-several-gradient": ("turns -= sines * (pull @", "turns += sines * (pull @"),
            "joint-intercept-gradient": ("np.sum(pull, axis=0, out=self.gradient.intercept)", "self.gradient.intercept[...] = 0"),
            "joint-adam-rate": ("1 / (1 - _FIRST_DECAY**self.n_taken)", "1.0"),
            "joint-adam-root": ("1 / np.sqrt(1 - self.second_decay**self.n_taken)", "1.0"),
            "joint-adam-square": ("(one - second_decay) * g * g", "(one - second_decay) * g"),
            "joint-weights": ("self.loss.gradient(targets, scores) * weights", "self.loss.gradient(targets, scores)"),
        },
    ),
    *_group(
        "priors/algebra.py priors/columns.py priors/periodic.py measures/fourier.py "
        "learners/evidence.py learners/chain.py",
        "unit/test_prior_algebra.py unit/test_evidence_of_sums.py unit/learners/test_chain.py "
        "conformance/test_priors.py",
        {
            "algebra-share": ("return masses / masses.sum()", "return np.full(2, 0.5)"),
            "algebra-places": ("rng.permutation(n_atoms) < n_left", "np.arange(n_atoms) < n_left"),
            "algebra-sobol-pairs": ("left + right[rng.permutation(n_atoms)]", "left + right"),
            "algebra-crossed": ("crossed - crossed.swapaxes(2, 3)", "crossed - crossed"),
            "algebra-factor-slope": ("2 * product.sum(dtype=np.float64) - np.trace", "product.sum(dtype=np.float64) + 0 * np.trace"),
            "algebra-product-slopes": ("pulls = pull * right_gram, pull * left_gram", "pulls = pull * left_gram, pull * right_gram"),
            "algebra-measure-half": ("np.outer(self.weights, other.weights) / 2", "np.outer(self.weights, other.weights)"),
            "columns-map": ("matrix[columns, np.arange(len(columns))]", "matrix[columns, np.arange(len(columns))[::-1]]"),
            "periodic-weights": ("ive(np.abs(orders), self.gamma)", "ive(np.abs(orders), self.gamma / 2)"),
            "periodic-unit": ("set_params(period=period / scales)", "set_params(period=period)"),
            "periodic-slope": ("return -2 * self._bandwidths", "return -self._bandwidths"),
            "evidence-linear-share": ("squares[0] / np.where", "np.sqrt(squares[0]) / np.where"),
            "evidence-parts-learned": ("for part in (learned, *learned.get_params().values())", "for part in (learned,)"),
            "chain-start": ("measure = learned.measure\n            reports", "reports"),
        },
    ),
    # --- learned priors, exact kernels, expansions, targets ---------------------------------------
    *_group(
        "learners/evidence.py solvers/dual.py expansions/kernels.py priors/anova.py "
        "_loops/gram_kernels.py",
        "unit/test_evidence.py unit/test_kernel_machine.py unit/test_kernel_expansions.py "
        "unit/test_priors.py conformance/test_priors.py",
        {
            "evidence-determinant": ("half_log_determinant / n_samples", "2 * half_log_determinant "
                                                                         "/ n_samples"),
            "evidence-noise-slope": ("noise_slope = noise * np.sum", "noise_slope = np.sum"),
            "evidence-linear-slope": ("linear_slope = linear / X.shape[1] *", "linear_slope = 0.5 "
                                                                              "* linear / X.shape[1] *"),
            "machine-left-out": ("remainder = 1 - share * (1 - diagonal * alpha / weights)", "remainder = 1 - share * (1 - diagonal * alpha)"),
            "machine-intercept-share": ("diagonal -= self.flat**2 / self.flat.sum()", "diagonal -= 0.0"),
            "anova-share": ("shares = weights / (1 + weights)\n        points", "shares = 1 / (1 + "
                                                                                "weights)\n        "
                                                                                "points"),
        },
    ),
    *_group(
        "tabular/blending.py tabular/fitting.py data/columns.py data/inputs.py "
        "_loops/matrices.py tabular/preparation.py tabular/scales.py",
        "unit/test_blending.py unit/test_inputs.py unit/test_matrices.py "
        "unit/test_tabular_solving.py unit/test_tabular_values.py "
        "unit/test_tabular_gradients.py",
        {
            "tabular-blend-equality": ("np.full(n_members, pull / n_members)", "np.zeros(n_members)"),
            "tabular-link-doubt": ("+ doubt / n_classes", "+ 0.0"),
            "tabular-link-slope": ("np.where(scores > self.floor, self.slope / np.maximum", "np.where(scores > self.floor, 1 / np.maximum"),
            "tabular-merged-counts": ("rows, counts = first, equal.totals / equal.totals.mean()", "rows, counts = first, np.ones(len(first))"),
            "tabular-relative-weights": ("rows, counts = first, equal.totals / equal.totals.mean()", "rows, counts = first, equal.totals"),
            "tabular-ranks-choice": ("return other < plain - _LEAST_GAIN", "return other > plain - _LEAST_GAIN"),
            "tabular-ranks-own-half": ("np.cumsum(counts) - counts / 2", "np.cumsum(counts)"),
            "tabular-ranks-slope": ("self.ranks * (rise - slopes[:, j])", "self.ranks * rise"),
            "tabular-clipping": ("finite / np.hypot(1.0, finite)", "finite / np.hypot(1.0, finite / 2)"),
            "tabular-log-density": ("slopes = slopes - np.log(Y + self.shift)", "slopes = slopes"),
            "tabular-reach": ("level * (below[-1] + 1)", "level * below[-1]"),
            "matrices-kept-share": ("float(alpha), columns, k, float(beta)", "float(alpha), columns, k, 1.0"),
            "matrices-transposed": ("_PLAIN if transposed else _TRANSPOSED", "_TRANSPOSED"),
        },
    ),
    # --- repeated rows ----------------------------------------------------------------------------
    *_group(
        "data/repetitions.py models/kernel_machine.py models/ridge/model.py "
        "models/ridge/exact.py models/ridge/classifier.py data/training.py "
        "learners/evidence.py",
        "unit/test_repetitions.py",
        {
            "copies-left-alone": ("return np.minimum(totals, self.unit) if self.are_ties else "
                                  "totals", "return np.minimum(totals, self.unit)"),
            "copies-ties-left-together": ("return np.minimum(totals, self.unit) if self.are_ties "
                                          "else totals", "return totals"),
            "copies-contested": ("n_outcomes[inputs_of_groups.ravel()] > 1", "n_outcomes[inputs_of_groups.ravel()] > 0"),
            "copies-levels": ("_n_levels(target, first) <= len(first) / 2", "_n_levels(target, "
                                                                            "first) <= len(first)"),
            "copies-unit": ("return unit if is_table_of_counts else max(unit, present.mean())", "return unit"),
            "copies-split": ("return np.flatnonzero(np.isin(groups, groups[numbers]))", "return np.sort(numbers)"),
            "copies-high-bits": ("return bits ^ (bits >> _FOLD)", "return bits"),
            "copies-machine-share": ("1.0 if equal is None else equal.left_out_weights() / "
                                     "self._weights", "1.0"),
            "copies-machine-held-out": ("held = draw_held_out(equal, len(X), n_held, rng)", "held = draw_held_out(None, len(X), n_held, rng)"),
            "copies-ridge-groups": ("return replace(self, groups=equal.groups)", "return self"),
            "copies-ridge-sum": ("return np.bincount(self.groups, "
                                 "units)[self.groups].astype(np.float64)", "return units"),
            "copies-exact-ridge": ("together = equal.left_out_weights()[first]", "together = np.ones(len(first))"),
            "copies-temperature": ("self.ridge_.mean_leverage() * data.mean_left_out_weight()", "self.ridge_.mean_leverage()"),
            "copies-evidence": ("return first, totals / (equal.unit if equal.are_ties else "
                                "totals.mean())", "return first, totals"),
        },
    ),
    *_group(
        "tabular/base.py tabular/fitting.py tabular/solving.py tabular/preparation.py",
        "unit/test_tabular_repetitions.py",
        {
            "copies-many-rows": ("data.merge_equal_rows(fitting.LEAVE_ONE_OUT_ROWS) if is_large else data", "data"),
            "tabular-sample-weights": ("present = np.flatnonzero(data.weights > 0)", "present = np.arange(len(data))"),
            "copies-waves": ("    if equal is not None and not equal.are_ties:\n        kept", "    if False:\n        kept"),
            "copies-ties-observations": ("numbers=rows, observations=observations)", "numbers=rows, observations=None)"),
        },
    ),
    *_group(
        "data/training.py data/targets.py",
        "unit/test_row_draws.py unit/test_targets.py",
        {
            "draws-copies": ("np.ceil(counts), _MOST_COPIES", "np.sign(counts), _MOST_COPIES"),
            "draws-members": ("order = order[weights[order] > 0]", "pass"),
            "draws-size": ("(copies - first) * size", "copies * size"),
            "draws-first": ("[:n_first]] = True", "[n_first:]] = True"),
            "target-regressed": ("    if target.guessed:", '    if target.classes.dtype.kind in '
                                                           '"fiu":'),
        },
    ),
    *_group(
        "expansions/waves.py data/targets.py learners/alignment.py",
        "conformance/test_value_laws.py reference/test_alignment_double_sums.py unit/test_rows.py "
        "unit/test_targets.py",
        {
            "expansion-derivative": ("self.sine[:, :, None] * along, -self.cosine", "self.sine[:, :, None] * along, self.cosine"),
            "expansion-weights": ("np.sqrt(measure.weights)[:, None] * np.reshape", "measure.weights[:, None] * np.reshape"),
            "expansion-divergence": ("self.n_features + space] = 1", "self.n_features + space] = -1"),
            "target-signs": ("2 * self.one_hot(dtype) - np.dtype(dtype).type(1)", "2 * self.one_hot(dtype)"),
            "alignment-weighted-trace": ("signs * np.sum(weighted * factors, axis=0)", "signs * np.sum(factors * factors, axis=0)"),
        },
    ),
    # --- logistic regression and kernel machines ---------------------------------------------
    *_group(
        "solvers/newton.py models/logistic.py",
        "unit/test_spectral_logistic.py",
        {
            "newton-gradient-weights": (
                "gradient += A.T @ (h[:, None] * (shares @ code.T))",
                "gradient += A.T @ (shares @ code.T)",
            ),
            "newton-hessian-product": (
                "moved -= np.sum(shares * moved, axis=1,",
                "moved -= 0 * np.sum(moved, axis=1,",
            ),
            "newton-tolerance": (
                "-slope <= tol**2 * reached.value",
                "-slope <= tol * reached.value",
            ),
            "newton-coarse-curvature": ("if problem.is_too_coarse(reached, damping):", "if False:"),
            "logistic-free-intercept": (
                "            penalties[-1] = 0.0\n",
                "            penalties[-1] = 1.0\n",
            ),
            "logistic-classes": (
                "code[:, 1:] if len(code) == 1 else code)",
                "code[:, 1:] if len(code) == 1 else -code)",
            ),
        },
    ),
    *_group(
        "models/kernel_machine.py solvers/dual.py solvers/dual_iterative.py",
        "unit/test_kernel_machine.py",
        {
            "machine-linear-share": (
                "np.broadcast_to(linear / n_features, (n_",
                "np.broadcast_to(linear, (n_",
            ),
            "machine-noise-weights": (
                "np.maximum(self.alpha_ * explained, 0.0) / self._weights.sum()",
                "np.maximum(self.alpha_ * explained, 0.0) / len(self._weights)",
            ),
            "machine-error-weights": (
                "np.sum(weights[:, None] * residuals**2) / (w",
                "np.sum(residuals**2) / (w",
            ),
            "machine-iterated-intercept": (
                "shift = own[:-1].sum(axis=1) / own[-1].sum()",
                "shift = own[:-1].sum(axis=1) / len(targets)",
            ),
            "systems-variance-intercept": (
                "variance += (1 - cross @ self.flat) ** 2 / self.flat.sum()",
                "variance += (cross @ self.flat) ** 2 / self.flat.sum()",
            ),
            "systems-eigen-root": (
                "        gram *= root[:, None]\n",
                "        gram *= root\n",
            ),
            "systems-shift": (
                "        image += shift[at] * ahead\n",
                "        image += shift[at]\n",
            ),
            "systems-linear-columns": (
                " + (self.X * self.linear) @ some.T",
                " - (self.X * self.linear) @ some.T",
            ),
        },
    ),
    *_group(
        "models/kernel_machine.py solvers/dual.py solvers/posterior.py solvers/choice.py",
        "unit/test_kernel_posterior.py",
        {
            "posterior-likelihood-constant": (
                "n_samples * (np.log(2 * np.pi * variances) + 1)",
                "n_samples * np.log(2 * np.pi * variances)",
            ),
            "posterior-likelihood-copies": (
                "np.sum((weights - 1) * np.log(alpha) + np.log(weights))",
                "np.sum((weights - 1) * np.log(alpha))",
            ),
            "posterior-likelihood-path": (
                "np.sum(np.log((self.values + alpha) / self.weights))",
                "np.sum(np.log(self.values + alpha))",
            ),
            "posterior-covariance-intercept": (
                "np.outer(unexplained, unexplained) / self.flat.sum()",
                "np.outer(unexplained, unexplained)",
            ),
            "posterior-draws-root": (
                "root = vectors * np.sqrt(np.maximum(values, 0.0))",
                "root = vectors * np.maximum(values, 0.0)",
            ),
            "posterior-draws-noise": ("+= self.alpha_ if noise else 0.0", "+= self.alpha_"),
            "ridges-beyond-direction": (
                "best / 10 if best <= low else best * 10",
                "best / 10 if best >= high else best * 10",
            ),
            "ridges-beyond-rounding": (
                "errors, error_of, path.smallest_ridge)",
                "errors, error_of, 0.0)",
            ),
        },
    ),
    # --- tabular models ----------------------------------------------------------------------
    *_group(
        "tabular/solving.py tabular/waves.py solvers/dual.py solvers/dual_iterative.py",
        "unit/test_tabular_solving.py",
        {
            "copies-of-tables": ("InverseSystem(gram, weights, ridge).solve(Y, data.observations)", "InverseSystem(gram, weights, ridge).solve(Y, data.row_counts)"),
            "tabular-linear-part": (
                "kernel_matrix(learned.prior, learned.linear / Z.shape[1],",
                "kernel_matrix(learned.prior, learned.linear,",
            ),
            "tabular-ridge-direction": ("start, 1 if slope < 0 else -1", "start, 1 if slope > 0 else -1"),
            "tabular-iterated-intercept": (
                "shift = own[:-1].sum(axis=1) / own[-1].sum()",
                "shift = own[:-1].sum(axis=1) / len(targets)",
            ),
            "tabular-waves-slope": ("return shares * (slopes - mean)", "return shares * slopes"),
            "tabular-waves-excluded": (
                "excluded=np.flatnonzero(~kept),",
                "excluded=np.empty(0, dtype=np.intp),",
            ),
        },
    ),
    *_group(
        "tabular/imputation.py tabular/neighbors.py tabular/novelty.py tabular/regressor.py",
        "unit/test_imputation.py unit/test_novelty.py",
        {
            "imputation-other-columns": (
                "left_out = marks != 0",
                "left_out = marks < 0",
            ),
            "imputation-monotone": ("left_out[:, list(ignored)] = True", "ignored = ()"),
            "imputation-one-donor": (
                "return np.where(marks[:, neighbors.sources] != 0, neighbors.Z[numbers], Z)",
                "return np.where(marks[:, neighbors.sources] != 0, neighbors.Z[numbers[:1]], Z)",
            ),
            "imputation-spread-of-bounds": ("norm.ppf((1 + level) / 2)", "norm.ppf(level)"),
            "imputation-spread-of-means": (
                "np.mean(deviations**2, axis=0) + deviation_over_donors(means) ** 2",
                "np.mean(deviations**2, axis=0)",
            ),
            "novelty-itself": (
                "np.fill_diagonal(distances, np.inf)",
                "np.fill_diagonal(distances, 0.0)",
            ),
            "novelty-unknown-levels": (
                "np.maximum(distances[is_unknown], farthest)",
                "distances[is_unknown]",
            ),
        },
    ),
    *_group(
        "tabular/regressor.py tabular/scales.py tabular/base.py",
        "unit/test_tabular_values.py unit/test_tabular_gradients.py",
        {
            "tabular-mean-on-scale": (
                "else values_around(scale, center, spread, sizes).mean(axis=0)",
                "else scale.backward(center)",
            ),
            "tabular-interval-reach": ("center + side * reach)", "center + side * reach / 2)"),
            "tabular-scale-asinh": ("self.shift + self.width * np.sinh", "self.shift + np.sinh"),
            "tabular-scale-ends": (
                "return np.clip(z, self.lowest - 0.5, self.highest + 0.5)",
                "return z",
            ),
            "tabular-rank-sides": (
                "of_inputs[:, None] / len(sides)",
                "of_inputs[:, None]",
            ),
        },
    ),
    *_group(
        "tabular/classifier.py tabular/blending.py",
        "unit/test_tabular_decisions.py unit/test_tabular_tables.py",
        {
            "tabular-log-odds": (
                "return logs[:, 1] - logs[:, 0]",
                "return logs[:, 0] - logs[:, 1]",
            ),
            "tabular-two-scores": (
                "np.column_stack([1 - scores, scores])",
                "np.column_stack([scores, 1 - scores])",
            ),
            "tabular-link-costs": ("for own in held_out], evaluation.row_weights", "for own in held_out], evaluation.row_counts"),
        },
    ),
    *_group(
        "tabular/effects.py tabular/bands.py expansions/dependence.py",
        "unit/test_tabular_effects.py unit/test_tabular_bands.py unit/test_dependence.py",
        {
            "effects-pair-constant": (
                "both[p] - singles[g] - singles[h] + constant",
                "both[p] - singles[g] - singles[h] + singles[g].mean(axis=0)",
            ),
            "effects-member-weights": (
                "sum(weight * part[order] for weight, part in",
                "sum(part[order] / len(parts) for _, part in",
            ),
            "dependence-outside": (
                "self.inverse[:, outside] = LEAST_FACTOR",
                "self.inverse[:, outside] *= 1.0",
            ),
            "bands-intercept": (" + (cross @ flat) ** 2 / flat.sum()", ""),
            "bands-noise": (
                "(gram @ dual + noise[:, None] * dual)",
                "(gram @ dual)",
            ),
            "bands-ties": ("squares / system.row_weights.sum()", "squares / len(dual)"),
            "bands-linear-part": ("shift**2 @ linear)", "0 * shift @ linear)"),
        },
    ),
    *_group(
        "tabular/effects.py tabular/fitting.py tabular/blending.py "
        "tabular/trees.py tabular/scales.py tabular/regressor.py",
        "unit/test_tabular_members.py unit/test_tabular_answers.py",
        {
            "tabular-deviation-unit": (
                "return self.target_scale_.unit * sizes * self.spread_.root",
                "return sizes * self.spread_.root",
            ),
            "tabular-blend-weights": (
                "w * np.asarray(m.evaluate(Z), np.float64)",
                "np.asarray(m.evaluate(Z), np.float64) / len(self.weights)",
            ),
            "tabular-importance-rows": (
                "np.roll(rows, len(rows) // 2, axis=0)",
                "np.roll(rows, 1, axis=0)",
            ),
            "tabular-member-error": ("/ (total if total > 0 else 1.0)", "/ 1.0"),
            "tabular-family-number": ("{names[:k].count(name) + 1}", "{names[:k].count(name)}"),
            "tabular-trees-held-out": (
                "data.take(np.delete(np.arange(n_rows), held)), seed",
                "data, seed",
            ),
            "tabular-trees-weights": ("codes, sample_weight=weights)", "codes)"),
            "tabular-spread-held-out": (
                "log_sizes[rows] = solved.held_out",
                "log_sizes[rows] = solved.expansion.evaluate(Z[rows])",
            ),
            "tabular-spread-weights": ("lower_quantiles(scores, self.weights, shares)", "lower_quantiles(scores, np.ones(len(scores)), shares)"),
        },
    ),
    # --- leaves, mixtures and warm starts ----------------------------------------------------
    *_group(
        "expansions/leaves.py",
        "unit/test_leaves.py",
        {
            "leaves-threshold": (
                "is_right = values > self.thresholds[nodes[rows]]",
                "is_right = values >= self.thresholds[nodes[rows]]",
            ),
            "leaves-sides": (
                "self.children[nodes[rows], is_right.astype(np.intp)]",
                "self.children[nodes[rows], 1 - is_right.astype(np.intp)]",
            ),
            "leaves-scales": ("spreads = scales * sample.std(", "spreads = sample.std("),
            "leaves-median": ("values[n_rows // 2], side", "values[n_rows // 3], side"),
            "leaves-nearest-cut": ("abs(cut - n_rows / 2)", "cut"),
            "leaves-smallest-side": ("if share >= _SMALLEST_SIDE:", "if share > 0:"),
            "leaves-fewest-rows": ("(_FEWEST_ROWS - 0.5) / len(sample)", "0.0"),
            "leaves-mass": ("[:, 0] / prior._mass()", "[:, 0]"),
            "leaves-distance": ("np.sqrt(np.maximum(falls, 0.0)) / _SHORT_DISTANCE", "np.maximum(falls, 0.0)"),
            "leaves-conditions": (
                "is_right = bool(self.children[parent, 1] == node)",
                "is_right = bool(self.children[parent, 0] == node)",
            ),
            "leaves-order": ("            values[rows] = own\n", "            values[rows] = own[::-1]\n"),
            "leaves-graph-order": (
                "sorted(leaves, key=lambda leaf: leaf[0])",
                "sorted(leaves, key=lambda leaf: -leaf[0])",
            ),
            "leaves-graph-rounding": (
                "graph.cast(graph.cast(values, np.float32), graph.dtype)",
                "values",
            ),
        },
    ),
    *_group(
        "tabular/fitting.py tabular/preparation.py tabular/base.py",
        "unit/test_tabular_leaves.py unit/test_tabular_callbacks.py unit/test_tabular_dask.py",
        {
            "leaves-held-out": (
                "all_held.append(numbers[len(numbers) - n_held :])",
                "all_held.append(numbers[:n_held])",
            ),
            "leaves-inner-rates": (
                "learn_again(evidence, learned, split.inner, generator)",
                "learn_again(evidence, learned, split.data, generator)",
            ),
            "leaves-own-start": ("learned.prior, some, start=learned)", "learned.prior, some)"),
            "leaves-waves-held-out": ("    weights[leaves.held] = 0.0\n", ""),
            "leaves-trees-held-out": (
                "held = None if leaves.leaves_one_out else leaves.held",
                "held = None",
            ),
            "leaves-mean-ridge": (
                "float(np.exp(np.mean(np.log([one.ridge for one in solved]))))",
                "float(np.mean([one.ridge for one in solved]))",
            ),
            "leaves-former-name": (
                "return self.max_exact_rows if self._has_former_name() else self.max_leaf_rows",
                "return self.max_leaf_rows",
            ),
            "leaves-stopped-families": (
                "learned = timed_results(learn, range(1), islice(each, 1))",
                "learned = timed_results(learn, range(1), range(1))",
            ),
            "leaves-table-order": (
                "table = LocalTable(X).select(merged.numbers)",
                "table = LocalTable(X)",
            ),
        },
    ),
    *_group(
        "tabular/blending.py tabular/fitting.py export/tables.py",
        "unit/test_blending.py",
        {
            "mixture-penalty": (
                "pull = _EQUAL_ROWS * n_members * np.min",
                "pull = _EQUAL_ROWS * np.min",
            ),
            "mixture-slope": ("-shares @ (row_weights / mixed)", "-shares @ row_weights"),
            "mixture-rows": ("value = -row_weights @ np.log(mixed)", "value = -np.log(mixed).sum()"),
            "mixture-probabilities": (
                "w * link.probabilities(class_scores(own))",
                "link.probabilities(class_scores(own)) / 3",
            ),
            "mixture-logarithms": ("b=np.reshape(self.weights, (-1, 1, 1))", "b=1 / 3"),
            "mixture-jacobian": ("weight * link.jacobian(class_scores(", "link.jacobian(class_scores("),
            "mixture-two-classes": (
                "np.concatenate([-slopes, slopes], axis=1)",
                "np.concatenate([slopes, -slopes], axis=1)",
            ),
            "mixture-graph": (
                "parts.append(weight * linked(scores, link))",
                "parts.append(linked(scores, link) / 3.0)",
            ),
            "mixture-used": ("np.where(weights < _LEAST_WEIGHT, 0.0, weights)", "weights"),
        },
    ),
    *_group(
        "learners/evidence.py",
        "unit/test_warm_starts.py",
        {
            "warm-distance": (
                "other.prior.kernel(np.diag(scales), zero)",
                "other.prior.kernel(np.eye(d), zero)",
            ),
            "warm-halving": (
                "np.where(falls_less, middle, slowest)",
                "np.where(falls_less, slowest, middle)",
            ),
            "warm-bounds": ("return np.clip(other.theta, low, high)", "return other.theta"),
            "warm-noise": ("theta[-2:] = other.theta[-2:]", "theta[-2:] = 0.0"),
            "warm-best": ("return min(trials, key", "return max(trials, key"),
            "warm-no-steps": ("        if not n_iterations:  #", "        if False:  #"),
            "warm-theta": ("n_steps + n_more, theta, shares)", "n_steps + n_more, np.exp(theta), shares)"),
        },
    ),
    # --- ridges ------------------------------------------------------------------------------
    *_group(
        "models/ridge/model.py solvers/choice.py solvers/problem.py",
        "unit/test_alphas.py unit/test_spectral_ridge.py unit/test_ridge_choice.py",
        {
            "ridge-intercept": (
                "return self.target_mean - self.feature_mean @ coefficients",
                "return self.target_mean",
            ),
            "ridge-merged-shift": ("other._statistics.around(self._statistics.shift)", "other._statistics"),
            "ridge-root-weights": (
                "Eigensystem.of_rows(root * features, root * targets)",
                "Eigensystem.of_rows(root * features, targets)",
            ),
            "ridge-largest": ("float(np.max(alphas[errors <=", "float(np.min(alphas[errors <="),
            "ridge-mean-kernel": (
                "outputs.mean_diagonal(sums.gram_diagonal / sums.weight)",
                "outputs.mean_diagonal(sums.gram_diagonal)",
            ),
        },
    ),
    *_group(
        "models/ridge/exact.py",
        "unit/test_exact_ridge_weights.py unit/test_operator_exact.py",
        {
            "exact-ridge-covariance": (
                "np.cov(y.T, bias=True, aweights=weights)",
                "np.cov(y.T, bias=True)",
            ),
            "exact-ridge-design": (
                "design = system.vectors * np.sqrt(system.values) / root\n",
                "design = system.vectors * np.sqrt(system.values)\n",
            ),
        },
    ),
    *_group(
        "models/ridge/classifier.py",
        "unit/test_operator_classifier.py",
        {
            "classifier-temperature": (
                "scores = targets - (targets - scores.astype(np.float64)) / remainder",
                "scores = scores.astype(np.float64)",
            ),
            "classifier-chances": (
                "softmax(scores / temperature, axis=1)",
                "softmax(scores * temperature, axis=1)",
            ),
        },
    ),
    *_group(
        "models/ridge/fields.py",
        "unit/test_vector_fields.py",
        {
            "field-along": (
                "inverse = waves / np.where(squares == 0, 1, squares)",
                "inverse = waves / np.sqrt(np.where(squares == 0, 1, squares))",
            ),
        },
    ),
    *_group(
        "models/ridge/operator.py",
        "unit/test_operator_ridge.py",
        {
            "operator-two-priors": (
                "if given and not same_prior(features.prior, kernel.prior):",
                "if False:",
            ),
        },
    ),
    # --- rows, batches, targets --------------------------------------------------------------
    *_group(
        "data/rows.py data/batches.py _loops/arrays.py",
        "unit/test_rows.py",
        {
            "rows-own-sum": ("return part.copy()", "return part"),
            "rows-mapped-numbers": (
                "self.source[numbers[first:last]]",
                "self.source[first:last]",
            ),
            "rows-budget": (
                "n_blocks = 4 * -(-n_rows // (4 * size))",
                "n_blocks = 4 * (n_rows // (4 * size))",
            ),
        },
    ),
    *_group(
        "_loops/grams.py",
        "unit/test_grams.py",
        {
            "grams-gap": (
                "np.sqrt(2 * np.maximum(falls, 0.0)) / gaps",
                "np.sqrt(2 * np.maximum(falls, 0.0))",
            ),
            "grams-radial-slope": ("return 4 * (products[:, -1]", "return 2 * (products[:, -1]"),
            "grams-two-valued-slope": (
                "apart = 2 * (products[:, -1] @ own",
                "apart = (products[:, -1] @ own",
            ),
        },
    ),
    *_group(
        "_loops/category_grams.py _loops/gram_kernels.py priors/categories.py learners/evidence.py "
        "data/inputs.py tabular/waves.py expansions/leaves.py",
        "unit/test_categories.py conformance/test_priors.py",
        {
            "categories-factor": (
                "row[k] *= one if others[k] == code else share",
                "row[k] *= one if others[k] < code else share",
            ),
            "categories-slope": (
                "factor = -4 if self.order == GAUSSIAN else 2",
                "factor = 2",
            ),
            "categories-sampler": ("size = np.maximum(np.abs(centered) - shares, 0.0)", "size = np.maximum(np.abs(centered) - shares / 2, 0.0)"),
            "categories-gradient": ("gradient[:, :, kernel.columns] = 0.0", "pass"),
            "categories-effects": ("(share, (1 - share) * is_equal)", "(share, is_equal)"),
            "categories-graph": ("points[:, j][None])", "points[:, 0][None])"),
            "categories-linear": ("slopes[codes] = 0.0", "pass"),
            "categories-products": (
                "X = np.delete(self.X, list(self.prior.categories), axis=1)",
                "X = self.X",
            ),
            "categories-unknown": ("np.where(codes < 0, len(names), codes)", "np.maximum(codes, 0)"),
            "categories-descent": ("like(pace * descends,", "like(pace,"),
            "categories-leaves": ("*= _CODES_LAST", "*= 1.0"),
        },
    ),
    *_group(
        "data/batches.py data/dask/batches.py",
        "unit/test_dask_batches.py unit/test_batches.py",
        {
            "batches-last-rows": (
                "(number + 1) * n_items // n_parts)",
                "(number + 1) * (n_items // n_parts))",
            ),
            "batches-steps": (
                "return max(batch_size, -(-n_kept // MOST_STEPS))",
                "return batch_size",
            ),
            "dask-batches-owner": (
                'np.searchsorted(self.stops, places, side="right")',
                "np.searchsorted(self.stops, places)",
            ),
        },
    ),
    *_group(
        "data/dask/rows.py data/dask/inputs.py data/dask/tables.py",
        "unit/test_dask_rows.py",
        {
            "dask-table-numbers": (
                "by_partition(numbers, self._lengths)",
                "by_partition(numbers, self._lengths[::-1])",
            ),
            "dask-declared-dtype": (
                'if dtype.kind in "fiub" and part.dtype != dtype:',
                "if False:",
            ),
            "dask-groups": (
                'searchsorted(stops, shares, side="right")',
                "searchsorted(stops, shares)",
            ),
            "dask-numbers": ("[piece - start for piece, start in", "[piece for piece, start in"),
            "dask-signals": (
                "sum(block, *(signal[rows] for signal in signals))",
                "sum(block, *(signal[: part.shape[0]] for signal in signals))",
            ),
        },
    ),
    *_group(
        "data/targets.py data/checks.py _checks.py",
        "unit/test_target_similarity.py unit/test_validation.py",
        {
            "target-similarity": (
                "np.append(np.ones(n_classes), -1.0))",
                "np.ones(n_classes + 1))",
            ),
            "target-pivot": (
                "(gram[pivot] - known) / np.sqrt(rest[pivot])",
                "(gram[pivot] - known) / rest[pivot]",
            ),
            "target-other-costs": ("class_weight.get(label, 1.0)", "class_weight.get(label, 0.0)"),
            "check-negative-weights": (
                "if np.any(weights < 0):\n        row = int(",
                "if False:\n        row = int(",
            ),
            "check-width": (
                "_check_n_features(estimator, rows, reset=reset)",
                "_check_n_features(estimator, rows, reset=True)",
            ),
            "check-share": (
                "if check_positive(value, name) > 1 or",
                "if check_positive(value, name) > 2 or",
            ),
        },
    ),
    # --- export ------------------------------------------------------------------------------
    *_group(
        "export/graph.py export/tables.py measures/fourier.py priors/anova.py operators/vector_field.py",
        "unit/test_export_functions.py unit/test_export.py",
        {
            "export-reversed-difference": (
                "node(_NODES[function], *inputs)",
                "node(_NODES[function], *inputs[::-1])",
            ),
            "export-feature-weights": (
                "waves * np.sqrt(np.tile(self.weights, 2))",
                "waves * np.tile(self.weights, 2)",
            ),
            "export-anova-share": (
                "kernel.order) + (1 - share)",
                "kernel.order) + share",
            ),
            "export-field-trace": ("trace @ ((1 - share) * own)", "trace @ (share * own)"),
            "export-ranks": ("rank = np.sqrt(12) * (_share_below", "rank = 12 * (_share_below"),
        },
    ),
    *_group(
        "export/estimators.py export/tables.py",
        "unit/test_export_formulas.py",
        {
            "export-mean-of-residuals": (
                "around.row_sums() / float(quantiles.shape[1])",
                "around.row_sums()",
            ),
            "export-target-bounds": (
                "graph.clip(predicted, *estimator.target_bounds_)",
                "predicted",
            ),
            "export-temperature": (('return labels(first_largest(scores), estimator.classes_), softmax(\n'
'        scores / estimator.temperature_\n'
'    )'), 'return labels(first_largest(scores), estimator.classes_), softmax(scores)'),
        },
    ),
    *_group(
        "tabular/monotone.py tabular/regressor.py",
        "unit/test_tabular_monotone.py",
        {
            "monotone-direction": (
                "surface = surface if sign > 0 else np.flip(surface, axis)",
                "surface = surface if axis == 0 else np.flip(surface, axis)",
            ),
            "monotone-missing": (
                "Z[:, self.indicators[has_indicator]] != 0",
                "Z[:, self.indicators[has_indicator]] > 9",
            ),
            "monotone-beyond-nodes": (
                "between = np.clip(between, np.minimum(low, high), np.maximum(low, high))",
                "between = between + 0.0",
            ),
            "monotone-sizes": (
                "sizes = np.exp(member_at(spread.log_size, Z, columns, values))",
                "sizes = np.ones_like(center)",
            ),
        },
    ),
    # --- tables ------------------------------------------------------------------------------
    *_group(
        "tables/evaluate/metrics.py",
        "unit/test_table_judging.py",
        {
            "metric-group-error": (
                "np.sum(sums**2) * n_free / max(n_free - 1, 1)",
                "np.sum(sums**2)",
            ),
            "metric-ties": (
                '+ np.searchsorted(others, score[own], "right")',
                '+ np.searchsorted(others, score[own], "left")',
            ),
            "metric-r2": (
                "return float(1 - share), (share * around - squares)",
                "return float(1 - share), (around - squares)",
            ),
        },
    ),
    *_group(
        "tables/evaluate/thresholds.py tables/evaluate/splitting.py",
        "unit/test_table_splits.py",
        {
            "threshold-costs": (
                "costs = of_positive * np.concatenate([[0], np.cumsum(~ordered)]) + of_negative",
                "costs = of_negative * np.concatenate([[0], np.cumsum(~ordered)]) + of_positive",
            ),
            "threshold-ties": (
                "costs[1:-1][level[1:] == level[:-1]] = np.inf",
                "costs[1:-1] += 0.0",
            ),
            "split-in-time": (
                "[int((1 - HELD_OUT) * (len(rows) - unknown))]",
                "[int(HELD_OUT * (len(rows) - unknown))]",
            ),
        },
    ),
    *_group(
        "tables/columns/written_numbers.py tables/columns/written_dates.py tables/columns/reader.py",
        "unit/test_column_reader.py",
        {
            "written-parentheses": (
                "text, sign = text[1:-1].strip(), -1.0",
                "text, sign = text[1:-1].strip(), 1.0",
            ),
            "written-codes": ("fullmatch(text) or _CODE.fullmatch(text):", "fullmatch(text):"),
            "written-weekday": ("clock.day_of_week / 7,", "clock.day_of_week / 6,"),
            "written-day-first": ('if mark == "/" and doubtful_decimal == COMMA:', "if False:"),
        },
    ),
    *_group(
        "tables/columns/column_kinds.py",
        "unit/test_column_kinds.py",
        {
            "columns-missing-marks": (
                "text.casefold() not in MISSING_MARKS",
                "text not in MISSING_MARKS",
            ),
        },
    ),
    *_group(
        "tables/explanations.py tables/fitting.py",
        "unit/test_table_models.py",
        {
            "explained-output": ("values[rows, :, outputs], base", "values[rows, :, 0], base"),
            "explained-sources": (
                "totals[:, columns.index(reader.sources_[name])] += own",
                "totals[:, columns.index(reader.sources_[name])] = own",
            ),
            "monotone-positive-class": ("-sign if reverse else sign", "sign"),
        },
    ),
    *_group(
        "tables/predictions.py",
        "unit/test_predictions.py",
        {
            "prediction-ends": (
                'for side in ("lower", "upper")',
                'for side in ("upper", "lower")',
            ),
            "prediction-formulas": ("and not math.isfinite(number_of(value))", "and False"),
        },
    ),
    *_group(
        "tables/model_file.py tables/model_schema.py",
        "unit/test_model_limits.py",
        {
            "file-format": (('if (\n'
'        not isinstance(content, dict)\n'
'        or content.get("format") != FORMAT\n'
'        or set(content) != {"format", "model"}\n'
'    ):'), 'if not isinstance(content, dict) or set(content) != {"format", "model"}:'),
            "file-array-memory": (
                "self._spend(_COPIES * _checked_array_bytes(",
                "self._spend(0 * _checked_array_bytes(",
            ),
        },
    ),
    *_group(
        "tables/read/dialects.py",
        "unit/test_table_files.py unit/test_text_layouts.py",
        {
            "dialect-closed": (
                "closed = n_surplus == 1 and all(",
                "closed = n_surplus == 1 or all(",
            ),
            "dialect-usual-mark": (
                "share, mark == usual, _n",
                "share, False, _n",
            ),
            "dialect-mark-of-numbers": (
                "_n_numeric(rows) / width, width",
                "0, width",
            ),
        },
    ),
    *_group(
        "expansions/shapley.py tabular/shapley.py _loops/shapley_kernels.py",
        "unit/test_shapley.py",
        {
            "shapley-common-factors": ("common[i] *= p[i]", "common[i] *= 1"),
            "shapley-quadrature-bound": (
                "limits = np.max(2 * falls / growth, axis=1)",
                "limits = np.max(8 * falls / growth, axis=1)",
            ),
            "shapley-linear-part": ("apart = X - background.mean(axis=0)", "apart = X"),
            "shapley-leaf-background": ("background = rows[of_rows == leaf]", "background = rows"),
        },
    ),
    *_group(
        "datasets/recipes.py",
        "unit/test_recipes.py",
        {
            "recipe-unknown-level": ('if level != "?"]', "]"),
            "recipe-point-of-labels": ('np.char.rstrip(labels, ".")', "labels"),
            "recipe-positive-class": (
                "np.where(np.isin(y, recipe.positive), 1, -1)",
                "np.where(np.isin(y, recipe.positive), -1, 1)",
            ),
            "recipe-longitude": ("np.where(x > 180, x - 360, x)", "np.where(x > 180, x - 180, x)"),
            "recipe-rooms": ("rooms / households, bedrooms", "rooms / people, bedrooms"),
        },
    ),
]  # fmt: skip
