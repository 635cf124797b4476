"""What the browser complains about: errors in its console, uncaught exceptions, calls of the network."""

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Route, WebError

HARMLESS: dict[str, str] = {}  # exact text of a message: why nothing is wrong


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
        if message.type == "error" and message.text not in HARMLESS:
            self._complaints.append(f"{message.text} ({message.location.get('url')})")

    def _error(self, error: WebError) -> None:
        self._complaints.append(f"uncaught: {error.error}")

    def _stop(self, route: Route) -> None:
        self._complaints.append(f"asked the network for {route.request.url}")
        route.abort()
