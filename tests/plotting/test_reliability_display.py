"""ReliabilityDisplay: bins, limits, what is drawn, what is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.isotonic import IsotonicRegression

from gbdt_objectives import correct_probability
from gbdt_objectives.calibration import calibration_ratio, reliability_bins
from gbdt_objectives.calibration.reliability import ReliabilityCurve
from gbdt_objectives.plotting import ReliabilityDisplay
from gbdt_objectives.plotting.reliability_display import STYLES
from tests.cases import refused

pytestmark = pytest.mark.slow

STRATEGIES = ("quantile", "uniform", "events", "isotonic")
SCALES = ("linear", "log")


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.beta(0.8, 3, 3000)
    return (rng.random(3000) < p).astype(int), p


def line(display: ReliabilityDisplay, label: str):
    (found,) = (line for line in display.ax_.get_lines() if line.get_label() == label)
    return found


def counted(display: ReliabilityDisplay) -> list[float]:
    return [patch.get_data().values.sum() for patch in display.counts_ax_.patches]


def legend(display: ReliabilityDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def assert_same(a, b) -> None:
    for name in ("weight", "probability", "frequency"):
        # the same sums in another order
        np.testing.assert_allclose(getattr(a.bins, name), getattr(b.bins, name), rtol=1e-12)
    np.testing.assert_allclose(a.ratio, b.ratio, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "events"])
def test_points_are_reliability_bins(rows, strategy) -> None:
    display = ReliabilityDisplay.from_predictions(*rows, n_bins=8, strategy=strategy)
    expected = reliability_bins(*rows, n_bins=8, strategy=strategy)
    ratio = calibration_ratio(*rows)
    x, y = line(display, f"predictions: {ratio:.3g}").get_data()
    np.testing.assert_array_equal(x, expected.probability)
    np.testing.assert_array_equal(y, expected.frequency)


def test_event_bins_by_hand() -> None:
    y, p = [0, 0, 0, 1, 0, 1], [0.1, 0.1, 0.1, 0.1, 0.4, 0.8]
    found = ReliabilityCurve._of(y, p, 2, "events", 0.95, None).bins
    # sums .4, .4, .8 have their middles at .2, .6, 1.2 of 1.6
    np.testing.assert_allclose(found.weight, [5, 1])
    np.testing.assert_allclose(found.probability, [0.16, 0.8], rtol=1e-15)
    np.testing.assert_allclose(found.frequency, [0.2, 1], rtol=1e-15)
    # sums .1, .4, .5: by their middles .05, .3, .75 of 1, by their ends .1, .5, 1
    found = ReliabilityCurve._of([0, 1, 0], [0.1, 0.4, 0.5], 2, "events", 0.95, None).bins
    assert found.weight.tolist() == [2, 1]
    zeros = ReliabilityCurve._of(y, np.zeros(6), 3, "events", 0.95, None).bins
    assert zeros.weight.tolist() == [6]
    assert zeros.frequency.tolist() == [2 / 6]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_weight_is_repetition_but_for_the_limits(rows, strategy) -> None:
    y, p = rows
    w = np.arange(len(y)) % 3
    weighted = ReliabilityCurve._of(y, p, 8, strategy, 0.95, w)
    assert_same(
        weighted, ReliabilityCurve._of(np.repeat(y, w), np.repeat(p, w), 8, strategy, 0.95, None)
    )


def test_limits_leave_half_the_rest_of_jeffreys_posterior_on_each_side() -> None:
    y, p = np.repeat([0, 1, 0, 1, 0, 1], [9, 0, 5, 4, 0, 6]), np.repeat([0.1, 0.5, 0.9], [9, 9, 6])
    found = ReliabilityCurve._of(y, p, 3, "uniform", 0.9, None)
    assert (found.low[0], found.high[2]) == (0, 1)
    for n1, n0, at, share in (
        (0, 9, found.high[0], 0.95),
        (4, 5, found.low[1], 0.05),
        (4, 5, found.high[1], 0.95),
        (6, 0, found.low[2], 0.05),
    ):
        # t = sin^2 u takes the poles from the density
        below, whole = (
            quad(lambda u, a=n1, b=n0: np.sin(u) ** (2 * a) * np.cos(u) ** (2 * b), 0, end)[0]
            for end in (np.arcsin(np.sqrt(at)), np.pi / 2)
        )
        assert below / whole == pytest.approx(share, rel=1e-8)  # quad's own tolerance


def test_limits_count_rows_not_copies(rows) -> None:
    y, p = rows
    plain = ReliabilityCurve._of(y, p, 8, "quantile", 0.95, None)
    same = ReliabilityCurve._of(y, p, 8, "quantile", 0.95, np.full(len(y), 7.0))
    # the same but for sums of 7.0
    np.testing.assert_allclose(same.low, plain.low, rtol=1e-12)
    np.testing.assert_allclose(same.high, plain.high, rtol=1e-12)


def test_limits_of_thinned_negatives_weighted_back_are_those_of_the_sample_corrected(rows) -> None:
    y, p = rows
    sample = ReliabilityCurve._of(y, p, 8, "uniform", 0.95, None)
    weighted = ReliabilityCurve._of(y, p, 8, "uniform", 0.95, np.where(y == 1, 1.0, 50.0))
    for name in ("low", "high"):
        expected = correct_probability(getattr(sample, name), shift=np.log(1 / 50))
        np.testing.assert_allclose(getattr(weighted, name), expected, rtol=1e-9)


def test_limits_cover() -> None:
    """Of 1000 samples with random weights, about 95 % have the true share within."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        y = rng.random(300) < 0.1
        found = ReliabilityCurve._of(
            y, np.full(300, 0.1), 1, "quantile", 0.95, rng.uniform(1, 5, 300)
        )
        hits += bool(found.low[0] <= 0.1 <= found.high[0])
    assert 930 <= hits <= 970  # 3 standard deviations, and the interval is approximate


