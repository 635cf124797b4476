"""An exploration on a page: its sliders, its picture, and the line that a screen reader speaks."""

import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Locator, expect

from .workbench import Lab

MARK = re.compile(r"""class=["']?[^"'>]*\bexploration\b""")
STEPS = 10  # keys pressed before a slider counts as one that does nothing

SEEN = """node => ({
    picture: Array.from(node.querySelectorAll('svg, img, canvas'), part =>
        part instanceof HTMLCanvasElement ? part.toDataURL() : part.outerHTML).join(),
    spoken: Array.from(node.querySelectorAll('[aria-live]'), part => part.textContent.trim()).join(' '),
})"""

# Two pictures later, all that one key changes has been drawn.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def explorations(lab: Lab) -> Iterator[Locator]:
    """The explorations among the outputs of the open notebook, each when it has been scrolled to.

    Raises AssertionError where there is none.
    """
    holders = [cell["id"] for cell in lab.cells() if _explores(cell)]
    assert holders, "no exploration in this notebook"
    for name in holders:
        yield lab.cell(name).locator(".exploration").first


def _explores(cell: dict[str, Any]) -> bool:
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", [])]
    return any(MARK.search(page) for page in pages)


def deaf_sliders(exploration: Locator) -> list[str]:
    """Moves each slider by its keys; names those that change not both the picture and the spoken line.

    JupyterLab takes the arrow keys for itself unless the control that has the focus, the slider and not
    an element around it, carries the attribute data-lm-suppress-shortcuts.
    """
    sliders = exploration.locator("input[type=range]")
    expect(sliders.first).to_be_visible()
    return [
        _name(slider) for slider in sliders.all() if slider.is_visible() and not _answers(slider, exploration)
    ]


def deaf_controls(exploration: Locator) -> list[str]:
    """The names of all controls that the keyboard does not move."""
    return [*deaf_sliders(exploration), *deaf_choices(exploration), *deaf_buttons(exploration)]


def deaf_choices(exploration: Locator) -> list[str]:
    """Chooses another entry of each list by an arrow key; names the lists that stay as they are."""
    deaf = []
    for choice in exploration.locator("select:visible:enabled").all():
        before = choice.input_value()
        last = choice.evaluate("choice => choice.selectedIndex === choice.options.length - 1")
        choice.press("ArrowUp" if last else "ArrowDown")
        if choice.input_value() == before:
            deaf.append(_name(choice))
    return deaf


def deaf_buttons(exploration: Locator) -> list[str]:
    """Presses each button by the Enter key; names those that do not notice."""
    exploration.evaluate(
        "node => node.addEventListener('click', event => event.target.dataset.pressed = 'yes')"
    )
    deaf = []
    for button in exploration.locator("button:visible:enabled").all():
        button.press("Enter")
        if button.get_attribute("data-pressed") is None:
            deaf.append(button.inner_text())
    return deaf


def _answers(slider: Locator, exploration: Locator) -> bool:
    before = exploration.evaluate(SEEN)
    assert before["spoken"], "an exploration without a line to speak"
    at_the_end = slider.evaluate("slider => Number(slider.value) >= Number(slider.max)")
    slider.focus()
    for _ in range(STEPS):
        slider.press("ArrowLeft" if at_the_end else "ArrowRight")
        exploration.evaluate(DRAWN)
        now = exploration.evaluate(SEEN)
        if now["picture"] != before["picture"] and now["spoken"] != before["spoken"]:
            return True
    return False


def _name(control: Locator) -> str:
    return control.evaluate("node => node.labels[0]?.textContent || node.ariaLabel || node.outerHTML")
