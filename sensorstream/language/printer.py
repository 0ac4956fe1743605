"""Syntax tree to text, in the standard layout of rule files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.language import syntax

_ESCAPES: Final = str.maketrans(
    {
        "\\": "\\\\",
        '"': '\\"',
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "{": "{{",
        "}": "}}",
    }
)
_INDENT: Final = "  "


def print_rules(file: syntax.RuleFile) -> str:
    """The text of a rule file; ``parse`` of it gives an equal tree. Comments are not kept."""
    blocks = ["".join(f"base <{base.iri}>\n" for base in file.bases)] if file.bases else []
    if file.prefixes:
        blocks.append("".join(f"prefix {p.name}: <{p.iri}>\n" for p in file.prefixes))
    if file.xml_namespaces:
        blocks.append(
            "".join(f'xmlns {n.name} = "{_escaped(n.uri)}"\n' for n in file.xml_namespaces)
        )
    if file.tables:
        blocks.append("".join(map(_table, file.tables)))
    if file.parts:
        blocks.append("".join(f"message each {print_hole(each.xpath)}\n" for each in file.parts))
    blocks += (print_rule(rule) for rule in file.rules)
    return "\n".join(blocks)


def print_rule(rule: syntax.Rule) -> str:
    """The text of one rule, which ends with a line break."""
    lines = _mapping(rule) if isinstance(rule, syntax.MappingRule) else _semantic(rule)
    return "\n".join(lines) + "\n"


def _table(table: syntax.Table) -> str:
    columns = f"key {_quoted(table.key)} value {_quoted(table.value)}"
    return f"table {table.name} from {_quoted(table.path)} {columns}\n"


def _mapping(rule: syntax.MappingRule) -> Iterator[str]:
    yield f"mapping {rule.name}"
    yield f"on message {print_hole(rule.message)}"
    for loop in rule.for_each:
        yield f"for each ${loop.variable} in {print_hole(loop.xpath)}"
    for let in rule.lets:
        yield f"let ${let.variable} = {print_hole(let.value)}"
    if rule.guards:
        yield "if " + " and ".join(map(print_hole, rule.guards))
    yield "then"
    for action in rule.actions:
        yield _individual(action)


def _semantic(rule: syntax.SemanticRule) -> Iterator[str]:
    yield f"rule {rule.name}"
    yield trigger_text(rule.trigger)
    if rule.conditions:
        yield "if " + "\nand ".join(map(condition_text, rule.conditions))
    yield "then"
    for action in rule.actions:
        yield _action(action)


def trigger_text(trigger: syntax.Trigger) -> str:
    """A trigger as it is written."""
    match trigger:
        case syntax.OnChange():
            return "on change"
        case syntax.OnMessage():
            return "on message"
        case syntax.OnInsert():
            return f"on insert {_name(trigger.class_name)} as ?{trigger.variable.name}"
        case syntax.OnExpire():
            return f"on expire {_name(trigger.class_name)} as ?{trigger.variable.name}"
        case syntax.OnSilence():
            watched = f"{_name(trigger.class_name)} as ?{trigger.variable.name}"
            return f"on silence of {watched} for {_quoted(trigger.duration.text)}"
        case syntax.OnUpdate(name, variable, old, new):
            before = "" if old is None else f" old ?{old.name}"
            after = "" if new is None else f" new ?{new.name}"
            return f"on update {_name(name)} as ?{variable.name}{before}{after}"
        case syntax.Every(schedule, question):
            asked = f"\nfrom history select {_sparql(question)}" if question else ""
            return f"every {_schedule(schedule)}{asked}"
        case syntax.When(condition, lasting, until):
            held = f" for {_quoted(lasting.text)}" if lasting else ""
            end = f"\nuntil {condition_text(until)}" if until else ""
            return f"when {condition_text(condition)} becomes true{held}{end}"


def _schedule(schedule: syntax.Duration | syntax.LocalTime) -> str:
    if isinstance(schedule, syntax.Duration):
        return _quoted(schedule.text)
    return f"{schedule.day} at {_quoted(schedule.time)} in {_quoted(schedule.zone)}"


def condition_text(condition: syntax.Condition) -> str:
    """A condition as it is written."""
    return ("not " if condition.negated else "") + _test(condition)


def _test(condition: syntax.Condition) -> str:
    match condition:
        case syntax.Exists():
            return f"exists {_name(condition.class_name)}"
        case syntax.Count():
            counted = _name(condition.class_name)
            return f"count {counted} {condition.comparison} {condition.number}"
        case syntax.Select():
            return f"select {_sparql(condition.query)}"
        case syntax.Ask():
            return f"ask {_sparql(condition.query)}"


def _action(action: syntax.Action) -> str:
    match action:
        case syntax.IndividualAction():
            return _individual(action)
        case syntax.AlertAction():
            key = "" if action.key is None else f" key {_template(action.key)}"
            lasting = "" if action.duration is None else f" for {_quoted(action.duration.text)}"
            return f"{_INDENT}alert {action.severity} {_template(action.text)}{key}{lasting}"
        case syntax.DeleteIndividual():
            return f"{_INDENT}delete individual {_subject(action.name)} ."
        case syntax.DeletePattern():
            return f"{_INDENT}delete {_sparql(action.pattern)}"
        case syntax.SparqlUpdate():
            return f"{_INDENT}sparql {_sparql(action.update)}"
        case syntax.Reply():
            return f"{_INDENT}reply {_template(action.text)}"


def _individual(action: syntax.IndividualAction) -> str:
    head = f"{_INDENT}{action.kind} individual {_subject(action.name)}{_classes(action.classes)}"
    if action.graph is not None:
        head += f" in graph {_name(action.graph)}"
    if action.at is not None:
        head += f" at {print_hole(action.at)}"
    properties = (f"\n{_INDENT * 2}; {_property(values)}" for values in action.properties)
    return f"{head}{''.join(properties)} ."


def _classes(classes: Iterable[syntax.Name]) -> str:
    names = ", ".join(map(_name, classes))
    return f" a {names}" if names else ""


def _property(values: syntax.PropertyValues) -> str:
    return f"{_name(values.property)} {', '.join(map(print_value, values.values))}"


def print_value(value: syntax.Value) -> str:
    """A property's value as a rule writes it."""
    match value:
        case syntax.XPathValue():
            return print_hole(value.xpath) + _annotation(value)
        case syntax.TextValue():
            return _template(value.text) + _annotation(value)
        case syntax.Number():
            return value.text
        case syntax.BlankValue():
            inside = [_classes(value.classes).strip(), *map(_property, value.properties)]
            return f"[ {' ; '.join(part for part in inside if part)} ]"
        case syntax.ListValue():
            return f"( {' '.join(map(print_value, value.items))} )"
        case syntax.KnownName():
            return f"known {_name(value.name)}"
        case syntax.KnownBy():
            wanted = f"{_name(value.property)} {print_value(value.value)}"
            return f"known {_name(value.class_name)} with {wanted}"
        case syntax.Fallback():
            return _fallback(value)
        case syntax.Name() | syntax.Variable() | syntax.BlankName():
            return _subject(value)


