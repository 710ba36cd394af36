"""Boosters that are too old are refused, however they are reached."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from gbdt_objectives import _registry
from tests.cases import each

ROOT = Path(__file__).parents[1]
LIBRARIES = [library for library in sorted(_registry.FLOORS) if find_spec(library)]
TOO_OLD = {
    "catboost": ["1.2.7", "1.1.1", "1.2.8rc1"],
    "xgboost": ["1.7.6", "2.0.3", "2.1.0rc1", "2.1.0-dev", "2.1.dev3", "0.90"],
    "lightgbm": ["3.3.5", "4.1.0", "4.1.0.99", "4.2.0rc1", "4.2b2"],
}
NEW_ENOUGH = {
    "catboost": ["1.2.8", "1.2.10", "1.3"],
    "xgboost": ["2.1", "2.1.0", "2.1.0+cuda", "2.1.0.post1", "2.1.4", "2.10.0", "3.0.0rc1", "10.0"],
    "lightgbm": ["4.2.0", "4.2", "4.2.0.99", "4.10.0", "4.6.0-dev", "5.0.0a1", "unknown"],
}


@pytest.fixture(autouse=True)
def _nothing_seen(monkeypatch):
    monkeypatch.setattr(_registry, "_accepted", {})


def check(library: str, how: str) -> None:
    if how == "installed":
        _registry.check_installed(library)
    else:
        _registry.check_loaded()


how = each("how", ["installed", "loaded"])


@how
@each(("library", "found"), [(k, v) for k in LIBRARIES for v in TOO_OLD[k]])
def test_too_old(library: str, found: str, how: str, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_registry, "_accepted", {})
        patched.setattr(import_module(library), "__version__", found)
        for _ in range(2):  # an error is no acceptance
            with pytest.raises(ImportError) as caught:
                check(library, how)
    assert str(caught.value) == (
        f"{library} {found} is installed, but gbdt_objectives needs {_registry.FLOORS[library]} "
        f"or newer: pip install --upgrade 'gbdt_objectives[{library}]'"
    )
    assert caught.value.name == library


@how
@each(("library", "found"), [(k, v) for k in LIBRARIES for v in NEW_ENOUGH[k]])
def test_new_enough(library: str, found: str, how: str, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_registry, "_accepted", {})
        patched.setattr(import_module(library), "__version__", found)
        check(library, how)


def test_order() -> None:
    order = ["2.9", "2.10.0.dev1", "2.10", "2.10.0.1", "2.10.1-rc1", "2.10.1", "2.11", "3.0b1", "3"]
    keys = [_registry._version_key(version) for version in order]
    assert keys == sorted(keys)
    assert len({str(key) for key in keys}) == len(keys)
    first, *others = (_registry._version_key(f"2.10{end}") for end in ("", ".0", ".0.0"))
    assert others == [first, first]


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing(library: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    remedy = re.escape(f"pip install 'gbdt_objectives[{library}]' or {library}")
    with pytest.raises(ImportError, match=remedy):
        _registry.check_installed(library)
    _registry.check_loaded()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_module_is_looked_at_once_when_it_is_complete(library: str, monkeypatch) -> None:
    class Half:
        """A library that is being imported has no version yet."""

    half = Half()
    monkeypatch.setitem(sys.modules, library, half)
    _registry.check_loaded()
    half.__version__ = "0.1"
    with pytest.raises(ImportError, match=f"{library} 0.1 is installed"):
        _registry.check_loaded()
    half.__version__ = "99"
    _registry.check_loaded()
    half.__version__ = "0.1"
    _registry.check_loaded()  # not read again


def test_check_loaded_imports_nothing() -> None:
    code = (
        "import sys; from gbdt_objectives import _registry; _registry.check_loaded(); "
        "print([name for name in ('xgboost', 'lightgbm', 'numpy', 'packaging') "
        "if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.slow
def test_adapters_refuse() -> None:
    """On every import, the second one too."""
    code = (
        "from importlib import import_module\n"
        f"for library in {LIBRARIES} * 2:\n"
        "    import_module(library).__version__ = '1.2.3'\n"
        "    try:\n"
        "        import_module(f'gbdt_objectives.adapters.{library}')\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for library in LIBRARIES:
        assert out.stdout.count(f"{library} 1.2.3 is installed, but gbdt_objectives needs") == 2


def test_floors_agree() -> None:
    """_registry.py, pyproject.toml and the lane "floors"."""
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for library, floor in _registry.FLOORS.items():
        assert extras[library] == [f"{library}>={floor}"]
    lanes = dict(
        line.split(maxsplit=1)
        for line in (ROOT / ".ci/lanes").read_text().splitlines()
        if line and not line.startswith("#")
    )
    python, *pins = lanes["floors"].split()
    assert project["requires-python"] == f">={python}"
    exact = dict(pin.split("==") for pin in pins)
    bounds = [
        *project["dependencies"],
        *extras["xgboost"],
        *extras["lightgbm"],
        *extras["catboost"],
    ]
    bounds += extras["plot"]
    bounds += [bound for bound in extras["experiments"] if bound.startswith("pandas")]
    assert sorted(exact) == sorted(re.split(">=", bound)[0] for bound in bounds)
    for bound in bounds:
        name, floor = bound.split(">=")
        assert f"{exact[name]}.".startswith(f"{floor}."), bound
