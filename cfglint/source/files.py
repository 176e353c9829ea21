"""TEMPORARY stand-in by the lead so that check runs end to end; the source helper replaces this file."""
from __future__ import annotations
import os


class FileProblem(Exception):
    def __init__(self, message: str, kind: str = "unreadable") -> None:
        super().__init__(message)
        self.kind = kind


def read(path: str) -> tuple[str, bool]:
    try:
        data = open(path, "rb").read()
        bom = data.startswith(b"\xef\xbb\xbf")
        return data.decode("utf-8-sig"), bom
    except OSError as wrong:
        raise FileProblem(f"{path}: {wrong.strerror}") from wrong
    except UnicodeDecodeError as wrong:
        raise FileProblem(f"{path}: {wrong}", "encoding") from wrong


def walk(folder: str):
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(root, name)
