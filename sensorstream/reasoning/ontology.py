"""The loader of an ontology, with checks: several files, one set of triples, one schema.

Source: OWL 2 Mapping to RDF Graphs (W3C, 2012), sections 3.1 (imports) and 3.2.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Final

from sensorstream.errors import OntologyError, Position, TermError
from sensorstream.installation import lacking
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import field, frozen
from sensorstream.model.schema import Schema, missing_kinds
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.axioms import ANNOTATIONS, SWRL
from sensorstream.reasoning.ontology_documents import (
    MEDIA_TYPES,
    Catalogs,
    Missing,
    parse_document,
    read_document,
    unresolved,
)
from sensorstream.reasoning.undeclared_names import (
    DATATYPE_PROPERTY,
    OBJECT_PROPERTY,
    Undeclared,
    undeclared,
)
from sensorstream.settings.settings import OntologySettings

_SHOWN: Final = 5
_WARNING: Final = "* Owlready2 * Warning: "
_OF_AXIOMS: Final = (OWL, rdf.FIRST, XSD, SWRL)
_OF_PYTHON: Final = (
    "metaclass conflict",
    "method resolution order",
    "layout conflict",
    "more than one entity types",
)
"""What is said of names for which Python has no class; OWL allows them (punning)."""


@frozen
class Remark:
    """A remark for readers of the ontology, which is no fault; ``code`` is stable."""

    code: str
    file: Path
    text: str


@frozen
class Ontology:
    """The static knowledge of a deployment: axioms and individuals.

    ``files`` are all that were read, also those that a catalog has named, and the catalogs.
    ``triples`` hold no duplicates and keep the order of the files; blank nodes are labelled
    by that order, so that two loads of the same files are equal.
    """

    files: tuple[Path, ...]
    triples: tuple[Triple, ...] = field(repr=False)
    schema: Schema = field(repr=False)
    remarks: tuple[Remark, ...] = ()

    def ntriples(self) -> bytes:
        """The triples as N-Triples."""
        return to_ntriples(self.triples)


def load_ontology(
    files: Sequence[Path], leave_out: Collection[str] = (), names: str = "refuse"
) -> Ontology:
    """Read files as one ontology, in any syntax of :mod:`.ontology_documents`.

    ``owl:imports`` is resolved by ontology or version IRI among the given files, then by the
    catalogs beside the importing files; those named in ``leave_out`` are left out. Nothing is
    downloaded. ``names`` says what to do with undeclared ones: ``refuse`` them in restrictions, or
    ``infer`` their kind from their use.

    Raises:
        OntologyError: a file cannot be read or parsed (with its line), imports a file that is not
            given, or is not valid OWL.
    """
    reading = _Reading(leave_out)
    for file in files:
        reading.take(file, read_document(file))
    return _checked(files, reading, names)


def deployed_ontology(settings: OntologySettings) -> Ontology:
    """The ontology of a deployment's settings; see :func:`load_ontology`."""
    return load_ontology(settings.files, settings.leave_out, settings.undeclared)


def parse_ontology(
    content: bytes, media_type: str, leave_out: Collection[str] = (), names: str = "refuse"
) -> Ontology:
    """An ontology from a text instead of files; ``media_type`` is one of :data:`MEDIA_TYPES`.

    Raises:
        OntologyError: as for :func:`load_ontology`; places in the text are those of a file
            ``ontology``.
    """
    if media_type not in MEDIA_TYPES:
        raise OntologyError(
            f"'{media_type}' is not an ontology format: expected one of {', '.join(MEDIA_TYPES)}"
        )
    file = Path(f"ontology{MEDIA_TYPES[media_type]}")
    reading = _Reading(leave_out, catalogs=False)
    reading.take(file, parse_document(file, content))
    return _checked([file], reading, names)


def parse_put(settings: OntologySettings, content: bytes, media_type: str) -> Ontology:
    """An ontology that was put in a deployment; see :func:`parse_ontology`."""
    return parse_ontology(content, media_type, settings.leave_out, settings.undeclared)


