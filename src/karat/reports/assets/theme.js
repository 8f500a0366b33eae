"use strict";
// Light or dark, as the reader chose the last time. It runs in the head, so that the page does not flash.

const THEME = "karat-theme";

/** What was kept, if anything. Private windows and file:// may forbid storage: then the page follows the system. */
function keptTheme() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

/** Keep the choice. Where that is forbidden it holds until the page is closed, and nothing else depends on it. */
function keepTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    return;
  }
}

if (["light", "dark"].includes(keptTheme())) document.documentElement.dataset.theme = keptTheme();
