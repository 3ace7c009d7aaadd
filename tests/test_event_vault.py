"""The vault of sealed events: what it encrypts can be decrypted only with its key, and only for its event."""

from pathlib import Path

import msgspec
import pytest

from antechamber.core.ports.vault import VaultError
from antechamber.event_vault import EventVault
from antechamber.secret_key import QUARANTINE_KEY, load_quarantine_key
from antechamber.settings import SettingsError

TEXT = b'{"content":"canary-in-a-vault"}'


def test_a_text_is_decrypted_for_its_event() -> None:
    """Neither ciphertext nor wrapped key shows the text or its length; each sealing has a key of its own."""
    vault = EventVault(bytes(32))
    first, second = (vault.seal(TEXT, "q-1") for _ in range(2))
    assert vault.open(first, "q-1").rstrip() == TEXT
    assert first.ciphertext != second.ciphertext
    assert first.wrapped_key != second.wrapped_key
    assert b"canary" not in first.ciphertext
    assert len(vault.seal(b"x", "q-1").ciphertext) == len(first.ciphertext)


def test_a_text_is_bound_to_its_event_and_to_the_key() -> None:
    """Another id, another key and any changed byte are noticed, and the error says what to do."""
    vault = EventVault(bytes(32))
    sealed = vault.seal(TEXT, "q-1")
    with pytest.raises(VaultError, match="sealed with another"):
        EventVault(b"k" * 32).open(sealed, "q-1")
    changed = msgspec.structs.replace(sealed, ciphertext=sealed.ciphertext[:-1] + bytes([sealed.ciphertext[-1] ^ 1]))
    swapped = msgspec.structs.replace(sealed, wrapped_key=vault.seal(TEXT, "q-1").wrapped_key)
    for other, quarantine_id in ((sealed, "q-2"), (changed, "q-1"), (swapped, "q-1")):
        with pytest.raises(VaultError, match="was changed in the database"):
            vault.open(other, quarantine_id)


def test_the_key_is_a_file_of_its_owner(tmp_path: Path) -> None:
    """It is made once with mode 0600; a damaged one is refused."""
    key = load_quarantine_key(tmp_path / "data")
    file = tmp_path / "data" / QUARANTINE_KEY
    assert (load_quarantine_key(tmp_path / "data"), file.stat().st_mode & 0o777) == (key, 0o600)
    file.write_bytes(key[:-1])
    with pytest.raises(SettingsError, match="damaged"):
        load_quarantine_key(tmp_path / "data")
