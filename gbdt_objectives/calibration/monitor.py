"""Whether probabilities are still right, looked at as often as one likes.

Symbols: y, p and r are a row's label, probability and the rate at which negatives like it were
kept; F is the probability that the label of a positive has arrived by now, F_1 by the last look at
the row, or 0, and F_s by the age at which negatives were dropped.

A row that was kept, and had no label at the last look, still has none now with the probability
C/B, B = p (F_s - F_1)+ + r (1 - p max(F_1, F_s)), and C the same with F in place of F_1. If p is
right, the likelihood ratio L has the mean 1 given the past, so a bet on it is fair.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._checks.users import warn
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import blocks
from gbdt_objectives._steps.steps import SavedAsJSON, is_finite_number, read_number
from gbdt_objectives.calibration import rows as _rows

if TYPE_CHECKING:
    from typing_extensions import Self

SIZES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6])  # of shifts in log-odds
STRETCHES = np.array([0.1, 0.2, 0.4, 0.8])  # logarithms of slopes
SHIFT = np.r_[SIZES, -SIZES, np.zeros(2 * len(STRETCHES))]
SLOPE = np.exp(np.r_[np.zeros(2 * len(SIZES)), STRETCHES, -STRETCHES])
BETS = len(SHIFT)  # one by one; saved monitors hold what each has made
MOST_LOG_ODDS = 700.0  # whose exponential is a float
MARKS, FEWEST_MARKS = 64, 32  # rows by which a look is known again, if there are so many
MOSTLY, DISTINCT = 0.75, 0.9  # shares of them there again, and of rows of different probability
FEWEST_EVENTS, RARER = 8, 20.0  # and -log of the chance that new rows have the same ones


def read_list(key: str, values: object) -> Array:
    """A list of numbers, of which infinite ones are words."""
    listed = values if isinstance(values, list) else [values]
    right = all(is_finite_number(value) or value in ("-inf", "inf") for value in listed)
    if listed is not values or not right or (key == "log_bets" and len(listed) != BETS):
        raise ValueError(f'{key} must be a list of numbers, "-inf" or "inf", found {shown(values)}')
    return np.array(values, np.float64)


@public
class CalibrationMonitor(SavedAsJSON):
    """A test of probabilities that may be looked at every day without false alarms.

    Use it where labels come day by day. If the probabilities are right, it alarms with probability
    ``level`` at most, in all looks together, however many there are::

        evidence_t = 1/(t+1) + mean over bets of M_t,   M_t = (M_(t-1) + 1/(t (t+1))) L_t

    L_t is how much more likely the labels of look t are if all log-odds are off by one shift (0.05
    to 1.6, either way) or one slope (0.45 to 2.2); each look begins new bets. Rows must be
    independent given the past, so shocks of whole days alarm (``docs/monitor.md``).

    Parameters
    ----------
    level : float in (0, 1)
        The probability of a false alarm at any look.
    negative_keep_rate : float in (0, 1], optional
        The fraction of rows with label 0 that was kept, where the others are missing here.
        Probabilities are those of the full population.

    Attributes
    ----------
    alarm, evidence : bool, float
        Whether the evidence has reached 1/level at any look, and that after the last look.
    shift, slope : float
        What moved, by what the bets have made: log-odds are to be stretched by the slope, and the
        shift added. 0 and 1 if nothing moved; they lag behind a change.
    log_evidence : ndarray of shape (looks,)
        Logarithm of the evidence after each look.

    Raises
    ------
    ValueError, TypeError
        A level or a rate outside its range.

    References
    ----------
    Ramdas, Grünwald, Vovk & Shafer (2023), "Game-theoretic statistics and safe anytime-valid
    inference", Statistical Science 38(4).

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
    (33, 0.23)
    >>> monitor
    CalibrationMonitor: evidence 290 after 34 looks, alarm
    """

    _saved: ClassVar = {
        "level": lambda key, value: _checks.confidence_level(key, read_number(key, value), 0.05),
        "negative_keep_rate": lambda key, value: (
            None if value is None else _checks.keep_rate(key, read_number(key, value))
        ),
        **dict.fromkeys(
            ("log_evidence", "log_bets", "seen_waiting", "seen_arrived", "seen_events"), read_list
        ),
    }

    def __init__(self, level: float = 0.05, negative_keep_rate: float | None = None) -> None:
        self.level = _checks.confidence_level("level", level, usual=0.05)
        self.negative_keep_rate = negative_keep_rate
        if negative_keep_rate is not None:
            self.negative_keep_rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
        self.log_evidence = self.seen_waiting = self.seen_arrived = self.seen_events = np.empty(0)
        self.log_bets = np.full(BETS, -np.inf)

    @property
    def alarm(self) -> bool:
        return bool(self.log_evidence.max(initial=0.0) >= -math.log(self.level))

    @property
    def evidence(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp([0.0, *self.log_evidence[-1:]])[-1])

    @property
    def shift(self) -> float:
        return self._mean(SHIFT)

    @property
    def slope(self) -> float:
        return math.exp(self._mean(np.log(SLOPE)))

    def _mean(self, x: Array) -> float:
        """The mean over bets, by what each has made; 0 before the first look."""
        total = max(float(np.logaddexp.reduce(self.log_bets)), -1e300)
        return float(np.exp(self.log_bets - total) @ x)

    def __repr__(self) -> str:
        looks, alarm = len(self.log_evidence), "alarm" if self.alarm else "no alarm"
        return f"CalibrationMonitor: evidence {self.evidence:.3g} after {looks} looks, {alarm}"

    def update(
        self, y_true: ArrayLike, probability: ArrayLike, *, arrived: ArrayLike | None = None,
        arrived_before: ArrayLike | None = None, arrived_at_sampling: ArrayLike | None = None,
        keep_rate: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Look at new rows, such as those of a day, and return the monitor.

        Each row counts once, at one age, or with ``arrived_before`` at several. Leave out a day
        without rows. There are no weights, as only whole rows are independent.

        Parameters
        ----------
        y_true, probability : array-like of shape (n,)
            Labels 0 and 1, and the predicted probabilities of label 1. If one is 0 and the label 1,
            or the other way round, the evidence is infinite, and a warning says so.
        arrived : array-like of shape (n,) or float, optional
            Where labels arrive late, F in [0, 1]: the probability that the label of a positive
            arrives by the age of the row now, as from ``delay_distribution`` of older rows; y_true
            is 0 until then. None: labels are final.
        arrived_before : array-like of shape (n,) or float, optional
            F at the last look at the row, which had no label then; 0 for a new row. Its label
            arrives now with probability p (F - F_1)/(1 - p F_1). None: all rows are new.
        arrived_at_sampling : array-like of shape (n,) or float, optional
            F at the age at which negatives were dropped, if some were and labels arrive late:
            ``arrived`` again if by the labels of this look, 1 if by final labels.
        keep_rate : array-like of shape (n,), optional
            Instead of ``negative_keep_rate``, the rate at which a negative like the row was kept.

        Returns
        -------
        CalibrationMonitor

        Raises
        ------
        ValueError, TypeError
            Labels other than 0 and 1, probabilities, rates or F outside their ranges, different
            lengths; F below that before; a label where F says that none could arrive; rows of the
            last look again.
        """
        rate = _rows.read_rates(self.negative_keep_rate, keep_rate, None)
        rows = _rows.label_1_rows(y_true, probability, None, rate)
        y, p, r = rows.y == 1, rows.p, np.broadcast_to(rows.rate, len(rows.y))
        if ((r < 1) == ~y).all():  # of other rows few may be 1 by chance
            _checks.rates_by_row_alone("keep_rate", r < 1, y, "negative_keep_rate")
        F, F1, Fs = read_arrivals(
            len(y), bool(r.min() < 1), arrived=arrived, arrived_before=arrived_before,
            arrived_at_sampling=arrived_at_sampling,
        )  # fmt: skip
        _rows.check_arrived(y, F)
        rule = "must not be below arrived_before, and be above it where y_true is 1"
        remedy = "pass F at the last look, and leave out rows whose label had arrived by then"
        _checks.each("arrived", F, (F > F1) | (~y & (F == F1)), rule, remedy)
        if arrived_before is None:
            self._check_new(y, p, F)
        certain = (F > F1) & np.where(y, p == 0, (p == 1) & (F == 1))
        told = (F > F1) & (p > 0) & (p < 1)
        t = len(self.log_evidence) + 1
        log_L = log_ratios(*(column[told] for column in (y, p, r, F, F1, Fs)))
        self.log_bets = np.logaddexp(self.log_bets, -math.log(t * (t + 1))) + log_L
        mean = np.logaddexp.reduce(self.log_bets) - math.log(BETS)
        evidence = np.logaddexp(mean, -math.log(t + 1))
        is_infinite = certain.any() or np.inf in self.log_evidence
        self.log_evidence = np.append(self.log_evidence, np.inf if is_infinite else evidence)
        self.seen_waiting, self.seen_arrived, self.seen_events = marks_of(y, p, F)
        if certain.any():
            k = int(np.argmax(certain))
            warn(
                f"probability is {p[k]:g} at row {k}, where y_true is {rows.y[k]:g}: infinite "
                "evidence. If it was only rounded, begin a new monitor with all digits"
            )
        return self

    def _check_new(self, y: Array, p: Array, F: Array) -> None:
        """Raise if most events of the last look are there, or most other rows, at a higher age."""
        older = np.array([F[p == x].max(initial=0.0) for x in self.seen_waiting])
        same = np.isin(self.seen_events, p[y])
        chance = -float(np.log(self.seen_events[same]).sum())
        again = same.sum() >= FEWEST_EVENTS and same.mean() >= MOSTLY and chance >= RARER
        if again or (len(older) >= FEWEST_MARKS and np.mean(older > self.seen_arrived) >= MOSTLY):
            raise ValueError(
                "the rows are those of the last look, known by their probabilities: pass new ones, "
                "as each counts once. Where labels arrive late, rows without one so far may be "
                "passed again with arrived_before=, F at the last look and 0 for new rows"
            )


