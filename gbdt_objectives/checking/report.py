"""The findings of a check of an objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "FAILED", "note", "not tested"]


class Failure(Exception):
    """Raised by a check."""


class Skipped(Exception):
    """Raised by a check that cannot be made."""


@dataclass(frozen=True)
class Finding:
    """The finding of one check; ``message`` says what is wrong and what it does to training."""

    check: str
    status: Status
    message: str


@dataclass(frozen=True, repr=False)
class ObjectiveReport:
    """What :func:`check_objective` found; prints as a table.

    Attributes
    ----------
    name : str
        Name of the objective.
    findings : tuple of Finding
        The findings of the checks, in the order in which these ran.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return all(finding.status != "FAILED" for finding in self.findings)

    def __repr__(self) -> str:
        width = max(len(finding.check) for finding in self.findings)
        lines = [f"  {f.check:<{width}}  {f.status:<10}  {f.message}" for f in self.findings]
        return "\n".join([f"{self.name}: {self._verdict}", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{f.check}</td><td>{f.status}</td>"
            f"<td style='text-align:left'>{escape(f.message)}</td></tr>"
            for f in self.findings
        )
        return f"<b>{escape(self.name)}</b>: {self._verdict}<table>{rows}</table>"

    @property
    def _verdict(self) -> str:
        failed = sum(f.status == "FAILED" for f in self.findings)
        return f"{failed} of {len(self.findings)} checks failed" if failed else "all checks passed"


class ObjectiveError(ValueError):
    """An objective that boosters would train wrongly on; ``report`` has all findings."""

    def __init__(self, report: ObjectiveReport) -> None:
        super().__init__(str(report))
        self.report = report
