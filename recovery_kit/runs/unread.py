"""A run whose files nobody has asked for yet: what a listing of thousands, near or far, is made of."""

from typing import Any

from recovery_kit.formats.rundir import RunFiles

from .run import Run


class UnreadRun(Run):
    """A run of which no file is asked for before somebody asks for one."""

    def _load(self, *how: Any) -> None:
        if "_asked" in self.__dict__:
            super()._load(*how)
        self._asked = True

    def __getattr__(self, name: str) -> Any:
        if name not in ("files", "journal") or "_source" not in self.__dict__:
            raise AttributeError(name)
        self._load(RunFiles(self._source), None)
        return self.__dict__[name]
