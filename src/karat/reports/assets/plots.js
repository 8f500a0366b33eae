// The other plots: how the scores spread, the segments, and the latency.

/** How many queries have which value: bars for the candidate, an outline for the baseline. */
function distribution(now, was, name, width) {
  const bins = 20, height = Math.round(Math.min(300, width * 0.7));
  const [right, bottom] = [width - 12, height - 44];
  const range = domain([...now, ...was]);
  const bin = scale(range, [0, bins]);
  const count = (values) => {
    const counts = new Array(bins).fill(0);
    for (const value of values) counts[Math.min(bins - 1, Math.floor(bin(value) + 1e-9))] += 1;
    return counts;
  };
  const [after, before] = [count(now), count(was)];
  const most = Math.max(1, ...after, ...before), left = countRoom(most);
  const x = scale([0, bins], [left, right]), y = scale([0, most], [bottom, 26]);
  const outline = before.map((value, i) => `${i ? "L" : "M"}${x(i)} ${y(value)}H${x(i + 1)}`).join("");
  return drawing(width, height, spreadWords(now, name),
    ...countAxis(most, y, left, right), ...bars(after, (i) => x(i), y),
    was.length ? svg("path", { d: outline, class: "outline" }) : null,
    ...across(ticks(range), (value) => x(bin(value)), bottom + 17, right),
    label((left + right) / 2, height - 4, `${name} of a query`, "middle", "name"));
}

function bars(counts, x, y) {
  return counts.map((value, i) => svg("rect", { x: x(i) + 0.5, y: y(value), height: y(0) - y(value), class: "bar",
    width: Math.max(1, x(i + 1) - x(i) - 1) }, svg("title", {}, queryCount(value))));
}

/**
 * How much each query changed, the worst first, as areas below and above zero. A pixel stands for all queries in it, so
 * that ten thousand are as quick as ten.
 */
function changePlot(changes, name, lower, width) {
  const height = 210, [left, right, bottom] = [48, width - 12, height - 44];
  const sorted = [...changes].sort((a, b) => (lower ? b - a : a - b));
  const [worst, best] = [sorted[0], sorted[sorted.length - 1]];
  const [low, high] = [Math.min(0, worst, best), Math.max(0, worst, best)];
  const x = scale([0, sorted.length], [left, right]), y = scale([low, high > low ? high : low + 1], [bottom, 14]);
  const area = (how) => changeArea(sorted, (change) => state(0, change, lower) === how, how, x, y);
  const worse = sorted.filter((change) => state(0, change, lower) === "worse").length;
  return drawing(width, height, `Change of ${name}, query by query: the worst is ${signed(worst)}, the best `
    + `${signed(best)}; ${worse} of ${queryCount(sorted.length)} got worse.`,
    ...ticks([low, high], 5).flatMap(([value, text]) => [
      line(left, y(value), right, y(value), value ? "grid" : "axis"),
      label(left - 6, y(value) + 4, value > 0 ? `+${text}` : text.replace("-", "−"), "end")]),
    area("worse"), area("better"),
    ...across(ticks([0, sorted.length], Math.min(5, (right - left) / (16 + 7 * figure(sorted.length, 0).length)), 1),
      x, bottom + 17, right),
    label((left + right) / 2, height - 4, "queries, the worst first", "middle", "name"));
}

/** The sorted changes that are kept, as one path of steps from zero. */
function changeArea(sorted, keeps, how, x, y) {
  const places = [...sorted.keys()].filter((i) => keeps(sorted[i]));
  if (!places.length) return null;
  const every = Math.max(1, Math.floor(sorted.length / (x(sorted.length) - x(0))));
  const end = places[places.length - 1] + 1;
  const steps = places.filter((_, i) => i % every === 0).map((i) =>
    `V${y(sorted[i]).toFixed(1)}H${x(Math.min(i + every, end)).toFixed(1)}`);
  return svg("path", { class: `area ${how}`, d: `M${x(places[0]).toFixed(1)} ${y(0)}${steps.join("")}V${y(0)}Z` });
}

