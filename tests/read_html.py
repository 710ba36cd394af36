"""Pages and tables of HTML as a reader of them sees: tags closed, text unescaped."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img"}


class Read(HTMLParser):
    """The tables by title, each a list of rows by header; all tags and attributes; all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[dict[str, str]]] = {}
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.title = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            head, *rows = self.rows
            assert len(set(head)) == len(head)
            self.tables[self.title] = [dict(zip(head, row, strict=True)) for row in rows]

    def handle_data(self, data):
        self.text += data
        if {"caption", "h2"} & {*self.open}:
            self.title = data
        elif self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def only_table(html: str) -> tuple[str, list[dict[str, str]]]:
    ((title, rows),) = Read(html).tables.items()
    return title, rows
