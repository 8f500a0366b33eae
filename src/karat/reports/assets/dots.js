// Baseline against candidate, query by query: dots above the diagonal got better.

const FINE = 1000, COARSE = 40; // places along an axis: of many queries, those that are near share a dot

/** The queries of a measure by their place in the plot, the worst first. */
function places(queries, column, lower) {
  const pairs = queries.map((query, index) => ({ index, was: query.baseline[column], now: query.scores[column] }))
    .filter(({ was, now }) => known(was) && known(now));
  const exact = new Set(pairs.map(({ was, now }) => `${was} ${now}`)).size <= FINE;
  const range = domain(pairs.flatMap(({ was, now }) => [was, now]));
  const bin = exact ? (value) => value : scale(range, [0, COARSE]);
  const found = new Map();
  for (const { index, was, now } of pairs) {
    const how = state(was, now, lower);
    const place = exact ? `${was} ${now}` : `${how} ${Math.round(bin(was))} ${Math.round(bin(now))}`;
    const dot = found.get(place) ?? { was: 0, now: 0, how, queries: [] };
    found.set(place, dot);
    dot.was += was;
    dot.now += now;
    dot.queries.push(index);
  }
  const middle = ({ was, now, how, queries: ids }) =>
    ({ was: was / ids.length, now: now / ids.length, change: (now - was) / ids.length, how, queries: ids });
  const sign = lower ? -1 : 1;
  return { range, exact, dots: [...found.values()].map(middle).sort((a, b) => sign * (a.change - b.change)) };
}

/**
 * How wide each dot is: its area tells the number of queries, and the widest just leaves room for the next. The few
 * places where very many queries meet, such as all zeros, do not set the measure for the others.
 */
function widths(dots, most) {
  const counts = dots.map(({ queries }) => queries.length);
  const large = Math.max(3, quantile([...counts].sort((a, b) => a - b), 0.9));
  return counts.map((count) => Math.round(2 * most * Math.sqrt(Math.max(0.14, Math.min(1, count / large)))) / 2);
}

/**
 * Thousands of circles would be slow: dots of one state and width are one path of lines without length, whose round
 * ends are the dots.
 */
function dotPaths(dots, x, y, most) {
  const paths = new Map();
  widths(dots, most).forEach((width, i) => {
    const dot = dots[i], kind = `${dot.how} ${width}`;
    const path = paths.get(kind) ?? { width, how: dot.how, steps: [] };
    path.steps.push(`M${x(dot.was).toFixed(1)} ${y(dot.now).toFixed(1)}h0`);
    paths.set(kind, path);
  });
  return [...paths.values()].sort((a, b) => b.width - a.width).map(({ width, how, steps }) =>
    svg("path", { d: steps.join(""), "stroke-width": width, class: `dot ${how}` }));
}

function dotAxes(range, x, y, size, edge, name) {
  const [left, bottom] = [edge, size - edge];
  return [
    ...ticks(range).flatMap(([value, text]) => [
      line(x(value), 2, x(value), bottom, "grid"), line(left, y(value), size - 2, y(value), "grid"),
      label(x(value), bottom + 17, text, "middle"), label(left - 7, y(value) + 4, text, "end")]),
    line(x(range[0]), y(range[0]), x(range[1]), y(range[1]), "diagonal"),
    label((left + size - 10) / 2, size - 4, `${name}, baseline`, "middle", "name"),
    svg("text", { transform: `translate(12 ${(bottom + 10) / 2}) rotate(-90)`, "text-anchor": "middle", class: "name" },
      `${name}, candidate`),
  ];
}

/** The plot, `size` wide and high. `told` hears of the dot that is pointed at, `chosen` of the one that is entered. */
function dotPlot({ dots, range, exact }, { name, lower }, size, told, chosen) {
  const edge = 52;
  const x = scale(range, [edge + 14, size - 16]), y = scale(range, [size - edge - 14, 16]); // room for whole dots
  const count = (how) => dots.filter((dot) => dot.how === how).reduce((sum, dot) => sum + dot.queries.length, 0);
  const [up, down] = lower ? ["worse", "better"] : ["better", "worse"];
  const ring = svg("circle", { r: 10, class: "ring", visibility: "hidden" });
  const room = exact ? Math.max(8, Math.min(26, 170 / Math.sqrt(dots.length))) * Math.min(1, size / 480)
    : (size - edge) / COARSE;
  const plot = drawing(size, size,
    `${name} of each query, baseline across and candidate up: ${count(up)} ${up}, above the diagonal, ${count(down)} `
      + `${down}, below it, ${count("same")} the same. The table of queries has the numbers.`,
    ...dotAxes(range, x, y, size, edge, name), ...dotPaths(dots, x, y, room),
    label(edge + 26, 38, `${SIGNS[up]} ${up}`, "start", `corner ${up}`),
    label(size - 28, size - edge - 26, `${SIGNS[down]} ${down}`, "end", `corner ${down}`), ring);
  const said = `${name}, query by query: arrow keys go from dot to dot, the worst first, and Enter opens one`;
  const group = el("div", { class: "dots", tabindex: 0, role: "group", "aria-label": said }, plot);
  const point = pointing(dots, x, y, ring, told);
  plot.addEventListener("pointermove", (event) => point.under(plot, size, event));
  plot.addEventListener("pointerleave", () => point.at(-1));
  plot.addEventListener("click", (event) => chosen(point.under(plot, size, event)));
  group.addEventListener("blur", () => point.at(-1));
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) point.step(step);
    else if (event.key === "Enter") chosen(point.now());
    else return;
    event.preventDefault();
  });
  return group;
}

/** The dot that is pointed at: by a place in the plot, by a step from the last, or by its number; -1 for none. */
function pointing(dots, x, y, ring, told) {
  let index = -1;
  const at = (place) => {
    index = place;
    const dot = dots[place];
    ring.setAttribute("visibility", dot ? "visible" : "hidden");
    if (dot) {
      ring.setAttribute("cx", x(dot.was));
      ring.setAttribute("cy", y(dot.now));
    }
    told(dot, dot ? [x(dot.was), y(dot.now)] : null);
    return dot;
  };
  const under = (plot, size, { clientX, clientY }) => {
    const { left, top, width, height } = plot.getBoundingClientRect();
    return at(nearest(dots, x, y, ((clientX - left) * size) / width, ((clientY - top) * size) / height));
  };
  const step = (by) => at((Math.max(index, by < 0 ? 0 : -1) + by + dots.length) % dots.length);
  return { at, under, step, now: () => dots[index] };
}

/** The dot next to a point, if one is near enough to be meant. */
function nearest(dots, x, y, left, top) {
  let [best, least] = [-1, 18 ** 2];
  dots.forEach((dot, index) => {
    const distance = (x(dot.was) - left) ** 2 + (y(dot.now) - top) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}
