"""Measure the built site in a headless Chromium: ``python .ci/layout.py SITE [--pictures FOLDER]``.

Each page is opened at 1366, 1280 and 390 pixels. It fails for a page that is wider than its window,
one of two sections or more whose contents are not in sight, a block of code whose lines are cut at
1280, Python code that is not folded at 390, a word that is folded in code, a name that is broken
within a table, a picture that is cut, too small to read on a phone or without an alternative
text. ``--page`` opens this page only; ``--pictures`` saves the first screen of each page that is
opened.

The browser is that of PyQt6-WebEngine. Where it is not installed, or does not start, nothing is
measured, which is said, and is no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WIDTHS = {1366: 768, 1280: 900, 390: 844}
MEASURE = """
(() => {
  const found = [];
  const short = text => text.trim().replace(/\\s+/g, ' ').slice(0, 70);
  const wide = document.documentElement;
  if (wide.scrollWidth > wide.clientWidth + 1) {
    const by = [...document.querySelectorAll('main *')].filter(
      e => e.getBoundingClientRect().right > wide.clientWidth + 1
        && !e.closest('pre, .pst-scrollable-table-container, div.math, .output_area')
    ).map(e => e.tagName + ' ' + short(e.textContent)).slice(0, 3);
    found.push('the page is ' + wide.scrollWidth + ' wide: ' + by.join(' | '));
  }
  const phone = wide.clientWidth < 720;
  const seen = e => e.getClientRects().length > 0;
  const lines = rects => new Set([...rects].map(r => Math.round(r.top / 4))).size;
  const contents = '#pst-page-toc-nav, details.contents > summary';
  if (document.querySelectorAll('article h2').length > 1
      && ![...document.querySelectorAll(contents)].some(seen))
    found.push('its contents are not in sight');
  for (const pre of document.querySelectorAll('div.highlight pre')) {
    const folds = getComputedStyle(pre).whiteSpace == 'pre-wrap';
    if (phone ? !folds && pre.closest('.highlight-python, .highlight-Python, .highlight-ipython3')
              : pre.scrollWidth > pre.clientWidth + 1)
      found.push('code is cut by ' + (pre.scrollWidth - pre.clientWidth) + ': ' + short(
        pre.textContent.split('\\n').sort((a, b) => b.length - a.length)[0]));
    const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT), range = new Range();
    const words = pre.closest('.highlight-bash') ? /\\S{2,}/g : /\\w{2,}/g;
    for (let text; folds && (text = texts.nextNode());)
      for (const word of text.data.matchAll(words)) {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (lines(range.getClientRects()) > 1)
          found.push('a word is folded in code: ' + word[0]);
      }
  }
  for (const name of document.querySelectorAll('table code, table a'))
    if (name.textContent.length < 40 && !/[\\s\\-/,]/.test(name.textContent.trim())
        && lines(name.getClientRects()) > 1)
      found.push('a name is broken: ' + short(name.textContent));
  const scrolls = e => e && (getComputedStyle(e).overflowX == 'auto' || scrolls(e.parentElement));
  for (const img of document.querySelectorAll('main img:not(.sphx-glr-thumbcontainer img)')) {
    const box = img.getBoundingClientRect(), name = img.src.split('/').pop();
    if (!img.alt)
      found.push('no alternative text: ' + name);
    if (seen(img) && box.right > wide.clientWidth + 1 && !scrolls(img))
      found.push('a picture is cut: ' + name);
    if (seen(img) && phone && img.naturalWidth > 600 && box.width < 600
        && !img.classList.contains('narrow-picture'))
      found.push('a picture is too small to read: ' + name);
  }
  return JSON.stringify([document.querySelectorAll('div.highlight pre').length, found]);
})()
"""

TRIAL = """
import os, runpy, sys
print("the answer is", runpy.run_path(sys.argv[1])["Browser"]().run("6 * 7"), flush=True)
os._exit(0)
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder for the first screens")
    parser.add_argument("--page", action="append", default=[], help="docs/index.html, ...")
    given = parser.parse_args(arguments)
    tried = subprocess.run([sys.executable, "-c", TRIAL, __file__], capture_output=True, text=True)
    if "the answer is 42" not in tried.stdout:
        print(f"the layout is not measured, as no browser starts: {tried.stderr.strip()[-200:]}")
        return 0
    pages = [given.site / page for page in given.page] or [
        page for page in sorted(given.site.rglob("*.html"))
        if page.name not in ("genindex.html", "py-modindex.html", "search.html")
        and not {"_static", "_modules"} & set(page.parts) and page.parent != given.site
    ]  # fmt: skip
    browser, faults, blocks = Browser(), 0, 0
    for width, height in WIDTHS.items():
        browser.resize(width, height)
        for page in pages:
            browser.open(page)
            n, found = json.loads(browser.run(MEASURE))
            blocks += n * (width == max(WIDTHS))
            for fault in dict.fromkeys(found):
                print(f"{page.relative_to(given.site)} at {width}: {fault}")
            faults += len(found)
            if given.pictures:
                given.pictures.mkdir(parents=True, exist_ok=True)
                name = f"{page.relative_to(given.site).with_suffix('')}-{width}.png"
                browser.save(given.pictures / name.replace(os.sep, "-"))
    print(f"{len(pages)} pages, {blocks} blocks of code, at {len(WIDTHS)} widths {faults} faults")
    return int(faults > 0)


class Browser:
    """A window that nobody sees."""

    def __init__(self) -> None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        os.environ.setdefault("QT_LOGGING_RULES", "*=false")
        flags = "--no-sandbox --disable-gpu --log-level=3 --hide-scrollbars"
        os.environ.setdefault("QTWEBENGINE_CHROMIUM_FLAGS", flags)
        from PyQt6.QtWebEngineWidgets import QWebEngineView
        from PyQt6.QtWidgets import QApplication

        self.app = QApplication(["layout"])
        self.view = QWebEngineView()
        self.view.show()

    def resize(self, width: int, height: int) -> None:
        self.view.resize(width, height)

    def open(self, page: Path) -> None:
        from PyQt6.QtCore import QUrl

        loaded: list[bool] = []
        self.view.loadFinished.connect(loaded.append)
        self.view.load(QUrl.fromLocalFile(str(page.resolve())))
        self.wait_for(loaded, f"{page} to load")
        self.view.loadFinished.disconnect(loaded.append)

    def run(self, script: str) -> Any:
        results: list[Any] = []
        self.view.page().runJavaScript(script, results.append)
        self.wait_for(results, "the answer of a page")
        return results[0]

    def save(self, path: Path) -> None:
        for _ in range(20):  # until it has drawn
            self.app.processEvents()
            time.sleep(0.03)
        self.view.grab().save(str(path))

    def wait_for(self, box: list[Any], what: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not box:
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds:g} seconds for {what}")
            self.app.processEvents()
            time.sleep(0.002)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # Qt (6.11) may crash when Python takes its windows apart
