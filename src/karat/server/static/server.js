"use strict";
// Keyboard, theme, live updates and pictures as files. Everything can be read, and every link followed, without it.

const main = document.querySelector("main");
/* A dialog that was just closed has the focus until the next frame, and takes no keys any more. */
const typing = (target) => target.closest("input, select, textarea, dialog[open], [contenteditable]") !== null;

/* Theme. */
const themeButton = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
function showTheme() {
  themeButton.hidden = false;
  themeButton.textContent = isDark() ? "Light" : "Dark";
}
themeButton.addEventListener("click", () => { keepTheme(isDark() ? "light" : "dark"); showTheme(); });
dark.addEventListener("change", showTheme);
showTheme();

/* On a phone the bar of pages is longer than the screen: the current one is in sight. */
const current = document.querySelector("header nav [aria-current]");
if (current) current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.offsetLeft - 40;

/* Help. */
const keys = document.getElementById("keys");
const help = document.getElementById("help");
help.hidden = false;
help.addEventListener("click", () => keys.showModal());

/* Rows: j and k move, Enter opens, x chooses. */
const rows = () => [...main.querySelectorAll("[data-row]")];
let lit = -1;
function light(place) {
  const all = rows();
  if (!all.length) return;
  lit = Math.max(0, Math.min(all.length - 1, place));
  all.forEach((row, index) => row.classList.toggle("lit", index === lit));
  const around = all[lit].closest(".scroll"), left = around?.scrollLeft;
  all[lit].scrollIntoView({ block: "nearest" });
  if (around) around.scrollLeft = left; // a row that is wider than its place would move it sideways
  all[lit].querySelector("a")?.focus({ preventScroll: true });
}
function choose(row) {
  const [first, second] = row.querySelectorAll("input[type=radio]");
  if (!first) return;
  (second && first.checked ? second : first).checked = true;
}

let leader = "", forgetting = 0;
function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const { key } = event;
  if (leader === "g") {
    leader = "";
    const link = document.querySelector(`nav a[data-key="${CSS.escape(key)}"]`);
    if (link) {
      event.stopImmediatePropagation(); // the key has another meaning alone, such as s where people judge
      link.click();
    }
    return;
  }
  const deeds = {
    g: () => { leader = "g"; clearTimeout(forgetting); forgetting = setTimeout(() => { leader = ""; }, 1500); },
    j: () => go("next", 1),
    k: () => go("prev", -1),
    x: () => { if (lit >= 0) choose(rows()[lit]); },
    "/": () => { main.querySelector("[data-search]")?.focus(); },
    "?": () => { keys.showModal(); },
  };
  if (key in deeds) {
    event.preventDefault();
    deeds[key]();
  }
}
/** On a page of one thing j and k lead to the next one; on a list they move along the rows. */
function go(relation, step) {
  const link = main.querySelector(`a[data-${relation}]`);
  if (link) link.click();
  else if (!rows().length) return;
  else light(lit + step);
}
document.addEventListener("keydown", press, true);

/* Filters take effect when something is chosen. */
main.addEventListener("change", (event) => {
  if (event.target.matches("form.filters select")) event.target.form.requestSubmit();
});
/* A browser that goes back puts what was chosen later into the fields; the address says what the page shows. */
addEventListener("pageshow", (event) => {
  const { type } = performance.getEntriesByType("navigation")[0] ?? {};
  if (!event.persisted && type !== "back_forward" && type !== "reload") return;
  main.querySelectorAll("form.filters").forEach((form) => form.reset());
  offerName();
});

