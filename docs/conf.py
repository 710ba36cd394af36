"""The site: ``sphinx-build -W --keep-going -c docs . build/site`` from the repository root.

The root is the source folder, so that the links between docs/ and the studies' READMEs are the same
here and in a checkout.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.ext.autodoc.mock import mock
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx_gallery.directives import imgsgnode

sys.path.insert(0, str(Path(__file__).parent))

import formulas  # beside this file
import searched

import gbdt_objectives
from gbdt_objectives._names import ROOMS

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

mpl.use("Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "gbdt_objectives"
author = "the gbdt_objectives developers"
copyright = author
version = release = gbdt_objectives.__version__

extensions = [
    "myst_nb",  # Markdown, and notebooks
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*.ipynb",
    "notebooks/data/README.md",
    "experiments/*/README.md",
    "benchmarks/README.md",
    "tests/soak/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [
    "docs/examples/**",
    "docs/_*/**",
    "docs/gallery/**/*.py",
    "docs/gallery/*.ipynb",
    ".*",
    "build",
    "*.egg-info",
]
templates_path = [str(Path(__file__).parent / "_templates")]
nitpicky = True
highlight_language = "text"  # of formulas in docstrings; examples there are known by their prompts

# Markdown
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4

# notebooks, with the outputs that they hold
nb_execution_mode = "off"  # .ci/notebooks.py runs them and compares
nb_merge_streams = True

# reference, from the docstrings
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["pyspark", "xgboost.spark"]  # 400 MB, for two functions
autodoc_inherit_docstrings = False  # scikit-learn's and the boosters' are documented there
autodoc_default_options = {"exclude-members": ", ".join(
    f"set_{method}_request" for method in ("fit", "predict", "predict_proba", "score")
)}  # fmt: skip
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "docs/examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r"plot_",
    "doc_module": ("gbdt_objectives",),
    "backreferences_dir": "docs/gallery/backreferences",
    "thumbnail_size": (720, 480),  # twice as wide as shown, for sharp screens
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

# pages
html_theme = "pydata_sphinx_theme"
html_title = "gbdt_objectives"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_extra_path = ["_root"]  # index.html, which leads to docs/index.html
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "article_header_end": ["contents"],
}
if tags.has("versions"):  # noqa: F821 (Sphinx defines it): built by .ci/site.py, beside others
    html_theme_options |= {
        "switcher": {"json_url": "../versions.json", "version_match": release},
        "check_switcher": False,  # it is not in this folder
        "show_version_warning_banner": True,
        "navbar_end": ["version-switcher", "theme-switcher"],
    }
html_sidebars = {
    "docs/index": [],
    "CHANGELOG": [],
    "CONTRIBUTING": [],
}

ENGINES = ("adapters.xgboost", "adapters.lightgbm", "adapters.sklearn", "distributed.dask",
           "distributed.spark", "experimental.dask")  # fmt: skip
"""Modules of public names that are reached through a room."""

APART = ("adapters.catboost",)
"""Those that the reference names only: CatBoost is a download of 100 MB."""

TOGETHER = {
    "Objective": "distributed.WorkersDisagree",
    "check_objective": "checking.ObjectiveReport checking.ObjectiveError "
    "checking.parametrize_with_checks",
    "objectives.Link": "objectives.IDENTITY objectives.LOG objectives.LOGIT objectives.UNDECLARED",
    "objectives.Interval": "objectives.Values objectives.Classes objectives.REAL objectives.BINARY",
    "thresholds.fit_segment_shift": "thresholds.SegmentShift",
    "cross_validate_thresholds": "evaluation.ThresholdCrossValidation",
    "thresholds.optimize_decisions": "thresholds.DecisionRule",
    "thresholds.optimize_actions": "thresholds.ActionRule",
    "evaluation.estimate_performance": "evaluation.PerformanceEstimate",
    "evaluation.compare_performance": "evaluation.PerformanceDifference",
    "log_odds_shift": "priors.LogOddsShift",
    "priors.estimate_prior": "priors.PriorEstimate",
    "priors.prior_shift_test": "priors.PriorShiftTest",
    "calibration.choose_calibrator": "calibration.CalibratorChoice",
    "calibration.calibration_refinement": "calibration.CalibrationRefinement",
    "calibration.calibration_error_test": "calibration.CalibrationErrorTest",
    "calibration.reliability_bins": "calibration.ReliabilityBins",
    "calibration.calibration_ratio_by_segment": "calibration.SegmentRatios "
    "calibration.SegmentStatistics",
    "calibration.roc_convex_hull": "calibration.ROCConvexHull",
    "estimators.ProbabilityEstimationTree": "estimators.leaf_probability",
    "serving.load": "serving.ServedModel",
    "plotting.ReliabilityDisplay": "plotting.ReliabilityCurve",
    "experimental.delay_distribution": "experimental.DelayDistribution",
}
"""The page of a name, and what else it describes, such as the result of a function."""

ONCE = re.compile(r"gbdt_objectives\.adapters\.(lightgbm|sklearn)\.\w+$")
"""What docs/api/boosters.rst describes by the differences from XGBoost's."""