def test_limits_cover_where_rows_of_a_user_belong_together() -> None:
    rng, covered, bins = np.random.default_rng(0), np.zeros(2), 0
    for _ in range(60):
        p = np.repeat(np.clip(rng.beta(2, 8, (300, 1)), 0, 0.9), 10, axis=1)
        hazard = ((1 - p) ** -2 - 1) / 2  # 1 - E exp(-b hazard) = p for b of gamma(.5) and mean 1
        y = rng.random(p.shape) < 1 - np.exp(-rng.gamma(0.5, 2, (300, 1)) * hazard)
        y, p, user = y.ravel(), p.ravel(), np.repeat(np.arange(300), 10)
        for k, groups in enumerate((None, user)):
            curve = ReliabilityCurve._of(y, p, 5, "quantile", 0.95, None, groups)
            mean = curve.bins.probability
            covered[k] += ((curve.low <= mean) & (mean <= curve.high)).sum()
        bins += len(mean)
    alone, together = covered / bins
    assert alone < 0.8
    assert abs(together - 0.95) < 0.045  # binomial error .0126 of 300 bins, of 60 users each


def test_groups_of_single_rows_are_no_groups(rows) -> None:
    y, p = rows
    w = np.random.default_rng(0).exponential(size=len(y))
    own = np.random.default_rng(0).permutation(len(y))
    alone, found = (
        ReliabilityCurve._of(y, p, 5, "quantile", 0.95, w, groups) for groups in (None, own)
    )
    np.testing.assert_allclose(found.low, alone.low, rtol=1e-9)
    np.testing.assert_allclose(found.high, alone.high, rtol=1e-9)
    with pytest.raises(ValueError, match="groups has 2 rows, but the labels have"):
        ReliabilityDisplay.from_predictions(y, p, groups=[0, 1])
    with pytest.raises(ValueError, match="groups is given, but the band of strategy='isotonic'"):
        ReliabilityDisplay.from_predictions(y, p, groups=own, strategy="isotonic")


def test_several_models(rows) -> None:
    y, p = rows
    models = {"a": p, "b": p**2, "c": np.sqrt(p)}
    display = ReliabilityDisplay.from_predictions(y, models)
    names = [f"{name}: {calibration_ratio(y, q):.3g}" for name, q in models.items()]
    assert legend(display) == [*names, "predicted = observed"]
    drawn = [line(display, name) for name in names]
    assert len({(found.get_color(), found.get_marker()) for found in drawn}) == 3
    assert counted(display) == [3000] * 3
    for name, q in models.items():
        alone = ReliabilityDisplay.from_predictions(y, q).curves["predictions"]
        assert_same(display.curves[name], alone)


@pytest.mark.parametrize("scale", SCALES)
def test_counts_hold_every_row_or_weight(rows, scale) -> None:
    y, p = rows
    display = ReliabilityDisplay.from_predictions(y, p, scale=scale)
    assert counted(display) == [3000]
    assert display.counts_ax_.get_ylabel() == "rows"
    w = np.arange(3000) % 3
    display = ReliabilityDisplay.from_predictions(y, p, scale=scale, sample_weight=w)
    assert counted(display) == [w.sum()]
    assert display.counts_ax_.get_ylabel() == "weight"


