"""The units of work of a benchmark: each measures some systems together and returns rows."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.paper import variations
from benchmarks.paper.measure import Track, check_types, compare_types, run_in_turns
from benchmarks.paper.results import Row, Step
from benchmarks.paper.systems import Engine, PapersWay
from benchmarks.peers.process import Peer
from benchmarks.scenario import (
    FILLING,
    PROFILES,
    SLIDING,
    UNBOUNDED,
    Scale,
    deployment,
    paper_ontology,
)
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.reasoning.ontology import load_ontology, to_ntriples
from sensorstream.settings.settings import Settings

PAPER: Final = "paper"
REBUILT: Final = "paper-rebuilt"
LISTING: Final = "paper-listing"
CLEARING: Final = "clearing"
NAIVE: Final = "naive"
ONTOLOGY: Final = "ontology"
STATEMENTS: Final = "statements"
SLEEPING: Final = "sleeping-rules"
WATCHING: Final = "watching-rules"
MAPPINGS: Final = "mapping-rules"
_REBUILT_STEPS: Final = 20
_LISTING_STEPS: Final = 3
_COMPARED: Final = 20
"""Individuals whose types are compared at most; asking Pellet costs as much as a message each."""
_LEVELS: Final = 5
_STEPS_AT_A_LEVEL: Final = 8
_AFTER_CLEARING: Final = 8

Unit: TypeAlias = Callable[[], list[Row]]


def units(scale: Scale, profiles: Sequence[str] = PROFILES) -> Iterator[tuple[str, Unit]]:
    """All units by name, in the order of the paper; nothing runs before it is called."""
    yield UNBOUNDED, partial(unbounded, scale, profiles)
    for size in scale.sizes:
        yield f"{FILLING}-{size}", partial(filling, scale, size, profiles)
        yield f"{SLIDING}-{size}", partial(sliding, scale, size, profiles)
    for profile in profiles:
        yield f"{ONTOLOGY}-{profile}", partial(ontology, scale, profile)
        yield f"{STATEMENTS}-{profile}", partial(statements, scale, profile)
    yield SLEEPING, partial(rules, scale, SLEEPING, variations.sleeping_rules)
    yield WATCHING, partial(rules, scale, WATCHING, variations.watching_rules)
    yield MAPPINGS, partial(rules, scale, MAPPINGS, variations.other_mappings)


def sliding(scale: Scale, size: int, profiles: Sequence[str]) -> list[Row]:
    """Figure 5: engine and peers in turns on the same messages, then the naive way."""
    messages = list(tracker_messages(scale.messages))
    full = min(size, scale.messages // 2)
    with ExitStack() as stack:
        tracks = [
            Track(
                profile,
                size,
                stack.enter_context(closing(Engine(deployment(profile, SLIDING, size)))),
                messages[:full],
                messages[full:],
            )
            for profile in profiles
        ]
        peers = [_papers_track(stack, PAPER, messages, size, scale.peer_steps)]
        few = min(_REBUILT_STEPS, scale.peer_steps)
        peers.append(_papers_track(stack, REBUILT, messages, size, few, rebuilt=True))
        run_in_turns([*tracks, *peers], scale.turns)
        rows = [*_agreed(tracks, peers, SLIDING)]
        if size in scale.listings:
            listing = _papers_track(stack, LISTING, messages, size, _LISTING_STEPS, listing=True)
            run_in_turns([listing], 1)
            rows.append(listing.row(SLIDING))
        if size in scale.naive:
            rows += _naive(tracks, scale.naive[size])
    return rows


def filling(scale: Scale, size: int, profiles: Sequence[str]) -> list[Row]:
    """Figure 4: the gradually filling tumbling window, and what emptying it costs."""
    messages = list(tracker_messages(scale.messages))
    full = min(size, scale.messages // 2)
    rows = []
    with ExitStack() as stack:
        tracks = [
            Track(
                profile,
                size,
                stack.enter_context(closing(Engine(deployment(profile, FILLING, size)))),
                messages[:full],
                messages[full:],
            )
            for profile in profiles
        ]
        run_in_turns(tracks, scale.turns)
        for track in tracks:
            clearings = _clearings(track.steps)
            if clearings:
                rows.append(Row.of(CLEARING, track.name, size, clearings))
        # The peer ends where the engines do: its last messages follow the clearing.
        complete = _complete(tracks)
        held = complete.individuals()[-_AFTER_CLEARING:]
        clears = size in scale.clearings
        after = len(held) if clears else 0
        last = len(messages) - after
        begun = last - size
        peer = PapersWay(_static(), FILLING, size)
        stack.enter_context(closing(peer))
        track = _in_levels(PAPER, size, peer, messages[:last], begun)
        checked = 0
        if clears:
            steps = peer.steps(messages[last:])
            rows.append(Row.of(CLEARING, PAPER, size, _clearings([*track.steps, *steps])))
            checked = compare_types(complete, peer, held)
            for each in tracks:
                compare_types(complete, each.system, held, sound_only=each.name == "plain")
        rows += [each.row(FILLING) for each in tracks]
        rows.append(track.row(FILLING, checked=checked))
    return rows


def unbounded(scale: Scale, profiles: Sequence[str]) -> list[Row]:
    """Figure 3: nothing ever leaves."""
    messages = list(tracker_messages(scale.messages))
    half = len(messages) // 2
    with ExitStack() as stack:
        tracks = [
            Track(
                profile,
                scale.messages,
                stack.enter_context(closing(Engine(deployment(profile, UNBOUNDED, 0)))),
                messages[:half],
                messages[half:],
            )
            for profile in profiles
        ]
        run_in_turns(tracks, scale.turns)
        peer = PapersWay(_static(), UNBOUNDED, 0)
        stack.enter_context(closing(peer))
        papers = _in_levels(PAPER, scale.messages, peer, messages, 0)
        return list(_agreed(tracks, [papers], UNBOUNDED))


def ontology(scale: Scale, profile: str) -> list[Row]:
    """The same messages with ontologies of more and more classes."""
    messages = list(tracker_messages(scale.variation_messages))

    def settings(classes: int, folder: Path) -> Settings:
        file = variations.ontology_of(classes, folder)
        return deployment(profile, SLIDING, scale.variation_window, ontology=file)

    return _varied(ONTOLOGY, profile, scale, scale.ontology, settings, lambda _: messages)


def statements(scale: Scale, profile: str) -> list[Row]:
    """Individuals of more and more statements."""

    def settings(count: int, folder: Path) -> Settings:
        return deployment(
            profile,
            SLIDING,
            scale.variation_window,
            ontology=variations.wide_ontology(count, folder),
            rules=variations.wide_rules(count, folder),
        )

    def messages(count: int) -> list[bytes]:
        return variations.wide_messages(count, scale.variation_messages)

    return _varied(STATEMENTS, profile, scale, scale.statements, settings, messages)


def rules(scale: Scale, section: str, write: Callable[[int, Path], Path]) -> list[Row]:
    """More and more rules beside the paper's two."""
    messages = list(tracker_messages(scale.variation_messages))

    def settings(count: int, folder: Path) -> Settings:
        file = write(count, folder)
        return deployment("plain", SLIDING, scale.variation_window, rules=file)

    return _varied(section, "plain", scale, scale.rules, settings, lambda _: messages)


