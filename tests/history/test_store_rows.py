"""Evidence as text: what is read is what was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.history.store_rows import decoded, encoded
from sensorstream.model import xsd
from sensorstream.model.events import Basis, Evidence, Matched, RuleWait
from sensorstream.model.terms import IRI, BlankNode, Literal

_IRIS = st.sampled_from(["a", "b", "ä"]).map(lambda each: IRI(f"http://example.org/{each}"))
_NODES = st.sampled_from(["_:x", "_:y"]).map(BlankNode)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
_LITERALS = st.builds(Literal, _TEXTS) | st.builds(Literal, _TEXTS, st.just(xsd.INTEGER))
_TERMS = _IRIS | _NODES | _LITERALS
_TRIPLES = st.tuples(_IRIS | _NODES, _IRIS, _TERMS)


def _evidence(inner: st.SearchStrategy[Evidence]) -> st.SearchStrategy[Evidence]:
    bindings = st.dictionaries(st.sampled_from("abc"), _TERMS).map(lambda d: tuple(d.items()))
    others = st.sampled_from([each for each in Basis if each is not Basis.RULE])
    statements = st.builds(Matched, _TRIPLES, others, st.sampled_from(["", "m7"])) | st.builds(
        Matched, _TRIPLES, st.just(Basis.RULE), st.just("m7"), st.just("r"), inner
    )
    lists = st.lists(statements, max_size=3).map(tuple)
    times = st.integers(-(2**53), 2**53)
    since = st.none() | st.builds(RuleWait, times, st.sampled_from(["", "m7"]))
    return st.builds(Evidence, st.just("00ff"), bindings, lists, st.integers(0, 9), since)


_EVIDENCE = st.recursive(_evidence(st.nothing()), _evidence, max_leaves=3)


@given(_EVIDENCE)
def test_an_evidence_is_read_as_it_was_written(evidence: Evidence) -> None:
    assert decoded(encoded(evidence)) == evidence
