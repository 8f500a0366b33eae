// The sections that show one measure at a time, and the latency. `data` is the page's, and so is what opens a query.

/** What is told of a dot, beside it. */
function tip(place, dot, at, width) {
  place.hidden = !dot;
  if (!dot) return;
  const shown = dot.queries.slice(0, 3).map((index) => data.queries[index]);
  place.replaceChildren(
    el("b", {}, `${figure(dot.was)} → ${figure(dot.now)} (${signed(dot.change)})`),
    ...shown.map(({ id, text }) => el("span", {}, bdi(id, "quiet"), " ", bdi(short(text, 90)))),
    el("span", { class: "quiet" }, dot.queries.length === 1 ? "click or Enter opens it"
      : `${queryCount(dot.queries.length)} here: click or Enter lists them`));
  place.classList.toggle("left", at[0] > width / 2);
  place.style.left = `${at[0]}px`;
  place.style.top = `${at[1]}px`;
}

/** How many queries got worse, better or neither; each number shows them in the table. */
function chips(dots) {
  const count = (how) => dots.filter((dot) => dot.how === how).reduce((sum, dot) => sum + dot.queries.length, 0);
  return el("span", { class: "chips" }, ["worse", "better", "same"].filter(count).map((how) =>
    button(`${SIGNS[how]} ${count(how).toLocaleString("en")} ${how}`, () => showInTable({ state: how }), `chip ${how}`)));
}

/** A plot with its title, what explains its signs, and a sentence under it. */
function plotFigure(title, signs, plot, caption) {
  return el("figure", {}, el("figcaption", {}, el("h3", {}, title), signs), plot, el("p", { class: "caption" }, caption));
}

function dotFigure(column) {
  const measure = data.measures[column];
  const found = places(data.queries, column, measure.lower);
  if (!found.dots.length) {
    return data.baseline ? el("p", { class: "note" }, `The baseline has no ${measure.name} of single queries.`) : null;
  }
  const pointed = el("div", { class: "tip", role: "status", hidden: true });
  const enter = (dot) => {
    if (dot?.queries.length === 1) openQuery(dot.queries[0]);
    else if (dot) showOnly(dot.queries, "of a dot");
  };
  const draw = (width) => dotPlot(found, measure, width, (dot, at) => tip(pointed, dot, at, width), enter);
  return plotFigure("Every query, baseline against candidate", chips(found.dots),
    el("div", { class: "pointing" }, fitted(draw, 600), pointed),
    found.exact ? "A larger dot is several queries with the same scores."
      : "Queries that are near each other share a dot: the larger it is, the more they are.");
}

function spreadFigure(column) {
  const { name, lower } = data.measures[column];
  const values = (side) => data.queries.map((query) => query[side][column]).filter(known);
  const [now, was] = [values("scores"), values("baseline")];
  return plotFigure("How the scores spread",
    key([["filled", "candidate"], ...(was.length ? [["outlined", "baseline"]] : [])]),
    fitted((width) => distribution(now, was, name, width), 1300), `The further ${lower ? "left" : "right"}, the better.`);
}

/** How large the gains and losses are, if there is anything to compare with. */
function changeFigure(column) {
  const { name, lower } = data.measures[column];
  const changes = data.queries.map(({ baseline, scores }) => [baseline[column], scores[column]])
    .filter(([was, now]) => known(was) && known(now)).map(([was, now]) => now - was);
  const moved = changes.some((change) => state(0, change, lower) !== "same");
  return changes.length < 2 || !moved ? null : plotFigure("Gains and losses", null,
    fitted((width) => changePlot(changes, name, lower, width), 640),
    "A few deep losses and many shallow ones call for different cures.");
}

function comparison() {
  const place = el("div", { class: data.baseline ? "pair" : "pair single" });
  chosen.hear.push((column) => {
    if (data.measures.length) {
      const stack = el("div", { class: "stack" }, spreadFigure(column), changeFigure(column));
      place.replaceChildren(...[dotFigure(column), stack].filter(known));
    }
  });
  return section("compared", "Query by query", data.baseline
    ? "Dots above the diagonal got better, those below it worse. Point at a dot to see its query, click it to open it."
    : "There is no baseline to compare with yet. karat baseline update RUN records one; the next report then shows "
      + "every query before and after.", measureChoice("measure"), place);
}

function segmentTable(field, column, range) {
  const { name, lower } = data.measures[column];
  const rows = data.segments.filter((one) => one.field === field).map((one) => {
    const [was, now] = [one.baseline[column], one.means[column]];
    const every = one.all && one.all[column] !== now ? ` (all ${figure(one.all[column])})` : "";
    return { ...one, was, now, every, how: state(was, now, lower), change: known(was) && known(now) ? now - was : null };
  }).sort((a, b) => compareCells(a.change ?? a.now, b.change ?? b.now, lower ? -1 : 1));
  const value = (row) => {
    const tag = JSON.stringify([row.field, row.value]);
    return queries.tags.has(tag) ? button(bdi(row.value), () => showInTable({ segment: tag }), "link") : bdi(row.value);
  };
  return el("div", {}, el("h3", {}, bdi(field)), table(`${name} by ${field}`,
    ["Value", rail(range), ...(data.baseline ? ["Change"] : []), "Candidate", "Queries"],
    rows.map((row) => [value(row), dumbbell(row.was, row.now, range, row.how),
      ...(data.baseline ? [changed(row.was, row.now, lower)] : []), figure(row.now) + row.every,
      row.queries.toLocaleString("en")]), [2, 3, 4]));
}

function segments() {
  const place = el("div", { class: "segments" });
  const fields = [...new Set(data.segments.map((one) => one.field))];
  chosen.hear.push((column) => {
    const range = padded(data.segments.flatMap((one) => [one.baseline[column], one.means[column]]).filter(known));
    place.replaceChildren(...fields.map((field) => segmentTable(field, column, range)));
  });
  return section("segments", "Segments", data.baseline
    ? "Means of parts of the queries, from the baseline (tick) to the candidate (dot), the worst change first."
    : "Means of parts of the queries, the lowest first.", measureChoice("segment-measure"), place);
}

function latency() {
  if (!data.stages.length) return section("latency", "Latency", "Nothing was timed.");
  const total = data.stages.find(([name]) => name === "total")?.[1] ?? {};
  const percentiles = ["p50", "p95", "p99"].map((name) => [name, total[name]]).filter(([, value]) => known(value));
  const times = data.queries.filter(({ ms, error }) => known(ms) && !error).map(({ ms }) => ms).sort((a, b) => a - b);
  const columns = ["p50", "p95", "p99", "mean"], heads = ["Stage", "p50", "p95", "p99", "Mean"];
  const before = (was) => (known(was) ? el("span", { class: "was" }, `was ${duration(was)}`) : null);
  const cell = (now, was) => el("span", {}, duration(now), before(was));
  const rows = data.stages.map(([name, now, was]) => [bdi(name), ...columns.map((one) => cell(now[one], was?.[one]))]);
  return section("latency", "Latency",
    "How long a query took. Half of all answers were as quick as p50 or quicker, 95 of 100 as p95, 99 of 100 as p99.",
    times.length ? el("div", { class: "panel" }, fitted((width) => latencyPlot(times, percentiles, width), 1300))
      : null,
    el("div", { class: "panel" }, table("Time by stage", heads, rows, [1, 2, 3, 4])));
}
