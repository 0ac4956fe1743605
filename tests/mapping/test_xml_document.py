import pytest

from sensorstream.errors import MalformedMessage
from sensorstream.mapping import parse_document


def refused(content: bytes, max_depth: int = 64) -> str:
    with pytest.raises(MalformedMessage) as caught:
        parse_document(content, max_depth=max_depth)
    return str(caught.value)


def test_a_document_keeps_its_lines_and_loses_comments_and_instructions() -> None:
    document = parse_document(b"<a>\n<!-- no --><b>1<!-- 2 -->3</b><?do it?>\n</a>", max_depth=2)
    (child,) = document.getroot()
    assert f"{child.tag} {child.text} {child.sourceline}" == "b 13 2"


def test_encodings_are_read_as_declared() -> None:
    text = "<?xml version='1.0' encoding='{}'?><a>αβ</a>"
    for encoding in ("utf-8", "utf-16", "iso-8859-7"):
        content = text.format(encoding).encode(encoding)
        assert parse_document(content, max_depth=1).getroot().text == "αβ"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not well-formed XML at line 1, column 1: Document is empty"),
        (b"<a>\n<b></a>", "not well-formed XML at line 2, column 8: Opening and ending tag mism"),
        (b"<a>&more;</a>", "not well-formed XML at line 1, column 10: Entity 'more' not defined"),
        (b"<a>\xff</a>", "not well-formed XML at line 1, column "),
        (b"hello", "not well-formed XML at line 1, column 1: Start tag expected"),
    ],
)
def test_what_is_not_well_formed_is_refused_with_its_place(content: bytes, message: str) -> None:
    assert refused(content).startswith(message)


BOMB = (
    b'<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;">]>'
    b'<a b="&y;&y;&y;">&y;</a>'
)


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE a><a/>",
        BOMB,
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "http://example.invalid/a.dtd"><a/>',
        BOMB.decode().encode("utf-16"),
        b"\xfe\xff" + BOMB.decode().encode("utf-16-be"),
        ("<?xml version='1.0' encoding='utf-16'?>" + BOMB.decode()).encode("utf-16-le"),
        b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <a> --><?p <!-- ?>\n" + BOMB,
        b"<!---->" * 5000 + BOMB,
    ],
)
def test_a_doctype_is_refused_whatever_it_holds(content: bytes) -> None:
    assert "has a DOCTYPE, which is refused" in refused(content)


@pytest.mark.parametrize(
    "content",
    [
        "<a><![CDATA[<!DOCTYPE html><p>]]></a>",
        "<!-- <!DOCTYPE a> --><a/>",
        "<?x <!DOCTYPE a>?><a/>",
        "<!---->" * 5000 + "<a><![CDATA[<!DOCTYPE html>]]></a>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_doctype_in_a_text_or_comment_is_text(content: str, encoding: str) -> None:
    root = parse_document(content.encode(encoding), max_depth=2).getroot()
    assert (root.text or "") in ("", "<!DOCTYPE html><p>", "<!DOCTYPE html>")


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


def test_depth_is_limited_and_counted_from_the_root() -> None:
    assert parse_document(nested(5), max_depth=5).getroot().tag == "a"
    assert "deeper than 5, at line 1" in refused(nested(6), max_depth=5)


def test_depth_is_limited_in_every_encoding() -> None:
    text = "<?xml version='1.0' encoding='utf-16'?>" + nested(6).decode()
    assert "deeper than 5" in refused(text.encode("utf-16"), max_depth=5)


def test_many_shallow_elements_are_not_deep() -> None:
    content = b"<a>" + b"<b/>" * 100 + b"</a>"
    assert len(parse_document(content, max_depth=2).getroot()) == 100


def test_a_depth_that_would_exhaust_the_parser_is_an_ordinary_refusal() -> None:
    assert "Excessive depth" in refused(nested(100_000))
