"""Three nodes of PostgreSQL under Patroni and etcd, behind HAProxy."""

import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from lib.processes import end, until_listening
from proofs.failover_nodes import NODES, Node, run
from proofs.failover_packages import Programs

PORT: Final = 5000
URL: Final = f"postgresql://postgres@127.0.0.1:{PORT}/postgres"
WHOLE_WITHIN: Final = 150.0
"""Seconds in which the cluster must be complete again after a fault ended; a busy machine rewinds slowly."""
_HAPROXY: Final = """
global
    maxconn 500
defaults
    mode tcp
    retries 2
    timeout connect 2s
    timeout check 2s
    timeout client 1h
    timeout server 1h
listen primary
    bind 127.0.0.1:{port}
    # Patroni answers 200 only on the node that holds the lock; the connections of any other node are closed.
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fastinter 500ms downinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class Member(NamedTuple):
    """What Patroni says about a node."""

    name: str
    role: str
    state: str
    timeline: int
    lag: int


class Cluster:
    """The nodes and HAProxy; everything runs in namespaces that end with this program."""

    def __init__(self, folder: Path, programs: Programs, *, synchronous: bool) -> None:
        """Start the cluster and wait until it is complete."""
        self.synchronous = synchronous
        self._folder, self._programs = folder, programs
        self._names = itertools.count(1)
        run("ip", "link", "set", "lo", "up")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        self.nodes = [Node(number, folder, programs, synchronous=synchronous) for number in NODES]
        self.haproxy: subprocess.Popen[bytes] | None = None
        self.url = URL
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        for node in self.nodes:
            node.connect()
            node.start_etcd()
        for node in self.nodes:
            node.start_patroni()
        self.start_haproxy()
        self.until_whole()

    def start_haproxy(self) -> None:
        """Start HAProxy."""
        servers = "\n".join(
            f"    server {node.name} {node.address}:5432 check port 8008 maxconn 200" for node in self.nodes
        )
        file = self._folder / "haproxy.cfg"
        file.write_text(_HAPROXY.format(port=PORT, servers=servers))
        with (self._folder / "haproxy.log").open("ab") as log:
            self.haproxy = subprocess.Popen(  # noqa: S603 -- our own program
                [self._programs.haproxy, "-db", "-f", str(file)],
                env=self._programs.environment,
                stdout=log,
                stderr=log,
            )
        until_listening(PORT, self.haproxy)

    def kill_haproxy(self) -> None:
        """Kill HAProxy (kill -9) and with it all connections."""
        if self.haproxy is not None:
            self.haproxy.kill()
            end(self.haproxy)

    def members(self, seen_by: Node | None = None) -> list[Member]:
        """Return the members as one node sees them, or any node that answers."""
        for node in [seen_by] if seen_by else self.nodes:
            answer = node.ask("/cluster")
            if isinstance(answer, dict) and "members" in answer:
                return [_member(each) for each in answer["members"]]
        return []

    def leader(self, *, but: Node | None = None) -> Node | None:
        """Return the node that holds the lock, as another node than `but` sees it."""
        for asked in self.nodes:
            if asked is but:
                continue
            for member in self.members(asked):
                if member.role == "leader" and member.state == "running":
                    return next(node for node in self.nodes if node.name == member.name)
        return None

    def etcd_leader(self) -> Node | None:
        """Return the node with the leader of etcd."""
        for node in self.nodes:
            answer = node.ask("/v3/maintenance/status", 2379, {})
            if isinstance(answer, dict) and answer.get("leader") == answer.get("header", {}).get("member_id", ""):
                return node
        return None

    def is_whole(self) -> bool:
        """Return whether there is one leader, and every other node streams from it, one of them synchronously."""
        members = self.members()
        roles = sorted(member.role for member in members)
        wanted = ["leader", "replica", "sync_standby"] if self.synchronous else ["leader", "replica", "replica"]
        if roles != wanted or {member.state for member in members} - {"running", "streaming"}:
            return False
        same = len({member.timeline for member in members}) == 1
        return same and self._streaming() == len(NODES) - 1

    def _streaming(self) -> int:
        try:
            return int(self.run("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")[0][0])
        except psycopg.Error:
            return 0

    def until_whole(self, seconds: float = WHOLE_WITHIN) -> None:
        """Wait until all nodes take part.

        Raises RuntimeError if that takes too long.
        """
        deadline = time.monotonic() + seconds
        while not self.is_whole():
            if time.monotonic() > deadline:
                print(self.tail(), file=sys.stderr, flush=True)
                message = f"the cluster is not complete after {seconds:.0f} s: {self.members()}"
                raise RuntimeError(message)
            time.sleep(0.3)

    def tail(self) -> str:
        """Return the last lines of each node's log."""
        return "\n".join(
            f"--- {node.name}\n{node.log.read_text(errors='replace')[-1500:]}"
            for node in self.nodes
            if node.log.exists()
        )

    def timeline(self) -> int:
        """Return the number of the cluster's timeline, which each promotion raises by one."""
        return max((member.timeline for member in self.members()), default=0)

    def run(self, command: str) -> list[Any]:
        """Run a command on the primary, as its superuser, and return the rows."""
        with psycopg.connect(self.url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(command)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> str:
        """Make an empty database and return its address."""
        name = f"proof_{next(self._names)}"
        self.run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return f"postgresql://postgres@127.0.0.1:{PORT}/{name}"

    def close(self) -> None:
        """Stop everything."""
        self.kill_haproxy()
        for node in self.nodes:
            node.close()


def _member(each: dict[str, Any]) -> Member:
    lag = each.get("lag", 0)
    return Member(
        each["name"], each["role"], each["state"], each.get("timeline", 0), lag if isinstance(lag, int) else 1 << 40
    )
