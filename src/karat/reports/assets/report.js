// The page: reads the data, makes the sections and connects them.

const data = JSON.parse(document.getElementById("data").textContent);
data.queries = data.queries.map(queryOf);
data.relevant ??= leastRelevant(data.queries);
const dialog = document.getElementById("query");
const indexOf = new Map(data.queries.map(({ id }, index) => [wellFormed(id), index]));
const queries = queryTable(data, openQuery);
const chosen = { column: 0, hear: [] }; // the measure that plots and table show, and who wants to know of another

/** A lone surrogate cannot stand in an address. */
function wellFormed(text) {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/** Open a query. Its address can be copied; the back button closes it, however many were looked at. */
function openQuery(index) {
  const address = `#q=${encodeURIComponent(wellFormed(data.queries[index].id))}`;
  if (dialog.open) history.replaceState(history.state, "", address);
  else if (addressed() !== index) history.pushState({ opened: true }, "", address);
  const order = queries.order().includes(index) ? queries.order() : [...data.queries.keys()];
  const at = order.indexOf(index);
  showQuery(data, data.queries[index], at + 1, order.length,
    (by) => openQuery(order[(at + by + order.length) % order.length]));
}

/** The query that the address names, if there is one. */
function addressed() {
  const [, id] = /^#q=(.*)$/.exec(location.hash) ?? [];
  try {
    return known(id) ? indexOf.get(decodeURIComponent(id)) : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined; // somebody mistyped it
    throw error;
  }
}

/** Show what the address says: a query, or none. */
function follow() {
  const index = addressed();
  if (known(index)) openQuery(index);
  else if (dialog.open) dialog.close();
}

/** Whoever closes a query goes back to where it was opened. */
function closed() {
  if (!location.hash.startsWith("#q=")) return;
  if (history.state?.opened) history.back();
  else history.replaceState(null, "", location.href.split("#")[0]);
}

function choose(column) {
  chosen.column = column;
  for (const hears of chosen.hear) hears(column);
}

/** A choice of the measure; there are several on the page, and all show the same. */
function measureChoice(id) {
  const names = data.measures.map(({ name }, i) => [i, name]);
  const element = choice(id, "Measure", names, (value) => choose(Number(value)));
  chosen.hear.push((column) => { element.lastChild.value = column; });
  return element;
}

/** Show some queries in the table, and go there. */
function showInTable(values) {
  queries.filter(values);
  document.getElementById("queries").scrollIntoView();
  queries.focus();
}

function showOnly(indexes, why) {
  showInTable({ only: indexes, why });
}

function themeButton() {
  const dark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => { switcher.textContent = dark() ? "☀ Light" : "☾ Dark"; };
  const switcher = button("", () => {
    keepTheme(dark() ? "light" : "dark");
    tell();
  }, "theme");
  tell();
  return switcher;
}

/** A slash goes to the filter, as in many tools; where text is typed it is a slash. */
function shortcut(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey) return;
  if (dialog.open || event.target.closest("input, select")) return;
  event.preventDefault();
  document.getElementById("queries").scrollIntoView();
  queries.focus();
}

function start() {
  queries.element.querySelector(".filters").prepend(measureChoice("table-measure"));
  chosen.hear.push((column) => queries.show(tableRows(data.queries, column, Boolean(data.measures[column]?.lower))));
  const sections = [
    section("measures", "Measures", "", cardsKey(data), ...cards(data.measures)),
    data.recommendations.length ? section("advice", "What to look at",
      "Found by rules over these numbers; each names the queries that it rests on.",
      ...recommendationList(data, openQuery, showOnly)) : null,
    comparison(),
    data.segments.length && data.measures.length ? segments() : null,
    section("queries", "Queries", `Choose a query to see its rankings, what was expected and what came.${restWords(data)}`,
      queries.element),
    failureList(data, openQuery),
    latency(),
  ].filter(Boolean);
  document.getElementById("report").replaceChildren(...sections);
  const links = [...document.querySelectorAll("main > section[id], #report > section")]
    .map((part) => el("a", { href: `#${part.id}` }, part.querySelector("h2").textContent));
  document.querySelector("header.bar").append(el("nav", { "aria-label": "Sections" }, links), themeButton());
  const worst = (kind) => data.measures.findIndex(({ standing }) => standing[0] === kind);
  choose(Math.max(0, ["fail", "inconclusive", "degraded"].map(worst).find((column) => column >= 0) ?? 0));
  dialog.addEventListener("close", closed);
  addEventListener("popstate", follow);
  addEventListener("keydown", shortcut);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  follow();
}

start();
