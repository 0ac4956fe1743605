"""A comparison for many queries that differ in its constant: rows go to the readers concerned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.constant_order import Constants
from sensorstream.network.node import Node
from sensorstream.network.operators.place_join import PlaceIndex
from sensorstream.network.rows import Row, rearranged, slots_of


class ThresholdsOperator(Node):
    """The rows that any reader wants: ``variable operator constant``, each with its constant.

    ``constants`` are those of the readers. A row costs finding its place among them, and one step
    for each reader that wants it.
    """

    def __init__(
        self, source: Node, variable: str, operator: str, constants: Constants | PlaceIndex
    ) -> None:
        super().__init__((source,), source.variables, source.certain)
        self.constants = constants
        self._place = slots_of(source.variables)[variable]
        self._operator = operator
        self._readers: dict[Term, list[BeyondOperator]] = {}
        self.concerned = self._concerned = dict[BeyondOperator, None]()

    def enter(self, constant: IRI | Literal, reader: BeyondOperator) -> None:
        """Begin to give a reader the rows beyond a constant."""
        if constant not in self._readers:
            self.constants.add(constant)
        self._readers.setdefault(constant, []).append(reader)

    def leave(self, constant: IRI | Literal, reader: BeyondOperator) -> None:
        """Stop giving rows to a reader."""
        readers = self._readers.get(constant, [])
        if reader in readers:
            readers.remove(reader)
            self._concerned.pop(reader, None)
            if not readers:
                del self._readers[constant]
                self.constants.discard(constant)

    def flush(self) -> None:
        (source,) = self.inputs
        self._concerned.clear()
        self._give(source.added, self.added, lambda reader: reader.come)
        self._give(source.removed, self.removed, lambda reader: reader.gone)

    def _give(
        self, rows: Iterable[Row], out: list[Row], of: Callable[[BeyondOperator], list[Row]]
    ) -> None:
        place, passed = self._place, self.constants.passed
        for row in rows:
            found = passed(row[place])
            if found:
                out.append(row)
            for constant in found:
                for reader in self._readers[constant]:
                    of(reader).append(row)
                    self._concerned[reader] = None

    @property
    def apart(self) -> bool:
        return self.inputs[0].apart

    def rows(self) -> Iterator[Row]:
        place, wanted = self._place, self.constants.any_passed
        return (row for row in self.inputs[0].rows() if wanted(row[place]))

    def describe(self) -> str:
        variable = self.variables[self._place]
        return f"Filter ?{variable} {self._operator} one of {len(self.constants)} constants"


class BeyondOperator(Node):
    """The rows beyond one constant, as the ``output`` variables."""

    def __init__(
        self,
        source: ThresholdsOperator,
        constant: IRI | Literal,
        holds: Callable[[Row], bool],
        output: Sequence[str],
    ) -> None:
        super().__init__((source,), output, source.certain.intersection(output))
        self.come: list[Row] = []
        self.gone: list[Row] = []
        self._constant = constant
        self._holds = holds
        self._rearrange = rearranged(source.variables, output)

    def load(self) -> None:
        (source,) = self.inputs
        assert isinstance(source, ThresholdsOperator)
        source.enter(self._constant, self)

    def flush(self) -> None:
        self.added += self._rearrange(self.come)
        self.removed += self._rearrange(self.gone)
        self.come, self.gone = [], []

    @property
    def apart(self) -> bool:
        (source,) = self.inputs
        whole = self.variables == source.variables
        return not self.added or not self.removed or (whole and source.apart)

    def rows(self) -> Iterable[Row]:
        return self._rearrange(filter(self._holds, self.inputs[0].rows()))

    def release(self) -> None:
        (source,) = self.inputs
        assert isinstance(source, ThresholdsOperator)
        source.leave(self._constant, self)
