from dataclasses import dataclass

from own_samples import use_loss_everywhere

from bochner.losses import Loss, Squared


@dataclass(frozen=True)
class Expectile(Loss):  # the squared loss, with weight ``level`` below the target
    level: float
    of_residuals = True

    def values(self, y, scores):
        return (self.gradient(y, scores) * (scores - y) / 2).sum(axis=1)

    def derivatives(self, y, scores):
        slopes = abs((y < scores) - self.level).astype(scores.dtype)
        return slopes * (scores - y), slopes

    def start(self, y, weights):  # the mean, weighted again
        return Squared().start(y, weights[:, None] * self.derivatives(y, y.mean(axis=0))[1])


def test_a_loss_of_ones_own_does_everything():
    use_loss_everywhere(Expectile(0.8), lower=Expectile(0.2))
