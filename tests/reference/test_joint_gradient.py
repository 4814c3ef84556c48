"""Joint descent: its gradient against finite differences, its steps against Adam as published, its
epochs by hand.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from threadpoolctl import threadpool_limits

from bochner.data import as_rows
from bochner.learners.descent.gradients import (
    CHUNK_ROWS,
    BatchGradient,
    Standardization,
    WaveParameters,
)
from bochner.learners.descent.loop import Descent, run_together
from bochner.losses import Exponential, Huber, Logistic, Multinomial, Poisson, Quantile, Squared

LOSSES = [
    Logistic(),
    Exponential(),
    Squared(),
    Huber(np.array([0.7])),
    Quantile(0.3),
    Poisson(),
    Multinomial(),
]


def run_one(descent, parameters, *arguments, **keywords):
    (descended,) = run_together([descent], [parameters], *arguments, **keywords)
    return descended


def problem(loss, rng, n_rows=40):
    n_outputs = 3 if isinstance(loss, Multinomial) else 1
    X = rng.normal(size=(n_rows, 4))
    if n_outputs == 3:
        targets = np.eye(3)[rng.integers(3, size=n_rows)]
    elif isinstance(loss, Logistic | Exponential):
        targets = rng.choice([-1.0, 1.0], size=(n_rows, 1))
    else:
        targets = rng.poisson(2.0, size=(n_rows, 1)).astype(float)
    parameters = WaveParameters(5, 4, n_outputs, np.float64)
    parameters.vector[...] = 0.5 * rng.normal(size=len(parameters.vector))
    return X, targets, parameters


def weighted_loss(loss, parameters, vector, Z, targets, weights):
    moved = parameters.like()
    moved.vector[...] = vector
    return float(weights @ loss.values(targets, moved.expansion(with_slopes=True).evaluate(Z)))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_gradient_is_the_derivative_of_the_weighted_loss(loss, seed):
    rng = np.random.default_rng(seed)
    X, targets, parameters = problem(loss, rng)
    standardization = Standardization(rng.normal(size=4), rng.uniform(0.5, 2, size=4))
    picked = rng.permutation(len(X))[:25]
    Z, weights = standardization.apply(X[picked], np.float64), rng.uniform(size=(25, 1))
    arguments = loss, parameters
    numeric = approx_fprime(
        parameters.vector,
        lambda v: weighted_loss(*arguments, v, Z, targets[picked], weights[:, 0]),
        1e-6,
    )
    gradient = BatchGradient(parameters, loss, standardization, with_losses=True)
    for source in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_matrix(X)):
        value, n_rows, found = gradient(source, picked, targets[picked], weights)
        assert n_rows == 25
        np.testing.assert_allclose(found, numeric, atol=2e-5 * max(1, np.abs(numeric).max()))
        here = weighted_loss(*arguments, parameters.vector, Z, targets[picked], weights[:, 0])
        assert value == pytest.approx(here, rel=1e-5)


def published_adam(gradients, rates, decays, penalties, start, second_decay, n_steps):
    """Algorithm 1 of Kingma & Ba with hatted means, a linear schedule, decay and ℓ2 penalty: θ
    after each step.
    """
    theta, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for t in range(1, n_steps + 1):
        remaining = 1 - (t - 1) / n_steps
        g = gradients(theta) + penalties * theta
        m, v = 0.9 * m + 0.1 * g, second_decay * v + (1 - second_decay) * g**2
        direction = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - second_decay**t)) + 1e-8)
        theta = theta * (1 - decays * remaining) - rates * remaining * direction
        yield theta


@pytest.mark.parametrize("second_decay", [0.99, 0.999])
def test_steps_are_adam_as_published_with_its_bias_corrections(second_decay):
    rng = np.random.default_rng(0)
    loss = Logistic()
    X, targets, parameters = problem(loss, rng, n_rows=20)
    rates = parameters.like(0.03, 0.05, 0.02, 0.04)
    decays, penalties = parameters.like(0.01), parameters.like(amplitudes=0.3)
    weights = rng.uniform(0.5, 2, size=20)
    shares = weights / weights.sum()

    def gradient(vector):
        return approx_fprime(
            vector, lambda v: weighted_loss(loss, parameters, v, X, targets, shares), 1e-7
        )

    paces = rates.vector, decays.vector, penalties.vector
    expected = list(published_adam(gradient, *paces, parameters.vector, second_decay, 4))
    descent = Descent(loss, 4, 20, rates, decays, penalties, second_decay)
    reached = []
    run_one(
        descent,
        parameters,
        as_rows(X),
        targets,
        rng,
        weights=weights,
        after_epoch=lambda _: reached.append(parameters.vector.copy()),
    )
    np.testing.assert_allclose(reached, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("loss", [Logistic(), Squared(), Multinomial()], ids=repr)
def test_epochs_do_not_depend_on_the_number_of_threads(loss):
    rng = np.random.default_rng(0)
    X, targets, start = problem(loss, rng, n_rows=3 * CHUNK_ROWS + 100)
    results = []
    for n_threads in (1, 2):
        parameters = WaveParameters.of(start.expansion(with_slopes=True))
        rates = parameters.like(0.01, 0.01, 0.01, 0.01)
        with threadpool_limits(n_threads, user_api="blas"):
            run_one(
                Descent(loss, 2, 2 * CHUNK_ROWS, rates),
                parameters,
                as_rows(X),
                targets.astype(np.float32),
                np.random.default_rng(1),
            )
        results.append(parameters.vector.copy())
    np.testing.assert_array_equal(*results)
    assert np.all(results[0] != start.vector.astype(np.float32))


def test_weights_are_repetitions_when_a_batch_holds_all_rows():
    rng = np.random.default_rng(0)
    X, targets, start = problem(Logistic(), rng, n_rows=60)
    counts = rng.integers(0, 4, size=60)
    results = []
    for rows, signs, weights in [
        (X, targets, counts),
        (X.repeat(counts, axis=0), targets.repeat(counts, axis=0), None),
    ]:
        parameters = WaveParameters.of(start.expansion(with_slopes=True), np.float64)
        rates = parameters.like(0.01, 0.01, 0.01, 0.01)
        descent = Descent(Logistic(), 10, 1000, rates)
        results.append(run_one(descent, parameters, as_rows(rows), signs, rng, weights=weights))
    np.testing.assert_allclose(results[0].losses, results[1].losses, rtol=1e-9)
    np.testing.assert_allclose(
        results[0].expansion.frequencies, results[1].expansion.frequencies, rtol=1e-6
    )


def test_rows_that_are_kept_apart_are_not_met():
    rng = np.random.default_rng(0)
    X, targets, start = problem(Logistic(), rng, n_rows=200)
    kept = rng.random(200) < 0.5
    results = []
    for signs in (targets, np.where(kept[:, None], targets, -targets)):
        parameters = WaveParameters.of(start.expansion(with_slopes=True))
        descent = Descent(Logistic(), 3, 32, parameters.like(0.01, 0.01, 0.01, 0.01))
        run_one(
            descent,
            parameters,
            as_rows(X),
            signs.astype(np.float32),
            np.random.default_rng(1),
            excluded=np.flatnonzero(~kept),
        )
        results.append(parameters.vector)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("order", [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [5.0, 6.0, 7.0]], ids=repr)
def test_the_best_epoch_is_kept(order):
    """By a loss of other rows that is given by hand: 4 at the start, then ``order``; the start
    itself may be the best.
    """
    rng = np.random.default_rng(0)
    X, targets, parameters = problem(Logistic(), rng)
    answers, met = iter([4.0, *order]), []

    def held_out(expansion):
        met.append(expansion)
        return next(answers)

    descent = Descent(Logistic(), 3, 20, parameters.like(0.01, 0.01, 0.01, 0.01))
    descended = run_one(descent, parameters, as_rows(X), targets, rng, held_out=held_out)
    assert descended.held_out_losses == order
    assert len(met) == 4
    best = int(np.argmin([4.0, *order]))
    np.testing.assert_array_equal(descended.expansion.frequencies, met[best].frequencies)
    others = [k for k in range(4) if k != best]
    assert all(np.any(descended.expansion.frequencies != met[k].frequencies) for k in others)


def test_a_word_ends_the_descent_and_an_interruption_goes_through():
    rng = np.random.default_rng(0)
    X, targets, parameters = problem(Logistic(), rng)
    descent = Descent(Logistic(), 10, 20, parameters.like(0.01))
    descended = run_one(
        descent,
        parameters,
        as_rows(X),
        targets,
        rng,
        after_epoch=lambda reached: len(reached.losses) == 2,
    )
    assert len(descended.losses) == 2
    assert descended.expansion.slopes is not None

    def interrupt(reached):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_one(descent, parameters, as_rows(X), targets, rng, after_epoch=interrupt)


def test_losses_that_nobody_reads_are_not_summed():
    found = []
    for with_losses in (True, False):
        X, targets, parameters = problem(Logistic(), np.random.default_rng(0))
        descent = Descent(Logistic(), 3, 20, parameters.like(0.01), with_losses=with_losses)
        found.append(run_one(descent, parameters, as_rows(X), targets, np.random.default_rng(1)))
    assert [len(descended.losses) for descended in found] == [3, 0]
    np.testing.assert_array_equal(found[0].expansion.frequencies, found[1].expansion.frequencies)
