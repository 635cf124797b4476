"""A Jupyter server of the tests' own: loopback only, nobody's settings, a port that the system chooses."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

PATIENCE = 120  # seconds until a server on a slow, busy machine has surely started

SETTINGS = """
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = 0
c.ServerApp.open_browser = False
c.ServerApp.allow_root = True
c.ServerApp.root_dir = {folder!r}
c.LabApp.expose_app_in_browser = True
c.JupyterNotebookApp.expose_app_in_browser = True
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
"""
# What would ask the network, or the reader of the first page, a question.
SILENT = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


@dataclass(frozen=True)
class Served:
    """A running server: its address, its token, and the folder that it shows."""

    address: str
    token: str
    folder: Path

    def page(self, path: str) -> str:
        """The address of a page, with the token that lets one in."""
        return f"{self.address}{path}?token={self.token}"

    def save(self, path: str, notebook: dict) -> None:
        """Writes a notebook by the contents API, as JupyterLab does."""
        content = {"type": "notebook", "format": "json", "content": notebook}
        self.ask(f"api/contents/{path}", "PUT", content)

    def ask(self, path: str, method: str = "GET", content: dict | None = None) -> bytes:
        """What the server answers to one request; raises URLError where it answers with an error."""
        data = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        with urlopen(Request(self.address + path, data, headers, method=method), timeout=PATIENCE) as answer:
            return answer.read()


@contextmanager
def served(folder: Path, home: Path, **variables: str) -> Iterator[Served]:
    """Runs a server that shows `folder` and keeps its settings, logs and caches below `home`.

    nbgrader's own pages read the nbgrader_config.py of `folder`.
    """
    token = secrets.token_hex(16)
    places = {name: home / name.lower() for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    runtime = home / "runtime"
    config = places["JUPYTER_CONFIG_DIR"]
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "page_config.json").write_text(json.dumps(SILENT), encoding="utf-8")
    (config / "jupyter_server_config.py").write_text(SETTINGS.format(folder=str(folder)), encoding="utf-8")
    own = {
        "HOME": str(home),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTER_TOKEN": token,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{name: str(place) for name, place in places.items()},
        **variables,
    }
    with (home / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab"],
            cwd=folder,
            env=os.environ | own,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = _address(process, runtime, home / "server.log")
            yield Served(address, token, folder)
        finally:
            process.terminate()  # it ends its kernels itself
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen, runtime: Path, log: Path) -> str:
    """Where the server listens, once it answers."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            try:
                address = json.loads(file.read_text(encoding="utf-8"))["url"]
                with urlopen(f"{address}api", timeout=5):
                    return address
            except (URLError, ValueError, OSError):
                pass  # the file is half written, or the server listens in a moment
        time.sleep(0.1)
    raise RuntimeError(f"no Jupyter server: {log.read_text(encoding='utf-8')[-3000:]}")
