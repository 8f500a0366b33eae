// The drawings: a strip for each measure, the queries as dots, the distributions, the segments and the latency.

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

function ticks([low, high], count = 4) {
  return Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * i) / count);
}

/** How far a measure may fall below its baseline, if a check of all queries says so. */
function tolerated(measure, checks) {
  const check = checks.find((one) => one.metric === measure.name && !one.where && !one.query
    && known(one.limit) && ["non_inferior", "max_drop_abs"].includes(one.kind));
  return check && known(measure.baseline) ? measure.baseline - check.limit : null;
}

/** A measure on a line: the candidate, the interval of its change, the baseline and the thresholds. */
function strip(measure, checks) {
  const drop = tolerated(measure, checks);
  const ends = known(measure.low) && known(measure.baseline)
    ? [measure.baseline + measure.low, measure.baseline + measure.high] : [];
  const all = [measure.mean, measure.baseline, measure.floor, drop, ...ends].filter(known);
  if (!all.length) return el("p", { class: "quiet" }, "no number");
  const pad = Math.max((Math.max(...all) - Math.min(...all)) * 0.12, 0.01);
  const range = [Math.min(...all) - pad, Math.max(...all) + pad];
  const x = scale(range, [6, 234]);
  const said = [`${measure.name}: now ${fixed(measure.mean)}`];
  const parts = [line(6, 30, 234, 30, "axis")];
  if (ends.length) {
    said.push(`95 % interval ${fixed(ends[0])} to ${fixed(ends[1])}`);
    parts.push(line(x(ends[0]), 30, x(ends[1]), 30, "interval"));
  }
  if (known(measure.floor)) {
    said.push(`floor ${fixed(measure.floor)}`);
    parts.push(line(x(measure.floor), 12, x(measure.floor), 48, "floor"));
  }
  if (known(drop)) {
    said.push(`a fall to ${fixed(drop)} is tolerated`);
    parts.push(line(x(drop), 18, x(drop), 42, "drop"));
  }
  if (known(measure.baseline)) {
    said.push(`baseline ${fixed(measure.baseline)}`);
    parts.push(line(x(measure.baseline), 18, x(measure.baseline), 42, "before"));
  }
  if (known(measure.mean)) parts.push(svg("circle", { cx: x(measure.mean), cy: 30, r: 6, class: "now" }));
  parts.push(label(6, 62, fixed(range[0], 2)), label(234, 62, fixed(range[1], 2), "end"));
  return drawing(240, 66, said.join(", "), ...parts);
}

/** The queries of a measure by their place in the plot; those at one place share a dot. */
function places(queries, column, lower) {
  const grid = queries.length > 1000 ? 100 : 1000;
  const found = new Map();
  queries.forEach((query, index) => {
    const [was, now] = [query.baseline[column], query.scores[column]];
    if (!known(was) || !known(now)) return;
    const key = `${Math.round(was * grid)} ${Math.round(now * grid)}`;
    if (!found.has(key)) found.set(key, { was, now, change: now - was, state: state(was, now, lower), queries: [] });
    found.get(key).queries.push(index);
  });
  return [...found.values()].sort((a, b) => a.change - b.change);
}

/** Whether a query got better or worse. */
function state(was, now, lower) {
  if (!known(was) || !known(now)) return "";
  const change = lower ? was - now : now - was;
  return Math.abs(change) < 1e-9 ? "same" : change > 0 ? "better" : "worse";
}

/**
 * Baseline against candidate, a dot for each place. Ten thousand circles would be slow: dots of one state and size are
 * one path of lines without length, whose round ends are the dots. `told` hears of the dot that is pointed at, `chosen`
 * of the one that is clicked, or reached with the arrow keys and entered.
 */
function dotPlot(dots, name, told, chosen) {
  const size = 420, edge = 56;
  const range = domain(dots.flatMap((dot) => [dot.was, dot.now]));
  const x = scale(range, [edge, size - 14]), y = scale(range, [size - edge, 14]);
  const count = (which) => dots.filter((dot) => dot.state === which).reduce((sum, dot) => sum + dot.queries.length, 0);
  const ring = svg("circle", { r: 9, class: "ring", visibility: "hidden" });
  const plot = drawing(size, size,
    `${name} of each query, baseline across and candidate up: ${count("better")} better, above the diagonal, `
      + `${count("worse")} worse, below it, ${count("same")} the same. The table of queries has the numbers.`,
    ...ticks(range).flatMap((tick) => [
      line(x(tick), 14, x(tick), size - edge, "grid"), line(edge, y(tick), size - 14, y(tick), "grid"),
      label(x(tick), size - edge + 16, fixed(tick, 2), "middle"), label(edge - 6, y(tick) + 4, fixed(tick, 2), "end")]),
    line(x(range[0]), y(range[0]), x(range[1]), y(range[1]), "diagonal"),
    label((edge + size) / 2, size - 8, `${name}, baseline`, "middle", "name"),
    svg("text", { transform: `translate(14 ${(size - edge) / 2}) rotate(-90)`, "text-anchor": "middle", class: "name" },
      `${name}, candidate`),
    label(edge + 10, 30, "▲ better", "start", "corner"),
    label(size - 20, size - edge - 10, "▼ worse", "end", "corner"),
    ...dotPaths(dots, x, y), ring);
  const group = el("div", { class: "plot dots", tabindex: 0, role: "group",
    "aria-label": `${name}, query by query: arrow keys go from dot to dot, Enter opens one` }, plot);
  let at = -1;
  const point = (index) => {
    at = index;
    ring.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    if (at >= 0) {
      ring.setAttribute("cx", x(dots[at].was));
      ring.setAttribute("cy", y(dots[at].now));
    }
    told(at < 0 ? null : dots[at]);
  };
  const under = (event) => {
    const box = plot.getBoundingClientRect();
    return nearest(dots, x, y, ((event.clientX - box.left) * size) / box.width,
      ((event.clientY - box.top) * size) / box.height);
  };
  plot.addEventListener("pointermove", (event) => point(under(event)));
  plot.addEventListener("click", (event) => {
    point(under(event));
    if (at >= 0) chosen(dots[at]);
  });
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && dots.length) point((Math.max(at, step < 0 ? 0 : -1) + step + dots.length) % dots.length);
    else if (event.key === "Enter" && at >= 0) chosen(dots[at]);
    else return;
    event.preventDefault();
  });
  return group;
}

