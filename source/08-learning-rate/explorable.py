"""Explorations: pictures that follow a slider without asking Python again.

Python computes what every position of the controls shows, beforehand; a short script in the browser
chooses among it. So a picture follows the hand, and a notebook that is opened again without a kernel
still moves. Where scripts are not run, the picture of the first position stays.
"""

import base64
import html
import itertools
import json
import math
import uuid
from collections import namedtuple
from xml.etree import ElementTree

from figures import BLUE, GREEN, GREY, ORANGE, PINK  # noqa: F401  (for explore.py)

INK = "var(--jp-ui-font-color1, #1a1a1a)"  # follows JupyterLab's theme
FAINT = "var(--jp-border-color1, #b8b8b8)"
PAPER = "var(--jp-layout-color0, #ffffff)"

ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
Control = namedtuple("Control", "name label values texts start kind")


def slider(name, label, values, start=0, text="{:g}"):
    """A slider over `values`, which stands at the number `start` of them first.

    `text` says how a value is written: a format, or a function of the value.
    """
    write = text if callable(text) else text.format
    return Control(name, label, list(values), [write(value) for value in values], start, "range")


def choice(name, label, options, start=0):
    """A list of `options` (texts) to choose one from."""
    return Control(name, label, list(options), list(options), start, "select")


class Exploration:
    """A picture with controls; the last line of a cell shows it.

    `show(**values)` gives what is seen for one position of the controls: a dictionary from
    "element.attribute" of the picture's SVG to its value, with "element.text" for a text, and from
    "say" to the sentence below the picture. `play` names a slider that a button moves by itself.
    """

    def __init__(self, title, controls, picture, show, play=None):
        self.title, self.controls, self.play = title, controls, play
        names = [control.name for control in controls]
        rows = [
            show(**dict(zip(names, values)))
            for values in itertools.product(*(control.values for control in controls))
        ]
        # what is the same for all positions is part of the picture; what some share is sent once
        self.slots = [slot for slot in rows[0] if slot == "say" or len({row[slot] for row in rows}) > 1]
        self.fixed = {slot: str(value) for slot, value in rows[0].items() if slot not in self.slots}
        self.picture = _filled(picture, self.fixed)
        pool = {}
        self.frames = [[pool.setdefault(str(row[slot]), len(pool)) for slot in self.slots] for row in rows]
        self.pool = list(pool)

    def seen(self, *positions):
        """What is shown where the controls stand at these numbers: a dictionary by slot."""
        number = 0
        for control, position in zip(self.controls, positions, strict=True):
            number = number * len(control.values) + position
        return self.fixed | dict(zip(self.slots, (self.pool[index] for index in self.frames[number])))

    def still(self):
        """The picture of the first position, as an SVG of its own, on white: no theme reaches it."""
        seen = self.seen(*(control.start for control in self.controls))
        return _filled(self.picture, seen).replace("<svg ", '<svg style="background: #ffffff" ', 1)

    def _repr_mimebundle_(self, include=None, exclude=None):
        say = self.seen(*(control.start for control in self.controls))["say"]
        return {"text/html": self._page(say), "text/plain": f"[exploration: {self.title}. {say}]"}

    def _page(self, say):
        still = base64.b64encode(self.still().encode()).decode()
        alt = html.escape(f"{self.title}. {say}", quote=True)
        data = {
            "title": self.title,
            "controls": [control._asdict() | {"values": len(control.values)} for control in self.controls],
            "picture": self.picture,
            "slots": [slot.split(".") for slot in self.slots],
            "frames": self.frames,
            "pool": self.pool,
            "play": self.play,
        }
        name = f"exploration-{uuid.uuid4().hex[:12]}"
        code = SCRIPT.replace("NAME", json.dumps(name)).replace("DATA", json.dumps(data))
        code = code.replace("</", "<\\/")  # what the data hold must not end the script
        picture = f'<img src="data:image/svg+xml;base64,{still}" alt="{alt}" style="max-width: 100%">'
        return f'<div class="exploration" id="{name}">{picture}</div>\n<script>{code}</script>'


def _filled(picture, seen):
    """The SVG with texts and attributes put into its elements."""
    root = ElementTree.fromstring(picture)
    elements = {element.get("id"): element for element in root.iter()}
    for slot, value in seen.items():
        name, _, attribute = slot.partition(".")
        if attribute == "text":
            elements[name].text = value
        elif attribute:
            elements[name].set(attribute, value)
    return ElementTree.tostring(root, encoding="unicode")


