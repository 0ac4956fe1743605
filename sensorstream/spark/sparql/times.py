"""Times and durations of a query's tree for Spark: the functions of the history in Java.

They are those of schema ``store`` (``times.java``), each under its own name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql.numbers import PREFIX, TIMES
from sensorstream.spark.sparql.typed import (
    Handler,
    Kind,
    Typed,
    Within,
    as_number,
    call,
    refused,
    text,
)
from sensorstream.sql.sparql.comparisons import INSTANTS

_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(TIMES, Kind.TEXT),
    "is_time": Kind.BOOLEAN,
    "time_order": Kind.INTEGER,
}
_NUMBERS: Final = ("time_key", "time_tie")


def _of_time(within: Within, node: exp.Dot) -> Typed:
    function = node.expression
    name = function.name.lower()
    if name not in _KINDS:
        raise refused(node)
    given = [within.typed(each) for each in function.expressions]
    if name == "time_sum":
        given[-1] = text(function.expressions[-1].sql())
    made = call(PREFIX + name, _KINDS[name], *given)
    return as_number(made) if name in _NUMBERS else made


def exact_order(node: exp.Subquery) -> exp.Expr | None:
    """The order of two times, of a query that looks at their stored instants first.

    Spark would put what reads them into each place where it is compared.
    """
    source = node.this.args.get("from_")
    if source is None or source.this.alias != INSTANTS:
        return None
    return next(
        (e for e in node.find_all(exp.Dot) if e.expression.name.lower() == "time_order"), None
    )


HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {exp.Dot: _of_time}
