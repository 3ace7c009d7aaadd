"""A certificate of a TLS server on this machine, signed by its own key."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Certificate(NamedTuple):
    """The files of a certificate and of its key, as PEM."""

    public: Path
    private: Path

    def own(self) -> ssl.SSLContext:
        """Return the context of the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.public, self.private)
        return context

    def trusting(self) -> ssl.SSLContext:
        """Return the context of a client that trusts it."""
        return ssl.create_default_context(cafile=str(self.public))


def make_certificate(folder: Path, name: str, *others: str) -> Certificate:
    """Write `certificate.pem` and `key.pem` for names and 127.0.0.1; they are valid from yesterday to tomorrow."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = [*map(x509.DNSName, (name, *others)), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = Certificate(folder / "certificate.pem", folder / "key.pem")
    written.public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    written.private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return written
