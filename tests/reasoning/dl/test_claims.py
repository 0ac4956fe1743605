from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.dl.claims import Claims

TRIPLES: list[Triple] = [(IRI(f"urn:{n}"), IRI("urn:p"), IRI("urn:o")) for n in range(3)]


@given(st.lists(st.lists(st.tuples(st.booleans(), st.sampled_from(TRIPLES)), max_size=6)))
def test_changes_follow_the_set_of_what_has_a_reason(
    rounds: list[list[tuple[bool, Triple]]],
) -> None:
    claims, reasons = Claims(), dict.fromkeys(TRIPLES, 0)
    for steps in rounds:
        before = {t for t, n in reasons.items() if n}
        for adds, triple in steps:
            if adds:
                claims.add([triple])
                reasons[triple] += 1
            elif reasons[triple]:
                claims.drop([triple])
                reasons[triple] -= 1
        after = {t for t, n in reasons.items() if n}
        delta = claims.changes(0)
        assert set(delta.added) == after - before
        assert set(delta.removed) == before - after
