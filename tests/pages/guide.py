"""Sentences of the guide and of its theory, with figures from the results."""

from __future__ import annotations

from tests.pages.cited import Page, results, word

PERFORMANCE = Page("docs/theory/performance.md")


@PERFORMANCE.check
def coverage(page: Page) -> None:
    percent = 100 * results("performance_coverage")[["coverage", "naive_coverage"]]
    ours, naive = (
        f"{low:.0f} to {high:.0f} %" for low, high in percent.agg(["min", "max"]).T.to_numpy()
    )
    page.says(
        f"intervals of 90 % covered in {ours}, those with the naive error in {naive}.",
    )
