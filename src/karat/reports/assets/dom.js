"use strict";
// Making elements and writing numbers. Text of the data only ever becomes a text node or an attribute's value.

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

/** A drawing with its text alternative: `label` says in words what is to be seen. */
function drawing(width, height, label, ...children) {
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return svg("svg", { ...size, role: "img", "aria-label": label }, svg("title", {}, label), ...children);
}

function label(x, y, text, anchor = "start", kind = "tick") {
  return svg("text", { x, y, "text-anchor": anchor, class: kind }, text);
}

function line(x1, y1, x2, y2, kind) {
  return svg("line", { x1, y1, x2, y2, class: kind });
}

/** A table with a caption; `rows` are lists of cells. Some columns hold numbers; some give way on a narrow screen. */
function table(caption, heads, rows, numeric = [], wide = []) {
  const kinds = Object.entries({ number: numeric, wide });
  const kind = (column) => kinds.filter(([, columns]) => columns.includes(column)).map(([name]) => name).join(" ") || null;
  const cells = (row) => row.map((cell, i) => el(i ? "td" : "th", { class: kind(i), scope: i ? null : "row" }, cell));
  return scrollable(caption, el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", class: kind(i) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row))))));
}

/** What may be wider than the page scrolls by itself, with the keyboard too. */
function scrollable(name, ...children) {
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name }, ...children);
}

function section(id, title, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
}

function known(value) {
  return value !== null && value !== undefined;
}

function fixed(value, digits = 3) {
  return known(value) ? value.toFixed(digits) : "–";
}

/** A change with its sign: +0.120, −0.030, 0.000. */
function signed(value, digits = 3) {
  if (!known(value)) return "–";
  const shown = Math.abs(value).toFixed(digits);
  if (Number(shown) === 0) return shown;
  return (value > 0 ? "+" : "−") + shown;
}

function chance(p) {
  return p < 0.001 ? "< 0.001" : `= ${fixed(p)}`;
}

function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The value at a share of sorted numbers, such as the median at 0.5. */
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

// A status is a sign and a word; its colour only repeats them.
const SIGNS = { pass: "✓", fail: "✗", inconclusive: "?", degraded: "▼", better: "▲", worse: "▼", same: "=" };

function badge(status) {
  const word = status.toLowerCase();
  return el("span", { class: `badge ${word}` }, `${SIGNS[word] ?? "·"} ${word}`);
}
