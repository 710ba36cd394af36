"""Draws docs/pictures, the gallery's pictures for the guide, by running docs/examples.

Each is drawn twice: as the gallery shows it, and as narrow as a phone (``_narrow.png``).

Run from the repository root: ``python docs/make_pictures.py``.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

HERE = Path(__file__).parent


def main(folder: Path = HERE / "pictures") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted((HERE / "examples").glob("plot_*.py")):
        runpy.run_path(str(example))
        name = example.stem.split("_", 2)[2]  # plot_1_scores: the number is its place
        figure = plt.gcf()
        figure.savefig(folder / f"{name}.png", dpi=110)
        narrow(figure)
        figure.savefig(folder / f"{name}_narrow.png", dpi=160)
        plt.close("all")


def narrow(figure: Figure) -> None:
    """Make a figure as narrow as a phone; panels side by side go one above the other."""
    panels = figure.axes
    if panels[0].get_gridspec().ncols == 1:
        figure.set_size_inches(5.2, 4.8)
        return
    figure.set_size_inches(4.4, 3.7 * len(panels))
    grid = figure.add_gridspec(len(panels), 1)
    for k, panel in enumerate(panels):
        panel.set_subplotspec(grid[k])
        panel.tick_params(labelleft=True)
        panel.set_ylabel(panel.get_ylabel() or panels[0].get_ylabel())


if __name__ == "__main__":
    main()
