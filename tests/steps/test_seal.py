"""JSON with a checksum: what was edited is refused, what was laid out in another way is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gbdt_objectives
from gbdt_objectives import serving
from gbdt_objectives._steps.steps import SavedAsJSON
from gbdt_objectives.thresholds import DecisionRule, SegmentShift, Thresholds
from tests.cases import each
from tests.commands import run, write
from tests.formats.write import MODELS, VALUES

HOME = Path(gbdt_objectives.__file__).parent
CHANGED = "text was changed after to_json.. wrote it"


def kinds() -> dict[str, Any]:
    """Every class of the package that has a format, wherever it is."""
    for path in HOME.rglob("*.py"):
        if "_saved" in path.read_text("utf-8"):
            import_module(".".join([HOME.name, *path.relative_to(HOME).with_suffix("").parts]))
    found, known = [SavedAsJSON], dict[str, Any]()
    while found:
        kind = found.pop()
        found += kind.__subclasses__()
        if hasattr(kind, "_saved") and kind.__module__.startswith(f"{HOME.name}."):
            known[kind.__name__] = kind
    return known


KINDS = kinds()


def test_every_class_with_a_format_has_a_value() -> None:
    assert KINDS.keys() == VALUES.keys()
    assert len(KINDS) > 10


def numbers(document: Any, *place: Any) -> Iterator[tuple[Any, ...]]:
    """The place of each number and each flag."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from numbers(value, *place, key)
        elif isinstance(value, int | float):
            yield *place, key


def edited(document: Any, place: tuple[Any, ...]) -> Any:
    """A copy in which the number at this place is the next larger one, or the other flag."""
    copy = parent = json.loads(json.dumps(document))
    for key in place[:-1]:
        parent = parent[key]
    value = parent[place[-1]]
    more = value + 1 if isinstance(value, int) else float(np.nextafter(value, np.inf))
    parent[place[-1]] = not value if isinstance(value, bool) else more
    return copy


@pytest.mark.parametrize("name", KINDS)
def test_a_number_that_was_edited_is_refused_unless_it_was_meant(name: str) -> None:
    kind, value = KINDS[name], VALUES[name]()
    saved, read = json.loads(value.to_json()), 0
    for place in numbers(saved):
        change = edited(saved, place)
        meant = json.dumps(change | {"sha256": None})
        try:
            again = kind.from_json(meant)
        except ValueError as error:  # such as numbers that do not rise any more
            assert not str(error).startswith(CHANGED[:20])  # noqa: PT017
            with pytest.raises(ValueError, match=r"."):
                kind.from_json(json.dumps(change))
            continue
        read += 1
        new = json.loads(again.to_json())
        assert new == change | {"sha256": new["sha256"]}
        assert new["sha256"] != saved["sha256"]
        words = (
            f"{CHANGED}.* must be '{saved['sha256']}', found '{new['sha256']}'.*\"sha256\": null"
        )
        with pytest.raises(ValueError, match=words):
            kind.from_json(json.dumps(change))
    assert read


def test_other_changes_are_refused() -> None:
    saved = json.loads(VALUES["SegmentShift"]().to_json())
    for change in (
        {"segments": ["east", "West"]}, {"handle_unknown": "common"}, {"shrinkage": "inf"},
        {"sha256": ""}, {"sha256": 0}, {"sha256": False},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=CHANGED):
            SegmentShift.from_json(json.dumps(saved | change))
    with pytest.raises(ValueError, match="text holds NaN"):
        SegmentShift.from_json(json.dumps(saved | {"shifts": [float("nan"), 1]}))


def test_a_changed_whole_number_is_seen_where_floats_are_the_same() -> None:
    ids = [2**53, 2**53 + 2]
    for value in (
        SegmentShift(ids, [0.5, -0.5]), Thresholds([0.5], ids), DecisionRule([1, 2], [0, 0], ids)
    ):  # fmt: skip
        text = value.to_json()
        assert type(value).from_json(text).to_json() == text
        with pytest.raises(ValueError, match=CHANGED):
            type(value).from_json(text.replace(str(ids[1]), str(ids[1] + 1)))


def laid_out(value: Any, number: Callable[[Any], str]) -> str:
    """JSON by hand, keys from Z to A, a line each, letters as they are."""
    if isinstance(value, dict):
        pairs = (
            f"{json.dumps(key)} :\t{laid_out(value[key], number)}"
            for key in sorted(value, reverse=True)
        )
        return "{\n" + ",\r\n".join(pairs) + "}"
    if isinstance(value, list):
        return f"[ {' , '.join(laid_out(item, number) for item in value)} ]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value, ensure_ascii=False)
    return number(value)


