"""Ten thousand small trainings in one process: memory, open files, threads and objects stay."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

from tests.soak.common import LIBRARIES, Figure, Flat, fit_one, train_one


def run(quick: bool) -> Iterator[Figure]:
    """By ``train``, with objective, metric and early stopping, and by the estimators; each time on
    other rows, with new objects, so that nothing may be kept under their names."""
    trainings, warm_up, every = (60, 30, 5) if quick else (10_000, 500, 50)
    warnings.simplefilter("ignore", UserWarning)  # tiny models stop after few rounds
    yield Figure("trainings of each kind", trainings)
    for library in LIBRARIES:
        for name, work in (("train", train_one), ("estimator", fit_one)):
            flat = Flat(f"{library}, {name}")
            train = partial(work, library)
            for k in range(trainings):
                train(k)
                if k >= warm_up and not k % every:
                    flat.sample(k)
            yield from flat.figures()
