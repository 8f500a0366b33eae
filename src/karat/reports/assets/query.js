// One query: what it scored, where its results were and are, what was expected and what came.

const STOP_WORDS = new Set(("a an and any are as at be but by can did do does for from had has have how i if in is it "
  + "its me my no not of on or our so than that the their them then there they this to was we were what when where "
  + "which who why will with would you your").split(" "));
const words = new Intl.Segmenter(undefined, { granularity: "word" }); // knows the words of Chinese and Japanese too

/** A word as it is compared: lower case, without the plural's s. */
function folded(word) {
  const lower = word.toLowerCase();
  return lower.length > 3 && lower.endsWith("s") && !lower.endsWith("ss") ? lower.slice(0, -1) : lower;
}

/** The words of a query that say something. */
function terms(text) {
  const says = (word) => !STOP_WORDS.has(word.toLowerCase()) && !/^[a-z]$/i.test(word);
  return new Set([...words.segment(text)]
    .filter(({ isWordLike, segment }) => isWordLike && says(segment)).map(({ segment }) => folded(segment)));
}

/** A text with the terms of the query marked. */
function marked(text, wanted) {
  const parts = [];
  for (const { segment, isWordLike } of words.segment(text)) {
    if (isWordLike && wanted.has(folded(segment))) parts.push(el("mark", {}, segment));
    else if (typeof parts.at(-1) === "string") parts[parts.length - 1] += segment;
    else parts.push(segment);
  }
  return parts;
}

/** A hit as an object; in the page's data it is a list, because there are many. */
function hitOf(data, [passage, place, score, grade, was, ...ranks], index) {
  const [id, snippet] = known(passage) ? data.passages[passage] : ["", ""];
  const [name, title] = data.documents[place];
  const channels = data.channels.map((channel, i) => [channel, ranks[i]]).filter(([, rank]) => known(rank));
  return { rank: index + 1, id: id || name, title: title || name, snippet, score, grade, was, channels };
}

/** The least grade that counts as relevant, as what is expected tells. */
function leastRelevant(queries) {
  let least = Infinity;
  for (const { expected } of queries) for (const [, grade] of expected) least = Math.min(least, grade);
  return least;
}

function gradeBadge(grade, relevant) {
  return known(grade) ? el("span", { class: grade >= relevant ? "grade relevant" : "grade" }, `grade ${grade}`)
    : el("span", { class: "grade" }, "not judged");
}

function movement({ rank, was }) {
  if (!known(was)) return "new";
  return was === rank ? "same rank" : was > rank ? `▲ up ${was - rank}` : `▼ down ${rank - was}`;
}

/** What was expected, and where it came. */
function expectedList(data, query, most = Infinity) {
  if (!query.expected.length) return el("p", { class: "quiet" }, "No document is judged relevant.");
  const shown = query.expected.slice(0, most), more = query.expected.length - shown.length;
  return el("ul", { class: "plain" },
    shown.map(([place, grade, rank]) => {
      const [name, title] = data.documents[place];
      return el("li", {}, gradeBadge(grade, data.relevant), " ", title || name, " ",
        el("b", {}, known(rank) ? `came at rank ${rank}` : "did not come"));
    }),
    more ? el("li", { class: "quiet" }, `and ${more} more`) : null);
}

/** The beginning of what came, for a failure. */
function cameList(hits, relevant) {
  if (!hits.length) return el("p", { class: "quiet" }, "Nothing came.");
  return el("ol", { class: "plain" }, hits.slice(0, 3).map((hit) =>
    el("li", {}, `${hit.rank}. ${hit.title} `, gradeBadge(hit.grade, relevant))));
}

