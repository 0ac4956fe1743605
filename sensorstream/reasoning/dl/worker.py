"""The reasoner's process: ``python -m sensorstream.reasoning.dl.worker JAVA_HOME MIB NICE``.

It reads requests from standard input and writes answers to the original standard output; the output
of Java libraries goes to standard error. It ends when its owner ends, in any way.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sensorstream.processes.pipes import wait_for_hang_up
from sensorstream.reasoning.dl.justification import Justifier
from sensorstream.reasoning.dl.protocol import (
    Answer,
    AskTypes,
    Explain,
    Explained,
    IslandFacts,
    LoadAxioms,
    Realise,
    Realised,
    Types,
    Verified,
    Verify,
    encode,
    read,
)
from sensorstream.reasoning.dl.realisation import Realisation

_STACK_BYTES = 256 * 1024 * 1024


class OntologyReasoner(Protocol):
    """HermiT or Pellet over one ontology."""

    def is_consistent(self) -> bool:
        """Whether the axioms have a model."""

    def types(self, island: IslandFacts) -> Types | None:
        """The named classes of each member; None when there is no model."""


def main() -> None:
    """Serve until standard input ends."""
    # A separate descriptor for answers: a library that prints cannot damage a frame.
    answers = os.dup(1)
    os.dup2(2, 1)
    home, heap, nice = sys.argv[1:]
    os.nice(int(nice))
    start_java(Path(home), int(heap))
    # Tableau algorithms recurse with the size of an island.
    threading.stack_size(_STACK_BYTES)
    served = threading.Thread(target=_serve_and_exit, args=(answers,), daemon=True)
    served.start()
    # Even while Java is busy.
    wait_for_hang_up(0)
    os._exit(0)


def start_java(home: Path, heap: int) -> None:
    """Start the JVM in this process, with HermiT and Pellet on its class path.

    ``heap`` limits the memory of its objects, in MiB; a JVM that needs more ends.
    """
    import jpype
    import owlready2

    jars = Path(owlready2.__file__).parent
    jpype.startJVM(
        # This process handles signals itself; a simple collector is enough for a small heap.
        "-Xrs",
        "-XX:+UseSerialGC",
        f"-Xmx{heap}m",
        # The answers of a reasoner after a failed allocation cannot be trusted.
        "-XX:+ExitOnOutOfMemoryError",
        "--enable-native-access=ALL-UNNAMED",
        jvmpath=str(next((home / "lib" / "server").glob("libjvm.*"))),
        classpath=[
            str(jars / "hermit" / "HermiT.jar"),
            *map(str, sorted((jars / "pellet").glob("*.jar"))),
        ],
        convertStrings=False,
    )


def load_axioms(request: LoadAxioms) -> OntologyReasoner:
    """The requested reasoner, with its axioms classified."""
    axioms = request.axioms.encode()
    if request.reasoner == "pellet":
        from sensorstream.reasoning.dl.pellet import Pellet

        return Pellet(axioms)
    from sensorstream.reasoning.dl.hermit import Hermit

    return Hermit(axioms)


def serve(receive: Callable[[int], bytes], send: Callable[[bytes], object]) -> None:
    """Answer requests until there are no more."""
    engine: OntologyReasoner | None = None
    justifier: Justifier | None = None
    realisation: Realisation | None = None
    while (request := read(receive)) is not None:
        if isinstance(request, Realise):
            try:
                realisation = Realisation(request.document, request.values)
                found = [*realisation.statements()] if realisation.consistent else None
                send(encode(Realised(found)))
            except Exception as error:
                send(encode(Realised(None, _told(error))))
            continue
        if isinstance(request, Verify):
            try:
                assert realisation is not None
                send(encode(Verified([realisation.holds(each) for each in request.statements])))
            except Exception as error:
                send(encode(Verified([], _told(error))))
            continue
        if isinstance(request, Explain):
            try:
                if justifier is None or justifier.axioms != request.axioms:
                    justifier = Justifier(request.axioms)
                explained = justifier.justify(request.triples, request.seconds, request.candidates)
                send(encode(explained))
            except Exception as error:
                send(encode(Explained(None, error=_told(error))))
            continue
        try:
            if isinstance(request, LoadAxioms):
                engine = load_axioms(request)
                answer = Answer([[] if engine.is_consistent() else None])
            else:
                assert isinstance(request, AskTypes)
                assert engine is not None
                answer = Answer([engine.types(island) for island in request.islands])
        except Exception as error:  # also Java's exceptions: the owner decides what they mean
            answer = Answer([], _told(error))
        send(encode(answer))


def _told(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _serve_and_exit(answers: int) -> None:
    requests = os.fdopen(os.dup(0), "rb")
    with os.fdopen(answers, "wb", buffering=0) as out:

        def send(frame: bytes) -> None:
            view = memoryview(frame)
            while view:
                view = view[out.write(view) :]

        try:
            serve(requests.read, send)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
