"""A stock engine in a home of its own on the loopback: found or built, started, asked, stopped."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILT = HERE.parents[1] / ".lev"
"""Where one is built once; not in the repository."""
CRATE, VERSION = "leviath-cli", "0.6.4"

CONFIG = """default_provider = "{first}"
update_check = false
batch_tool_hint = false
shell_hint = false

[title]
enabled = false

[limits]
stream_inference = false

[tool_permissions]
shell = "deny"
"""


def find_lev() -> str | None:
    """`$LEV`, else the one on the path, else the one that was built here."""
    named = os.environ.get("LEV")
    built = BUILT / "bin" / "lev"
    return named or shutil.which("lev") or (str(built) if built.is_file() else None)


def build_lev() -> str:
    """Build one from the package registry into `BUILT`, with the compiler at hand."""
    if shutil.which("cargo") is None:
        raise SystemExit("no lev was found, and no cargo to build one with: set LEV")
    words = ["cargo", "install", CRATE, "--version", VERSION, "--locked", "--ignore-rust-version", "--root", str(BUILT)]
    subprocess.run(words, check=True)
    return str(BUILT / "bin" / "lev")


class EngineHome:
    """One data root and its daemon. Nothing of the caller's environment gets in."""

    def __init__(self, lev: str, home: Path, url: str, providers: Iterable[str]) -> None:
        self.lev, self.home = lev, home
        self.root = home / ".leviath"
        self.runs = self.root / "runs"
        names = sorted(providers)
        (self.root / "providers").mkdir(parents=True)
        self.root.chmod(0o700)
        self.runs.mkdir()
        config = CONFIG.format(first=names[0])
        for name in names:
            script = (HERE / "provider.rhai").read_text().replace("NAME", name)
            (self.root / "providers" / f"{name}.rhai").write_text(script)
            config += f'\n[model_providers.{name}]\nbase_url = "{url}"\n'
        (self.root / "config.toml").write_text(config)
        (self.root / "config.toml").chmod(0o600)
        self._environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LEVIATH_HOME": str(home), "LANG": "C.UTF-8",
            "TZ": "UTC", "LEVIATH_SKIP_DOTENV": "1", "RUST_LOG": "error",
        }  # fmt: skip
        self._daemon: subprocess.Popen[bytes] | None = None

    def start(self, patience: float = 60) -> None:
        """Start the daemon and wait until it answers."""
        with open(self.home / "daemon.log", "wb") as log:
            self._daemon = subprocess.Popen(
                [self.lev, "daemon"], env=self._environment, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.until(lambda: self.ask("ps", "--json").returncode == 0, patience)

    def stop(self) -> None:
        if self._daemon is not None:
            self._daemon.terminate()
            try:
                self._daemon.wait(30)
            except subprocess.TimeoutExpired:
                self._daemon.kill()
                self._daemon.wait()

    def ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """One command of the engine's own command line."""
        return subprocess.run(
            [self.lev, *words], env=self._environment, cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=60,
        )  # fmt: skip

    def listed(self) -> dict[str, str]:
        """Status by run, as the engine lists them."""
        rows = json.loads(self.ask("ps", "--all", "--json").stdout or "{}").values()
        return {row["run_id"]: row["status"].lower() for some in rows if isinstance(some, list) for row in some}

    def points(self, run_id: str) -> list[dict[str, Any]]:
        """The points of a run's journal, as the engine reads them."""
        found: list[dict[str, Any]] = json.loads(self.ask("context", run_id, "--json").stdout or "[]")
        return found

    def meta(self, run_id: str) -> dict[str, Any]:
        """The metadata on disk, once it is whole."""
        found: dict[str, Any] = json.loads((self.runs / run_id / "meta.json").read_bytes())
        return found

    def finish(self, run_id: str, patience: float = 30) -> str:
        """Resume a run and answer what it asks, until it is over; its status then."""
        if self.ask("resume", run_id).returncode:
            return "not resumed"
        self.until(lambda: self._over(run_id), patience)
        return str(self.meta(run_id)["status"])

    def _over(self, run_id: str) -> bool:
        if self.meta(run_id)["status"] in ("complete", "error", "cancelled"):
            return True
        for question in json.loads(self.ask("respond", "--json").stdout or "[]"):
            if question["agent_id"] == run_id:
                ways = (("--choice", "0"), ("--approve",), ("Go on.",))
                any(self.ask("respond", question["id"], *way, "--json").returncode == 0 for way in ways)
        return False

    @staticmethod
    def until(done: Any, patience: float) -> bool:
        """Wait for something; False where it did not come."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if done():
                return True
            time.sleep(0.1)
        return False
