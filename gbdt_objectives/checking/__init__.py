"""Test what boosters assume of an objective and never check.

``probe`` holds what is tried and what is found, ``checks`` the checks and their table.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from gbdt_objectives._checks import check_called
from gbdt_objectives._public import attributes, public
from gbdt_objectives.checking.checks import CHECKS, check_returned, on_all_labels
from gbdt_objectives.checking.probe import Api, ObjectiveError, ObjectiveReport, make_probe, tried
from gbdt_objectives.objectives.function import LossFunction
from gbdt_objectives.objectives.loss import HessianKind

__all__ = ["ObjectiveError", "ObjectiveReport", "check_objective", "parametrize_with_checks"]


@public
def check_objective(
    obj: Any, y_true: ArrayLike | None = None, *, loss: LossFunction | None = None,
    sample_weight: ArrayLike | None = None, hessian_kind: HessianKind | None = None,
    margins: tuple[float, float] | None = None, n_classes: int | None = None,
    api: Api | None = None,
) -> ObjectiveReport:  # fmt: skip
    """Test a custom objective for what boosters assume of it and never check.

    Use it before the first training on a gradient of your own.

    - **gradient**: the derivative of the loss, by finite differences; without a loss, the
      symmetry of its own derivatives, if it couples rows.
    - **hessian**: what ``hessian_kind`` says, against the derivative of the gradient; never
      negative, nor 0 where the gradient is not; the step -sum g / sum h of a leaf goes downhill.
    - **weights**: applied, once, also in sums over rows: weight w equals w copies of a row.
    - **tails**: finite in float32, and equal to float64, at margins of up to +-100.
    - **calls**: shape, dtype and byte order of what is returned; inputs are left alone; no
      state between calls; order of rows; pickling and deep copies.
    - **scale**: a note if hessians are small for ``min_child_weight`` and the like.
    - **intercept**, **workers**, **link** and **predictions**, for an Objective: boosting starts
      where the weighted gradients sum to 0; two workers find the mean loss, gradient and intercept
      of one machine; the declared link predicts rows of one label best as that; and models of each
      library that is installed predict what the link makes of their margins.

    Parameters
    ----------
    obj : callable, Objective or Loss
        In any form that boosters call: ``(margin, DMatrix)``, ``(margin, Dataset)``,
        ``(y_true, margin)`` with or without ``sample_weight``, or an objective of this package.
    y_true : array-like of shape (n,), optional
        Labels to draw from. None: those of the objective's domain, else 0 and 1, or 0 to K-1, and
        some from -100 to 100. For an objective with values by row: the label of each of these rows.
    loss : callable, optional
        ``loss(y_true, margin, sample_weight) -> float``, the total that the gradient should
        differentiate; ``sample_weight`` is None or (n,). None: the objective's own.
    sample_weight : array-like of shape (n,), optional
        Whole numbers above 0 to draw weights from. None: 1, 2 and 3.
    hessian_kind : {"exact", "constant", "upper_bound", "bounded", "undeclared"}, optional
        What the hessian should be. "constant": the weight of the row. "bounded": no step of a
        leaf passes the leaf's optimum. None: what the objective declares; "undeclared" must turn
        out to be one of the first three, or whole steps of leaves must go downhill.
    margins : (float, float), optional
        Range, both tails included, in which the loss is differentiable. None: the range of the
        labels, of their logs under link="log", or -6 to 6 for labels 0 and 1, with tails to +-100.
    n_classes : int, optional
        K, for callables with margins (n, K). None: 1, or the objective's ``outputs``.
    api : {"xgboost", "lightgbm", "sklearn"}, optional
        The form of a bare callable; found by trying if None.

    Returns
    -------
    ObjectiveReport
        The findings, if the objective passed; it prints as a table.

    Raises
    ------
    ObjectiveError
        A ValueError that says what is wrong and what it does to training; it has the ``report``.
    TypeError, ValueError
        What cannot be called, and bad arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import check_objective, qwk_objective
    >>> check_objective(qwk_objective(range(5))).passed
    True
    >>> def pasted(margin, data):
    ...     return margin - data.get_label(), np.ones_like(margin)
    >>> try:
    ...     check_objective(pasted)
    ... except ValueError as error:
    ...     print([f.check for f in error.report.findings if f.status == "FAILED"])
    ['weights', 'copies']
    """
    probe = make_probe(obj, y_true, loss, sample_weight, hessian_kind, margins, n_classes, api)
    findings = [tried("returned arrays", check_returned, probe)]
    if findings[0].status == "passed":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            others = probe.on_other_labels(margins) if y_true is None else None
        findings += [on_all_labels(name, check, probe, others) for name, check in CHECKS.items()]
    report = ObjectiveReport(probe.name, tuple(findings))
    if not report.passed:
        raise ObjectiveError(report)
    return report


@public
def parametrize_with_checks(objectives: Sequence[Any], **options: Any) -> Any:
    """A pytest decorator: one test per objective, which gets ``check`` to call.

    Parameters
    ----------
    objectives : sequence of callables
        Objectives as :func:`gbdt_objectives.check_objective` takes them.
    **options
        The other arguments of ``check_objective``, the same for all.

    Returns
    -------
    pytest mark

    Examples
    --------
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.checking import parametrize_with_checks
    >>> @parametrize_with_checks([qwk_objective([0, 1, 2]), qwk_objective([0, 1, 2], clip=False)])
    ... def test_objective(check):
    ...     check()
    """
    import pytest

    for obj in objectives:
        check_called("objectives", obj)
    checks = [partial(check_objective, obj, **options) for obj in objectives]
    names = [getattr(obj, "__name__", repr(obj)) for obj in objectives]
    names = [re.sub(r" at 0x[0-9a-fA-F]+", "", name) for name in names]  # other in each process
    return pytest.mark.parametrize("check", checks, ids=names)


__getattr__, __dir__ = attributes(__name__, __all__)
