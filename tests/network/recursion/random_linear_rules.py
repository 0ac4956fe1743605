"""Random rules of one premise, and triples for them."""

from __future__ import annotations

from hypothesis import strategies as st

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Call,
    Comparison,
    Expression,
    Filter,
    In,
    Not,
    Or,
    Pattern,
    PatternTerm,
    TriplePattern,
    Variable,
)

A, B, C, P, Q, R = (IRI(f"http://example.org/{name}") for name in "ABCpqr")
SUBJECT, PREDICATE, OBJECT = map(Variable, ("s", "p", "o"))
LITERALS: list[PatternTerm] = [Literal("x")]
SUBJECTS: list[IRI | Variable] = [SUBJECT, SUBJECT, SUBJECT, SUBJECT, A]
NODES = [A, B, C]
PROPERTIES = [P, Q, R, rdf.TYPE]
PREDICATES: list[IRI | Variable] = [*PROPERTIES, *PROPERTIES, PREDICATE]
facts: st.SearchStrategy[Triple] = st.tuples(
    st.sampled_from([A, B, C, P, IRI("http://example.org/other"), BlankNode("_:b")]),
    st.sampled_from([*PROPERTIES, IRI("http://example.org/unknown")]),
    st.sampled_from([A, B, C, Q, BlankNode("_:b"), BlankNode("_:c"), Literal("x"), Literal("y")]),
)


@st.composite
def conditions(draw: st.DrawFn) -> Expression:
    end = draw(st.sampled_from([SUBJECT, OBJECT]))
    either = Comparison(draw(st.sampled_from(["=", "!="])), end, draw(st.sampled_from(NODES)))
    kind = Call(draw(st.sampled_from(["ISIRI", "ISBLANK", "ISLITERAL"])), (end,))
    both: list[Expression] = [
        Call("SAMETERM", (SUBJECT, OBJECT)),
        Comparison("!=", SUBJECT, OBJECT),
    ]
    simple: Expression = draw(st.sampled_from([kind, either, In(end, (A, Q)), *both]))
    match draw(st.integers(0, 4)):
        case 0:
            return Not(simple)
        case 1:
            return And(simple, either)
        case 2:
            return Or(simple, either)
    return simple


@st.composite
def rules(draw: st.DrawFn) -> DerivationRule:
    subject: IRI | Variable = draw(st.sampled_from(SUBJECTS))
    predicate: IRI | Variable = draw(st.sampled_from(PREDICATES))
    objects: list[PatternTerm] = [OBJECT, OBJECT, OBJECT, A, B, *LITERALS]
    object_ = draw(st.sampled_from([*objects, subject] if subject is SUBJECT else objects))
    body: Pattern = BGP((TriplePattern(subject, predicate, object_),))
    known = [each for each in (subject, object_) if isinstance(each, Variable)]
    if {*known} == {SUBJECT, OBJECT} and draw(st.integers(0, 2)) == 0:
        body = Filter(draw(conditions()), body)
    ends: list[PatternTerm] = [*known, *known, *NODES]
    subjects: list[PatternTerm] = [*ends, *([PREDICATE] if predicate is PREDICATE else [])]
    predicates: list[IRI | Variable] = [
        *PROPERTIES,
        predicate,
        *([OBJECT] if object_ is OBJECT else []),
    ]
    made = st.builds(
        TriplePattern,
        st.sampled_from(subjects),
        st.sampled_from(predicates),
        st.sampled_from([*ends, *LITERALS]),
    )
    return DerivationRule("r", tuple(draw(st.lists(made, min_size=1, max_size=2))), body)
