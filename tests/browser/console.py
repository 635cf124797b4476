"""What the browser complains about: errors in its console, uncaught exceptions, calls of the network."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Route, WebError

MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.7/latest.js?config=TeX-AMS_CHTML-full,Safe"
WITHOUT = "nbconvert's and Formgrader's pages fetch MathJax; without a network formulas stay in TeX"
SANDBOXED = "Blocked script execution in 'BLOB' because the document's frame is sandboxed and the 'allow-scripts' permission is not set. (BLOB)"
BLOB = re.compile(r"blob:http://127\.0\.0\.1:\d+/[0-9a-f-]{36}")  # a new one each time
# The exact text of a complaint, and why nothing is wrong.
HARMLESS = {
    f"asked the network for {MATHJAX}": WITHOUT,
    f"Failed to load resource: net::ERR_FAILED ({MATHJAX})": WITHOUT,
    "uncaught in lab: MathJax is not defined": WITHOUT,
    "uncaught in notebooks: Cannot read properties of undefined (reading 'schema')": (
        "Notebook 7.6 tells its keyboard shortcuts of another part's settings before it has their own; "
        "it reads them all a moment later"
    ),
    SANDBOXED: "JupyterLab shows an HTML file without its scripts until the reader trusts it",
}


class Console:
    """Collects the complaints of all pages."""

    def __init__(self) -> None:
        self._complaints: list[str] = []

    def listen(self, context: BrowserContext) -> None:
        """Hears every page of a context; requests that would leave this machine end here."""
        context.on("console", self._message)
        context.on("weberror", self._error)
        context.route(lambda address: urlsplit(address).hostname not in ("127.0.0.1", None), self._stop)

    def taken(self) -> list[str]:
        """The complaints since the last call."""
        taken, self._complaints = self._complaints, []
        return taken

    def _message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(f"{message.text} ({message.location.get('url')})")

    def _error(self, error: WebError) -> None:
        shown = urlsplit(error.page.url).path.split("/")[1] if error.page else "a closed page"
        self._complain(f"uncaught in {shown}: {error.error}")

    def _stop(self, route: Route) -> None:
        self._complain(f"asked the network for {route.request.url}")
        route.abort()

    def _complain(self, complaint: str) -> None:
        if BLOB.sub("BLOB", complaint) not in HARMLESS:
            self._complaints.append(complaint)
