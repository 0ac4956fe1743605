"""The reasoner's process. It ends when its owner ends, in any way."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from sensorstream.processes.pipes import wait_for_hang_up
from sensorstream.reasoning.dl.hermit import Hermit, Justifier, Realisation
from sensorstream.reasoning.dl.pellet import Pellet
from sensorstream.reasoning.dl.protocol import (
    Answer,
    AskTypes,
    Explain,
    Explained,
    LoadAxioms,
    Message,
    Realise,
    Realised,
    Verified,
    Verify,
)

_STACK_BYTES = 256 * 1024 * 1024


def main(owner: Connection, home: str, heap: str, nice: str) -> None:
    """Serve until the owner hangs up, with the Java of a folder, and a heap of so many MiB."""
    os.nice(int(nice))
    start_java(Path(home), int(heap))
    # Tableau algorithms recurse with the size of an island.
    threading.stack_size(_STACK_BYTES)
    threading.Thread(target=_serve_and_exit, args=(owner,), daemon=True).start()
    # Even while Java is busy.
    wait_for_hang_up(owner.fileno())
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


def load_axioms(request: LoadAxioms) -> Hermit | Pellet:
    """The requested reasoner, with its axioms classified."""
    axioms = request.axioms.encode()
    return Pellet(axioms) if request.reasoner == "pellet" else Hermit(axioms)


_NOTHING: Final[dict[type, Answer | Explained | Realised | Verified]] = {
    LoadAxioms: Answer([]),
    AskTypes: Answer([]),
    Explain: Explained(None),
    Realise: Realised(None),
    Verify: Verified([]),
}
"""What is answered to a request that fails, beside the error."""


class Served:
    """The answers to requests, and what these have made for those after them."""

    def __init__(self) -> None:
        self._engine: Hermit | Pellet | None = None
        self._justifier: Justifier | None = None
        self._realisation: Realisation | None = None

    def answer(self, request: Message) -> Message:
        """The answer to a request; a failure is an answer, too: the owner says what it means."""
        try:
            return self._answer(request)
        except Exception as error:  # also Java's exceptions
            told = " ".join(str(error).split()) or type(error).__name__
            return replace(_NOTHING[type(request)], error=told)

    def _answer(self, request: Message) -> Message:
        match request:
            case LoadAxioms():
                self._engine = load_axioms(request)
                return Answer([[] if self._engine.is_consistent() else None])
            case AskTypes(islands):
                assert self._engine is not None
                return Answer([self._engine.types(island) for island in islands])
            case Explain(axioms, triples, seconds, candidates):
                if self._justifier is None or self._justifier.axioms != axioms:
                    self._justifier = Justifier(axioms)
                return self._justifier.justify(triples, seconds, candidates)
            case Realise(document, values):
                found = self._realisation = Realisation(document, values)
                return Realised([*found.statements()] if found.consistent else None)
            case Verify(statements):
                assert self._realisation is not None
                return Verified([self._realisation.holds(each) for each in statements])
        raise ValueError(f"{type(request).__name__} is no request")


def _serve_and_exit(owner: Connection) -> None:
    served = Served()
    try:
        while True:
            owner.send_bytes(pickle.dumps(served.answer(pickle.loads(owner.recv_bytes()))))
    finally:
        os._exit(0)
