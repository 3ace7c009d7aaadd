"""The real nginx, Caddy and HAProxy with the files of scripts/deploy, in which only places and ports are replaced."""

import contextlib
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from lib.processes import end, free_port, until_listening

NAME: Final = "antechamber.example"
"""The name of the site in these files."""
ORIGIN: Final = f"https://{NAME}"
SITES: Final = {"nginx": "nginx.conf", "caddy": "Caddyfile"}
CELLS: Final = {"nginx": "nginx-cells.conf", "haproxy": "haproxy-cells.cfg"}
"""The files for several cells, in which `apollo` is at port 8081 and `gemini` at 8082."""
_DEPLOY: Final = Path(__file__).parents[1] / "deploy"


def program(name: str) -> str | None:
    """Return the path of a proxy, or None without it; Debian has it in a folder that is not on every PATH."""
    beside = Path(sys.executable).parent / name
    return shutil.which(name) or shutil.which(name, path="/usr/sbin") or (str(beside) if beside.exists() else None)


@contextlib.contextmanager
def proxying(name: str, folder: Path, service: str) -> Iterator[str]:
    """Run a proxy in front of a service and yield its address.

    The folder holds `certificate.pem` and `key.pem`, and gets `access.log` and `proxy.log`. Raises RuntimeError without
    the program, or if it does not listen.
    """
    with _running(name, SITES[name], folder, {"127.0.0.1:8080": service.removeprefix("http://")}) as address:
        yield address


@contextlib.contextmanager
def proxying_cells(name: str, folder: Path, apollo: str, gemini: str) -> Iterator[str]:
    """Run a proxy in front of two cells and yield its address; HAProxy reads its lists in `names.map` and `tokens.map`.

    Folder and errors are those of `proxying`.
    """
    places = {"127.0.0.1:8081": apollo, "127.0.0.1:8082": gemini, "/etc/haproxy": str(folder)}
    both = [(folder / file).read_bytes() for file in ("certificate.pem", "key.pem")]
    (folder / "site.pem").write_bytes(b"".join(both))
    places = {old: new.removeprefix("http://") for old, new in places.items()}
    with _running(name, CELLS[name], folder, places) as address:
        yield address


@contextlib.contextmanager
def _running(name: str, file: str, folder: Path, places: dict[str, str]) -> Iterator[str]:
    """Run a proxy with a file of scripts/deploy, in which places are replaced."""
    found = program(name)
    if found is None:
        message = f"there is no {name} here; scripts/lib/fetch_programs fetches it where it can"
        raise RuntimeError(message)
    port = free_port()
    site = (_DEPLOY / file).read_text(encoding="utf-8")
    for old, new in {**places, "/etc/ssl/antechamber": str(folder)}.items():
        site = site.replace(old, new)
    site = re.sub(r"/var/log/\w+/antechamber.log", str(folder / "access.log"), site)
    text, arguments = _FORMS[name](site, folder, port)
    (folder / "proxy.conf").write_text(text, encoding="utf-8")
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen([found, *arguments], stdout=log, stderr=log)  # noqa: S603 -- the program under test
    try:
        until_listening(port, process)
        yield f"https://127.0.0.1:{port}"
    finally:
        end(process)


def _as_nginx(site: str, folder: Path, port: int) -> tuple[str, list[str]]:
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    text = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ {places}\n{site} }}"
    return text, ["-p", str(folder), "-c", str(folder / "proxy.conf")]


def _as_caddy(site: str, folder: Path, port: int) -> tuple[str, list[str]]:
    own = "admin off\n\tgrace_period 2s\n\tauto_https disable_redirects"
    own = f"{own}\n\thttps_port {port}\n\tstorage file_system {folder}"
    text = f"{{\n\t{own}\n}}\n" + site.replace(f"\n{NAME} {{", f"\n{NAME} {{\n\tbind 127.0.0.1")
    return text, ["run", "--adapter", "caddyfile", "--config", str(folder / "proxy.conf")]


def _as_haproxy(site: str, folder: Path, port: int) -> tuple[str, list[str]]:
    return site.replace("bind :443", f"bind 127.0.0.1:{port}"), ["-db", "-f", str(folder / "proxy.conf")]


_FORMS: Final = {"nginx": _as_nginx, "caddy": _as_caddy, "haproxy": _as_haproxy}


class NamedClient(httpx.Client):
    """A client that checks the proxy's certificate for the name of the site, which no name service knows."""

    def __init__(self, url: str, certificate: Path, timeout: float, *, name: str = NAME, **headers: str) -> None:
        """Trust one certificate; `timeout` is in seconds."""
        trust = ssl.create_default_context(cafile=str(certificate))
        self._name = name
        super().__init__(base_url=url, verify=trust, headers={"host": name, **headers}, timeout=timeout)

    def build_request(self, *arguments: Any, **options: Any) -> httpx.Request:
        """Build a request with the name of the site for TLS."""
        options["extensions"] = (options.get("extensions") or {}) | {"sni_hostname": self._name}
        return super().build_request(*arguments, **options)
