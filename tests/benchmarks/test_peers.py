"""A peer that cannot answer says why, and costs no hang."""

from __future__ import annotations

from contextlib import closing

import pytest

from benchmarks.peers.process import Peer, PeerFailed


def test_what_fails_in_a_peer_fails_here_with_its_reason() -> None:
    with (
        closing(Peer("owlready")) as peer,
        pytest.raises(PeerFailed, match=r"owlready: 'reason': .*sync_reasoner_none"),
    ):
        peer.ask("reason", triples="", individuals=[], reasoner="none")


def test_a_peer_that_ended_is_told_from_one_that_is_slow() -> None:
    peer = Peer("owlready")
    peer.close()
    with pytest.raises(PeerFailed, match="the process ended before 'reason'"):
        peer.ask("reason", triples="", individuals=[], reasoner="hermit")
    peer.close()


def test_nobody_waits_for_ever() -> None:
    with (
        closing(Peer("jena_pellet")) as peer,
        pytest.raises(PeerFailed, match="no answer to 'load' within 0 s"),
    ):
        peer.ask(
            "load", seconds=0, ontology="", kind="sliding", size=1, rebuilt=False, listing=False
        )
