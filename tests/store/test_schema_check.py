"""The doctor's comparison of triggers, views and indexes with those that the migrations make."""

import pytest

from antechamber.app import examine
from antechamber.core.ports.store import Store
from antechamber.settings import Location
from support import database

FUNCTION = "CREATE FUNCTION antechamber.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
GONE = "DROP TRIGGER memories_stay"
PLANTED = {
    "sqlite": [
        (
            "CREATE TRIGGER planted AFTER INSERT ON memories BEGIN DELETE FROM folds; END",
            "trigger planted does not belong",
        ),
        ("CREATE TRIGGER planted AFTER INSERT ON _sqlite_migrations BEGIN SELECT 1; END", "trigger planted does not"),
        ("CREATE VIEW planted AS SELECT * FROM memories", "view planted does not belong"),
        ("CREATE INDEX planted ON memories (text_hash)", "index planted does not belong"),
        ("DROP INDEX folds_in_line", "index folds_in_line is missing"),
        (GONE, "trigger memories_stay is missing"),
        (
            f"{GONE}; CREATE TRIGGER memories_stay BEFORE DELETE ON memories WHEN 0 BEGIN SELECT 1; END",
            "trigger memories_stay differs",
        ),
    ],
    "postgres": [
        (
            f"{FUNCTION} CREATE TRIGGER planted BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION planted()",
            "trigger planted on memories does not belong",
        ),
        ("CREATE RULE planted AS ON INSERT TO memories DO INSTEAD NOTHING", "rule planted on memories does not belong"),
        (f"{GONE} ON memories", "trigger memories_stay on memories is missing"),
        (
            (
                f"{GONE} ON memories; CREATE TRIGGER memories_stay BEFORE DELETE ON memories FOR EACH ROW "
                "WHEN (OLD.id < 0) EXECUTE FUNCTION refuse('memories are not deleted')"
            ),
            "trigger memories_stay on memories differs",
        ),
        (
            (
                f"{GONE} ON memories; CREATE CONSTRAINT TRIGGER memories_stay AFTER DELETE ON memories FOR EACH ROW "
                "EXECUTE FUNCTION refuse('memories are not deleted')"
            ),
            "trigger memories_stay on memories differs",
        ),
        (
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$",
            "trigger memories_stay on memories differs",
        ),
    ],
}
"""Changes of a schema, for each engine, with a part of the finding."""


@pytest.mark.parametrize("number", range(max(map(len, PLANTED.values()))))
def test_the_doctor_names_what_was_planted_in_the_schema(location: Location, store: Store, number: int) -> None:
    """A trigger that acts, or stopped acting, behind the rows is named on each engine, as are views and rules."""
    store.close()
    assert examine(location) == []
    changes = PLANTED["sqlite" if location.database_url is None else "postgres"]
    if number >= len(changes):
        return
    statements, finding = changes[number]
    with database(location) as raw:
        if location.database_url is None:
            raw.executescript(statements)
        else:
            raw.execute(statements)
    assert any(line.startswith(finding) and line.endswith("the schema") for line in examine(location)), examine(
        location
    )
