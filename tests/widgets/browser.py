"""A private JupyterLab and a Chromium without a network, for tests that click.

Everything lives in one temporary folder: settings, runtime files, notebooks, the browser's profile. Only what was
started here is ended. Needs: jupyterlab and selenium of the extras `lab` and `dev`, Debian's chromium and
chromium-driver.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
DRIVER = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver") or ""

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update", "--disable-dev-shm-usage", "--window-size=1280,1500",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)  # fmt: skip
"""The last refuses every name: what a view would load from elsewhere fails, as it does for somebody offline."""

_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


def missing() -> str:
    """What a browser test needs and does not find, as a sentence; empty if nothing is missing."""
    needs = [name for name in ("jupyterlab", "selenium") if find_spec(name) is None]
    needs += [] if CHROMIUM else ["chromium"]
    needs += [] if DRIVER else ["chromedriver"]
    how = "pip install -e '.[lab,dev]'; apt-get install --no-install-recommends chromium chromium-driver"
    return f"no {', '.join(needs)} here: {how}" if needs else ""


@contextlib.contextmanager
def jupyter_lab() -> Iterator[tuple[str, Path]]:
    """The address of a Lab, and the folder it serves."""
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        root, settings = home / "root", home / "config" / "labconfig"
        root.mkdir()
        settings.mkdir(parents=True)
        (settings / "default_setting_overrides.json").write_text(json.dumps(_SETTINGS))
        places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
                  "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
                  "IPYTHONDIR": "ipython"}  # fmt: skip
        environment = os.environ | {name: str(home / place) for name, place in places.items()}
        words = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root",
                 "--IdentityProvider.token=", f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True",
                 "--KernelManager.transport=ipc",
                 "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip
        with (home / "log").open("w") as log:
            server = subprocess.Popen(words, env=environment, cwd=root, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield _address(server, home), root
        finally:
            server.terminate()  # its kernels end with it
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)


def _address(server: subprocess.Popen[bytes], home: Path) -> str:
    until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        for path in (home / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):
                return str(json.loads(path.read_text())["url"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.05)
    raise RuntimeError("JupyterLab did not start:\n" + (home / "log").read_text()[-2000:])


class Page:
    """A browser with a Lab in it: opening notebooks, running them, finding what they show."""

    def __init__(self, driver: Any, url: str, root: Path) -> None:
        self.driver, self.root = driver, root
        driver.get(f"{url}lab?reset")
        self.until("return !!window.jupyterapp")
        self.run_script(
            "await jupyterapp.restored;"
            "if (!jupyterapp.shell.leftCollapsed) await jupyterapp.commands.execute('application:toggle-left-area')"
        )

    def until(self, script: str, *given: Any, seconds: float = 40, what: str = "") -> Any:
        """Wait until a script gives something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, 0.05).until(
            lambda d: d.execute_script(script, *given), what or script
        )

    def run_script(self, script: str, *given: Any) -> Any:
        """An asynchronous script; nothing of Lab's own is handed back."""
        wrapped = (
            f"const given = arguments, done = given[given.length - 1]; (async () => {{ {script} }})()"
            ".then((x) => done([x ?? null, null]), (e) => done([null, String(e)]))"
        )
        value, wrong = self.driver.execute_async_script(wrapped, *given)
        assert wrong is None, wrong
        return value

    def open(self, name: str, cells: list[str]) -> list[str]:
        """Write a notebook, open it, run it; what its cells raised."""
        notebook = {
            "nbformat": 4, "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "cells": [{"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": text, "outputs": [],
                       "execution_count": None} for n, text in enumerate(cells)],
        }  # fmt: skip
        (self.root / name).write_text(json.dumps(notebook))
        self.run_script("await jupyterapp.commands.execute('docmanager:open', {path: given[0]})", name)
        self.until(
            "const w = jupyterapp.shell.currentWidget; return w?.context?.path === arguments[0] && "
            "w.sessionContext?.session?.kernel?.status === 'idle'",
            name,
        )
        self.run_script("await jupyterapp.commands.execute('notebook:run-all-cells')")
        return self.driver.execute_script(
            """const out = [];
               for (const cell of jupyterapp.shell.currentWidget.content.model.cells) if (cell.type === 'code')
                 for (let i = 0; i < cell.outputs.length; i += 1) {
                   const output = cell.outputs.get(i).toJSON();
                   if (output.output_type === 'error') out.push(output.ename + ': ' + output.evalue);
                 }
               return out"""
        )

    def shut(self) -> None:
        """End the notebook's kernel and close it, without asking whether to save."""
        self.run_script("const w = jupyterapp.shell.currentWidget; await w.sessionContext.shutdown(); w.dispose()")

    def kernel(self, code: str) -> str:
        """Run code in the notebook's kernel beside the cells; the text of its last expression."""
        return self.run_script(
            """const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
               const future = kernel.requestExecute({code: given[0], store_history: false, silent: false});
               let text = '';
               future.onIOPub = (message) => {
                 if (message.header.msg_type === 'execute_result') text = message.content.data['text/plain'];
                 if (message.header.msg_type === 'error') text = message.content.evalue;
               };
               await future.done; return text""",
            code,
        )

    def find(self, css: str, text: str = "", seconds: float = 10) -> Any:
        """The first element of the open notebook that fits and is shown, with that text in it."""
        return self.until(
            """const w = jupyterapp.shell.currentWidget.node; return [...w.querySelectorAll(arguments[0])].find((n) =>
               (n.offsetParent || n.getClientRects().length) && n.textContent.includes(arguments[1]))""",
            css, text, seconds=seconds, what=f"{css} with {text!r}",
        )  # fmt: skip

    def click(self, css: str, text: str = "") -> Any:
        """Click the middle of an element with the mouse."""
        from selenium.webdriver.common.action_chains import ActionChains

        found = self.find(css, text)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        ActionChains(self.driver).move_to_element(found).click().perform()
        return found

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def text(self, css: str) -> str:
        """The text of an element that is there now."""
        return str(
            self.driver.execute_script(
                "return jupyterapp.shell.currentWidget.node.querySelector(arguments[0])?.textContent ?? ''", css
            )
        )

    def theme(self, dark: bool) -> None:
        """Lab's light or dark theme."""
        name = "JupyterLab Dark" if dark else "JupyterLab Light"
        self.run_script("await jupyterapp.commands.execute('apputils:change-theme', {theme: given[0]})", name)
        self.until("return document.body.dataset.jpThemeLight === arguments[0]", "false" if dark else "true")

    def shot(self, css: str, path: Path) -> None:
        """A picture of one element."""
        found = self.find(css)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'start'})", found)
        found.screenshot(str(path))

    def complaints(self) -> list[str]:
        """What the browser's console holds against our scripts, and names that somebody tried to reach."""
        return [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]


@contextlib.contextmanager
def page() -> Iterator[Page]:
    """A browser with a Lab in it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    with (
        jupyter_lab() as (url, root),
        tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile,
    ):
        options = Options()
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            driver.set_script_timeout(60)
            yield Page(driver, url, root)
        finally:
            driver.quit()
