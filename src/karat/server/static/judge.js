"use strict";
// Judging by keyboard: what is sent is tried again until the server has it, always with the same key, so that it counts once.

(() => {
  const page = document.querySelector("main");
  const pause = (time) => new Promise((resume) => { setTimeout(resume, time); });
  const QUIET = 400; // milliseconds in which nobody can have looked at a new pair
  let begun = performance.now();
  let busy = false;
  let timer = 0;

  function tell(text, isTrouble = false) {
    const place = document.getElementById("told");
    if (!place) return;
    place.textContent = text;
    place.classList.toggle("trouble", isTrouble);
  }

  /** A session that has ended: the label stays here, and is sent by itself after signing in. */
  function askToSignIn() {
    tell("Not saved yet: you are signed out, as after a new start of the server. ", true);
    const link = document.createElement("a");
    link.href = `/sign-in?${new URLSearchParams({ next: location.pathname + location.search })}`;
    link.target = "_blank";
    link.textContent = "Sign in on another page";
    document.getElementById("told")?.append(link, ": then the label is sent by itself. Keep this page open.");
  }

  /** Resume when somebody looks at this page again, and every few seconds while it is seen. */
  function returnHere() {
    return new Promise((resume) => {
      const stop = new AbortController();
      const look = () => {
        if (document.hidden) return;
        stop.abort();
        clearInterval(clock);
        resume();
      };
      const clock = setInterval(look, 3000);
      document.addEventListener("visibilitychange", look, { signal: stop.signal });
      addEventListener("focus", look, { signal: stop.signal });
    });
  }

  /** Wait until the person who was asked has signed in again; return false if it is somebody else. */
  async function waitForSignIn(fields) {
    askToSignIn();
    for (;;) {
      await returnHere();
      try {
        const state = await renew(fields);
        if (state === "another") { tellOfAnother(); return false; }
        if (state === "new") return true;
      } catch { /* the server is gone: look again later */ }
    }
  }

  function tellOfAnother() {
    tell("Not saved: somebody else has signed in here. Load the page again to go on as that person.", true);
  }

  /* What was written and chosen for a pair stays with it: when the page is loaded again, and when a label is taken back. */
  const PARTS = ["note", "quote", "start", "end"];

  function nameDraft(form) {
    return `karat-draft ${["who", "queue", "query", "document"].map((name) => form.elements[name].value).join(" ")}`;
  }

  function keep() {
    const form = document.getElementById("judge");
    if (!form) return;
    const draft = Object.fromEntries(PARTS.map((name) => [name, form.elements[name].value]));
    draft.chosen = document.querySelector("#chosen span").textContent;
    try { sessionStorage.setItem(nameDraft(form), JSON.stringify(draft)); } catch { return; /* nothing is kept here */ }
  }

  function showChosen(words) {
    document.querySelector("#chosen span").textContent = words;
    document.getElementById("chosen").hidden = words === "";
  }

  function restore() {
    const form = document.getElementById("judge");
    if (!form) return;
    let draft = null;
    try { draft = JSON.parse(sessionStorage.getItem(nameDraft(form)) ?? "null"); } catch { return; }
    if (!draft) return;
    for (const name of PARTS) form.elements[name].value = draft[name];
    showChosen(draft.chosen);
    if (draft.note || draft.quote) page.querySelector("details.more").open = true;
  }

  /** Put the content of another page of the server in place of this one. */
  function put(html, address) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const content = fresh.querySelector("main");
    if (!content) return false;
    page.replaceChildren(...[...content.childNodes].filter((node) => node.nodeName !== "SCRIPT"));
    document.title = fresh.title;
    document.body.dataset.csrf = fresh.body.dataset.csrf ?? "";
    history.replaceState(null, "", address);
    scrollTo(0, 0);
    begin();
    return true;
  }

  /** What comes with a new pair was meant for the one before: a key that bounces, or a second click. */
  function rest() {
    delete page.dataset.ready;
    clearTimeout(timer);
    timer = setTimeout(() => { page.dataset.ready = ""; }, QUIET);
  }

  function isTooSoon() {
    if ("ready" in page.dataset || !document.getElementById("judge")) return false;
    tell("Too soon after this pair appeared: that did not count. Press again.");
    return true;
  }

  /** Return what is said of a pair that was sent. */
  function describe(form, submitter) {
    if (form.id === "undo") return "Taken back: it is asked again.";
    const title = form.querySelector(".document h2")?.textContent ?? form.elements.document.value;
    const answer = /^\d/.test(submitter.value) ? submitter.textContent : submitter.lastChild.textContent;
    return `Saved: ${answer.trim()}, for ${title.length > 80 ? `${title.slice(0, 80)} …` : title}`;
  }

  function begin() {
    begun = performance.now();
    rest();
    restore();
    page.querySelector("#text mark")?.scrollIntoView({ block: "nearest" });
  }

  /** A server that was started anew takes no form of the one before: fetch its token, to send the same label again.
   *  Return "new", "same" where there is none, or "another" if it is the token of somebody else. */
  async function renew(fields) {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return "same";
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const token = fresh.body.dataset.csrf;
    if (!token || token === fields.get("csrf")) return "same";
    const whose = (place) => place.querySelector(".judge-head")?.dataset.who;
    if (whose(fresh) !== whose(document)) return "another";
    fields.set("csrf", token);
    return "new";
  }

  async function send(form, submitter) {
    if (busy || isTooSoon()) return;
    busy = true;
    const done = describe(form, submitter);
    const fields = new URLSearchParams(new FormData(form, submitter));
    if (fields.has("seconds")) fields.set("seconds", ((performance.now() - begun) / 1000).toFixed(1));
    let renewed = false;
    try {
      for (let tries = 0; ; tries += 1) {
        let answer;
        try {
          answer = await fetch(form.action, { method: "POST", body: fields });
          if (answer.status === 403 && !renewed) {
            const state = await renew(fields);
            if (state === "another") { tellOfAnother(); return; }
            if (state === "new") { renewed = true; continue; }
          }
        } catch {
          tell("Not saved yet: the server does not answer. It is tried again; keep this page open.", true);
          await pause(Math.min(5000, 300 * (tries + 1)));
          renewed = false;
          continue;
        }
        if (answer.status === 401) {
          if (await waitForSignIn(fields)) continue;
          return;
        }
        const html = await answer.text();
        if (answer.ok && put(html, answer.url)) { tell(done); return; }
        const message = new DOMParser().parseFromString(html, "text/html").querySelector("main p")?.textContent;
        tell(`Not saved: ${message ?? answer.status}`, true);
        return;
      }
    } finally {
      busy = false;
    }
  }

  page.addEventListener("submit", (event) => {
    if (!event.target.matches("#judge, #undo")) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  /* Words of the text that are selected are the span of the grade. */
  function select() {
    const text = document.getElementById("text"), form = document.getElementById("judge");
    const selection = getSelection();
    if (!text || !form || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    if (!text.contains(range.startContainer) || !text.contains(range.endContainer)) return;
    const words = range.toString();
    const before = document.createRange();
    before.setStart(text, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const start = Number(text.dataset.offset) + before.toString().length;
    const isEmpty = words.trim() === "";
    form.elements.start.value = isEmpty ? "" : String(start);
    form.elements.end.value = isEmpty ? "" : String(start + words.length);
    showChosen(isEmpty ? "" : `The words that answer: ${words.length > 200 ? `${words.slice(0, 200)} …` : words}`);
    keep();
  }
  page.addEventListener("input", (event) => { if (event.target.closest("#judge")) keep(); });
  document.addEventListener("selectionchange", select);
  page.addEventListener("click", (event) => {
    if (!event.target.matches("#chosen button")) return;
    const form = document.getElementById("judge");
    getSelection().removeAllRanges();
    form.elements.start.value = form.elements.end.value = "";
    showChosen("");
    keep();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const target = event.target;
    if (event.key === "Escape" && target.matches("#judge textarea, #judge input")) { target.blur(); return; }
    if (target.closest("input, select, textarea, dialog[open], [contenteditable]")) return;
    const button = page.querySelector(`#judge [data-answer="${CSS.escape(event.key)}"]`);
    if (button) {
      event.preventDefault();
      send(button.form, button);
    } else if (event.key === "u" && document.getElementById("undo")) {
      event.preventDefault();
      send(document.getElementById("undo"), null);
    } else if (event.key === "n" && document.getElementById("judge")) {
      event.preventDefault();
      page.querySelector("details.more").open = true;
      page.querySelector("textarea[name=note]").focus();
    }
  });

  /* How far the queue is follows what others do; the pair stays. */
  let changed = 0;
  document.addEventListener("karat-change", () => {
    clearTimeout(changed);
    changed = setTimeout(async () => {
      const place = document.getElementById("progress");
      if (!place || busy || document.hidden) return;
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html" } });
        if (!answer.ok || busy) return;
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("progress");
        if (fresh && place.isConnected) place.replaceWith(fresh);
      } catch { /* the server is gone; the stream connects again by itself */ }
    }, 1000);
  });
  begin();
})();
