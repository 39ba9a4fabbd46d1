"""Certificates that sign themselves, for servers in tests."""

import subprocess
from pathlib import Path


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate for ``name`` (``DNS:localhost``, ``IP:127.0.0.1``) in ``folder``; return its file and its key's."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    what = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split()
    subject = ["-subj", f"/CN={name.partition(':')[2]}", "-addext", f"subjectAltName={name}"]
    command = ["openssl", *what, *subject, "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
