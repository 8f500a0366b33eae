// The page: reads the data, makes the sections and connects them.

const data = JSON.parse(document.getElementById("data").textContent);
data.relevant = leastRelevant(data.queries);
const mustPass = new Set(data.checks.filter((check) => check.outcome === "fail").map((check) => check.query));
const queries = queryTable(data.queries, open);

/** The part of the page's address that opens a query. */
function fragment(query) {
  return `#query=${encodeURIComponent(query.id.toWellFormed())}`;
}

/** Open a query; its address can be copied. */
function open(index) {
  history.replaceState(null, "", fragment(data.queries[index]));
  showQuery(data, data.queries[index], (by) => {
    const order = queries.order().includes(index) ? queries.order() : [...data.queries.keys()];
    open(order[(order.indexOf(index) + by + order.length) % order.length]);
  });
}

function openFromAddress() {
  const index = data.queries.findIndex((query) => fragment(query) === location.hash);
  if (index >= 0) open(index);
}

function cards() {
  return el("div", { class: "cards" }, data.measures.map((measure) => el("article", { class: "card" },
    el("h3", {}, measure.name, " ", badge(measure.status)),
    el("p", { class: "big" }, fixed(measure.mean)),
    el("p", {}, known(measure.baseline) ? `${signed(measure.mean - measure.baseline)} from ${fixed(measure.baseline)}`
      : "no baseline"),
    strip(measure, data.checks),
    el("ul", { class: "plain quiet small" }, [
      known(measure.floor) ? `floor ${fixed(measure.floor)}` : "",
      known(measure.low) ? `change ${signed(measure.low)} to ${signed(measure.high)} (95\u00a0%)` : "",
      known(measure.wins) ? `${measure.wins} better, ${measure.losses} worse, ${measure.ties} same` : "",
      known(measure.p_corrected) ? `p ${chance(measure.p_corrected)}, corrected` : "",
      `${measure.definition}, n = ${measure.n}`].filter(Boolean).map((fact) => el("li", {}, fact))))));
}

function cardsKey() {
  return el("p", { class: "key small" },
    el("span", { class: "swatch now" }), "now ",
    el("span", { class: "swatch interval" }), "95 % interval of the change ",
    el("span", { class: "swatch before" }), "baseline ", el("span", { class: "swatch floor" }), "floor ",
    el("span", { class: "swatch drop" }), "tolerated fall");
}

function checksTable() {
  return table("Every check of the gate", ["What", "Rule", "Outcome", "Why"], data.checks.map((check) =>
    [check.name, check.rule, badge(check.outcome), check.reason]), [], [1]);
}

/** The plots of one measure, and the columns of the table: drawn again when another measure is chosen. */
function comparison() {
  const select = el("select", { id: "measure", onchange: () => draw() },
    data.measures.map((measure, i) => el("option", { value: i }, measure.name)));
  const dots = el("div"), spread = el("div");
  const pointed = el("output", { class: "pointed" });
  const idle = "Point at a dot, or use the arrow keys, to see its query; click it, or press Enter, to open it.";

  function tell(dot) {
    if (!dot) pointed.textContent = idle;
    else {
      const first = data.queries[dot.queries[0]];
      const count = dot.queries.length;
      const who = count === 1 ? `${first.id}: ${first.text}` : counted(count, "query", "queries");
      pointed.textContent = `${fixed(dot.was)} → ${fixed(dot.now)} (${signed(dot.change)}) ${who}`;
    }
  }

  function choose(dot) {
    if (dot.queries.length === 1) return open(dot.queries[0]);
    queries.showOnly(dot.queries);
    document.getElementById("queries").scrollIntoView();
    document.querySelector("#queries .filters button").focus();
  }

  function draw() {
    const column = Number(select.value), measure = data.measures[column];
    const lower = Boolean(measure?.lower_is_better);
    const values = (side) => data.queries.map((query) => query[side][column]).filter(known);
    const found = places(data.queries, column, lower);
    dots.replaceChildren(found.length ? dotPlot(found, measure.name, tell, choose)
      : el("p", { class: "quiet" }, "There is no baseline with scores of single queries to draw against."));
    spread.replaceChildren(measure ? distribution(values("scores"), values("baseline"), measure.name) : "");
    tell(null);
    queries.show(tableRows(column, lower));
  }

  const element = el("div", {}, el("label", { for: "measure" }, "Measure", select),
    el("div", { class: "pair" },
      el("figure", {}, el("figcaption", {}, "Every query: baseline against candidate"), dots, pointed),
      el("figure", {}, el("figcaption", {}, "Distribution: candidate filled, baseline outlined"), spread)));
  return { element, draw };
}

