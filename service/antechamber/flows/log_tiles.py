"""The log as tiles, for mirrors: never more of it than the last checkpoint covers."""

from antechamber.core.errors import NotFoundError
from antechamber.core.log.merkle import BLOCK, leaf_hash
from antechamber.core.log.tiles import ENTRIES, TileError, TilePlace, read_place, width_at, write_bundle
from antechamber.core.ports.store import Store
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_witnesses import LogWitnesses


class LogTiles:
    """Reads the signed part of a store's log in the form of c2sp.org/tlog-tiles; signs nothing."""

    def __init__(self, store: Store, policies: PolicyReloader, witnesses: LogWitnesses) -> None:
        self._store = store
        self._policies = policies
        self.witnesses = witnesses

    def are_public(self) -> bool:
        """Return whether the policy in force lets everyone read them."""
        return self._policies.current.policy.log.public

    def checkpoint(self) -> str:
        """Return the last checkpoint with the cosignatures that it has so far.

        Raises NotFoundError if the log was never signed.
        """
        with self._store.read() as tx:
            signed = tx.log.checkpoint()
        if signed is None:
            message = "The log is not signed yet; ask again in a minute."
            raise NotFoundError(message)
        return self.witnesses.add_to(signed.note)

    def read(self, path: str) -> tuple[TilePlace, bytes]:
        """Return a tile or a bundle of entries by its path below `tile/`.

        Raises NotFoundError if the path names none, or one that no checkpoint covers yet.
        """
        try:
            place = read_place(path)
            return place, self._read(place)
        except TileError as error:
            message = f"There is no such tile: {error}."
            raise NotFoundError(message) from None

    def _read(self, place: TilePlace) -> bytes:
        first = place.number * BLOCK
        with self._store.read() as tx:
            signed = tx.log.checkpoint()
            if place.width > width_at(place.level, place.number, signed.size if signed else 0):
                message = "no checkpoint covers it yet"
                raise TileError(message)
            if place.tree_level:
                return b"".join(tx.log.nodes(place.tree_level, first, place.width))
            leaves = [leaf.encode() for leaf in tx.log.leaf_texts(first, place.width)]
        return write_bundle(leaves) if place.level == ENTRIES else b"".join(map(leaf_hash, leaves))
