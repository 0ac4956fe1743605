"""The drafted ontology, rules and shapes as text, with comments that say what to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from sensorstream.cli.draft.datatype_guesses import pictures_of
from sensorstream.cli.draft.draft_names import DraftNames
from sensorstream.cli.draft.draft_plan import Drafted, RulesDraft, ValueSpot, plan_of
from sensorstream.cli.draft.message_shape import ElementKind, MessageShape, Tag
from sensorstream.language.rule_printer import escaped
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import DECIMAL, INTEGER, XSD

_XML: Final = "http://www.w3.org/XML/1998/namespace"
_PREFIX: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_PLAIN: Final = re.compile(r"[^\W\d][\w.-]*")


@frozen
class Draft:
    """An ontology and shapes in Turtle, mapping rules, and what they rest on.

    ``left_out`` are the paths of the message that no rule maps, each with its number of elements;
    ``guesses`` say what a reader has to look at.
    """

    ontology: str
    rules: str
    shapes: str
    timeline: Timeline
    classes: tuple[str, ...]
    left_out: Mapping[str, int]
    guesses: Sequence[str]


def draft_of(
    shape: MessageShape, namespaces: Mapping[str | None, str], start: str, name: str
) -> Draft:
    """A draft for sample messages of a shape. Their ``namespaces`` keep their prefixes where they
    can; ``start`` begins the IRIs of all classes, properties and individuals; ``name`` is how
    comments call the messages.
    """
    roots = tuple(shape.roots.values())
    plan = plan_of(roots)
    prefixes = _prefixes(roots, namespaces)
    rules = "\n".join(
        (
            *_head(start, prefixes, name),
            *(line for each in plan.individuals for line in _rule(each, plan, prefixes)),
            *_rest(shape.left_out),
        )
    )
    classes = tuple(dict.fromkeys(each.class_name for each in plan.individuals))
    ontology = "\n".join(_ontology(plan, classes, start, name))
    guesses = [
        f"rule {each.rule}: {line.removeprefix('# A guess: ')}"
        for each in plan.individuals
        for line in _guesses(each, _paths(each, prefixes))
    ]
    shapes = "\n".join(_shapes(plan, classes, start, name))
    told = plan.timeline, classes, shape.left_out, guesses
    return Draft(f"{ontology}\n", f"{rules}\n", f"{shapes}\n", *told)


def _prefixes(roots: Iterable[ElementKind], namespaces: Mapping[str | None, str]) -> dict[str, str]:
    """A prefix for each namespace that a path needs, by its name."""
    used = dict.fromkeys(
        tag[0]
        for root in roots
        for kind in root.walk()
        for tag in (kind.tag, *kind.attributes)
        if tag[0] and tag[0] != _XML
    )
    names = DraftNames("xml")
    found: dict[str, str] = {}
    for uri in used:
        told = next((name for name, other in namespaces.items() if name and other == uri), "m")
        suits = told[0].isascii() and told[0].isalpha() and all(sign in _PREFIX for sign in told)
        found[uri] = names.new(told if suits else "m")
    return found


def _head(start: str, prefixes: Mapping[str, str], name: str) -> Iterator[str]:
    yield f"# A first draft of mapping rules, made from {_in_comment(name)}. It maps every value in"
    yield "# them. Change it to say what you mean: give classes and properties the names of"
    yield "# your subject, here and in the ontology, and remove what nobody needs. 'update'"
    yield "# replaces the values that an individual has from an earlier message, 'insert' adds to"
    yield "# them."
    yield ""
    yield f"prefix : <{start}>"
    if prefixes:
        yield ""
        yield from (f'xmlns {each} = "{escaped(uri)}"' for uri, each in prefixes.items())


def _rule(drafted: Drafted, plan: RulesDraft, prefixes: Mapping[str, str]) -> Iterator[str]:
    paths = _paths(drafted, prefixes)
    yield ""
    yield from _guesses(drafted, paths)
    yield from _advice(drafted)
    yield f"mapping {drafted.rule}"
    yield f"on message {{/{paths.step(paths.root.kind)}}}"
    for each in [*drafted.outward()][-2::-1]:
        yield f"for each ${each.variable} in {{{paths.down(each)}}}"
    yield "then"
    at = ""
    if drafted.time is not None:
        pictures = pictures_of(drafted.time[1].values.seen)
        read = " or ".join(f'"{each}"' for each in pictures)
        counted = plan.timeline is Timeline.INTEGER or not read
        at = f" at {{{paths.place(*drafted.time)}{'' if counted else f' |> date {read}'}}}"
    # Later messages update an individual with an identifier; one named by its place exists once.
    word = "update" if drafted.alone else "insert"
    lines = [f"  {word} individual {_name(drafted, paths)} a :{drafted.class_name}{at}"]
    for name, place in drafted.properties:
        lines.append(f"    ; :{name} {{{paths.place(drafted, place)}}}")
    if drafted.around is not None:
        lines.append(f"    ; :{plan.part_of} {_name(drafted.around, paths)}")
    lines[-1] += " ."
    yield from lines


def _guesses(drafted: Drafted, paths: _Paths) -> Iterator[str]:
    if drafted.guess:
        places = " and ".join(paths.place(drafted, each) for each in drafted.identifier)
        yield f"# A guess: named by {places}: {drafted.guess}."
    if drafted.time is not None and drafted.other_times:
        at, place = drafted.time
        others = ", ".join(paths.place(at, each) for each in drafted.other_times)
        yield f"# A guess: its time is {paths.place(at, place)}; there is {others}, too."


def _advice(drafted: Drafted) -> Iterator[str]:
    if not drafted.identifier and drafted.around is None:
        yield "# Nothing in the message looks like an identifier, so all messages are about the"
        yield "# same individual: name it by what tells your messages apart."
    elif not drafted.identifier:
        yield "# Named by its position: use an identifier if there is one."
    elif not drafted.alone and drafted.around is not None:
        yield "# Its identifier occurs several times in the message, so it follows that of what it"
        yield "# is a part of."
    if drafted.time is None:
        yield "# No time was found, so it holds from the time of arrival: 'at {…}' names another."


def _name(drafted: Drafted, paths: _Paths) -> str:
    holes = []
    for each in drafted.outward():
        if each.identifier:
            holes += [f"{{{paths.place(each, place)}}}" for place in reversed(each.identifier)]
        elif each.around is not None:
            holes.append(f"{{count(${each.variable}/preceding-sibling::*) + 1}}")
        if each.alone:
            break
    return ":" + "-".join((drafted.rule, *reversed(holes)))


def _paths(drafted: Drafted, prefixes: Mapping[str, str]) -> _Paths:
    """The paths of a rule, which begin at the root of its messages."""
    *_, root = drafted.outward()
    return _Paths(root, prefixes)


@frozen
class _Paths:
    """A writer of XPaths; ``root`` is the individual whose element is the context node."""

    root: Drafted
    prefixes: Mapping[str, str]

    def step(self, kind: ElementKind) -> str:
        return self._tag(kind.tag)

    def down(self, drafted: Drafted) -> str:
        """The path from the individual around to this one."""
        assert drafted.around is not None
        return "/".join((*self._from(drafted.around), *map(self.step, drafted.steps)))

    def place(self, drafted: Drafted, place: ValueSpot) -> str:
        steps = [*self._from(drafted), *map(self.step, place.steps)]
        kind = place.steps[-1] if place.steps else drafted.kind
        if place.attribute is not None:
            steps.append(f"@{self._tag(place.attribute)}")
        elif kind.children:
            steps.append("text()")
        return "/".join(steps) or "."

    def _from(self, drafted: Drafted) -> list[str]:
        return [] if drafted is self.root else [f"${drafted.variable}"]

    def _tag(self, tag: Tag) -> str:
        uri, local = tag
        if not _PLAIN.fullmatch(local):
            # A name of XML that XPath in the rule language cannot write; it holds no quote.
            where = f" and namespace-uri()={_quoted(uri)}" if uri else ""
            return f"*[local-name()='{local}'{where}]"
        if not uri:
            return local
        return f"xml:{local}" if uri == _XML else f"{self.prefixes[uri]}:{local}"


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def _rest(left_out: Mapping[str, int]) -> Iterator[str]:
    if left_out:
        yield ""
        yield "# Left out:"
        for path, count in left_out.items():
            yield f"#   {_in_comment(path)}" + (f" ({count} elements)" if count > 1 else "")


def _ontology(plan: RulesDraft, classes: tuple[str, ...], start: str, name: str) -> Iterator[str]:
    yield f"# A first draft of an ontology, made from {_in_comment(name)}."
    yield "# The datatypes are guessed from its values: check that they suit all messages."
    yield ""
    yield f"@prefix : <{start}> ."
    yield "@prefix owl: <http://www.w3.org/2002/07/owl#> ."
    yield "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    yield f"@prefix xsd: <{XSD}> ."
    yield ""
    yield f"<{start.rstrip('#/')}> a owl:Ontology ."
    yield ""
    yield from (f":{each} a owl:Class ." for each in classes)
    yield ""
    if len(plan.individuals) > 1:
        yield f":{plan.part_of} a owl:ObjectProperty ."
    for each, datatype in plan.ranges.items():
        local = datatype.removeprefix(XSD)
        yield f":{each} a owl:DatatypeProperty ; rdfs:range xsd:{local} ."


def _shapes(plan: RulesDraft, classes: tuple[str, ...], start: str, name: str) -> Iterator[str]:
    yield f"# A first draft of shapes, guessed from {_in_comment(name)}. Remove what is by chance,"
    yield "# and widen what further messages may say; ranges are comments until you do. Name this"
    yield '# file in the settings then: [shapes] files = ["shapes/draft.ttl"].'
    yield ""
    yield f"@prefix : <{start}> ."
    yield "@prefix sh: <http://www.w3.org/ns/shacl#> ."
    yield f"@prefix xsd: <{XSD}> ."
    for each in classes:
        kinds = [drafted for drafted in plan.individuals if drafted.class_name == each]
        # A class has one shape, whatever messages its individuals come from.
        places: dict[str, list[ValueSpot]] = {}
        for property_, place in (found for kind in kinds for found in kind.properties):
            places.setdefault(property_, []).append(place)
        yield ""
        yield f":{each}Shape a sh:NodeShape ; sh:targetClass :{each}"
        if all(kind.around is not None for kind in kinds):
            link = f"sh:path :{plan.part_of} ; sh:nodeKind sh:IRI ; sh:minCount 1"
            yield f"  ; sh:property [ {link} ]"
        for property_, found in places.items():
            datatype = plan.ranges[property_]
            always = len(found) == len(kinds) and all(place.always for place in found)
            counts = " ; sh:minCount 1 ; sh:maxCount 1" if always else ""
            local = datatype.removeprefix(XSD)
            yield f"  ; sh:property [ sh:path :{property_} ; sh:datatype xsd:{local}{counts}"
            if datatype in (INTEGER, DECIMAL):
                seen = sorted((v for place in found for v in place.values.seen), key=Decimal)
                yield f"      # ; sh:minInclusive {seen[0]} ; sh:maxInclusive {seen[-1]}"
            yield "    ]"
        yield "."


def _in_comment(text: str) -> str:
    return " ".join(text.split())