function dotPaths(dots, x, y) {
  const paths = new Map();
  const least = dots.length > 1000 ? 3 : 7;
  for (const dot of dots) {
    const width = least + Math.min(4, Math.floor(Math.log2(dot.queries.length))) * (least > 3 ? 2 : 1);
    const key = `${dot.state} ${width}`;
    const path = paths.get(key) ?? { width, state: dot.state, steps: [] };
    path.steps.push(`M${x(dot.was).toFixed(1)} ${y(dot.now).toFixed(1)}h0`);
    paths.set(key, path);
  }
  return [...paths.values()].map(({ width, state, steps }) =>
    svg("path", { d: steps.join(""), "stroke-width": width, class: `dot ${state}` }));
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

/** How many queries have which value: bars for the candidate, an outline for the baseline. */
function distribution(now, was, name) {
  const bins = 20, width = 420, height = 250, range = domain([...now, ...was]);
  const count = (values) => {
    const counts = new Array(bins).fill(0);
    const bin = scale(range, [0, bins]);
    for (const value of values) counts[Math.min(bins - 1, Math.floor(bin(value)))] += 1;
    return counts;
  };
  const [after, before] = [count(now), count(was)];
  const most = Math.max(1, ...after, ...before);
  const x = scale([0, bins], [40, width - 16]), y = scale([0, most], [height - 40, 12]);
  const outline = before.map((value, i) => `${i ? "L" : "M"}${x(i)} ${y(value)}H${x(i + 1)}`).join("");
  const sorted = [...now].sort((a, b) => a - b);
  const words = sorted.length
    ? `Distribution of ${name} over ${counted(sorted.length, "query", "queries")}: a quarter is at or below `
      + `${fixed(quantile(sorted, 0.25))}, half at or below ${fixed(quantile(sorted, 0.5))}, `
      + `three quarters at or below ${fixed(quantile(sorted, 0.75))}.`
    : `No query has a value of ${name}.`;
  return drawing(width, height, words,
    ...[0, Math.round(most / 2), most].flatMap((tick) => [
      line(40, y(tick), width - 16, y(tick), "grid"), label(34, y(tick) + 4, String(tick), "end")]),
    ...after.map((value, i) => svg("rect", { x: x(i) + 1, y: y(value), width: x(i + 1) - x(i) - 2,
      height: y(0) - y(value), class: "bar" })),
    was.length ? svg("path", { d: outline, class: "outline" }) : null,
    ...ticks(range).map((tick, i) => label(x((i * bins) / 4), height - 22, fixed(tick, 2), "middle")),
    label((40 + width) / 2, height - 4, `${name} of a query`, "middle", "name"));
}

/** From the baseline's mean to the candidate's, on one line. */
function dumbbell(was, now, range, status) {
  const x = scale(range, [8, 142]);
  const said = known(was) ? `from ${fixed(was)} to ${fixed(now)}` : `now ${fixed(now)}`;
  return drawing(150, 18, said, line(8, 9, 142, 9, "axis"),
    known(was) && known(now) ? line(x(was), 9, x(now), 9, `change ${status}`) : null,
    known(was) ? line(x(was), 3, x(was), 15, "before") : null,
    known(now) ? svg("circle", { cx: x(now), cy: 9, r: 5, class: "now" }) : null);
}

/** How long the queries took, with the percentiles as lines. */
function latencyPlot({ edges, counts }, { p50, p95, p99 }) {
  const width = 640, height = 260;
  const most = Math.max(1, ...counts);
  const x = scale([edges[0], edges.at(-1)], [44, width - 20]), y = scale([0, most], [height - 42, 56]);
  const marks = [["p50", p50], ["p95", p95], ["p99", p99]].filter(([, value]) => known(value));
  return drawing(width, height,
    `Latency of ${counted(counts.reduce((a, b) => a + b, 0), "query", "queries")}: `
      + marks.map(([name, value]) => `${name} ${fixed(value, 1)} ms`).join(", "),
    ...[0, Math.round(most / 2), most].flatMap((tick) => [
      line(44, y(tick), width - 20, y(tick), "grid"), label(38, y(tick) + 4, String(tick), "end")]),
    ...counts.map((value, i) => svg("rect", { x: x(edges[i]) + 1, y: y(value), height: y(0) - y(value),
      width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 2), class: "bar" })),
    ...marks.flatMap(([name, value], i) => [
      line(x(value), 10 + 15 * i, x(value), height - 42, "mark"),
      label(x(value) + (x(value) > width - 110 ? -5 : 5), 20 + 15 * i, `${name} ${fixed(value, 1)} ms`,
        x(value) > width - 110 ? "end" : "start", "name")]),
    ...ticks([edges[0], edges.at(-1)]).map((tick) => label(x(tick), height - 24, fixed(tick, 0), "middle")),
    label(width / 2, height - 4, "milliseconds", "middle", "name"));
}
