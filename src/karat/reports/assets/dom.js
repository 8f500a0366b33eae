"use strict";
// Making elements. Text of the data only ever becomes a text node or an attribute's value.

const SVG = "http://www.w3.org/2000/svg"; // the name of the vocabulary; nothing is fetched from there

/** Make an HTML element: `el("a", {href: "#x", onclick: go}, "text", child)`. An attribute that is null is left out. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element, in the same way. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(known));
  return element;
}

function known(value) {
  return value !== null && value !== undefined;
}

function button(text, onclick, kind = null, name = null) {
  return el("button", { type: "button", class: kind, onclick, "aria-label": name }, text);
}

/** A text of unknown direction, which must not turn what stands around it. */
function bdi(text, kind = null) {
  return el("bdi", { class: kind }, text);
}

/** A choice among [value, text] pairs, with its name before it. */
function choice(id, name, options, onchange) {
  const select = el("select", { id, onchange: () => onchange(select.value) },
    options.map(([value, text]) => el("option", { value }, text)));
  return el("label", { for: id }, name, select);
}

/** A drawing with its text alternative: `said` says in words what is to be seen. */
function drawing(width, height, said, ...children) {
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return svg("svg", { ...size, role: "img", "aria-label": said }, ...children);
}

function label(x, y, text, anchor = "start", kind = "tick") {
  return svg("text", { x, y, "text-anchor": anchor, class: kind }, text);
}

function line(x1, y1, x2, y2, kind) {
  return svg("line", { x1, y1, x2, y2, class: kind });
}

/** A table; `rows` are lists of cells. Some columns hold numbers; what matters most stands first, for narrow screens. */
function table(name, heads, rows, numeric = []) {
  const kind = (column) => (numeric.includes(column) ? "number" : null);
  const cells = (row) => row.map((cell, i) => el(i ? "td" : "th", { class: kind(i), scope: i ? null : "row" }, cell));
  return scrollable(name, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", class: kind(i) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row))))));
}

/** What may be wider than the page scrolls by itself, with the keyboard too. */
function scrollable(name, ...children) {
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name }, ...children);
}

/** A section with its heading and a sentence that says how to read it. */
function section(id, title, caption, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title),
    caption ? el("p", { class: "caption" }, caption) : null, ...children);
}

/** A key to the signs of a plot: pairs of a swatch's class and what it means. */
function key(pairs) {
  return el("p", { class: "key" }, pairs.map(([kind, text]) =>
    el("span", {}, el("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text)));
}

/** A list that shows some of its items, more on demand, and on paper as many as `paper`. */
function growing(list, items, make, first, paper, noun) {
  const more = button("", () => grow(Math.max(first, 10)), "more");
  function grow(by) {
    const from = list.children.length;
    list.append(...items.slice(from, from + by).map(make));
    const shown = list.children.length;
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${shown} of ${counted(items.length, noun)} are shown)`;
  }
  grow(first);
  addEventListener("beforeprint", () => grow(Math.max(0, paper - list.children.length)));
  return [list, more];
}

// A status is a sign and a word; its colour only repeats them.
const SIGNS = {
  pass: "✓", fail: "✗", inconclusive: "?", degraded: "▼", none: "·", better: "▲", worse: "▼", same: "=",
};

function badge(kind, words) {
  return el("span", { class: `badge ${kind}` }, `${SIGNS[kind]} ${words}`);
}
