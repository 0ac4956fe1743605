from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.installation import bundled
from sensorstream.language import parse, print_rules
from sensorstream.language import syntax as s

_Annotated = TypeVar("_Annotated", s.XPathValue, s.TextValue)

words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,6}", fullmatch=True)
variables = st.from_regex(r"[a-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
locals_ = st.from_regex(r"[A-Za-z0-9_-]{1,4}([.:]?[A-Za-z0-9_-]|%[0-9A-F]{2}){0,4}", fullmatch=True)
free_text = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12
)
bare_xpaths = st.sampled_from(
    [
        "@x",
        "$p/a/@b",
        "concat('}', \"{\")",
        "a[@t = 'x y']",
        "count(//b) > 2",
        "'\n'",
        "a | b",
        "'|>'",
    ]
).map(s.Hole)
arguments = st.one_of(
    st.builds(s.Argument, st.just("text"), st.text("ab{}|>\\#' ,", max_size=5)),
    st.builds(s.Argument, st.just("text"), st.text('ab{}|>\\#" ,', max_size=5)),
    st.builds(s.Argument, st.just("number"), st.sampled_from(["0", "-12", "+7.40"])),
    st.builds(s.Argument, st.just("word"), st.sampled_from(["to", "a-b", "_x", "if"])),
)
calls = st.builds(
    s.ValueCall,
    st.sampled_from(["trim", "lower-case", "*", "-", "+", "/"]),
    st.lists(arguments, max_size=3).map(tuple),
)
xpaths = st.builds(
    s.Hole, bare_xpaths.map(lambda hole: hole.text), st.lists(calls, max_size=2).map(tuple)
)
rule_holes = st.one_of(variables.map(lambda v: s.Hole(f"?{v}")), st.just(s.Hole("new")))


def parts(
    text: st.SearchStrategy[str], holes: st.SearchStrategy[s.Hole]
) -> st.SearchStrategy[tuple[s.Part, ...]]:
    """Texts and holes, with no two texts side by side."""

    def joined(items: list[str | s.Hole]) -> tuple[s.Part, ...]:
        kept: list[s.Part] = []
        for item in items:
            if kept and isinstance(item, str) and isinstance(kept[-1], str):
                continue
            kept.append(item)
        return tuple(kept)

    return st.lists(st.one_of(text, holes), max_size=4).map(joined)


constants = st.one_of(
    st.builds(s.WrittenName, st.just("ex"), locals_.map(lambda t: (t,))),
    st.builds(s.WrittenName, st.just(""), st.just(())),
    st.builds(s.WrittenName, st.none(), locals_.map(lambda t: (f"http://e/{t}",))),
)
durations = free_text.map(s.WrittenDuration)
local_times = st.builds(
    s.LocalTime,
    st.sampled_from(["day", "monday", "sunday"]),
    st.sampled_from(["07:00", "23:59:59"]),
    st.sampled_from(["Europe/Vienna", "UTC"]),
)
numbers = st.sampled_from(["0", "-12", "7.40", "1e3", "+2.5E-7", "true", "false"]).map(
    s.WrittenNumber
)


def names(holes: st.SearchStrategy[s.Hole]) -> st.SearchStrategy[s.WrittenName]:
    return st.one_of(
        constants,
        st.builds(lambda p: s.WrittenName("ex", ("n-", *p)), holes.map(lambda h: (h,))),
        st.builds(lambda h, t: s.WrittenName(None, ("http://e/", h, t)), holes, locals_),
        st.builds(lambda h: s.WrittenName(None, (h,)), holes),
    )


def templates(holes: st.SearchStrategy[s.Hole]) -> st.SearchStrategy[s.TextTemplate]:
    return parts(free_text, holes).map(s.TextTemplate)


TAGS = st.sampled_from(["en", "en-GB", "el"])


def annotated(
    kind: type[_Annotated],
    inside: st.SearchStrategy[s.Hole] | st.SearchStrategy[s.TextTemplate],
    languages: st.SearchStrategy[str] | st.SearchStrategy[str | s.Hole] = TAGS,
) -> st.SearchStrategy[_Annotated]:
    return st.one_of(
        st.builds(kind, inside),
        st.builds(kind, inside, datatype=constants),
        st.builds(kind, inside, language=languages),
    )


def properties(
    values: st.SearchStrategy[s.Value], least: int
) -> st.SearchStrategy[tuple[s.PropertyValues, ...]]:
    one = st.builds(
        s.PropertyValues, constants, st.lists(values, min_size=1, max_size=3).map(tuple)
    )
    return st.lists(one, min_size=least, max_size=3).map(tuple)


mapping_classes = st.lists(names(xpaths), min_size=1, max_size=2).map(tuple)
blank_names = st.builds(lambda t, h: s.BlankName((t, *h)), words, xpaths.map(lambda h: (h,)))
tags: st.SearchStrategy[str | s.Hole] = xpaths | TAGS
literals = st.one_of(
    annotated(s.XPathValue, xpaths, tags), annotated(s.TextValue, templates(xpaths), tags), numbers
)
mapping_leaves: st.SearchStrategy[s.Value] = st.one_of(
    literals,
    names(xpaths),
    blank_names,
    st.builds(s.KnownName, names(xpaths)),
    st.builds(s.KnownBy, constants, constants, literals),
)


def first_of(value: s.Value) -> s.Value:
    return first_of(value.value) if isinstance(value, s.Fallback) else value


def fallbacks(inner: st.SearchStrategy[s.Value]) -> st.SearchStrategy[s.Fallback]:
    """``VALUE or …``: the first value is never itself one with ``or``."""
    policies = st.sampled_from([s.MissingPolicy("skip individual"), s.MissingPolicy("reject")])
    first = inner.map(first_of)
    return st.one_of(
        st.builds(s.Fallback, first, st.booleans(), inner | policies),
        st.builds(s.Fallback, first, st.just(True), st.none()),
    )