def shortest(value: float) -> str:
    """As JavaScript and jq write it: 1 for 1.0, and 0 for -0.0."""
    return str(int(value)) if value == int(value) else repr(value)


WRITERS: dict[str, Callable[[Any], str]] = {
    "as it is": repr,
    "shortest": shortest,
    "with fractions": lambda value: repr(float(value)),
    "without exponents": lambda value: format(Decimal(repr(value)), "f"),
    "with exponents": lambda value: f"{value:.16E}",
}
ODD = {
    "Thresholds": lambda: Thresholds([-np.inf, 1e-5, 2e22], ["ä", 'b"', "a\u2028", "\U0001f600"]),
    "DecisionRule": lambda: DecisionRule([1, 2], [-0.0, 5e-324], np.array([1.5, 2], np.float32)),
    "SegmentShift": lambda: SegmentShift(np.array([2, 1], object), [0.1, 3], 2**60 + 1),
    "ThresholdClassifier": lambda: gbdt_objectives.ThresholdClassifier(
        labels=np.array([0, 1], np.uint8)).fit([0.0, 0.25, 1.0], [0, 0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_layout_does_not_matter(name: str) -> None:
    for make in filter(None, (VALUES[name], ODD.get(name))):
        text = make().to_json()
        saved = json.loads(text)
        texts = [json.dumps(saved), json.dumps(saved, indent=2, sort_keys=True)]
        texts += [laid_out(saved, number) for number in WRITERS.values()]
        for other in texts:
            again = json.loads(KINDS[name].from_json(other).to_json())
            assert again == saved, other


@pytest.mark.parametrize("name", KINDS)
def test_a_text_without_a_checksum_is_read(name: str) -> None:
    """As 0.1.0rc2 wrote it, and of whoever leaves the key out."""
    value = VALUES[name]()
    saved = json.loads(value.to_json())
    assert saved["format"] == f"gbdt_objectives.{name}/2"
    del saved["sha256"]
    for kind in (f"gbdt_objectives.{name}/1", saved["format"]):
        again = KINDS[name].from_json(json.dumps(saved | {"format": kind}))
        assert again.to_json() == value.to_json()


@pytest.mark.parametrize("name", KINDS)
def test_the_checksum_is_the_one_that_served_folder_md_describes(name: str) -> None:
    def whole(digits: str) -> float:
        return int(float(digits)) if float(digits) % 1 == 0 else float(digits)

    saved = json.loads(VALUES[name]().to_json(), parse_float=whole)
    sealed = saved.pop("sha256")
    text = json.dumps(saved, sort_keys=True)
    assert sealed == hashlib.sha256(text.encode()).hexdigest()


def places(document: Any) -> Iterator[dict[str, Any]]:
    """The values with a format of their own in a document."""
    for item in document.values() if isinstance(document, dict) else document:
        if isinstance(item, dict | list):
            yield from places(item)
            if isinstance(item, dict) and "format" in item:
                yield item


@each("name", ["served", "qwk_blend", "calibrated"])
def test_a_folder_holds_values_as_before(name: str, tmp_path: Path) -> None:
    """Older versions read it: the folder has a checksum of all."""
    serving.export(MODELS[name](), tmp_path / name)
    document = json.loads((tmp_path / name / "model.json").read_text("utf-8"))
    found = list(places(document))
    assert found
    for item in found:
        assert item["format"].endswith("/1")
        assert "sha256" not in item


def test_the_command_line_refuses_an_edited_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write("scores.csv", {"y": np.tile([0, 1], 50), "p": np.linspace(0, 1, 100).round(3)})
    assert run("thresholds scores.csv --label y --score p -o t.json").exit_code == 0
    saved = json.loads(Path("t.json").read_text())
    command = "apply t.json scores.csv --score p -o new.csv"
    Path("t.json").write_text(json.dumps(saved | {"thresholds": [0.125]}))
    result = run(command)
    assert result.exit_code == 2
    assert f"Error: t.json: {CHANGED[:20]}" in result.stderr
    assert '"sha256": null' in result.stderr
    Path("t.json").write_text(json.dumps(saved | {"thresholds": [0.125], "sha256": None}, indent=2))
    assert run(command).exit_code == 0
