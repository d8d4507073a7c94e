import sys

if sys.version_info < (3, 9):
    sys.exit(print("old:", sys.version.split()[0]))
from importlib.util import find_spec


def has(name):
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


missing = [package for package, name in (("grpcio", "grpc"), ("protobuf", "google.protobuf")) if not has(name)]
print("missing: " + " ".join(missing) if missing else "ok: " + sys.executable)
