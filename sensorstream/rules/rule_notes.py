"""Notes on the texts of semantic rules.

They are about valid queries and triggers that are probably not what was meant; rules that may have
inserted a statement; and descriptions of a class where the reasoner knows classes only by their
names: such a query has no solutions, so the rule would never fire.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from sensorstream.analysis import Note, QueryContext, query_notes
from sensorstream.analysis.filter_notes import never_matches
from sensorstream.analysis.value_kinds import NAME, Kinds, all_kinds, kind_of
from sensorstream.errors import LanguageError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown
from sensorstream.model import rdf, rdfs
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import OWL
from sensorstream.rules.condition_reader import (
    in_rule_file,
    parsed_condition,
    returning,
    select_query,
)
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.history_rules import read_history_query
from sensorstream.rules.rule_actions import parsed_change
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.triggers import (
    LAST,
    NOW,
    bound_by,
    conditions_of,
    end_of,
    is_punctual,
    question_of,
)
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Query, TriplePattern, Update, Variable
from sensorstream.sparql.described import check_named
from sensorstream.sparql.query_parser import Parsed
from sensorstream.sparql.walk import nodes, variables, visible

# These relate classes, but make no individual a member of a class.
_NO_MEMBERS: Final = frozenset(
    IRI(f"{OWL}{name}") for name in ("disjointWith", "AllDisjointClasses", "versionInfo")
)

_MAKING_PROPERTIES: Final = frozenset(
    IRI(f"{OWL}{name}") for name in ("inverseOf", "propertyChainAxiom")
)
"""Axioms by which a property may hold without a rule that states it."""


def rule_notes(
    files: Sequence[syntax.RuleFile],
    schema: Schema,
    triples: Collection[Triple],
    line: Timeline,
    *,
    others_make: bool = False,
) -> Iterator[Note]:
    """The notes on the semantic rules of some files, which compile.

    ``triples`` is the ontology. ``others_make`` says that mappings beside these files make
    individuals, whose classes are not known.
    """
    made = None if others_make else _made(files)
    for file in files:
        for rule in file.semantic_rules:
            if made is not None:
                yield from _of_classes(rule, file, made, schema, triples)
            yield from _of_queries(rule, file, QueryContext(schema), line)


def _of_queries(
    rule: syntax.SemanticRule, file: syntax.RuleFile, known: QueryContext, line: Timeline
) -> Iterator[Note]:
    given: dict[str, Kinds] = dict.fromkeys(bound_by(rule.trigger), frozenset((NAME,)))
    given[NOW] = kind_of(line.literal(0))
    if isinstance(rule.trigger, syntax.OnSilence) or is_punctual(rule.trigger):
        given[LAST] = given[NOW]
    if isinstance(rule.trigger, syntax.OnUpdate):
        # The values may be of any kind.
        given |= {each.name: None for each in rule.trigger.variables[1:]}
    known = replace(known, given=given)
    if (question := question_of(rule.trigger)) is not None:
        asked = read_history_query(question, file)
        parsed = _with_given(asked.parsed, known.given)
        pattern = parsed.meaning.form.pattern
        yield from query_notes(parsed, known)
        if never_matches(pattern, known):
            told = f"rule {rule.name} cannot fire: its question to the history has no solutions"
            yield Note("rule-never-fires", told, parsed.start)
        known = _with_kinds(known, pattern, asked.returned)
    for condition in conditions_of(rule):
        if not isinstance(condition, syntax.SelectCondition | syntax.AskCondition):
            continue
        parsed = _with_given(parsed_condition(condition.query, file), known.given)
        yield from query_notes(parsed, known)
        if condition.negated:
            continue
        pattern = parsed.meaning.form.pattern
        if never_matches(pattern, known):
            yield Note(
                "rule-never-fires",
                f"rule {rule.name} cannot fire: this condition never holds",
                condition.position,
            )
        if isinstance(condition, syntax.SelectCondition):
            known = _with_kinds(known, pattern, select_query(parsed, known.given)[1])
    ends = end_of(rule.trigger)
    if isinstance(ends, syntax.SelectCondition | syntax.AskCondition):
        parsed = _with_given(parsed_condition(ends.query, file), known.given)
        yield from query_notes(parsed, known)
    for update in updates_of(rule, file):
        yield from query_notes(update, known)


def _with_given(parsed: Parsed[Query], given: Collection[str]) -> Parsed[Query]:
    """The query as a rule asks it: given variables mean the same within a SELECT as outside."""
    form = parsed.meaning.form
    if not isinstance(form, algebra.Select):
        return parsed
    names = {each.name for each in variables(form.pattern)}
    hidden = sorted(names.intersection(given).difference(v.name for v in visible(form.pattern)))
    form = algebra.Select(returning(form.pattern, hidden))
    return replace(parsed, meaning=replace(parsed.meaning, form=form))


def _with_kinds(known: QueryContext, pattern: Pattern, returned: Iterable[str]) -> QueryContext:
    """The context after a query: with the kinds of the values that it has found."""
    found = all_kinds((pattern,), known.schema, known.given)
    return replace(known, given={**known.given, **{name: found.get(name) for name in returned}})


def updates_of(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[Parsed[Update]]:
    """The updates among the actions of a rule.

    Raises LanguageError if one of them, or a condition before them, cannot be read.
    """
    given = bound_by(rule.trigger)
    if (question := question_of(rule.trigger)) is not None:
        given |= read_history_query(question, file).returned
    for condition in conditions_of(rule):
        if isinstance(condition, syntax.SelectCondition) and not condition.negated:
            given |= select_query(parsed_condition(condition.query, file), given)[1]
    for action in rule.actions:
        if isinstance(action, syntax.SparqlUpdate | syntax.DeletePattern):
            yield parsed_change(action, file, given)


# Rules whose trigger class never gets a member


@frozen
class _Made:
    """The classes whose members rules make, and the properties they state."""

    classes: frozenset[IRI]
    properties: frozenset[IRI]


def _made(files: Iterable[syntax.RuleFile]) -> _Made | None:
    """The classes and properties that the rules of some files make; None: any."""
    classes: set[IRI] = set()
    properties: set[IRI] = set()
    for file in files:
        for node in nodes(file.rules, object):
            match node:
                case syntax.IndividualAction(classes=names) | syntax.BlankValue(classes=names):
                    classes |= {file.resolve(name) for name in names}
                case syntax.PropertyValues(property=name):
                    properties.add(file.resolve(name))
        if rdf.TYPE in properties:
            # The class is a value of the message.
            return None
        for quad in _inserted(file):
            predicate, value = quad.triple.predicate, quad.triple.object
            if not isinstance(predicate, IRI):
                return None
            if predicate != rdf.TYPE:
                properties.add(predicate)
            elif isinstance(value, IRI):
                classes.add(value)
            else:
                return None
    return _Made(frozenset(classes), frozenset(properties))


def _inserted(file: syntax.RuleFile) -> Iterator[algebra.Quad]:
    for rule in file.semantic_rules:
        for update in updates_of(rule, file):
            yield from _said_by(update)


def _said_by(update: Parsed[Update]) -> Iterator[algebra.Quad]:
    """The triples that an update inserts."""
    for operation in update.meaning.operations:
        match operation:
            case algebra.InsertData(quads):
                yield from quads
            case algebra.Modify(insert=quads):
                yield from quads or ()


def _of_classes(
    rule: syntax.SemanticRule,
    file: syntax.RuleFile,
    made: _Made,
    schema: Schema,
    triples: Collection[Triple],
) -> Iterator[Note]:
    """Notes on the classes without whose members a rule cannot fire."""
    for name, in_ontology in _needed(rule):
        iri = file.resolve(name)
        classes = frozenset((iri, *schema.subclasses(iri)))
        if in_ontology and any(p == rdf.TYPE and o in classes for _, p, o in triples):
            continue
        if not _may_have_members(classes, made, schema, triples):
            yield Note(
                "rule-never-fires",
                f"rule {rule.name} cannot fire: no rule makes a {shown(file, iri)}, and the "
                "ontology does not say what else is one",
                name.position,
            )


def _needed(rule: syntax.SemanticRule) -> Iterator[tuple[syntax.WrittenName, bool]]:
    """The classes that must have members, and whether members in the ontology are sufficient."""
    if isinstance(rule.trigger, syntax.OnInsert | syntax.OnExpire | syntax.OnSilence):
        yield rule.trigger.class_name, False
    for condition in conditions_of(rule):
        match condition:
            case syntax.ExistsCondition(class_name=name, negated=False):
                yield name, True
            case syntax.CountCondition(class_name=name, comparison=">" | ">=" | "=", negated=False):
                if condition.number > 0 or condition.comparison == ">":
                    yield name, True


def _may_have_members(
    classes: frozenset[IRI], made: _Made, schema: Schema, triples: Collection[Triple]
) -> bool:
    """Whether an individual may become a member of one of the classes; True if in doubt."""
    if classes & made.classes:
        return True
    properties = made.properties
    if any(predicate in _MAKING_PROPERTIES for _, predicate, _ in triples):
        properties |= schema.object_properties | schema.datatype_properties
    for name in properties:
        for each in (name, *schema.superproperties(name)):
            if classes & (schema.domains(each) | schema.ranges(each)):
                return True
    # Only named classes are decided here: a class expression may have members by reasoning.
    return any(
        (s in classes or o in classes)
        and (
            (p.startswith(OWL) and p not in _NO_MEMBERS)
            or p == rdf.FIRST
            or (p == rdfs.SUBCLASS_OF and isinstance(s, BlankNode))
        )
        for s, p, o in triples
    )


def makers(files: Iterable[syntax.RuleFile], triple: Triple) -> tuple[str, ...]:
    """The names of the rules with an action that may insert this statement, in order.

    Names and values from variables match anything.
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
                    triple[1] == rdf.TYPE and _named(each, file, triple[2])
                    for each in action.classes
                )
                or any(file.resolve(each.property) == triple[1] for each in action.properties)
            )
        case syntax.SparqlUpdate():
            said = _said_by(parsed_change(action, file, ()))
            return any(_fits(each.triple, triple) for each in said)
    return False


