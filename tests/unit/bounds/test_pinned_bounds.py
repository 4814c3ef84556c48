"""Bounds against numbers that none of our code has computed: each literal is its formula in twelve
digits, by mpmath.

A wrong constant in a bound is never seen in its use: a smaller one only looks better.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.preprocessing import FunctionTransformer

from bochner import CertifiedClassifier
from bochner.bounds import (
    ApproximationConstants,
    binomial_tail,
    chi_square,
    corollary_2,
    empirical_bernstein,
    f_divergence,
    first_order,
    kl_divergence,
    landmark,
    log_failure_probability,
    margin,
    margin_objective,
    operator_uniform,
    pac_bayes_kl,
    potential_deviation,
    power_divergence,
    promised_components,
    second_order,
)
from bochner.tables.evaluate.evaluation import interval_certificate

EXACT = {"rel": 1e-10}
AT = {"delta": 0.1, "t": 7.0}


@pytest.mark.parametrize(
    ("call", "complexity"),
    [
        # Theorem 1: (KL + t²/(8(n−1)) + ln 1/δ)/t, n for n − 1 when the point is no row, t = √n
        # unless given; printed t²/(2(n−1))
        (lambda: first_order(0.3, 2.0, 101, **AT), 0.623405013285),  # (2 + 49/800 + ln 10)/7
        (
            lambda: first_order(0.3, 2.0, 101, in_sample=False, **AT),
            0.623318379621,
        ),  # (2 + 49/808 + ln 10)/7
        (
            lambda: first_order(0.3, 1.5, 100, delta=0.05),
            0.462199489982,
        ),  # (1.5 + 100/792 + ln 20)/10
        (
            lambda: first_order(0.3, 2.0, 101, form="paper", **AT),
            0.649655013285,
        ),  # (2 + 49/200 + ln 10)/7
        # the same for n_L landmarks at once: ln(n_L/δ)
        (lambda: landmark(0.3, 2.0, 101, 5, **AT), 0.853324715061),  # (2 + 49/800 + ln 50)/7
        (
            lambda: landmark(0.3, 2.0, 101, 5, in_sample=False, **AT),
            0.853238081398,
        ),  # (2 + 49/808 + ln 50)/7
        (
            lambda: landmark(0.3, 2.0, 101, 5, form="paper", **AT),
            0.879574715061,
        ),  # (2 + 49/200 + ln 50)/7
        # Corollary 2: (2/t)(KL + t²/(8(n−1)) + ln((n+1)/δ)), t = √(n ln n) unless given
        (lambda: corollary_2(0.3, 2.0, 101, **AT), 2.56823083037),  # (2/7)(2 + 49/800 + ln 1020)
        (
            lambda: corollary_2(0.3, 1.5, 100, delta=0.05),
            0.903305416183,
        ),  # (2/t)(1.5 + t²/792 + ln 2020), t = √(100 ln 100)
        (
            lambda: corollary_2(0.3, 2.0, 101, form="paper", **AT),
            2.62073083037,
        ),  # (2/7)(2 + 49/200 + ln 1020)
        # Theorem 3: (KL + t²/(8⌊n/2⌋) + ln(T/δ))/t, T values of t tried
        (lambda: second_order(0.3, 2.0, 101, **AT), 0.632155013285),  # (2 + 49/400 + ln 10)/7
        (
            lambda: second_order(0.3, 2.0, 101, n_tried=4, **AT),
            0.830197064873,
        ),  # (2 + 49/400 + ln 40)/7
        (
            lambda: second_order(0.3, 2.0, 101, form="paper", **AT),
            0.649308478631,
        ),  # (2 + 49/202 + ln 10)/7
        # kl form: the root r of kl(0.3 ‖ r) = (KL + ln(2 T √N/δ))/N, N = ⌊n/2⌋ pairs, T tried
        (lambda: second_order(0.3, 2.0, 101, delta=0.1, form="kl"), 0.261197843798746),
        (
            lambda: second_order(0.3, 2.0, 101, delta=0.1, n_tried=4, form="kl"),
            0.285976166246500,
        ),
        # kl form of Theorem 1: n − 1 or n rows, T landmarks
        (lambda: landmark(0.3, 2.0, 101, 5, delta=0.1, form="kl"), 0.208319515166427),
        (
            lambda: landmark(0.3, 2.0, 101, 5, delta=0.1, in_sample=False, form="kl"),
            0.207318050125415,
        ),
        # Theorem 4, safe: (D+1)^{1/μ}(1/(2nδ))^{1−1/μ} for μ <= 2,
        # (D+1)^{1/μ}(2n)^{−1/2}δ^{−(1−1/μ)} for μ >= 2
        (
            lambda: f_divergence(0.3, 2.0, 100, mu=1.5, delta=0.1),
            0.766309432394,
        ),  # 3^{2/3} (1/20)^{1/3}
        (
            lambda: f_divergence(0.3, 2.0, 100, mu=4.0, delta=0.1),
            0.523317569696,
        ),  # 3^{1/4} 200^{−1/2} 10^{3/4}
        (
            lambda: f_divergence(0.3, 2.0, 100, mu=1.5, delta=0.1, form="paper"),
            1.0020725648,
        ),  # (1/20)^{1/2} 3^{2/3} 10^{1/3}
        (
            lambda: f_divergence(0.3, 2.0, 100, mu=4.0, delta=0.1, form="paper"),
            0.0827437729912,
        ),  # (1/400)^{3/4} 3^{1/4} 10^{3/4}
        # Corollary 5: √((χ²+1)/(2nδ)), printed with 4n
        (lambda: chi_square(0.3, 2.0, 100, delta=0.1), 0.387298334621),  # √(3/20)
        (lambda: chi_square(0.3, 2.0, 100, delta=0.1, form="paper"), 0.273861278753),  # √(3/40)
    ],
)
def test_alignment_bounds_are_their_formulas(call, complexity):
    bound = call()
    assert bound.complexity == pytest.approx(complexity, **EXACT)
    assert bound.value == pytest.approx(0.3 + complexity, **EXACT)


def test_divergences_are_their_sums():
    # q/p = (2, 1, 1/2) with p = (1/4, 1/4, 1/2)
    posterior, prior = [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]
    assert kl_divergence(posterior, prior) == pytest.approx(
        0.25 * 0.693147180560, **EXACT
    )  # ½ ln 2 − ¼ ln 2
    assert power_divergence(posterior, prior) == pytest.approx(0.375)  # 4/4 + 1/4 + 1/8 − 1
    assert power_divergence(posterior, prior, 3.0) == pytest.approx(1.3125)  # 8/4 + 1/4 + 1/16 − 1


@pytest.mark.parametrize(
    ("mu", "rows"), [(1.5, 4), (1.8, 256), (1.9, 262_144), (1.95, 274_877_906_944)]
)
def test_theorem_4_as_printed_is_valid_only_where_it_is_above_what_is_proved(mu, rows):
    """Printed over safe is (n / 4^{(μ−1)/(2−μ)})^{(μ−1)(2−μ)/(2μ)}: below that many rows the false
    variance lemma shows.
    """
    for n, valid in ((rows // 2, False), (2 * rows, True)):
        printed = f_divergence(0.3, 2.0, n, mu=mu, form="paper")
        assert (printed.complexity >= f_divergence(0.3, 2.0, n, mu=mu).complexity) == valid
        assert printed.valid == valid
        assert ("1/(4n)" in printed.reason) == (not valid)


@pytest.mark.parametrize("n", [10, 10_000, 10**8])
def test_theorem_4_as_printed_is_never_valid_at_two_or_above(n):
    for mu in (2.0, 2.5):
        printed = f_divergence(0.3, 2.0, n, mu=mu, form="paper")
        assert not printed.valid
        assert printed.reason
    assert not chi_square(0.3, 2.0, n, form="paper").valid


# --- risk -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "value"),
    [
        # r with kl(R̂ ‖ r) = (KL + ln(2 T √n / δ))/n
        (lambda: pac_bayes_kl(0.1, 3.0, 1000), 0.148051345699),  # KL = 3, T = 1
        (lambda: pac_bayes_kl(0.1, 3.0, 1000, n_tried=13), 0.154476415898),
        (
            lambda: pac_bayes_kl(0.3, 0.0, 400, delta=0.1),
            0.382733395305,
        ),  # no divergence: the logarithm alone, ln 400
        (
            lambda: pac_bayes_kl(0.0, 0.0, 100),
            0.058155079117,
        ),  # without errors kl is −ln(1 − r): 1 − (0.05/20)^{1/100}
        # P(Binomial(n, r) <= k) = δ
        (lambda: binomial_tail(0, 100), 0.029513049607),  # 1 − 0.05^{1/100}
        (lambda: binomial_tail(99, 100), 0.999487198584),  # 0.95^{1/100}
        (lambda: binomial_tail(7, 50, delta=0.03), 0.262194711511),
        # mean + √(2 V ln(2/δ)/n) + 7 L ln(2/δ)/(3(n−1)); losses that do not vary leave the last
        # term alone
        (
            lambda: empirical_bernstein(np.full(1000, 0.2), delta=0.1),
            0.2 + 0.00699703901064,
        ),  # 7 ln 20/2997
        (
            lambda: empirical_bernstein(np.full(1000, 0.2), 2.0, delta=0.1),
            0.2 + 0.0139940780213,
        ),  # 14 ln 20/2997
        (
            lambda: empirical_bernstein([0.0, 1.0] * 50),
            0.5 + 0.223437624825,
        ),  # √((50/99) ln 40/100) + 7 ln 40/297
    ],
)
def test_risk_bounds_are_their_formulas(call, value):
    bound = call()
    assert bound.value == pytest.approx(value, **EXACT)
    assert bound.complexity == pytest.approx(value - bound.empirical, rel=1e-8)


def test_the_interval_takes_the_first_order_statistic_that_is_certain_enough():
    # Below 29 rows even the largest error is not: 0.9^28 = 0.052, 0.9^29 = 0.047.  P(Binomial(60,
    # 0.9) >= k) <= 0.05 from k = 59, P(Binomial(100, 0.9) >= k) from 96 on.
    for n, k in ((29, 29), (60, 59), (100, 96)):
        assert interval_certificate(np.arange(1.0, n + 1)).half_width == k
    assert interval_certificate(np.arange(28.0)).half_width is None


@pytest.fixture(scope="module")
def certified():
    """A classifier whose first part is one row: its prior sits at the origin, where half of all
    rows are errors.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + np.array([1.5, 0.0]) * rng.choice([-1, 1], size=(400, 1))
    y = X[:, 0] > 0
    identity = FunctionTransformer()
    return (
        CertifiedClassifier(identity, prior_share=1 / 400, random_state=0).fit(X, y),
        X,
        np.where(y, 1.0, -1.0),
    )


