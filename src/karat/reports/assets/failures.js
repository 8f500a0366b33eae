// What went wrong and what to do: the queries that failed, and what the rules over the numbers advise.

const FAILURES = 6, ADVICE = 6; // that are seen at once
const LINKS = 8;

/** The beginning of what was expected, for a failure. */
function expectedList(data, query) {
  if (query.unanswerable) return el("p", { class: "quiet" }, "Nothing: this query has no answer.");
  if (!query.expected.length) return el("p", { class: "quiet" }, "No document is judged relevant.");
  const shown = query.expected.slice(0, 3), more = query.expected.length - shown.length;
  return el("ul", { class: "plain" },
    shown.map(([place, , rank]) => el("li", {}, bdi(short(titleOf(data, place), 100, 25)), " ",
      el("b", {}, known(rank) ? `came at rank ${rank}` : "did not come"))),
    more ? el("li", { class: "quiet" }, `and ${more} more`) : null);
}

/** The beginning of what came, for a failure. */
function cameList(data, query) {
  const hits = query.hits.slice(0, 3).map((hit, rank) => hitOf(data, hit, rank));
  if (!hits.length) return el("p", { class: "quiet" }, "Nothing came.");
  return el("ol", { class: "plain" }, hits.map((hit) =>
    el("li", {}, `${hit.rank}. `, bdi(short(hit.title, 100, 25)), " ", gradeBadge(hit.grade, data.relevant))));
}

/** Why a query failed, then its cause and whether that is new, as far as they are known. */
function failureLines(query) {
  return query.failure.map((line, number) => el("li", { class: number ? "quiet" : "" }, number ? line : `✗ ${line}`));
}

function failureItem(data, index, open) {
  const query = data.queries[index];
  return el("li", {},
    el("h3", {}, el("button", { type: "button", class: "link", onclick: () => open(index) },
      el("span", { class: "small quiet" }, bdi(query.id)), el("span", { class: "text", dir: "auto" }, query.text))),
    el("ul", { class: "failure small plain" }, failureLines(query)),
    query.brief ? elsewhere(data, query) : el("div", { class: "pair small" },
      el("div", {}, el("h4", {}, "Expected"), expectedList(data, query)),
      el("div", {}, el("h4", {}, "Came first"), cameList(data, query))));
}

/** The queries that failed, the grave ones first, a few at a time. */
function failureList(data, open) {
  const failed = [...data.queries.keys()].filter((index) => data.queries[index].failure.length)
    .sort((a, b) => data.queries[b].grave - data.queries[a].grave);
  const list = growing(el("ul", { class: "failures" }), failed, (index) => failureItem(data, index, open), FAILURES, 20,
    "failure");
  const share = `${failed.length.toLocaleString("en")} of ${queryCount(data.queries.length)}`;
  const how = "got an error, found nothing relevant, missed what they must reach, or lie below a limit of their own";
  const unknown = failed.length - data.new - data.old;
  const rest = unknown > 0 ? `, and says nothing of ${unknown.toLocaleString("en")}` : "";
  const against = data.new || data.old ? ` ${data.new.toLocaleString("en")} are new against the baseline, which failed `
    + `${data.old.toLocaleString("en")}, too${rest}.` : "";
  const causes = " A cause is what the run alone shows; karat explain asks the system again, and finds more.";
  const said = failed.length ? `${share} ${how}.${against}${causes}` : "No query failed.";
  return section("failures", "Failures", said, fixedLine(data, open), ...list);
}

/** The queries that the baseline failed and this run does not, each a link. */
function fixedLine(data, open) {
  if (!data.fixed.length) return null;
  const shown = data.fixed.slice(0, LINKS), more = data.fixed.length - shown.length;
  return el("p", { class: "small links" }, `Fixed since the baseline (${data.fixed.length.toLocaleString("en")}): `,
    shown.map((index) => button(bdi(data.queries[index].id), () => open(index), "link")), more ? ` and ${more} more` : null);
}

/** What the rules over the numbers advise, with the queries that it rests on. */
function recommendationList(data, open, only) {
  const link = (index) => button(bdi(data.queries[index].id), () => open(index), "link");
  const item = ({ finding, advice, queries }) => el("li", {},
    el("p", {}, el("b", {}, sentence(finding)), el("br"), sentence(advice)),
    el("p", { class: "small links" }, queries.slice(0, LINKS).map(link), queries.length <= LINKS ? null
      : button(`all ${queries.length.toLocaleString("en")}`, () => only(queries, "of this advice"), "link")));
  return growing(el("ol", { class: "advice" }), data.recommendations, item, ADVICE, Infinity, "finding");
}
