"""What the names in the expressions of a rule stand for."""

from __future__ import annotations

from sensorstream.dotr.cursor import Cursor
from sensorstream.dotr.syntax import attribute
from sensorstream.errors import QueryError


class Names:
    """The labels and variables of a rule, as far as it has been read."""

    def __init__(self) -> None:
        self.labels: dict[str, tuple[str, ...]] = {}
        self.selected: list[str] = []
        """The labels of events that the rule takes: the trigger, and each, first, last."""
        self.values: list[str] = []
        """The variables of aggregates."""

    def add(self, label: str, variables: tuple[str, ...]) -> None:
        """A selector; the first one is the trigger."""
        if not self.labels:
            self.selected.append(label)
        self.labels[label] = variables

    def resolved(self, cursor: Cursor, first: int, last: int) -> str:
        """The text of an expression, in which each variable is named after its label.

        ``Label.?x``, ``Label.x``, and ``?x`` where one selector only has it.

        Raises:
            QueryError: a label or variable is unknown, or of several selectors.
        """
        text = ""
        done = cursor.offset(first)
        at = first
        while at < last:
            token = cursor.tokens[at]
            start, found, used = token.start, "", 1
            if token.type == "VARIABLE":
                found = self._variable(cursor, at)
            elif at + 2 < last and cursor.tokens[at + 1].value == ".":
                found, used = self._attribute(cursor, at), 3
            if found:
                text += cursor.source.text[done:start] + found
                end = cursor.tokens[at + used - 1]
                done = end.start + len(end.value)
            at += used
        return text + cursor.source.text[done : cursor.offset(last)]

    def _variable(self, cursor: Cursor, at: int) -> str:
        name = cursor.tokens[at].value[1:]
        if name in self.values:
            return f"?{name}"
        owners = [label for label, names in self.labels.items() if name in names]
        if len(owners) == 1:
            return f"?{attribute(owners[0], name)}"
        known = ", ".join(f"{label}.?{name}" for label in owners)
        told = (
            f"expected one of {known}"
            if owners
            else "no selector has it: expected a variable that one of them selects"
        )
        raise QueryError(f"?{name}: {told}", position=cursor.position(at))

    def _attribute(self, cursor: Cursor, at: int) -> str:
        label, name = cursor.tokens[at].value, cursor.tokens[at + 2].value.lstrip("?$")
        if label not in self.labels:
            known = ", ".join(self.labels)
            raise QueryError(
                f"unknown label '{label}': expected one of {known}", position=cursor.position(at)
            )
        if name not in self.labels[label]:
            known = ", ".join(f"?{each}" for each in self.labels[label])
            raise QueryError(
                f"{label} has no ?{name}: expected one of {known}",
                position=cursor.position(at + 2),
            )
        return f"?{attribute(label, name)}"
