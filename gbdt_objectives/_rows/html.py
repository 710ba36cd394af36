"""Results as HTML, for notebooks and reports: text is escaped, colours are those around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gbdt_objectives._checks import shown
from gbdt_objectives._rows.values import printed_rows, write_table

if TYPE_CHECKING:
    from pandas import DataFrame


class Shown:
    """Mixin of results that notebooks show as a table: ``_shown`` is its title and columns."""

    _shown: Callable[[], tuple[str, Mapping[str, Any]]]

    def _repr_html_(self) -> str:
        title, columns = self._shown()
        n = len(next(iter(columns.values())))
        at = printed_rows(n)
        some = {name: np.asarray(column, object)[at] for name, column in columns.items()}
        left_out = n - len(at)
        return html_table(f"{title}, {left_out} rows left out" if left_out else title, some)


class Table(Shown):
    """Mixin of results that have a row of each class, segment, bin or method: ``_columns``."""

    def _shown(self) -> tuple[str, Mapping[str, Any]]:
        return type(self).__name__, self._columns()

    def _columns(self) -> Mapping[str, Any]:
        return vars(self)

    def __repr__(self) -> str:
        title, columns = self._shown()
        return f"{title}\n{write_table(**columns)}"

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame, with all columns, rows and digits."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        return DataFrame(self._columns())


def facts(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns of a table with a row of each named value."""
    return {"": list(values), "value": [shown(value) for value in values.values()]}


def html_table(title: str, columns: Mapping[str, Any]) -> str:
    """A table under its title, if any: words in full, numbers in four digits or whole, no nan."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = zip(*(np.asarray(column, object) for column in columns.values()), strict=True)
    rows = "".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in lines)
    caption = title and f"<caption style='text-align:left'><b>{escape(title)}</b></caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    if not isinstance(value, int | float | np.integer | np.floating):
        return f"<td style='text-align:left'>{escape(str(value))}</td>"
    if math.isnan(value):
        return "<td></td>"
    whole = math.isinf(value) or value == int(value)
    return f"<td style='text-align:right'>{value:{'.0f' if whole else '.4g'}}</td>"
