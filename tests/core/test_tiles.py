"""Paths, widths and bundles of the log as tiles, by the examples of c2sp.org/tlog-tiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.log.tiles import (
    ENTRIES,
    MAX_ENTRY,
    TileError,
    TilePlace,
    edge,
    read_bundle,
    read_place,
    read_tile,
    width_at,
    write_bundle,
)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("0/x001/x234/067", TilePlace(0, 1_234_067)),
        ("1/x001/x234/067.p/5", TilePlace(1, 1_234_067, 5)),
        ("63/000", TilePlace(63, 0)),
        ("entries/x001/000", TilePlace(ENTRIES, 1000)),
        ("entries/999.p/255", TilePlace(ENTRIES, 999, 255)),
    ],
)
def test_a_path_names_one_tile(path: str, place: TilePlace) -> None:
    """A path is read as its place, and the place is written as that path."""
    assert read_place(path) == place
    assert place.path == path


@pytest.mark.parametrize(
    "path",
    [
        "", "0", "0/", "0/0", "0/00", "0/0000", "00/000", "64/000", "-1/000", "0/x000/001", "0/001/002", "0/x001",
        "0/x001/x002", "0/000.p/0", "0/000.p/01", "0/000.p/256", "0/000.p/", "0/000/", "entry/000", "entries/000.p/5\n",
        "0/\u0660\u0660\u0660", "0/000.p/\u0663", "../../etc/passwd", "0/x001/x001/x001/x001/x001/x001/x001/x001/001",
    ],
)  # fmt: skip
def test_another_form_of_a_path_names_none(path: str) -> None:
    """Only the one form that the specification gives a tile is read."""
    with pytest.raises(TileError, match="a tile's path is"):
        read_place(path)


def test_the_example_of_the_specification() -> None:
    """A tree of 70,000 leaves has the partial tiles that the specification lists, and one of 256 a full tile."""
    assert edge(70_000) == [TilePlace(0, 273, 112), TilePlace(1, 1, 17), TilePlace(2, 0, 1)]
    assert edge(256) == [TilePlace(1, 0, 1)]
    assert edge(0) == []
    assert [width_at(0, index, 70_000) for index in (0, 272, 273, 274)] == [256, 256, 112, 0]
    assert [width_at(1, index, 70_000) for index in (0, 1, 2)] == [256, 17, 0]
    assert width_at(ENTRIES, 273, 70_000) == 112


@given(st.lists(st.binary(max_size=300), max_size=256))
def test_a_bundle_is_read_as_it_was_written(entries: list[bytes]) -> None:
    """The entries of a bundle are those that were written."""
    assert read_bundle(write_bundle(entries), len(entries)) == entries


def test_a_wrong_bundle_is_refused() -> None:
    """A bundle that is cut off, has another number of entries, or an entry that is too long, is refused."""
    bundle = write_bundle([b"one", b"two"])
    for cut in (bundle[:-1], bundle + b"\x00", b"\x00"):
        with pytest.raises(TileError, match="cut off"):
            read_bundle(cut, 2)
    with pytest.raises(TileError, match="has 2 entries, and 3 are due"):
        read_bundle(bundle, 3)
    with pytest.raises(TileError, match="longer than the 65535 bytes"):
        write_bundle([b"x" * (MAX_ENTRY + 1)])
    assert read_bundle(write_bundle([b"x" * MAX_ENTRY]), 1) == [b"x" * MAX_ENTRY]


def test_a_tile_has_whole_hashes() -> None:
    """A tile of another size than its width is refused."""
    assert read_tile(b"a" * 32 + b"b" * 32, 2) == [b"a" * 32, b"b" * 32]
    with pytest.raises(TileError, match="has 63 bytes, and 64 are due"):
        read_tile(b"a" * 63, 2)