def svg(width, height, *parts):
    """An SVG picture of that size in its own units, which fits the width that there is."""
    size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    look = {"font_family": "sans-serif", "font_size": 13}
    return tag("svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", **size, **look)


def tag(kind, content="", **attributes):
    """One SVG element; `stroke_width` becomes stroke-width."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<{kind}{written}>{content}</{kind}>"


def label(x, y, content="", **attributes):
    """A text at a place, in the theme's own colour."""
    return tag("text", content, **{"x": x, "y": y, "fill": INK, **attributes})


def curve(points):
    """The `d` of a path through points; it is interrupted where a number is not finite."""
    parts, pen = [], "M"
    for x, y in points:
        if math.isfinite(x) and math.isfinite(y):
            parts.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(parts) or "M0 0"


def node(x, y, name, width=96):
    """A node of a graph around a place: what it is, its value (id NAMEv) and its gradient (id NAMEg)."""
    box = {"x": x - width / 2, "y": y - 27, "width": width, "height": 54, "rx": 8}
    return (
        tag("rect", id=name, fill=PAPER, stroke=BLUE, stroke_width=1.5, **box)
        + label(x, y - 10, id=f"{name}n", text_anchor="middle", font_size=12)
        + label(x, y + 5, id=f"{name}v", text_anchor="middle", font_size=12)
        + label(x, y + 20, id=f"{name}g", text_anchor="middle", font_size=12)
    )


def edge(start, end, name, bends=(), width=96):
    """An arrow between two nodes' places, past others at the places `bends`, and a text on it (id NAME)."""
    (x1, y1), (x2, y2) = (start[0] + width / 2, start[1]), (end[0] - width / 2, end[1])
    past = [(x + side * width / 2, y) for x, y in bends for side in (-1, 1)]
    line = curve([(x1, y1), *past, (x2 - 8, y2)])
    middle, height = (x1 + x2) / 2, (y1 + y2) / 2 - 6
    head = f"M{x2:.1f} {y2:.1f}l-9 -4v8z"
    return (
        tag("path", d=line, fill="none", stroke=FAINT, stroke_width=1.5)
        + tag("path", d=head, fill=FAINT)
        + label(f"{middle:.1f}", f"{height:.1f}", id=name, text_anchor="middle", font_size=12)
    )


class Axes:
    """A rectangle of the picture with scales: `x` and `y` turn numbers into places."""

    def __init__(self, box, xs, ys, logx=False, logy=False):
        self.box, self.xs, self.ys, self.logx, self.logy = box, xs, ys, logx, logy

    def x(self, value):
        left, _, width, _ = self.box
        return left + width * _share(value, *self.xs, self.logx)

    def y(self, value):
        _, top, _, height = self.box
        return top + height * (1 - _share(value, *self.ys, self.logy))

    def points(self, pairs):
        return [(self.x(a), self.y(b)) for a, b in pairs]

    def frame(self, xlabel, ylabel, xticks, yticks):
        """The rectangle, its ticks (numbers, or pairs of number and text) and its labels."""
        left, top, width, height = self.box
        parts = [tag("rect", x=left, y=top, width=width, height=height, fill="none", stroke=FAINT)]
        for value, text in map(_tick, xticks):
            x, y = f"{self.x(value):.1f}", top + height + 17
            parts.append(label(x, y, text, text_anchor="middle", font_size=11))
        for value, text in map(_tick, yticks):
            parts.append(label(left - 6, f"{self.y(value) + 4:.1f}", text, text_anchor="end", font_size=11))
        parts.append(label(left + width / 2, top + height + 34, xlabel, text_anchor="middle"))
        parts.append(label(left, top - 8, ylabel))
        return "".join(parts)

    def inside(self, *parts):
        """Parts of the picture, cut off at the rectangle's edge."""
        left, top, width, height = self.box
        box = {"x": left, "y": top, "width": width, "height": height}
        return tag("svg", "".join(parts), viewBox=f"{left} {top} {width} {height}", **box)


def _share(value, low, high, logarithmic):
    if logarithmic:
        value, low, high = (math.log10(one) if one > 0 else -math.inf for one in (value, low, high))
    return min(max((value - low) / (high - low), -9), 9)  # farther outside makes no difference


