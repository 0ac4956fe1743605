"""The content of a message as text."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

_DECLARED: Final = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def text_of(content: bytes) -> str:
    """The text, in the encoding that it declares; what cannot be read is replaced.

    Source: XML 1.0, section 4.3.3 and appendix F.
    """
    if content.startswith(_MARKS):
        return content.decode("utf-16", "replace")
    declared = _DECLARED.match(content)
    if declared is not None:
        with suppress(LookupError, UnicodeDecodeError):
            return content.decode(declared.group(1).decode())
    return content.decode("utf-8-sig", "replace")