function tableRows(column, lower) {
  return data.queries.map((query, index) => {
    const [was, now] = [query.baseline[column], query.scores[column]];
    return { index, id: query.id, text: query.text, tag: Object.values(query.tags)[0] ?? "", was, now, ms: query.ms,
      change: known(was) && known(now) ? now - was : null, state: state(was, now, lower),
      failure: Boolean(query.failure) };
  });
}

function failureList() {
  const grave = (index) => Boolean(data.queries[index].error) || mustPass.has(data.queries[index].id);
  const failed = [...data.queries.keys()].filter((index) => data.queries[index].failure)
    .sort((a, b) => grave(b) - grave(a));
  if (!failed.length) return el("p", {}, "No query failed.");
  const list = el("ul", { class: "failures" });
  const more = el("button", { type: "button", onclick: () => grow() });
  let shown = 0;
  function grow() {
    const next = failed.slice(shown, shown + 10);
    list.append(...next.map(failureItem));
    shown += next.length;
    more.hidden = shown === failed.length;
    more.textContent = `Show more of the ${counted(failed.length, "failure")} (${shown} are shown)`;
  }
  grow();
  addEventListener("beforeprint", () => { while (shown < Math.min(failed.length, 100)) grow(); });
  const told = `${failed.length.toLocaleString("en")} of ${counted(data.queries.length, "query", "queries")} got an `
    + "error, found nothing relevant, missed what they must reach, or lie below a limit.";
  return el("div", {}, el("p", { class: "quiet" }, told), list, more);
}

function failureItem(index) {
  const query = data.queries[index];
  const hits = query.hits.slice(0, 3).map((hit, rank) => hitOf(data, hit, rank));
  return el("li", {},
    el("h3", {}, el("button", { type: "button", class: "link", onclick: () => open(index) },
      el("span", { class: "small quiet" }, query.id), el("span", { class: "text" }, query.text))),
    el("p", { class: "failure" }, `✗ ${query.failure}`),
    el("div", { class: "pair" },
      el("div", {}, el("h4", {}, "Expected"), expectedList(data, query, 4)),
      el("div", {}, el("h4", {}, "Came"), cameList(hits, data.relevant))));
}

/** What the rules over the numbers advise, with the queries that it rests on. */
function recommendationList() {
  const places = new Map(data.queries.map((query, index) => [query.id, index]));
  const link = (id) => el("button", { type: "button", class: "link", onclick: () => open(places.get(id)) }, id);
  return el("ul", { class: "advice" }, data.recommendations.map(({ finding, advice, queries: ids }) => el("li", {},
    el("p", {}, el("b", {}, finding), el("br"), advice),
    el("p", { class: "small links" }, ids.slice(0, 10).filter((id) => places.has(id)).map(link),
      ids.length > 10 ? el("span", { class: "quiet" }, `and ${(ids.length - 10).toLocaleString("en")} more`) : null))));
}

