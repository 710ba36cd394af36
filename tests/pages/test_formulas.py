"""Formulas of docstrings as LaTeX (docs/formulas.py): what is set, and what stays plain text."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "formulas", Path(__file__).parents[2] / "docs" / "formulas.py"
)
assert SPEC is not None
assert SPEC.loader is not None
formulas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(formulas)


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("p'_k = p_k^(1/T) exp(b_k)", r"p'_{k} = p_{k}^{1/T}\,\exp(b_{k})"),
        ("sum_ij (i-j)^2 O_ij / n", r"\sum_{ij} (i-j)^{2} O_{ij} / n"),
        ("kappa~ <= 1/(1+e^-x)", r"\tilde{\kappa} \le  1/(1+e^{-x})"),
        ("class of a row = argmax_k a_k", r"\text{class}\;\text{of}\;\text{a}\;\text{row}"),
        ("sqrt(p_k (n - p_k)) d", r"\sqrt{p_{k} (n - p_{k})}\,d"),
        ("e_in - e_out", r"e_{\mathrm{in}} - e_{\mathrm{out}}"),
        ('loss  n F   "kappa"', r"\text{loss} & n F & \text{" + '"kappa"}'),
        ("F/G,   n = 2", r"F/G, \qquad n = 2"),
    ],
)
def test_plain_symbols_become_latex(plain: str, latex: str) -> None:
    assert latex in formulas.to_latex(plain)


@pytest.mark.parametrize(
    "plain",
    ["objective.loss(y) / n", "shift = fit(y, score)", "two's", "out_of_x_of_y ^"],
)
def test_code_and_what_is_not_known_stay_as_they_are(plain: str) -> None:
    with pytest.raises(formulas.NotAFormula):
        formulas.to_latex(plain)


QWK = """loss      n F/G,   n = sum w
gradient  w ((p-y) - R (p-a)),  R = F/G        scale="residual"
          that times n/G                       scale="kappa"
hessian   w"""


def test_no_line_is_lost() -> None:
    convert = pytest.importorskip("latex2mathml.converter").convert
    assert convert(formulas.to_latex(QWK)).count("<mtr>") == 4


def test_a_phone_gets_each_line_in_pieces() -> None:
    pieces = formulas.to_pieces(QWK)
    assert pieces[0] == [[r"\text{loss}"], ["n", "F/G,"], ["n", r"=\,\sum\,w"]]
    assert pieces[1][1] == ["w", "((p-y)", r"-\,R", "(p-a)),"]
    assert pieces[3] == [[r"\text{hessian}"], ["w"]]
