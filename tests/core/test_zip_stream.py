"""Archives written piece by piece."""

import io
import zipfile
from collections.abc import Iterator

from blake3 import blake3

from antechamber.core.zip_stream import CHUNK, zip_chunks


def test_an_archive_has_its_files_in_order_and_one_time() -> None:
    """Each file comes out as it went in, in the given order and with a fixed time; equal files give equal bytes."""
    files = [("b/one.txt", [b"one\n", b"two\n"]), ("a.txt", [b""]), ("c", [])]
    first, second = (b"".join(zip_chunks(files)) for _ in range(2))
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert [(one.filename, one.date_time[0]) for one in archive.infolist()] == [
            ("b/one.txt", 1980), ("a.txt", 1980), ("c", 1980),
        ]  # fmt: skip
        assert [archive.read(name) for name, _ in files] == [b"one\ntwo\n", b"", b""]


def test_an_archive_comes_in_pieces() -> None:
    """What is written is handed over before the file ends, so that memory does not grow with it."""
    read = []

    def source() -> Iterator[bytes]:
        for number in range(200):
            read.append(number)
            yield b"".join(blake3(number.to_bytes(2) + place.to_bytes(2)).digest() for place in range(128))

    chunks = zip_chunks([("long", source())])
    assert len(next(chunks)) >= CHUNK
    assert len(read) < 200
    whole = b"".join(chunks)
    assert len(read) == 200
    assert whole
