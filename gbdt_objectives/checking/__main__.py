"""Check an objective from the command line: ``python -m gbdt_objectives.checking``.

``python -m gbdt_objectives.checking module:objective [--loss module:loss] [--labels 0 1 2]``
prints the report of :func:`gbdt_objectives.check_objective`. The exit status is 1 if a check
failed, and 2 if the objective was not found.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from gbdt_objectives.checking import ObjectiveError, check_objective
from gbdt_objectives.checking.probe import Api
from gbdt_objectives.objectives.base import HessianKind


def find(path: str) -> Any:
    """The object that ``module:name`` or ``module:name.attribute`` names."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ValueError(f"found {path!r}: write module:name, for instance mylosses:focal")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m gbdt_objectives.checking",
        description="Test a custom objective for what XGBoost and LightGBM assume of it.",
    )
    parser.add_argument("objective", help="module:objective; modules of this folder are found")
    parser.add_argument("--loss", help="module:loss, the total that the gradient differentiates")
    parser.add_argument("--labels", nargs="+", type=float, metavar="LABEL", help="to draw from")
    parser.add_argument("--margins", nargs=2, type=float, metavar=("LOW", "HIGH"))
    parser.add_argument("--hessian-kind", choices=get_args(HessianKind))
    parser.add_argument("--n-classes", type=int, metavar="K", help="for margins (n, K)")
    parser.add_argument("--api", choices=get_args(Api), help="the form of the callable")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(Path.cwd()))
    try:
        obj = find(options.objective)
        loss = None if options.loss is None else find(options.loss)
        report = check_objective(
            obj,
            options.labels,
            loss=loss,
            margins=None if options.margins is None else tuple(options.margins),
            hessian_kind=options.hessian_kind,
            n_classes=options.n_classes,
            api=options.api,
        )
    except ObjectiveError as error:
        print(error.report)
        return 1
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
