// The list of sessions. Rows have a known height, and only those near the window are in the document; the server
// filters, sorts and searches. Everything that comes from sessions is put into text nodes.
import { ask, base } from "./server.js";
import { startPage } from "./theme.js";

startPage();
const $ = (selector) => document.querySelector(selector);
const element = (name, className, text) => { const made = document.createElement(name); if (className) made.className = className; if (text !== undefined) made.textContent = text; return made; };
const ROW = 44, HIT = 28, PAGE = 100, WAIT = 90, SHORTEST = 500, LATER = 1500;
const state = { q: "", agent: "", project: "", days: "", shape: "", sort: "age", reverse: "" };
let total = 0, rows = new Map(), asked = new Set(), turn = 0, here = -1, tops = [0], timer = 0, later = 0, pause = SHORTEST;

const box = $("#rows"), search = $("#q");

// -- asking --------------------------------------------------------------------------------------------------------

function address(offset) {
  const given = new URLSearchParams({ offset, limit: PAGE });
  for (const [name, value] of Object.entries(state)) if (value) given.set(name, value);
  return "/api/sessions?" + given;
}

async function load(offset) {
  if (asked.has(offset)) return;
  asked.add(offset);
  const mine = turn;
  let answer;
  try { answer = await ask(address(offset)); } catch (problem) { if (mine === turn) failed(problem, offset); return; }
  if (mine !== turn) return;
  pause = SHORTEST; tell(answer.notes.join("; "));
  answer.rows.forEach((row, index) => rows.set(offset + index, row));
  total = answer.total;
  if (!offset) { offer(answer); clearTimeout(later); if (answer.waiting) later = setTimeout(more, LATER); }
  place(); draw();
}

// What was asked for while the viewer did not answer is asked for again.
function failed(problem, offset) {
  if (!(problem instanceof TypeError)) { tell(problem.message); $("#tally").textContent = ""; return; }
  tell("The viewer does not answer. If you ended it, start it again with branchline web; this page tries again by itself.");
  const mine = turn; asked.delete(offset);
  setTimeout(() => { if (mine === turn) load(offset); }, pause); pause = Math.min(2 * pause, 5000);
}

// What the server did not know yet: it reads and indexes in the background. Rows stay where they are until it is there.
async function more() {
  const mine = turn, known = [...asked];
  let answers;
  try { answers = await Promise.all(known.map((offset) => ask(address(offset)))); } catch { later = setTimeout(more, 4 * LATER); return; }
  if (mine !== turn) return;
  const scrolled = scrollY, at = rows.get(here)?.id; turn += 1; rows = new Map(); asked = new Set(known);
  answers.forEach((answer, number) => answer.rows.forEach((row, index) => rows.set(known[number] + index, row)));
  total = answers[0].total; here = -1;
  for (const [place, row] of rows) if (row.id === at) here = place;
  tell(answers[0].notes.join("; ")); offer(answers[0]); place(); draw(); scrollTo(0, scrolled);
  if (answers[0].waiting) later = setTimeout(more, LATER);
}

function again() { clearTimeout(later); turn += 1; rows = new Map(); asked = new Set(); here = -1; remember(); load(0); }
function tell(sentence) { $("#problem").hidden = !sentence; $("#problem").textContent = sentence; }

function remember() {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value && !(name === "sort" && value === "age")) given.set(name, value);
  history.replaceState(null, "", given.size ? "?" + given : location.pathname);
}