def test_a_certificate_is_the_theorem_at_its_own_posterior(certified):
    """kl(R̂ ‖ R) = (‖w‖²/(2σ²) + ln(2 · 13 √m / δ))/m with m = 399 rows and 13 widths, and R̂ the
    mean normal tail of these rows.
    """
    model, X, signs = certified
    weights = np.append(model.coef_, model.intercept_)
    budget = (
        weights @ weights / (2 * model.width_**2) + np.log(2 * 13 * np.sqrt(399) / 0.05)
    ) / 399
    risk = model.gibbs_bound_.empirical

    def excess(r):
        return risk * np.log(risk / r) + (1 - risk) * np.log((1 - risk) / (1 - r)) - budget

    assert model.gibbs_bound_.value == pytest.approx(
        brentq(excess, risk, 1 - 1e-12, xtol=1e-14), rel=1e-9
    )
    columns = np.column_stack([X, np.ones(400)])
    tails = norm.cdf(
        -signs * (columns @ weights) / (model.width_ * np.linalg.norm(columns, axis=1))
    )
    without_one = (tails.sum() - tails) / 399  # which row the prior has seen is its own affair
    assert np.abs(without_one - risk).min() < 1e-12
    assert model.bound_.value == pytest.approx(2 * model.gibbs_bound_.value)


