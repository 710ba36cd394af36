"""Check an objective from the command line, or as tests: ``python -m gbdt_objectives.check``.

``python -m gbdt_objectives.check module:objective [--loss module:loss] [--labels 0 1 2]`` prints
the report of :func:`gbdt_objectives.check_objective`; exit status 1 if a check failed, 2 if the
objective was not found. In a test suite: ::

    from gbdt_objectives.check import parametrize_with_checks

    @parametrize_with_checks([my_objective, other_objective])
    def test_objective(check):
        check()
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from gbdt_objectives.checking import ObjectiveError, check_objective
from gbdt_objectives.checking.probe import Api
from gbdt_objectives.objectives.base import HessianKind


def parametrize_with_checks(objectives: Sequence[Any], **options: Any) -> Any:
    """A pytest decorator: one test per objective, which gets ``check`` to call.

    Parameters
    ----------
    objectives : sequence of callables
        As for :func:`gbdt_objectives.check_objective`.
    **options
        The other arguments of ``check_objective``, the same for all.

    Returns
    -------
    pytest mark

    Examples
    --------
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.check import parametrize_with_checks
    >>> @parametrize_with_checks([qwk_objective([0, 1, 2]), qwk_objective([0, 1, 2], clip=False)])
    ... def test_objective(check):
    ...     check()
    """
    import pytest

    checks = [partial(check_objective, obj, **options) for obj in objectives]
    names = [getattr(obj, "__name__", repr(obj)) for obj in objectives]
    names = [re.sub(r" at 0x[0-9a-fA-F]+", "", name) for name in names]  # other in each process
    return pytest.mark.parametrize("check", checks, ids=names)


def find(path: str) -> Any:
    """What ``module:name`` or ``module:name.attribute`` names."""
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
        prog="python -m gbdt_objectives.check",
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
