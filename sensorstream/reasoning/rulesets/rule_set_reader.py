"""The reader of a rule set's text into derivation rules, and the texts included in SensorStream.

A text is SPARQL Update, one ``INSERT { head } WHERE { body } ;`` a rule, or Datalog. A comment
directly above a rule is its name, and from its second line on a remark such as its source. The
included texts are to be read, and to be copied and edited.

Rules that delete are no derivation rules: they switch state, and are run as semantic rules.
``DELETE { … } INSERT { … } WHERE { body }`` becomes ``when select { SELECT * { body } } becomes
true then sparql { DELETE { … } INSERT { … } WHERE {} }``: once for each new solution, after all
conclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, TypeVar

from sensorstream.errors import Position, ProgramError, QueryError
from sensorstream.language import syntax
from sensorstream.language.syntax import RuleFile
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.network.expressions.expression_functions import made_node
from sensorstream.network.recursion.derivation_rule import DerivationRule, node_of
from sensorstream.network.recursion.rule_strata import stratified
from sensorstream.reasoning.rulesets.graphs_read import NAMED
from sensorstream.reasoning.rulesets.rule_blocks import RuleBlock, blocks_of, comment_above
from sensorstream.reasoning.rulesets.rule_set import RuleComment, RuleSet
from sensorstream.reasoning.rulesets.schema_lists import check_lists, check_plans, without_lists
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Operation, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.dotr.dotr_reader import is_rules, read_program
from sensorstream.sparql.functions import OF_EVENTS, UNREPEATABLE
from sensorstream.sparql.query_lexer import QueryText
from sensorstream.sparql.query_parser import read_query, read_rule_set
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.text_bounds import check_bounds, check_length
from sensorstream.sparql.text_places import Places
from sensorstream.sparql.variable_scope import in_scope, names_in
from sensorstream.sparql.walk import nodes, replaced, visible

_FORM: Final = (
    "expected INSERT { … } WHERE { … }, INSERT DATA { … } for what holds in any case, or "
    "DELETE { … } INSERT { … } WHERE { … }"
)
_DATA: Final = (
    "DELETE DATA: what holds in any case cannot go: leave the triples out; what is to be deleted "
    "when something happens has a body: expected DELETE { … } WHERE { … }"
)


def checked_operation(
    operation: Operation, position: Position, places: Places
) -> algebra.Modify | algebra.InsertData | algebra.DeleteWhere:
    """An update that states a conclusion, a fact, or a switch of state. ``places`` are those of the
    parts of the text, from the rule on.

    Raises:
        QueryError: it is another one, or names graphs.
    """
    match operation:
        case algebra.InsertData(quads) | algebra.DeleteWhere(quads):
            graphs = [each.graph for each in quads if each.graph is not None]
        case algebra.Modify():
            if operation.graph is not None or operation.using.default or operation.using.named:
                raise QueryError(
                    "WITH and USING: a rule reads all graphs as one, and its conclusions are a "
                    f"graph of their own: {_FORM}",
                    position=position,
                )
            templates = (*(operation.insert or ()), *(operation.delete or ()))
            graphs = [each.graph for each in templates if each.graph is not None]
        case algebra.DeleteData():
            raise QueryError(_DATA, position=position)
        case _:
            name = type(operation).__name__.upper()
            raise QueryError(f"{name} is no rule: {_FORM}", position=position)
    if graphs:
        raise QueryError(
            f"GRAPH {part_text(graphs[0])}: conclusions are a graph of their own, without named "
            "ones: write the triples without GRAPH",
            position=places.of(graphs[0]),
        )
    return operation


def check_body(pattern: Pattern, places: Places) -> None:
    """Refuse parts that a body may not have. ``places`` are those of the text's parts, from the
    rule on.

    Raises:
        QueryError: a part that is not of the graph (SERVICE, GRAPH, WINDOW), that depends on an
            order (LIMIT) or on time, or whose value is another one each time.
    """
    for part in nodes(pattern):
        told = _refusal(part)
        if told:
            raise QueryError(told, position=places.of(part))


def _refusal(part: object) -> str:
    match part:
        case algebra.Service():
            return "SERVICE: a rule sends no requests: expected patterns over the graph alone"
        case algebra.Graph(name, _) if name not in NAMED:
            told = ", ".join(f"<{each}>" for each in NAMED)
            return (
                f"GRAPH {part_text(name)}: rules tell {told} apart from all graphs together, of "
                "which the named graphs of messages are part: write its patterns without GRAPH"
            )
        case algebra.Window(name, _):
            told = "a rule reads the window of the messages: leave WINDOW out"
            return f"WINDOW {part_text(name)}: {told}"
        case algebra.Slice():
            return (
                "LIMIT and OFFSET: which solutions are the first is not defined in a graph: "
                "expected all solutions, or a condition with FILTER"
            )
        case algebra.Call(name) if name in UNREPEATABLE:
            return (
                f"{name}() has another value each time, so its conclusions could not be taken back:"
                " compute the value from what the body binds"
            )
        case algebra.Call(name) if name in OF_EVENTS:
            return f"{name}() is of patterns in time (SEQ): expected values of the graph"
    if isinstance(part, algebra.InTime):
        name = type(part).__name__.upper()
        return f"{name}: a rule knows no time: register a query with {name} instead"
    return ""


_NOW: Final = "now"
_SELECT: Final = "SELECT * "
_ASK: Final = "ASK "


def state_rule(
    name: str,
    operation: algebra.Modify | algebra.DeleteWhere,
    block: RuleBlock,
    source: QueryText,
    places: Places,
) -> syntax.RuleFile:
    """The rule of a block, as a file of the rule language with this rule alone.

    Raises:
        QueryError: it holds what no such rule may, with the place.
    """
    _check(operation, places)
    *_, body = block.groups
    if isinstance(operation, algebra.DeleteWhere):
        pattern: object = algebra.BGP(tuple(quad.triple for quad in operation.quads))
        update = f"DELETE {_text(source, body)} WHERE {{}}"
    else:
        pattern = operation.pattern
        update = f"{source.text[block.start : block.groups[-2][1]]} WHERE {{}}"
    names = (each.name for each in visible(pattern))  # type: ignore[arg-type]
    form = _SELECT if any(map(str.isidentifier, names)) else _ASK
    before = _before(source, body[0], len(form))
    query = syntax.Sparql(f"{form}{_text(source, body)}", position=before)
    condition = syntax.SelectCondition(query) if form == _SELECT else syntax.AskCondition(query)
    place = block.position
    rule = syntax.SemanticRule(
        name,
        syntax.When(condition, position=place),
        (),
        (syntax.SparqlUpdate(syntax.Sparql(update, position=place), position=place),),
        position=place,
    )
    return syntax.RuleFile(
        tuple(syntax.Prefix(prefix, iri) for prefix, iri in block.prefixes.items()),
        (),
        (rule,),
        place.file,
        bases=() if block.base is None else (syntax.Base(block.base),),
    )


def question_of(file: syntax.RuleFile) -> Query:
    """The query that a rule of :func:`state_rule` waits for."""
    (rule,) = file.semantic_rules
    assert isinstance(rule.trigger, syntax.When)
    condition = rule.trigger.condition
    assert isinstance(condition, syntax.SelectCondition | syntax.AskCondition)
    text = condition.query
    start, prefixes = text.position, file.prefix_map
    return read_query(text.text, start=start, prefixes=prefixes, base=file.base).meaning


def _check(operation: algebra.Modify | algebra.DeleteWhere, places: Places) -> None:
    if isinstance(operation, algebra.Modify):
        check_body(operation.pattern, places)
    for part in nodes(operation):
        match part:
            case algebra.Each():
                raise QueryError(
                    "EACH: a rule that deletes does not read lists so: expected it in a rule "
                    "without DELETE, whose conclusion this one reads",
                    position=places.of(part),
                )
            case Variable(name) if name == _NOW:
                raise QueryError(
                    "?now is the time of the event where rules act: expected another name",
                    position=places.of(part),
                )
    template = operation.insert if isinstance(operation, algebra.Modify) else operation.quads
    for part in nodes(template or ()):
        if isinstance(part, BlankNode):
            raise QueryError(
                "a rule that deletes makes no blank nodes, as what it writes stays: "
                "expected a name, e.g. from BIND(IRI(CONCAT(…)) AS ?new) in the body",
                position=places.of(part),
            )


def _text(source: QueryText, group: tuple[int, int]) -> str:
    return source.text[group[0] : group[1]]


def _before(source: QueryText, offset: int, length: int) -> Position:
    """The beginning of a text that has ``length`` characters before an offset."""
    at = source.position(offset)
    return Position(at.file, at.line, at.column - length)


# As in SPARQL Update (section 4.1.3) each solution has its own node for each label. Its name is
# computed from the rule and the solution, so that the node goes with the solution, and is the same
# after a restart.

_Node = TypeVar("_Node")


def with_new_nodes(rule: DerivationRule) -> DerivationRule:
    """The rule with a computed variable in the place of each blank node of its head. The variables
    of a solution are those of SELECT *, and those of EACH that also stand outside of it. Rules that
    differ in names of variables alone make the same nodes.
    """
    labels = [part for part in nodes(rule.head) if isinstance(part, BlankNode)]
    if not labels:
        return rule
    new = {label: Variable(f".new{place}") for place, label in enumerate(dict.fromkeys(labels))}
    head = _with(rule.head, new.get)
    solution = [
        name
        for name in _solution(rule.body) | (in_scope(rule.body) & names_in(head))
        if name.isidentifier()
    ]
    numbered = _numbered(replace(rule, head=head))
    key = _digest(repr((numbered.head, numbered.body)))
    names = sorted(solution)
    body = rule.body
    for place, variable in enumerate(new.values()):
        body = algebra.Extend(body, variable, node_of(f"{key} {place}", names))
    return DerivationRule(rule.name, head, body)


def stated_nodes(triples: Iterable[TriplePattern]) -> tuple[TriplePattern, ...]:
    """Triples that hold in any case, with nodes of their own in the place of blank ones."""
    stated = tuple(triples)
    labels = dict.fromkeys(part for part in nodes(stated) if isinstance(part, BlankNode))
    places = {label: BlankNode(f"_:{place}") for place, label in enumerate(labels)}
    key = _digest(repr(_with(stated, places.get)))
    made = {label: made_node(Literal(key), Literal(place)) for label, place in places.items()}
    return _with(stated, made.get)


def _solution(body: Pattern) -> frozenset[str]:
    """The variables of a body that are not of EACH alone."""
    plain = replaced(body, lambda part: algebra.BGP() if isinstance(part, algebra.Each) else None)
    ends = (
        end
        for part in nodes(body)
        if isinstance(part, algebra.Each)
        for end in (part.members, part.first, part.last)
    )
    return in_scope(plain) | names_in(tuple(ends))


def _numbered(rule: DerivationRule) -> DerivationRule:
    names: dict[object, Variable] = {}

    def new(part: object) -> Variable | None:
        if isinstance(part, Variable | BlankNode):
            return names.setdefault(part, Variable(str(len(names))))
        return None

    return replace(rule, name="", head=replaced(rule.head, new), body=replaced(rule.body, new))


def _with(node: _Node, terms: Callable[[BlankNode], object | None]) -> _Node:
    return replaced(node, lambda part: terms(part) if isinstance(part, BlankNode) else None)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()


MOST_RULES: Final = 1_000
"""Rules of one text: each may feed each, which is found out when they are read."""
_LONGEST_NAME: Final = 80
_NO_RULES: Final = "a rule set without a rule: expected INSERT { … } WHERE { … }, or Datalog"


def read(text: str, origin: str) -> RuleSet:
    """The rules of a text; ``origin`` names it in errors, and is the name of the set.

    Raises:
        QueryError: the text is not valid, or a rule holds what no rule may: with the place, and
            what was expected there.
        ProgramError: two rules have one name, the rules have no result (a cycle through NOT EXISTS,
            which is named) or perhaps no end (new values in a cycle); with the place of the rule.
    """
    start = Position(origin, 1, 1)
    check_length(text, start)
    found = _datalog(text, start) if is_rules(text) else _updates(text, start)
    if not found.rules and not found.facts and not found.state_rules:
        raise QueryError(_NO_RULES, position=start)
    _check_program(found)
    return found


def _updates(text: str, start: Position) -> RuleSet:
    parsed = read_rule_set(text, start=start)
    rules: dict[str, DerivationRule] = {}
    notes: dict[str, RuleComment] = {}
    facts: dict[Triple, None] = {}
    state_rules: list[RuleFile] = []
    source = QueryText(text, start)
    for block, operation in zip(blocks_of(source, text), parsed.meaning.operations, strict=True):
        check_bounds(operation, block.position)
        places = replace(parsed.places, start=block.position)
        update = checked_operation(operation, block.position, places)
        if isinstance(update, algebra.InsertData):
            stated = stated_nodes(quad.triple for quad in update.quads)
            facts.update((_fact(triple, block), None) for triple in stated)
        elif isinstance(update, algebra.DeleteWhere) or update.delete is not None:
            name = _name(block)
            _note(name, RuleComment(block.position, block.remarks), notes)
            state_rules.append(state_rule(name, update, block, source, places))
        else:
            head = tuple(quad.triple for quad in update.insert or ())
            rule = _rule(head, update.pattern, block, places)
            _note(rule.name, RuleComment(block.position, block.remarks), notes)
            rules[rule.name] = rule
    return RuleSet(start.file, tuple(rules.values()), tuple(facts), notes, tuple(state_rules))


def _datalog(text: str, start: Position) -> RuleSet:
    program = read_program(text, name="rule", start=start)
    if program.rules:
        raise QueryError(
            "a rule over time (DOTR): expected Datalog rules only; register it as a query",
            position=program.rules[0].position,
        )
    lines = text.split("\n")
    rules: dict[str, DerivationRule] = {}
    notes: dict[str, RuleComment] = {}
    for clause in program.clauses:
        block = RuleBlock(clause.position, comment_above(lines, clause.position))
        places = Places(clause.position, {}, {})
        rule = _rule(clause.head, clause.body, block, places)
        _note(rule.name, RuleComment(block.position, block.remarks), notes)
        rules[rule.name] = rule
    return RuleSet(start.file, tuple(rules.values()), (), notes)


def _note(name: str, note: RuleComment, notes: dict[str, RuleComment]) -> None:
    """Note a rule.

    Raises:
        QueryError: there are too many.
        ProgramError: another rule has its name.
    """
    if len(notes) == MOST_RULES:
        raise QueryError(
            f"more than {MOST_RULES:,} rules: expected at most as many in a rule set; write what "
            "differs between them into the ontology, and one rule about it",
            position=note.position,
        )
    if name in notes:
        raise ProgramError(
            f"a second rule named '{name}' (the first is at {notes[name].position}): "
            "expected a name for each, in the comment above it",
            position=note.position,
        )
    notes[name] = note


def _rule(
    head: tuple[TriplePattern, ...],
    body: Pattern,
    block: RuleBlock,
    places: Places,
) -> DerivationRule:
    if not head:
        raise QueryError(
            "a rule without a conclusion: expected INSERT { … }", position=block.position
        )
    check_body(body, places)
    check_lists(body, places)
    rule = with_new_nodes(DerivationRule(_name(block), head, body))
    try:
        check_plans(rule, places)
    except ProgramError as error:
        raise ProgramError(error.message, position=block.position) from None
    return rule


def _name(block: RuleBlock) -> str:
    title = block.title
    if " #" in title:
        raise QueryError(
            f"the name of a rule, '{title[:_LONGEST_NAME]}': expected one without ' #', which "
            "numbers what a schema makes of a rule",
            position=block.position,
        )
    if len(title) > _LONGEST_NAME:
        raise QueryError(
            f"the name of a rule, which is the first line of the comment above it, has "
            f"{len(title)} characters: expected at most {_LONGEST_NAME}; more may stand below it",
            position=block.position,
        )
    return title or f"at {block.position.line}:{block.position.column}"


def _fact(triple: TriplePattern, block: RuleBlock) -> Triple:
    s, p, o = triple.subject, triple.predicate, triple.object
    if isinstance(s, Literal | Variable) or not isinstance(p, IRI) or isinstance(o, Variable):
        raise QueryError(
            f"INSERT DATA: {s} {p} {o} is no triple: expected a name as subject",
            position=block.position,
        )
    return s, p, o


def _check_program(found: RuleSet) -> None:
    try:
        stratified(map(without_lists, found.rules))
    except ProgramError as error:
        position = next(_named(error.message, found), None)
        raise ProgramError(error.message, position=position) from None


def _named(message: str, found: RuleSet) -> Iterator[Position]:
    """The places of the rules that an error begins with."""
    names: Iterable[str] = sorted(found.notes, key=len, reverse=True)
    for name in names:
        if message.startswith(f"rule {name} "):
            yield found.notes[name].position


SUMMARIES: Final = {
    "rdf": "RDF (RDF 1.1 Semantics, 8.1.1)",
    "rdfs": "RDF and RDFS (RDF 1.1 Semantics, 8.1.1 and 9.2.1)",
    "rhodf": "rho-df, the minimal RDFS (Muñoz, Pérez, Gutierrez, 2007, Table 1)",
    "dstar": "D*: RDFS with datatypes (ter Horst, 2005, Table 4)",
    "pdstar": "pD*: D* and a part of OWL (ter Horst, 2005, Tables 4 and 7)",
    "owl2rl": "OWL 2 RL (OWL 2 Profiles, Tables 4 to 9)",
    "swclos2": "what SWCLOS2 adds to pD* (SWCLOS2 manual, Table 13.4)",
    "rdf-literals": "a blank node for each literal, of its datatype (RDF 1.1 Semantics, 8.1.1)",
    "rdf-values": "numbers and booleans in canonical form, too (RDF 1.1 Semantics, 7)",
    "rdfs-unsatisfiable": "what contradicts itself by datatypes (RDF 1.1 Semantics, 7.1 and 9)",
    "owl2rl-unsatisfiable": "what contradicts itself by OWL 2 RL (OWL 2 Profiles, Tables 4 to 8)",
    "swclos2-unsatisfiable": "what contradicts itself by SWCLOS2 (SWCLOS2 manual, Table 13.5)",
    "rdf-axioms": "the axiomatic triples of RDF (RDF 1.1 Semantics, 8)",
    "rdfs-axioms": "the axiomatic triples of RDFS (RDF 1.1 Semantics, 9)",
    "owl2rl-axioms": "rules of OWL 2 RL without premises (OWL 2 Profiles, Tables 5, 6 and 8)",
    "swclos2-axioms": "what SWCLOS2 adds to OWL's definition (SWCLOS2 manual, Table 13.2)",
    "rdfs-containers": "the axioms of rdf:_1, rdf:_2, … that are used (RDF 1.1 Semantics, 9)",
}
"""A summary of each set, by its name."""


def text_of(name: str) -> str:
    """The text of a rule set.

    Raises:
        ProgramError: there is none of that name.
    """
    if name not in SUMMARIES:
        raise ProgramError(
            f"there is no rule set '{name}': expected one of {', '.join(SUMMARIES)}, or a file"
        )
    return _file(name).read_text(encoding="utf-8")


def bundled_rules(name: str) -> RuleSet:
    """A rule set that comes with SensorStream.

    Raises:
        ProgramError: there is none of that name.
    """
    return read(text_of(name), name)


def plain_rules() -> RuleSet:
    """The rules of the plain profile, for explaining why it infers a triple. At run time
    :class:`~sensorstream.reasoning.reasoner.SchemaClosure` composes the same from the schema.
    """
    return read(_file("plain").read_text(encoding="utf-8"), "plain")


def _file(name: str) -> Traversable:
    return resources.files(__package__) / f"{name}.ru"