def test_the_posterior_leaves_a_prior_that_knows_nothing(certified):
    model, _, _ = certified
    assert np.linalg.norm(model.coef_) > 0
    assert model.gibbs_bound_.empirical < 0.25
    assert model.gibbs_bound_.value < 0.3


# --- margin game and operators --------------------------------------------------------------------


def test_margin_bounds_are_their_formulas():
    assert margin_objective([10.0, 14.0], [4.0, 8.0], 12).value == pytest.approx(
        174.462986798, **EXACT
    )  # 12 − 6/2 + 1.5 · 12 · 13/√2
    margins = np.r_[np.full(90, 0.6), np.full(10, 0.05)]
    given = {"frequency_radius": 2.0, "data_radius": 3.0, "mass": 0.25, "delta": 0.1}
    # 0.1 + (38/½) √(0.25/100) + 3 √(ln(2K/0.1)/100) for K = 1 and 2 thresholds; printed with 36
    assert margin(margins, 0.5, **given).value == pytest.approx(4.41924551478, **EXACT)
    assert margin(margins, [0.5, 0.01], **given).value == pytest.approx(4.47619367479, **EXACT)
    assert margin(margins, 0.5, form="paper", **given).value == pytest.approx(
        4.21924551478, **EXACT
    )
    # the root of ln 2 + 2 ln(24 · 1.5 · 2/ε) − 1000 (ε/2 − 1/1000)²/8 = ln 0.05
    assert potential_deviation(1000, 2, 2.0, 1.5).value == pytest.approx(0.649581716018, **EXACT)


