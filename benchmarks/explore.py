#!/usr/bin/env python3
"""How fast the explorations follow the hand, in a real JupyterLab, beside the usual way in the same run.

    python benchmarks/explore.py [--only NAME] [--json]

From the key press on a slider to the changed picture painted, in milliseconds; distinct pictures painted
a second while the slider is dragged. The usual way is ipywidgets' `interact` with a new Matplotlib figure
each time, of the same curves; `label` is a round trip to the kernel that only changes a text.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, sync_playwright

from autograder.course import ASSIGNMENTS, find_course

sys.path.insert(0, str(Path(__file__).parents[1]))  # the browser tests know how to serve and drive JupyterLab
from tests.browser.conftest import CHROMIUM, QUIET
from tests.browser.served import served
from tests.browser.workbench import PATIENCE, Lab

COURSE = find_course(Path(__file__).parent)
CALLS = {
    "derivatives": "tangent()",
    "chain_rule": "graph()",
    "value_engine": "graph((a * b + c) * a.tanh(), a=a, b=b, c=c)",
    "gradient_check": "step_size()",
    "softmax": "softmax_loss()",
    "matrix_product": "matrix_shapes()",
    "gradient_descent": "training()",
    "learning_rate": "learning_rate()",
}
SETUP = {"value_engine": "from engine import Value\na, b, c = Value(2.0), Value(-3.0), Value(10.0)\n"}
PRESSES, USUAL_PRESSES, DRAG_SECONDS = 60, 12, 3.0

# The same curves from the same numbers, as a new figure each time.
USUAL = """
import re
import ipywidgets
import matplotlib.pyplot as plt
control = exploration.controls[-1]

def draw(position):
    seen = exploration.seen(*(one.start for one in exploration.controls[:-1]), position)
    figure, ax = plt.subplots(figsize=(7, 3.5))
    for slot, value in seen.items():
        if slot.endswith(".d"):
            pairs = re.findall(r"(-?[0-9.]+) (-?[0-9.]+)", value)
            ax.plot([float(x) for x, _ in pairs], [-float(y) for _, y in pairs])
    ax.set_title(seen["say"][:60])
    plt.show()