def test_zeros_stand_on_the_edges_of_logarithmic_axes() -> None:
    p = np.repeat([0.0, 0.01, 0.1], 100)
    y = np.zeros(300, int)
    y[[0, 250, 251]] = 1
    display = ReliabilityDisplay.from_predictions(y, p, scale="log")
    edge = display.ax_.get_xlim()[0]
    assert edge == display.ax_.get_ylim()[0] == 0.005
    assert legend(display)[2:] == ["no label 1 observed", "predicted 0"]
    marked = [a for a in display.ax_.get_lines() if a.get_mfc() == "none" and len(a.get_xdata())]
    at = {a.get_marker(): [a.get_xdata().item(), a.get_ydata().item()] for a in marked}
    assert at["v"] == pytest.approx([0.01, edge])
    assert at["<"] == pytest.approx([edge, 0.01])
    (bars,) = display.ax_.collections
    curve = display.curves["predictions"]
    for segment, x, low, high in zip(
        bars.get_segments(), [edge, 0.01, 0.1], curve.low, curve.high, strict=True
    ):
        np.testing.assert_allclose(segment, [[x, max(low, edge)], [x, high]])
    on_line = ReliabilityDisplay.from_predictions(y, p, scale="linear").ax_.get_lines()[0]
    np.testing.assert_array_equal(on_line.get_ydata(), [0.01, 0, 0.02])


# one of the cases is certain
@pytest.mark.filterwarnings("ignore:probability is 0 or 1 in every row")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("strategy", ["quantile", "isotonic"])
@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_can_be_drawn(rows, strategy, scale) -> None:
    y, p = rows
    every = (p, {"a": p, "b": np.round(p, 1)}, np.full(3000, 0.2), np.zeros(3000), 1.0 * y)
    half = (strategy == "isotonic") + (scale == "log")  # each pair of two is drawn
    for k, models in enumerate(every[half % 2 :: 2]):
        display = ReliabilityDisplay.from_predictions(y, models, strategy=strategy, scale=scale)
        # all artists are drawn, those of the first with pixels
        draw = display.figure_.draw_without_rendering if k else display.figure_.canvas.draw
        draw()
        upper, lower = display.ax_.get_position(), display.counts_ax_.get_position()
        assert upper.height > 0.5  # of the figure
        assert lower.height == pytest.approx(upper.height / 4)
        assert lower.y1 < upper.y0
        assert (lower.x0, lower.x1) == pytest.approx((upper.x0, upper.x1))


def test_many_rows_are_drawn_with_few_points() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200_000)
    display = ReliabilityDisplay.from_predictions(rng.random(200_000) < p, p)
    assert sum(len(line.get_xdata()) for line in display.ax_.get_lines()) < 50


def test_the_smallest_of_numbers(rows) -> None:
    y, _ = rows
    display = ReliabilityDisplay.from_predictions(y, np.full(len(y), 5e-324), scale="log")
    display.figure_.canvas.draw()
    assert counted(display) == [3000]


