"""``python -m tests.hostile [names of estimators]``: all attacks on rows, targets, weights and parameters, as a table."""

import sys

from .battle import failures, input_reports, parameter_reports, table
from .victims import VICTIMS


def main():
    chosen = [name for name in VICTIMS if not sys.argv[1:] or any(name.startswith(begin) for begin in sys.argv[1:])]
    reports = []
    for name in chosen:
        print(f"{name} …", file=sys.stderr, flush=True)
        reports += [*input_reports(name), *parameter_reports(name)]
    for report in failures(reports):
        print(f"{report.outcome.kind}: {report.victim}: {report.attack}: {report.outcome.said[:200]}")
    print(table(reports))
    return 1 if failures(reports) else 0


if __name__ == "__main__":
    sys.exit(main())
