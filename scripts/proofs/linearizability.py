"""A checker of linearizability: does one order of a history's operations explain every answer?

A history is linearizable if each operation can be assigned one moment between its call and its answer (Herlihy and
Wing, Linearizability, TOPLAS 1990). The search is by Wing and Gong (1993) with Lowe's cache of visited states (Testing
for linearizability, 2017). An operation without an answer may have happened at any time after its call, or never.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

Answer = tuple[str | None, ...]
NEVER: Final = math.inf


class Operation(NamedTuple):
    """One call with its times on one clock, and its answer, which is None if unknown."""

    name: str
    """`submit`, `seal`, `read` or `decide`."""
    of: tuple[str, ...]
    begun: float
    ended: float
    answer: Answer | None


class Bound(NamedTuple):
    """The binding of a key; a sealed key has no content, and an id is None until an answer contains it."""

    content: str | None
    submission_id: str | None


class Proposed(NamedTuple):
    """The one proposal of a content: the key that created it, its id, and the curator's decision."""

    first: str
    proposal_id: str | None
    verdict: str | None


class State(NamedTuple):
    """The state of the sequential model of the service; hashable."""

    keys: tuple[tuple[str, Bound], ...] = ()
    contents: tuple[tuple[str, Proposed], ...] = ()

    def bind(self, key: str, bound: Bound) -> "State | None":
        """Return the state with a key bound; None if another key has the same submission id."""
        keys = dict(self.keys)
        if bound.submission_id is not None and any(
            one.submission_id == bound.submission_id for name, one in keys.items() if name != key
        ):
            return None
        return self._replace(keys=tuple(sorted((keys | {key: bound}).items())))

    def propose(self, content: str, proposed: Proposed) -> "State | None":
        """Return the state with a content proposed; None if another content has the same proposal id."""
        contents = dict(self.contents)
        if proposed.proposal_id is not None and any(
            one.proposal_id == proposed.proposal_id for name, one in contents.items() if name != content
        ):
            return None
        return self._replace(contents=tuple(sorted((contents | {content: proposed}).items())))


def linearizable(history: Sequence[Operation]) -> bool:
    """Search for an order that the model allows."""
    wanted = sum(1 << index for index, one in enumerate(history) if one.answer is not None)
    seen: set[Hashable] = set()
    waiting: list[tuple[int, State]] = [(0, State())]
    while waiting:
        done, state = waiting.pop()
        if done & wanted == wanted:
            return True
        for index in _next(history, done):
            after = step(state, history[index])
            reached = (done | 1 << index, after)
            if after is not None and reached not in seen:
                seen.add(reached)
                waiting.append((reached[0], after))
    return False


def _next(history: Sequence[Operation], done: int) -> Iterator[int]:
    """Yield the operations that may come next: those called before any of the others had ended."""
    left = [index for index in range(len(history)) if not done >> index & 1]
    horizon = min((history[index].ended for index in left), default=NEVER)
    yield from (index for index in left if history[index].begun <= horizon)


def step(state: State, operation: Operation) -> State | None:
    """Return the state after an operation; None if the answer differs from the model's."""
    if operation.name == "submit":
        return _submit(state, *operation.of, operation.answer)
    if operation.name == "seal":
        return _seal(state, *operation.of, operation.answer)
    if operation.name == "read":
        return _read(state, *operation.of, operation.answer)
    return _decide(state, *operation.of, operation.answer)


def _same(known: str | None, told: str | None) -> bool:
    return known is None or told is None or known == told


def _submit(state: State, key: str, content: str, answer: Answer | None) -> State | None:
    """Apply a submission.

    Answers: (accepted | joined | again | conflict | sealed, submission, proposal, duplicate of).
    """
    bound = dict(state.keys).get(key)
    if bound is not None:
        return _submit_again(state, key, content, bound, answer)
    kind, submission_id, proposal_id, duplicate_of = answer or (None, None, None, None)
    proposed = dict(state.contents).get(content)
    bound_now = state.bind(key, Bound(content, submission_id))
    if proposed is None:
        if bound_now is None or kind not in {None, "accepted"}:
            return None
        return bound_now.propose(content, Proposed(key, proposal_id, None))
    if bound_now is None or kind not in {None, "joined"} or not _same(proposed.proposal_id, proposal_id):
        return None
    first = dict(state.keys)[proposed.first]
    if not _same(first.submission_id, duplicate_of):
        return None
    known = bound_now.bind(proposed.first, Bound(content, first.submission_id or duplicate_of))
    return known and known.propose(content, proposed._replace(proposal_id=proposed.proposal_id or proposal_id))


def _submit_again(state: State, key: str, content: str, bound: Bound, answer: Answer | None) -> State | None:
    """Apply a submission under a bound key: the state is unchanged, but the answer may contain its id."""
    if answer is None:
        return state
    expected = "sealed" if bound.content is None else "again" if bound.content == content else "conflict"
    if answer[0] != expected or not _same(bound.submission_id, answer[1]):
        return None
    after = state.bind(key, bound._replace(submission_id=answer[1]))
    if after is None or expected != "again":
        return after
    proposed = dict(state.contents)[content]
    if not _same(proposed.proposal_id, answer[2]):
        return None
    return after.propose(content, proposed._replace(proposal_id=answer[2]))


def _seal(state: State, key: str, answer: Answer | None) -> State | None:
    """Apply a seal.

    Answers: (bound, submission) if the key was free, (known, submission) otherwise.
    """
    bound = dict(state.keys).get(key)
    kind, submission_id = answer or (None, None)
    if bound is None:
        return state.bind(key, Bound(None, submission_id)) if kind in {None, "bound"} else None
    if kind not in {None, "known"} or not _same(bound.submission_id, submission_id):
        return None
    return state.bind(key, bound._replace(submission_id=bound.submission_id or submission_id))


def _read(state: State, key: str, answer: Answer | None) -> State | None:
    """Apply a read.

    Answers: (absent,) or (found, submission, state of the proposal or None).
    """
    if answer is None:
        return state
    bound = dict(state.keys).get(key)
    if bound is None or answer[0] == "absent":
        return state if bound is None and answer[0] == "absent" else None
    expected = None
    if bound.content is not None:
        expected = dict(state.contents)[bound.content].verdict or "pending"
    if not _same(bound.submission_id, answer[1]) or answer[2] != expected:
        return None
    return state.bind(key, bound._replace(submission_id=answer[1]))


def _decide(state: State, content: str, verdict: str, answer: Answer | None) -> State | None:
    """Apply a decision.

    Answers: (made,) or (refused,); a repeated form is refused like any other late one.
    """
    proposed = dict(state.contents).get(content)
    if proposed is None:
        return state if answer is None else None
    if proposed.verdict is not None:
        return state if answer != ("made",) else None
    return None if answer == ("refused",) else state.propose(content, proposed._replace(verdict=verdict))