ipywidgets.interact(draw, position=(0, len(control.values) - 1))
"""
LABEL = """
import ipywidgets
slider, text = ipywidgets.IntSlider(max=100), ipywidgets.Label("0")
slider.observe(lambda change: setattr(text, "value", str(change["new"])), "value")
ipywidgets.VBox([slider, text])
"""

# Times each key press on `slider` until a change below `place` has been painted.
LISTEN = """([place, slider]) => {
    window.times = [];
    let pressed = null;
    slider.addEventListener('keydown', () => { pressed = performance.now(); }, true);
    new MutationObserver(async () => {
        if (pressed === null) return;
        const begun = pressed;
        pressed = null;
        const images = Array.from(place.querySelectorAll('img'));
        const shown = images.filter(image => !image.complete).map(image => image.decode().catch(() => null));
        // an image that is replaced meanwhile may never be decoded
        await Promise.race([Promise.all(shown), new Promise(done => setTimeout(done, 2000))]);
        requestAnimationFrame(() => {
            const channel = new MessageChannel();
            channel.port1.onmessage = () => window.times.push(performance.now() - begun);
            channel.port2.postMessage(0);
        });
    }).observe(place, {subtree: true, childList: true, attributes: true, characterData: true});
}"""
COUNT = """place => {
    window.pictures = 0;
    let last = place.innerHTML;
    const look = () => {
        const now = place.innerHTML;
        if (now !== last) { window.pictures += 1; last = now; }
        if (window.pictures >= 0) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


def notebook(name: str) -> nbformat.NotebookNode:
    """The exploration, the usual way of showing the same, and a label."""
    show = f"import explore\n{SETUP.get(name, '')}exploration = explore.{CALLS[name]}\nexploration"
    cells = [nbformat.v4.new_code_cell(source) for source in (show, USUAL, LABEL)]
    for cell, cell_id in zip(cells, ("ours", "usual", "label"), strict=True):
        cell.id = cell_id
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def pressed(page: Page, place: Locator, slider: Locator, count: int) -> list[float]:
    """Milliseconds from each of so many key presses to the change painted."""
    page.evaluate(LISTEN, [place.element_handle(), slider.element_handle()])
    slider.focus()
    for number in range(count):
        slider.press("ArrowLeft" if number % 2 else "ArrowRight")
        page.wait_for_function("count => window.times.length > count", arg=number, timeout=PATIENCE)
    found: list[float] = page.evaluate("window.times")
    return found


def dragged(page: Page, place: Locator, slider: Locator, grip: Locator | None = None) -> float:
    """Distinct pictures painted a second while the slider is dragged to and fro by its middle or its grip."""
    box, held = slider.bounding_box(), (grip or slider).bounding_box()
    assert box is not None
    assert held is not None
    middle = box["y"] + box["height"] / 2
    page.evaluate(COUNT, place.element_handle())
    page.mouse.move(held["x"] + held["width"] / 2, middle)
    page.mouse.down()
    begun, turn = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < DRAG_SECONDS:
        turn += 1
        share = abs((passed / DRAG_SECONDS * 4) % 2 - 1)  # two times to and fro
        page.mouse.move(box["x"] + box["width"] * (0.02 + 0.96 * share), middle)
    page.mouse.up()
    pictures: float = page.evaluate(
        "() => { const seen = window.pictures; window.pictures = -1; return seen; }"
    )
    return pictures / DRAG_SECONDS


def summary(times: list[float], usual: list[float] | None, pictures: float) -> dict[str, float]:
    found = {
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "drag_pictures_s": round(pictures, 1),
    }
    return (
        found if usual is None else {**found, "usual_p95_ms": round(statistics.quantiles(usual, n=20)[-1], 1)}
    )


def measure(lab: Lab, name: str, with_label: bool) -> dict[str, dict[str, float]]:
    """One exploration, beside the usual way; the label where that is asked for."""
    page = lab.page
    lab.open(f"{name}/bench.ipynb")
    lab.run()
    page.wait_for_timeout(500)
    ours = lab.cell("ours")
    place = ours.locator(".exploration")
    choices = place.locator("select")
    if name == "learning_rate":  # before a prediction nothing moves but the rate
        choices.first.select_option(index=1)
    slider = place.locator("input[type=range]").last
    slider.evaluate("slider => { slider.value = Math.round(slider.max / 2); }")
    times = pressed(page, place, slider, PRESSES)
    pictures = dragged(page, place, slider)
    usual = lab.cell("usual").locator(".jp-OutputArea")
    picture, handle = usual.locator(".jp-OutputArea").first, usual.locator(".noUi-handle").first
    usual_times = pressed(page, picture, handle, USUAL_PRESSES)
    found = {name: summary(times, usual_times, pictures)}
    if with_label:
        label = lab.cell("label").locator(".jp-OutputArea")
        text, handle = label.locator(".widget-label").last, label.locator(".noUi-handle").first
        found["label"] = summary(
            pressed(page, text, handle, PRESSES),
            None,
            dragged(page, text, label.locator(".noUi-target").first, handle),
        )
    lab.close()
    return found


def run(names: list[str]) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder) / "course"
        for one in ASSIGNMENTS:
            if one.notebook in names:
                shutil.copytree(COURSE.release / one.name, root / one.notebook)
                nbformat.write(notebook(one.notebook), root / one.notebook / "bench.ipynb")
                shutil.copyfile(
                    COURSE.root / "autograder/beside/engine.py", root / one.notebook / "engine.py"
                )
        found: dict[str, dict[str, float]] = {}
        with served(root, Path(folder) / "home") as server:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.set_default_timeout(PATIENCE)
            lab = Lab(page, server)
            for number, name in enumerate(names):
                found |= measure(lab, name, with_label=number == 0)
            browser.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=CALLS, metavar="NAME", help=f"one of {', '.join(CALLS)}")
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    options = parser.parse_args()
    found = run([options.only] if options.only else list(CALLS))
    if options.json:
        print(json.dumps(found))
    else:
        for name, numbers in found.items():
            print(f"{name:18}", "  ".join(f"{key} {value:g}" for key, value in numbers.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
