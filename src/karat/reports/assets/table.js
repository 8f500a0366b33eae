// The table of queries: sorted, filtered and shown a page at a time, so that ten thousand are as quick as ten.

const PAGE = 25;
const collator = new Intl.Collator("en", { numeric: true }); // made once: comparing through it is far quicker

/** The columns; without a baseline there is nothing to compare with. */
function tableColumns(compared, open) {
  const number = (name, head) => ({ key: name, head, kind: "number", cell: (row) => figure(row[name]) });
  const change = { key: "change", head: "Change", kind: "number", cell: (row) => changed(row.was, row.now, row.lower) };
  const failed = () => el("span", { class: "failure", title: "failed" }, "✗ ");
  const query = (row) => button([el("span", { class: "id" }, row.failed ? failed() : null, bdi(row.id)),
    el("span", { class: "text", dir: "auto" }, row.text)], () => open(row.index), "link");
  return [
    { key: "id", head: "Query", cell: query },
    ...(compared ? [change] : []), number("now", "Candidate"), ...(compared ? [number("was", "Baseline")] : []),
    { key: "tag", head: "Segment", cell: (row) => bdi(row.tag, "clamp"), kind: "segment" },
    { key: "ms", head: "Time", cell: (row) => duration(row.ms), kind: "number" },
  ];
}

/** The order of two cells, upwards or with the sign -1 downwards; what is missing comes last either way. */
function compareCells(a, b, sign) {
  if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
  return sign * (typeof a === "string" ? collator.compare(a, b) : a - b);
}

/** The rows of a measure. */
function tableRows(queries, column, lower) {
  return queries.map((query, index) => {
    const [was, now] = [query.baseline[column], query.scores[column]];
    const change = known(was) && known(now) ? now - was : null;
    const { id, text, ms, tags: [[, tag = ""] = []], failure } = query;
    return { index, id, text, ms, tag, was, now, lower, change, how: state(was, now, lower), failed: failure.length > 0 };
  });
}

/** A choice of the values that the queries' fields have; a value is its field and itself, as JSON. */
function segmentOptions(queries) {
  const found = new Map();
  for (const { tags } of queries) {
    for (const [field, value] of tags) {
      if (!found.has(field)) found.set(field, new Set());
      found.get(field).add(value);
    }
  }
  return [...found].map(([field, values]) => el("optgroup", { label: field },
    [...values].sort(collator.compare).map((value) => el("option", { value: JSON.stringify([field, value]) }, value))));
}

/** The filters: what is typed, a state, a segment, and queries that another part of the page chose. */
function tableFilters(data, changed) {
  const search = el("input", { type: "search", id: "search", placeholder: "id, words or segment", oninput: changed });
  const moves = data.baseline ? [["worse", "worse"], ["better", "better"], ["same", "the same"]] : [];
  const state = choice("state", "Show", [["", "all"], ...moves, ["failed", "failures"]], changed);
  const segment = choice("segment", "Segment", [["", "all"]], changed);
  segment.lastChild.append(...segmentOptions(data.queries));
  const only = button("", () => { filters.only = null; changed(); }, "only");
  const filters = { only: null, state: state.lastChild, segment: segment.lastChild, search,
    element: el("div", { class: "filters" }, el("label", { for: "search" }, "Search", search, el("kbd", {}, "/")),
      state, segment, only) };
  const texts = data.queries.map(({ id, text, tags }) => [id, text, ...tags.map((tag) => tag[1])].join("\n").toLowerCase());
  /** Whether a row passes, made once for all rows. */
  filters.test = () => {
    const wanted = search.value.trim().toLowerCase(), how = filters.state.value;
    const [field, value] = filters.segment.value ? JSON.parse(filters.segment.value) : [];
    only.hidden = !filters.only;
    only.textContent = filters.only ? `Only ${queryCount(filters.only.size)} ${filters.why} ✕` : "";
    only.title = "Show all";
    return (row) => (!filters.only || filters.only.has(row.index))
      && (!wanted || texts[row.index].includes(wanted))
      && (!how || (how === "failed" ? row.failed : row.how === how))
      && (!field || data.queries[row.index].tags.some(([name, tag]) => name === field && tag === value));
  };
  filters.set = (values) => {
    search.value = values.text ?? "";
    filters.state.value = values.state ?? "";
    filters.segment.value = values.segment ?? "";
    [filters.only, filters.why] = [values.only ? new Set(values.only) : null, values.why ?? ""];
    changed();
  };
  return filters;
}

/** Make the table; `open` is called with the index of the query that is chosen. */
function queryTable(data, open) {
  const view = { rows: [], order: [], sort: data.baseline ? "change" : "now", down: false, page: 0 };
  const columns = tableColumns(data.baseline, open);
  const filters = tableFilters(data, () => refresh());
  const status = el("p", { role: "status", class: "quiet" });
  const body = el("tbody");
  const heads = columns.map((column) => el("th", { scope: "col", class: column.kind },
    button(column.head, () => sortBy(column.key), "sort")));
  const before = button("← Previous page", () => turn(-1)), after = button("Next page →", () => turn(1));

  function sortBy(name) {
    view.down = view.sort === name ? !view.down : false;
    view.sort = name;
    refresh();
  }

  function turn(by) {
    view.page += by;
    draw();
  }

  function refresh() {
    const sign = view.down ? -1 : 1;
    view.order = view.rows.filter(filters.test())
      .sort((a, b) => compareCells(a[view.sort], b[view.sort], sign) || a.index - b.index);
    view.page = 0;
    draw();
  }

  function draw() {
    const from = view.page * PAGE;
    const shown = view.order.slice(from, from + PAGE);
    body.replaceChildren(...shown.map((row) => el("tr", { onclick: (event) => {
      if (!event.target.closest("button")) open(row.index);
    } }, columns.map((column) => el("td", { class: column.kind }, column.cell(row))))));
    columns.forEach(({ key }, i) => {
      if (key === view.sort) heads[i].setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else heads[i].removeAttribute("aria-sort");
    });
    const [first, last] = [from + 1, from + shown.length].map((place) => place.toLocaleString("en"));
    status.textContent = !shown.length ? "No query matches." : shown.length === view.order.length
      ? queryCount(shown.length) : `${first} to ${last} of ${queryCount(view.order.length)}`;
    before.disabled = view.page === 0;
    after.disabled = from + PAGE >= view.order.length;
    pages.hidden = view.order.length <= PAGE;
  }

  const pages = el("div", { class: "pages" }, before, after);
  const shown = el("table", { class: "queries" }, el("thead", {}, el("tr", {}, heads)), body);
  const element = el("div", {}, filters.element, status,
    el("div", { class: "panel" }, scrollable("Table of queries", shown)), pages);
  return {
    element,
    tags: new Set(Array.from(filters.segment.options, ({ value }) => value)),
    filter: filters.set,
    focus: () => filters.search.focus(),
    order: () => view.order.map((row) => row.index),
    show: (rows) => { view.rows = rows; refresh(); },
  };
}
