// The measures: a card for each, with its number, its change, and a strip on which limits and interval are drawn.

const CARDS = 12; // that are seen at once

/** The interval that a strip draws: of the change, laid at the baseline; without a baseline, of the mean. */
function interval({ baseline, low, high, interval: own }) {
  return known(low) && known(baseline) ? [baseline + low, baseline + high] : own;
}

/** A measure on a line: the candidate, the interval, the baseline and the limits, the forbidden side shaded. */
function strip(measure) {
  const { mean, baseline, limit, tolerated, lower, name } = measure;
  const ends = interval(measure);
  const all = [mean, baseline, limit?.[1], tolerated, ...(ends ?? [])].filter(known);
  if (!all.length) return null;
  const pad = Math.max((Math.max(...all) - Math.min(...all)) * 0.1, Math.abs(all[0]) * 0.005, 1e-6);
  const range = [Math.min(...all) - pad, Math.max(...all) + pad];
  const [left, right, middle] = [2, 258, 30];
  const x = scale(range, [left, right]);
  const tick = (value, kind, reach) => line(x(value), middle - reach, x(value), middle + reach, kind);
  return drawing(260, 60, stripWords(measure, ends),
    known(limit) ? forbidden(x(limit[1]), limit[0] === "min" ? left : right, middle) : null,
    line(left, middle, right, middle, "axis"),
    ends ? line(x(ends[0]), middle, x(ends[1]), middle, "interval") : null,
    known(tolerated) ? tick(tolerated, "drop", 9) : null,
    known(limit) ? tick(limit[1], "floor", 12) : null,
    known(baseline) ? tick(baseline, "before", 9) : null,
    known(mean) ? svg("circle", { cx: x(mean), cy: middle, r: 5.5, class: "now" }) : null,
    known(baseline) ? label(x(baseline), 12, `baseline ${figure(baseline)}`, anchor(x(baseline))) : null,
    known(limit) ? label(x(limit[1]), 57, `${limit[0]} ${figure(limit[1])}`, anchor(x(limit[1]))) : null);
}

/** Where a label under or over a tick hangs, so that it stays in the drawing. */
function anchor(x) {
  return x < 50 ? "start" : x > 210 ? "end" : "middle";
}

function forbidden(from, to, middle) {
  const [x, width] = [Math.min(from, to), Math.abs(to - from)];
  return svg("rect", { x, width, y: middle - 12, height: 24, class: "forbidden" });
}

function stripWords({ name, mean, baseline, limit, tolerated }, ends) {
  return [
    `${name}: candidate ${figure(mean)}`,
    known(baseline) ? `baseline ${figure(baseline)}` : "no baseline",
    ends ? `95 % interval ${figure(ends[0])} to ${figure(ends[1])}` : "",
    known(limit) ? `${limit[0] === "min" ? "at least" : "at most"} ${figure(limit[1])} is asked for` : "",
    known(tolerated) ? `${figure(tolerated)} is tolerated` : "",
  ].filter(Boolean).join(", ");
}

function card(measure) {
  const { name, standing: [kind, words], mean, baseline } = measure;
  const both = known(mean) && known(baseline);
  return el("article", { class: `card ${kind}` },
    el("h3", {}, bdi(name), badge(kind, words)),
    el("p", { class: "number" }, el("span", { class: "big" }, figure(mean)), " ",
      both ? changed(baseline, mean, measure.lower, percent(baseline, mean)) : null),
    measure.labels ? el("p", { class: "small labels" }, labelWords(measure)) : null,
    both ? null : el("p", { class: "quiet small" }, known(mean) ? "no baseline to compare with" : "no query has one"),
    strip(measure), cardFacts(measure));
}

/** What people's labels make of a judge's mean: the number that limits are held against. */
function labelWords({ labels: [mean, low, high, count] }) {
  const ends = known(low) && known(high) ? ` (${figure(low)} to ${figure(high)})` : "";
  const labels = `${count.toLocaleString("en")} label${count === 1 ? "" : "s"}`;
  return `by the judge; corrected by ${labels} ${figure(mean)}${ends}, which limits look at`;
}

function cardFacts({ name, definition, n, all, low, high, wins, losses, ties, p_corrected: p, lower }) {
  const number = (count) => count.toLocaleString("en");
  return el("ul", { class: "plain quiet small" }, [
    wins + losses + ties ? `${number(wins)} better, ${number(losses)} worse, ${number(ties)} the same` : "",
    known(low) ? `change ${signed(low)} to ${signed(high)}` : "",
    known(p) ? `two-sided ${chance(p)}` : "",
    all ? `mean over all ${queryCount(all[1])}: ${figure(all[0])}, which limits look at` : "",
    [definition === name ? "" : definition, all ? `compared on ${queryCount(n)}` : queryCount(n),
      lower ? "less is better" : ""].filter(Boolean).join(", "),
  ].filter(Boolean).map((fact) => el("li", {}, fact)));
}

/** The cards; of very many the worst come first, and the rest on demand. */
function cards(measures) {
  const order = ["fail", "inconclusive", "degraded", "pass", "none"];
  const grave = (measure) => order.indexOf(measure.standing[0]);
  const sorted = measures.length > CARDS ? [...measures].sort((a, b) => grave(a) - grave(b)) : measures;
  return growing(el("div", { class: "cards" }), sorted, card, CARDS, Infinity, "measure");
}

function cardsKey(data) {
  const has = (name) => data.measures.some((measure) => known(measure[name]));
  return key([["now", "candidate"],
    data.baseline ? ["before", "baseline"] : null,
    data.baseline ? ["interval", "95 % interval of the change"] : ["interval", "95 % interval"],
    has("limit") ? ["floor", "limit, with the side that fails shaded"] : null,
    has("tolerated") ? ["drop", "as far as it may get worse"] : null].filter(known));
}
