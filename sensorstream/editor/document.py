"""An open file, with what is known around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sensorstream.app.control.file_texts import is_query_file, is_rule_set
from sensorstream.editor.cursor import cursor_in_sparql
from sensorstream.editor.samples import read_samples, sample_files
from sensorstream.editor.text import SourceText
from sensorstream.editor.vocabulary import Vocabulary
from sensorstream.errors import LanguageError
from sensorstream.language.parser import syntax_tree
from sensorstream.language.recovery import rule_starts
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import Element
from sensorstream.mapping.functions import Definition


@dataclass(frozen=True)
class OpenDocument:
    """A rule file, a query, rules over time or a rule set as they stand in the editor.

    ``folder`` is that of the settings; ``names`` are those of the deployment's ontology,
    ``functions`` the value functions that rules may call.
    """

    path: Path
    text: str
    folder: Path
    names: Vocabulary = field(default_factory=Vocabulary)
    functions: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def is_query(self) -> bool:
        """Whether it is a query, a rule set, or has rules over time."""
        return is_query_file(self.path) or is_rule_set(self.path)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.text)

    @cached_property
    def head(self) -> RuleFile:
        """The declarations of a rule file; if one has a fault, the lines that can be read."""
        end = min(rule_starts(self.text), default=len(self.text))
        try:
            return syntax_tree(self.text[:end], str(self.path))
        except LanguageError:
            pass
        good = ""
        for line in self.text[:end].splitlines(keepends=True):
            try:
                syntax_tree(line)
            except LanguageError:
                good += "\n"
            else:
                good += line
        return syntax_tree(good, str(self.path))

    @cached_property
    def prefixes(self) -> Mapping[str, str]:
        """The declared prefixes, without the colon."""
        if not self.is_query:
            return self.head.prefix_map
        return declared_prefixes(self.text)

    @cached_property
    def samples(self) -> list[Element]:
        """The sample messages."""
        return read_samples(sample_files(self.path, self.text, self.folder))


def declared_prefixes(query: str) -> dict[str, str]:
    """The prefixes that a query declares, as far as it can be read."""
    tokens = cursor_in_sparql(query).tokens
    return {
        name.value[:-1]: iri.value[1:-1]
        for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if (word.type, name.type, iri.type) == ("_PREFIX", "NAMESPACE", "IRIREF")
    }
