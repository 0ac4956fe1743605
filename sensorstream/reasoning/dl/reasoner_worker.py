"""The reasoner's process. It ends when its owner ends, in any way."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

from sensorstream.processes.pipe_waits import wait_for_hang_up
from sensorstream.reasoning.dl.hermit import Hermit, Justifier, Realisation
from sensorstream.reasoning.dl.pellet import Pellet
from sensorstream.reasoning.dl.reasoner_messages import Explained, IslandFacts, Statement, Types

_STACK_BYTES = 256 * 1024 * 1024


def main(owner: Connection, home: str, heap: str, nice: str) -> None:
    """Serve until the owner hangs up, with the Java of a folder, and a heap of so many MiB."""
    os.nice(int(nice))
    # JPype imports numpy where it is installed, which takes longer than to start Java.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    start_java(Path(home), int(heap))
    # Tableau algorithms recurse with the size of an island.
    threading.stack_size(_STACK_BYTES)
    threading.Thread(target=_serve_and_exit, args=(owner,), daemon=True).start()
    # The process ends even while Java is busy.
    wait_for_hang_up(owner.fileno())
    os._exit(0)


def start_java(home: Path, heap: int) -> None:
    """Start the JVM in this process, with HermiT and Pellet on its class path. ``heap`` limits the
    memory of its objects, in MiB; a JVM that needs more ends.
    """
    import jpype

    # Only its archives of classes are needed.
    owlready2 = find_spec("owlready2")
    assert owlready2 is not None
    assert owlready2.origin is not None
    jars = Path(owlready2.origin).parent
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


class Served:
    """The answers of the process; objects that its methods make are kept for later questions."""

    def __init__(self) -> None:
        self._engine: Hermit | Pellet | None = None
        self._justifier: Justifier | None = None
        self._realisation: Realisation | None = None

    def load(self, reasoner: str, axioms: str) -> bool:
        """Classify these axioms (N-Triples) by a reasoner; returns whether they have a model."""
        self._engine = (Pellet if reasoner == "pellet" else Hermit)(axioms.encode())
        return self._engine.is_consistent()

    def types(self, islands: Sequence[IslandFacts]) -> list[Types | None]:
        """The types of every member of each island; None: it contradicts the axioms."""
        assert self._engine is not None
        return [self._engine.types(island) for island in islands]

    def explain(
        self, axioms: str, triples: str, seconds: float, candidates: Sequence[str] = ()
    ) -> Explained:
        """The axioms that contradict these triples (both N-Triples), found within ``seconds``.
        ``candidates`` are assertions, each an N-Triples text with its declarations: those that are
        needed are found like the axioms, and preferred to these.
        """
        if self._justifier is None or self._justifier.axioms != axioms:
            self._justifier = Justifier(axioms)
        return self._justifier.justify(triples, seconds, candidates)

    def realise(self, document: str, values: Sequence[tuple[str, str]]) -> list[Statement] | None:
        """The statements that follow about a document's individuals (N-Triples); None: it has no
        model.

        Types, property values and equalities are from HermiT's lists: some may not be entailed.
        Listed values of datatype properties are those asserted with a subproperty or for an equal
        individual, and those of ``values``: (property, literal), as N-Triples.
        """
        self._realisation = Realisation(document, values)
        return [*self._realisation.statements()] if self._realisation.consistent else None

    def verify(self, statements: Sequence[Statement]) -> list[bool]:
        """Whether each statement follows from the document that was realised last."""
        assert self._realisation is not None
        return [self._realisation.holds(each) for each in statements]


def answered(served: Served, question: Callable[[Served], object]) -> tuple[str, object]:
    """The reason why a question failed, or "", and its answer; the owner interprets failures."""
    try:
        return "", question(served)
    except Exception as error:  # also Java's exceptions
        return " ".join(str(error).split()) or type(error).__name__, None


def _serve_and_exit(owner: Connection) -> None:
    served = Served()
    try:
        while True:
            question = pickle.loads(owner.recv_bytes())
            owner.send_bytes(pickle.dumps(answered(served, question)))
    finally:
        os._exit(0)
