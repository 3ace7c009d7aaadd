"""A rule of detection: data from `policies/detectors/*.toml` that describes one kind of private or hostile text."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

Kind = Literal["secret", "personal", "hostile", "hidden"]
Action = Literal["reject", "quarantine", "warn", "off"]
KINDS: Final[tuple[Kind, ...]] = ("secret", "personal", "hostile", "hidden")
ACTIONS: Final[tuple[Action, ...]] = ("reject", "quarantine", "warn", "off")
"""What happens with a text in which a rule finds something, the strictest first."""
REFUSING: Final[frozenset[str]] = frozenset({"reject", "quarantine"})
"""Actions that make an event private."""
RULE_ID_PATTERN: Final = r"^[a-z][a-z0-9-]{0,63}$"

Line = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Example = str | tuple[str, ...]
"""A text, or pieces that are joined, so that no file contains what looks like a live secret."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One kind of private or hostile text; `policies/README.md` explains each key."""

    rule_id: Annotated[str, Meta(pattern=RULE_ID_PATTERN)] = field(name="id")
    title: Line
    kind: Kind
    action: Action = "reject"
    pattern: Annotated[str, Meta(min_length=1)]
    """RE2 syntax; `^` and `$` match at lines. The value is group 1, else the whole match."""
    separators: bool = False
    """Whether the pattern also matches with other separators between its characters, or none."""
    prefilter: str | None = None
    """RE2 syntax; matches in each text in which the rule can find something. Its literals replace those of a pattern
    that has none in every match."""
    bounds: Literal["token", "none"] = "token"
    """Whether an ASCII letter or digit directly before or after the match prevents it."""
    trigger: str | None = None
    """RE2 pattern of the words with which a match begins; `pattern` is tried only there, so that it may be costly."""
    not_after: str | None = None
    """RE2 pattern of the text directly before a match that prevents it, such as a negation."""
    not_named: str | None = None
    """RE2 pattern of the text directly before a value that prevents it, such as a name that ends with `key_id`."""
    context: tuple[Line, ...] = ()
    """Words of which one must be near a match; case is ignored, and ASCII words match as whole words."""
    context_distance: Annotated[int, Meta(ge=1, le=1000)] = 60
    """Code points before and after the match in which a context word counts."""
    without_context: Action = "off"
    """The action if no context word is near."""
    check: str | None = None
    """Name of a check of the value, see `registry.CHECKS`."""
    search: str | None = None
    """Name of a search, see `registry.SEARCHES`; the pattern then only decides whether a text is searched."""
    min_entropy: Annotated[float, Meta(ge=0, le=8)] = 0.0
    """Least Shannon entropy of the value in bits per character."""
    min_variety: Annotated[int, Meta(ge=0, le=4)] = 0
    """Least number of classes in the value: lower case, upper case, digits, other signs."""
    placeholders: tuple[str, ...] = ()
    """RE2 patterns of values that are no findings; each matches a whole value, case is ignored."""
    general: bool = False
    """Whether a finding is dropped where a rule that is not general finds something too."""
    in_uuids: bool = False
    """Whether the rule also finds values that overlap a UUID (RFC 9562)."""
    block: bool = False
    """Whether the value goes on in the lines of base64 that follow it."""
    hit: tuple[Example, ...] = ()
    """Texts in which the rule finds something."""
    miss: tuple[Example, ...] = ()
    """Texts in which the rule finds nothing."""


def join_example(example: Example) -> str:
    """Return the text of an example."""
    return example if isinstance(example, str) else "".join(example)


class Finding(Struct, frozen=True, order=True):
    """What a rule found: the location, the rule and its action, never the value.

    `pointer` is the JSON pointer of the string. `start` and `end` are code points in that string as it was submitted.
    A finding in a name has the pointer of its parent and the offsets 0 and 0. `decoded` lists the decoders that made
    the value visible, in order.
    """

    pointer: str
    rule_id: str
    action: Action = "reject"
    start: int = 0
    end: int = 0
    decoded: tuple[str, ...] = ()

    @property
    def is_private(self) -> bool:
        """Whether the finding makes an event private."""
        return self.action in REFUSING


class Covered:
    """The spans of some findings at one pointer."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Sort the spans; each look at them then takes a logarithmic number of steps."""
        spans = sorted((one.start, one.end) for one in findings)
        self._spans = frozenset(spans)
        self._starts = [start for start, _ in spans]
        self._furthest = [*accumulate((end for _, end in spans), max)]

    def overlaps(self, one: Finding) -> bool:
        """Return whether a finding shares a character with one of these, or names the same member."""
        before = bisect_left(self._starts, one.end)
        return (one.start, one.end) in self._spans or (before > 0 and self._furthest[before - 1] > one.start)


UNVERIFIED: Final = "too-many-look-alikes"
"""Rule id of the finding if a budget is spent before the text is checked; no policy switches it off."""
UNVERIFIED_TITLE: Final = (
    "more look-alikes of private values, or deeper encodings, than can be verified; split the text"
)
