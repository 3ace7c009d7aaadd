"""Views: the forms of a text in which a value may be visible, and the steps that make them."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.edits import MOST_EDITS, Edit, without_overlaps
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.forms.decoders import find_compositions, find_escapes
from antechamber.core.privacy.forms.folding import fold_sign, is_plain
from antechamber.core.privacy.forms.joined_literals import add_joined_literals
from antechamber.core.privacy.forms.joints import find_joints, without_words
from antechamber.core.privacy.forms.named_encodings import find_named
from antechamber.core.privacy.forms.runs import find_runs
from antechamber.core.privacy.forms.spaced_values import find_spaced
from antechamber.core.privacy.forms.splits import rows_of_groups
from antechamber.core.privacy.forms.tables import find_cells, find_inserted, has_numbered_column
from antechamber.core.privacy.forms.texts import (
    CODED,
    DECODABLE,
    ESCAPED,
    FOLD,
    GROUPED,
    LITERALS,
    NAMED,
    NUMBER,
    PAIRS,
    QUOTED,
    RUN,
    SPACED,
    TABLE,
    WRAPPED,
)
from antechamber.core.privacy.forms.view import Chains, Folded, View, apply

MAX_LEVELS: Final = 3
"""Decoded levels; a text with more of them cannot be verified."""
_GROWTH: Final = 4
"""Maximum length of all views together, as a multiple of that of the text …"""
_ALLOWANCE: Final = 24_576
"""… with this number of characters in addition."""
_SHORT: Final = 2_000
"""Characters of a text that is always searched as a whole."""
_NEAR: Final = 160
"""Characters around an edit that are searched with it."""
_FOLDS: Final = 3
"""Binary logarithm of the number of foldable parts that count as one unit of effort; an edit is half a unit."""
_FOLDED: Final = 8
"""Binary logarithm of the characters of a text that count as one unit when it is folded."""
_MOST_FOLDABLE: Final = 256
"""Parts of a long text that are folded, or different signs of them, from which it is folded as a whole."""


def all_views(root: View, effort: Effort) -> Iterator[View]:
    """Yield a view and every other form of its text in which a value may be visible.

    Raises EffortSpentError if the forms are too many, too long or too deep, or take too many edits.
    """
    waiting, seen = [root], {root.text}
    left = _GROWTH * len(root.text) + _ALLOWANCE
    while waiting:
        view = waiting.pop(0)
        yield view
        for child in _derived(view, effort):
            if child.text in seen:
                continue
            left -= len(child.text)
            if left < 0 or child.level > MAX_LEVELS:
                raise EffortSpentError
            seen.add(child.text)
            waiting.append(child)


def _derived(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms that one step makes of a view; what is read backwards has escapes and joints by chance only."""
    if view.read.traits & (DECODABLE | NUMBER):
        if not view.is_turned:
            yield from _cleaned(view, effort)
        yield from _decoded(view, effort)


def _cleaned(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms of a view without look-alikes and without what interrupts values.

    A cheap look decides for each step whether it is possible.
    """
    text, traits = view.text, view.read.traits
    if traits & FOLD:
        yield from _edited(view, find_compositions(text), view.level, effort)
        if not view.is_folded and not is_plain(view.read.data(in_uuids=True)):
            near = _near_folds(view, effort)
            yield Folded(near)
    if traits & TABLE or (traits & NUMBER and has_numbered_column(view.read.data(in_uuids=True))):
        cells = without_overlaps([*find_cells(text, effort), *find_inserted(text)])
        yield from _edited(view, cells, view.level, effort, is_folded=view.is_folded)
    if traits & (QUOTED | WRAPPED | SPACED | LITERALS):
        yield from _edited(view, _find_interruptions(text, traits), view.level, effort, is_folded=view.is_folded)
    yield from _joined(view, effort) if traits & GROUPED else ()


def _find_interruptions(text: str, traits: int) -> Iterable[Edit]:
    """Yield what interrupts the values of a text with some traits."""
    edits: Iterable[Edit] = find_joints(text, quoted=bool(traits & QUOTED))
    if traits & LITERALS:
        edits = add_joined_literals(text, edits)
    if traits & SPACED:
        edits = without_overlaps([*edits, *find_spaced(text)])
    return without_words(text, edits)


def _decoded(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms of a view with its encoded parts decoded."""
    text, traits = view.text, view.read.traits
    if traits & ESCAPED and not view.is_turned:
        yield from _edited(view, find_escapes(text), view.level + 1, effort)
    for edits in find_named(text, effort, lines=view.may_be_turned) if traits & NAMED else ():
        yield from _edited(view, edits, view.level + 1, effort)
    if traits & (RUN | PAIRS | CODED | GROUPED):
        dumps = bool(traits & (PAIRS | GROUPED))
        runs = find_runs(text, effort, pairs=bool(traits & PAIRS), codes=bool(traits & CODED), dumps=dumps)
        yield from _edited(view, runs, view.level + 1, effort)


def _joined(view: View, effort: Effort) -> Iterator[View]:
    """Yield the view of what is in groups of equal length."""
    rows = rows_of_groups(view.text, view.read.data(in_uuids=True))
    effort.spend(len(rows))
    if rows:
        yield Chains(rows, view)


def _edited(
    view: View, edits: Iterable[Edit], level: int, effort: Effort, *, is_folded: bool = False
) -> Iterator[View]:
    """Yield the view that edits make, without the parts of a long text that are far from all of them."""
    listed = list(islice(edits, MOST_EDITS + 1))
    if len(listed) > MOST_EDITS:
        raise EffortSpentError
    effort.spend(len(listed) >> 1)
    if listed:
        gaps = _find_gaps(view.text, [(edit.start, edit.end) for edit in listed])
        kept = sorted((*listed, *gaps)) if gaps else listed
        yield View(apply(view.text, kept), view, kept, level, is_folded=is_folded)


def _near_folds(view: View, effort: Effort) -> View:
    """Return a view without the parts of a long text that are far from all that is folded."""
    effort.spend(len(view.text) >> _FOLDED)
    if len(view.text) < _SHORT:
        return view
    # A dash has another form, and an arrow has none; a text may have thousands of either, but few different ones.
    signs = [sign for sign in set(view.text) if fold_sign(sign) != sign]
    if len(signs) >= _MOST_FOLDABLE:
        return view
    foldable = re.compile(f"[{re.escape(''.join(signs))}]+")
    spans = [match.span() for match in islice(foldable.finditer(view.text), _MOST_FOLDABLE)]
    if len(spans) == _MOST_FOLDABLE:
        # This number of parts leaves little text that is far from all of them.
        return view
    effort.spend(len(spans) >> _FOLDS)
    gaps = _find_gaps(view.text, spans)
    return View(apply(view.text, gaps), view, gaps, view.level) if gaps else view


def _find_gaps(text: str, spans: Iterable[tuple[int, int]]) -> list[Edit]:
    """Return edits that replace what is far from all spans (ascending) by a separator; none for a short text."""
    if len(text) < _SHORT:
        return []
    gaps, place = [], 0
    for start, end in (*spans, (len(text) + _NEAR, 0)):
        first = max(start - _NEAR, 0)
        # A window begins after a blank, so that no number or token begins in its middle.
        first = text.rfind(" ", max(first - _NEAR, place), first) + 1 or first
        if first > place:
            gaps.append(Edit(place, min(first, len(text)), SEPARATOR, ""))
        blank = text.find(" ", end + _NEAR, end + 2 * _NEAR)
        place = max(place, blank if blank >= 0 else end + _NEAR)
    return gaps
