"""The programs of a PostgreSQL cluster, from Debian's packages, which are unpacked and not installed.

An installed package of PostgreSQL or etcd starts a server; an unpacked one starts nothing.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_NEEDED: Final = ("patroni", "etcd-server", "haproxy", "postgresql")
_CACHE: Final = Path("/var/cache/antechamber-proofs")
"""A place that the user of the servers may read, unlike a home folder of root."""
_UTILITIES: Final = ("ip", "unshare", "nsenter", "apt-get", "dpkg-deb")
_FETCH_SECONDS: Final = 240
USER: Final = "nobody"
"""PostgreSQL refuses to run as root."""


class MissingError(Exception):
    """Says why the proof cannot run on this machine."""


class Programs(NamedTuple):
    """Where the programs are, and the environment in which they find their libraries."""

    etcd: str
    haproxy: str
    patroni: list[str]
    postgres: Path
    """The folder of PostgreSQL's programs."""
    environment: dict[str, str]


def fetch() -> Programs:
    """Unpack what this machine lacks of Debian's packages, and return the programs.

    Raises MissingError.
    """
    if os.geteuid() != 0:
        message = "network namespaces need root"
        raise MissingError(message)
    if absent := [name for name in _UTILITIES if shutil.which(name) is None]:
        message = f"the programs {', '.join(absent)} are missing; Debian's packages iproute2 and util-linux have them"
        raise MissingError(message)
    _probe_namespaces()
    return _find() or _unpack() or _missing()


def _missing() -> Programs:
    message = f"apt-get could not provide {', '.join(_NEEDED)}; a Debian with its package lists is needed"
    raise MissingError(message)


def _probe_namespaces() -> None:
    probe = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:  # noqa: S603 -- our own command
        message = "the kernel refuses network namespaces here; a container needs the right SYS_ADMIN for them"
        raise MissingError(message)


def _find() -> Programs | None:
    """Return the programs, if all were unpacked or are installed."""
    roots = (_CACHE, Path("/"))
    libraries = [str(folder) for folder in sorted(_CACHE.glob("usr/lib/*-linux-gnu"))]
    found = [
        next((path for root in roots for path in sorted(root.glob(name))), None)
        for name in ("usr/bin/etcd", "usr/sbin/haproxy", "usr/bin/patroni", "usr/lib/postgresql/*/bin/postgres")
    ]
    etcd, haproxy, patroni, postgres = found
    if not (etcd and haproxy and patroni and postgres):
        return None
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(_CACHE / "usr/lib/python3/dist-packages"),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "LC_ALL": "C.UTF-8",
    }
    # Debian's own interpreter, for which the modules of its package are made.
    return Programs(str(etcd), str(haproxy), ["/usr/bin/python3", str(patroni)], postgres.parent, environment)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_SECONDS, check=True)  # noqa: S603 -- our own command
    return done.stdout


def _unpack() -> Programs | None:
    """Download the packages that are not installed, with all that they depend on, and unpack them."""
    fetched = _CACHE / "fetched"
    fetched.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        _run(["apt-get", "update", "-qq"], fetched)
        planned = _run(["apt-get", "--simulate", "install", "--no-install-recommends", *_NEEDED], fetched)
        missing = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
        _run(["apt-get", "download", "-qq", *missing], fetched)
        for package in sorted(fetched.glob("*.deb")):
            _run(["dpkg-deb", "--extract", str(package), str(_CACHE)], fetched)
    except (subprocess.SubprocessError, OSError):
        return None
    finally:
        shutil.rmtree(fetched)
    return _find()
