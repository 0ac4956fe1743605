"""Rules that find the individuals about whom axioms without rules may say something.

The upper bound says nothing of such axioms. So nothing is decided by the bounds of anybody who is
connected with an individual that has what one of these axioms needs: the reasoner is asked about
all who are connected, with all that is asserted of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from sensorstream.model.terms import IRI, Literal, Subject, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.network.recursion.rule import constant
from sensorstream.reasoning.dl.bounds.clauses import NAMED, PREFIX, member
from sensorstream.reasoning.dl.bounds.stated import Needs
from sensorstream.reasoning.dl.gap.premises import Conclusion
from sensorstream.sparql.algebra import Call, TriplePattern, Variable

WHOLE: Final = IRI(f"{PREFIX}whole")
"""The class of the individuals that are asked about with all that they are connected with."""
_REASON: Final = "an axiom without rules"
_X, _Y = Variable("x"), Variable("y")
# About an individual, or components would not depend on each other through it.
_EVERYBODY: Final = member(IRI("urn:sensorstream:everybody"), IRI(f"{PREFIX}everybody"))


def rules(
    needs: Needs,
    links: Collection[IRI],
    linking: Iterable[IRI],
    named: Iterable[Subject],
    *,
    everybody: bool,
) -> Iterator[Conclusion]:
    """Conclusions of the upper bound; ``needs`` are of the axioms without rules, about ``?x``.

    ``links`` are the object properties, ``linking`` those that connect individuals, ``named`` the
    individuals that axioms name. ``everybody`` says that axioms connect individuals without links.
    """
    if not needs:
        return
    for need in needs:
        yield Conclusion(_REASON, (need,), (member(_X, WHOLE),))
    # A property that only has such an axiom links, too.
    asked = (each.predicate for each in needs if each.predicate in links)
    for link in dict.fromkeys((*linking, *asked)):
        for triple in (TriplePattern(_X, link, _Y), TriplePattern(_Y, link, _X)):
            premises = (triple, member(_Y, WHOLE))
            yield Conclusion(_REASON, (*premises, member(_X, NAMED)), (member(_X, WHOLE),))
            # Several share the name of somebody who only exists, and it connects none of them.
            made = Call("STRSTARTS", (Call("STR", (_Y,)), Literal(PREFIX)))
            yield Conclusion(_REASON, premises, (member(_X, WHOLE),), tests=(made,))
    alone = [constant(each) for each in named]
    if alone or everybody:
        yield Conclusion(_REASON, (member(_X, WHOLE),), (_EVERYBODY,))
    for each in alone:
        assert not isinstance(each, Literal)
        yield Conclusion(_REASON, (_EVERYBODY,), (member(each, WHOLE),))
    if everybody:
        met = (_EVERYBODY, member(_X, NAMED))
        yield Conclusion(_REASON, met, (member(_X, WHOLE),))


def whole(one: Subject) -> Triple:
    """The fact that an individual is to be asked about with all that it is connected with."""
    return one, RDF_TYPE, WHOLE


def is_whole(fact: Triple) -> bool:
    """Whether a fact says that an individual is asked about as a whole."""
    s, p, o = fact
    return p == RDF_TYPE and o == WHOLE and not s.startswith(PREFIX)
