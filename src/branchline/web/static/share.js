// Review before sharing: every finding is masked unless the person keeps it; then the file is made on the server.
import { base, meta, post as send } from "./server.js";
import { startPage } from "./theme.js";

startPage();
const $ = (selector) => document.querySelector(selector);
const element = (name, className, text) => { const made = document.createElement(name); if (className) made.className = className; if (text !== undefined) made.textContent = text; return made; };
const id = meta("session"), kept = new Set(), literals = [];
let turn = 0, found = [];

const post = (name, body) => send(`/api/s/${id}/${name}`, body);
function asked() {
  const parts = {};
  for (const box of document.querySelectorAll("[data-part]")) parts[box.dataset.part] = box.checked;
  const left = found.filter((one) => one.left && !kept.has(one.value)).map(({ kind, value }) => ({ kind, value }));
  return { ...parts, keep: [...kept], literals, left };
}
function tell(problem) { $("#problem").hidden = !problem; $("#problem").textContent = problem; }

async function look() {
  const mine = ++turn; tell(""); $("#write").disabled = true;
  if (!found.length) $("#tally").textContent = "Looking for secrets …";
  try {
    const answer = await (await post("findings", { ...asked(), keep: [], left: [] })).json();
    if (mine !== turn) return;
    found = answer.findings; draw(); $("#write").disabled = false;
  } catch (problem) { if (mine === turn) tell(problem.message); }
}

function draw() {
  const places = found.reduce((sum, one) => sum + one.count, 0);
  const counted = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  $("#tally").textContent = found.length ? `${counted(found.length, "finding")} in ${counted(places, "place")}, ${kept.size} kept` : "Nothing to mask was found.";
  $("#findings").replaceChildren(...found.map(row));
}

// What a search of the finished file found is decided like every other finding.
function offer(findings) {
  const known = new Set(found.map((one) => one.value)), more = findings.filter((one) => !known.has(one.value));
  found = [...more, ...found]; draw();
  const places = findings.map((one) => `${one.kind} in ${where(one) || "the text around the entries"}`);
  tell(`The finished file still holds ${places.join("; ")}. Nothing was written. ${more.length ? "It is listed first now: keep or mask it, and write the file again." : "Keep it, or mask its text below."}`);
}
const where = (one) => one.entry ? ["entry " + one.entry, one.role, one.time?.slice(0, 16).replace("T", " ")].filter(Boolean).join(", ") : "";

function row(one, number) {
  const keep = kept.has(one.value), line = element("li", keep ? "finding kept" : "finding"); line.tabIndex = 0; line.dataset.number = number;
  const context = element("code", "context"); context.append(one.before, element("mark", keep ? "" : "masked", keep ? one.value : one.kind), one.after);
  const button = element("button", "btn quiet", keep ? "Mask" : "Keep"); button.type = "button";
  button.addEventListener("click", () => decide(number, !keep));
  const more = element("button", "btn quiet", "Everywhere"); more.type = "button"; more.title = "Mask this text wherever it occurs"; more.hidden = keep;
  more.addEventListener("click", () => everywhere(number));
  const buttons = element("span", "choices"); buttons.append(more, button);
  const times = element("span", "num times", one.count > 1 ? `× ${one.count}` : "");
  const what = element("div", "what"); what.append(context);
  if (one.entry) { const place = element("a", "place", where(one)); place.href = `${base}/s/${id}#e-${encodeURIComponent(one.entry)}`; what.append(place); }
  line.append(element("span", "kind", one.kind), times, what, buttons);
  return line;
}
function decide(number, keep) {
  const value = found[number].value;
  if (keep) kept.add(value); else kept.delete(value);
  draw();
  const next = $("#findings").children[Math.min(number + 1, found.length - 1)]; next?.focus();
}
function everywhere(number) { if (!literals.includes(found[number].value)) literals.push(found[number].value); drawLiterals(); decide(number, false); }

$("#findings").addEventListener("keydown", (event) => {
  const line = event.target.closest(".finding"); if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = +line.dataset.number;
  if (event.key === "k" || event.key === "m") { event.preventDefault(); decide(number, event.key === "k"); }
  else if (event.key === "e") { event.preventDefault(); everywhere(number); }
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); $("#findings").children[number + (event.key === "ArrowDown" ? 1 : -1)]?.focus(); }
});
$("#literal").addEventListener("submit", (event) => {
  event.preventDefault(); const text = $("#text").value.trim(); if (!text || literals.includes(text)) return;
  literals.push(text); $("#text").value = ""; drawLiterals();
});
function drawLiterals() {
  $("#literals").replaceChildren(...literals.map((text, number) => {
    const line = element("li"), button = element("button", "btn quiet", "Remove"); button.type = "button";
    button.addEventListener("click", () => { literals.splice(number, 1); drawLiterals(); });
    line.append(element("code", "", text), button); return line;
  }));
}
for (const box of document.querySelectorAll("[data-part]")) box.addEventListener("change", look);
$("#write").addEventListener("click", async () => {
  tell(""); $("#write").disabled = true; $("#write").textContent = "Writing …";
  try {
    const data = await (await post("page", asked())).blob(), link = element("a");
    link.href = URL.createObjectURL(new Blob([data], { type: "text/html" })); link.download = "session.html";
    document.body.append(link); link.click(); link.remove(); setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (problem) { if (problem.findings?.length) offer(problem.findings); else tell(problem.message); }
  $("#write").disabled = false; $("#write").textContent = "Write the file";
});
look();
