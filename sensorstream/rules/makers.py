"""Which semantic rules may have inserted a statement, by the text of their actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.language import syntax
from sensorstream.model.terms import Term, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.update import parsed_update
from sensorstream.sparql.algebra import InsertData, Modify, TriplePattern, Variable


def makers(files: Iterable[syntax.RuleFile], triple: Triple) -> tuple[str, ...]:
    """The names of the rules with an action that inserts such a statement, in order.

    The names and values that come from variables may be any.
    """
    return tuple(
        rule.name
        for file in files
        for rule in file.semantic_rules
        if any(_inserts(action, file, triple) for action in rule.actions)
    )


def _inserts(action: syntax.Action, file: syntax.RuleFile, triple: Triple) -> bool:
    match action:
        case syntax.IndividualAction():
            return _named(action.name, file, triple[0]) and (
                any(
                    triple[1] == RDF_TYPE and _named(each, file, triple[2])
                    for each in action.classes
                )
                or any(file.resolve(each.property) == triple[1] for each in action.properties)
            )
        case syntax.SparqlUpdate(update=update):
            return any(_fits(each, triple) for each in _templates(update, file))
    return False


def _named(name: object, file: syntax.RuleFile, term: Term) -> bool:
    if isinstance(name, syntax.Name) and name.is_constant:
        return file.resolve(name) == term
    return True


def _templates(update: syntax.Sparql, file: syntax.RuleFile) -> Iterator[TriplePattern]:
    for operation in parsed_update(update, file, ()).meaning.operations:
        match operation:
            case InsertData(quads):
                yield from (each.triple for each in quads)
            case Modify(insert=quads):
                yield from (each.triple for each in quads or ())


def _fits(pattern: TriplePattern, triple: Triple) -> bool:
    parts = (pattern.subject, pattern.predicate, pattern.object)
    return all(
        isinstance(part, Variable) or part == term for part, term in zip(parts, triple, strict=True)
    )