def _varied(
    section: str,
    profile: str,
    scale: Scale,
    values: Sequence[int],
    settings: Callable[[int, Path], Settings],
    messages: Callable[[int], list[bytes]],
) -> list[Row]:
    full = scale.variation_window
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tracks = []
        for value in values:
            engine = stack.enter_context(closing(Engine(settings(value, folder))))
            stream = messages(value)
            tracks.append(Track(profile, value, engine, stream[:full], stream[full:]))
        run_in_turns(tracks, scale.turns)
        return [track.row(section) for track in tracks]


def _papers_track(
    stack: ExitStack,
    name: str,
    messages: list[bytes],
    size: int,
    count: int,
    *,
    rebuilt: bool = False,
    listing: bool = False,
) -> Track:
    """The paper's way, its window full: it ends with the last message, as the engines do.

    As many messages as are measured, up to half a window, warm Java up before.
    """
    warm = 0 if listing else min(count, size // 2)
    first = len(messages) - count - warm - size
    system = PapersWay(_static(), SLIDING, size, rebuilt=rebuilt, listing=listing)
    stack.enter_context(closing(system))
    system.fill(messages[first : first + size], first + 1)
    begun = first + size
    return Track(name, size, system, messages[begun : begun + warm], messages[begun + warm :])


def _in_levels(name: str, size: int, peer: PapersWay, messages: list[bytes], begun: int) -> Track:
    """Fill a window in a few bulks, with some measured messages at the end of each."""
    track = Track(name, size, peer, [], [])
    level = (len(messages) - begun) / _LEVELS
    few = min(_STEPS_AT_A_LEVEL, int(level))
    steps: list[Step] = []
    for number in range(_LEVELS):
        first, last = (begun + round(level * n) for n in (number, number + 1))
        peer.fill(messages[first : last - few], first + 1)
        clock = peer.cpu()
        steps = peer.steps(messages[last - few : last])
        track.cpu = peer.cpu() - clock
        track.steps += steps
    # Only the fullest level counts as measured; the others are the curve.
    track.measured = messages[len(messages) - len(steps) :]
    track.before = messages[begun : begun + len(track.steps) - len(steps)]
    return track


def _agreed(tracks: Sequence[Track], peers: Sequence[Track], section: str) -> Iterator[Row]:
    """The rows of systems that have seen the same messages and infer the same from them."""
    complete = _complete(tracks)
    humans = complete.individuals()
    some = list(dict.fromkeys(humans[: _COMPARED // 2] + humans[-_COMPARED // 2 :]))
    for track in tracks:
        checked = 0
        if track.system is not complete:
            sound_only = track.name == "plain"
            checked = compare_types(complete, track.system, humans, sound_only=sound_only)
        yield track.row(section, checked=checked)
    for track in peers:
        yield track.row(section, checked=compare_types(complete, track.system, some))


def _naive(tracks: Sequence[Track], count: int) -> Iterator[Row]:
    """owlready2's own calls on the window as it is, as a system without a loop would make them."""
    complete = _complete(tracks)
    humans = complete.individuals()
    triples = _static() + complete.window()
    for reasoner in ("hermit", "pellet"):
        with closing(Peer("owlready")) as peer:
            steps: list[Step] = []
            cpu = 0.0
            for number in range(1, count + 1):
                answer = peer.ask("reason", triples=triples, individuals=humans, reasoner=reasoner)
                seconds = {"t_i": answer["seconds"], "t_w": 0.0, "t_m": 0.0, "t_s": 0.0}
                steps.append(Step(number, seconds, triples.count("\n")))
                cpu += answer["cpu"]
        found = {name: frozenset(types) for name, types in answer["types"].items()}
        checked = check_types(complete.types(humans), found)
        name = f"sync_reasoner_{reasoner}"
        yield Row.of(NAIVE, name, tracks[0].size, steps, cpu=cpu, checked=checked)


def _complete(tracks: Sequence[Track]) -> Engine:
    """The engine with the most complete reasoning."""
    engine = tracks[-1].system
    assert isinstance(engine, Engine)
    return engine


def _clearings(steps: Sequence[Step]) -> list[Step]:
    """The messages that found a full window and emptied it."""
    return [
        after for before, after in itertools.pairwise(steps) if after.asserted < before.asserted
    ]


def _static() -> str:
    return to_ntriples(load_ontology((paper_ontology(),)).triples).decode()
