// Numbers as people read them.

/** A number with as many decimals as say something: 0.426, 31.5, 18,234. */
function figure(value, digits = 3) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  const shown = size < 10 ? digits : size < 1000 ? Math.min(digits, 1) : 0;
  const text = size.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown });
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** A change with its sign: +0.120, −0.030, 0.000. */
function signed(value, digits = 3) {
  const text = figure(value, digits);
  return known(value) && value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** A change in percent of what it was, in brackets; nothing where that says nothing. */
function percent(was, now) {
  if (!known(was) || !known(now) || !was || was === now) return "";
  return ` (${signed((100 * (now - was)) / Math.abs(was), 1)}\u00a0%)`;
}

function chance(p) {
  return p < 0.001 ? "p < 0.001" : `p = ${figure(p)}`;
}

function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function queryCount(count) {
  return counted(count, "query", "queries");
}

/** The value at a share of sorted numbers, such as the median at 0.5. */
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

// Each unit of time, with its milliseconds, is used from twice its size on: 1,300 ms is easier to compare than 1.3 s.
const UNITS = [["ms", 1], ["s", 1000], ["min", 60_000], ["h", 3_600_000]];

function unitOf(ms) {
  return UNITS.filter(([, size]) => ms >= 2 * size).pop() ?? UNITS[0];
}

/** A time of three digits or so: 0.43 ms, 428 ms, 4.28 s, 71.4 min. */
function duration(ms) {
  if (!known(ms)) return "–";
  const [name, size] = unitOf(ms);
  const value = ms / size;
  return `${figure(value, value < 10 ? 2 : value < 100 ? 1 : 0)}\u00a0${name}`;
}

/** The beginning of a long text, and of a name its end too, by which names differ. */
function short(text, most, end = 0) {
  return text.length > most ? `${text.slice(0, most - end - 1)}…${end ? text.slice(-end) : ""}` : text;
}

/** Words of a rule as a sentence. */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

/** Whether a number got better or worse. */
function state(was, now, lower) {
  if (!known(was) || !known(now)) return "";
  const change = lower ? was - now : now - was;
  return Math.abs(change) < 1e-9 ? "same" : change > 0 ? "better" : "worse";
}

/** A change as an arrow and a number, coloured by whether it is good; where less is better a word says it too. */
function changed(was, now, lower, after = "") {
  const how = state(was, now, lower);
  if (!how) return el("span", { class: "quiet" }, "–");
  if (how === "same") return el("span", { class: "same" }, "= same");
  const arrow = now > was ? "▲" : "▼", word = lower ? ` ${how}` : "";
  return el("span", { class: how }, `${arrow} ${signed(now - was)}${after}${word}`);
}
