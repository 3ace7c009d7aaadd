"""Query plans of the review queue: answered by indexes, never by reading or sorting all waiting proposals."""

import re
import threading
from typing import Any

import pytest

from antechamber import app
from antechamber.settings import Location
from antechamber.store.postgres.statements import single
from antechamber.store.statements import statements
from support import Service, database, event

OF_THE_QUEUE = (
    "folds_in_line",
    "queue_matching",
    "count_matching",
    "queue_row",
    "count_in_line",
    "for_others",
    "count_decided",
    "end_of_window",
    "unsorted_in_line",
    "for_second",
    "count_pending",
    "count_quarantined",
    "count_held",
    "queue_position",
    "free_in_line",
    "free_unsorted",
    "unsorted",
    "fold_heads",
    "folds_like",
    "first_turn",
    "last_turn",
    "group_like",
    "group_of_source",
    "beside_rows",
    "waiting_for_producer",
    "attention_of_person",
    "free_attention",
    "attention_position",
    "mention",
    "kept_from",
)
_OF_A_SET = ("queue_matching", "count_matching")
LARGE = "folds|proposals|submissions|review_records|quarantine|claims|evidence|queue_rows|w|p|f|m"
"""Tables that grow, as the statements name them."""


def plan(raw: Any, location: Location, name: str, **given: str) -> str:
    """Return the query plan of a statement; PostgreSQL plans without sequential scans and sorts if it can.

    `given` are values that the plan depends on.
    """
    if location.database_url is None:
        sql = statements("sqlite")[name]
        values = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql), 1) | given
        return "\n".join(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}", values))
    sql = single(name)
    values = {value: "1" if value in _TEXTS else 1 for value in re.findall(r"%\((\w+)\)s", sql)} | given
    for setting in ("enable_seqscan", "enable_sort"):
        raw.execute(f"SET {setting} = off")
    return "\n".join(row[0] for row in raw.execute(f"EXPLAIN {sql}", values))


_TEXTS = {
    "memory_id",
    "subject", "submission_id", "idempotency_key", "producer_identity",
    "wanted", "term", "beginning", "after_beginning", "end", "after_end",
    "proposal_id", "person", "producer", "submission_scope", "scope_id", "kind", "first", "second_word", "third",
    "fourth", "source", "owner", "tag", "near", "warning", "conflict", "mine", "second", "held", "holder", "derived",
    "used", "assigned", "proposals", "ending",
}  # fmt: skip


@pytest.mark.parametrize("name", ["changes_of_scope", "changed_scopes", "last_change"])
def test_the_change_feed_is_never_read_as_a_whole(lasting_place: Location, name: str) -> None:
    """A page of changes, and the look of the watch, are answered by an index from their cursor on."""
    location = lasting_place
    app.open_store(location).close()
    with database(location) as raw:
        looked = plan(raw, location, name)
    assert not re.search(r"SCAN (?:f|m|change_feed|memories)\b|Seq Scan on (?:change_feed|memories)\b", looked), looked


@pytest.mark.parametrize("name", OF_THE_QUEUE)
def test_the_queue_is_never_read_or_sorted_as_a_whole(lasting_place: Location, name: str) -> None:
    """Each statement of the queue is answered by an index in the required order."""
    location = lasting_place
    app.open_store(location).close()
    with database(location) as raw:
        if name in {"first_turn", "last_turn"} and location.database_url is not None:
            _TEXTS.discard("producer")
        found = plan(raw, location, name)
        _TEXTS.add("producer")
    # PostgreSQL leaves sets out of the plan that are not the named one; the test below looks at each.
    found = re.sub(r"\s*->  Sort[^\n]*\n[^>]*->  Result[^\n]*\n\s*One-Time Filter: false", "", found)
    # A filter reads a window of one set, at most 10,000 rows in the order of its index, which SQLite reports as a scan.
    looked = re.sub(r"SCAN (?:found|refused|q)\n", "", found) if name in _OF_A_SET else found
    assert not re.search(rf"SCAN (?:{LARGE})\b(?! USING)", looked), found
    assert not re.search(rf"Seq Scan on (?:{LARGE})\b", found), found
    # Rows read from an index in order, at most a hundred, may be sorted once more.
    if "near" not in found:
        assert "TEMP B-TREE FOR ORDER BY" not in found, found
        assert not re.search(r"^\s*(?:->)?\s*Sort\b", found.partition("SubPlan")[0], re.MULTILINE), found


@pytest.mark.parametrize("name", [*_OF_A_SET, "end_of_window"])
@pytest.mark.parametrize(
    ("source", "index"),
    [
        ("line", "folds_in_line"),
        ("producer", "folds_of_producer"),
        ("owner", "folds_of_owner"),
        ("scope", "folds_of_scope_in_line"),
        ("near", "folds_near"),
        ("second", "proposals_for_second"),
        ("derived", "proposals_derived"),
        ("held", "claims_by_end"),
    ],
)
def test_a_filter_reads_one_set_by_its_index(lasting_place: Location, name: str, source: str, index: str) -> None:
    """Each set that a filter may look through is given by an index, in the queue's order if it may be large."""
    location = lasting_place
    app.open_store(location).close()
    with database(location) as raw:
        found = plan(raw, location, name, source=source)
    if name == "end_of_window" and source in {"second", "derived", "held"}:
        assert location.database_url is None or "folds" not in found
    else:
        assert re.search(rf"\b{index}\b", found), found
        # SQLite counts no rows when it chooses an index: a person's decisions must not be read as a whole.
        assert location.database_url is not None or "review_records_by_day" not in found
        assert not re.search(r"SCAN (?:folds|m|k)\b(?! USING)|Seq Scan on (?:folds|proposals|claims)\b", found), found


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("for_second", "proposals_for_second"),
        ("for_others", "proposals_for_second"),
        ("oldest_pending", "proposals_by_arrival"),
    ],
)
def test_a_small_set_is_read_by_its_own_index(lasting_place: Location, name: str, index: str) -> None:
    """An index of all waiting proposals never takes the place of the index of a few."""
    app.open_store(lasting_place).close()
    with database(lasting_place) as raw:
        found = plan(raw, lasting_place, name)
    assert re.search(rf"\b{index}\b", found), found
    assert not re.search(r"Seq Scan on proposals|Hash", found), found


