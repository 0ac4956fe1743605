"""Stylesheets: messages to RDF to events, and all that can go wrong on the way."""

from __future__ import annotations

import threading

import pytest

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import MappedMessage, MappingPlan, compile_mapping, parse_document
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF
from sensorstream.model.xsd import XSD

E = "http://e/"
XML = '<Message time="5"><person id="1" x="72"/><person id="2"/></Message>'
DECLARED = '<ss:message path="/Message" at="@time"/>'
PEOPLE = """<xsl:template match="/"><rdf:RDF><xsl:apply-templates/></rdf:RDF></xsl:template>
<xsl:template match="person"><e:Human rdf:about="http://e/human-{@id}">
  <xsl:if test="@x"><e:x rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">
    <xsl:value-of select="@x"/></e:x></xsl:if></e:Human></xsl:template>"""


def stylesheet(body: str, declared: str = DECLARED) -> bytes:
    return f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
 xmlns:rdf="{RDF}" xmlns:ss="urn:sensorstream:mapping#" xmlns:e="{E}"
 xmlns:date="http://exslt.org/dates-and-times" xmlns:math="http://exslt.org/math"
 xmlns:dyn="http://exslt.org/dynamic" xmlns:exsl="http://exslt.org/common"
 extension-element-prefixes="exsl">{declared}
{body}
</xsl:stylesheet>""".encode()


def graph(inside: str, declared: str = DECLARED) -> bytes:
    """A stylesheet that says the same of every message."""
    template = f'<xsl:template match="/"><rdf:RDF>{inside}</rdf:RDF></xsl:template>'
    return stylesheet(template, declared)


def plan(content: bytes, line: Timeline = Timeline.INTEGER) -> MappingPlan:
    return MappingPlan((compile_stylesheet(read_stylesheet(content, "rules/face.xsl"), line),))


def apply(content: bytes, xml: str = XML, *, source: str = "") -> MappedMessage:
    message = Message("m1", xml.encode(), received=100, source=source)
    return plan(content).apply(parse_document(xml.encode(), max_depth=9), message)


def triples(content: bytes, xml: str = XML) -> list[tuple[Term, Term, Term]]:
    return [triple for event in apply(content, xml).events for triple in event.triples]


def fault(content: bytes) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        plan(content)
    assert caught.value.position is not None
    assert caught.value.position.file == "rules/face.xsl"
    return caught.value


def rejection(content: bytes, xml: str = XML) -> MappingError:
    with pytest.raises(MappingError) as caught:
        apply(content, xml)
    assert caught.value.message.startswith("stylesheet face: ")
    return caught.value


def test_rdf_xml_becomes_an_event() -> None:
    mapped = apply(stylesheet(PEOPLE))
    (event,) = mapped.events
    one, two = IRI(f"{E}human-1"), IRI(f"{E}human-2")
    assert event.triples == (
        (one, rdf.TYPE, IRI(f"{E}Human")),
        (one, IRI(f"{E}x"), Literal("72", xsd.INTEGER)),
        (two, rdf.TYPE, IRI(f"{E}Human")),
    )
    assert (event.time, event.message) == (5, "m1")
    assert mapped.matched == ("face",)
    assert mapped.individuals == (one, two)


@pytest.mark.parametrize("media_type", ["", 'media-type="text/turtle"'])
def test_turtle_becomes_an_event(media_type: str) -> None:
    content = stylesheet(
        f'<xsl:output method="text" {media_type}/><xsl:template match="/">@prefix : &lt;{E}&gt; .'
        '<xsl:for-each select="//person">:h<xsl:value-of select="@id"/> a :Human .\n'
        "</xsl:for-each></xsl:template>"
    )
    assert triples(content) == [(IRI(f"{E}h{n}"), rdf.TYPE, IRI(f"{E}Human")) for n in "12"]


def test_n_triples_become_an_event() -> None:
    content = stylesheet(
        '<xsl:output method="text" media-type="application/n-triples"/>'
        '<xsl:template match="/">&lt;u:a&gt; &lt;u:p&gt; "é" .\n</xsl:template>'
    )
    assert triples(content) == [(IRI("u:a"), IRI("u:p"), Literal("é"))]


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("trig", '&lt;u:a&gt; &lt;u:p&gt; "é" .'),
        ("ld+json", '{"@id": "u:a", "u:p": "é"}'),
        ("n-quads", '&lt;u:a&gt; &lt;u:p&gt; "é" .'),
    ],
)
def test_other_formats_become_an_event_and_may_not_name_a_graph(media_type: str, text: str) -> None:
    output = f'<xsl:output method="text" media-type="application/{media_type}"/>'
    assert triples(stylesheet(f'{output}<xsl:template match="/">{text}\n</xsl:template>')) == [
        (IRI("u:a"), IRI("u:p"), Literal("é"))
    ]
    if media_type == "ld+json":
        deep = '{"@graph":[' * 9999
        with pytest.raises(MappingError, match=r"output is not JSON-LD: .*nested deeper than 256"):
            apply(stylesheet(f'{output}<xsl:template match="/">{deep}</xsl:template>'))
    if media_type == "trig":
        named = f"&lt;u:g&gt; {{ {text} }}"
        with pytest.raises(MappingError, match="its output names a graph, <u:g>: expected none"):
            apply(stylesheet(f'{output}<xsl:template match="/">{named}</xsl:template>'))


def test_no_output_says_nothing_but_has_matched() -> None:
    mapped = apply(stylesheet('<xsl:template match="/"/>'))
    assert (mapped.matched, mapped.events) == (("face",), ())
    assert mapped.hint == ""


def test_each_individual_may_have_a_time_of_its_own() -> None:
    content = graph(
        '<e:A rdf:about="u:a"><ss:at>7</ss:at><e:has><e:B/></e:has></e:A>'
        '<e:A rdf:about="u:b"/><rdf:Description rdf:about="u:c"><ss:at>9</ss:at></rdf:Description>'
    )
    early, late = apply(content).events
    assert (early.time, late.time) == (5, 7)
    assert [s for s, _, _ in early.triples] == ["u:b"]
    assert len(late.triples) == 3  # the blank node has the time of the individual it belongs to
    (event,) = apply(graph('<e:A rdf:about="u:a"/>', '<ss:message path="/*"/>')).events
    assert event.time == 100


def test_an_update_names_the_properties_that_it_replaces() -> None:
    content = graph(
        '<e:A rdf:about="u:a"><e:x>1</e:x><ss:replaces rdf:resource="http://e/x"/>'
        '<ss:replaces rdf:resource="http://e/y"/></e:A>'
    )
    (event,) = apply(content).events
    assert event.replaces == {(IRI("u:a"), IRI(f"{E}x"))}
    assert [p for _, p, _ in event.triples] == [rdf.TYPE, IRI(f"{E}x")]


def test_blank_nodes_have_the_same_labels_every_time() -> None:
    content = graph('<e:A rdf:about="u:a"><e:has rdf:nodeID="n"/></e:A><e:B rdf:nodeID="n"/><e:B/>')
    first = triples(content)
    assert first == triples(content)
    nodes = [term for triple in first for term in triple if isinstance(term, BlankNode)]
    assert len(set(nodes)) == 2
    assert len(nodes) == 3


def test_a_stylesheet_is_for_the_messages_that_its_path_leads_into() -> None:
    mapped = apply(stylesheet(PEOPLE), "<Other/>")
    assert mapped.matched == ()
    assert "rule face is the nearest: it expects /Message" in mapped.hint


def test_a_stylesheet_may_be_for_one_source() -> None:
    content = graph('<e:A rdf:about="u:a"/>', '<ss:message source="tracker-7"/>')
    assert apply(content, source="tracker-7").matched == ("face",)
    assert apply(content, source="tracker-8").matched == ()
    both = graph('<e:A rdf:about="u:a"/>', '<ss:message source="t" path="/Other"/>')
    assert apply(both, source="t").matched == ()


GRDDL = 'xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation'


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("face.xsl", True),
        ("http://e/other.xsl face.xsl", True),
        ("http://e/glean.xsl", True),
        ("http://e/face.xsl", False),
        ("other.xsl", False),
    ],
)
def test_a_message_may_ask_for_a_stylesheet_that_the_deployment_has(
    written: str, runs: bool
) -> None:
    declared = '<ss:message transformation="http://e/glean.xsl"/>'
    content = graph('<e:A rdf:about="u:a"/>', declared)
    assert apply(content, f'<m {GRDDL}="{written}"/>').matched == (("face",) if runs else ())
    without = graph('<e:A rdf:about="u:a"/>', "")
    assert apply(without, f'<m {GRDDL}="face.xsl"/>').matched == ("face",)
    assert apply(without).matched == ()


def test_rules_and_stylesheets_work_side_by_side() -> None:
    rules = parse(
        f"prefix : <{E}> mapping m on message {{/Message}} for each $p in {{person}} then"
        " insert individual :human-{$p/@id} ; :name {$p/@id} at {@time} .".replace(
            " ; :name {$p/@id} at {@time}", " at {@time} ; :name {$p/@id}"
        )
    )
    both = MappingPlan(
        compile_mapping([rules], Schema(), Timeline.INTEGER).rules + plan(stylesheet(PEOPLE)).rules
    )
    message = Message("m1", XML.encode(), received=100)
    mapped = both.apply(parse_document(XML.encode(), max_depth=9), message)
    assert mapped.matched == ("m", "face")
    (event,) = mapped.events
    assert len(event.triples) == 5


def test_a_stylesheet_works_in_another_thread() -> None:
    ready = plan(stylesheet(PEOPLE))
    found: list[MappedMessage] = []

    def work() -> None:
        document = parse_document(XML.encode(), max_depth=9)
        found.append(ready.apply(document, Message("m1", XML.encode(), received=100)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [apply(stylesheet(PEOPLE))]


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (b"<a", "not well-formed XML", 1),
        (b"<a/>", "a is not a stylesheet: expected xsl:stylesheet", 1),
        (b"<!DOCTYPE a><a/>", "a DOCTYPE is refused", 1),
        (stylesheet(PEOPLE).replace(b'"1.0"', b'"2.0"', 1), "version 2.0: expected XSLT 1.0", 5),
        (stylesheet('<xsl:include href="x.xsl"/>'), "xsl:include: expected all in one", 6),
        (stylesheet('<xsl:import href="x.xsl"/>'), "xsl:import: expected all in one", 6),
        (stylesheet("<xsl:template/>"), "not XSLT 1.0: ", 6),
        (graph('<xsl:value-of select="a["/>'), "'a[' is not XPath 1.0", 6),
        (graph('<e:A rdf:about="{date:date-time()}"/>'), "date:date-time()… reads the clock", 6),
        (graph('<xsl:if test="math:random() > 1"/>'), "math:random(… makes random numbers", 6),
        (graph("<xsl:value-of select=\"dyn:evaluate('1')\"/>"), "runs text as XPath", 6),
        (stylesheet('<xsl:output method="html"/>'), "output html: expected xml (RDF/XML)", 6),
        (stylesheet("", DECLARED + "\n" + DECLARED), "a second ss:message", 6),
        (stylesheet("", '<ss:message paht="/m"/>'), "ss:message paht: expected path, source", 5),
        (stylesheet("", '<ss:message path="/x:m"/>'), "undeclared XML namespace prefix 'x'", 5),
        (stylesheet("", '<ss:message path="1"/>'), "finds no nodes but a value", 5),
    ],
)
def test_what_is_wrong_with_a_stylesheet_is_named_with_its_line(
    content: bytes, message: str, line: int
) -> None:
    error = fault(content)
    assert message in error.message
    assert error.position is not None
    assert error.position.line == line


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<xsl:copy-of select=\"document('/etc/passwd')\"/>", "file read for /etc/passwd refused"),
        (
            "<xsl:copy-of select=\"document('http://127.0.0.1/')\"/>",
            "file read for http://127.0.0.1/ refused",
        ),
        ('<exsl:document href="out.xml"><a/></exsl:document>', "File write for "),
        ('<xsl:message terminate="yes">no person</xsl:message>', "no person"),
        ('<xsl:value-of select="$nothing"/>', "Variable 'nothing' has not been declared"),
        ('<xsl:call-template name="again"/>', "templates call each other without end"),
    ],
)
def test_a_stylesheet_that_fails_rejects_the_message(body: str, message: str) -> None:
    again = '<xsl:template name="again"><xsl:call-template name="again"/></xsl:template>'
    content = stylesheet(f'<xsl:template match="/">{body}</xsl:template>{again}')
    error = rejection(content)
    assert message in error.message
    assert error.position is not None
    assert error.position.file == "rules/face.xsl"


def test_the_failures_of_one_message_do_not_show_in_the_next() -> None:
    fails = "<xsl:if test=\"/Bad\"><xsl:message terminate='yes'>bad</xsl:message></xsl:if>"
    ready = plan(graph(fails + '<e:A rdf:about="u:a"/>', '<ss:message path="/*"/>'))
    for xml, works in (("<Bad/>", False), ("<Good/>", True), ("<Bad/>", False)):
        document = parse_document(xml.encode(), max_depth=9)
        message = Message("m1", xml.encode(), received=100)
        if works:
            assert ready.apply(document, message).matched == ("face",)
        else:
            with pytest.raises(MappingError, match=r"stylesheet face: bad$"):
                ready.apply(document, message)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<e:A rdf:about="a"/>', "its output is not RDF/XML: line "),
        ('<e:A rdf:about="u:a" rdf:ID="b"/>', "its output is not RDF/XML: line "),
        (
            f'<e:A rdf:about="u:a"><e:x rdf:datatype="{XSD}integer">z</e:x></e:A>',
            "<http://e/x>: 'z'",
        ),
        ('<e:A rdf:about="u:a"><ss:at>x</ss:at></e:A>', "ss:at of <u:a>: 'x'"),
        ('<e:A rdf:about="u:a"><ss:at>1</ss:at><ss:at>2</ss:at></e:A>', "expected one time"),
        ('<e:A rdf:about="u:a"><ss:att>1</ss:att></e:A>', "expected ss:at, ss:replaces"),
    ],
)
def test_output_that_is_no_rdf_or_not_valid_rejects_the_message(inside: str, message: str) -> None:
    assert message in rejection(graph(inside)).message


def test_a_time_that_is_not_there_rejects_the_message() -> None:
    content = graph('<e:A rdf:about="u:a"/>')
    assert "{@time} found nothing, expected a time" in rejection(content, "<Message/>").message
    assert "{@time}: 'now'" in rejection(content, '<Message time="now"/>').message
