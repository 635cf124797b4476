"""Accessibility by axe-core: what keeps somebody from reading or operating a part of a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

GRAVE = ("serious", "critical")


def grave_findings(page: Page, part: str = "html") -> list[str]:
    """axe's serious and critical findings in the elements that the selector `part` names."""
    answer = Axe().run(page, context=part).response
    assert answer["passes"], f"axe found nothing to look at in {part}"
    return [
        f"{finding['id']} ({finding['impact']}): {finding['help']}: {node['html'][:200]} {node['failureSummary']}"
        for finding in answer["violations"]
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
