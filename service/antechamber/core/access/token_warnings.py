"""What a new token of a producer cannot do under a policy, so that its operator learns it before the agent does."""

from collections.abc import Mapping, Sequence

from antechamber.core.policy import Producer, covers, name_grants


def warnings_of_token(name: str, read: Sequence[str], producers: Mapping[str, Producer]) -> list[str]:
    """Return a sentence for each thing that a producer's token promises and these producers' grants refuse."""
    producer = producers.get(name)
    if producer is None:
        return [f"the policy does not list {name}, so the service refuses its submissions and reads with this token"]
    refused = [scope for scope in read if not covers(producer.read, *_parts(scope))]
    if not refused:
        return []
    granted = name_grants(producer.read)
    return [f"the policy does not let {name} read {', '.join(refused)}; a token never widens that ({granted})"]


def _parts(scope: str) -> tuple[str, str]:
    kind, _, scope_id = scope.partition(":")
    return kind, scope_id
