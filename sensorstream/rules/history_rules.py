"""``every … from history select``: rules that ask the history at scheduled moments.

The engine does not ask itself: a moment that has come is remembered until an entry of the journal
brings the answer (decision 028).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from sensorstream.errors import LanguageError, RuleError
from sensorstream.language import syntax
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.rules.condition_reader import in_rule_file, surroundings
from sensorstream.rules.conditions import Solution
from sensorstream.rules.rule_memory import HistoryQuestion, RuleMemory, SolutionKey, WaitingRule
from sensorstream.rules.triggers import LAST, NOW, RoundChange, Solutions, Trigger, compile_trigger
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query, Variable
from sensorstream.sparql.answerable import check_answerable
from sensorstream.sparql.query_parser import Parsed, read_query
from sensorstream.sparql.text_bounds import MOST_TOKENS
from sensorstream.sparql.walk import nodes, replaced, visible

MOST_WAITING: Final = 1000
"""The most questions of a rule that may wait for their answers."""
_GIVEN: Final = (LAST, NOW)


@frozen
class HistoryQuery:
    """A checked SELECT of a rule; ``returned`` are the variables that its solutions have.

    ``digest`` identifies the meaning of the question.
    """

    parsed: Parsed[Query]
    returned: frozenset[str]
    digest: str

    def at(self, moment: SolutionKey) -> Parsed[Query]:
        """The query with the times of a moment in the places of ``?last`` and ``?now``."""
        values = dict(moment)
        query = self.parsed.meaning
        form = replaced(query.form, lambda node: _with(node, values))
        time = query.valid_time
        if time is not None:
            start, end = _written(time.start, values), _written(time.end, values)
            assert start is not None
            time = algebra.ValidTime(start, end)
        return replace(self.parsed, meaning=replace(query, form=form, valid_time=time))


def read_history_query(question: syntax.Sparql, file: syntax.RuleFile) -> HistoryQuery:
    """Read the question of a rule.

    Raises LanguageError if it is no SELECT over history, or ``?now`` or ``?last`` is misplaced.
    """
    with in_rule_file():
        around = surroundings(question, file)
        parsed = read_query(question.text, most_tokens=MOST_TOKENS, **around)
        check_answerable(parsed, history=True)
    query = parsed.meaning
    if not isinstance(query.form, algebra.Select):
        raise LanguageError("not a SELECT: expected 'SELECT …'", position=parsed.start)
    for name in _GIVEN:
        if _is_misplaced(query, Variable(name)):
            raise LanguageError(
                f"?{name} is a time that the schedule gives: expected it as the object of a "
                "pattern, in expressions, AT and DURING only",
                position=parsed.start,
            )
    time = query.valid_time
    for each in () if time is None else (time.start, time.end):
        if isinstance(each, Variable) and each.name not in _GIVEN:
            raise LanguageError(
                f"{each} has no value here: expected ?now, ?last or a time",
                position=parsed.position(time),
            )
    returned = frozenset(each.name for each in visible(query.form.pattern))
    # A digest of the written text, because the journal keeps it: the printed form may change.
    return HistoryQuery(parsed, returned.difference(_GIVEN), text_digest(file, question.text))


def text_digest(file: syntax.RuleFile, text: str) -> str:
    """A digest of a text of a rule file, with all that defines the names in it."""
    told = f"{sorted(file.prefix_map.items())} {file.base} {text}"
    return sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


def compile_question(
    of: syntax.SemanticRule, every: syntax.Every, file: syntax.RuleFile, line: Timeline
) -> Trigger:
    """The trigger of a rule that asks the history.

    At a moment of its schedule it has no solution yet; the moment is remembered. When the answer
    has come, it has the solutions of the answer, with ``?now`` and ``?last`` of the moment. Raises
    LanguageError as :func:`.compile_trigger` does.
    """
    rule = of.name
    scheduled = compile_trigger(every, rule, file, line)

    def trigger(moment: RoundChange) -> Solutions:
        run, found = moment.run, list[Solution]()
        answer = run.answer if moment.is_first else None
        if answer is not None and answer.rule == rule:
            run.hold(rule, answer.moment, None)
            given = dict(answer.moment)
            found = [{**given, **dict(each)} for each in answer.solutions]
        for each in scheduled(moment):
            if len(run.held(rule)) >= MOST_WAITING:
                raise RuleError(
                    f"{MOST_WAITING:,} questions to the history wait for their answers already"
                )
            run.hold(rule, tuple(sorted(each.items())), WaitingRule(run.time))
        return found

    return trigger


def waiting(
    rule: str, query: HistoryQuery, memory: RuleMemory, line: Timeline
) -> Iterator[HistoryQuestion]:
    """The questions of a rule that wait for their answers."""
    for moment in memory.held.get(rule, ()):
        last, now = (line.instant(_text(dict(moment)[name])) for name in _GIVEN)
        yield HistoryQuestion(rule, query.digest, moment, last, now)


def _text(term: Term) -> str:
    assert isinstance(term, Literal)
    return term.lexical


def _with(node: object, values: Solution) -> object | None:
    """The replacement of a node; None: the node with its parts replaced."""
    match node:
        case Variable(name) if name in values:
            return values[name]
        case algebra.Project(inner, columns):
            kept = tuple(each for each in columns if each.name not in values)
            return algebra.Project(
                replaced(inner, lambda each: _with(each, values)), kept or columns
            )
    return None


def _written(time: str | Variable | None, values: Solution) -> str | None:
    return _text(values[time.name]) if isinstance(time, Variable) else time


def _is_misplaced(query: Query, variable: Variable) -> bool:
    """Whether a variable stands where no term can, or is given a value."""
    for node in nodes(query.form):
        names: Iterable[object] = ()
        match node:
            case algebra.BGP(patterns):
                names = (end for each in patterns for end in (each.subject, each.predicate))
            case algebra.Graph(name, _) | algebra.Extend(_, name, _):
                names = (name,)
            case algebra.Values(columns, _):
                names = columns
            case algebra.Group(_, keys, computed):
                names = (*(key.variable for key in keys), *(name for name, _ in computed))
        if variable in names:
            return True
    return False
