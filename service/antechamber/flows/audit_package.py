"""The audit package: the whole log with everything that verifies it, in one archive."""

from collections.abc import Iterator

from antechamber.core.log.package_text import FOLDER, package_readme
from antechamber.core.zip_stream import zip_chunks
from antechamber.flows.export import Export, Exporter
from antechamber.flows.log_proofs import LogProofs


def export_package(export: Export, proofs: LogProofs, verifier: bytes, taker: Exporter) -> Iterator[bytes]:
    """Return the chunks of the archive, recorded as an export of the log; `verifier` is the program that verifies it.

    Two packages of the same log are the same bytes. Raises RequestRefusedError (`scope-not-granted`), LogError,
    BusyError or UnavailableError before the first chunk.
    """
    signed, leaves = export.signed_log(taker)
    keys = "".join(f"{key}\n" for key in proofs.verifier_keys())
    origin = signed.note.partition("\n")[0]
    files = (
        ("README.txt", [package_readme(origin, signed.size)]),
        ("checkpoint.txt", [signed.note.encode()]),
        ("key.txt", [keys.encode()]),
        ("verify_export.py", [verifier]),
        ("log.jsonl", leaves),
    )
    return zip_chunks((f"{FOLDER}/{name}", chunks) for name, chunks in files)
