"""One node of a PostgreSQL cluster: PostgreSQL, its Patroni and a member of etcd, in a network namespace of its own.

The namespace of the proof is the router of the nodes. A rule of the router cuts a node off, as a broken switch would.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Final

import httpx
import psutil

from lib.processes import end
from proofs.failover_packages import USER, Programs

NODES: Final = (1, 2, 3)
TTL: Final = 8
"""Seconds after which a primary that no longer renews its lock in etcd is replaced.

Writes shall resume within 15 s: after these 8, within the second until a candidate looks, and after its promotion.
Patroni's usual 30 would take twice as long as permitted.
"""
LOOP_WAIT: Final = 1
"""Seconds between two looks of Patroni; together with two times RETRY they have to fit into TTL."""
RETRY: Final = 3
MAX_LAG: Final = 64 << 20
"""Bytes of Patroni's maximum_lag_on_failover.

Only the synchronous standby may be promoted, and it holds everything acknowledged whatever its lag, so this limit only
must not prevent the promotion. Without synchronous mode it permits the loss that the proof has to see.
"""
_POSTGRES: Final = {
    "max_connections": 120,
    "shared_buffers": "64MB",
    "wal_keep_size": "512MB",
    "wal_log_hints": "on",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_sender_timeout": "5s",
    "wal_receiver_timeout": "5s",
    "wal_retrieve_retry_interval": "500ms",
    # After a rewind one call instead of a sync of each file: writes wait until a standby is back.
    "recovery_init_sync_method": "syncfs",
    # A standby that is cut off asks again soon, and a backend whose client is gone ends.
    "tcp_user_timeout": "5s",
    "client_connection_check_interval": "1s",
}


def address_of(number: int) -> str:
    """Return the address of a node, which only the namespace of the proof reaches."""
    return f"10.77.{number}.2"


def run(*command: str) -> None:
    """Run a command of the network.

    Raises subprocess.CalledProcessError.
    """
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 -- our own command


def patroni_settings(number: int, folder: Path, programs: Programs, *, synchronous: bool) -> dict[str, Any]:
    """Return the configuration of one node's Patroni; JSON is YAML."""
    here = address_of(number)
    everyone = [f"{address_of(each)}:2379" for each in NODES]
    postgresql = {"use_pg_rewind": True, "use_slots": True, "parameters": _POSTGRES}
    mode = {"synchronous_mode": synchronous, "synchronous_mode_strict": synchronous, "synchronous_node_count": 1}
    # A crashed primary is replaced at once, instead of recovering while all wait.
    times = {"ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY, "primary_start_timeout": 0}
    # A primary that all nodes can reach stays while etcd chooses a leader.
    mode["failsafe_mode"] = True
    return {
        "scope": "antechamber",
        "name": f"node{number}",
        "restapi": {"listen": f"{here}:8008", "connect_address": f"{here}:8008"},
        "etcd": {"hosts": everyone},
        "bootstrap": {
            "dcs": times | mode | {"maximum_lag_on_failover": MAX_LAG, "postgresql": postgresql},
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
        },
        "postgresql": {
            "listen": f"{here}:5432",
            "connect_address": f"{here}:5432",
            "data_dir": str(folder / "data"),
            "bin_dir": str(programs.postgres),
            "pgpass": str(folder / "pgpass"),
            "authentication": {
                "superuser": {"username": "postgres", "password": "unused"},
                "replication": {"username": "replicator", "password": "unused"},
                "rewind": {"username": "rewinder", "password": "unused"},
            },
            "pg_hba": ["local all all trust", "host all all all trust", "host replication all all trust"],
            "parameters": {"unix_socket_directories": str(folder)},
            "remove_data_directory_on_rewind_failure": True,
            "remove_data_directory_on_diverged_timelines": True,
        },
    }


class Node:
    """One node; its processes are started and killed separately."""

    def __init__(self, number: int, folder: Path, programs: Programs, *, synchronous: bool) -> None:
        """Make the node's namespace and its link to the router."""
        self.number, self.name, self.address = number, f"node{number}", address_of(number)
        self._programs, self._link = programs, f"link{number}"
        self.folder = folder / self.name
        self.folder.mkdir()
        shutil.chown(self.folder, USER)
        self.log = self.folder / "log"
        settings = patroni_settings(number, self.folder, programs, synchronous=synchronous)
        (self.folder / "patroni.yml").write_text(json.dumps(settings))
        self._holder = subprocess.Popen(["/usr/bin/unshare", "--net", "sleep", "infinity"])
        self.etcd: subprocess.Popen[bytes] | None = None
        self.patroni: subprocess.Popen[bytes] | None = None

    def connect(self) -> None:
        """Connect the namespace to the router."""
        inside, pid = f"inner{self.number}", str(self._holder.pid)
        run("ip", "link", "add", self._link, "type", "veth", "peer", "name", inside)
        run("ip", "link", "set", inside, "netns", pid)
        run("ip", "address", "add", f"10.77.{self.number}.1/24", "dev", self._link)
        run("ip", "link", "set", self._link, "up")
        for command in (
            f"address add {self.address}/24 dev {inside}",
            f"link set {inside} up",
            "link set lo up",
            f"route add default via 10.77.{self.number}.1",
        ):
            run("nsenter", "--target", pid, "--net", "ip", *command.split())

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a program as the user of the servers in the node's namespace."""
        there = ["nsenter", "--target", str(self._holder.pid), "--net", "--setuid", "65534", "--setgid", "65534"]
        with self.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 -- our own program
                [*there, *command], env=self._programs.environment, stdout=log, stderr=log, cwd=self.folder
            )

    def start_etcd(self) -> None:
        """Start the member of etcd, with files in memory: a busy disk would end its leader's term."""
        if self.etcd is None:
            files = self.folder / "etcd"
            files.mkdir()
            run("mount", "-t", "tmpfs", "-o", "size=256m,mode=700,uid=65534,gid=65534", "tmpfs", str(files))
        peers = ",".join(f"node{each}=http://{address_of(each)}:2380" for each in NODES)
        own = {
            "name": self.name,
            "data-dir": str(self.folder / "etcd"),
            "listen-peer-urls": f"http://{self.address}:2380",
            "initial-advertise-peer-urls": f"http://{self.address}:2380",
            "listen-client-urls": f"http://{self.address}:2379",
            "advertise-client-urls": f"http://{self.address}:2379",
            "initial-cluster": peers,
            # With version 3 a run after a partition never became synchronous again: Patroni 3.0.2 copies the keys.
            "enable-v2": "true",
            "log-level": "error",
        }
        self.etcd = self._start(self._programs.etcd, *(f"--{name}={value}" for name, value in own.items()))

    def start_patroni(self) -> None:
        """Start Patroni, which makes, joins or resumes the cluster."""
        self.patroni = self._start(*self._programs.patroni, str(self.folder / "patroni.yml"))

    def kill_etcd(self) -> None:
        """Kill the member of etcd (kill -9)."""
        if self.etcd is not None:
            self.etcd.kill()
            end(self.etcd)

    def kill_patroni(self) -> None:
        """Kill Patroni (kill -9); PostgreSQL runs on."""
        if self.patroni is not None:
            self.patroni.kill()
            end(self.patroni)

    def signal_postgres(self, number: signal.Signals) -> None:
        """Send a signal to PostgreSQL's processes, the parent first so that it starts no others."""
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            parent = psutil.Process(int((self.folder / "data/postmaster.pid").read_text().split()[0]))
            os.kill(parent.pid, number)
            for child in parent.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    def cut(self, *, from_all: bool) -> None:
        """Cut the node off from the other nodes, or also from the hosts of the service."""
        if from_all:
            run("ip", "link", "set", self._link, "down")
            return
        run("ip", "rule", "add", "priority", "100", "iif", self._link, "blackhole")
        for other in NODES:
            if other != self.number:
                run("ip", "rule", "add", "priority", "101", "iif", f"link{other}", "to", self.address, "blackhole")

    def mend(self) -> None:
        """Connect the node again."""
        run("ip", "link", "set", self._link, "up")
        for priority in ("100", "101"):
            while not subprocess.run(["ip", "rule", "del", "priority", priority], capture_output=True).returncode:  # noqa: S603, S607, PLW1510 -- until none is left
                pass

    def ask(self, path: str, port: int = 8008, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON answer of the node's Patroni or etcd; None if there is none."""
        url = f"http://{self.address}:{port}{path}"
        try:
            answer = httpx.get(url, timeout=3) if body is None else httpx.post(url, json=body, timeout=30)
            return answer.json() if answer.content.startswith(b"{") else answer.text
        except (httpx.HTTPError, ValueError):
            return None

    def close(self) -> None:
        """Stop the node's processes; those of PostgreSQL are killed, and the kernel removes the link."""
        self.kill_patroni()
        self.signal_postgres(signal.SIGKILL)
        self.kill_etcd()
        end(self._holder)