def _named(name: object, file: syntax.RuleFile, term: Term) -> bool:
    if isinstance(name, syntax.WrittenName) and name.is_constant:
        return file.resolve(name) == term
    return True


def _fits(pattern: TriplePattern, triple: Triple) -> bool:
    parts = (pattern.subject, pattern.predicate, pattern.object)
    return all(
        isinstance(part, Variable) or part == term for part, term in zip(parts, triple, strict=True)
    )


def unnamed_class_faults(files: Iterable[syntax.RuleFile]) -> Iterator[LanguageError]:
    """The first description of a class in each semantic rule, with its place.

    Rules with other faults are left out.
    """
    for file in files:
        for rule in file.semantic_rules:
            try:
                queries = list(_queries(rule, file))
            except LanguageError:
                continue
            try:
                for query in queries:
                    with in_rule_file():
                        check_named(query)
            except LanguageError as error:
                yield error


def check_classes_named(files: Iterable[syntax.RuleFile]) -> None:
    """Refuse semantic rules that describe a class.

    Raises LanguageError for the first one, with its place and the definition to write.
    """
    for fault in unnamed_class_faults(files):
        raise fault


def _queries(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[Query]:
    """The queries of a rule: conditions, the history, its end, the WHERE parts of updates."""
    if (question := question_of(rule.trigger)) is not None:
        yield read_history_query(question, file).parsed.meaning
    for condition in (*conditions_of(rule), end_of(rule.trigger)):
        if isinstance(condition, syntax.SelectCondition | syntax.AskCondition):
            yield parsed_condition(condition.query, file).meaning
    for update in updates_of(rule, file):
        for operation in update.meaning.operations:
            if isinstance(operation, algebra.Modify):
                yield Query(algebra.Ask(operation.pattern), places=update.places)


def evaluated_anew(rules: Iterable[CompiledRule]) -> Iterator[tuple[CompiledRule, str]]:
    """The rules whose conditions cost more as the window grows, with what is done and why."""
    kb = KnowledgeBase()
    evaluator = ConditionEvaluator(kb)
    rules = tuple(rules)
    evaluator.prepare(rule.queries for rule in rules)
    for rule in rules:
        if reasons := [evaluator.anew[query] for query in rule.queries if query in evaluator.anew]:
            yield rule, f"a query is evaluated anew whenever the rule is tried: {reasons[0]}"
        elif reason := _whole(rule, evaluator):
            yield rule, f"its condition is evaluated as a whole at every change: {reason}"


def _whole(rule: CompiledRule, evaluator: ConditionEvaluator) -> str:
    """The reason why the solutions of a ``when`` cannot be followed singly; "" if they can."""
    edge = rule.edge
    if edge is None or not edge.has_solutions:
        return ""
    if edge.begins.query is None or edge.reads_now:
        return "it reads ?now"
    evaluator.follow(edge.begins.query, edge.end_query, has_end=edge.ends is not None)
    return evaluator.whole.get(edge.begins.query, "")