def parse_accepted(content: bytes, media_type: str) -> Ontology:
    """An ontology that a server has in force, whatever its settings allow; it is not checked.

    Raises:
        OntologyError: it cannot be parsed.
    """
    file = Path(f"ontology{MEDIA_TYPES.get(media_type, '')}")
    reading = _Reading((), catalogs=False)
    reading.take(file, (t for t in parse_document(file, content) if t[1] != owl.IMPORTS))
    return Ontology((file,), tuple(reading.merged), Schema.of(reading.merged))


class _Reading:
    """The triples of the files read so far, and their imports."""

    def __init__(self, leave_out: Collection[str], *, catalogs: bool = True) -> None:
        self._leave_out = frozenset(leave_out)
        self._catalogs = Catalogs() if catalogs else None
        self._labels: dict[str, BlankNode] = {}
        self._given: set[Term] = set()
        self._count = 0
        self._imports: dict[IRI, Path] = {}
        self.files: dict[Path, None] = {}
        self.merged: dict[Triple, None] = {}
        self.restricted: dict[Term, Path] = {}
        self.remarks: list[Remark] = []
        self.invalid: dict[Triple, tuple[Path, str]] = {}
        """The triples with a literal that is not valid for its datatype: the file, and why."""

    def take(self, file: Path, found: Iterable[Triple]) -> None:
        """Add the triples of one file."""
        number, self._count = self._count, self._count + 1
        self.files[file] = None
        for s, p, o in found:
            # A label identifies a node within one file only.
            triple = (_relabel(s, number, self._labels), p, _relabel(o, number, self._labels))
            self.merged[triple] = None  # type: ignore[index]  # a relabelled subject is a subject
            if isinstance(o, Literal) and (why := _fault_of(o)):
                self.invalid[triple] = file, why  # type: ignore[index]
            if p == owl.IMPORTS and isinstance(o, IRI):
                self._imports.setdefault(o, file)
            elif p == owl.ON_PROPERTY:
                self.restricted.setdefault(triple[2], file)
            elif p == owl.VERSION_IRI:
                self._given.add(o)
            elif p == rdf.TYPE and o == owl.ONTOLOGY:
                self._given.add(s)

    def resolve(self) -> None:
        """Find every import, those of the files found for it included.

        Raises:
            OntologyError: one is nowhere, or the file that a catalog has for it cannot be read.
        """
        known = {each.resolve() for each in self.files}
        mapped: set[IRI] = set()
        while found := list(self._mapped(mapped)):
            for missing, file in found:
                mapped.add(missing.target)
                told = f"the import of <{missing.target}> is {file}: the catalog beside it says so"
                self.remarks.append(Remark("import-mapped", missing.file, told))
                if file.resolve() not in known:
                    known.add(file.resolve())
                    self.take(file, read_document(file))
        nowhere = [each for each in self._missing() if each.target not in mapped]
        for each in nowhere:
            if each.target in self._leave_out:
                self._leave(each)
        nowhere = [each for each in nowhere if each.target not in self._leave_out]
        if nowhere:
            raise unresolved(nowhere)

    def _missing(self) -> list[Missing]:
        return [Missing(t, file) for t, file in self._imports.items() if t not in self._given]

    def _mapped(self, done: Collection[IRI]) -> Iterator[tuple[Missing, Path]]:
        """The missing imports for which a catalog has a file, except those that are done."""
        if self._catalogs is None:
            return
        for missing in self._missing():
            if missing.target not in self._leave_out and missing.target not in done:
                file = self._catalogs.file_of(missing)
                if file is not None:
                    yield missing, file

    def read_files(self) -> tuple[Path, ...]:
        """The files, then the catalogs."""
        return (*self.files, *(self._catalogs.files if self._catalogs else ()))

    def _leave(self, missing: Missing) -> None:
        told = (
            f"the import of <{missing.target}> is left out, as [ontology] leave_out says: "
            "what it declares is not known here"
        )
        self.remarks.append(Remark("import-left-out", missing.file, told))
        for triple in [t for t in self.merged if t[1] == owl.IMPORTS and t[2] == missing.target]:
            del self.merged[triple]


