"""The index finds what XPath finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.mapping.location_path import lookup_of
from sensorstream.mapping.path_index import PathIndex
from sensorstream.mapping.xml_document import parse_document

NAMESPACES = {"m": "urn:m", "n": "urn:n"}

names = st.sampled_from(["a", "b", "c", "m:a", "n:b"])
attributes = st.sampled_from(["k", "m:k", "and"])
values = st.sampled_from(["x", "y", "", "x y", "and"])
PREDICATES = [
    *("[@{k}='{v}']", '[ @{k} = "{v}" ]', "['{v}'=@{k}]", "[@{k}]", "[@{k}!='{v}']", "[{n}]"),
    *("[{n}='{v}']", "[{n}/{n2}='{v}']", "[{n}/@{k}='{v}']", "[{n}/@{k}]", "[.='{v}']", "[text()]"),
    *("[text()='{v}']", "[{n}/text()='{v}']", "[@{k}='{v}' and {n}]", "[{n} and @{k}]", "[1]"),
    *("[@{k}='{v}' and @{k2}='{v2}' and {n}]", "[@{k}='{v}' or {n}]", "[not({n})]", "[last()]"),
    *("[@{k}='{v}'][2]", "[2][@{k}='{v}']", "[@{k}='{v}'][{n}='{v2}']", "[@{k}=1]", "[*]", "[.]"),
    *("[@{k} and ({n} or @{k2})]", "[@{k}='{v}' and {n} or (@{k2})]", "[{n}//{n2}]", "[..]"),
    *("[{n}[@{k}]]", "[m:*]", "[@*='{v}']", "[count({n})>1]", "[position()=1 and @{k}]"),
]
ENDS = [
    "",
    "/@k",
    "/@m:k",
    "/text()",
    "/@*",
    "/..",
    "/.",
    "/node()",
    "//@k",
    "//text()",
    "/self::a",
]


@st.composite
def steps(draw: st.DrawFn) -> str:
    predicate = draw(st.sampled_from(["", "", "", *PREDICATES])).format(
        k=draw(attributes),
        k2=draw(attributes),
        v=draw(values),
        v2=draw(values),
        n=draw(names),
        n2=draw(names),
    )
    return draw(names | st.sampled_from(["*", "m:*"])) + predicate


@st.composite
def single(draw: st.DrawFn) -> str:
    first = draw(st.sampled_from(["/", "/", "/", "//", "", "./", ".//"]))
    path = first + draw(steps())
    for step in draw(st.lists(steps(), max_size=3)):
        path += draw(st.sampled_from(["/", "/", "/", " / ", "//"])) + step
    return path + draw(st.sampled_from(ENDS[:1] * 6 + ENDS))


odd = st.sampled_from(
    ["/", ".", "//.", "/.", "//@k", "//text()", "id('x')", "(//a)[1]", "/..", "@k"]
)
paths = single() | st.builds("{} | {}".format, single(), single()) | odd


@st.composite
def documents(draw: st.DrawFn, depth: int = 4) -> str:
    name = draw(names)
    given = draw(st.dictionaries(attributes, values, max_size=2))
    written = "".join(f' {key}="{value}"' for key, value in given.items())
    parts = draw(st.lists(documents(depth=depth - 1) if depth else values, max_size=3))
    text = draw(st.sampled_from(["", "x", "y", "<![CDATA[x]]>", "x<!-- c --> y", "x<?p i?>"]))
    spaces = ' xmlns:m="urn:m" xmlns:n="urn:n"' if depth == 4 else ""
    return f"<{name}{spaces}{written}>{text}{''.join(parts)}</{name}>"


def plain(nodes: object) -> list[object]:
    assert isinstance(nodes, list)
    return nodes


@settings(max_examples=120)
@given(rules=st.lists(paths, max_size=12), text=documents())
def test_it_finds_the_nodes_that_xpath_finds(rules: list[str], text: str) -> None:
    root = parse_document(text.encode(), max_depth=10).getroot()
    index = PathIndex([lookup_of(path, NAMESPACES) for path in rules])
    found = dict(index.find(root))
    assert list(found) == sorted(found)
    for number, path in enumerate(rules):
        expected = root.xpath(path, namespaces=NAMESPACES)
        if number not in found:
            assert expected == [], path
        elif (nodes := found[number]) is not None:
            assert list(nodes) == expected, path