/** The two rankings side by side, with a line from where a document was to where it is. */
function rankings(data, query, hits) {
  const before = [
    ...hits.filter((hit) => known(hit.was)).map((hit) => ({ rank: hit.was, title: hit.title, grade: hit.grade })),
    ...query.left.map(([place, rank, grade]) => ({ rank, title: data.documents[place][1] || data.documents[place][0],
      grade, gone: true })),
  ].sort((a, b) => a.rank - b.rank);
  // A baseline may know of a place only that it was taken, by something that is no longer found.
  const last = Math.max(hits.length, ...before.map(({ rank }) => rank));
  const was = Array.from({ length: last }, (_, i) => before.find(({ rank }) => rank === i + 1)
    ?? { rank: i + 1, title: i < hits.length ? "something that is no longer found" : "", gone: true, unknown: true });
  const side = (name, rows) => el("div", {}, el("h4", {}, name), el("ol", { class: "ranking" }, rows.map((row) =>
    el("li", { class: row.unknown ? "gone quiet" : row.gone ? "gone" : null },
      el("span", { class: "rank" }, String(row.rank)), el("span", { class: "name" }, row.title),
      row.unknown ? null : gradeBadge(row.grade, data.relevant)))));
  return el("div", { class: "rankings" }, side("Was", was), slopes(hits, last), side("Now", hits));
}

function slopes(hits, rows) {
  const height = 52; // of a row, as in the style
  const moved = hits.filter((hit) => known(hit.was));
  const said = moved.length ? moved.map((hit) => `${hit.was} to ${hit.rank}`).join(", ") : "none";
  const picture = drawing(60, rows * height, `Ranks, from the baseline to now: ${said}`,
    ...moved.map((hit) => line(0, (hit.was - 0.5) * height, 60, (hit.rank - 0.5) * height,
      `slope ${hit.was === hit.rank ? "still" : hit.was > hit.rank ? "up" : "down"}`)));
  picture.setAttribute("preserveAspectRatio", "none"); // narrower on a phone, but never lower
  return el("div", { class: "slopes" }, picture);
}

/** A result with its snippet. */
function resultItem(data, hit, wanted) {
  const facts = [hit.id, `score ${fixed(hit.score, 4)}`, ...hit.channels.map(([name, rank]) => `${name} rank ${rank}`)];
  return el("li", {},
    el("p", { class: "result" },
      el("span", { class: "rank" }, String(hit.rank)), el("b", {}, ...marked(hit.title, wanted)), " ",
      gradeBadge(hit.grade, data.relevant), " ",
      data.baseline ? el("span", { class: "quiet" }, movement(hit)) : null),
    hit.snippet ? el("p", { class: "snippet" }, ...marked(hit.snippet, wanted)) : null,
    el("p", { class: "quiet small" }, facts.join(" · ")));
}

/** Show a query in the dialog. `step` goes to the one before or after it in the table. */
function showQuery(data, query, step) {
  const hits = query.hits.map((hit, index) => hitOf(data, hit, index));
  const wanted = terms(query.text);
  const scores = data.measures.map((measure, i) => [measure.name, fixed(query.baseline[i]), fixed(query.scores[i]),
    known(query.baseline[i]) && known(query.scores[i]) ? signed(query.scores[i] - query.baseline[i]) : "–"]);
  const dialog = document.getElementById("query");
  const tags = Object.entries(query.tags).map(([name, value]) => `${name} ${value}`);
  const go = (by, place) => () => {
    step(by);
    dialog.querySelectorAll("button")[place].focus(); // the buttons are new ones: stay on the one that was pressed
  };
  dialog.replaceChildren(...[
    el("div", { class: "bar-top" },
      el("button", { type: "button", onclick: go(-1, 0) }, "← Previous"),
      el("button", { type: "button", onclick: go(1, 1) }, "Next →"),
      el("button", { type: "button", class: "close", onclick: () => dialog.close() }, "Close")),
    el("h2", { id: "query-title" }, query.text),
    el("p", { class: "quiet" }, [query.id, ...tags, known(query.ms) ? `${fixed(query.ms, 1)} ms` : ""]
      .filter(Boolean).join(" · ")),
    query.failure ? el("p", { class: "failure" }, `✗ ${query.failure}`) : null,
    table("Scores", ["Measure", "Was", "Now", "Change"], scores, [1, 2, 3]),
    el("h3", {}, "Expected"), expectedList(data, query),
    data.baseline && hits.length ? el("h3", {}, "Ranking, was and now") : null,
    data.baseline && hits.length ? rankings(data, query, hits) : null,
    el("h3", {}, "What came"),
    hits.length ? el("ol", { class: "results" }, hits.map((hit) => resultItem(data, hit, wanted)))
      : el("p", { class: "quiet" }, query.error || "Nothing came."),
    query.found > hits.length ? el("p", { class: "quiet" }, `The first ${hits.length} of ${query.found} are shown.`)
      : null,
  ].filter(known));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