def read_arrivals(n: int, sampled: bool, **given: Any) -> list[Array]:
    """F, F_1 and F_s of each row."""
    late = given["arrived"] is not None
    columns = []
    for (name, values), usual in zip(given.items(), (1.0, 0.0, 1.0), strict=True):
        if values is not None and not late:
            raise ValueError(f"{name} is given without arrived: pass arrived=F(age), too")
        if not callable(values) and np.ndim(values) == 0:
            values = np.full(n, usual if values is None else _checks.number(name, values))
        columns.append(_rows.read_arrived(name, values))
        _checks.same_length(name, columns[-1], "the labels", n)
    F, F1, _ = columns
    if sampled and given["arrived_at_sampling"] is None and ((F < 1) | (F1 > 0)).any():
        raise ValueError(
            "arrived_at_sampling is missing: pass arrived again if negatives were dropped by the "
            "labels of this look, 1 if by final labels, else F at the age at which they were"
        )
    return columns


def log_ratios(y: Array, p: Array, r: Array, F: Array, F1: Array, Fs: Array) -> Array:
    """log L of each bet, (BETS,), of rows with 0 < p < 1 and F > F_1."""
    before, now = (np.maximum(Fs - f, 0) + r * (1 - np.maximum(f, Fs)) for f in (F1, F))
    z = np.clip(logit(p), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    odds = np.exp(z)
    waits = odds * before + r  # B, which is divided by 1 - p as C is
    varies = (odds * now + r) / waits * (odds * (before - now) / waits)  # C/B (1 - C/B)
    centre = float(varies @ z) / (float(varies.sum()) or 1.0)
    found = np.zeros(BETS)
    for at in blocks(z, 1 << 16):  # of which each bet makes a copy
        bets = centre + np.outer(np.r_[1.0, SLOPE], z[at] - centre) + np.r_[0.0, SHIFT][:, None]
        odds = np.exp(np.clip(bets, -MOST_LOG_ODDS, MOST_LOG_ODDS))
        chance = np.where(y[at], odds, odds * now[at] + r[at]) / (odds * before[at] + r[at])
        log_chance = np.log(chance)
        found += (log_chance[1:] - log_chance[0]).sum(axis=1)
    return found


def marks_of(y: Array, p: Array, F: Array) -> tuple[Array, Array, Array]:
    """Rows by which this look is known again: p and F of some without a label so far, and p of the
    rarest events."""
    values, first, number = np.unique(p, return_index=True, return_counts=True)
    alone = first[(number == 1) & (values > 0)]  # in the order of p
    alone = alone if len(alone) >= DISTINCT * len(p) else alone[:0]
    waiting = alone[~y[alone] & (F[alone] < 1)]
    waiting = waiting[:: len(waiting) // MARKS + 1]
    return p[waiting], F[waiting], p[alone[y[alone]][:MARKS]]
