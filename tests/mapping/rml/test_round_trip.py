"""Rules to RML and back: what may be said both ways means the same both ways."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError, MappingError
from sensorstream.installation import bundled
from sensorstream.language import parse, print_rules, syntax
from sensorstream.mapping import MappingPlan, check, compile_mapping, parse_document
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.rml.from_rules import from_rules, without_ancestors
from sensorstream.mapping.rml.rml_writer import print_rml
from sensorstream.mapping.rml.to_rules import to_rules
from sensorstream.model import xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Subject, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import XSD

E = "http://e/"
PREFIXES = (syntax.Prefix("", E), syntax.Prefix("xsd", XSD))
HEAD = f"prefix : <{E}>\nprefix xsd: <{XSD}>\n"
SCHEMA = Schema(
    classes=frozenset({IRI(f"{E}C"), IRI(f"{E}D")}),
    object_properties=frozenset({IRI(f"{E}to")}),
    datatype_properties=frozenset({IRI(f"{E}n"), IRI(f"{E}t")}),
    ranges_of={IRI(f"{E}n"): frozenset({IRI(xsd.INTEGER)})},
)

Said = dict[int, tuple[set[tuple[Term, Term, Term]], set[tuple[Subject, Term]]]]


def said(plan: MappingPlan, xml: str) -> Said | None:
    """What a plan says of each time; None if it rejects the message."""
    message = Message("m", xml.encode(), received=100)
    try:
        mapped = plan.apply(parse_document(xml.encode(), max_depth=9), message)
    except MappingError:
        return None
    return {each.time: (set(each.triples), set(each.replaces)) for each in mapped.events}


def unlabelled(found: Said | None) -> object:
    """The same with blank nodes by what is said of them, since labels count up as they appear."""
    if found is None:
        return None

    def shown(term: Term, triples: set[tuple[Term, Term, Term]]) -> object:
        if not isinstance(term, BlankNode):
            return term
        return frozenset(
            (p, o) for s, p, o in triples if s == term and not isinstance(o, BlankNode)
        )

    return {
        time: (
            {(shown(s, triples), p, shown(o, triples)) for s, p, o in triples},
            {(shown(s, triples), p) for s, p in replaces},
        )
        for time, (triples, replaces) in found.items()
    }


def rules_plan(file: syntax.RuleFile) -> MappingPlan:
    return compile_mapping([file], SCHEMA, Timeline.INTEGER)


def rml_plan(turtle: str) -> MappingPlan:
    return MappingPlan(compile_rml([read_rml(turtle)], SCHEMA, Timeline.INTEGER))


# Random rules

OUTSIDE = ("@time", "@kind", "TimeStamp/@value", "group/person/@id", "count(group)")
GROUP = ("$g/@n", "count($g/person)", "concat($g/@n, '/', @kind)", "$g/person/@x", "TimeStamp")
PERSON = (
    *("$p/@id", "$p/@x", "$p/name", "$g/@n", "@kind", "TimeStamp/@value", "$p/@x + 1"),
    *("concat($p/@id, '-', $g/@n, '-', @kind)", "$p/name[2]", "group[@n='1']/person/@id"),
    *("count($p/name) * count(group)", "string($p)", "normalize-space($p/name)", "number(@kind)"),
)
LOOPS = (
    ((), OUTSIDE),
    ((syntax.ForEach("g", syntax.Hole("group")),), GROUP + OUTSIDE),
    (
        (
            syntax.ForEach("g", syntax.Hole("group[@n]")),
            syntax.ForEach("p", syntax.Hole("$g/person")),
        ),
        PERSON,
    ),
)


def names(holes: st.SearchStrategy[syntax.Hole]) -> st.SearchStrategy[syntax.WrittenName]:
    return st.one_of(
        st.builds(lambda hole: syntax.WrittenName("", ("i-", hole)), holes),
        st.builds(lambda hole: syntax.WrittenName(None, (whole(hole),)), holes),
        st.just(syntax.WrittenName(None, (f"{E}fixed",))),
    )


def whole(hole: syntax.Hole) -> syntax.Hole:
    """A hole whose value is often an IRI."""
    return syntax.Hole(f"concat('urn:x:', {hole.text})")


def labels(holes: st.SearchStrategy[syntax.Hole]) -> st.SearchStrategy[syntax.BlankName]:
    return st.builds(lambda hole: syntax.BlankName(("b-", hole)), holes)


def values(holes: st.SearchStrategy[syntax.Hole]) -> st.SearchStrategy[syntax.PropertyValues]:
    texts = st.builds(
        lambda hole, other: syntax.TextTemplate(('"{', hole, "}\\", other)), holes, holes
    ) | st.just(syntax.TextTemplate(("plain",)))
    plain = st.one_of(
        st.builds(syntax.XPathValue, holes),
        st.builds(lambda hole: syntax.XPathValue(hole, language="en"), holes),
        st.builds(syntax.TextValue, texts),
        st.builds(lambda text: syntax.TextValue(text, language="de-at"), texts),
    )
    numbers = st.builds(syntax.XPathValue, holes) | st.just(syntax.WrittenNumber("12"))
    typed = st.builds(
        lambda hole: syntax.XPathValue(hole, syntax.WrittenName("xsd", ("decimal",))), holes
    )
    policies = st.none() | st.builds(
        syntax.MissingPolicy, st.sampled_from(["skip individual", "reject"])
    )

    def with_policy(value: st.SearchStrategy[syntax.Value]) -> st.SearchStrategy[syntax.Value]:
        return value | st.builds(
            lambda one, valid, policy: syntax.Fallback(one, valid or policy is None, policy),
            value,
            st.booleans(),
            policies,
        )

    def of(name: str, value: st.SearchStrategy[syntax.Value]) -> st.SearchStrategy[object]:
        listed = st.lists(with_policy(value), min_size=1, max_size=2).map(tuple)
        return st.builds(
            lambda each: syntax.PropertyValues(syntax.WrittenName("", (name,)), each), listed
        )

    return st.one_of(
        of("t", plain | typed), of("n", numbers), of("to", names(holes) | labels(holes))
    )


@st.composite
def rule_files(draw: st.DrawFn) -> syntax.RuleFile:
    loops, xpaths = draw(st.sampled_from(LOOPS))
    holes = st.sampled_from(xpaths).map(syntax.Hole)
    actions = [
        syntax.IndividualAction(
            draw(st.sampled_from(["insert", "update"])),
            draw(names(holes) | labels(holes)),
            (syntax.WrittenName("", (draw(st.sampled_from("CD")),)),) if has_class else (),
            tuple(draw(st.lists(values(holes), min_size=not has_class, max_size=2))),
            draw(st.none() | st.sampled_from(["TimeStamp/@value", "@time"]).map(syntax.Hole)),
        )
        for has_class in draw(st.sampled_from([(True,), (False,), (True, False)]))
    ]
    guards = draw(st.just([]) | st.lists(holes, min_size=1, max_size=2))
    message = draw(st.sampled_from(["/Message", "/Message[@time]", "/Message | /Other"]))
    rule = syntax.MappingRule("r", syntax.Hole(message), loops, tuple(guards), tuple(actions))
    return syntax.RuleFile(PREFIXES, (), (rule,))


# Random messages

TEXTS = ("1", "2", "30", " 4 ", "", "x", "a:b/c")
people = st.builds(
    lambda id, x, names: f'<person id="{id}" {x}>{names}</person>',
    st.sampled_from(TEXTS),
    st.sampled_from(["", *(f'x="{text}"' for text in TEXTS)]),
    st.sampled_from(["", "<name/>", "<name>7</name>", "<name>u</name><name>8</name>"]),
)
groups = st.builds(
    lambda n, inside: f"<group {n}>{''.join(inside)}</group>",
    st.sampled_from(["", 'n="1"', 'n="1"', 'n="2"']),
    st.lists(people, min_size=1, max_size=2),
)
messages = st.builds(
    lambda root, kind, stamp, inside: f'<{root} time="5" {kind}>{stamp}{"".join(inside)}</{root}>',
    st.sampled_from(["Message", "Message", "Message", "Other"]),
    st.sampled_from(["", 'kind="3"', 'kind="k"']),
    st.sampled_from(["", '<TimeStamp value="7"/>', '<TimeStamp value="7">9</TimeStamp>']),
    st.lists(groups, min_size=1, max_size=2),
)


@settings(max_examples=60)
@given(rule_files(), st.lists(messages, min_size=2, max_size=4))
def test_rules_mean_the_same_as_rml_and_back(file: syntax.RuleFile, xmls: Sequence[str]) -> None:
    assert not check([file], SCHEMA)
    mapping, refused = from_rules(file, SCHEMA)
    assert not refused
    turtle = print_rml(mapping)
    back, not_back = to_rules(read_rml(turtle), SCHEMA)
    assert not not_back
    text = print_rules(back)
    original, as_rml, again = rules_plan(file), rml_plan(turtle), rules_plan(parse(text))
    for xml in xmls:
        expected = said(original, xml)
        event("rejected" if expected is None else "nothing" if not expected else "events")
        assert unlabelled(said(again, xml)) == unlabelled(expected)
        if expected is not None:  # where a rule wants one value, RML takes several
            assert unlabelled(said(as_rml, xml)) == unlabelled(expected)


@settings(max_examples=60)
@given(rule_files(), st.lists(messages, min_size=2, max_size=4))
def test_values_of_ancestors_say_the_same_in_maps_of_their_own(
    file: syntax.RuleFile, xmls: Sequence[str]
) -> None:
    mapping, _ = from_rules(file, SCHEMA)
    apart = without_ancestors(mapping)
    event("the same" if apart == mapping else "apart")
    one, other = rml_plan(print_rml(mapping)), rml_plan(print_rml(apart))
    for xml in xmls:
        expected = said(one, xml)
        if expected is not None:
            assert unlabelled(said(other, xml)) == unlabelled(expected)


def test_an_export_names_its_source_and_looks_for_nothing_above_an_iteration() -> None:
    file = parse((bundled("mapping_rules") / "tracking.rules").read_text("utf-8"))
    mapping, _ = from_rules(file, Schema(), "a b.xml")
    turtle = print_rml(without_ancestors(mapping))
    assert turtle.count('rml:source "a b.xml"') == 2
    assert [line for line in turtle.splitlines() if "../" in line and "ss:at" not in line] == []
    assert [each.source.name for each in read_rml(turtle).maps] == ["a b.xml", "a b.xml"]


@pytest.mark.parametrize(
    "written",
    [
        '"m.xml"',
        "<http://e/stream>",
        '[ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "m.xml" ]',
        '[ rml:root rml:CurrentWorkingDirectory ; rml:path "m.xml" ]',
    ],
)
def test_a_source_is_printed_as_it_is_read(written: str) -> None:
    mapping = read_rml(RML_HEAD + MAP.replace("[ rml:ref", f"[ rml:source {written} ; rml:ref", 1))
    assert mapping.maps[0].source.name
    assert read_rml(print_rml(mapping)).maps == mapping.maps


@settings(max_examples=30)
@given(rule_files())
def test_printed_rml_reads_as_the_same_mapping(file: syntax.RuleFile) -> None:
    mapping, _ = from_rules(file, SCHEMA)
    read = read_rml(print_rml(mapping))
    assert read.maps == mapping.maps


@pytest.mark.parametrize("name", ["tracking", "city"])
def test_the_rules_that_come_with_the_project_can_be_written_as_rml(name: str) -> None:
    file = parse((bundled("mapping_rules") / f"{name}.rules").read_text("utf-8"), name)
    mapping, refused = from_rules(file, Schema())
    assert not refused
    assert read_rml(print_rml(mapping)).maps == mapping.maps
    back, not_back = to_rules(mapping, Schema())
    assert not not_back
    assert from_rules(back, Schema())[0].maps == mapping.maps


# What cannot be said


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("insert individual :a ; :t {@x |> trim}", "the value function trim"),
        ("insert individual :a ; :to [ a :C ]", "a node '[ … ]'"),
        ("insert individual :a ; :to ( :b )", "a list"),
        ("insert individual :a ; :to known :b", "'known'"),
        ('insert individual :a ; :t {@x} or "y"', "a default"),
        ("insert individual :a ; :t {position()}", "position() of 'position()' asks"),
    ],
)
def test_what_rml_cannot_say_is_refused_with_its_place(rule: str, reason: str) -> None:
    text = f"{HEAD}mapping m on message {{/m}} then\n {rule} ."
    mapping, (error,) = from_rules(parse(text, "f.rules"), SCHEMA)
    assert mapping.maps == ()
    assert error.message.startswith("rule m: RML has no counterpart of ")
    assert reason in error.message
    assert error.position is not None
    assert (error.position.file, error.position.line) == ("f.rules", 4)


@pytest.mark.parametrize(
    ("loops", "reason"),
    [
        ("for each $a in {x} for each $b in {y}", "loops side by side"),
        ("for each $a in {//x}", "'//x' is not a path of plain child steps"),
        ("for each $a in {x} if {b[. = $a/c]}", "$a stands in a predicate of"),
    ],
)
def test_loops_that_rml_cannot_say_are_refused(loops: str, reason: str) -> None:
    text = f"{HEAD}mapping m on message {{/m}} {loops} then insert individual :a a :C ."
    _, (error,) = from_rules(parse(text), SCHEMA)
    assert reason in error.message


def test_rules_that_can_be_said_are_written_beside_those_that_cannot() -> None:
    text = (
        f"{HEAD}mapping m on message {{/m}} then insert individual :a ; :to [ a :C ] .\n"
        "mapping n on message {/m} then insert individual :a a :C ."
    )
    mapping, refused = from_rules(parse(text), SCHEMA)
    assert [each.rule for each in mapping.maps] == ["n"]
    assert len(refused) == 1


RML_HEAD = "@prefix rml: <http://w3id.org/rml/> . @prefix : <http://e/> .\n"
MAP = """:M rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/x" ] ;
  rml:subjectMap [ rml:template "http://e/{@id}" ] ;
  rml:predicateObjectMap [ rml:predicate :t ; rml:objectMap [ rml:reference "y" ] ] ."""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("rml:predicate :t", 'rml:predicateMap [ rml:reference "p" ]', "whose name the message gi"),
        ('"y"', '"y" ; rml:termType rml:URI', "of term type rml:URI that is not an encoded"),
        ('"y"', '"y" ; rml:datatypeMap [ rml:reference "d" ]', "a datatype that the message gives"),
        ('"y"', '"y" ; rml:languageMap [ rml:reference "d" ]', "a language that the message gives"),
        ('rml:reference "y"', "rml:termType rml:BlankNode", "a blank node without an expression"),
        ('"http://e/{@id}"', '"{@id}"', "a relative IRI without a base"),
        ('"y"', "\"y[. = '}']/a{\"", "braces in the XPath"),
        (
            'rml:reference "y"',
            'rml:parentTriplesMap :M ; rml:joinCondition [ rml:child "a" ; rml:parent "b" ]',
            "a join",
        ),
    ],
)
def test_what_the_rule_language_cannot_say_is_refused(old: str, new: str, reason: str) -> None:
    assert old in MAP
    file, (error,) = to_rules(read_rml(RML_HEAD + MAP.replace(old, new), "m.ttl"), Schema())
    assert file.rules == ()
    assert "triples map <http://e/M>: the rule language has no counterpart of " in error.message
    assert reason in error.message


def test_rml_from_elsewhere_becomes_readable_rules() -> None:
    file, refused = to_rules(read_rml(RML_HEAD + MAP), Schema())
    assert not refused
    assert print_rules(file) == (
        "prefix : <http://e/>\n\n"
        "mapping M\non message {/m/x}\nif {(@id)[normalize-space()]}\nthen\n"
        "  insert individual :{@id}\n    ; :t {y} .\n"
    )


def test_a_string_stays_one_where_the_ontology_tells_a_number() -> None:
    schema = Schema(ranges_of={IRI(f"{E}t"): frozenset({IRI(xsd.INTEGER)})})
    file, _ = to_rules(read_rml(RML_HEAD + MAP), schema)
    assert "; :t {y}^^<http://www.w3.org/2001/XMLSchema#string> ." in print_rules(file)


def test_one_prefix_for_two_namespaces_is_refused() -> None:
    spaced = MAP.replace(
        "rml:XPath",
        '[ a rml:XPathReferenceFormulation ; rml:namespace [ rml:namespacePrefix "x" ;'
        ' rml:namespaceURL "%s" ] ]',
    )
    turtle = RML_HEAD + spaced % "urn:a" + "\n" + (spaced % "urn:b").replace(":M ", ":N ")
    file, refused = to_rules(read_rml(turtle), Schema())
    assert [rule.name for rule in file.rules] == ["M"]
    assert "'x' for two namespaces in one file" in refused[0].message
    assert isinstance(refused[0], LanguageError)