@pytest.mark.parametrize("scale", [1e-90, 1e29])
@pytest.mark.parametrize("strategy", ["quantile", "isotonic"])
def test_the_unit_of_weights_does_not_matter(rows, strategy, scale) -> None:
    w = np.random.default_rng(1).exponential(size=3000)
    one, other = (ReliabilityCurve._of(*rows, 8, strategy, 0.95, v) for v in (w, w * scale))
    # w * scale is rounded; isotonic limits lie on numbers up to 2,000
    np.testing.assert_allclose(other.low, one.low, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(other.high, one.high, rtol=1e-9, atol=1e-11)


@refused(
    (lambda: plt.subplot(projection="polar"), "ax has the projection 'polar'"),
    (lambda: plt.figure().add_axes((0.1, 0.1, 0.8, 0.8)), "not part of a grid"),
)
def test_axes_that_cannot_be_shared_are_refused(rows, axes) -> None:
    ReliabilityDisplay.from_predictions(*rows, ax=axes())


@refused(
    (lambda curve: {}, {}, "curves is empty"),
    (lambda curve: {"a": curve}, {"scale": "logit"}, "scale must be one of"),
    (lambda curve: {"_a": curve}, {}, "model '_a' would be missing"),
)
def test_bad_parts_are_refused(rows, curves, options) -> None:
    ReliabilityDisplay(
        curves=curves(ReliabilityCurve._of(*rows, 8, "quantile", 0.95, None)), **options
    )


@refused(
    ({"strategy": "log"}, "strategy must be one of 'quantile', 'uniform', 'events'"),
    ({"scale": "logit"}, "scale must be one of 'auto', 'linear', 'log'"),
    ({"confidence_level": 95}, r"confidence_level must be in \(0, 1\), found 95"),
    ({"n_bins": 0}, "n_bins must be a whole number >= 1"),
    ({"sample_weight": [1.0]}, "sample_weight has 1 rows"),
    ({"sample_weight": [1, 1, 0, 0]}, "y_true holds the single class 0"),
    ({"probability": {}}, "empty mapping"),
    ({"probability": [0.1, np.nan, 0.3, 0.4]}, "found nan at row 1"),
    ({"probability": {"a": [0.1] * 4, "b": [0.1, 0.2, 1.3, 0.4]}},
     r"model 'b': probability must be in \[0, 1\], found 1\.3 at row 2"),
    ({"probability": {"a": [0.1] * 4, "b": list("0123")}},
     "model 'b': probability must hold real numbers", TypeError),
    ({"probability": {"_raw": [0.1] * 4}}, "model '_raw' would be missing"),
    ({"probability": [[0.1, 0.9]] * 4}, r"found shape \(4, 2\)"),
    ({"probability": {k: [0.1] * 4 for k in range(len(STYLES) + 1)}}, "8 models, but only 7"),
    ({"n_bins": 5, "strategy": "isotonic"}, "n_bins is given, found 5, but strategy='isotonic'"),
)  # fmt: skip
def test_bad_arguments_are_refused(arguments) -> None:
    rows = {"y_true": [0, 0, 1, 1], "probability": [0.1, 0.2, 0.3, 0.4]}
    try:
        ReliabilityDisplay.from_predictions(**{**rows, **arguments})
    finally:
        assert plt.get_fignums() == []


def test_nothing_lies_beside_the_axes_or_is_cut_off(rows) -> None:
    """In a grid a legend beside one panel would lie on the next; intervals are drawn whole."""
    _, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    y, p = rows
    for ax, scale in zip(axes, ("linear", "log"), strict=True):
        display = ReliabilityDisplay.from_predictions(y, {"a": p, "b": p**1.5}, scale=scale, ax=ax)
        display.figure_.draw_without_rendering()
        inside, box = display.ax_.get_legend().get_window_extent(), display.ax_.bbox
        assert box.x0 <= inside.x0 < inside.x1 <= box.x1
        top = max(curve.high.max() for curve in display.curves.values())
        assert display.ax_.get_ylim()[1] >= top
        labels = display.counts_ax_.yaxis.get_minorticklabels()
        assert all(label.get_text() == "" for label in labels)


@pytest.mark.parametrize("strategy", ["quantile", "isotonic"])
def test_axes_of_rare_events_are_logarithmic(strategy) -> None:
    y = np.arange(200) % 2
    p = np.linspace(0.3, 0.7, 200)
    drawn = {"strategy": strategy}
    assert ReliabilityDisplay.from_predictions(y, p, **drawn).scale == "linear"
    weight = np.where(y == 1, 1.0, 20.0)  # 1 in 21
    display = ReliabilityDisplay.from_predictions(y, p, **drawn, sample_weight=weight)
    assert display.scale == display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    kept = ReliabilityDisplay.from_predictions(y, p, **drawn, negative_keep_rate=0.05)
    assert kept.scale == "log"
    few = ReliabilityDisplay.from_predictions(y, p, **drawn, negative_keep_rate=0.06)  # 1 in 17.7
    assert few.scale == "linear"


def test_axes_of_rare_events_end_where_the_bins_do() -> None:
    """One prediction of .9 in 20,000 of about .01 once left the points in a corner."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 50, 20_000)
    y = rng.random(20_000) < p
    p[0] = 0.9
    display = ReliabilityDisplay.from_predictions(y, p, scale="linear")
    curve = display.curves["predictions"]
    assert display.ax_.get_xlim()[1] < 1.1 * max(curve.high.max(), curve.bins.probability.max())
    assert display.ax_.get_xlim()[1] < 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_an_isotonic_curve_is_the_isotonic_fit(rows, weighted) -> None:
    y, p = rows
    y, p = y[:1500], p[:1500].round(2)
    w = np.random.default_rng(1).exponential(size=1500) if weighted else None
    curve = ReliabilityCurve._of(y, p, 15, "isotonic", 0.95, w)
    fit = IsotonicRegression().fit(p, y, sample_weight=w)
    np.testing.assert_allclose(curve.bins.probability, np.unique(p), rtol=1e-12)
    np.testing.assert_allclose(curve.bins.frequency, fit.predict(np.unique(p)), atol=1e-12)


def test_of_many_predictions_neighbours_are_taken_together() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 50, 200_000)
    y = rng.random(len(p)) < p
    curve = ReliabilityCurve._of(y, p, 15, "isotonic", 0.95, None)
    assert 500 < len(curve.bins.weight) <= 1000
    assert curve.bins.weight.sum() == len(p)
    exact = IsotonicRegression().fit(p, y).predict(curve.bins.probability)
    # the pools of 200,000 rows end within a group: an isotonic fit is about .003 off by chance
    assert np.average(np.abs(curve.bins.frequency - exact), weights=curve.bins.weight) < 1e-3


@pytest.mark.parametrize("shown", [None, "weights", "sampled"])
def test_fits_of_right_predictions_lie_in_the_band(shown) -> None:
    rng = np.random.default_rng(2)
    inside, draws, level = 0.0, 60, 0.8
    p = rng.beta(1, 4, 600).round(2)
    for _ in range(draws):
        y, q = rng.random(600) < p, p
        w = rng.uniform(0.5, 1.5, 600) if shown == "weights" else None
        if shown == "sampled":
            kept = y | (rng.random(600) < 0.5)
            y, q = y[kept], p[kept]
            w = np.where(y, 1.0, 2.0)
        curve = ReliabilityCurve._of(y, q, 15, "isotonic", level, w)
        f = curve.bins.frequency
        inside += np.average((curve.low <= f) & (f <= curve.high), weights=curve.bins.weight)
    # .2 of one draw, .026 of the mean; a band that forgets half of the variance is .17 off
    assert abs(inside / draws - level) < 0.08


def test_a_model_that_is_wrong_leaves_the_band(rows) -> None:
    y, p = rows
    right, wrong = (ReliabilityCurve._of(y, q, 15, "isotonic", 0.95, None) for q in (p, p**2))
    outside = [
        np.average((c.bins.frequency < c.low) | (c.bins.frequency > c.high), weights=c.bins.weight)
        for c in (right, wrong)
    ]
    assert outside[0] < 0.15
    assert outside[1] > 0.5


def test_isotonic_curves_have_bands_and_name_them(rows) -> None:
    y, p = rows
    display = ReliabilityDisplay.from_predictions(
        y, {"right": p, "low": p / 2}, strategy="isotonic", scale="log"
    )
    bands = display.ax_.collections
    assert len(bands) == 2
    assert legend(display)[2:4] == ["predicted = observed", "band if predictions are right"]
    assert display.ax_.get_xlim()[0] > 1e-4  # where the curve begins, not at the lowest prediction
    again = ReliabilityDisplay.from_predictions(y, p, strategy="isotonic").curves["predictions"]
    np.testing.assert_array_equal(again.low, display.curves["right"].low)


def test_an_isotonic_curve_begins_at_open_triangles() -> None:
    p = np.repeat([0.0, 0.001, 0.01, 0.1], 100)
    y = np.zeros(400, int)
    y[[250, 350, 351]] = 1
    for first, markers in ((0, {"v"}), (1, {"<"})):
        y[0] = first
        display = ReliabilityDisplay.from_predictions(y, p, strategy="isotonic", scale="log")
        marked = {
            a.get_marker()
            for a in display.ax_.get_lines()
            if a.get_mfc() == "none" and len(a.get_xdata()) and np.isfinite(a.get_xdata()).all()
        }
        assert marked == markers


@pytest.mark.parametrize("strategy", ["quantile", "isotonic"])
def test_sampled_rows_weigh_what_they_stand_for(strategy) -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 9, 3000)
    y = rng.random(3000) < p
    kept = y | (rng.random(3000) < 0.25)
    y, p = y[kept], p[kept]
    rates = np.full(len(y), 0.25)
    found = [
        ReliabilityDisplay.from_predictions(y, p, strategy=strategy, **how).curves["predictions"]
        for how in (
            {"sample_weight": np.where(y, 1, 4.0)},
            {"negative_keep_rate": 0.25},
            {"keep_rate": rates},
            {"class_keep_rates": {0: 0.25, 1: 1.0}},
        )
    ]
    plt.close("all")
    for curve in found[1:]:
        np.testing.assert_allclose(curve.bins.frequency, found[0].bins.frequency, rtol=1e-12)
        np.testing.assert_allclose(curve.low, found[0].low, rtol=1e-12)
        assert curve.ratio == pytest.approx(found[0].ratio, rel=1e-12)
