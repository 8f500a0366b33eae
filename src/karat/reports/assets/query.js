// One query: what it scored, what was expected, where its results were and are, and what came.

/** A query as an object. Of very many, most are lists in the page's data, and have no rankings. */
function queryOf(row) {
  if (!Array.isArray(row)) return row;
  const [id, text, tags, scores, baseline, ms, failure = [], error = "", grave = false] = row;
  return { id, text, tags, scores, baseline, ms, failure, error, grave, brief: true };
}

/** What is left out of a page of very many queries; nothing is left out of others. */
function restWords(data) {
  return data.ranked ? ` The page holds the rankings of ${queryCount(data.ranked)}, those that failed, lost or gained `
    + "most; it has the scores of all, and karat show prints the rankings of any." : "";
}

/** Where to see the rankings of a query that this page leaves out. */
function elsewhere(data, { id }) {
  const word = (text) => (/^[\w.:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  return el("div", { class: "note elsewhere" }, "With its rankings this page would become too large. This prints them: ",
    el("code", {}, `karat show ${word(data.run)} ${word(id)}`));
}

/** What it scored, measure by measure. */
function scoreList(data, query) {
  return el("ul", { class: "scores" }, data.measures.map(({ name, lower }, i) => {
    const [was, now] = [query.baseline[i], query.scores[i]];
    return el("li", {}, bdi(name, "quiet small"), el("b", {}, figure(now)), el("span", { class: "small" },
      known(was) ? changed(was, now, lower) : el("span", { class: "quiet" }, "no baseline")));
  }));
}

/** What was expected, and at which rank it came, before and now. */
function expectedTable(data, query, hits) {
  if (query.unanswerable) return el("p", { class: "quiet" }, "Nothing: this query has no answer.");
  if (!query.expected.length) return el("p", { class: "quiet" }, "No document is judged relevant to this query.");
  const before = new Map([...hits.filter(({ was }) => known(was)).map(({ place, was }) => [place, was]),
    ...query.left.map(([place, was]) => [place, was])]);
  const rank = (value) => (known(value) ? `rank ${value}` : el("span", { class: "quiet" }, "not found"));
  const rows = query.expected.map(([place, grade, now]) => [
    bdi(short(titleOf(data, place), 140, 40)), gradeBadge(grade, data.relevant),
    ...(data.baseline ? [rank(before.get(place))] : []), rank(now)]);
  const heads = ["Document", "Grade", ...(data.baseline ? ["Baseline"] : []), "Candidate"];
  return table("Expected documents", heads, rows, [], [1]);
}

/** A result with its snippet. */
function resultItem(data, hit, wanted) {
  const channels = hit.channels.map(([name, rank]) => `${name} rank ${rank}`);
  return el("li", {},
    el("p", { class: "result" },
      el("span", { class: "rank" }, `${hit.rank} `), el("bdi", { class: "title" }, ...marked(hit.title, wanted)),
      gradeBadge(hit.grade, data.relevant), data.baseline ? movement(hit, data.relevant) : null),
    hit.snippet ? el("p", { class: "snippet", dir: "auto" }, ...marked(hit.snippet, wanted)) : null,
    el("p", { class: "quiet small" }, [hit.id, `score ${figure(hit.score, 4)}`, ...channels].join(" · ")));
}

/** Put the page's address into the clipboard; a browser that forbids it still shows the address. */
function copyLink(event) {
  const said = (text) => { event.target.textContent = text; };
  const copied = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
  copied.then(() => said("Copied"), () => said("Copy it from the address bar"));
}

function queryBar(dialog, at, count, go) {
  return el("div", { class: "bar-top" },
    button(["←", el("span", { class: "wide" }, " Previous")], () => go(-1), "previous", "Previous query"),
    button([el("span", { class: "wide" }, "Next "), "→"], () => go(1), "next", "Next query"),
    el("span", { class: "quiet small" }, `${at.toLocaleString("en")} of ${count.toLocaleString("en")}`),
    button("Copy link", copyLink, "copy"), button("Close", () => dialog.close(), "close"));
}

/** The parts of a query that there is something to say in. */
function queryParts(data, query) {
  const facts = [query.id, ...query.tags.map(([name, value]) => `${name} ${value}`)];
  if (known(query.ms)) facts.push(duration(query.ms));
  return [
    el("h2", { id: "query-title", dir: "auto" }, query.text),
    el("p", { class: "quiet" }, facts.join(" · ")),
    el("ul", { class: "plain failure" }, failureLines(query)),
    scoreList(data, query),
    ...(query.brief ? [elsewhere(data, query)] : rankingParts(data, query)),
  ];
}

/** What was expected, both rankings, and what came. */
function rankingParts(data, query) {
  const hits = query.hits.map((hit, index) => hitOf(data, hit, index));
  const wanted = terms(query.text);
  const compared = data.baseline && (hits.length || query.left.length);
  return [
    el("h3", {}, "Expected"), expectedTable(data, query, hits),
    compared ? el("h3", {}, "Ranking") : null,
    compared ? el("p", { class: "caption" },
      "Lines join the same document; relevant ones are strong. Words of the query are marked.") : null,
    compared ? rankings(data, query, hits, wanted) : null,
    el("h3", {}, "What came"),
    hits.length ? el("ol", { class: "results" }, hits.map((hit) => resultItem(data, hit, wanted)))
      : el("p", { class: "quiet" }, query.error || "Nothing came."),
    query.found > hits.length ? el("p", { class: "quiet" }, `The first ${hits.length} of ${query.found} are shown.`)
      : null,
  ].filter(known);
}

/** Show a query in the dialog, as the one `at` a place of `count`. `step` goes to the one before or after it. */
function showQuery(data, query, at, count, step) {
  const dialog = document.getElementById("query");
  const go = (by) => {
    step(by);
    dialog.querySelector(by < 0 ? ".previous" : ".next").focus(); // all buttons are new ones
  };
  dialog.replaceChildren(queryBar(dialog, at, count, go), ...queryParts(data, query));
  dialog.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && !event.altKey && !event.target.closest(".scroll")) go(by);
  };
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
