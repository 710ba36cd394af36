"""Link: what a margin, the sum of a booster's trees, means, and how each library says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbdt_objectives._public import public
from gbdt_objectives._steps import formulas

Array = NDArray[Any]
Transform = Callable[[Array], Array]


def _same(margin: Array) -> Array:
    return margin


_sigmoid, _log_odds = (partial(formulas.apply, formula=name) for name in ("sigmoid", "log_odds"))


@public
@dataclass(frozen=True, eq=False, repr=False)
class Link:
    """What a margin means: models predict ``inverse(margin)``.

    Functions and metrics name theirs by a word, such as ``objective(function, link="log")``, a
    Loss by a value of ``gbdt_objectives.objectives``, which ``objective`` takes too:

    ==============  ==============================  ==================  ========================
    word            value                           inverse(f)          the margin f is
    ==============  ==============================  ==================  ========================
    "identity"      IDENTITY                        f                   a score in label units
    "log"           LOG                             exp(f)              the log of a mean above 0
    "logit"         LOGIT                           1 / (1 + exp(-f))   the log-odds of label 1
    "softmax"       Link.softmax(n_classes)         softmax of (n, K)   one of K logits of a row
    (no word)       Link.score(reader, n_classes)   f                   what only reader reads
    "undeclared"    UNDECLARED                      f                   in a unit of its own
    ==============  ==============================  ==================  ========================

    Attributes
    ----------
    name : str
        As in the table.
    margins, inverse, forward : str, callable
        What margins are, in words. From margins to predictions, and back.
    n_classes : int or None
        How many classes have a probability; None if predictions are numbers.
    """

    name: str
    margins: str
    inverse: Transform = _same
    forward: Transform = _same
    n_classes: int | None = None
    reader: Transform | None = None
    """For "score": the loss's own function from margins to the probability of each class."""
    xgboost: str = "reg:squarederror"
    """The XGBoost objective whose models predict by this link; its gradient is not used."""
    lightgbm: str = "regression"
    """The LightGBM objective whose models predict by this link, as a model's text names it."""
    refits: str = "regression"
    """The LightGBM objective to refit the model on, "none" where that would be another loss."""
    metric: str = "pass a metric of its margins"
    """Advice for a message: a metric that fits."""
    lowest: float = -np.inf
    """Predictions are above it, and below ``highest``."""
    highest: float = np.inf

    @staticmethod
    def softmax(n_classes: int | None) -> Link:
        """The link of ``n_classes`` logits in a row; of any number if None."""
        name = "multiclass" if n_classes is None else f"multiclass num_class:{n_classes}"
        return dataclasses.replace(SOFTMAX, n_classes=n_classes, lightgbm=name)

    @staticmethod
    def score(reader: Transform, n_classes: int | None) -> Link:
        """The link of margins that only ``reader`` turns into probabilities, (n, n_classes)."""
        return Link(
            "score", "scores that only its class_probability turns into probabilities",
            n_classes=n_classes, reader=reader, refits="none", metric="pass loss_metric(objective)",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Link({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):  # objective.link == "logit"
            return self.name == other
        return isinstance(other, Link) and (self.name, self.n_classes, self.reader) == (
            other.name, other.n_classes, other.reader
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_declared(self) -> bool:
        """Whether anybody but the author of a function knows what a margin is."""
        return self.name != "undeclared"

    @property
    def is_of_objective(self) -> bool:
        """Whether only the objective itself can read a margin."""
        return self.name == "score"

    @property
    def is_read_by_objective(self) -> bool:
        """Whether classifiers ask it for probabilities: libraries lack classes without rows."""
        return self.is_of_objective or self.takes_several

    @property
    def is_label_unit(self) -> bool:
        return self.name in ("identity", "undeclared")

    @property
    def takes_several(self) -> bool:
        return self.name == "softmax"

    @property
    def is_transformed(self) -> bool:
        """Whether libraries turn the margin into another number when they predict."""
        return self.xgboost != IDENTITY.xgboost

    def reads(self, other: Link) -> bool:
        """Whether what is made for margins of this link is right for those of the other."""
        return not self.is_declared or not other.is_declared or self.name == other.name

    def class_probability(self, margin: Array) -> Array:
        """The probability of each class, (n, n_classes), at finite margins (n,) or (n, K)."""
        if self.n_classes is None:
            raise TypeError(f"{self.margins} have no classes: a margin here is a prediction")
        if self.reader is not None:
            return self.reader(margin)
        if margin.ndim == 1 and self.name == "logit":
            return np.column_stack([_sigmoid(-margin), _sigmoid(margin)])
        return self.inverse(margin)


IDENTITY = Link(
    "identity", "scores in label units",
    metric="pass extended_qwk_metric() or squared_error_metric()",
)  # fmt: skip
LOG = Link(
    "log", "logs of a positive mean", np.exp, np.log,
    xgboost="count:poisson", lightgbm="poisson", refits="poisson",
    metric="pass loss_metric(objective)", lowest=0.0,
)  # fmt: skip
LOGIT = Link(
    "logit", "log-odds of label 1", _sigmoid, _log_odds, n_classes=2,
    xgboost="binary:logistic", lightgbm="binary sigmoid:1", refits="binary",
    metric="pass weighted_logloss_metric(rate), of rate 1 if no negatives were dropped",
    lowest=0.0, highest=1.0,
)  # fmt: skip
UNDECLARED = Link("undeclared", "margins of a function whose link is not declared")
SOFTMAX = Link(
    "softmax", "margins of a softmax", formulas.softmax, xgboost="multi:softprob",
    lightgbm="multiclass", refits="multiclass", metric="pass class_logloss_metric()",
    lowest=0.0, highest=1.0,
)  # fmt: skip

OPAQUE = Link("opaque", "margins of an objective that this package does not know")
"""The link of what models of all other built-in objectives predict."""
CHANGED = Link("changed", "margins to turn into classes, or leaves to refit", xgboost="")
"""The link of models of which a library's objective makes something else, whatever they train."""

BY_NAME = {link.name: link for link in (IDENTITY, LOG, LOGIT, SOFTMAX, UNDECLARED)}


def read_link(name: str, value: object, n_classes: int | None = None) -> Link:
    if isinstance(value, Link):
        return value
    if not isinstance(value, str) or value not in BY_NAME:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, BY_NAME))}, or a Link, such as "
            f"Link.score(reader, n_classes), found {value!r}: it says what a margin is, and so "
            "what models predict"
        )
    found = BY_NAME[value]
    return Link.softmax(n_classes) if found is SOFTMAX and n_classes is not None else found
