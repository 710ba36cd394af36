"""Write the computed numbers into pages: ``python -m tests.pages.mend``, then read the diff."""

from __future__ import annotations

from tests.pages.test_pages import PAGES


def main() -> None:
    for page in PAGES:
        text = page.mended()
        if text != page.file.read_text(encoding="utf-8"):
            page.file.write_text(text, encoding="utf-8")
        for problem in page.problems():
            print(problem)


if __name__ == "__main__":
    main()