mapping_values = st.recursive(
    mapping_leaves,
    lambda inner: st.one_of(
        st.builds(s.BlankValue, mapping_classes, properties(inner, 0)),
        st.builds(s.BlankValue, st.just(()), properties(inner, 1)),
        st.builds(s.ListValue, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        fallbacks(inner),
    ),
    max_leaves=5,
)
mapping_actions = st.builds(
    s.IndividualAction,
    st.sampled_from(["insert", "update"]),
    names(xpaths) | blank_names,
    mapping_classes,
    properties(mapping_values, 0),
    st.none() | xpaths,
    graph=st.none() | names(xpaths),
)
loops = st.builds(s.ForEach, variables, bare_xpaths)
mapping_rules = st.builds(
    s.MappingRule,
    words,
    bare_xpaths,
    st.lists(loops, max_size=3, unique_by=lambda f: f.variable).map(tuple),
    st.lists(xpaths, max_size=2).map(tuple),
    st.lists(mapping_actions, min_size=1, max_size=2).map(tuple),
    lets=st.lists(
        st.builds(s.Let, variables.map("v{}".format), xpaths),
        max_size=2,
        unique_by=lambda each: each.variable,
    ).map(tuple),
).filter(
    lambda rule: not {each.variable for each in rule.for_each} & {x.variable for x in rule.lets}
)

bound = variables.map(s.RuleVariable)
queries = st.sampled_from(
    ["SELECT * { ?s ?p ?o }", "ASK { ?s ex:p '}' # }\n}", "?s ex:p '''{''' # last"]
).map(s.Sparql)
conditions = st.one_of(
    st.builds(s.ExistsCondition, constants, st.booleans()),
    st.builds(
        s.CountCondition,
        constants,
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.integers(0, 99),
        st.booleans(),
    ),
    st.builds(s.SelectCondition, queries, st.booleans()),
    st.builds(s.AskCondition, queries, st.booleans()),
)
triggers = st.one_of(
    st.just(s.OnChange()),
    st.just(s.OnMessage()),
    st.builds(s.OnInsert, constants, bound),
    st.builds(s.OnExpire, constants, bound),
    st.builds(s.Every, durations | local_times, st.none() | queries),
    st.builds(s.When, conditions, st.none() | durations, st.none() | conditions),
)
rule_templates = templates(rule_holes)
rule_values: st.SearchStrategy[s.Value] = st.one_of(
    annotated(s.TextValue, rule_templates), numbers, names(rule_holes), bound
)
actions = st.one_of(
    st.builds(
        s.AlertAction,
        st.sampled_from(["info", "warning", "critical"]),
        rule_templates,
        st.none() | rule_templates,
        st.none() | durations,
    ),
    st.builds(
        s.IndividualAction,
        st.sampled_from(["insert", "update"]),
        names(rule_holes) | bound,
        st.just(()),
        properties(rule_values, 1),
    ),
    st.builds(s.DeleteIndividual, names(rule_holes) | bound),
    st.builds(s.DeletePattern, queries),
    st.builds(s.SparqlUpdate, queries),
    st.builds(s.Reply, rule_templates),
)
semantic_rules = st.builds(
    s.SemanticRule,
    words,
    triggers,
    st.lists(conditions, max_size=3).map(tuple),
    st.lists(actions, min_size=1, max_size=3).map(tuple),
)
files = st.builds(
    s.RuleFile,
    st.just((s.Prefix("ex", "http://example.org/"), s.Prefix("", "http://d/#"))),
    st.sampled_from([(), (s.XmlNamespace("m", 'urn:"m"'), s.XmlNamespace("n-1", "urn:{n}"))]),
    st.lists(mapping_rules | semantic_rules, max_size=3, unique_by=lambda rule: rule.name).map(
        tuple
    ),
    tables=st.lists(
        st.builds(s.LookupTable, words, free_text, free_text, free_text),
        max_size=2,
        unique_by=lambda table: table.name,
    ).map(tuple),
    parts=st.lists(st.builds(s.MessageEach, bare_xpaths), max_size=2).map(tuple),
    bases=st.sampled_from([(), (s.Base("http://base/#x"),)]),
)


@settings(max_examples=60)
@given(files)
def test_printed_rules_parse_to_the_same_tree(file: s.RuleFile) -> None:
    assert parse(print_rules(file)) == file


def test_the_rules_that_come_with_the_project_survive_printing() -> None:
    found = sorted(bundled("mapping_rules").glob("*.rules"))
    assert len(found) >= 2
    for path in found:
        file = parse(path.read_text("utf-8"), path.name)
        assert file.rules
        assert parse(print_rules(file)) == file


def test_the_layout_is_the_one_people_write() -> None:
    text = """\
base <http://example.org/>

prefix : <t#>

xmlns m = "urn:m"

mapping tracker
on message {/m:Message}
for each $p in {m:person}
let $room = {$p/@room |> trim}
if {$p/@x} and {$p/@y}
then
  insert individual :human-{$p/@id} a :Human, :{$p/@kind} at {@time}
    ; :in <{$room}>
    ; :name {$p/name}@{$p/@lang |> lower}
    ; :x {$p/@x}, {$p/@y}^^:number
    ; :place [ a :Place ; :room "Room {@room}"@en ] .

rule crowded
on insert :Human as ?x
if count :Human > 20
and not exists :Alarm
and select { SELECT ?n {} }
then
  alert warning "{?n} people" key "{?x}" for "PT1M"
  delete individual ?x .
  reply "<on/>"
"""
    assert print_rules(parse(text)) == text