/* Live: when something changes, the content of the page is fetched again and put in place, as soon as it is not in use. */
let stale = false, waiting = false, shown = main.innerHTML;
const isUsed = () => document.hidden || keys.open || typing(document.activeElement ?? document.body);
async function refresh() {
  stale = true;
  if (waiting || isUsed()) return;
  waiting = true;
  try {
    while (stale && !isUsed()) { // what changes while an answer is on its way may not be in it
      stale = false;
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (isUsed()) stale = true;
      else if (fresh && fresh.innerHTML !== shown) show(page);
    }
  } catch {
    return; // the server is gone; the stream connects again by itself
  } finally {
    waiting = false;
  }
}
/** Put another page in place of this one, with its title, its keys and the styles that are not here yet. */
function show(page) {
  document.title = page.title;
  for (const link of page.head.querySelectorAll("link[rel=stylesheet]")) {
    if (!document.head.querySelector(`link[href="${CSS.escape(link.getAttribute("href"))}"]`)) document.head.append(document.importNode(link));
  }
  if (!keys.open) keys.replaceChildren(...page.getElementById("keys").childNodes);
  replace(page.querySelector("main"));
}
/** Content that is being computed: ask for it with patience, and show it the moment that it is there. */
async function awaitContent() {
  for (let pause = 250; main.querySelector("[data-wait]"); pause = Math.min(2 * pause, 5000)) {
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html", prefer: "wait=20" } });
      if (answer.status !== 202) { show(new DOMParser().parseFromString(await answer.text(), "text/html")); return; }
      pause = 125;
    } catch { /* the server is gone, perhaps only for a moment */ }
    await new Promise((resolve) => { setTimeout(resolve, pause); });
  }
}
const catchUp = () => { if (stale && !document.hidden) refresh(); };
/** Put fresh content in place; the lit row, what is chosen and the focus stay with what they were about. */
function replace(fresh) {
  const link = (row) => row?.querySelector("a")?.getAttribute("href");
  const place = scrollY, all = rows(), was = link(all[lit]), focused = document.activeElement?.getAttribute("href");
  const chosen = [...main.querySelectorAll("input[type=radio]:checked")].filter((field) => !field.defaultChecked);
  shown = fresh.innerHTML;
  main.replaceChildren(...fresh.childNodes);
  for (const { name, value } of chosen) {
    const same = main.querySelector(`input[type=radio][name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`);
    if (same) same.checked = true;
  }
  scrollTo(0, place);
  if (was) lit = rows().findIndex((row) => link(row) === was);
  const row = rows()[lit];
  row?.classList.add("lit");
  const again = focused && `a[href="${CSS.escape(focused)}"]`;
  if (again) (row?.querySelector(again) ?? main.querySelector(again))?.focus({ preventScroll: true });
  decorate();
}
/** Show how far work is, without loading the page again. */
function showProgress({ id, stage, done, total }) {
  for (const place of main.querySelectorAll(`[data-work="${CSS.escape(id)}"]`)) {
    const bar = place.querySelector("progress");
    bar.max = Math.max(1, total);
    bar.value = done;
    place.querySelector("span").textContent = `${stage} ${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
  }
}
/* A page that follows what happens hears of it as events of the document: "karat-open", "karat-change" and "karat-progress". */
if (main.hasAttribute("data-follows") && "Worker" in window) {
  let stream = null;
  /* A page that nobody sees does not listen: a browser has six connections to a server for all its tabs together. */
  const listen = () => {
    if (stream || document.hidden) return;
    stream = new Worker(document.body.dataset.stream);
    stream.addEventListener("message", ({ data: { kind, said } }) => {
      document.dispatchEvent(new CustomEvent(`karat-${kind}`, { detail: said }));
    });
  };
  const rest = () => { stream?.terminate(); stream = null; };
  if (document.readyState === "complete") listen();
  else addEventListener("load", listen);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  document.addEventListener("visibilitychange", () => { if (document.hidden) rest(); else listen(); });
}
if (main.dataset.follows === "refresh") {
  let timer = 0, opened = 0;
  document.addEventListener("karat-open", () => { if (opened++) refresh(); }); // what changed meanwhile was not heard
  document.addEventListener("karat-change", () => { clearTimeout(timer); timer = setTimeout(refresh, 300); });
  document.addEventListener("karat-progress", (event) => { showProgress(JSON.parse(event.detail)); });
  document.addEventListener("visibilitychange", catchUp);
  document.addEventListener("focusout", () => { setTimeout(catchUp); });
  keys.addEventListener("close", catchUp);
}

/* Pictures as PNG. */
function offerPng(figure) {
  const link = figure.querySelector("a[download]"), picture = figure.querySelector("svg");
  if (!link || !picture || figure.querySelector("button.png")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "link png";
  button.textContent = "PNG";
  button.addEventListener("click", async () => {
    const source = await (await fetch(link.href)).text();
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      const save = document.createElement("a");
      save.href = URL.createObjectURL(blob);
      save.download = `karat-${figure.dataset.chart ?? "chart"}.png`;
      save.click();
      setTimeout(() => URL.revokeObjectURL(save.href), 1000);
    });
  });
  link.after(" ", button);
}
/* Whoever has said who they are is not asked again in this browser. */
function keepName(form) {
  const field = form.elements.who;
  try { if (field?.type === "text" && field.value.trim()) localStorage.setItem("karat-who", field.value.trim()); } catch { return; /* nothing is kept here */ }
}
function offerName() {
  let name = "";
  try { name = localStorage.getItem("karat-who") ?? ""; } catch { return; }
  for (const field of main.querySelectorAll("input[name=who]:not([type=hidden])")) field.value ||= name;
}
document.addEventListener("submit", (event) => keepName(event.target));
function decorate() {
  offerName();
  main.querySelectorAll("figure[data-chart]").forEach(offerPng);
}
decorate();
awaitContent();