function segments() {
  const select = el("select", { id: "segment-measure", onchange: () => draw() },
    data.measures.map((measure) => el("option", { value: measure.name }, measure.name)));
  const place = el("div", { class: "segments" });
  function draw() {
    const name = select.value, lower = Boolean(data.measures.find((one) => one.name === name)?.lower_is_better);
    const pair = (segment) => [segment.baseline?.[name] ?? null, segment.means[name] ?? null];
    const range = domain(data.segments.flatMap(pair).filter(known));
    const fields = [...new Set(data.segments.map((segment) => segment.field))];
    const heads = ["n", "Was", "Now", "Change", "Drawn"];
    place.replaceChildren(...fields.map((field) => table(`${name} by ${field}`, [field, ...heads],
      data.segments.filter((segment) => segment.field === field).map((segment) => {
        const [was, now] = pair(segment), how = state(was, now, lower);
        const change = known(was) && known(now) ? `${SIGNS[how] ?? ""} ${signed(now - was)}` : "–";
        return [segment.value, String(segment.queries), fixed(was), fixed(now), change, dumbbell(was, now, range, how)];
      }), [1, 2, 3, 4], [1, 2])));
  }
  draw();
  return el("div", {}, el("label", { for: "segment-measure" }, "Measure", select), place);
}

function latency() {
  const { stages, baseline, histogram } = data.latency;
  const names = Object.keys(stages);
  if (!names.length) return el("p", { class: "quiet" }, "Nothing was timed.");
  const rows = names.flatMap((stage) => [[stage, stages[stage]], [`${stage}, baseline`, baseline[stage]]])
    .filter(([, values]) => values)
    .map(([stage, values]) => [stage, ...["mean", "p50", "p95", "p99"].map((key) => fixed(values[key], 1))]);
  return el("div", {},
    histogram.counts.length ? el("div", { class: "plot" }, latencyPlot(histogram, stages.total ?? {})) : null,
    table("Milliseconds by stage", ["Stage", "Mean", "p50", "p95", "p99"], rows, [1, 2, 3, 4]));
}

/** Nested settings as lines of dotted names. */
function flat(value, name = "") {
  if (value === null || typeof value !== "object") return [[name, String(value)]];
  const below = Object.entries(value);
  return below.length ? below.flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key)) : [[name, "none"]];
}

function about() {
  const { run, golden, baseline } = data;
  const shown = (value) => (known(value) ? JSON.stringify(value) : "not set");
  const changed = (baseline?.changes ?? []).map(({ key, was, now }) => [key, shown(was), shown(now)]);
  const facts = flat({ run: { fingerprint: run.fingerprint, failed: run.failed, coverage: run.coverage }, golden,
    baseline: baseline && { name: baseline.name, recorded: baseline.recorded, forced: baseline.forced || "no" } });
  return el("div", {},
    changed.length ? table("Changed since the baseline", ["Setting", "Was", "Now"], changed) : null,
    ...[["Run, golden set and baseline", facts], ["System", flat(run.system)], ["Settings", flat(run.settings)],
      ["Versions", flat(run.versions)]].map(([name, rows]) => el("details", {}, el("summary", {}, name),
      table(name, ["Name", "Value"], rows))));
}

function themeButton() {
  const dark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button", { type: "button", class: "theme", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    tell();
  } });
  const tell = () => { button.textContent = dark() ? "☀ Light" : "☾ Dark"; };
  tell();
  return button;
}

function start() {
  const compared = comparison();
  const sections = [
    section("measures", "Measures", cardsKey(), cards()),
    data.caveats.length ? section("caveats", "Caveats", el("ul", {}, data.caveats.map((text) => el("li", {}, text))))
      : null,
    data.recommendations.length ? section("advice", "Recommendations", recommendationList()) : null,
    section("compared", "Query by query", compared.element),
    section("failures", "Failures", failureList()),
    section("queries", "Queries", queries.element),
    data.segments.length ? section("segments", "Segments", segments()) : null,
    section("latency", "Latency", latency()),
    section("checks", "Checks", checksTable()),
    section("about", "Run", about()),
  ].filter(Boolean);
  const links = sections.map((part) => el("a", { href: `#${part.id}` }, part.querySelector("h2").textContent));
  document.querySelector("header.top").append(themeButton());
  document.getElementById("report").replaceChildren(el("nav", { "aria-label": "Sections" }, links), ...sections);
  document.getElementById("query").addEventListener("close", () => history.replaceState(null, "", "#"));
  compared.draw();
  addEventListener("hashchange", openFromAddress);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  openFromAddress();
}

start();
