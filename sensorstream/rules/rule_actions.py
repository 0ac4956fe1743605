"""The actions of a rule: alerts, changes of the window, replies.

Source: SPARQL 1.1 Update, sections 3.1.1-3.1.3. Graph management and loading are left out: a rule
changes the window graph only, and sends no requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias, assert_never

from sensorstream.errors import LanguageError, Position, RuleError, TermError
from sensorstream.kb.graph_index import Origin
from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown as written
from sensorstream.mapping.mapped_values import encode_segment, iri_maker, literal_maker
from sensorstream.mapping.term_recipe import datatype_of
from sensorstream.model import rdf
from sensorstream.model.events import Alert
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.rules.condition_reader import in_rule_file, pattern_query, surroundings
from sensorstream.rules.conditions import ConditionQuery, Solution, as_text
from sensorstream.rules.firing_grounds import grounds_of
from sensorstream.rules.rule_effects import RuleFiring, RulesRun
from sensorstream.rules.templates import (
    check_bound,
    compile_parts,
    compile_xml,
    fill,
    in_xml,
    plain,
)
from sensorstream.rules.triggers import read_duration
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import BGP, DeleteWhere, Quad, TriplePattern, Update, Variable
from sensorstream.sparql.answerable import check_answerable
from sensorstream.sparql.query_parser import Parsed, read_deletion, read_update
from sensorstream.sparql.walk import nodes


@frozen
class PatternUpdate:
    """Deletes, then inserts, for each solution of ``where`` (None: once)."""

    where: ConditionQuery | None
    deletes: tuple[TriplePattern, ...]
    inserts: tuple[TriplePattern, ...]


def parsed_change(
    action: syntax.SparqlUpdate | syntax.DeletePattern,
    file: syntax.RuleFile,
    given: Collection[str],
) -> Parsed[Update]:
    """The update of an action; ``delete { pattern }`` deletes each triple that matches.

    ``given`` names the variables with a value from outside. Raises LanguageError if the text is not
    SPARQL 1.1 Update, has a part that rules cannot use, or a pattern that is no set of triples.
    """
    with in_rule_file():
        if isinstance(action, syntax.DeletePattern):
            block = action.pattern
            return _checked(read_deletion(block.text, **surroundings(block, file)))
        block = action.update
        return _checked(read_update(block.text, given=given, **surroundings(block, file)))


def operations(parsed: Parsed[Update], given: Collection[str]) -> tuple[PatternUpdate, ...]:
    """The operations of an update; ``given`` are the variables with a value from outside.

    Raises LanguageError if a variable of a template has no value.
    """
    return tuple(_operation(each, parsed, given) for each in parsed.meaning.operations)


def _operation(
    operation: algebra.Operation, parsed: Parsed[Update], given: Collection[str]
) -> PatternUpdate:
    match operation:
        case algebra.InsertData(quads):
            return PatternUpdate(None, (), _triples(quads))
        case algebra.DeleteData(quads):
            return PatternUpdate(None, _triples(quads), ())
        case DeleteWhere(quads):
            triples = _triples(quads)
            where = pattern_query(BGP(triples), given, _variables(quads), parsed)
            return PatternUpdate(where, triples, ())
        case algebra.Modify(delete, insert, pattern):
            deletes, inserts = delete or (), insert or ()
            where = pattern_query(
                pattern, given, _variables((*deletes, *inserts)), parsed, operation.base
            )
            return PatternUpdate(where, _triples(deletes), _triples(inserts))
    raise AssertionError("the other operations are refused when they are read")


def _checked(parsed: Parsed[Update]) -> Parsed[Update]:
    """The update, after a check that a rule can use all of it."""
    if not parsed.meaning.operations:
        raise LanguageError("the update is empty: expected INSERT or DELETE", position=parsed.start)
    for operation in parsed.meaning.operations:
        match operation:
            case algebra.InsertData(quads) | algebra.DeleteData(quads) | DeleteWhere(quads):
                _check_quads(quads, parsed)
            case algebra.Modify(delete, insert):
                _check_quads((*(delete or ()), *(insert or ())), parsed)
                if operation.graph is not None:
                    raise _no_place("WITH", operation.graph, parsed)
                for name in (*operation.using.default, *operation.using.named):
                    raise _no_place("USING", name, parsed)
            case algebra.Transfer(verb):
                raise _no_place(verb, operation, parsed)
            case _:
                raise _no_place(type(operation).__name__.upper(), operation, parsed)
    check_answerable(parsed)
    return parsed


def _check_quads(quads: tuple[Quad, ...], parsed: Parsed[Update]) -> None:
    for quad in quads:
        if quad.graph is not None:
            raise LanguageError(
                "GRAPH is not allowed here: rules change the window only",
                position=parsed.position(quad.graph),
            )
        for part in nodes(quad.triple):
            if isinstance(part, BlankNode):
                raise LanguageError(
                    "blank nodes are not allowed here: expected names or variables",
                    position=parsed.position(part),
                )


def _no_place(word: str, part: object, parsed: Parsed[Update]) -> LanguageError:
    return LanguageError(
        f"{word} is not allowed in a rule, which changes the window only: "
        "expected INSERT or DELETE, with a WHERE part or DATA",
        position=parsed.position(part),
    )


def _triples(quads: tuple[Quad, ...]) -> tuple[TriplePattern, ...]:
    return tuple(quad.triple for quad in quads)


def _variables(quads: tuple[Quad, ...]) -> Iterator[Variable]:
    return (part for part in nodes(quads) if isinstance(part, Variable))


Action: TypeAlias = Callable[[RuleFiring], None]
Find: TypeAlias = Callable[[RuleFiring], Term | None]


@frozen
class ActionCompiler:
    """Compiles the actions of one rule, whose conditions bind the variables ``bound``."""

    rule: syntax.SemanticRule
    file: syntax.RuleFile
    bound: frozenset[str]
    schema: Schema
    line: Timeline

    def compile(self, action: syntax.Action) -> Action:
        """The action as a function of a firing, which may raise :class:`RuleError`.

        Raises LanguageError for an unbound variable, a value that is not of its datatype, or
        invalid SPARQL or XML.
        """
        match action:
            case syntax.AlertAction():
                return self._alert(action)
            case syntax.IndividualAction():
                return self._individual(action)
            case syntax.DeleteIndividual():
                return self._delete_individual(action)
            case syntax.DeletePattern() | syntax.SparqlUpdate():
                return self._change(parsed_change(action, self.file, self.bound))
            case syntax.Reply(text=template):
                text = compile_xml(template, self.bound)

                def reply(firing: RuleFiring) -> None:
                    firing.run.replies.append(text.fill(firing, in_xml, unbound="") or "")

                return reply
        assert_never(action)

    # Alerts

    def _alert(self, action: syntax.AlertAction) -> Action:
        text = compile_parts(action.text.parts, self.bound)
        key = text if action.key is None else compile_parts(action.key.parts, self.bound)
        length = 0 if action.duration is None else read_duration(action.duration, self.line)
        rule, severity = self.rule.name, str(action.severity)

        def alert(firing: RuleFiring) -> None:
            run = firing.run
            filled = text.fill(firing, plain, unbound="") or ""
            same = (rule, key.fill(firing, plain, unbound="") or "")
            if same in run.raised or run.memory.quiet.get(same, run.time) > run.time:
                return
            run.raised.add(same)
            if length:
                run.news.quiet[same] = run.time + length
            messages, evidence = grounds_of(firing)
            run.alerts.append(
                Alert(
                    id=f"{run.prefix}-{len(run.alerts) + 1}",
                    rule=rule,
                    kind="rule",
                    severity=severity,
                    text=filled + run.late,
                    key=same[1],
                    time=run.time,
                    message=run.message.id,
                    messages=messages,
                    evidence=evidence,
                )
            )

        return alert

    # Individuals

    def _individual(self, action: syntax.IndividualAction) -> Action:
        name = self._subject(action.name)
        classes = tuple(self.file.resolve(each) for each in action.classes)
        properties = tuple(
            (self.file.resolve(p.property), tuple(self._value(p, value) for value in p.values))
            for p in action.properties
        )
        is_update = action.kind == "update"

        def act(firing: RuleFiring) -> None:
            subject, changes = name(firing), firing.run.changes
            for class_name in classes:
                changes.inserted[subject, rdf.TYPE, class_name] = None
            for predicate, finders in properties:
                terms = [term for find in finders if (term := find(firing)) is not None]
                for term in terms:
                    changes.inserted[subject, predicate, term] = None
                # Without a known new value the property keeps its old values.
                if terms and is_update:
                    changes.replaced[subject, predicate] = None

        return act

    def _delete_individual(self, action: syntax.DeleteIndividual) -> Action:
        name = self._subject(action.name)

        def act(firing: RuleFiring) -> None:
            run, subject = firing.run, name(firing)
            statements = list(run.host.kb.match(subject, None, None))
            asserted = [t for t in statements if run.host.kb.origins(t) & Origin.WINDOW]
            run.changes.removed.update(dict.fromkeys(asserted))
            if statements and not asserted:
                self._leave(run, f"{subject.n3} is not in the window")

        return act

    def _subject(
        self, name: syntax.WrittenName | syntax.RuleVariable | syntax.BlankName
    ) -> Callable[[RuleFiring], Subject]:
        assert not isinstance(name, syntax.BlankName), "parse refuses it in semantic rules"
        find = self._link(name)
        position = name.position

        def subject(firing: RuleFiring) -> Subject:
            term = find(firing)
            if term is None or isinstance(term, Literal):
                found = "no value" if term is None else str(term)
                raise self._error(f"found {found}, expected the name of an individual", position)
            return term

        return subject

    def _link(self, name: syntax.WrittenName | syntax.RuleVariable) -> Find:
        position = name.position
        if isinstance(name, syntax.RuleVariable):
            variable = check_bound(name.name, self.bound, position)
            return lambda firing: firing.solution.get(variable)
        if name.is_constant:
            constant = self.file.resolve(name)
            return lambda firing: constant
        whole = name.whole is not None
        text = compile_parts(name.parts if whole else self.file.head(name), self.bound)
        encode, make = plain if whole else encode_segment, iri_maker(self.file.base)

        def link(firing: RuleFiring) -> Term | None:
            filled = text.fill(firing, encode)
            try:
                return None if filled is None else make(filled)
            except TermError as error:
                raise self._error(error.message, position) from None

        return link

    def _value(self, values: syntax.PropertyValues, value: syntax.Value) -> Find:
        match value:
            case syntax.WrittenName() | syntax.RuleVariable():
                return self._link(value)
            case syntax.WrittenNumber() | syntax.TextValue():
                return self._literal(values, value)
        raise AssertionError("parse refuses the values of mapping rules in semantic rules")

    def _literal(
        self, values: syntax.PropertyValues, value: syntax.WrittenNumber | syntax.TextValue
    ) -> Find:
        name = self.file.resolve(values.property)
        datatype = datatype_of(self.file, name, value, self.schema)
        language = None if isinstance(value, syntax.WrittenNumber) else value.language
        assert not isinstance(language, syntax.Hole), "parse refuses it in semantic rules"
        make = literal_maker(datatype, language)
        parts = (value.text,) if isinstance(value, syntax.WrittenNumber) else value.text.parts
        text = compile_parts(parts, self.bound)
        predicate = written(self.file, name)
        position = value.position
        if text.is_constant:
            try:
                constant = make("".join(map(str, text.pieces)))
            except TermError as error:
                raise LanguageError(error.message, position=position) from None
            return lambda firing: constant

        def literal(firing: RuleFiring) -> Term | None:
            filled = text.fill(firing, plain)
            try:
                return None if filled is None else make(filled)
            except TermError as error:
                raise self._error(f"{predicate}: {error.message}", position) from None

        return literal

    # SPARQL

    def _change(self, parsed: Parsed[Update]) -> Action:
        wanted = operations(parsed, self.bound)

        def act(firing: RuleFiring) -> None:
            run = firing.run
            for operation in wanted:
                for solution in _solutions(operation, firing):
                    for triple in fill(operation.deletes, solution):
                        self._delete(run, triple)
                    for triple in fill(operation.inserts, solution):
                        run.changes.inserted[triple] = None

        return act

    def _delete(self, run: RulesRun, triple: Triple) -> None:
        kb = run.host.kb
        if kb.origins(triple) & Origin.WINDOW:
            run.changes.removed[triple] = None
        elif triple in kb:
            self._leave(run, f"{' '.join(t.n3 for t in triple)} is not in the window graph")

    def _leave(self, run: RulesRun, reason: str) -> None:
        run.warnings[f"rule {self.rule.name}: {reason} and cannot be deleted"] = None

    def _error(self, message: str, position: Position) -> RuleError:
        return RuleError(f"rule {self.rule.name}: {message}", position=position)


def _solutions(operation: PatternUpdate, firing: RuleFiring) -> list[Solution]:
    where, given = operation.where, firing.solution
    if where is None:
        return [given]
    found = firing.run.host.evaluator.select(where, where.values_in(given))
    return sorted(({**given, **each} for each in found), key=as_text)
