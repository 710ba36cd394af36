"""Write the computed numbers into pages: ``python -m tests.pages.mend``, then read the diff."""

from __future__ import annotations

from tests.pages.test_pages import PAGES


def main() -> None:
    for page in PAGES:
        for file in page.files:
            text = page.mended(file)
            if text != file.read_text(encoding="utf-8"):
                file.write_text(text, encoding="utf-8")
        for problem in page.problems():
            print(problem)


if __name__ == "__main__":
    main()