def test_theorem_10_is_its_formula():
    """m = 12, ū = 24 ln(2^{3/2} · 144/5) = 105.6; exp(−ε²D/(40 (5 + εū/6))) up to εū = 20 (e−1),
    then exp(−εD/(5 (e−1) ū)).

    The cases meet at ε = .3254; the printed split, εū = 10 (e−1), is at ε = .1627.
    """
    constants = ApproximationConstants(
        n_features=3, n_outputs=2, variance=5.0, slope=4.0, orlicz=2.0, sup_norm=1.0
    )
    # + ln 2 + ln(1.5^{−3/5} + 1.5^{2/5}) + 4 ln 2 + (6/5) ln(4 · 2/ε)
    for error, logarithm, promised in (
        (0.005, 12.8692202558, 130_153_455),
        (0.1, -27.5848585681, 335_107),
        (0.16, -73.0494963756, 144_462),
        (0.17, -81.6417376375, 130_043),  # 62 742 with the printed split
        (0.32, -232.778357299, 45_673),  # 31 180 with the printed split
        (0.33, -355.763020292, 30_134),
        (1.0, -1095.5704464, 8_737),
    ):
        assert log_failure_probability(constants, 10**6, error, 2.0) == pytest.approx(
            logarithm, **EXACT
        )
        assert promised_components(constants, error, 2.0) == promised
    assert operator_uniform(constants, 10**6, 2.0).value == pytest.approx(0.0559792276259, rel=1e-9)


def test_theorem_10_never_promises_more_for_a_smaller_error():
    """The bound decreases in the error, also over the jump between the cases, and is continuous
    inside each.
    """
    constants = ApproximationConstants(
        n_features=3, n_outputs=2, variance=5.0, slope=4.0, orlicz=2.0, sup_norm=1.0
    )
    errors = np.geomspace(0.01, 2.0, 400)
    logarithms = np.array(
        [log_failure_probability(constants, 10**6, error, 2.0) for error in errors]
    )
    assert np.all(np.diff(logarithms) < 0)
    jumps = np.flatnonzero(np.diff(logarithms) < -0.2 * np.abs(logarithms[:-1]) - 1)
    assert len(jumps) == 1
    assert errors[jumps[0]] < 0.325425052614 < errors[jumps[0] + 1]
    promised = [promised_components(constants, error, 2.0) for error in errors]
    assert np.all(np.diff(promised) <= 0)
    # From 30 711 frequencies on the jump carries the bound below δ = .05: the promised error is the
    # end of the first case.
    for n_components in (31_000, 40_000):
        error = operator_uniform(constants, n_components, 2.0).value
        assert error == pytest.approx(0.325425052614, rel=1e-9)
        assert log_failure_probability(constants, n_components, error, 2.0) <= np.log(0.05)


def test_theorem_10_as_printed_is_valid_only_above_what_is_proved():
    constants = ApproximationConstants(
        n_features=3, n_outputs=2, variance=5.0, slope=4.0, orlicz=2.0, sup_norm=1.0
    )
    for n_components in (10**5, 10**6):
        printed, safe = (
            operator_uniform(constants, n_components, 2.0, form=form) for form in ("paper", "safe")
        )
        assert printed.valid == (printed.value >= safe.value)
        assert safe.valid
    assert not printed.valid
    assert "printed" in printed.reason
