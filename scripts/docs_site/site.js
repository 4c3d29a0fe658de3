// Theme and search of the documentation. Nothing is requested from anywhere: the index is a script beside
// this one, loaded when the search is used first, so that both work from a directory without a server.
(() => {
  "use strict";
  const root = document.documentElement;
  const base = document.body.dataset.root;

  const button = document.getElementById("theme");
  const dark = () =>
    (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const kept = (() => { try { return localStorage.getItem("branchline-docs-theme"); } catch { return null; } })();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  const named = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  named();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("branchline-docs-theme", root.dataset.theme); } catch { /* private window */ }
    named();
  });

  const field = document.getElementById("words");
  const list = document.getElementById("found");
  let chosen = -1;
  field.hidden = false;

  const load = () => new Promise((done) => {
    if (window.branchlineDocs) { done(window.branchlineDocs); return; }
    const script = document.createElement("script");
    script.src = `${base}search.js`;
    script.onload = () => done(window.branchlineDocs);
    document.head.append(script);
  });

  const score = (part, words) => {
    const title = part.title.toLowerCase();
    const text = part.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const inTitle = title.includes(word);
      if (!inTitle && !text.includes(word)) return 0;
      sum += inTitle ? 10 : 1;
    }
    return sum + (part.address.includes("#") ? 0 : 2);
  };

  const snippet = (text, words) => {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]));
    const line = document.createElement("small");
    let rest = (at > 40 ? "…" : "") + text.slice(Math.max(0, at - 40), at + 100);
    while (rest) {
      const places = words.map((word) => [rest.toLowerCase().indexOf(word), word.length]).filter(([n]) => n >= 0);
      if (!places.length) { line.append(rest); break; }
      const [start, length] = places.sort((one, other) => one[0] - other[0])[0];
      line.append(rest.slice(0, start));
      const mark = document.createElement("mark");
      mark.textContent = rest.slice(start, start + length);
      line.append(mark);
      rest = rest.slice(start + length);
    }
    return line;
  };

  const show = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    chosen = -1;
    list.hidden = !words.length;
    if (!words.length) return;
    const found = (await load())
      .map((part) => [score(part, words), part])
      .filter(([points]) => points)
      .sort((one, other) => other[0] - one[0])
      .slice(0, 20);
    for (const [, part] of found) {
      const link = document.createElement("a");
      link.href = base + part.address;
      const title = document.createElement("b");
      title.textContent = part.title;
      link.append(title, snippet(part.text, words));
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (!found.length) list.append(Object.assign(document.createElement("li"), { textContent: "No page has all these words." }));
  };

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    if (event.key === "Escape") { field.value = ""; show(); field.blur(); }
    if (event.key === "Enter" && links.length) links[Math.max(0, chosen)].click();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = Math.max(0, Math.min(links.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)));
      links.forEach((link, number) => link.setAttribute("aria-selected", String(number === chosen)));
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list.hidden = true; });
})();