function offer(answer) {
  const count = answer.agents.reduce((sum, [, number]) => sum + number, 0);
  const pill = (name, number, value) => {
    const made = element("button", "pill", name); made.type = "button"; made.append(element("span", "num", number.toLocaleString("en")));
    made.setAttribute("aria-pressed", state.agent === value); made.addEventListener("click", () => { state.agent = value; again(); });
    return made;
  };
  const agents = answer.agents.map(([name, number]) => pill(name || "unknown", number, name));
  $("#agents").replaceChildren(pill("All", count, ""), ...agents);
  const chosen = $("#project");
  if (!state.project) chosen.replaceChildren(new Option("Any project", ""), ...answer.projects.map((name) => new Option(name, name)));
  chosen.value = state.project;
  $("#tally").replaceChildren(element("b", "", total.toLocaleString("en")), ` ${total === 1 ? "session" : "sessions"}${state.q ? " found" : ""}`);
  const [found, why] = ["q", "agent", "project", "days", "shape"].some((name) => state[name])
    ? ["Nothing found", "Fewer words or fewer filters find more. Words are looked for in titles, prompts, answers and tool output."]
    : ["No sessions here", "A folder that is given with --store is looked at without its sub-folders."];
  $("#empty b").textContent = found; $("#empty span").textContent = why;
  $("#indexing").textContent = answer.indexed && "indexing"; $("#indexing").title = answer.indexed;
  $("#empty").hidden = total > 0;
  for (const button of document.querySelectorAll("[data-sort]")) button.setAttribute("aria-pressed", button.dataset.sort === state.sort);
  for (const select of document.querySelectorAll(".selwrap select")) select.parentElement.classList.toggle("set", Boolean(select.value));
}

// -- drawing -------------------------------------------------------------------------------------------------------

const height = (row) => ROW + (row?.hits ? HIT * (row.hits.length + (row.more ? 1 : 0)) + 6 : 0);
function place() {
  tops = new Array(total + 1); tops[0] = 0;
  const size = innerWidth <= 860 ? 20 : 0;
  for (let at = 0; at < total; at++) tops[at + 1] = tops[at] + height(rows.get(at)) + size;
  box.style.height = tops[total] + "px";
}
function rowAt(distance) { let low = 0, high = Math.max(0, total - 1); while (low < high) { const middle = (low + high + 1) >> 1; if (tops[middle] <= distance) low = middle; else high = middle - 1; } return low; }

function draw() {
  const top = -box.getBoundingClientRect().top, first = rowAt(top - 300), last = Math.min(total - 1, rowAt(top + innerHeight + 300));
  const focused = document.activeElement?.dataset?.at, kept = new Map([...box.children].map((node) => [+node.dataset.at, node]));
  const wanted = [];
  for (let at = first; at <= last; at++) {
    const row = rows.get(at);
    if (!row) { load(Math.floor(at / PAGE) * PAGE); continue; }
    let node = kept.get(at);
    if (!node || node.dataset.id !== row.id || +node.dataset.turn !== turn) node = drawn(row, at);
    node.style.top = tops[at] + "px"; node.tabIndex = at === Math.max(here, 0) ? 0 : -1;
    wanted.push(node);
  }
  box.replaceChildren(...wanted);
  if (focused !== undefined) box.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
}

function drawn(row, at) {
  const node = element("a", "row grid-cols"); node.href = base + "/s/" + row.id; node.role = "listitem";
  Object.assign(node.dataset, { at, id: row.id, turn });
  node.setAttribute("aria-posinset", at + 1); node.setAttribute("aria-setsize", total);
  const title = element("span", "title" + (row.untitled ? " none" : ""), row.title || "untitled");
  const name = element("div", "name"); name.append(title);
  if (row.branches > 1) { const marks = element("span", "branches num", row.branches); marks.title = row.branches + " branches"; marks.prepend(element("i", "i tree")); name.append(marks); }
  if (row.live) name.append(element("span", "chip", "live"));
  if (row.subagent) name.append(element("span", "quiet", "sub-agent"));
  if (row.problem) name.append(element("span", "quiet bad", row.problem));
  else if (row.findings) name.append(element("span", "quiet", row.findings + (row.findings === 1 ? " finding" : " findings")));
  const cell = (className, text) => element("div", className, text);
  const project = cell("w", row.project); project.title = row.cwd;
  const age = cell("r num age", ago(row.modified)); age.title = new Date(row.modified).toLocaleString();
  const cost = cell("r w num", row.cost); cost.title = row.cost_words;
  node.append(name, cell("w", row.agent), project, cell("w mono", row.git_branch), cell("r w num", row.messages?.toLocaleString("en") ?? "–"), cost, age);
  const small = element("div", "small"); small.textContent = [row.agent, row.project, row.git_branch].filter(Boolean).join(" · "); node.append(small);
  if (row.hits) node.append(hits(row));
  return node;
}

