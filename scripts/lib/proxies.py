"""The real nginx and Caddy with the sites of scripts/deploy, in which only places and ports are replaced."""

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
    found = program(name)
    if found is None:
        message = f"there is no {name} here; scripts/test fetches it where it can"
        raise RuntimeError(message)
    port = free_port()
    site = (_DEPLOY / SITES[name]).read_text(encoding="utf-8")
    site = site.replace("127.0.0.1:8080", service.removeprefix("http://")).replace("/etc/ssl/antechamber", str(folder))
    site = re.sub(r"/var/log/\w+/antechamber.log", str(folder / "access.log"), site)
    text, arguments = (_as_nginx if name == "nginx" else _as_caddy)(site, folder, port)
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


class NamedClient(httpx.Client):
    """A client that checks the proxy's certificate for the name of the site, which no name service knows."""

    def __init__(self, url: str, certificate: Path, timeout: float, **headers: str) -> None:
        """Trust one certificate; `timeout` is in seconds."""
        trust = ssl.create_default_context(cafile=str(certificate))
        super().__init__(base_url=url, verify=trust, headers={"host": NAME, **headers}, timeout=timeout)

    def build_request(self, *arguments: Any, **options: Any) -> httpx.Request:
        """Build a request with the name of the site for TLS."""
        options["extensions"] = (options.get("extensions") or {}) | {"sni_hostname": NAME}
        return super().build_request(*arguments, **options)
