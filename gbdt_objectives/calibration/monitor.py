"""Whether probabilities are still right, looked at as often as one likes.

Symbols: y, p and r are a row's label, probability and the rate at which negatives like it were
kept. F is the probability that the label of a positive has arrived by the age of this look, F_1 by
that of the last look at the row, or 0, and F_s by the age at which negatives were dropped.

Given that the row was kept, and had no label at the last look, its label has not arrived before
this look with a probability that is proportional to B = p (F_s - F_1)+ + r (1 - p max(F_1, F_s)),
and after it to C, the same with F for F_1. So y = 1 has the probability 1 - C/B. If p is wrong by a
shift and a slope of log-odds, so is this; L is how much more likely labels then are. Right
probabilities give L the mean 1, given all that was known before: a bet on it is fair. M_t is
what is made by time t of bets that begin at each of the looks k with the stakes
w_k = 1/((k+1)(k+2)), so M_t = (M_(t-1) + w_(t-1)) L_t, and 1/(t+1) has not been staked yet.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, logsumexp

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._checks.users import warn
from gbdt_objectives._public import public
from gbdt_objectives._steps.steps import SavedAsJSON, is_finite_number, read_number, read_numbers
from gbdt_objectives.calibration import rows as _rows

if TYPE_CHECKING:
    from typing_extensions import Self

SIZES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6])  # of shifts in log-odds
STRETCHES = np.array([0.1, 0.2, 0.4, 0.8])  # logarithms of slopes
SHIFT = np.r_[SIZES, -SIZES, np.zeros(2 * len(STRETCHES))]
SLOPE = np.exp(np.r_[np.zeros(2 * len(SIZES)), STRETCHES, -STRETCHES])
"""The alternatives that are bet on, one by one; they are part of the format of the JSON."""
BETS = len(SHIFT)
MOST_LOG_ODDS = 700.0  # whose exponential is a float
MARKS = 64  # rows of a look by which the next one is known to hold them again
MOSTLY = 0.75  # the share of these that must be there again
DISTINCT = 0.9  # the share of rows whose probability no other row has, to know them by it
FEWEST_MARKS, RARER = 32, 20.0  # rows without a label; -log of the chance of the same events


@public
class CalibrationMonitor(SavedAsJSON):
    """A test of probabilities that may be looked at every day, without false alarms.

    Use it for labels that come day by day. A p-value below 0.05 is a false alarm once in twenty
    looks; of this test's alarms, over all looks together and for ever, the probability is at most
    ``level``, if the probabilities are right.

    ::

        evidence_t = 1/(t+1) + mean over bets of M_t,     M_t = (M_(t-1) + 1/(t (t+1))) L_t

    L_t is how much more likely the labels of look t are if the log-odds of all probabilities are
    off by one shift (0.05 to 1.6, either way), or by one slope (0.45 to 2.2). Bets begin at each
    look, so that a change is found after months without one. The evidence is of mean 1 at most
    for right probabilities, and the alarm begins where it reaches 1/level (Ville's inequality).

    Rows must be independent given their probabilities: a shock of a whole day, such as an outage,
    is an alarm. Shifts below 0.025 are never found. ``docs/probabilities.md`` says more.

    Parameters
    ----------
    level : float in (0, 1)
        The probability of a false alarm, over all looks together.
    negative_keep_rate : float in (0, 1], optional
        The fraction of rows with label 0 that was kept, where the others are missing from what is
        looked at; probabilities are those of all rows.

    Attributes
    ----------
    alarm : bool
        Whether the evidence has reached 1/level at any look.
    evidence : float
        The evidence after the last look, 1 before the first.
    shift, slope : float
        What moved, by the bets that earned most: events are more frequent than predicted by this
        shift of the log-odds, and log-odds are to be stretched by this slope, to be right. Near 0
        and 1 without evidence, and nearer to these than an estimate.
    log_evidence : ndarray of shape (looks,)
        Logarithm of the evidence after each look.

    Raises
    ------
    ValueError, TypeError
        A level or a rate outside its range.

    References
    ----------
    Ville (1939), Étude critique de la notion de collectif; Ramdas, Grünwald, Vovk & Shafer (2023),
    "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38(4).

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import CalibrationMonitor
    >>> rng, monitor = np.random.default_rng(0), CalibrationMonitor(level=0.05)
    >>> for day in range(40):
    ...     p = rng.beta(1, 19, 2_000)
    ...     drifted = p if day < 30 else p / (p + (1 - p) * np.exp(-0.25))
    ...     if monitor.update(rng.random(2_000) < drifted, p).alarm:
    ...         break
    >>> day, round(monitor.shift, 2)
    (35, 0.22)
    >>> CalibrationMonitor.from_json(monitor.to_json())
    CalibrationMonitor: evidence 36.1 after 36 looks, alarm
    """

    def __init__(self, level: float = 0.05, negative_keep_rate: float | None = None) -> None:
        self.level = _checks.confidence_level("level", level, usual=0.05)
        self.negative_keep_rate = negative_keep_rate
        if negative_keep_rate is not None:
            self.negative_keep_rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
        self.log_evidence = np.empty(0)
        self.log_bets = np.full(BETS, -np.inf)
        self.marks = dict.fromkeys(MARKED, np.empty(0))

    @property
    def alarm(self) -> bool:
        return bool(self.log_evidence.max(initial=0.0) >= -math.log(self.level))

    @property
    def evidence(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_evidence[-1])) if len(self.log_evidence) else 1.0

    @property
    def shift(self) -> float:
        return float(self._shares() @ SHIFT)

    @property
    def slope(self) -> float:
        return math.exp(float(self._shares() @ np.log(SLOPE)))

    def _shares(self) -> Array:
        """The share of each bet in what all have made."""
        if not len(self.log_evidence):
            return np.zeros(BETS)
        return np.asarray(np.exp(self.log_bets - logsumexp(self.log_bets)))

    def __repr__(self) -> str:
        looks, alarm = len(self.log_evidence), "alarm" if self.alarm else "no alarm"
        return f"CalibrationMonitor: evidence {self.evidence:.3g} after {looks} looks, {alarm}"

    def update(
        self, y_true: ArrayLike, probability: ArrayLike, *, arrived: ArrayLike | None = None,
        arrived_before: ArrayLike | None = None, arrived_at_sampling: ArrayLike | None = None,
        keep_rate: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Look at new rows, such as those of one day, and return the monitor.

        Each row counts once: at one age, or at several with ``arrived_before``. A day without rows
        is left out. A monitor is as before the call if the call raises an error.

        Parameters
        ----------
        y_true, probability : array-like of shape (n,)
            Labels 0 and 1, and the probabilities of label 1 that were predicted. A probability of
            0 where the label is 1, or of 1 where it is 0, is infinite evidence, and warned of.
        arrived : array-like of shape (n,), optional
            Where labels arrive late, F in [0, 1]: the probability that the label of a positive
            arrives by the age that the row has now, such as ``delay_distribution(...)(age)``. A row
            whose label has not arrived has the label 0. None: labels are final. F must be known: it
            may come from older rows, not from these.
        arrived_before : array-like of shape (n,) or float, optional
            F at the last look at the row, which had no label then, and 0 for a new row. Then the
            label arrives now with probability p (F - F_1)/(1 - p F_1). None: all rows are new.
        arrived_at_sampling : array-like of shape (n,) or float, optional
            Where negatives were dropped and labels arrive late, F at the age of the row at which
            they were: ``arrived`` again if by the label of this look, 1 if by the final label.
        keep_rate : array-like of shape (n,), optional
            In place of ``negative_keep_rate``: the rate at which a negative like the row was kept.

        Returns
        -------
        CalibrationMonitor

        Raises
        ------
        ValueError, TypeError
            Labels other than 0 and 1, probabilities, rates or F outside their ranges, different
            lengths; F below that before; a label that has arrived where F says that none could;
            rows that the last look held, too; weights, as a row of another weight is no row.
        """
        rate = _rows.read_rates(self.negative_keep_rate, keep_rate, None)
        rows = _rows.label_1_rows(y_true, probability, None, rate)
        y, p, n = rows.y == 1, rows.p, len(rows.y)
        r = np.broadcast_to(rows.rate, n)
        F, F1, Fs = read_arrivals(
            n, arrived, arrived_before, arrived_at_sampling, bool(r.min() < 1)
        )
        check_arrivals(y, F, F1)
        if arrived_before is None:
            self._check_new(y, p, F)
        certain = (F > F1) & np.where(y, p == 0, (p == 1) & (F == 1))
        told = (F > F1) & (p > 0) & (p < 1)
        log_L = log_ratios(y[told], p[told], r[told], F[told], F1[told], Fs[told])
        t = len(self.log_evidence) + 1
        bets = np.logaddexp(self.log_bets, -math.log(t * (t + 1))) + log_L
        now = float(np.logaddexp(logsumexp(bets) - math.log(BETS), -math.log(t + 1)))
        if certain.any() or self.log_evidence.max(initial=0.0) == np.inf:
            now = np.inf
        self.log_bets, self.log_evidence = bets, np.append(self.log_evidence, now)
        self.marks = marks_of(y, p, F)
        if certain.any():
            k = int(np.argmax(certain))
            warn(
                f"probability is {p[k]:g} at row {k}, where y_true is {rows.y[k]:g}: right "
                "probabilities make that impossible, so the evidence is infinite. If 0 and 1 are "
                "only rounded, start a new monitor with probabilities of all digits"
            )
        return self

    def _check_new(self, y: Array, p: Array, F: Array) -> None:
        """Raise for rows of the last look: most of its events, or of its rows without a label, now
        at a higher age."""
        waiting, before, events = self.marks.values()
        older = np.array([F[p == x].max(initial=0.0) for x in waiting]) > before
        same = np.isin(events, p[y])
        chance = -float(np.log(events[same]).sum())
        again = len(older) >= FEWEST_MARKS and older.mean() >= MOSTLY
        if again or (chance >= RARER and same.mean() >= MOSTLY):
            raise ValueError(
                "the rows are those of the last look, or most of them, found by their "
                "probabilities: each row counts once, so pass new rows only. Where labels arrive "
                "late, pass arrived_before=, F at the last look and 0 for new rows, and leave out "
                "rows whose label had arrived by then"
            )

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Self:
        monitor = cls(data["level"], data["negative_keep_rate"])
        monitor.log_evidence, monitor.log_bets = data["log_evidence"], data["log_bets"]
        monitor.marks = {key: data[key] for key in MARKED}
        return monitor

    def _values(self) -> list[Any]:
        own = self.level, self.negative_keep_rate, self.log_evidence, self.log_bets
        return [*own, *self.marks.values()]


def read_logs(key: str, values: object) -> Array:
    """A list of logarithms, of which infinite ones are words."""
    for value in values if isinstance(values, list) else [values]:
        if not is_finite_number(value) and value not in ("-inf", "inf"):
            raise ValueError(f'{key} must hold numbers, "-inf" or "inf", found {shown(value)}')
    found = np.array(values, np.float64)
    if found.ndim != 1 or (key == "log_bets" and len(found) != BETS):
        raise ValueError(f"{key} must be a list, log_bets of {BETS}, found {shown(values)}")
    return found


def read_marks(key: str, values: object) -> Array:
    return np.empty(0) if values == [] else read_numbers(key, values)


def read_rate(key: str, value: object) -> float | None:
    return None if value is None else _checks.keep_rate(key, read_number(key, value))


MARKED = ("waiting", "waiting_arrived", "events")
CalibrationMonitor._saved = {
    "level": read_number, "negative_keep_rate": read_rate, "log_evidence": read_logs,
    "log_bets": read_logs, **dict.fromkeys(MARKED, read_marks),
}  # fmt: skip


def read_arrivals(
    n: int, arrived: Any, before: Any, at_sampling: Any, sampled: bool
) -> tuple[Array, Array, Array]:
    """F, F_1 and F_s of each row."""
    given = {"arrived_before": before, "arrived_at_sampling": at_sampling}
    if arrived is None:
        for name, values in given.items():
            if values is not None:
                raise ValueError(f"{name} is given without arrived: pass arrived=F(age) as well")
        return np.ones(n), np.zeros(n), np.ones(n)
    F = _rows.read_arrived("arrived", arrived)
    _checks.same_length("arrived", F, "the labels", n)
    if sampled and at_sampling is None and (F < 1).any():
        raise ValueError(
            "arrived_at_sampling is missing, for labels that arrive late among rows whose "
            "negatives were dropped: pass arrived again if they were dropped by the label of this "
            "look, 1 if by the final label, and else F at the age at which they were"
        )
    others = []
    for (name, values), usual in zip(given.items(), (0.0, 1.0), strict=True):
        if np.ndim(values) == 0:
            values = np.full(n, usual if values is None else _checks.number(name, values))
        others.append(_rows.read_arrived(name, values))
        _checks.same_length(name, others[-1], "the labels", n)
    return F, others[0], others[1]


def check_arrivals(y: Array, F: Array, F1: Array) -> None:
    """Raise for ages that fall, and for labels where none could arrive."""
    _checks.each(
        "arrived", F, F >= F1, "must not be below arrived_before",
        "F at the age of this look comes first, that at the last look second",
    )  # fmt: skip
    _rows.check_arrived(y, F)
    _checks.each(
        "arrived", F, (F > F1) | ~y, "must be above arrived_before where y_true is 1",
        "a label that had arrived at the last look is not looked at again; leave the row out",
    )  # fmt: skip


def log_ratios(y: Array, p: Array, r: Array, F: Array, F1: Array, Fs: Array) -> Array:
    """log L of each bet, (BETS,), of rows with 0 < p < 1 and F > F_1."""
    if not len(y):
        return np.zeros(BETS)

    def left(p: Array, q: Array, F: Array) -> Array:
        """B of F_1, C of F; q = 1 - p."""
        latest = np.maximum(F, Fs)
        return np.asarray(p * np.maximum(Fs - F, 0) + r * (q + p * (1 - latest)))

    def log_chance(z: Array) -> Array:
        """Of the labels, up to a factor that does not depend on z."""
        p, q = expit(z), expit(-z)
        return np.asarray(np.log(np.where(y, p, left(p, q, F)) / left(p, q, F1)))

    z = np.asarray(logit(p))
    stays = left(p, 1 - p, F) / left(p, 1 - p, F1)
    varies = np.maximum(stays * (1 - stays), 0)
    centre = float(varies @ z / varies.sum()) if varies.sum() > 0 else float(z.mean())
    own, found = log_chance(z), np.empty(BETS)
    for k, (shift, slope) in enumerate(zip(SHIFT, SLOPE, strict=True)):
        bet = np.clip(centre + slope * (z - centre) + shift, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        found[k] = float((log_chance(bet) - own).sum())
    return found


def marks_of(y: Array, p: Array, F: Array) -> dict[str, Array]:
    """Rows by which this look is known again: without a label so far, and the rarest events."""
    none = dict.fromkeys(MARKED, np.empty(0))
    values, first, number = np.unique(p, return_index=True, return_counts=True)
    alone = first[(number == 1) & (values > 0)]  # in the order of p
    if len(alone) < DISTINCT * len(p):
        return none
    waiting = alone[~y[alone] & (F[alone] < 1)]
    waiting = waiting[
        np.unique(np.linspace(0, len(waiting) - 1, MARKS).astype(int))[: len(waiting)]
    ]
    events = alone[y[alone]][:MARKS]
    return dict(zip(MARKED, (p[waiting], F[waiting], p[events]), strict=True))
