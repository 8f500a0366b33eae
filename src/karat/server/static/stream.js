"use strict";
// Hears of changes for a page, in a worker beside it. The stream never ends, and a page with an open stream of its own would
// not be done with loading for a program that waits until all is quiet, such as one that takes pictures.

const events = new EventSource("/events");
events.addEventListener("open", () => postMessage({ kind: "open", said: "" }));
for (const kind of ["change", "progress"]) {
  events.addEventListener(kind, (event) => postMessage({ kind, said: event.data }));
}
