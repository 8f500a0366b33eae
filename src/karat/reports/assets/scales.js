// What all plots share: from values to pixels, axes, and drawing as wide as there is room.

/** A function from values to pixels. */
function scale([low, high], [from, to]) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** From 0 to 1 where all values are in there, as they are of most measures; else from the least to the greatest. */
function domain(values) {
  let [low, high] = [0, 1];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/** From the least to the greatest value, but never so near that a small change looks large. */
function padded(values) {
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const more = Math.max(0, 0.25 * Math.max(Math.abs(low), Math.abs(high)) - (high - low)) / 2;
  return [low - more, high + more];
}

/** Round numbers of an axis, about `count` of them, each with its text. */
function ticks([low, high], count = 5, least = 0) {
  const rough = Math.max((high - low) / count, least) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((size) => size * power >= rough * 0.999) * power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    const value = i * step || 0; // and never -0
    found.push([value, value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })]);
  }
  return found;
}

/** The numbers under an axis; the last one stays inside. */
function across(found, x, y, right) {
  return found.map(([value, text]) => (x(value) > right - 12 ? label(Math.min(x(value), right) + 8, y, text, "end")
    : label(x(value), y, text, "middle")));
}

/** The room to the left of an axis for its longest number. */
function countRoom(most) {
  return Math.max(40, 12 + 7 * Math.max(...ticks([0, most], 4, 1).map(([, text]) => text.length)));
}

/** The axis of a count of queries: grid lines, numbers, and what is counted. */
function countAxis(most, y, left, right) {
  return [
    ...ticks([0, most], 4, 1).flatMap(([value, text]) => [
      line(left, y(value), right, y(value), "grid"), label(left - 6, y(value) + 4, text, "end")]),
    label(left - 6, y(most) - 12, "queries", "start", "name"),
  ];
}

/** A place whose drawing is as wide as there is room, so that its text keeps its size; it follows the window. */
function fitted(draw, most, least = 240) {
  const place = el("div", { class: "plot" });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const room = Math.max(least, Math.min(most, Math.floor(contentRect.width)));
    if (!contentRect.width || room === width) return;
    width = room;
    place.replaceChildren(draw(width));
  }).observe(place);
  return place;
}
