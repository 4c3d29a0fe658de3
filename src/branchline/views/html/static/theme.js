// Light, dark, or as the system says; the help, the menu of small windows, and the way to all sessions. The choice stays in this browser; ?theme= wins for one visit.
const THEMES = ["", "light", "dark"], THEME_WORDS = { "": "as the system", light: "light", dark: "dark" };

export function setTheme(name, keep = true) {
  if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
  document.querySelector("#theme")?.setAttribute("aria-label", "Theme: " + THEME_WORDS[name]);
  if (keep) try { localStorage.setItem("theme", name); } catch { /* a page without storage */ }
}
export function nextTheme() { setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3]); }

// The policy of a page cannot stop a navigation. What the reader did not start stays on this server.
globalThis.navigation?.addEventListener("navigate", (event) => {
  if (!event.userInitiated && event.cancelable && new URL(event.destination.url).origin !== location.origin) event.preventDefault();
});

export function startPage() {
  let kept = "";
  try { kept = localStorage.getItem("theme") ?? ""; } catch { /* a page without storage */ }
  const asked = new URLSearchParams(location.search).get("theme") ?? kept;
  setTheme(THEMES.includes(asked) ? asked : "", false);
  const help = document.querySelector("#help"), home = document.querySelector("a.brand"), menu = document.querySelector("#menu");
  menu?.addEventListener("click", () => { if (CSS.supports("selector(:popover-open)") && menu.matches(":popover-open")) menu.hidePopover(); });
  document.querySelector("#theme")?.addEventListener("click", nextTheme);
  for (const button of document.querySelectorAll("[data-help]")) button.addEventListener("click", () => (help.open ? help.close() : help.showModal()));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "?" && help) { event.preventDefault(); if (help.open) help.close(); else help.showModal(); }
    else if (event.key === "d" && !help?.open) nextTheme();
    else if (event.key === "s" && home && !document.querySelector("dialog[open]") && home.pathname !== location.pathname) location.href = home.href;
  });
}
