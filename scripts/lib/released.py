"""The data of released versions in tests/schemas, as each version left it."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "tests" / "schemas"


class Released:
    """The files of one released version on one engine."""

    def __init__(self, version: str, engine: str) -> None:
        self._folder = FOLDER / version / engine

    def database(self) -> bytes:
        """Return the SQLite file, or the SQL that makes the PostgreSQL schema with its rows."""
        return gzip.decompress((self._folder / "database.gz").read_bytes())

    def unpack_keys(self, data: Path) -> None:
        """Write the keys and the last checkpoint into a new data folder."""
        data.mkdir(mode=0o700)
        for name, text in json.loads((self._folder / "keys.json").read_text()).items():
            file = data / name
            file.touch(mode=0o600)
            file.write_bytes(base64.b64decode(text))

    def expected(self) -> dict[str, Any]:
        """Return what the version answered: bodies with answers, memories, checkpoint, key, and its schema steps."""
        found: dict[str, Any] = json.loads((self._folder / "expected.json").read_text())
        return found
