"""Syntax tree to text, in the standard layout of rule files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sensorstream.language import syntax
from sensorstream.model.tree_text import TreeText

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
_FORMS: Final[Mapping[type[syntax.SyntaxNode], str]] = {
    syntax.Base: "base <{iri}>\n",
    syntax.Prefix: "prefix {name}: <{iri}>\n",
    syntax.XmlNamespace: "xmlns {name} = {uri!q}\n",
    syntax.LookupTable: "table {name} from {path!q} key {key!q} value {value!q}\n",
    syntax.MessageEach: "message each {xpath}\n",
    syntax.MappingRule: "mapping {name}\non message {message}[\n{for_each:\n}][\n{lets:\n}]"
    "[\nif {guards: and }]\nthen\n  {actions:\n  }\n",
    syntax.ForEach: "for each ${variable} in {xpath}",
    syntax.Let: "let ${variable} = {value}",
    syntax.SemanticRule: "rule {name}\n{trigger}[\nif {conditions:\nand }]"
    "\nthen\n  {actions:\n  }\n",
    syntax.OnChange: "on change",
    syntax.OnMessage: "on message",
    syntax.OnInsert: "on insert {class_name} as {variable}",
    syntax.OnExpire: "on expire {class_name} as {variable}",
    syntax.OnSilence: "on silence of {class_name} as {variable} for {duration}",
    syntax.OnUpdate: "on update {name} as {variable}[ old {old}][ new {new}]",
    syntax.Every: "every {schedule}[\nfrom history select {question}]",
    syntax.When: "when {condition} becomes true[ for {lasting}][\nuntil {until}]",
    syntax.WrittenDuration: "{text!q}",
    syntax.LocalTime: "{day} at {time!q} in {zone!q}",
    syntax.ExistsCondition: "[{negated}not ]exists {class_name}",
    syntax.CountCondition: "[{negated}not ]count {class_name} {comparison} {number}",
    syntax.SelectCondition: "[{negated}not ]select {query}",
    syntax.AskCondition: "[{negated}not ]ask {query}",
    syntax.IndividualAction: "{kind} individual {name}[ a {classes:, }][ in graph {graph}]"
    "[ at {at}][\n    ; {properties:\n    ; }] .",
    syntax.AlertAction: "alert {severity} {text}[ key {key}][ for {duration}]",
    syntax.DeleteIndividual: "delete individual {name} .",
    syntax.DeletePattern: "delete {pattern}",
    syntax.SparqlUpdate: "sparql {update}",
    syntax.Reply: "reply {text}",
    syntax.PropertyValues: "{property} {values:, }",
    syntax.XPathValue: "{xpath}[^^{datatype}][@{language}]",
    syntax.TextValue: "{text}[^^{datatype}][@{language}]",
    syntax.WrittenNumber: "{text}",
    syntax.ListValue: "( {items: } )",
    syntax.KnownName: "known {name}",
    syntax.KnownBy: "known {class_name} with {property} {value}",
    syntax.Fallback: "{value}[{if_valid} if valid][ or {otherwise}]",
    syntax.MissingPolicy: "{kind}",
    syntax.RuleVariable: "?{name}",
    syntax.BlankName: "_:{parts:}",
    syntax.ValueCall: "{function}[ {arguments: }]",
}


def print_rules(file: syntax.RuleFile) -> str:
    """The text of a rule file; ``parse`` of it gives an equal tree. Comments are not kept."""
    head = (file.bases, file.prefixes, file.xml_namespaces, file.tables, file.parts)
    blocks = ["".join(map(print_node, each)) for each in head if each]
    return "\n".join((*blocks, *map(print_node, file.rules)))


def print_node(node: syntax.SyntaxNode) -> str:
    """A node as a rule file writes it; a rule ends with a line break."""
    match node:
        case syntax.Hole():
            return print_hole(node)
        case syntax.WrittenName(prefix=prefix):
            local = "".join(map(_text, node.parts))
            return f"<{local}>" if prefix is None else f"{prefix}:{local}"
        case syntax.TextTemplate():
            inside = (escaped(p) if isinstance(p, str) else print_hole(p) for p in node.parts)
            return f'"{"".join(inside)}"'
        case syntax.Sparql(text=text):
            # After a comment in the last line the closing brace would be part of the comment.
            end = "\n}" if "#" in text.rpartition("\n")[2] else " }"
            return f"{{ {text}{end}"
        case syntax.Argument(kind=kind, text=text):
            quote = "" if kind != "text" else "'" if '"' in text else '"'
            return f"{quote}{text}{quote}"
        case syntax.BlankValue():
            classes = ", ".join(map(print_node, node.classes))
            written = [f"a {classes}" if classes else "", *map(print_node, node.properties)]
            return f"[ {' ; '.join(filter(None, written))} ]"
    return _TEXT.of(node)


def print_hole(hole: syntax.Hole) -> str:
    """An expression in its braces, with its value functions."""
    return f"{{{' |> '.join([hole.text, *map(print_node, hole.calls)])}}}"


def _text(value: object) -> str:
    return print_node(value) if isinstance(value, syntax.SyntaxNode) else str(value)


def escaped(text: str) -> str:
    """A text as it stands in quotes."""
    return text.translate(_ESCAPES)


# In quotes: q.
_TEXT: Final = TreeText(_FORMS, {"": _text, "q": lambda text: f'"{escaped(text)}"'})
