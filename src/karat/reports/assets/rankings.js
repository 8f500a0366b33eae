// What was found: hits, grades, and the two rankings side by side, with the words of the query marked.

const ROW = 48; // pixels, as in the style
const STOP_WORDS = new Set(("a an and any are as at be but by can did do does for from had has have how i if in is it "
  + "its me my no not of on or our so than that the their them then there they this to was we were what when where "
  + "which who why will with would you your").split(" "));
// The segmenter knows the words of Chinese and Japanese too; browsers without it get the words between spaces.
const segmenter = Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

/** The parts of a text, in order, each with whether it is a word. */
function parts(text) {
  if (segmenter) return Array.from(segmenter.segment(text), ({ segment, isWordLike }) => [segment, isWordLike]);
  return text.split(/([\p{L}\p{N}]+)/u).map((part, i) => [part, i % 2 === 1]);
}

/** A word as it is compared: lower case, without the plural's s. */
function folded(word) {
  const lower = word.toLowerCase();
  return lower.length > 3 && lower.endsWith("s") && !lower.endsWith("ss") ? lower.slice(0, -1) : lower;
}

/** The words of a query that say something. */
function terms(text) {
  const says = (word) => !STOP_WORDS.has(word.toLowerCase()) && !/^[a-z]$/i.test(word);
  return new Set(parts(text).filter(([part, word]) => word && says(part)).map(([part]) => folded(part)));
}

/** A text with the terms of the query marked. */
function marked(text, wanted) {
  const found = [];
  for (const [part, word] of parts(text)) {
    const last = found.length - 1;
    if (word && wanted.has(folded(part))) found.push(el("mark", {}, part));
    else if (typeof found[last] === "string") found[last] += part;
    else found.push(part);
  }
  return found;
}

/** A hit as an object; in the page's data it is a list, because there are many. */
function hitOf(data, [passage, place, score, grade, was, ...ranks], index) {
  const [id, snippet] = known(passage) ? data.passages[passage] : ["", ""];
  const channels = data.channels.map((channel, i) => [channel, ranks[i]]).filter(([, rank]) => known(rank));
  const names = { id: id || data.documents[place][0], title: titleOf(data, place) };
  return { ...names, rank: index + 1, place, snippet, score, grade, was, channels };
}

function titleOf(data, place) {
  const [id, title] = data.documents[place];
  return title || id;
}

/** The least grade that counts as relevant, as what is expected tells. */
function leastRelevant(queries) {
  let least = Infinity;
  for (const { expected = [] } of queries) for (const [, grade] of expected) least = Math.min(least, grade);
  return least;
}

function gradeBadge(grade, relevant) {
  return known(grade) ? el("span", { class: grade >= relevant ? "grade relevant" : "grade" }, `grade ${grade}`)
    : el("span", { class: "grade" }, "not judged");
}

/** How a hit moved: a sign with a number, and words for who hears it. Good or bad it is only of what is relevant. */
function movement({ rank, was, grade }, relevant) {
  const by = Math.abs(was - rank);
  const [sign, words, how] = !known(was) ? ["new", "new", "up"] : !by ? ["=", "same rank", "same"]
    : was > rank ? [`▲ ${by}`, `up ${by}`, "up"] : [`▼ ${by}`, `down ${by}`, "down"];
  const kind = known(grade) && grade >= relevant ? `moved ${how}` : "moved";
  return el("span", { class: kind, role: "img", "aria-label": words }, sign);
}

/** The baseline's ranking: what is still found, what left, and places of which only is known that they were taken. */
function rankingBefore(data, query, hits) {
  const found = new Map();
  for (const { was, place, title, grade } of hits) if (known(was)) found.set(was, { rank: was, place, title, grade });
  for (const [place, rank, grade] of query.left) {
    found.set(rank, { rank, place, title: titleOf(data, place), grade, gone: true });
  }
  const last = Math.max(0, ...found.keys());
  const taken = (rank) => ({ rank, title: "no longer found", unknown: true });
  return Array.from({ length: last }, (_, i) => found.get(i + 1) ?? taken(i + 1));
}

function rankingSide(data, name, rows, wanted) {
  const relevant = (row) => known(row.grade) && row.grade >= data.relevant;
  const kind = (row) => [row.unknown ? "unknown" : "", row.gone ? "gone" : "", relevant(row) ? "relevant" : ""]
    .filter(Boolean).join(" ") || null;
  return el("div", {}, el("h4", {}, name), el("ol", { class: "ranking" }, rows.map((row) =>
    el("li", { class: kind(row), "data-place": row.place },
      el("span", { class: "rank" }, String(row.rank)),
      el("span", { class: "name", title: row.unknown ? null : row.title, dir: "auto" }, ...marked(row.title, wanted)),
      row.gone ? el("span", { class: relevant(row) ? "moved down" : "moved" }, "gone") : null,
      row.now ? movement(row, data.relevant) : null,
      row.unknown ? null : gradeBadge(row.grade, data.relevant)))));
}

/** The two rankings side by side, with a line from where a document was to where it is. */
function rankings(data, query, hits, wanted) {
  const before = rankingBefore(data, query, hits);
  const now = hits.map((hit) => ({ ...hit, now: true }));
  const element = el("div", { class: "rankings" }, rankingSide(data, "Baseline", before, wanted),
    slopes(data, hits, before), rankingSide(data, "Candidate", now, wanted));
  const light = (event) => {
    const place = event.type === "pointerleave" ? null : event.target.closest("[data-place]")?.dataset.place;
    element.querySelectorAll("[data-place]").forEach((one) => one.classList.toggle("lit", one.dataset.place === place));
  };
  element.addEventListener("pointerover", light);
  element.addEventListener("pointerleave", light);
  return element;
}

function slopes(data, hits, before) {
  const width = 64, height = Math.max(hits.length, before.length) * ROW, y = (rank) => (rank - 0.5) * ROW;
  const weight = ({ grade }) => (known(grade) && grade >= data.relevant ? "relevant" : "");
  const moved = hits.filter((hit) => known(hit.was)), fresh = hits.filter((hit) => !known(hit.was));
  const said = moved.map((hit) => `${hit.was} to ${hit.rank}`).join(", ") || "none";
  const slope = (row, from, to, how) => {
    const drawn = line(...from, ...to, `slope ${how} ${weight(row)}`);
    drawn.dataset.place = row.place;
    return drawn;
  };
  const picture = drawing(width, height, `Ranks, from the baseline to the candidate: ${said}`,
    ...moved.map((hit) => slope(hit, [0, y(hit.was)], [width, y(hit.rank)], "")),
    ...fresh.map((hit) => slope(hit, [width - 12, y(hit.rank)], [width, y(hit.rank)], "stub")),
    ...before.filter((row) => row.gone).map((row) => slope(row, [0, y(row.rank)], [12, y(row.rank)], "stub lost")));
  picture.setAttribute("preserveAspectRatio", "none"); // narrower on a phone, but never lower
  return el("div", { class: "slopes" }, picture);
}
