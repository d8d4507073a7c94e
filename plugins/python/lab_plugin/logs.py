"""Log records as the host reads them: one JSON object a line on standard error."""

from __future__ import annotations

import json
import logging
import sys
import traceback

_LEVELS = ((logging.ERROR, "ERROR"), (logging.WARNING, "WARN"), (logging.INFO, "INFO"), (logging.NOTSET, "DEBUG"))
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Lines(logging.Formatter):
    """Writes level, message, the fields given as extra, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.name != "root":
            fields["logger"] = record.name
        if record.exc_info and record.exc_info[0] is not None:
            fields["trace"] = self.formatException(record.exc_info)
        fields["level"] = next(name for level, name in _LEVELS if record.levelno >= level)
        fields["msg"] = record.getMessage()
        return json.dumps(fields, default=str, ensure_ascii=False)


_MOST_PLACES = 1000


class Once(logging.Filter):
    """Lets a traceback that this package reports pass once for each place and
    kind of exception: the fault names both every time, and a sampler that fails
    fails for every row."""

    def __init__(self):
        super().__init__()
        self._told = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != "lab_plugin" or not record.exc_info or record.exc_info[0] is None:
            return True
        frames = traceback.extract_tb(record.exc_info[2])
        key = (record.exc_info[0], frames[-1].filename, frames[-1].lineno) if frames else (record.exc_info[0],)
        if key in self._told:
            return False
        if len(self._told) < _MOST_PLACES:
            self._told.add(key)
        return True


def install() -> None:
    """Sends the records of every logger to the host, from level INFO on. Loggers
    that a plugin has set up itself stay as they are."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    handler.addFilter(Once())
    root = logging.getLogger()
    root.addHandler(handler)
    if root.level in (logging.NOTSET, logging.WARNING):
        root.setLevel(logging.INFO)