def _fallback(value: syntax.Fallback) -> str:
    written = print_value(value.value) + (" if valid" if value.if_valid else "")
    if value.otherwise is None:
        return written
    if isinstance(value.otherwise, syntax.Policy):
        return f"{written} or {value.otherwise.kind}"
    return f"{written} or {print_value(value.otherwise)}"


def _annotation(value: syntax.XPathValue | syntax.TextValue) -> str:
    if value.datatype is not None:
        return f"^^{_name(value.datatype)}"
    match value.language:
        case None:
            return ""
        case syntax.Hole() as hole:
            return f"@{print_hole(hole)}"
        case language:
            return f"@{language}"


def _subject(subject: syntax.Name | syntax.Variable | syntax.BlankName) -> str:
    match subject:
        case syntax.Variable():
            return f"?{subject.name}"
        case syntax.BlankName():
            return f"_:{_filled(subject.parts)}"
        case syntax.Name():
            return _name(subject)


def _name(name: syntax.Name) -> str:
    written = _filled(name.parts)
    return f"<{written}>" if name.prefix is None else f"{name.prefix}:{written}"


def _filled(parts: Iterable[syntax.Part]) -> str:
    return "".join(part if isinstance(part, str) else print_hole(part) for part in parts)


def print_hole(hole: syntax.Hole) -> str:
    """An expression in its braces, with its value functions."""
    return f"{{{' |> '.join([hole.text, *map(_call, hole.calls)])}}}"


def _call(call: syntax.Call) -> str:
    return " ".join([call.function, *map(_argument, call.arguments)])


def _argument(argument: syntax.Argument) -> str:
    if argument.kind != "text":
        return argument.text
    quote = "'" if '"' in argument.text else '"'
    return f"{quote}{argument.text}{quote}"


def _sparql(sparql: syntax.Sparql) -> str:
    # After a comment in the last line the closing brace would be part of the comment.
    end = "\n}" if "#" in sparql.text.rpartition("\n")[2] else " }"
    return f"{{ {sparql.text}{end}"


def _template(template: syntax.Template) -> str:
    inside = (_escaped(p) if isinstance(p, str) else print_hole(p) for p in template.parts)
    return f'"{"".join(inside)}"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
