"""The command that runs every study."""

from __future__ import annotations

import datetime
import json

import pytest

from experiments import all as everything

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(monkeypatch) -> list[tuple[str, list[str]]]:
    """What is run, instead of running it."""
    found: list[tuple[str, list[str]]] = []

    def run(study, arguments, record):
        found.append((study.module, arguments))
        return "printed\nHOLDS"

    monkeypatch.setattr(everything, "run", run)
    monkeypatch.setattr(everything, "is_installed", lambda name: True)
    return found


def test_every_study_and_every_record_is_there() -> None:
    folders = {path.parent.name for path in everything.HERE.glob("*/__main__.py")}
    assert {study.module.split(".")[0] for study in everything.STUDIES} == folders
    records = set(everything.HERE.glob("*/results/**/environment.json"))
    assert {study.record for study in everything.STUDIES} == records
    assert len(everything.STUDIES) == len(records)
    for record in records:
        found = json.loads(record.read_text(encoding="utf-8"))
        datetime.date.fromisoformat(found["date"])
        assert found["seconds"] > 0


def test_goes_on_where_it_stopped(runs, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(everything, "HERE", tmp_path)
    for module, date in (("focal", "2026-11-23"), ("curvature", "2026-11-24"), ("decisions", None)):
        record = tmp_path / module / "results" / "environment.json"
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps({"date": date} if date else {}), encoding="utf-8")
    some = ["--only", "focal", "curvature", "decisions", "few_events"]
    folder = str(tmp_path.resolve())
    assert everything.main([folder, *some, "--since", "2026-11-24"]) == 0
    assert runs == [("decisions", [folder]), ("focal", [folder]), ("few_events", [])]
    assert "focal FOLDER: 0 s: HOLDS" in capsys.readouterr().out
    runs.clear()
    assert everything.main([folder, *some]) == 0
    assert len(runs) == 4


def test_in_small_it_needs_no_files(runs) -> None:
    assert everything.main(["--quick", "--only", "ordinal_data", "negative_downsampling"]) == 0
    assert [(module, arguments[:2]) for module, arguments in runs] == [
        ("negative_downsampling", ["published", "--quick"]),
        ("negative_downsampling", ["files", "--quick"]),
    ]


def test_a_study_that_breaks_is_named_and_the_others_run(capsys, monkeypatch) -> None:
    broken = everything.Study("no_such_study")
    monkeypatch.setattr(everything, "STUDIES", (broken, everything.Study("focal")))
    real, ran = everything.run, []

    def run(study, arguments, record):
        ran.append(study.module)
        return real(study, arguments, record) if study is broken else "HOLDS"

    monkeypatch.setattr(everything, "run", run)
    assert everything.main(["--quick"]) == 1
    assert ran == ["no_such_study", "focal"]
    assert "No module named experiments.no_such_study" in capsys.readouterr().out


def test_without_a_peer_no_results_are_overwritten(runs, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(everything, "is_installed", lambda name: name != "catboost")
    with pytest.raises(SystemExit):
        everything.main([str(tmp_path), "--only", "focal"])
    assert "without catboost the results would lack them: pip install" in capsys.readouterr().err
    assert runs == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FOLDER must be that of the CSV files, found None"),
        (["no_such_folder"], "found no_such_folder"),
        (["--quick", "--only", "nonsense"], "no study is named nonsense"),
        (["--quick", "--since", "yesterday"], "invalid fromisoformat value: 'yesterday'"),
    ],
)
def test_nonsense_is_refused(arguments, said, capsys) -> None:
    with pytest.raises(SystemExit):
        everything.main(arguments)
    assert said in capsys.readouterr().err