def _checked(files: Sequence[Path], reading: _Reading, names: str) -> Ontology:
    reading.resolve()
    triples = (*reading.merged, *missing_kinds(reading.merged))
    schema = Schema.of(triples)
    unknown = undeclared(triples, schema)
    file = files[0] if files else Path()
    if names == "infer":
        triples = tuple(dict.fromkeys((*triples, *unknown.declarations())))
        schema = Schema.of(triples)
    reading.remarks += _invalid(reading, schema)
    remarks = [*reading.remarks, *(Remark("undeclared", file, t) for t in _told(unknown, names))]
    _check(reading, triples, schema, unknown)
    # Annotations cannot be wrong as OWL, and imports are checked already. The classes of
    # individuals cannot be wrong either, and owlready2 never ends for two classes that are each
    # other's members.
    world = [
        t
        for t in triples
        if t[1] != owl.IMPORTS
        and not (t[1] == rdf.TYPE and _is_own(t[2]))
        and t not in reading.invalid
    ]
    if any(isinstance(o, IRI) and o.startswith((OWL, RDF)) for _, _, o in world):
        said = _loaded_with_owlready(_files(reading), to_ntriples(world))
        remarks += (Remark("owlready2", file, each) for each in said)
    return Ontology(reading.read_files(), triples, schema, tuple(remarks))


def _fault_of(literal: Literal) -> str:
    """The reason why a literal is not valid for its datatype; "" if it is."""
    try:
        _ = literal.value
    except (TermError, ValueError) as error:
        return str(error)
    return ""


def _invalid(reading: _Reading, schema: Schema) -> Iterator[Remark]:
    """Remarks on invalid literals in annotations, from which nothing follows.

    Raises:
        OntologyError: one is in an axiom, or a value of an individual.
    """
    seen: Counter[tuple[Path, str]] = Counter()
    for triple, (file, why) in reading.invalid.items():
        s, p, o = triple
        assert isinstance(o, Literal)
        seen[file, o.lexical] += 1
        of = "" if isinstance(s, BlankNode) else f" of <{s}>"
        told = f"the value {o.n3} of <{p}>{of} is not valid: {why}"
        line = _line_of(file, o.lexical, seen[file, o.lexical])
        if p in schema.datatype_properties or (p.startswith(_OF_AXIOMS) and p not in ANNOTATIONS):
            raise OntologyError(
                told if line else f"{file}: {told}",
                position=Position(str(file), line, 1) if line else None,
            )
        where = f"line {line}: " if line else ""
        yield Remark("invalid-literal", file, f"{where}{told}; nothing follows from an annotation")


def place_of(files: Iterable[Path], name: IRI) -> Position | None:
    """The first place of a name's last part in some files; None: it is in none."""
    last = re.split("[#/]", name)[-1]
    for file in files:
        try:
            content = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        found = re.search(rf"(?<=[#/:;]){re.escape(last)}\b", content)
        if found is not None:
            line = content.count("\n", 0, found.start()) + 1
            column = found.start() - content.rfind("\n", 0, found.start())
            return Position(str(file), line, column)
    return None


def _line_of(file: Path, text: str, number: int) -> int:
    """The line of a file that has a text between quotes or tags for the n-th time; 0: none."""
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return 0
    found = list(re.finditer(f"(?<=[\"'>]){re.escape(text)}(?=[\"'<])", content))[:number]
    return content.count("\n", 0, found[-1].start()) + 1 if found else 0


def _told(unknown: Undeclared, names: str) -> Iterator[str]:
    """Sentences on names that are used and not declared."""
    taken = names == "infer"
    way = "" if taken else ': declare it, or set [ontology] undeclared = "infer"'
    for kind, word in (
        (OBJECT_PROPERTY, "an object property"),
        (DATATYPE_PROPERTY, "a datatype property"),
        (None, "a property"),
    ):
        found = [name for name, shown in unknown.properties.items() if shown == kind]
        if found and kind is None:
            yield (
                f"used as a property, and not declared: {_listed(found)}: left out of reasoning, "
                "because nothing shows of which kind"
            )
        elif found:
            yield f"used as {word}, and not declared: {_listed(found)}{way}"
    if unknown.classes:
        yield f"used as a class, and not declared: {_listed(unknown.classes)}{way}"


def _listed(names: Sequence[IRI]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"<{name}>" for name in names[:_SHOWN]) + more


def to_ntriples(triples: Iterable[Triple]) -> bytes:
    """The triples as an N-Triples document."""
    return "".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in triples).encode()