logger = logging.getLogger(__name__)


def described_on(names: str) -> list[tuple[str, str]]:
    """Directive and full name of what the page of another name describes besides."""
    found = [(f"gbdt_objectives.{name}", attrgetter(name)(gbdt_objectives))
             for name in names.split()]  # fmt: skip
    return [
        ("class" if isinstance(one, type) else "function" if inspect.isroutine(one) else "data",
         name) for name, one in found
    ]  # fmt: skip


autosummary_context = {"together": {
    f"gbdt_objectives.{page}": described_on(names) for page, names in TOGETHER.items()
}}  # fmt: skip


def public_names() -> dict[str, Any]:
    """What the reference describes, by full name."""
    names = {f"gbdt_objectives.{name}": getattr(gbdt_objectives, name)
             for name in gbdt_objectives.__all__}  # fmt: skip
    for room in (*ROOMS, *ENGINES):
        with mock(autodoc_mock_imports):
            module = importlib.import_module(f"gbdt_objectives.{room}")
            own = {name for name in module.__all__ if f"{room}.{name}" not in (*ENGINES, *APART)}
            names |= {f"gbdt_objectives.{room}.{name}": getattr(module, name) for name in own}
    return names


def check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name is in the reference, once."""
    public, described = public_names(), env.domains["py"].objects
    places: dict[int, list[str]] = {id(one): [] for one in public.values()}
    for name in public.keys() & described.keys():
        places[id(public[name])].append(name)
    for name, one in sorted(public.items()):
        if len(places[id(one)]) != 1:
            found = " and ".join(sorted(places[id(one)])) or "nowhere"
            logger.warning("public name %s is described in docs/api: %s", name, found)


def check_searched(app: Sphinx, env: BuildEnvironment) -> None:
    """Every page that a searched word leads to is there."""
    for page in searched.PAGES.keys() - env.found_docs:
        logger.warning("docs/searched.py names %s, which is no page", page)


def find_public_name(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, contnode: nodes.TextElement
) -> nodes.Element | None:
    """A public name that a docstring uses without its module."""
    domain = env.domains["py"]
    rooms = ("", *(f".{room}" for room in ROOMS), ".adapters.xgboost")
    names = [f"gbdt_objectives{room}.{node['reftarget']}" for room in rooms]
    name = next((name for name in names if name in domain.objects), None)
    if node.get("refdomain") != "py" or name is None:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contnode)


def skip_foreign(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> Any:
    """Leave out a method of another library, which is wrapped here and documented there."""
    foreign = inspect.isfunction(member) and not member.__module__.startswith("gbdt_objectives")
    return True if foreign else None


def say_once(
    app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]
) -> None:
    """Leave out of LightGBM's and scikit-learn's docstrings what XGBoost's says already."""
    if ONCE.match(name):
        lines[1:] = ["", *lines[lines.index("Examples") :]] if "Examples" in lines else []


