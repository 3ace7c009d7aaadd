"""What operators do about an alarm, by the source of the alarm."""

from typing import Final, NamedTuple


class Remedy(NamedTuple):
    """The title of an alarm, what to do about it, and a command that helps; the command may be empty."""

    title: str
    text: str
    command: str = ""


REMEDIES: Final[dict[str, Remedy]] = {
    "store": Remedy(
        "The store accepts no writes",
        "Agents get 503 and try again; nothing that was answered is lost. Free space on the disk, or bring the "
        "database back. The service goes on by itself.",
        "df -h DIR",
    ),
    "policy": Remedy(
        "A file of the policy is faulty",
        "A faulty edit leaves the earlier policy in force, an emptied file takes effect. Correct the named file; the "
        "service reads it again within seconds.",
        "antechamber policy check DIR",
    ),
    "processes": Remedy(
        "The processes enforce different policies",
        "Copy one policy folder to all hosts. Each process reads it again within seconds.",
    ),
    "clock": Remedy(
        "The clock of this host is wrong",
        "Times of records come from a clock that runs on evenly from the start. Synchronize the clock of the host, as "
        "with NTP, and restart the service.",
        "timedatectl status",
    ),
    "signer": Remedy(
        "The log is not signed",
        "The log contradicts what was signed last, or it was not compared yet. If the alarm stays, find out whether an "
        "older backup was restored or a row was changed, before anything is accepted again.",
        "antechamber doctor --data DIR",
    ),
    "pin": Remedy(
        "Checkpoints do not reach the place outside",
        "Checkpoints are still signed and kept in the data folder. Check the address of the setting --pin-url and what "
        "answers there; the service tries again by itself.",
    ),
    "replication": Remedy(
        "The database could lose what was answered",
        "The service goes on, but a failover may lose answers. Set synchronous_standby_names (with Patroni: "
        "synchronous_mode and synchronous_mode_strict), synchronous_commit, fsync and full_page_writes on the server "
        "that is the primary now.",
        "patronictl edit-config",
    ),
    "replica": Remedy(
        "The replica is not read",
        "All reads go to the primary, so answers stay right. Start the standby again, or check why it is behind; the "
        "service reads it again by itself once it has caught up.",
        "SELECT * FROM pg_stat_replication",
    ),
    "provider": Remedy(
        "A provider or an issuer cannot be used",
        "Check the address that the alarm names, the client secret, or whether the extra oidc is installed. Passwords, "
        "links and other tokens go on working; the service tries again by itself.",
    ),
    "witness": Remedy(
        "A witness does not cosign the log",
        "Checkpoints are still signed and published, without its cosignature. Check the address and key of the witness "
        "in the policy, and what answers there; the service asks it again.",
    ),
    "secret": Remedy(
        "A secret came in events",
        "The events were refused and the value is not kept, but the producer that the alarm names can read it. Replace "
        "the secret, or revoke the token that the alarm names; then remove it from what the producer reads. The alarm "
        "ends a day after the last event.",
    ),
    "background": Remedy(
        "Background work fails",
        "It is tried again with growing pauses, at most a minute. The log of the service has the traceback. Restart "
        "the service if the alarm stays.",
    ),
}
"""One remedy for each source of alarms."""
