"""Functions of the user's own: which are read, what is refused, and what a call of them does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.app.control.mapping_files import read_functions, read_reference
from sensorstream.app.recorded_engine import parse_mapping
from sensorstream.errors import InvalidValue, LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import check, parse_document
from sensorstream.mapping.mapping_plan import MappingPlan
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema

HEAD = "from __future__ import annotations\n"


def faults(folder: Path, *texts: str) -> list[str]:
    files = []
    for number, text in enumerate(texts, 1):
        files.append(folder / f"f{number}.py")
        files[-1].write_text(text, encoding="utf-8")
    return [str(each).replace(f"{folder}/", "") for each in read_functions(files)[1]]


def mapped(folder: Path, code: str, value: str, xml: str) -> list[str]:
    """The values that a rule with ``value`` gives for a message."""
    plan = planned(folder, code, value)
    result = plan.apply(parse_document(xml.encode(), max_depth=9), Message("m", b"", received=1))
    return [o.lexical for e in result.events for _, _, o in e.triples if hasattr(o, "lexical")]


def planned(folder: Path, code: str, value: str) -> MappingPlan:
    (folder / "functions.py").write_text(HEAD + code, encoding="utf-8")
    (folder / "a.rules").write_text(
        "prefix : <http://e/>\nmapping m on message {/m}\n"
        f"then insert individual :i ; :p {value} .",
        encoding="utf-8",
    )
    return parse_mapping(folder / "a.rules", line="integer", functions=[folder / "functions.py"])


@pytest.mark.parametrize(
    ("code", "call", "values"),
    [
        ("def twice(text: str) -> str: return text * 2", "twice", ["xx"]),
        ("def none(text: str) -> str | None: return None", "none", []),
        ("def empty(text: str) -> str: return '  '", "empty", []),
        ("def pair(text: str) -> list[str]: return [text, 'y']", "pair", ["x", "y"]),
        ("def no(text: str) -> list[str] | None: return None", "no", []),
        ("def pad(t: str, n: int, by: str = '.') -> str: return t.ljust(n, by)", "pad 3", ["x.."]),
        (
            "def pad(t: str, n: int, by: str = '.') -> str: return t.ljust(n, by)",
            'pad 3 "-" |> upper',
            ["X--"],
        ),
        ("def flag(t: str, on: bool) -> str: return f'{t}{on}'", "flag true", ["xTrue"]),
        (
            "from decimal import Decimal\n"
            "def add(t: str, n: Decimal, f: float = 0) -> str: return f'{n + 1} {f}'",
            "add 1.1 -2.5",
            ["2.1 -2.5"],
        ),
        (
            "from functools import cache\n@cache\ndef once(text: str) -> str: return text + '!'",
            "once",
            ["x!"],
        ),
        (
            "from dataclasses import dataclass\n"
            "@dataclass\nclass Pair:\n    a: str\n"
            "def _private(x): return x\n"
            "def use(text: str) -> str: return _private(Pair(text).a)",
            "use",
            ["x"],
        ),
    ],
)
def test_a_typed_function_of_a_file_is_a_value_function(
    tmp_path: Path, code: str, call: str, values: list[str]
) -> None:
    assert mapped(tmp_path, code, f"{{@v |> {call}}}", '<m v="x"/>') == values


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('no plate')", "shout: 'x' is refused: no plate"),
        ("return {}[text]", "shout: 'x' is refused: KeyError: 'x'"),
        ("raise SystemExit(3)", "shout: 'x' is refused: SystemExit: 3"),
        ("return shout(text)", "shout: 'x' is refused: RecursionError: maximum recursion"),
        ("raise IndexError", "shout: 'x' is refused: IndexError: it gives no reason"),
        ("return 5", "shout: 'x' became a int: expected a str, a list of str, or None"),
        ("return [5]", "shout: 'x' became a list: expected a str"),
        ("return chr(0xd800)", "shout: 'x' became a text with a lone surrogate"),
    ],
)
def test_an_exception_rejects_the_message_with_function_value_and_place(
    tmp_path: Path, code: str, reason: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        mapped(tmp_path, f"def shout(text: str) -> str: {code}", "{@v |> shout}", '<m\nv="x"/>')
    assert caught.value.message.startswith(f"rule m, {{@v |> shout}}, message line 2: {reason}")
    assert caught.value.position is not None


def test_an_exception_counts_as_a_missing_value_with_if_valid(tmp_path: Path) -> None:
    code = "def shout(text: str) -> str: raise ValueError"
    assert mapped(tmp_path, code, '{@v |> shout} if valid or "?"', '<m v="x"/>') == ["?"]


def test_a_function_is_only_called_with_values(tmp_path: Path) -> None:
    code = "def shout(text: str) -> str: raise ValueError"
    assert mapped(tmp_path, code, "{@other |> shout}", '<m v="x"/>') == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def f(text: str) -> str:\n  return (", "2:10: not Python: '(' was never closed"),
        ("x = 1\nimport nowhere_at_all", "2:1: the file cannot be imported: ModuleNotFound"),
        ("def g():\n  1 / 0\n\ng()", "2:1: the file cannot be imported: ZeroDivisionError"),
        ("import sys\nsys.exit()", "2:1: the file cannot be imported: SystemExit"),
        ("a = '\0'", "1:1: "),
        ("\n\ndef f(text): return text", "3:1: function f: its first parameter must be the"),
        ("def f() -> str: return ''", "1:1: function f: its first parameter must be the value"),
        ("def f(*text: str) -> str: return ''", "1:1: function f: its first parameter must"),
        ("def f(text: int) -> str: return ''", "1:1: function f: its first parameter must"),
        ("def f(text: str): return ''", "1:1: function f: expected that it returns str, "),
        ("def f(text: str) -> int: return 1", "1:1: function f: expected that it returns str"),
        ("def f(text: str, n) -> str: ...", "1:1: function f: parameter n: expected the type"),
        (
            "def f(text: str, n: bytes) -> str: ...",
            "1:1: function f: parameter n: expected the type str, int, float, Dec",
        ),
        ("def f(text: str, *, n: int) -> str: ...", "1:1: function f: parameter n: rules"),
        ("def f(text: str, value: str) -> str: ...", "1:1: function f: parameter value: th"),
        ("async def f(text: str) -> str: ...", "1:1: function f: it is async or a generator"),
        ("def f(text: 'Missing') -> str: ...", "1:1: function f: its types cannot be read"),
        ("def ü(text: str) -> str: ...", "1:1: function ü: rules cannot write this name"),
        ("def upper(text: str) -> str: ...", "1:1: function upper: upper is built in"),
    ],
)
def test_a_file_or_function_that_cannot_be_used_is_a_fault_at_its_line(
    tmp_path: Path, text: str, fault: str
) -> None:
    (found,) = faults(tmp_path, text)
    assert found.startswith(f"f1.py:{fault}")


def test_two_functions_of_one_name_are_a_fault_that_names_both(tmp_path: Path) -> None:
    text = "def f(text: str) -> str: return text"
    (found,) = faults(tmp_path, text, f"\n{text}")
    assert found.startswith("f2.py:2:1: function f: f is defined at ")
    assert found.endswith("f1.py:1:1: expected another name")


def test_a_file_that_is_not_there_is_a_fault_of_the_settings(tmp_path: Path) -> None:
    (fault,) = read_functions([tmp_path / "none.py"])[1]
    assert fault.code == "settings"
    assert "functions.files: cannot read" in str(fault)


def test_a_file_is_read_anew_and_not_from_a_cache(tmp_path: Path) -> None:
    for made in "ab":
        code = f"def say(text: str) -> str: return '{made}'"
        assert mapped(tmp_path, code, "{@v |> say}", '<m v="x"/>') == [made]
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("plat", "unknown function plat: did you mean plate?"),
        ("plate", 'plate is not used so: expected plate "TEXT" [NUMBER]'),
        ('plate "DK" 1.5', "plate: '1.5': expected a whole number"),
        ('plate "DK" 1 2', 'plate is not used so: expected plate "TEXT" [NUMBER]'),
    ],
)
def test_wrong_calls_are_faults_of_the_rules(tmp_path: Path, call: str, fault: str) -> None:
    file = tmp_path / "functions.py"
    file.write_text("def plate(text: str, country: str, n: int = 1) -> str: return text")
    rules = (
        "prefix : <http://e/>\nmapping m on message {/m}\n"
        f"if {{@v |> {call}}} then insert individual :i a :C ."
    )
    parsed = parse(rules, str(tmp_path / "a.rules"))
    (found,) = check([parsed], Schema(), read_reference([parsed], (), [file]))
    assert found.message == fault


def test_rules_cannot_be_read_without_their_functions(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"functions\.py:2:1: function f: its first"):
        planned(tmp_path, "def f(): return ''", "{@v |> f}")
    with pytest.raises(MappingError):
        mapped(tmp_path, "def f(t: str) -> str: raise OSError", "{@v |> f}", '<m v="1"/>')