def link_pages(*event: Any) -> None:
    """A page that a docstring names by its path, as ``docs/deploy.md``, is a link."""
    lines = event[-1]
    lines[:] = [re.sub(r"``((docs/[\w/]+)\.md)``", r":doc:`\1 </\2>`", line) for line in lines]


DRAWN = re.compile(r"(?:pictures/|/sphx_glr_plot_\d_)(\w+?)(?:_001|_thumb)?\.png$")
"""Pictures of docs/make_pictures.py and the gallery; the group is their name."""


class NarrowPictures(SphinxTransform):
    """A picture that is also drawn for phones stands there twice; site.css shows one of them."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for image in [*self.document.findall(nodes.image), *self.document.findall(imgsgnode)]:
            drawn = DRAWN.search(image["uri"])
            narrow = f"docs/pictures/{drawn[1]}_narrow.png" if drawn else ""
            if narrow and (Path(self.env.srcdir) / narrow).is_file():
                image["classes"].append("wide-picture")
                place = image.parent.index(image) + 1
                found = {"alt": image["alt"], "classes": ["narrow-picture"]}
                image.parent.insert(place, nodes.image(uri=f"/{narrow}", **found))


class TypesetFormulas(SphinxTransform):
    """A formula of a docstring, a block of plain text there, is set as mathematics."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        if not self.env.docname.startswith("docs/api/"):
            return
        for block in list(self.document.findall(nodes.literal_block)):
            if "language" in block:
                continue
            parts = block.astext().split("\n\n")
            try:
                found = [(formulas.to_latex(part), formulas.to_pieces(part)) for part in parts]
            except formulas.NotAFormula:
                continue
            block.replace_self([
                nodes.math_block(tex, tex, classes=["formula"], pieces=pieces)
                for tex, pieces in found
            ])  # fmt: skip


class SearchedWords(SphinxTransform):
    """What people type is an entry of the index, which the search lists first."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        words = searched.words_of(self.env.docname)
        elsewhere = searched.EVERY.difference(words)
        for index in self.document.findall(addnodes.index):  # such as a term of the glossary
            index["entries"] = [
                (kind, word, place, "" if word.lower() in elsewhere else main, key)
                for kind, word, place, main, key in index["entries"]
            ]
        entries = [("single", word, "", "main", None) for word in words]
        self.document += addnodes.index(entries=entries)


def inline_math(self: Any, node: nodes.math) -> None:
    self.body.append(convert(node.astext()))
    raise addnodes.nodes.SkipNode


def block_math(self: Any, node: nodes.math_block) -> None:
    drawn, pieces = convert(node.astext(), display="block"), node.get("pieces", [])
    if pieces and drawn.count("<mtr>") != len(pieces):
        logger.warning("a line of a formula is lost: %s", node.astext(), location=node)
    self.body.append(self.starttag(node, "div", CLASS="math"))  # and the node's own classes
    self.body.append(drawn + "</div>")
    if pieces:  # once more, for phones: site.css shows one of the two
        lines = ["&emsp;".join(" ".join(map(convert, cell)) for cell in line) for line in pieces]
        self.body.append(f'<div class="folded-formula"><p>{"</p><p>".join(lines)}</p></div>')
    raise addnodes.nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("env-check-consistency", check_names)
    app.connect("env-check-consistency", check_searched)
    app.connect("missing-reference", find_public_name)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", say_once, priority=400)  # numpydoc reads it at 500
    app.connect("autodoc-process-docstring", link_pages)
    app.add_transform(NarrowPictures)
    app.add_transform(TypesetFormulas)
    app.add_transform(SearchedWords)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