function spreadWords(values, name) {
  const sorted = [...values].sort((a, b) => a - b);
  if (!sorted.length) return `No query has a value of ${name}.`;
  return `Distribution of ${name} over ${queryCount(sorted.length)}: a quarter is at or below `
    + `${figure(quantile(sorted, 0.25))}, half at or below ${figure(quantile(sorted, 0.5))}, `
    + `three quarters at or below ${figure(quantile(sorted, 0.75))}.`;
}

/** The width of a segment's line. */
function railWidth() {
  return matchMedia("(max-width: 48rem)").matches ? 92 : 170;
}

/** From the baseline's mean to the candidate's, on one line. */
function dumbbell(was, now, range, how) {
  const width = railWidth(), x = scale(range, [7, width - 7]);
  const said = known(was) ? `from ${figure(was)} to ${figure(now)}` : `candidate ${figure(now)}`;
  return drawing(width, 18, said, line(0, 9, width, 9, "axis"),
    known(was) && known(now) ? line(x(was), 9, x(now), 9, `change ${how}`) : null,
    known(was) ? line(x(was), 3, x(was), 15, "before") : null,
    known(now) ? svg("circle", { cx: x(now), cy: 9, r: 5, class: "now" }) : null);
}

/** The axis over the segments' lines. */
function rail(range) {
  const width = railWidth(), x = scale(range, [7, width - 7]);
  return drawing(width, 16, `from ${figure(range[0], 2)} to ${figure(range[1], 2)}`,
    ...ticks(range, width / 42).map(([value, text]) =>
      label(x(value), 12, text, x(value) < 14 ? "start" : x(value) > width - 14 ? "end" : "middle")));
}

/** The bars of a histogram of times. A few slow queries would press all others into one bar: then it is logarithmic. */
function timeBins(times) {
  const [low, high] = [times[0], times[times.length - 1]];
  const wide = low > 0 && high > 20 * quantile(times, 0.5);
  const to = wide ? Math.log10 : (value) => value;
  const range = wide ? [to(low), to(high)] : [0, high || 1];
  const bins = Math.max(4, Math.min(30, Math.ceil(2 * Math.sqrt(times.length))));
  const bin = scale(range, [0, bins]);
  const counts = new Array(bins).fill(0);
  for (const time of times) counts[Math.min(bins - 1, Math.floor(bin(to(time))))] += 1;
  return { counts, wide, place: (time) => bin(to(time)), high, low };
}

/** The numbers under a histogram of times: round ones, or the powers of ten. */
function timeTicks({ wide, low, high }) {
  if (wide) {
    const powers = Array.from({ length: 14 }, (_, i) => 10 ** (i - 4)).filter((time) => time >= low && time <= high);
    return powers.map((time) => [time, time < 1000 ? `${time}\u00a0ms` : `${(time / 1000).toLocaleString("en")}\u00a0s`]);
  }
  const [unit, size] = unitOf(high);
  return ticks([0, high / size], 6).map(([value, text]) => [value * size, `${text}\u00a0${unit}`]);
}

/** How long the queries took, with the percentiles as lines. */
function latencyPlot(times, percentiles, width) {
  const height = 270, [right, bottom] = [width - 16, 270 - 44];
  const found = timeBins(times);
  const most = Math.max(1, ...found.counts), left = countRoom(most);
  const bar = scale([0, found.counts.length], [left, right]);
  const x = (time) => Math.min(right, Math.max(left, bar(found.place(time)))), y = scale([0, most], [bottom, 76]);
  const said = percentiles.map(([name, value]) => `${name} ${duration(value)}`);
  return drawing(width, height, `Latency of ${queryCount(times.length)}: ${said.join(", ")}`,
    ...countAxis(most, y, left, right), ...bars(found.counts, bar, y),
    ...percentiles.flatMap(([name, value], i) => {
      const text = `${name} ${duration(value)}`, top = 14 + 17 * i;
      const end = x(value) + 7 * text.length > width; // no room for it to the right
      return [line(x(value), top - 10, x(value), bottom, "mark"),
        label(x(value) + (end ? -5 : 5), top, text, end ? "end" : "start", "name")];
    }),
    ...across(timeTicks(found), x, bottom + 17, right),
    label((left + right) / 2, height - 4, found.wide ? "time of a query, logarithmic" : "time of a query",
      "middle", "name"));
}