function hits(row) {
  const list = element("div", "found-lines");
  for (const hit of row.hits) {
    const line = element("span", "hit"); line.dataset.entry = hit.entry;
    line.append(element("span", "who", { user: "prompt", assistant: "answer", toolResult: "tool" }[hit.role] ?? hit.role));
    const text = element("span", "words"); text.append(...hit.text.map(([part, matches]) => (matches ? element("mark", "", part) : part))); line.append(text);
    if (!hit.on_path) line.append(element("span", "quiet", "other branch"));
    if (hit.places > 1) line.append(element("span", "quiet", `in ${hit.places} sessions`));
    list.append(line);
  }
  if (row.more) list.append(element("span", "quiet more", `${row.more.toLocaleString("en")} more`));
  return list;
}

const UNITS = [[60, "s"], [60, "m"], [24, "h"], [7, "d"], [4.345, "w"], [12, "mo"], [Infinity, "y"]];
function ago(ms) { let value = Math.max(0, (Date.now() - ms) / 1000); if (value < 60) return "now"; for (const [size, unit] of UNITS) { if (value < size) return Math.floor(value) + unit; value /= size; } return ""; }

// -- doing ---------------------------------------------------------------------------------------------------------

function open(node, entry) {
  const given = state.q ? "?q=" + encodeURIComponent(state.q) : "";
  const target = entry ?? rows.get(+node.dataset.at)?.hits?.[0]?.entry;
  location.href = base + "/s/" + node.dataset.id + given + (target ? "#e-" + encodeURIComponent(target) : "");
}
function go(at) {
  here = Math.max(0, Math.min(total - 1, at));
  const top = box.getBoundingClientRect().top + scrollY + tops[here];
  if (top < scrollY + 80) scrollTo(0, top - 80); else if (top + ROW > scrollY + innerHeight) scrollTo(0, top + ROW * 2 - innerHeight);
  draw(); box.querySelector(`[data-at="${here}"]`)?.focus({ preventScroll: true });
}

box.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const node = event.target.closest(".row"); if (!node) return;
  event.preventDefault(); open(node, event.target.closest(".hit")?.dataset.entry);
});
addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
addEventListener("resize", () => { place(); draw(); });
addEventListener("beforeprint", () => {
  if (box.children.length < total) box.before(element("p", "paper-note", `Only ${box.children.length} of ${total.toLocaleString("en")} sessions are on this paper. In the terminal, branchline ls --all prints all of them.`));
});
addEventListener("afterprint", () => document.querySelector(".paper-note")?.remove());
search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { state.q = search.value.trim(); again(); }, WAIT); });
for (const name of ["project", "days", "shape"]) $("#" + name).addEventListener("change", (event) => { state[name] = event.target.value; again(); });
for (const button of document.querySelectorAll("[data-sort]")) button.addEventListener("click", () => {
  const same = state.sort === button.dataset.sort; state.reverse = same && !state.reverse ? "1" : ""; state.sort = button.dataset.sort; again();
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#help").open) return;
  const typing = event.target === search;
  if (event.key === "/" && !typing) { event.preventDefault(); search.focus(); search.select(); }
  else if (event.key === "Escape" && typing) { if (search.value) { search.value = ""; state.q = ""; again(); } else search.blur(); }
  else if (typing && event.key === "Enter") { const node = box.querySelector(".row"); if (node) open(node); }
  else if (event.key === "ArrowDown" || (event.key === "j" && !typing)) { event.preventDefault(); go(typing ? 0 : here + 1); }
  else if (event.key === "ArrowUp" || (event.key === "k" && !typing)) { event.preventDefault(); if (here <= 0) search.focus(); else go(here - 1); }
  else if (event.key === "Enter" && event.target.classList?.contains("row")) { event.preventDefault(); open(event.target); }
});

for (const [name, value] of new URLSearchParams(location.search)) if (name in state) state[name] = value;
$("#tally").textContent = "Reading sessions …";
search.value = state.q; for (const name of ["days", "shape"]) $("#" + name).value = state[name];
load(0);
