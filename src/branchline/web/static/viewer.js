// The page of one session in the viewer: pieces by request, new entries as they are appended.
import { ask, base, meta, post } from "./server.js";
import { startSession } from "./session.js";
import { follow } from "./stream.js";
import { startPage } from "./theme.js";

const id = meta("session"), data = "/api/s/" + id;

// What is asked for while there is no connection is asked for again, as the stream of new entries is.
async function askAgain(address) {
  for (let pause = 200; ; pause = Math.min(2 * pause, 5000)) {
    try { return await ask(address); } catch (problem) { if (!(problem instanceof TypeError)) throw problem; }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

class ServerSource {
  async skeleton() {
    const answer = await ask(data + "/skeleton");
    this.generation = answer.generation; this.offset = answer.offset;
    return answer.skeleton;
  }
  async pieces(positions) {
    const found = [];
    for (let at = 0; at < positions.length; at += 300) {
      const answer = await askAgain(data + "/pieces?at=" + positions.slice(at, at + 300).join(","));
      if (answer.generation !== this.generation) { readAgain(); return new Promise(() => {}); }
      found.push(...answer.pieces);
    }
    return found;
  }
  async search(words, found, stopped) {
    const answer = await ask(data + "/find?q=" + encodeURIComponent(words));
    for (const [position, before, after] of answer.found) { if (stopped()) return; found(position, before, after); }
  }
}

// Another file is at the place of the one that is shown: the page begins again, and says why.
function readAgain() { try { sessionStorage.setItem("rewritten", id); } catch { /* then it does not say why */ } location.reload(); }
function tellWhy(page) {
  try { if (sessionStorage.getItem("rewritten") !== id) return; sessionStorage.removeItem("rewritten"); } catch { return; }
  page.tell("The file of this session was rewritten. This is what it holds now.");
}

// -- following -----------------------------------------------------------------------------------------------------

function showNews(page, source) {
  const button = document.querySelector("#news"); let fresh = 0, last = Promise.resolve(), gone = false;
  async function grow(news) {
    if (news.generation !== source.generation) { readAgain(); return; }
    if (gone) { gone = false; page.tell(""); }
    const known = page.tree.ids.length; let columns = news.skeleton;
    source.offset = Math.max(source.offset, news.offset);
    if (columns.first + columns.ids.length <= known && !news.changed.length) return;
    if (columns.first !== known) columns = (await askAgain(`${data}/skeleton?start=${known}`)).skeleton;  // another page knew less, or more
    fresh += page.grow(columns, news.changed, news.pieces);
    button.textContent = fresh === 1 ? "1 new" : fresh + " new";
    button.hidden = fresh < 1 || document.documentElement.scrollHeight - scrollY - innerHeight < 40;
    document.documentElement.dataset.entries = page.tree.ids.length;
  }
  follow(id, () => source.offset, (kind, news) => {
    if (kind === "entries") last = last.then(() => grow(news));
    else { gone = true; button.hidden = true; page.tell(`${news.problem}; this page shows what was read before`); }
  });
  button.addEventListener("click", () => { fresh = 0; button.hidden = true; page.goTo(page.path[page.path.length - 1]); });
}

// -- changing (only there when the server was started with --write) --------------------------------------------------

function startChanges(page) {
  const dialog = document.querySelector("#change"), told = document.querySelector("#change-problem"); let entry = "";
  if (!dialog) return;
  const open = () => {
    const at = page.path[page.here]; entry = page.tree.ids[at];
    document.querySelector("#change-entry").textContent = page.tree.text(at); document.querySelector("#change-label").value = page.tree.labels.get(at) ?? "";
    told.hidden = true; dialog.showModal();
  };
  document.querySelector("#change-button").addEventListener("click", open);
  for (const form of dialog.querySelectorAll("[data-change]")) form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = form.dataset.change, body = {};
    if (form.elements.text) body.text = form.elements.text.value;
    if ("entry" in form.dataset) body.entry = entry;
    try {
      const answer = await (await post(`${data}/${name}`, body)).json();
      if (name === "fork") {
        const link = document.createElement(answer.page ? "a" : "b"); link.textContent = answer.session; if (answer.page) { link.href = `${base}/s/${answer.page}`; link.className = "a"; }
        told.replaceChildren("Forked as ", link); told.hidden = false; link.focus(); return;
      }
      history.replaceState(null, "", "#e-" + encodeURIComponent(entry)); location.reload();
    } catch (problem) { told.textContent = problem.message; told.hidden = false; }
  });
  return open;
}

startPage();
const source = new ServerSource();
const compareLink = (one, other) => base + "/compare?left=" + id + ":" + encodeURIComponent(one) + "&right=" + id + ":" + encodeURIComponent(other);
startSession(source, { compareLink }).then((page) => {
  globalThis.branchline = page; tellWhy(page); showNews(page, source);
  const change = startChanges(page);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog") || document.querySelector("dialog[open]")) return;
    if (event.key === "x") location.href = `${base}/s/${id}/share`; else if (event.key === "e" && change) { event.preventDefault(); change(); }
  });
  const words = new URLSearchParams(location.search).get("q"), find = document.querySelector("#find");
  if (words) { find.value = words; find.dispatchEvent(new Event("input", { bubbles: true })); }
}).catch((problem) => { const box = document.querySelector("#path"), said = document.createElement("p"); said.className = "problem"; said.textContent = problem.message; box.replaceChildren(said); });
