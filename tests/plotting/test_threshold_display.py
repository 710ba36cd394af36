"""ThresholdDisplay: what is drawn, what is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Annotation

from gbdt_objectives import apply_thresholds, optimize_thresholds, quadratic_weighted_kappa
from gbdt_objectives.plotting import ThresholdDisplay
from gbdt_objectives.plotting.reliability_display import short_names
from tests.cases import refused

pytestmark = pytest.mark.slow

KINDS = ("histogram", "profile", "hull")


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    signal = rng.standard_normal(400)
    y = 3 + np.searchsorted([-1, 0, 1], signal + rng.standard_normal(400))
    return y, 4.5 + 0.5 * signal


def lines(display: ThresholdDisplay, label: str) -> list:
    return [line for line in display.ax_.get_lines() if line.get_label() == label]


def vertical(display: ThresholdDisplay) -> list[float]:
    """Positions of the vertical lines over the whole height."""
    data = [np.asarray(line.get_xdata(), float) for line in display.ax_.get_lines()]
    heights = [np.asarray(line.get_ydata(), float) for line in display.ax_.get_lines()]
    return [
        float(x[0])
        for x, h in zip(data, heights, strict=True)
        if len(x) == 2 and x[0] == x[1] and list(h) == [0, 1]
    ]


@pytest.mark.parametrize(
    ("kind", "method"), [("histogram", "plugin"), ("profile", "exact"), ("hull", "nelder-mead")]
)
def test_draws_the_thresholds_of_the_method(rows, kind, method):
    display = ThresholdDisplay.from_predictions(*rows, kind=kind, method=method)
    np.testing.assert_array_equal(display.thresholds, optimize_thresholds(*rows, method=method))
    np.testing.assert_array_equal(display.labels, [3, 4, 5, 6])
    display.figure_.canvas.draw()  # everything can be rendered


@pytest.mark.parametrize("kind", ["histogram", "profile"])
def test_vertical_lines_stand_at_the_thresholds(rows, kind):
    display = ThresholdDisplay.from_predictions(*rows, thresholds=[4.0, 4.5, 5.1], kind=kind)
    assert vertical(display) == [4.0, 4.5, 5.1]


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_thresholds_have_no_line(rows, kind):
    display = ThresholdDisplay.from_predictions(*rows, thresholds=[-np.inf, 4.5, np.inf], kind=kind)
    assert vertical(display) == ([] if kind == "hull" else [4.5])
    display.figure_.canvas.draw()


def test_histogram_holds_every_row_or_weight(rows):
    y, score = rows
    bars = ThresholdDisplay.from_predictions(y, score).ax_.patches
    assert sum(bar.get_height() for bar in bars) == pytest.approx(len(y))
    weight = np.arange(len(y)) % 3
    display = ThresholdDisplay.from_predictions(y, score, sample_weight=weight)
    assert sum(bar.get_height() for bar in display.ax_.patches) == pytest.approx(weight.sum())
    assert display.ax_.get_ylabel() == "weight"
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["6", "5", "4", "3", "threshold"]


def test_profiles_are_kappa_and_peak_at_exact_thresholds(rows):
    y, score = rows
    display = ThresholdDisplay.from_predictions(y, score, method="exact", kind="profile")
    best = quadratic_weighted_kappa(y, apply_thresholds(score, display.thresholds, [3, 4, 5, 6]))
    for k, name in enumerate(["3 | 4", "4 | 5", "5 | 6"]):
        (line,) = lines(display, name)
        at, kappa = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert kappa.max() == pytest.approx(best, abs=1e-12)
        assert at[np.argmax(kappa)] == pytest.approx(display.thresholds[k])
        moved = np.array(display.thresholds)
        moved[k] = at[len(at) // 3]
        classes = apply_thresholds(score, moved, [3, 4, 5, 6])
        assert kappa[len(at) // 3] == pytest.approx(quadratic_weighted_kappa(y, classes))


def test_hull_lies_below_the_curve_and_tangents_below_the_hull(rows):
    display = ThresholdDisplay.from_predictions(*rows, method="exact", kind="hull")
    (curve,), (hull,) = lines(display, "rows sorted by score"), lines(display, "lower convex hull")
    x, height = curve.get_data()
    ends, low = hull.get_data()
    assert height[0] == low[0] == pytest.approx(0)
    assert height[-1] == pytest.approx(0)
    assert (np.interp(x, ends, low) <= height + 1e-12).all()
    assert (np.diff(np.diff(low) / np.diff(ends)) > 0).all()
    tangents = [line for line in display.ax_.get_lines() if line.get_color() == "#D55E00"]
    assert len(tangents) == 3
    (dots,) = lines(display, "thresholds shown")
    for tangent, cut, touched in zip(tangents, *dots.get_data(), strict=True):
        at, line = tangent.get_data()
        assert np.interp(cut, at, line) == pytest.approx(touched)
        assert (line <= np.interp(at, ends, low) + 1e-12).all()


def test_other_thresholds_lie_off_the_touching_points(rows):
    display = ThresholdDisplay.from_predictions(*rows, thresholds=[3.5, 4.5, 5.5], kind="hull")
    classes = apply_thresholds(rows[1], [3.5, 4.5, 5.5], range(3, 7))
    kappa = quadratic_weighted_kappa(rows[0], classes)
    assert f"kappa {kappa:.4f}," in display.ax_.get_title()
    (dots,) = lines(display, "thresholds shown")
    np.testing.assert_allclose(dots.get_xdata(), [(rows[1] < t).mean() for t in (3.5, 4.5, 5.5)])


@pytest.mark.parametrize("kind", KINDS)
def test_words_as_labels_two_classes_ties_and_missing_classes(kind):
    score = np.repeat([0.1, 0.2, 0.3], 10)
    y = np.where(np.arange(30) % 7 < np.repeat([1, 3, 6], 10), "sick", "healthy")
    order = ["healthy", "sick", "dead"]
    for labels in (order[:2], order):
        display = ThresholdDisplay.from_predictions(
            y, score, method="exact", labels=labels, kind=kind
        )
        display.figure_.canvas.draw()


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_drawn_with_few_points(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 100_000)
    display = ThresholdDisplay.from_predictions(y, y + rng.standard_normal(len(y)), kind=kind)
    assert sum(len(line.get_xdata()) for line in display.ax_.get_lines()) < 5000


@refused(
    ({"kind": "bars"}, "kind must be one of 'histogram', 'profile', 'hull'"),
    ({"method": "best"}, "method must be one of"),
    ({"thresholds": [4.0, 3.0, 5.0]}, "thresholds must be sorted"),
    ({"thresholds": [4.0, np.nan, 5.0]}, "thresholds must not be NaN"),
    ({"thresholds": [4.0]}, "labels must be 2 classes for 1 thresholds, found 4"),
    ({"labels": [3, 4, 5]}, "not in labels"),
)  # fmt: skip
def test_bad_arguments_are_refused(rows, arguments) -> None:
    try:
        ThresholdDisplay.from_predictions(*rows, **arguments)
    finally:
        assert plt.get_fignums() == []


@pytest.mark.filterwarnings("ignore:every row gets the class")
def test_histogram_without_a_finite_threshold() -> None:
    display = ThresholdDisplay.from_predictions([0, 1, 1, 1], [0.5] * 4)
    low, high = display.ax_.get_xlim()
    assert low < 0.5 < high


WORDS = np.array([
    "no visible damage to the surface", "slight scratches only, cosmetic",
    "moderate wear, still functional", "severe damage, to be replaced",
])  # fmt: skip


def many_classes(K: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    latent = rng.normal(size=2000)
    y = np.searchsorted(np.linspace(-1.8, 1.8, K - 1), latent)
    return y, latent + 0.5 * rng.normal(size=2000)


def inside(display: ThresholdDisplay) -> bool:
    """Whether legend and names at the hull lie within the axes."""
    ax = display.ax_
    display.figure_.draw_without_rendering()  # the layout alone
    boxes = [ax.get_legend().get_window_extent()]
    boxes += [text.get_window_extent() for text in ax.texts if isinstance(text, Annotation)]
    room = ax.get_window_extent().padded(8)  # pixels: the legend's own margin
    return all(room.contains(*corner) for box in boxes for corner in box.corners())


@pytest.mark.filterwarnings("error:constrained_layout")
@pytest.mark.parametrize("kind", KINDS)
def test_long_labels_leave_the_axes_their_room(kind):
    y, score = many_classes(4)
    short = ThresholdDisplay.from_predictions(y, score, kind=kind)
    long = ThresholdDisplay.from_predictions(WORDS[y], score, labels=WORDS, kind=kind)
    assert inside(short)
    assert inside(long)
    assert long.ax_.get_position().width > 0.95 * short.ax_.get_position().width
    axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")[1]
    for ax in axes:
        ThresholdDisplay.from_predictions(WORDS[y], score, labels=WORDS, kind=kind, ax=ax)
    assert inside(long.plot(ax=axes[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_classes_some_are_named(kind):
    y, score = many_classes(16)
    display = ThresholdDisplay.from_predictions(y, score, kind=kind)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(names) <= 8
    if kind != "hull":
        first, last, title = {
            "histogram": ("15", "0", "label, 7 of 16"),
            "profile": ("0 | 1", "14 | 15", "threshold between, 7 of 15"),
        }[kind]
        assert {first, last} <= set(names)
        assert display.ax_.get_legend().get_title().get_text() == title
    annotated = [text for text in display.ax_.texts if isinstance(text, Annotation)]
    assert len(annotated) == (7 if kind == "hull" else 0)
    assert inside(display)
    assert inside(display.plot(ax=plt.subplots(2, 3, figsize=(13, 8))[1][1, 1]))


def test_short_names_differ():
    assert short_names(WORDS, 16) == [
        "no visi…surface", "slight…cosmetic", "moderat…nctional", "severe…replaced",
    ]  # fmt: skip
    assert max(map(len, short_names(WORDS, 9))) <= 9
    assert short_names(np.arange(3), 9) == ["0", "1", "2"]
    assert short_names(np.array(["$5", "$10 to $20"]), 16) == [r"\$5", r"\$10 to \$20"]
    alike = np.array(["severity grade one of them", "severity grade two of them"])
    assert short_names(alike, 9) == ["class 0", "class 1"]
