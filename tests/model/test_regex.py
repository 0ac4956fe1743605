"""Regular expressions, compared with Python's where both mean the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model import regex
from sensorstream.model.regex import re2_regex, xpath_regex

# What both engines read alike; what repeats an empty match has other groups, but the same end.
_CHARACTERS = ("a", "b", "é", "7", "_", "-", " ", ".", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W")
_CLASSES = (r"\.", r"\\", "[ab]", "[^a]", r"[\d_]", r"[^\s7]", r"[\W_]", "[a-z-]", "[]b]", r"[\]é]")
_ATOMS = st.sampled_from((*_CHARACTERS, *_CLASSES, "^", "$"))


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda each: f"({each})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?", "+?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    )


_PATTERNS = st.recursive(_ATOMS, _grown, max_leaves=6)
_TEXTS = st.text(st.sampled_from("abAé7_- \n.\\]²\u2028\u00a0٣"), max_size=8)
_ANY = st.characters(exclude_categories=["Cs"])
_FLAGS = st.sampled_from(["", "i", "s", "m", "ims"])


@given(_PATTERNS, _FLAGS, _TEXTS)
def test_a_pattern_matches_what_pythons_matches(written: str, flags: str, text: str) -> None:
    options = sum({"i": re.I, "m": re.M, "s": re.S}[each] for each in flags)
    # To Python the end of a text is also before its last line feed; to XPath it is not.
    assume("$" not in written or "m" in flags or not text.endswith("\n"))
    theirs = re.search(written, text, options)
    ours = xpath_regex(written, flags).search(text)
    assert (None if ours is None else ours.span()) == (None if theirs is None else theirs.span())


@given(st.text(_ANY, max_size=6), st.text(_ANY, max_size=12))
def test_with_q_a_pattern_is_the_text_itself(written: str, text: str) -> None:
    assert (xpath_regex(written, "q").search(text) is not None) == (written in text)


@given(st.text(max_size=12), st.text("imsxq", max_size=3))
def test_any_text_is_a_pattern_or_is_refused_as_none(written: str, flags: str) -> None:
    told = ""
    try:
        xpath_regex(written, flags).search("a")
    except TermError as error:
        told = str(error)
    assert not told or "regular expression" in told


@given(_PATTERNS, _TEXTS)
def test_what_is_replaced_is_what_python_replaces(written: str, text: str) -> None:
    assume("$" not in written and "^" not in written)
    assume(re.search(written, "") is None)
    theirs = re.sub(written, "<>", text)
    assert xpath_regex(written).replaced(text, lambda _: "<>") == theirs


@pytest.mark.parametrize(
    ("written", "flags", "text", "found"),
    [
        ("a b", "x", "ab", True),
        ("[a ]#", "x", " #", True),
        ("a.b", "q", "axb", False),
        (r"\p{Lu}", "", "xÉ", True),
        (r"^[\W_]+$", "", "_-", True),
        ("a$", "", "a\n", False),
    ],
)
def test_flags_and_classes_are_those_of_xpath(
    written: str, flags: str, text: str, found: bool
) -> None:
    assert (xpath_regex(written, flags).search(text) is not None) is found


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (r"(a)\1", "no back-references"),
        ("a(?=b)", "no look-around"),
        (r"\bword", r"expected (^|\W)word(\W|$)"),
        ("[a-z-[aeiou]]", "name the rest"),
        ("[ab", "missing closing ]"),
        (r"[^\W_]", r"[\p{L}\p{N}]"),
        ("a{,3}", "expected '{0,'"),
        (r"a\Q", r"unknown escape \Q"),
        ("(a{900}){900}", "invalid repetition size"),
        (r"(\w{90}){9}", "too large"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_has_no_linear_time_is_refused_with_the_way_out(written: str, told: str) -> None:
    with pytest.raises(TermError, match=re.escape(told)):
        xpath_regex(written)


def test_expressions_that_take_exponential_time_elsewhere_do_not() -> None:
    text = "a" * 1_000_000 + "!"
    for written in ("^(a+)+$", "(a|aa)+$", "^(a|a)*$", "^(.*a){10}b"):
        assert xpath_regex(written).search(text) is None


def test_a_search_that_would_visit_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = xpath_regex("(?:a|b|ab){1,500}c")
    assert pattern.search("ab" * 1000 + "c") is not None
    with pytest.raises(TermError, match="too long"):
        pattern.search("ab" * 500_000)
    monkeypatch.setattr(regex, "_MOST_SEARCHED", 10_000)
    assert re2_regex("a.*b|a").replaced("a" * 100, lambda _: "b") == "b" * 100
    with pytest.raises(TermError, match="too often"):
        re2_regex("a.*b|a").replaced("a" * 101, lambda _: "")
