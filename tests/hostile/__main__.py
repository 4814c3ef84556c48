"""``python -m tests.hostile [names]``: all attacks on rows, targets, weights, parameters and files
of tables, as a table.

Names are those of estimators, or "tables"; all when there are none.
"""

import sys
import tempfile
from pathlib import Path

from tests.conformance.registry import SMALL

from .attacks import failures, input_reports, parameter_reports, table
from .commands import table_reports

N_TABLES = 500


def main():
    def is_chosen(name):
        return not sys.argv[1:] or any(name.startswith(begin) for begin in sys.argv[1:])

    reports = []
    for name in filter(is_chosen, SMALL):
        print(f"{name} …", file=sys.stderr, flush=True)
        reports += [*input_reports(name), *parameter_reports(name)]
    if is_chosen("tables"):
        print(f"{N_TABLES} mutated tables …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            reports += sorted(table_reports(Path(folder), N_TABLES), key=lambda report: report.name)
    for report in failures(reports):
        print(f"{report.outcome.kind}: {report.name}: {report.attack}: {report.outcome.said[:200]}")
    print(table(reports))
    return 1 if failures(reports) else 0


if __name__ == "__main__":
    sys.exit(main())
