"""What all displays share: matplotlib is optional, axes are checked, the pictures can be drawn."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from gbdt_objectives import plotting

pytestmark = pytest.mark.slow

DISPLAYS = ("ROCHullDisplay", "ReliabilityDisplay", "ThresholdDisplay")
ROWS = [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]


@pytest.mark.ci
def test_pictures_of_the_documentation_can_be_drawn(tmp_path) -> None:
    script = Path(__file__).parents[2] / "docs" / "make_pictures.py"
    runpy.run_path(str(script))["main"](tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert {"reliability.png", "roc_hull.png", "thresholds_hull.png"} <= drawn
    assert drawn == {path.name for path in (script.parent / "pictures").glob("*.png")}


def test_matplotlib_is_loaded_to_draw_and_missing_names_the_command() -> None:
    code = (
        "import sys, gbdt_objectives.plotting as plotting\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        f"for name in {DISPLAYS}:\n"
        "    try:\n"
        f"        getattr(plotting, name).from_predictions(*{ROWS!r})\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    told = out.stdout.splitlines()
    assert len(told) == len(DISPLAYS)
    remedy = "pip install 'gbdt_objectives[plot]' or matplotlib"
    assert all(remedy in line for line in told)


@pytest.mark.parametrize("name", DISPLAYS)
def test_axes_given_or_new(name) -> None:
    display = getattr(plotting, name).from_predictions(*ROWS)
    assert plt.get_fignums() == [display.figure_.number]
    figure, (left, right) = plt.subplots(1, 2)
    assert display.plot(ax=right) is display
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.has_data()
    drawn = len(right.get_lines())
    assert len(display.plot(ax=left).ax_.get_lines()) == drawn  # and again elsewhere
    assert len(plt.get_fignums()) == 2
    with pytest.raises(TypeError, match="ax must be matplotlib Axes, found str"):
        display.plot(ax="left")
