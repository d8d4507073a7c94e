"""Encryption of the connection, when the host asks for it.

The host hands over its certificate and takes ours from the handshake line; each
side accepts the other's alone.
"""

from __future__ import annotations

import base64
import datetime
from typing import Tuple

import grpc

from .faults import Fault


def credentials(certificate: str) -> Tuple[grpc.ServerCredentials, str]:
    """Returns credentials that require the host's certificate (PEM), and our own
    for the handshake line: unpadded base64 of its DER form. A plugin fault says
    that the package "cryptography" is missing, which makes certificates, or that
    the host's is one that gRPC's TLS library refuses."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError:
        raise Fault("plugin", "the host asks for TLS, and the Python package cryptography, which makes the certificate, is not installed",
                    op="start", cure="pip install cryptography, or run lab without TLS for plugins") from None
    theirs = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    if isinstance(theirs, ec.EllipticCurvePublicKey) and theirs.curve.name == "secp521r1":
        raise Fault("plugin", "the host's TLS certificate is on curve P-521, which gRPC for Python does not accept",
                    op="start", cure="use a newer lab, or run it without TLS for plugins")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = x509.KeyUsage(digital_signature=True, key_agreement=True, key_cert_sign=True, key_encipherment=False,
                          content_commitment=False, data_encipherment=False, crl_sign=False, encipher_only=False, decipher_only=False)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    der = made.public_bytes(serialization.Encoding.DER)
    made_credentials = grpc.ssl_server_credentials([(secret, pem)], root_certificates=certificate.encode(), require_client_auth=True)
    return made_credentials, base64.b64encode(der).decode().rstrip("=")
