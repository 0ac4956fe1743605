"""What one more individual costs, as check tells it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from sensorstream.errors import ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.budget import Meter
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.dl.gap.axiom_trial import Way
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.ontology_survey import Spent, Style, costs, hubs, sampled, started
from sensorstream.reasoning.profiles import make_reasoner
from sensorstream.reasoning.reasoner import NoReasoner


@pytest.fixture
def ontology(tmp_path: Path) -> Ontology:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":near a owl:ObjectProperty , owl:TransitiveProperty .\n"
        ":apart a owl:ObjectProperty , owl:SymmetricProperty , owl:AsymmetricProperty ."
    )
    return load_ontology([tmp_path / "o.ttl"])


def told(ontology: Ontology, profile: str, most: int, step: float) -> list[str]:
    """With a clock that moves by a step whenever it is looked at."""
    clock = count(0.0, step)
    reasoner = make_reasoner(profile, ontology)
    with started(ontology, reasoner) as aside:
        styles = hubs(ontology, asks=False)
        said = list(costs(aside, styles, most, lambda: Spent(next(clock))))
        assert not aside.kb.size(Origin.WINDOW)
        assert not aside.kb.size(Origin.INFERRED)
    return said


def test_windows_are_measured_up_to_their_size(ontology: Ontology) -> None:
    said = told(ontology, "owl2rl, owl2rl-unsatisfiable", 25, 0.25)
    assert [each.split(" costs ")[1] for each in said] == [
        "250 ms if 1 link to that one",
        "250 ms if 10 link to that one",
        "250 ms if 25 link to that one",
    ]
    # By the other property nothing can link.
    assert all("<urn:x:near>" in each for each in said)


def test_what_takes_long_is_not_measured_in_larger_windows(ontology: Ontology) -> None:
    said = told(ontology, "rdfs", 1000, 2.0)
    assert len(said) == 2
    assert said[1] == "not measured: more than 1, up to 1000 in the window"


def test_what_fails_is_told(ontology: Ontology) -> None:
    class Failing(NoReasoner):
        def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
            raise ReasonerError("HermiT gave no answer within 10 s")

    reasoner = Failing()
    with started(ontology, reasoner) as aside:
        styles = hubs(ontology, asks=False)
        said = list(costs(aside, styles, 5, lambda: Spent(0.0)))
    assert said == [
        "not measured: 1 linked to one by <urn:x:apart>: HermiT gave no answer within 10 s"
    ]


def test_what_axioms_leave_open_at_a_hub_is_measured_as_they_speak_of_it(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":a owl:inverseOf :b . :a a owl:ObjectProperty . :made a owl:ObjectProperty .\n"
        ":b a owl:ObjectProperty . :c a owl:ObjectProperty . :Valid a owl:Class .\n"
        ":Reliable a owl:Class ; owl:equivalentClass [ a owl:Restriction ;\n"
        "    owl:onProperty :made ; owl:allValuesFrom :Valid ] ."
    )
    made = load_ontology([tmp_path / "o.ttl"])
    way = Way(IRI("urn:x:made"), IRI("urn:x:Valid"), outward=True)
    (style,) = (each for each in hubs(made, asks=True) if each.way == way)

    class Counting(NoReasoner):
        changes = 0

        def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
            # Each change looks as long as it has links from one.
            hub = [each for each in kb.triples(Origin.WINDOW) if each[1] == "urn:x:made"]
            self.changes += 10 * len({s for _, _, s in hub}) if len({*hub}) else 1
            return super().react(kb, delta)

    reasoner = Counting()
    with started(made, reasoner) as aside:
        clock = lambda: Spent(float(reasoner.changes))  # noqa: E731
        said = list(costs(aside, [style], 10, clock))
        assert not aside.kb.size(Origin.WINDOW)
    assert said[0].startswith(
        "measured here: a <urn:x:Valid> that another links to by <urn:x:made> costs "
    )
    assert "if that one links to 1" in said[0]


HEAD = """@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:linked a owl:ObjectProperty . :back a owl:ObjectProperty ; owl:inverseOf :linked .
:one a owl:Class . :hub a owl:Class . :A a owl:Class . :B a owl:Class . :C a owl:Class .
:badge a owl:DatatypeProperty .
"""
UNIVERSAL = """:C owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :hub
    [ a owl:Restriction ; owl:onProperty :back ; owl:allValuesFrom :A ] ) ] ."""
STYLES = {
    "a universal over an inverse": UNIVERSAL,
    "a universal": UNIVERSAL.replace(":back", ":out") + ":out a owl:ObjectProperty .",
    "a covering axiom": """:hub owl:equivalentClass [ a owl:Class ; owl:unionOf ( :A :B ) ] .
        :C owl:equivalentClass
            [ a owl:Restriction ; owl:onProperty :linked ; owl:someValuesFrom :A ] .""",
    "a key and a count": """:one owl:hasKey ( :badge ) . :C owl:equivalentClass
        [ a owl:Class ; owl:intersectionOf ( :hub [ a owl:Restriction ; owl:onProperty :back ;
        owl:minQualifiedCardinality "3"^^xsd:nonNegativeInteger ; owl:onClass :one ] ) ] .""",
    "exactly one": """:one rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :linked ;
        owl:qualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onClass :A ] .
        :A rdfs:subClassOf
            [ a owl:Restriction ; owl:onProperty :back ; owl:someValuesFrom :one ] .""",
}


def x(name: str) -> IRI:
    return IRI(f"urn:x:{name}")


def of_stream(number: int, *, outward: bool, typed: bool) -> list[Triple]:
    """A message: one more who is linked to the same one."""
    one, hub = x(f"n{number}"), x("the-hub")
    link: Triple = (hub, x("out"), one) if outward else (one, x("linked"), hub)
    said: list[Triple] = [(one, rdf.TYPE, x("one")), (one, x("badge"), Literal(f"no. {number}"))]
    return [link, *said, *([(hub, rdf.TYPE, x("hub"))] if typed else [])]


@pytest.mark.parametrize("name", STYLES)
def test_the_trial_asks_and_visits_what_a_stream_like_the_samples_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "o.ttl").write_text(HEAD + STYLES[name])
    ontology = load_ontology([tmp_path / "o.ttl"])
    outward, typed = ":out" in STYLES[name], name != "exactly one"
    message = partial(of_stream, outward=outward, typed=typed)
    steps, take = [0], Meter.take

    def counted(meter: Meter, rows: int) -> None:
        steps[0] += rows
        take(meter, rows)

    monkeypatch.setattr(Meter, "take", counted)
    reasoner = make_reasoner("hermit", ontology)
    assert isinstance(reasoner, ResilientReasoner)
    size, measured = 30, 20
    with started(ontology, reasoner) as aside:

        def spent() -> Spent:
            return Spent(steps[0] / 1e6, reasoner.memo.misses)

        styles = sampled([message(0), message(1)], ontology)
        assert len(styles) == 1
        other = "<urn:x:hub>" if typed else "one"
        told = list(costs(aside, styles, size, spent))[-1]
        assert told.endswith("links to 30" if outward else f"30 link to that {other}")
        held: Counter[Triple] = Counter()
        for number in range(100, 100 + size + 3 + measured):
            if number == 100 + size + 3:
                before = spent()
            come = message(number)
            gone = message(number - size) if number >= 100 + size else []
            after = held + Counter(come) - Counter(gone)
            delta = Delta(0, tuple(after.keys() - held), tuple(held.keys() - after))
            aside.change(delta)
            held = after
        taken = (spent().seconds - before.seconds) / measured
        assert spent().asked == before.asked
    found = float(told.split(" costs ")[1].split(" ms")[0]) / 1000
    assert taken / 1.1 <= found <= taken * 1.1


def test_who_is_in_several_samples_has_the_links_of_a_hub(ontology: Ontology) -> None:
    hub, near = x("hub"), x("near")
    samples: list[list[Triple]] = [[(x(f"{n}"), near, hub)] for n in range(2)]
    inward = Way(near, None, outward=False)
    assert [each.way for each in sampled(samples, ontology)] == [inward]
    alone = [each.way for each in sampled(samples[:1], ontology)]
    assert alone == [inward, Way(near, None, outward=True)]
    style = Style(inward, tuple(samples[0]), frozenset({x("0")}))
    first, second = style.message(0), style.message(1)
    assert first[0][0] != second[0][0]
    assert first[0][1:] == second[0][1:] == (near, hub)


def test_questions_are_told_with_what_they_cost(ontology: Ontology) -> None:
    reasoner, spent = NoReasoner(), count(0.0, 0.25)
    with started(ontology, reasoner) as aside:
        styles = hubs(ontology, asks=False)[:1]
        clock = lambda: Spent(now := next(spent), now * 8, now / 2)  # noqa: E731
        (told,) = costs(aside, styles, 1, clock)
    assert told.endswith("costs 250 ms if 1 link to that one; 2 questions are asked for it, 125 ms")