OF_THE_DASHBOARD = ("totals", "counts_by_hour", "counts_by_producer", "retries", "decisions_since", "screen_times")


@pytest.mark.parametrize("name", OF_THE_DASHBOARD)
def test_figures_read_days_and_the_last_hours(lasting_place: Location, name: str) -> None:
    """No figure reads all hours, all replays or all decisions."""
    app.open_store(lasting_place).close()
    with database(lasting_place) as raw:
        found = plan(raw, lasting_place, name)
    tables = "tally|replays|daily_counts|daily_attempts|review_records|proposals|screen_times"
    assert not re.search(rf"SCAN (?:t|r|p|{tables})\b", found), found
    assert not re.search(rf"Seq Scan on (?:{tables})\b", found), found


@pytest.mark.parametrize("name", ["newest_memories", "search_scope", "search_term", "near_words", "best_memories"])
def test_search_reads_indexes_only(location: Location, name: str) -> None:
    """No question reads all postings, all words or all memories."""
    app.open_store(location).close()
    with database(location) as raw:
        found = plan(raw, location, name)
    tables = "search_scopes|search_terms|search_words|search_postings|memories|m|p"
    assert not re.search(rf"SCAN (?:{tables})\b", found), found
    assert not re.search(rf"Seq Scan on (?:{tables})\b", found), found


OF_THE_LOG = ("leaf_of", "leaves_of", "leaves_of_item", "scope_of", "erase_salts", "receipt_by_id", "receipt_by_key")


@pytest.mark.parametrize("name", OF_THE_LOG)
def test_leaves_and_receipts_are_found_by_indexes(lasting_place: Location, name: str) -> None:
    """No leaf and no receipt is found by reading the whole log or all submissions."""
    app.open_store(lasting_place).close()
    with database(lasting_place) as raw:
        found = plan(raw, lasting_place, name)
    tables = "log_leaves|submissions|proposals|quarantine|review_records|l|o|s|p|q|r"
    assert not re.search(rf"SCAN (?:{tables})\b", found), found
    assert not re.search(rf"Seq Scan on (?:{tables})\b", found), found


def test_a_page_of_the_queue_takes_few_statements(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of the queue takes at most sixteen statements, however many proposals wait and need a second person."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    wide = service.submit(event("Wide.", submission_scope="organization", scope_id="labs")).json()["proposal_id"]
    for number in range(60):
        service.submit(event(" ".join(f"{number}{letter}" * 3 for letter in "abcdef")))
    bob.decide(wide, "approve")
    service.wait_until_sorted()
    eve.browser.get("/review")
    asked: list[str] = []
    with service.state.desk._store.read() as tx:
        kind = type(tx.sql)
    for method in ("one", "all"):
        real = getattr(kind, method)

        def counted(self: Any, statement: str, /, _real: Any = real, **values: Any) -> Any:
            if not threading.current_thread().name.startswith("page"):
                # Periodic work reads, too.
                return _real(self, statement, **values)
            # On PostgreSQL `one` calls `all`, so nested calls are counted once.
            before = len(asked)
            found = _real(self, statement, **values)
            asked[before:] = [statement]
            return found

        monkeypatch.setattr(kind, method, counted)
    page = eve.browser.get("/review")
    assert page.text.count('class="whole"') >= 50
    assert len(asked) <= 16, asked


@pytest.mark.parametrize("name", ["derived_from_memory", "retracted_sources"])
def test_derivations_are_found_by_index(service: Service, name: str) -> None:
    """What a memory led to, and what led to a proposal, is looked up step by step, never among all rows."""
    with database(service.location) as raw:
        steps = plan(raw, service.location, name)
    assert not re.search(r"(?i)(scan (p|m|d)\b|seq scan on (proposals|memories|derivations))", steps), steps


OF_THE_UPKEEP = (
    "memories_due",
    "count_due",
    "readers_of_memory",
    "upkeep_of_memory",
    "review_dates_of_proposal",
    "proposals_naming",
    "memories_derived_from_retracted",
    "count_derived_from_retracted",
    "oldest_read",
    "forget_reads",
)


@pytest.mark.parametrize("name", OF_THE_UPKEEP)
def test_upkeep_is_found_by_indexes(lasting_place: Location, name: str) -> None:
    """No list of memories to review, of readers or of naming proposals reads all memories, reads or proposals."""
    app.open_store(lasting_place).close()
    with database(lasting_place) as raw:
        found = plan(raw, lasting_place, name, supersedes="x", after="x")
    steps = re.sub(r"SCAN m USING INDEX memories_retracted|SCAN memory_reads USING COVERING INDEX", "", found)
    assert not re.search(r"SCAN (?:u|m|a|d|p|s|r|memories|memory_reads)\b", steps), found
    assert not re.search(r"Seq Scan on (?:upkeep|memories|proposals|derivations|memory_reads|review_dates)\b", found), (
        found
    )
