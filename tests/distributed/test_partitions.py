"""Dask collections: the same as on one machine, from any partitions, without gathering rows."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import warnings
from dataclasses import fields, is_dataclass
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gbdt_objectives as go
from gbdt_objectives._names import all_names
from gbdt_objectives.calibration import SegmentStatistics, calibration_ratio_by_segment
from tests.cases import refusals_of

pytestmark = pytest.mark.slow

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 900


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def sample(seed: int = 0, n: int = N) -> dict[str, np.ndarray]:
    """Columns of rows sorted by label, of which partitions see one or two classes only."""
    rng = np.random.default_rng(seed)
    z = np.sort(rng.standard_normal(n))
    score = (z + rng.standard_normal(n)).round(2)
    p = (1 / (1 + np.exp(-z))).round(3)
    positive = (rng.random(n) < p).astype(int)
    return {
        "grade": np.searchsorted([-1.0, 0.2, 1.0], z) + 1,
        "score": score,
        "predicted": np.clip(np.rint(score + 2), 1, 4).astype(int),
        "p": p,
        "y": positive,
        "weight": rng.integers(0, 3, n).astype(float),
        "country": rng.choice(np.array(["AT", "CH", "DE"], object), n, p=[0.2, 0.1, 0.7]),
        "day": rng.integers(0, 3, n).astype("datetime64[D]"),
        "rate": np.where(p > 0.5, 0.5, 0.25),
        "copies": rng.integers(0, 4, n),
    }


def call(function, weighted, *columns, **options):
    """As a function of collections, weights by name if there are any."""

    def run(given):
        arguments = [given[name] for name in columns]
        extra = {k: given[v[1:]] if str(v).startswith("$") else v for k, v in options.items()}
        if weighted:
            extra["sample_weight"] = given["weight"]
        return attrgetter(all_names()[function].partition(".")[2])(go)(*arguments, **extra)

    return run


CASES = {}
for weighted in (False, True):
    tag = "weighted" if weighted else "plain"
    for case in ("plugin-qwk", "exact-qwk", "exact-accuracy", "exact-linear"):
        method, metric = case.split("-")
        CASES[f"{case}-{tag}"] = call(
            "optimize_thresholds", weighted, "grade", "score", method=method, metric=metric
        )
    CASES |= {
        f"thresholds-labels-{tag}": call(
            "optimize_thresholds", weighted, "grade", "score", labels=[1, 2, 3, 4],
            target_prior={1: 0.4, 2: 0.1, 3: 0.1, 4: 0.4},
        ),
        f"thresholds-constraints-{tag}": call(
            "optimize_thresholds", weighted, "y", "p", metric="f1", negative_keep_rate=0.9,
            constraints={"recall": 0.4, "false_positive_rate": 0.5}, confidence_level=0.8,
        ),
        f"kappa-{tag}": call("quadratic_weighted_kappa", weighted, "grade", "predicted"),
        f"kappa-labels-{tag}": call(
            "quadratic_weighted_kappa", weighted, "grade", "predicted", labels=[1, 2, 4, 3]
        ),
        f"qwk_objective-{tag}": call("qwk_objective", weighted, "grade"),
        f"qwk_objective-scores-{tag}": call("qwk_objective", weighted, "score"),
        f"qwk_objective-prior-{tag}": call(
            "qwk_objective", weighted, "grade", target_prior={1: 0.4, 2: 0.1, 3: 0.1, 4: 0.4}
        ),
        f"qwk_objective-given-{tag}": call(
            "qwk_objective", weighted, "grade", mean=2.0, label_range=(0, 5), scale="kappa"
        ),
        f"kappa_objective-{tag}": call("kappa_objective", weighted, y_true="$grade",
                                       cost="absolute"),
        f"ratio-{tag}": call("calibration_ratio", weighted, "y", "p"),
        f"ratio-rates-{tag}": call("calibration_ratio", weighted, "y", "p", keep_rate="$rate"),
        f"bins-rates-{tag}": call("reliability_bins", weighted, "y", "p", keep_rate="$rate"),
        f"segments-{tag}": call("calibration_ratio_by_segment", weighted, "y", "p", "country"),
        f"segments-days-{tag}": call("calibration_ratio_by_segment", weighted, "y", "p", "day"),
        f"segments-rate-{tag}": call(
            "calibration_ratio_by_segment", weighted, "y", "p", "country", negative_keep_rate=0.3
        ),
        f"segments-rates-{tag}": call(
            "calibration_ratio_by_segment", weighted, "y", "p", "country",
            keep_rate="$rate",
        ),
        f"segments-counts-{tag}": call(
            "calibration_ratio_by_segment", weighted, "y", "p", "country",
            keep_rate="$rate", counts="$copies",
        ),
    }  # fmt: skip
    for strategy in ("quantile", "uniform", "events"):
        CASES |= {
            f"bins-{strategy}-{tag}": call(
                "reliability_bins", weighted, "y", "p", n_bins=7, strategy=strategy
            ),
            f"ece-{strategy}-{tag}": call(
                "expected_calibration_error", weighted, "y", "p", strategy=strategy
            ),
            f"predictions-{strategy}-{tag}": call(
                "calibration_ratio_by_segment", weighted, "y", "p", segments="prediction",
                strategy=strategy, negative_keep_rate=0.5,
            ),
        }  # fmt: skip
CASES |= {
    "metric": call("extended_qwk_metric", False, "grade"),
    "rates": call("measured_keep_rates", False, "grade", "predicted"),
    "rates-strings": call("measured_keep_rates", False, "country", "country"),
}


def from_parts(parts, known=True):
    """A Dask array of just these partitions."""
    found = da.concatenate([da.from_array(part, chunks=max(1, len(part))) for part in parts])
    if known:
        return found
    blocks = [
        da.from_delayed(dask.delayed(np.array)(part), shape=(np.nan,), dtype=part.dtype)
        for part in parts
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def series_from_parts(parts):
    """A Dask series of just these partitions, some empty."""
    meta = pd.Series(np.concatenate(parts)).iloc[:0]
    return dd.from_delayed(
        [dask.delayed(pd.Series)(part, dtype=meta.dtype) for part in parts], meta=meta
    )


def in_parts(values, npartitions=4):
    return dd.from_pandas(values, npartitions=npartitions)


CUTS = [40, 40, 41, 300, 640]
"""Of which the second partition is empty and the third is one row."""

KINDS = {
    "known chunks": lambda parts: from_parts(parts),
    "unknown chunks": lambda parts: from_parts(parts, known=False),
    "series": series_from_parts,
}


def collected(kind, columns, cuts=CUTS):
    return {name: KINDS[kind](np.split(values, cuts)) for name, values in columns.items()}


def assert_same(found, expected):
    """Numbers to rounding, everything else exactly."""
    assert type(found) is type(expected)
    if is_dataclass(expected) and not isinstance(expected, type):
        for field in fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, np.ndarray | list | tuple | float):
        a, b = np.asarray(found), np.asarray(expected)
        if b.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)  # sums in another order
        else:
            assert a.tolist() == b.tolist()
    else:
        assert found == expected


def in_turn(case: str) -> str:
    """Each function with weights in one kind of collection, and without in the other."""
    functions = [name for name in CASES if name.endswith("-plain")]
    name, _, tag = case.rpartition("-")
    turn = functions.index(f"{name}-plain") if f"{name}-plain" in functions else 0
    return ("unknown chunks", "series")[(turn + (tag == "weighted")) % 2]


@pytest.mark.parametrize(("case", "kind"), [(case, in_turn(case)) for case in CASES])
def test_the_same_as_on_one_machine(case, kind) -> None:
    columns = sample()
    columns["weight"][41:300] = 0  # a partition that weighs nothing
    assert_same(CASES[case](collected(kind, columns)), CASES[case](columns))


def test_integers_are_exact() -> None:
    columns = sample()
    for tag in ("plain", "weighted"):
        case = CASES[f"qwk_objective-{tag}"]
        found, expected = case(collected("series", columns)), case(columns)
        assert (found.mean, found.variance) == (expected.mean, expected.variance)
    case = CASES["exact-qwk-plain"]
    assert case(collected("series", columns)).tolist() == case(columns).tolist()


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 9),
    cuts=st.lists(st.integers(0, 120), max_size=5).map(sorted),
    case=st.sampled_from(sorted(CASES)),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_any_partitions_give_the_same(seed, cuts, case, kind) -> None:
    columns = sample(seed, 120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_same(CASES[case](collected(kind, columns, cuts)), CASES[case](columns))


def test_the_first_partition_may_be_empty_and_kinds_may_mix() -> None:
    columns = sample()
    cuts = [0, 0, 500]
    grade = collected("series", columns, cuts)["grade"]
    score = collected("unknown chunks", columns, cuts)["score"]
    whole = go.optimize_thresholds(columns["grade"], columns["score"])
    np.testing.assert_allclose(go.optimize_thresholds(grade, score), whole, rtol=1e-10)


def test_categories_strings_and_chunks_cut_differently() -> None:
    columns = sample()
    words = np.array(["", "low", "mid", "high", "top"])[columns["grade"]]
    order = ["low", "mid", "high", "top"]
    graded = pd.Series(pd.Categorical(words, categories=order, ordered=True))
    score, y, p = (pd.Series(columns[name]) for name in ("score", "y", "p"))
    whole = go.optimize_thresholds(graded, score)
    found = go.optimize_thresholds(in_parts(graded), in_parts(score))
    np.testing.assert_allclose(found, whole, rtol=1e-10)
    assert found.labels.tolist() == order
    found = go.optimize_thresholds(
        da.from_array(words, chunks=100), da.from_array(columns["score"], chunks=77), labels=order
    )
    np.testing.assert_allclose(found, whole, rtol=1e-10)
    predicted = go.apply_thresholds(score, whole)
    kappa = go.quadratic_weighted_kappa(in_parts(graded), in_parts(pd.Series(predicted)))
    expected = go.quadratic_weighted_kappa(graded, predicted)
    assert kappa == pytest.approx(expected, rel=1e-12)
    by_grade = calibration_ratio_by_segment(*map(in_parts, (y, p, graded)))
    assert_same(by_grade, calibration_ratio_by_segment(y, p, graded))
    assert by_grade.segment.tolist() == order


def test_several_columns_of_a_frame() -> None:
    columns = sample()
    frame = pd.DataFrame({name: columns[name] for name in ("y", "p", "country", "day")})
    lazy = in_parts(frame, 5)
    for segments in (["country", "day"], ["day"]):
        assert_same(
            calibration_ratio_by_segment(lazy["y"], lazy["p"], lazy[segments]),
            calibration_ratio_by_segment(frame["y"], frame["p"], frame[segments]),
        )


def test_statistics_of_parts_add_up_to_the_ratios_of_all_rows() -> None:
    """Of chunks of arrays as of Dask collections, some of which weigh nothing."""
    columns = sample()
    columns["weight"][41:300] = 0
    names = ("y", "p", "country", "weight")
    y, p, country, w = (columns[name] for name in names)
    expected = calibration_ratio_by_segment(y, p, country, sample_weight=w, confidence_level=0.9)
    parts = [np.split(columns[name], [300, 301, 640]) for name in names]
    chunks = [
        SegmentStatistics.of(*part[:3], sample_weight=part[3]) for part in zip(*parts, strict=True)
    ]
    assert chunks[0].rows < 41
    found = pickle.loads(pickle.dumps(chunks[0])) + chunks[1] + chunks[2] + chunks[3]
    assert (found.rows, found.weight) == (np.count_nonzero(w), w.sum())
    assert_same(found.ratios(confidence_level=0.9), expected)
    assert_same(sum(chunks).ratios(confidence_level=0.9), expected)
    with pytest.raises(ValueError, match="y_true is a part without rows: skip it"):
        SegmentStatistics.of(y[:0], p[:0], country[:0])
    lazy = collected("series", columns)
    found = SegmentStatistics.of(
        lazy["y"], lazy["p"], lazy["country"], sample_weight=lazy["weight"]
    )
    assert_same(found.ratios(confidence_level=0.9), expected)
    with pytest.raises(ValueError, match="statistics of the columns .* do not add up"):
        found + SegmentStatistics.of(y, p, {"country": country})
    with pytest.raises(ValueError, match="the statistics hold no rows of weight above 0"):
        SegmentStatistics.of(y, p, country, sample_weight=np.zeros(N)).ratios()
    with pytest.raises(ValueError, match="for bins of the prediction call calibration_ratio_by"):
        SegmentStatistics.of(y, p, "prediction")


@pytest.mark.parametrize("rate", [
    {"negative_keep_rate": 0.1}, {"class_keep_rates": {0: 0.1, 1: 1.0}}, {"negative_keep_rate": 1},
    {"keep_rate": np.linspace(0.05, 1, N)},
])  # fmt: skip
def test_statistics_of_sampled_parts_add_up_to_the_ratios_of_all_rows(rate) -> None:
    """With their limits, for which similar predictions of all parts are looked at."""
    columns = sample()
    columns["weight"][41:300] = 0
    columns["counts"] = np.arange(N) % 3
    names = ("y", "p", "country", "weight", "counts")
    y, p, country, w, counts = (columns[name] for name in names)
    names_of = {"country": country, "third": np.arange(N) % 3}
    expected = calibration_ratio_by_segment(
        y, p, names_of, sample_weight=w, counts=counts, confidence_level=0.9, **rate
    )
    parts = [slice(0, 300), slice(300, 301), slice(301, 640), slice(640, N)]
    chunks = [
        SegmentStatistics.of(
            y[s], p[s], {name: values[s] for name, values in names_of.items()},
            sample_weight=w[s], counts=counts[s],
            **{name: r[s] if isinstance(r, np.ndarray) else r for name, r in rate.items()},
        )
        for s in parts
    ]  # fmt: skip
    assert_same(sum(chunks).ratios(confidence_level=0.9), expected)
    assert_same(sum(chunks[::-1]).ratios(confidence_level=0.9), expected)
    without = SegmentStatistics.of(y, p, names_of)
    for one, other in ((without, chunks[0]), (chunks[0], without)):
        with pytest.raises(ValueError, match="give each part its rate, 1 for a part that is whole"):
            one + other


def test_rates_that_follow_the_label_are_refused_where_parts_are_summed() -> None:
    columns = sample()
    y, p, country = (columns[name] for name in ("y", "p", "country"))
    found = SegmentStatistics.of(y, p, country, keep_rate=np.where(y == 1, 1, 0.1))
    with pytest.raises(ValueError, match="keep_rate is 1 in every row with label 1"):
        found.ratios()
    lazy = collected("series", columns)
    rate = {"negative_keep_rate": 0.1}
    found = SegmentStatistics.of(lazy["y"], lazy["p"], lazy["country"], **rate).ratios()
    assert_same(found, calibration_ratio_by_segment(y, p, country, **rate))


def test_small_files_stay_partitions(tmp_path) -> None:
    """Which Dask fuses when it optimizes, by the columns that are read."""
    columns = sample()
    frame = pd.DataFrame({name: columns[name] for name in ("grade", "score", "country")})
    frame["grade"] = frame["grade"].astype(np.int8)
    wide = frame.assign(**{f"other{k}": 0.5 for k in range(30)})
    parts = np.array_split(np.arange(N), 8)
    for k, rows in enumerate(parts):
        wide.iloc[rows].to_parquet(tmp_path / f"{k}.parquet")
    read = dd.read_parquet(str(tmp_path / "*.parquet"))
    assert read.npartitions == 8
    whole = go.optimize_thresholds(frame["grade"], frame["score"])
    array = da.from_array(columns["score"], chunks=(tuple(map(len, parts)),))
    elsewhere = dd.from_dask_array(array)
    together = dask.__version__ >= "2025"  # before, to_delayed optimized whatever it was told
    for score in (read["score"], elsewhere, array) if together else (read["score"],):
        found = go.optimize_thresholds(read["grade"], score)
        np.testing.assert_allclose(found, whole, rtol=1e-10)
    grades = go.apply_thresholds(read["score"], whole)
    expected = go.apply_thresholds(frame["score"], whole)
    assert np.asarray(grades).tolist() == expected.tolist()
    assert go.quadratic_weighted_kappa(read["grade"], grades) == pytest.approx(
        go.quadratic_weighted_kappa(frame["grade"], expected), rel=1e-12
    )


def many_scores(n: int = 40_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    z = rng.standard_normal(n)
    p = 1 / (1 + np.exp(-2 * z - 1 + rng.standard_normal(n)))
    return np.searchsorted([-1.0, 0.2, 1.0], z), z + rng.standard_normal(n), p


def test_thresholds_of_bins_lose_no_more_than_stated(monkeypatch) -> None:
    y, score, _ = many_scores()
    lazy = da.from_array(y, chunks=9_000), da.from_array(score, chunks=9_000)
    statistics = go.thresholds.ThresholdStatistics.of(*lazy, max_bins=2_000)
    assert 1_000 < len(statistics.score) <= 2_000
    bound = statistics.qwk_loss_bound()
    assert 0 < bound < 0.01
    monkeypatch.setattr("gbdt_objectives.thresholds.optimize.BLOCK", 2_000)
    found = go.optimize_thresholds(*lazy, method="exact")
    assert found.tolist() == statistics.thresholds(method="exact").tolist()
    best = go.optimize_thresholds(y, score, method="exact")
    reached, most = (
        go.quadratic_weighted_kappa(y, go.apply_thresholds(score, thresholds))
        for thresholds in (found, best)
    )
    assert 0 <= most - reached <= bound


@pytest.mark.parametrize("strategy", ["quantile", "events"])
def test_calibration_bins_of_many_probabilities(strategy, monkeypatch) -> None:
    from gbdt_objectives.calibration import bins

    monkeypatch.setattr(bins, "MAX_BINS", 2_000)
    _, _, p = many_scores()
    y = (np.random.default_rng(2).random(len(p)) < p).astype(int)
    lazy = da.from_array(y, chunks=9_000), da.from_array(p, chunks=9_000)
    found = go.calibration.reliability_bins(*lazy, n_bins=10, strategy=strategy)
    share = found.weight * (found.probability if strategy == "events" else 1)
    np.testing.assert_allclose(share / share.sum(), 0.1, atol=6e-3)  # a shared bin's share
    edges = np.sort(p)[np.cumsum(found.weight).astype(int)[:-1] - 1]
    b = np.searchsorted(edges, p)  # what the bins hold is exact
    np.testing.assert_array_equal(np.bincount(b), found.weight)
    np.testing.assert_allclose(np.bincount(b, p) / np.bincount(b), found.probability, rtol=1e-10)
    np.testing.assert_allclose(np.bincount(b, y) / np.bincount(b), found.frequency, rtol=1e-10)
    by_segment, expected = (
        calibration_ratio_by_segment(
            *columns, "prediction", n_bins=10, strategy=strategy, negative_keep_rate=0.5
        )
        for columns in (lazy, (y, p))
    )
    for name in ("ratio", "low", "high", "probability"):
        np.testing.assert_allclose(
            getattr(by_segment, name), getattr(expected, name), rtol=2e-2
        )  # where a shared bin, at most 6e-3 of the rows of 0.1, is on another side


def test_prior_weights_and_keys_are_lazy() -> None:
    columns = sample()
    columns["key"] = np.random.default_rng(5).integers(0, 300, N)
    for kind in KINDS:
        lazy = collected(kind, columns)
        for prior, normalize in ((0.1, "mean"), ({0: 0.9, 1: 0.1}, "positive")):
            found, expected = (
                go.priors.prior_weights(c["y"], prior, normalize=normalize) for c in (lazy, columns)
            )
            assert type(found) is type(lazy["y"])
            np.testing.assert_array_equal(np.asarray(found), expected)
        for rate in (0.3, "rate"):
            found, expected = (
                go.priors.negative_downsample_by_key(
                    c["y"], c["key"], c.get(rate, rate), random_state=3
                )
                for c in (lazy, columns)
            )
            assert type(found) is type(lazy["y"])
            assert found.dtype == bool
            assert np.flatnonzero(np.asarray(found)).tolist() == expected.tolist()
    frame = in_parts(pd.DataFrame({name: columns[name] for name in ("y", "key")}))
    kept = frame[go.priors.negative_downsample_by_key(frame["y"], frame["key"], 0.3)]
    named = frame[go.priors.negative_downsample_by_key(frame["y"], frame["key"], {0: 0.3})]
    pd.testing.assert_frame_equal(named.compute(), kept.compute())
    expected = go.priors.negative_downsample_by_key(columns["y"], columns["key"], 0.3)
    assert len(kept) == len(expected)
    rates = go.priors.measured_keep_rates(frame["y"], kept["y"])
    assert rates[1] == 1
    assert rates[0] == pytest.approx(0.3, abs=0.1)


def test_rows_are_not_gathered() -> None:
    """No task returns much more than a partition, and merged results stay small."""
    n, chunk = 200_000, 10_000
    rng = np.random.default_rng(0)
    y = da.from_array(rng.integers(0, 4, n), chunks=chunk)
    score = da.from_array(rng.random(n), chunks=chunk)
    sizes = []

    def posttask(key, result, dsk, state, worker):
        sizes.append(len(pickle.dumps(result)))

    with dask.callbacks.Callback(posttask=posttask):
        go.thresholds.ThresholdStatistics.of(y, score, max_bins=1_000).thresholds()
        go.quadratic_weighted_kappa(y, y)
        go.qwk_objective(score)
        calibration_ratio_by_segment((y > 2).astype(int), score, y)
    assert len(sizes) > 4 * n / chunk
    assert max(sizes) < 3.5 * chunk * 8  # three columns of one partition


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_what_columns_share_is_computed_once(kind) -> None:
    calls = []

    def predict(part):
        calls.append(len(part))
        if kind == "array":
            return np.column_stack([part % 4, part * 0.5])
        return pd.DataFrame({"y": part % 4, "score": part * 0.5})

    if kind == "array":
        source = da.arange(100, chunks=25)
        both = da.map_blocks(
            predict, source, dtype=float, new_axis=1, chunks=(source.chunks[0], (2,)),
            meta=np.empty((0, 2)),
        )  # fmt: skip
        y, score = both[:, 0], both[:, 1]
    else:
        source = in_parts(pd.Series(np.arange(100)))
        both = source.map_partitions(predict, meta=pd.DataFrame({"y": [0], "score": [0.5]}))
        y, score = both["y"], both["score"]
    go.thresholds.ThresholdStatistics.of(y, score, labels=range(4))
    assert calls == [25] * 4


# Bad input


def wrong(name, value):
    """The columns with a bad value in one row: the 60th of its partition."""
    columns = sample()
    values = columns[name].astype(object if columns[name].dtype == object else float)
    values[700] = value
    return columns | {name: values}


def another(name, make, n=N):
    """The columns with one made of those there are."""
    columns = sample(n=n)
    return columns | {name: np.asarray(make(columns))}


BAD = {
    "NaN score": (wrong("score", np.nan), "plugin-qwk-plain"),
    "label not listed": (wrong("grade", 9), "thresholds-labels-plain"),
    "fraction": (wrong("grade", 1.5), "plugin-qwk-plain"),
    "fraction in kappa": (wrong("predicted", 1.5), "kappa-plain"),
    "negative weight": (wrong("weight", -1), "plugin-qwk-weighted"),
    "infinite weight": (wrong("weight", np.inf), "ratio-weighted"),
    "large weight": (wrong("weight", 1e31), "kappa-weighted"),
    "probability": (wrong("p", 1.5), "bins-quantile-plain"),
    "label of two": (wrong("y", 2), "segments-plain"),
    "rate": (wrong("rate", 0.0), "segments-rates-plain"),
    "label out of range": (wrong("grade", 9), "qwk_objective-given-plain"),
    "label without prior": (wrong("grade", 9), "qwk_objective-prior-plain"),
    "NaN label": (wrong("grade", np.nan), "qwk_objective-plain"),
    "missing segment": (wrong("country", None), "segments-plain"),
    "text for numbers": (
        another("score", lambda c: c["score"].astype(str).astype(object)), "plugin-qwk-plain"),
}  # fmt: skip


def errors(case, columns, cuts=CUTS):
    """That of one machine, and that of Dask."""
    found = []
    for of_rows in (columns, collected("known chunks", columns, cuts)):
        with pytest.raises((ValueError, TypeError)) as caught:
            CASES[case](of_rows)
        found.append(caught.value)
    assert type(found[0]) is type(found[1])
    return map(str, found)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_the_same_error_as_on_one_machine(name) -> None:
    columns, case = BAD[name]
    one, many = errors(case, columns)
    partition, message = re.fullmatch(r"in partition (\d): (.*)", many).groups()
    assert partition == "4" or name == "text for numbers"  # dask.array leaves the empty one out

    # the same but for the numbers of rows, of which a partition has fewer
    def plain(text):
        return re.sub(r"at row \d+|\(\d+ such of \d+\)", "at a row", text)

    assert plain(message) == plain(one)
    if "at row" in message:
        assert "at row 60" in message


ONE_CLASS = another("grade", lambda c: np.full(N, 2))
WHOLE = {
    "single class": (ONE_CLASS, "plugin-qwk-plain"),
    "a class of the prior": (ONE_CLASS, "qwk_objective-prior-plain"),
    "too many classes": (another("grade", lambda c: np.arange(N) * 2), "plugin-qwk-plain"),
    "falls": (another("score", lambda c: -c["score"]), "plugin-qwk-plain"),
    "constant": (ONE_CLASS, "qwk_objective-plain"),
    "constant with weight": (
        another("weight", lambda c: (c["grade"] == 2) * 1.0), "qwk_objective-weighted"),
    "too many labels": (
        another("grade", lambda c: np.arange(2_000), n=2_000), "kappa_objective-plain"),
    "no outcome": (another("y", lambda c: np.zeros(N, int)), "ratio-plain"),
    "no weight": (another("weight", lambda c: np.zeros(N)), "plugin-qwk-weighted"),
    "no weight of kappa": (another("weight", lambda c: np.zeros(N)), "kappa-weighted"),
    "lost weights": (another("weight", lambda c: np.full(N, 1e-101)), "ratio-weighted"),
    "a rate of the label": (
        another("rate", lambda c: np.where(c["y"] == 1, 1.0, 0.5)), "segments-rates-plain"),
    "no rows": ({name: values[:0] for name, values in sample().items()}, "ratio-plain"),
    "gone label": (another("predicted", lambda c: np.ones(N, int)), "rates"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_what_all_rows_say_is_the_same_error(name) -> None:
    columns, case = WHOLE[name]
    one, many = errors(case, columns, CUTS if len(columns["y"]) else [0])
    if name == "no rows":
        assert "y_true is empty" in many
    elif name == "too many labels":  # not all of which are counted
        assert re.sub(r"\d+ different", "", many) == one.replace("2000 different", "")
    else:
        assert many == one


def test_a_rate_that_follows_the_label_in_one_partition_only_is_right() -> None:
    """Each partition of one label looks like it, all rows together do not."""
    columns = sample()
    order = np.argsort(columns["y"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    columns["rate"] = np.where(np.arange(N) % 2, 1.0, 0.5)
    case = CASES["segments-rates-plain"]
    assert_same(case(collected("known chunks", columns)), case(columns))


def test_partitions_of_another_dtype() -> None:
    columns = sample()
    mixed = [columns["grade"][:400].astype(np.int8), columns["grade"][400:].astype(np.float64)]
    score = from_parts(np.split(columns["score"], [400]))
    found = go.optimize_thresholds(from_parts(mixed), score)
    whole = go.optimize_thresholds(columns["grade"], columns["score"])
    np.testing.assert_allclose(found, whole, rtol=1e-10)
    words = [np.array(["a", "b"], object), np.array([1, 2], object)]
    with pytest.raises(TypeError, match="y_full must hold labels of one type, found int, str"):
        go.priors.measured_keep_rates(
            from_parts(words, known=False), from_parts(words, known=False)
        )
    p = from_parts(np.split(np.full(4, 0.5), [2]), known=False)
    y = from_parts(np.split(np.array([0, 1, 0, 1]), [2]), known=False)
    with pytest.raises(TypeError, match="segments must be of one type .* found int, str"):
        calibration_ratio_by_segment(y, p, from_parts(words, known=False))


SCORES = np.arange(6.0)
LABELS = np.array([0, 1, 1, 2, 2, 2])


def chunked(values, *cuts):
    """Of known chunks, or of unknown ones cut there."""
    if not cuts:
        return da.from_array(values, chunks=2)
    return from_parts(np.split(values, cuts), known=False)


test_columns_that_do_not_match = refusals_of(
    lambda columns: go.optimize_thresholds(*columns()),
    (lambda: (chunked(LABELS), SCORES), "score is a ndarray, but y_true a Dask collec", TypeError),
    (lambda: (LABELS, chunked(SCORES)), "y_true is a ndarray, but score a Dask collec", TypeError),
    (lambda: (chunked(LABELS), chunked(SCORES[:4])),
     "score has 4 rows, y_true has 6: they must match"),
    (lambda: (chunked(LABELS, 2), chunked(SCORES, 3)),
     r"in partition \d: score has 3 rows, but the labels have \d"),
    (lambda: (chunked(LABELS, 2), chunked(SCORES, 2, 3)),
     "score has 3 partitions, but y_true has 2: repartition one like the other"),
    (lambda: (chunked(LABELS, 2), from_parts([SCORES[:0], SCORES[2:]], known=False)),
     "in partition 0: score is empty"),
    (lambda: (chunked(LABELS), da.ones((6, 3), chunks=2)),
     r"score must be one-dimensional, found shape \(6, 3\)"),
    (lambda: (in_parts(pd.DataFrame({"a": LABELS, "b": LABELS})), in_parts(pd.Series(SCORES))),
     "y_true must be one column, a Dask Series or Array, found a Dask DataFrame", TypeError),
    (lambda: (in_parts(pd.Series(LABELS.astype(str), dtype="category")).cat.as_unknown(),
              in_parts(pd.Series(SCORES))),
     r"categories that Dask does not know: call \.cat\.as_known\(\)"),
)  # fmt: skip

test_bad_options = refusals_of(
    lambda options: go.optimize_thresholds(chunked(LABELS), chunked(SCORES), **options),
    ({"method": "nelder-mead"}, "needs the rows of all partitions at once: pass 'plugin'"),
    ({"method": "curved"}, "needs the rows of all partitions at once"),
    ({"metric": lambda y, p, w: 0.0}, "metric is a function, which needs the rows"),
    ({"method": "plugin", "metric": "mae"}, "pass method='exact'"),
    ({"labels": [0, 0]}, "more than once"),
    ({"labels": range(9)}, "y_true has 6 rows that count for 9 classes"),
)


def test_keys_that_are_wrong_say_so_when_they_are_hashed() -> None:
    y = da.from_array(LABELS > 1, chunks=2)
    mask = go.priors.negative_downsample_by_key(y, da.from_array(SCORES, chunks=2), 0.5)
    with pytest.raises(TypeError, match="key must hold integers or strings, found dtype float64"):
        mask.compute()
    with pytest.raises(ValueError, match="must be in"):
        go.priors.negative_downsample_by_key(y, y, 2)
    with pytest.raises(ValueError, match="max_bins must be a whole number >= 2"):
        go.thresholds.ThresholdStatistics.of(y, y, max_bins=1)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("optimize_thresholds", "gbdt_objectives.thresholds.optimize_thresholds takes Dask"),
        ("threshold_statistics", "gbdt_objectives.thresholds.ThresholdStatistics.of takes Dask"),
        ("reliability_bins", "gbdt_objectives.calibration.reliability_bins takes Dask"),
        ("lightgbm", "from gbdt_objectives.experimental.dask import lightgbm"),
        ("nothing", "has no attribute 'nothing'$"),
    ],
)
def test_a_moved_name_says_where_it_is(name, place) -> None:
    with pytest.raises(AttributeError, match=place):
        getattr(pytest.importorskip("gbdt_objectives.distributed.dask"), name)
    if name != "nothing":
        with pytest.raises(ImportError, match=place):
            exec(f"from gbdt_objectives.distributed.dask import {name}")


def test_its_room_shows_public_names_only() -> None:
    room = pytest.importorskip("gbdt_objectives.distributed.dask")
    assert dir(room) == sorted(room.__all__)
    code = "import gbdt_objectives as g; g.experimental.dask.lightgbm"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_dask_names_the_command() -> None:
    code = "import sys; sys.modules['dask'] = None\nimport gbdt_objectives.distributed.dask"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 1
    assert "pip install 'gbdt_objectives[dask]'" in out.stderr


@pytest.mark.xdist_group("dask")
def test_on_a_cluster_of_processes(cluster) -> None:
    rng = np.random.default_rng(0)
    y, key = rng.integers(0, 4, 20_000), rng.integers(0, 5_000, 20_000)
    score = (y + rng.standard_normal(20_000)).round(3)
    columns = [da.from_array(a, chunks=3_000) for a in (y, score, key)]
    with pytest.importorskip("distributed").Client(cluster):
        assert dask.delayed(os.getpid)().compute() != os.getpid()
        found = go.optimize_thresholds(*columns[:2], method="exact")
        assert found.tolist() == go.optimize_thresholds(y, score, method="exact").tolist()
        objective, expected = go.qwk_objective(columns[0]), go.qwk_objective(y)
        assert (objective.mean, objective.variance) == (expected.mean, expected.variance)
        mask = go.priors.negative_downsample_by_key(columns[0] > 2, columns[2], 0.5)
        kept = go.priors.negative_downsample_by_key(y > 2, key, 0.5)
        assert np.flatnonzero(mask.compute()).tolist() == kept.tolist()
        score[17_000] = np.nan
        error = "in partition 5: score must be finite, found nan at row 2000"
        with pytest.raises(ValueError, match=error):
            go.optimize_thresholds(columns[0], da.from_array(score, chunks=3_000))


def test_one_number_is_no_column_but_a_rate() -> None:
    y, p = (da.from_array(values, chunks=5) for values in (np.arange(10) % 2, np.full(10, 0.5)))
    with pytest.raises(TypeError, match="sample_weight is a float, but y_true a Dask collection"):
        go.calibration.calibration_ratio(y, p, sample_weight=2.0)
    with pytest.raises(ValueError, match="sample_weight must be one-dimensional"):
        go.calibration.calibration_ratio(y, p, sample_weight=p.sum())
    with pytest.raises(TypeError, match="key is a int, but y a Dask collection"):
        go.priors.negative_downsample_by_key(y, 5, 0.5)
    assert go.priors.negative_downsample_by_key(y, y, 0.5).compute().shape == (10,)
