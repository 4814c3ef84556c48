"""Joint descent: a learner that moves all frequencies by the gradient of a loss."""
