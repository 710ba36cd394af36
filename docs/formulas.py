"""The formulas of docstrings, which are plain text there, as LaTeX for the site.

A docstring is read in a terminal as often as on the site, so its formulas stand there once, in one
line of plain symbols: ``kappa = 1 - sum_ij (i-j)^2 O_ij / sum_ij (i-j)^2 E_ij``. They are set as
they stand, a quotient in its line, so that nothing has to be guessed about what binds to what.
"""

from __future__ import annotations

import re

GREEK = {"alpha", "beta", "gamma", "kappa", "lambda", "mu", "phi", "pi", "sigma", "tau", "theta"}

OPERATORS = {"exp", "ln", "log", "max", "min", "prod", "sum"}

FUNCTIONS = {"Beta", "Bin", "argmax", "argmin", "logit", "sigmoid", "softmax", "var"}

SYMBOLS = {
    "<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "<": r"\lt ", ">": r"\gt ", "...": r"\ldots ",
    "..": r"\ldots ", "{": r"\{", "}": r"\}", "%": r"\%", "|": "|",
} | {symbol: symbol for symbol in "=+-*/()[],:"}  # fmt: skip

TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<quoted>"[^"]*")
    | (?P<code>[A-Za-z]{2,}(?:_[A-Za-z]+)*_[A-Za-z]{3,}(?![A-Za-z_]))  # correct_probability
    | (?P<name>[A-Za-z]+)
    | (?P<number>\d+(?:\.\d+)?)
    | (?P<symbol><=|>=|!=|\.\.\.|\.\.|[-<>=+*/()\[\],:|%])""",
    re.VERBOSE,
)

ATTACHED = re.compile(r"(?P<prime>'(?![A-Za-z]))|(?P<tilde>~)|(?P<script>[_^])")


class NotAFormula(ValueError):
    """The text is code, or words."""


def to_latex(text: str) -> str:
    """The lines of a formula as an array; what begins at the same place is a column."""
    lines = _lines(text)
    columns = sorted({0, *(start for line in lines for start in list(line)[1:])})
    rows = r" \\ ".join(_row(line, columns) for line in lines)
    return rf"\begin{{array}}{{{'l' * len(columns)}}} {rows} \end{{array}}"


def to_pieces(text: str) -> list[list[list[str]]]:
    """The lines of a formula for narrow screens: pieces of each cell, which may be folded apart."""
    return [
        [_pieces(part) for cell in line.values() for part in re.split(r"(?<=,) {2,}", cell)]
        for line in _lines(text)
    ]


def _lines(text: str) -> list[dict[int, str]]:
    if re.match(r"\w{2,} = (?!min|max)\w+\(", text):
        raise NotAFormula(text)  # Python
    return [_cells(line) for line in text.rstrip().splitlines()]


def _cells(line: str) -> dict[int, str]:
    """What two or more spaces part, by where it begins; after a comma they part nothing."""
    return {match.start(): match[0] for match in re.finditer(r"\S+(?:(?: |(?<=,) +)\S+)*", line)}


def _row(cells: dict[int, str], columns: list[int]) -> str:
    row = {start: _defined(cell) for start, cell in cells.items()}
    goes_on = "".join(rf"\qquad {cell}" for start, cell in row.items() if start not in columns)
    found = {0: goes_on} | row
    return " & ".join(found.get(start) or "{}" for start in columns)  # a last row needs its cells


def _defined(cell: str) -> str:
    return r" \qquad ".join(map(_one_line, re.split(r"(?<=,) {2,}", cell)))


def _one_line(text: str) -> str:
    return "".join(_spaced(_tokens(text))).strip()


def _pieces(text: str) -> list[str]:
    """What stands between spaces; a sign stays with what follows it, and so does a function."""
    pieces: list[list[tuple[str, str]]] = [[]]
    for kind, found in _tokens(text):
        before = pieces[-1]
        sticks = bool(before) and (before[-1][0] == "operator" or _is_sign(before))
        if kind != "space":
            before.append((kind, found))
        elif sticks:
            before.append(("symbol", r"\,"))
        elif before:
            pieces.append([])
    return ["".join(_spaced(piece)).strip() for piece in pieces if piece]


def _is_sign(piece: list[tuple[str, str]]) -> bool:
    return len(piece) == 1 and piece[0][0] == "symbol" and piece[0][1] not in {",", "(", ")"}


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    while place < len(text):
        kind, found, place = _token(text, place)
        tokens.append((kind, found))
    return tokens


def _token(text: str, place: int) -> tuple[str, str, int]:
    """Kind, LaTeX and end of the token at a place, with its primes, subscripts and powers."""
    match = TOKEN.match(text, place)
    if match is None:
        raise NotAFormula(text)
    kind, word, place = str(match.lastgroup), match[0], match.end()
    if word == "sqrt":
        inside, place = _script(text, place)
        return "operator", rf"\sqrt{{{inside}}}", place
    if kind == "name":
        kind, latex = _name(word, text[place:])
    else:
        latex = SYMBOLS.get(word, word)
    while kind in {"math", "operator", "symbol", "number"}:
        attached = ATTACHED.match(text, place)
        if attached is None:
            break
        if attached["prime"]:
            latex, place = latex + "'", attached.end()
        elif attached["tilde"]:
            latex, place = rf"\tilde{{{latex.strip()}}}", attached.end()
        else:
            if attached[0] + "{" in latex:
                raise NotAFormula(text)  # out_of_x
            script, place = _script(text, attached.end())
            latex += f"{attached[0]}{{{script}}}"
    return kind, latex, place


def _name(word: str, rest: str) -> tuple[str, str]:
    if word in GREEK:
        return "math", rf"\{word} "
    if word in OPERATORS:
        return "operator", rf"\{word}"
    if len(word) == 1:
        following = re.match(r" ([a-z]{2,})", rest)  # "a row": the article
        article = word == "a" and following and following[1] not in GREEK | OPERATORS | FUNCTIONS
        return ("text", word) if article else ("math", word)
    if word in FUNCTIONS or word.isupper() or rest[:1] in {"_", "^", "("}:
        return "operator", rf"\mathrm{{{word}}}"
    if rest[:1] == ".":
        raise NotAFormula(word + rest)
    return "text", word


def _script(text: str, place: int) -> tuple[str, int]:
    """What a subscript or a power holds: up to its bracket's end, or letters and digits."""
    if text[place : place + 1] in {"{", "("}:
        close = {"{": "}", "(": ")"}[text[place]]
        depth, end = 0, place
        for end in range(place, len(text)):
            depth += (text[end] == text[place]) - (text[end] == close)
            if depth == 0:
                break
        return _one_line(text[place + 1 : end]), end + 1
    match = re.compile(r"-?(in|out|cv)\b|-?\w").match(text, place)
    if match is None:
        raise NotAFormula(text)
    if match[1]:
        return rf"\mathrm{{{match[1]}}}", match.end()
    letters = re.compile(r"-?[A-Za-z0-9]+").match(text, place)
    assert letters is not None
    return letters[0], letters.end()


def _spaced(tokens: list[tuple[str, str]]) -> list[str]:
    """Spaces are kept where words stand, and between a function and its argument."""
    out = []
    for i, (kind, latex) in enumerate(tokens):
        before = tokens[i - 1][0] if i else ""
        after = tokens[i + 1][0] if i + 1 < len(tokens) else ""
        if kind == "space":
            worded = {before, after} & {"text", "quoted", "code"}
            named = "operator" in {before, after} and "symbol" not in {before, after}
            out.append(r"\;" if worded else r"\," if named else " ")
        elif latex == "-" and before == after == "text":
            out.append(r"\text{-}")  # held-out
        elif kind in {"text", "quoted", "code"}:
            out.append(rf"\text{{{latex}}}")
        else:
            out.append(latex)
    return out
