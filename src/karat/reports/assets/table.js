// The table of queries: sorted, filtered and shown a page at a time, so that ten thousand are as quick as ten.

const PAGE = 25;

/**
 * Make the table; `open` is called with the index of the query that is chosen. Returned are the element, and functions
 * to show rows, to show only some queries, and to know the order in which they stand.
 */
function queryTable(queries, open) {
  const view = { rows: [], order: [], sort: "index", down: false, page: 0, only: null };
  const columns = [
    { key: "id", head: "Query", cell: (row) => el("button",
      { type: "button", class: "link", onclick: () => open(row.index) },
      el("span", { class: "small quiet" }, row.id), el("span", { class: "text" }, row.text)) },
    { key: "tag", head: "Segment", cell: (row) => row.tag, kind: "wide" },
    { key: "was", head: "Was", cell: (row) => fixed(row.was), kind: "number wide" },
    { key: "now", head: "Now", cell: (row) => fixed(row.now), kind: "number" },
    { key: "change", head: "Change", kind: "number", cell: (row) =>
      el("span", { class: row.state }, `${SIGNS[row.state] ?? ""} ${signed(row.change)}`) },
    { key: "ms", head: "ms", cell: (row) => fixed(row.ms, 1), kind: "number wide" },
  ];
  const search = el("input", { type: "search", id: "search", oninput: () => refresh() });
  const states = el("select", { id: "state", onchange: () => refresh() },
    [["", "all"], ["worse", "worse"], ["better", "better"], ["same", "the same"], ["failure", "failures"]]
      .map(([value, text]) => el("option", { value }, text)));
  const segments = segmentSelect(queries, () => refresh());
  const only = el("button", { type: "button", hidden: true, onclick: () => { view.only = null; refresh(); } });
  const status = el("p", { role: "status", class: "quiet" });
  const body = el("tbody");
  const heads = columns.map((column) => el("th", { scope: "col", class: column.kind },
    el("button", { type: "button", class: "sort", onclick: () => sortBy(column.key) }, column.head)));
  const before = el("button", { type: "button", onclick: () => turn(-1) }, "← Previous page");
  const after = el("button", { type: "button", onclick: () => turn(1) }, "Next page →");

  function matches(row) {
    const text = search.value.trim().toLowerCase();
    const [field, value] = segments.value ? JSON.parse(segments.value) : [];
    return (!view.only || view.only.has(row.index))
      && (!text || row.id.toLowerCase().includes(text) || row.text.toLowerCase().includes(text))
      && (!states.value || (states.value === "failure" ? row.failure : row.state === states.value))
      && (!field || queries[row.index].tags[field] === value);
  }

  function sortBy(key) {
    view.down = view.sort === key ? !view.down : false;
    view.sort = key;
    refresh();
  }

  function turn(by) {
    view.page += by;
    draw();
  }

  function refresh() {
    const sign = view.down ? -1 : 1;
    view.order = view.rows.filter(matches)
      .sort((a, b) => sign * compared(a[view.sort], b[view.sort]) || a.index - b.index);
    view.page = 0;
    draw();
  }

  function draw() {
    const from = view.page * PAGE;
    const shown = view.order.slice(from, from + PAGE);
    body.replaceChildren(...shown.map((row) => el("tr", {},
      columns.map((column) => el("td", { class: column.kind }, column.cell(row))))));
    columns.forEach((column, i) => {
      if (column.key === view.sort) heads[i].setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else heads[i].removeAttribute("aria-sort");
    });
    status.textContent = shown.length
      ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of `
        + counted(view.order.length, "query", "queries")
      : "No query matches.";
    only.hidden = !view.only;
    only.textContent = `Only ${counted(view.only?.size ?? 0, "query", "queries")} of the plot: show all`;
    before.disabled = view.page === 0;
    after.disabled = from + PAGE >= view.order.length;
  }

  const element = el("div", {},
    el("div", { class: "filters" },
      el("label", { for: "search" }, "Search", search), el("label", { for: "state" }, "Show", states),
      el("label", { for: "segment" }, "Segment", segments), only),
    status,
    scrollable("Table of queries", el("table", { class: "queries" }, el("thead", {}, el("tr", {}, heads)), body)),
    el("div", { class: "pages" }, before, after));
  return {
    element,
    order: () => view.order.map((row) => row.index),
    show: (rows) => { view.rows = rows; refresh(); },
    showOnly: (indexes) => { view.only = new Set(indexes); refresh(); },
  };
}

/** The order of two cells; what is missing counts as the least. */
function compared(a, b) {
  if (!known(a) || !known(b)) return Number(known(a)) - Number(known(b));
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
}

/** A choice of the values that the queries' fields have. */
function segmentSelect(queries, onchange) {
  const found = new Map();
  for (const query of queries) {
    for (const [field, value] of Object.entries(query.tags)) {
      if (!found.has(field)) found.set(field, new Set());
      found.get(field).add(value);
    }
  }
  return el("select", { id: "segment", onchange }, el("option", { value: "" }, "all"),
    [...found].map(([field, values]) => el("optgroup", { label: field },
      [...values].sort().map((value) => el("option", { value: JSON.stringify([field, value]) }, value)))));
}