def _tick(tick):
    return tick if isinstance(tick, tuple) else (tick, f"{tick:g}")


SCRIPT = """
(() => {
  const data = DATA;
  const make = (kind, content, fields) =>
    Object.assign(document.createElement(kind), {textContent: content}, fields);
  const root = document.getElementById(NAME);
  if (!root) return;
  const style = make("style", `
    .exploration { color: var(--jp-ui-font-color1, #1a1a1a); max-width: 46em; font: 14px sans-serif; }
    .exploration svg { display: block; width: 100%; height: auto; }
    .exploration .controls { display: flex; flex-wrap: wrap; gap: 0.4em 1.5em; margin: 0.5em 0;
      align-items: center; }
    .exploration .control { display: flex; gap: 0.6em; align-items: center; flex: 1 1 16em; }
    .exploration input { flex: 1 1 8em; min-width: 8em; accent-color: #0072B2; }
    .exploration output { min-width: 4.5em; font-variant-numeric: tabular-nums; }
    .exploration select, .exploration button { font: inherit; color: inherit; padding: 0.2em 0.5em;
      background: var(--jp-layout-color1, #fff); border: 1px solid #767676; border-radius: 3px; }
    .exploration :focus-visible { outline: 3px solid #D55E00; outline-offset: 2px; }
    .exploration .said { min-height: 3em; margin: 0.5em 0; line-height: 1.5; }`);
  const heading = make("strong", data.title);
  const controls = make("div", "", {className: "controls"});
  const picture = make("div", "");
  picture.innerHTML = data.picture;
  const svg = picture.firstChild;
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", data.title + "; the sentence below says what it shows");
  const said = make("p", "", {className: "said"});
  said.setAttribute("aria-live", "polite");
  // ids are the picture's own: several explorations may use the same
  const slots = data.slots.map(([name, attribute]) => [svg.querySelector(`[id="${name}"]`), attribute]);
  svg.querySelectorAll("[id]").forEach(element => element.removeAttribute("id"));

  let asked = false, quiet = 0;
  const position = control => control.kind === "range" ? +control.input.value : control.input.selectedIndex;
  const draw = () => {
    asked = false;
    let frame = 0;
    for (const control of data.controls) {
      frame = frame * control.values + position(control);
      if (control.output) control.output.textContent = control.texts[position(control)];
      if (control.output) control.input.setAttribute("aria-valuetext", control.texts[position(control)]);
    }
    data.frames[frame].forEach((index, number) => {
      const [element, attribute] = slots[number], value = data.pool[index];
      if (!attribute) said.textContent = value;
      else if (attribute === "text") element.textContent = value;
      else element.setAttribute(attribute, value);
    });
  };
  const change = () => {
    if (!asked) { asked = true; requestAnimationFrame(draw); }  // one picture a frame, always the last
    said.setAttribute("aria-busy", "true");  // spoken when the hand rests
    clearTimeout(quiet);
    quiet = setTimeout(() => said.setAttribute("aria-busy", "false"), 400);
  };
  data.controls.forEach((control, number) => {
    const id = `${NAME}-${number}`;
    const row = make("div", "", {className: "control"});
    row.append(make("label", control.label, {htmlFor: id}));
    if (control.kind === "range") {
      control.input = make("input", "", {id, type: "range", min: 0, max: control.values - 1, step: 1});
      control.input.value = control.start;
      control.output = make("output", "");
      row.append(control.input, control.output);
    } else {
      control.input = make("select", "", {id});
      control.texts.forEach(text => control.input.append(make("option", text)));
      control.input.selectedIndex = control.start;
      row.append(control.input);
    }
    control.input.dataset.lmSuppressShortcuts = "true";  // the arrow keys are the control's, not JupyterLab's
    control.input.addEventListener("input", change);
    controls.append(row);
  });
  const played = data.controls.find(control => control.name === data.play);
  if (played) {
    let timer = 0;
    const button = make("button", "Play", {type: "button"});
    const stop = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; };
    const pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 120;
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (position(played) === played.values - 1) played.input.value = 0;
      button.textContent = "Pause";
      timer = setInterval(() => {
        if (!root.isConnected || position(played) === played.values - 1) return stop();
        played.input.value = position(played) + 1;
        change();
      }, pause);
    });
    controls.append(button);
  }
  root.replaceChildren(style, heading, controls, picture, said);
  draw();
})();
"""
