"""How the mapping rules handled a message, as lines of Turtle comments."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.mapping.rule_report import Explanation, ExpressionReport, RuleReport, Yield


def lines_of(explanation: Explanation) -> Iterator[str]:
    """The lines, each a comment, so that the whole output is Turtle."""
    if explanation.error:
        yield f"#   rejected: {explanation.error}"
    for rule in explanation.rules:
        yield from _rule(rule)
    for each in explanation.yields:
        yield f"#   map {each.rule}: {_made(each)}"
    if explanation.unmapped:
        but = " by a rule (what maps look at is not traced)" if explanation.yields else ""
        yield f"#   not mapped{but}:"
    for place in explanation.unmapped:
        times = "" if place.count == 1 else f", {place.count} times"
        text = f' "{place.text}"' if place.text else ""
        yield f"#     line {place.line}: {place.path}{text}{times}"


def _rule(report: RuleReport) -> Iterator[str]:
    if not report.matched:
        yield f"#   rule {report.rule}: not matched: {report.cause}"
        return
    yield f"#   rule {report.rule}: matched"
    for expression in report.expressions:
        cause = f": {expression.cause}" if expression.cause else ""
        yield f"#     {expression.role} {expression.written}: {_found(expression)}{cause}"


def _made(made: Yield) -> str:
    if made.error:
        return f"rejected: {made.error}"
    if not made.matched:
        return f"not matched: {made.cause}"
    path = f"{{{made.path}}} found {made.found}, " if made.path else ""
    nothing = ", ".join(f"{{{xpath}}}" for xpath in made.missing)
    return (
        f"matched: {path}{made.triples} triple{'s' if made.triples != 1 else ''}"
        f"{f'; nothing found by {nothing}' if nothing else ''}"
    )


def _found(expression: ExpressionReport) -> str:
    if not expression.tried:
        return "not tried"
    if expression.role == "if":
        return f"held {expression.found} of {expression.tried} times"
    values = ", ".join(f'"{value}"' for value in expression.values)
    found = f"found {expression.found}" + (f", {values}" if values else "")
    if expression.missed:
        found += f", missing {expression.missed} of {expression.tried} times"
    return found
