"""The tables of parameters of both adapters, and how they are checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gbdt_objectives.adapters import _arguments

Values = tuple[object, ...]
Refused = Mapping[str, tuple[Values, str]]
RefusedWith = Mapping[str, tuple[Values, Mapping[str, Values], str]]


def by_reason(groups: Mapping[str, Mapping[str, Values]]) -> Refused:
    """{name: (neutral values, reason)}, from {reason: {name: neutral values}}."""
    return {
        name: (neutral, why) for why, names in groups.items() for name, neutral in names.items()
    }


@dataclass(frozen=True)
class Table:
    """What train() does with every parameter of a library, under its main name.

    A value that is allowed although the parameter is refused is neutral: it changes nothing.
    None is always neutral, the libraries drop it.
    """

    library: str
    aliases: Mapping[str, tuple[str, ...]]  # all names of a parameter that has more than one
    passed: frozenset[str]
    """They act under a custom objective, and the model starts and predicts correctly."""
    used: frozenset[str]  # train() itself looks at them
    refused: Refused  # neutral values, and why any other is refused and what to do instead
    refused_with: RefusedWith
    """What is refused only if all these other parameters have one of these values."""
    refused_stopping: Refused  # what is refused only together with early stopping
    foreign: Mapping[str, str]
    """Names that are not parameters of the library at all, and what to do instead."""

    def names(self, name: str) -> tuple[str, ...]:
        return self.aliases.get(name, (name,))

    def known(self) -> set[str]:
        """Every name, aliases included, for which there is a decision."""
        decided = {*self.passed, *self.used, *self.refused, *self.refused_with}
        return {alias for name in decided for alias in self.names(name)}.union(self.foreign)

    def check(
        self, params: Mapping[str, Any], stops_early: bool, in_library: Callable[[str], bool]
    ) -> None:
        """Raise ValueError for the first parameter that must not reach the library.

        ``in_library`` tells whether the installed library knows a name that is not in the table.
        """
        for name in self.aliases:
            self._check_spellings(params, name)
        for name, (neutral, reason) in self.refused.items():
            _arguments.refuse(params, self.names(name), neutral, reason)
        if stops_early:
            for name, (neutral, reason) in self.refused_stopping.items():
                _arguments.refuse(params, self.names(name), neutral, reason)
        for name, (neutral, others, reason) in self.refused_with.items():
            if all(_arguments.same(self.value(params, o), vs) for o, vs in others.items()):
                _arguments.refuse(params, self.names(name), neutral, reason)
        for name, instead in self.foreign.items():
            reason = f"{self.library} has no such parameter and ignores it; {instead}"
            _arguments.refuse(params, [name], (), reason)
        self._check_unknown(params, in_library)

    def value(self, params: Mapping[str, Any], name: str) -> Any:
        """The value of a parameter under whichever name it is given, else None."""
        given = [params[alias] for alias in self.names(name) if params.get(alias) is not None]
        return given[0] if given else None

    def _check_spellings(self, params: Mapping[str, Any], name: str) -> None:
        given = [alias for alias in self.names(name) if params.get(alias) is not None]
        for other in given[1:]:
            if not _arguments.same(params[other], (params[given[0]],)):
                raise ValueError(
                    f"params[{given[0]!r}] = {params[given[0]]!r} and params[{other!r}] = "
                    f"{params[other]!r} are one parameter of {self.library}, which would silently "
                    "use one of the values; leave one out"
                )

    def _check_unknown(self, params: Mapping[str, Any], in_library: Callable[[str], bool]) -> None:
        known = self.known()
        for name, value in params.items():
            if name in known or value is None or in_library(name):
                continue
            plain = str(name).lower().replace("-", "_").replace(".", "_").replace(" ", "_")
            nearest = difflib.get_close_matches(plain, sorted(known), 1, 0.8)
            if nearest:
                raise ValueError(
                    f"params[{name!r}] = {value!r} is refused: {self.library} has no such "
                    f"parameter and ignores it; did you mean {nearest[0]!r}?"
                )