def _relabel(term: Term, file: int, labels: dict[str, BlankNode]) -> Term:
    if not isinstance(term, BlankNode):
        return term
    return labels.setdefault(f"{file}{term}", BlankNode(f"_:ontology{len(labels)}"))


def _check(
    reading: _Reading, triples: tuple[Triple, ...], schema: Schema, unknown: Undeclared
) -> None:
    both = schema.object_properties & schema.datatype_properties
    if both:
        raise _of_two_kinds(_files(reading), min(both), triples)
    declared = {s for s, p, o in triples if p == rdf.TYPE}
    declared |= {s for s, p, _ in triples if p == owl.INVERSE_OF}
    wrong = {
        o: None
        for _, p, o in triples
        if p == owl.ON_PROPERTY and o not in declared and not o.startswith(OWL)
    }
    if wrong:
        raise _on_undeclared(list(wrong), reading.restricted, unknown)


def _is_own(kind: Term) -> bool:
    return isinstance(kind, IRI) and not kind.startswith((OWL, RDF, RDFS))


def _files(reading: _Reading) -> str:
    return ", ".join(map(str, reading.files)) or "no file"


def _of_two_kinds(where: str, name: IRI, triples: Iterable[Triple]) -> OntologyError:
    """The error for a property that is declared as two kinds, with what its values show."""
    values = [o for _, p, o in triples if p == name]
    literals = sum(isinstance(o, Literal) for o in values)
    if not values:
        way = "it has no values here: delete one of its declarations"
    elif literals == len(values):
        way = f"its values here ({literals}) are literals: delete its owl:ObjectProperty"
    elif not literals:
        way = f"its values here ({len(values)}) are individuals: delete its owl:DatatypeProperty"
    else:
        way = (
            f"of its values here {literals} are literals and {len(values) - literals} individuals: "
            "give the property for literals another name"
        )
    return OntologyError(
        f"{where}: <{name}> is both an object and a datatype property: expected one (OWL 2 DL); "
        f"{way}"
    )


def _on_undeclared(
    wrong: Sequence[Term], files: Mapping[Term, Path], unknown: Undeclared
) -> OntologyError:
    """The error for restrictions on properties that are not declared; the first has its file."""
    first, *others = wrong
    where = f"{files[first]}: a restriction is on"
    if isinstance(first, Literal):
        return OntologyError(f"{where} {first.n3}: expected a property")
    way = 'or [ontology] undeclared = "infer", which takes it as its use shows'
    if not isinstance(first, IRI) or unknown.properties.get(first) is None:
        way = "for its use does not show which"
    named = [each for each in others if isinstance(each, IRI)]
    also = f" (nor is {_listed(named)})" if named else ""
    return OntologyError(
        f"{where} <{first}>, which is not declared{also}: "
        f"expected an owl:ObjectProperty or owl:DatatypeProperty, {way}"
    )


def _loaded_with_owlready(where: str, content: bytes) -> Iterator[str]:
    """Load a document with owlready2 and read every class; yield what it does not represent, as
    sentences: that is no fault of the ontology.

    Raises:
        OntologyError: owlready2 cannot load it.
    """
    if "owlready2" in lacking("reasoners"):
        yield "owlready2 is not installed (the extra reasoners has it): its check is left out"
        return
    import owlready2  # heavy, and not needed to import this module

    world = owlready2.World()
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            world.get_ontology("urn:sensorstream:ontology#").load(fileobj=io.BytesIO(content))
            for each in (*world.classes(), *world.properties()):
                # owlready2 reads class expressions at their first use.
                _ = each.is_a, each.equivalent_to
    except Exception as error:  # owlready2 has no common error class
        reason = " ".join(str(error).split()) or type(error).__name__
        if not any(each in reason for each in _OF_PYTHON):
            raise OntologyError(f"{where}: owlready2 cannot load it: {reason}") from error
        yield (
            "owlready2 makes Python classes of classes and properties, and cannot do so here "
            f"({reason.partition(':')[0]}): its check is left out"
        )
    warnings = [line for line in said.getvalue().splitlines() if line.strip()]
    if warnings:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield f"owlready2 warns: {warnings[0].removeprefix(_WARNING)}{more}"
