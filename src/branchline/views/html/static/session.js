// One session on a page: the path in a windowed list, the tree beside it, branches switched in place, find, keys.
//
// `source` knows the session: skeleton() -> columns, pieces(positions) -> HTML of these entries, text(position,
// offset) -> a text that a piece refers to, search(words, found, stopped). The single file answers from its packed
// chunks, a server by requests. Pieces are made by branchline's renderer, in which text is escaped; everything
// else on this page is made of text nodes.
import { SessionTree } from "./tree.js";
import { WindowedList } from "./window.js";
import { PaneList, layTree, drawRows } from "./lanes.js";

const ESTIMATES = { u: 130, a: 64, t: 0, h: 48, c: 76, x: 76, b: 90, s: 24, m: 48, d: 48, o: 40 };
const $ = (selector) => document.querySelector(selector);
const element = (name, className, text) => { const found = document.createElement(name); if (className) found.className = className; if (text !== undefined) found.textContent = text; return found; };
const icon = (name) => element("i", "i " + name);

export class SessionPage {
  constructor(source, tree, { compareLink } = {}) {
    Object.assign(this, { source, tree, compareLink, path: [], on: new Set() });
    this.cache = new Map(); this.folds = new WeakMap(); this.opened = new Map(); this.all = { tool: false, think: false };
    this.open = new Set(); this.shown = new Set(); this.here = 0; this.quietUntil = 0; this.filling = new Set();
    this.box = $("#path");
    this.list = new WindowedList(this.box, { estimate: (at) => ESTIMATES[tree.kinds[at]] ?? 40, make: (at, index) => this.node(at, index), want: (first, last) => this.want(first, last), seen: (index) => this.seen(index) });
    this.treeList = new PaneList($("#tree"), (first, last, height) => drawRows(this.tree, this.layout, this.layout.rowOf[this.here], first, last, height, this.act));
    this.promptList = new PaneList($("#prompts"), (first, last, height) => this.promptRows(first, last, height));
    this.act = { fold: (at, wanted) => this.foldBranch(at, wanted), go: (row) => this.goRow(row), focus: (index) => this.treeList.focus(index) };
  }

  // -- what is shown ----------------------------------------------------------------------------------------------

  async start() {
    const { tree } = this;
    if (tree.branches <= 8) this.unfoldAll();
    this.path = tree.path(tree.leaf >= 0 ? tree.leaf : tree.newest(tree.roots[tree.roots.length - 1] ?? -1));
    const linked = this.linked();
    if (linked >= 0 && !this.path.includes(linked)) this.path = tree.path(tree.newest(linked));
    this.on = new Set(this.path);
    const at = Math.max(0, this.path.indexOf(linked));
    await this.load(this.path.slice(Math.max(0, at - 4), at + 30));
    this.box.replaceChildren();
    this.list.show(this.path); this.drawTree();
    if (linked >= 0) focusOn(await this.goTo(linked)); else this.mark(0);
    this.listen();
  }

  // Another leaf; `keep` is the index of a row that stays where it is.
  showPath(leaf, keep = -1) {
    const other = this.take(this.tree.path(leaf)); this.here = Math.min(this.here, this.path.length - 1);
    this.list.show(this.path, keep); this.list.refresh(other); this.drawTree();
  }

  // Another path: the indices of the rows that show a result which is on one of the two only.
  take(path) {
    const before = this.on; this.path = path; this.on = new Set(path);
    return [...this.list.nodes].filter(([, node]) => node.results?.some((at) => before.has(at) !== this.on.has(at))).map(([index]) => index);
  }

  // New entries at the end (live): follow if they continue the shown path. pieces: [position, HTML] of some of them.
  grow(columns, changed = [], pieces = []) {
    const end = this.path[this.path.length - 1];
    this.tree.add(columns);
    for (const at of changed) this.cache.delete(at);
    for (const [at, piece] of pieces) this.keep(at, piece, []);
    const path = this.tree.path(this.tree.newest(end ?? 0)), added = path.length - this.path.length;
    const other = this.take(path); this.list.show(path); this.list.refresh([...other, ...changed.map((at) => path.indexOf(at)).filter((index) => index >= 0)]);
    this.treeTimer ??= setTimeout(() => { this.treeTimer = null; this.drawTree(); }, 200);  // the new rows are seen first
    return added;
  }

  linked() { if (!location.hash.startsWith("#e-")) return -1; let id = location.hash.slice(3); try { id = decodeURIComponent(id); } catch { /* as it is written */ } return this.tree.find(id); }

  // -- rows -------------------------------------------------------------------------------------------------------

  want(first, last) {
    const missing = this.path.slice(Math.max(0, first - 10), last + 20).filter((at) => !this.cache.has(at));
    if (missing.length) this.load(missing).then(() => { this.list.range = null; this.list.render(); });
  }

  async load(positions) {
    const missing = positions.filter((at) => !this.cache.has(at));
    if (!missing.length) return;
    const pieces = await this.source.pieces(missing);
    await Promise.all(missing.map(async (at, index) => {
      const places = [...pieces[index].matchAll(/ data-paragraphs="([^"]*)"/g)].map((found) => found[1]);
      this.keep(at, pieces[index], await Promise.all(places.map((place) => this.text(at, place))));
    }));
    if (this.cache.size > 3000 && !this.whole) for (const key of [...this.cache.keys()].slice(0, 1000)) this.cache.delete(key);
  }

  // A piece that is a link is shown by another row.
  keep(at, piece, paragraphs) {
    const link = piece.startsWith('<a class="with"') ? fragmentOf(piece).firstChild.getAttribute("href").slice(3) : null;
    if (link !== null) piece = "";
    this.cache.set(at, { piece, row: link === null ? -1 : this.tree.find(link), model: / class="mdl">([^<]*)</.exec(piece)?.[1] ?? "", paragraphs });
  }

  text(at, place) { const [offset, delta] = place.split(":").map(Number); return this.source.text(at + (delta || 0), offset); }

  node(at, index) {
    const known = this.cache.get(at);
    if (!known) return null;
    const node = element("div", "node"); node.dataset.id = this.tree.ids[at];
    const before = index > 0 ? this.path[index - 1] : -1, time = this.tree.times[at], last = before >= 0 ? this.tree.times[before] : null;
    const day = dayOf(time);
    if (day && day !== dayOf(last)) node.append(element("h2", "day", day));
    if (this.tree.isFork(at)) node.append(this.switcher(at, index));
    if (known.piece) {
      const content = fragmentOf(known.piece);
      node.results = this.choose(content);
      this.prepare(content, at, known.paragraphs);
      const article = content.querySelector("article"), clock = clockOf(time);
      if (article) {
        article.setAttribute("aria-label", [article.getAttribute("aria-label"), clock].filter(Boolean).join(", "));
        article.setAttribute("aria-posinset", index + 1); article.setAttribute("aria-setsize", this.path.length);
      }
      for (const link of content.querySelectorAll(".margin > a")) {
        const shown = link.querySelector("time");
        link.href = "#e-" + encodeURIComponent(this.tree.ids[at]); link.title = "Link to this entry";
        if (shown && time !== null) { shown.textContent = clock; shown.dateTime = new Date(time).toISOString(); }
      }
      if (clock && clock === clockOf(last) && this.tree.kinds[at] !== "u") node.classList.add("same-minute");
      if (known.model && known.model === this.modelBefore(index)) node.classList.add("same-model");
      node.append(content);
    }
    if (index === this.here) node.classList.add("on");
    return node;
  }

  // Of the results of a call, keep the one on the path; where none is, the call has no result. Returns where all are.
  choose(content) {
    const results = [];
    for (const call of content.querySelectorAll(".tool:not(.variant)")) {
      const same = [call]; while (same[same.length - 1].nextElementSibling?.classList.contains("variant")) same.push(same[same.length - 1].nextElementSibling);
      const places = same.map((one) => (one.id ? this.tree.find(one.id.slice(2)) : -1)), chosen = places.findIndex((place) => place < 0 || this.on.has(place));
      results.push(...places.filter((place) => place >= 0));
      same.forEach((one, number) => { if (number !== Math.max(0, chosen)) one.remove(); });
      if (chosen < 0) unanswered(call);
    }
    return results;
  }

  // Take what is folded out of the document, and put in the texts that the piece refers to.
  prepare(content, at, paragraphs) {
    let number = 0;
    for (const place of content.querySelectorAll("[data-paragraphs]")) place.append(...paragraphsOf(paragraphs[number++]));
    number = 0;
    for (const details of content.querySelectorAll("details")) {
      const fold = details.querySelector(":scope > .fold"), key = at + ":" + number++, kind = details.classList[0];
      details.dataset.key = key;
      if (!fold) continue;
      fold.remove(); this.folds.set(details, { fold, at });
      if (this.opened.get(key) ?? this.all[kind] ?? false) { details.open = true; this.unfold(details); }
    }
    for (const nested of content.querySelectorAll("pre[data-text]")) this.later(this.fill(nested, at));
  }
  later(filled) { this.filling.add(filled); filled.finally(() => this.filling.delete(filled)); }

  async unfold(details) {
    const known = this.folds.get(details);
    if (!known || known.fold.parentElement === details) return;
    details.append(known.fold);
    for (const label of known.fold.querySelectorAll(".lab")) if (!label.querySelector(".copy")) { const copy = element("button", "copy", "Copy"); copy.type = "button"; label.append(copy); }
    const places = [known.fold, ...known.fold.querySelectorAll("[data-text], [data-diff]")];
    await Promise.all(places.map((place) => this.fill(place, known.at)));
  }

  async fill(place, at) {
    const { text, diff } = place.dataset;
    if (text) { delete place.dataset.text; const found = await this.text(at, text); if (place.classList.contains("diff")) place.append(...found.split("\n").map(differenceLine)); else place.textContent = place.classList.contains("tx") ? found.trim() : found; }
    if (diff) { delete place.dataset.diff; const [old, fresh, runs] = diff.split("|"); place.append(...changes(old ? await this.text(at, old) : "", fresh ? await this.text(at, fresh) : "", runs)); }
  }

  modelBefore(index) {
    for (let k = index - 1; k >= 0 && k > index - 60; k--) if (this.cache.get(this.path[k])?.model) return this.cache.get(this.path[k]).model;
    return undefined;
  }

  switcher(at, index) {
    const siblings = this.tree.siblings(at), number = siblings.indexOf(at);
    const group = element("div", "fork"), buttons = element("span", "sw"), names = element("span", "names");
    group.setAttribute("role", "group"); group.setAttribute("aria-label", `Branch ${number + 1} of ${siblings.length}`);
    for (const [by, name, image] of [[-1, "Previous branch", "left"], [1, "Next branch", "chev"]]) {
      const button = element("button"); button.type = "button"; button.setAttribute("aria-label", name); button.dataset.go = by; button.append(icon(image));
      if (!siblings[number + by] && siblings[number + by] !== 0) button.setAttribute("aria-disabled", "true");
      button.addEventListener("click", () => this.swap(at, by, true));
      if (by === 1) buttons.append(element("span", "n num", `${number + 1} / ${siblings.length}`));
      buttons.append(button);
    }
    const own = this.tree.name(at), others = siblings.filter((other) => other !== at).slice(0, 3).map((other) => this.tree.name(other));
    names.append(element("b", "", own), ` or ${others.join(", ")}`); names.title = names.textContent;
    group.append(buttons, names);
    if (this.compareLink) { const link = element("a", "cmp", "Compare"); link.href = this.compareLink(this.tree.ids[at], this.tree.ids[siblings[number ? number - 1 : 1]]); group.append(link); }
    return group;
  }

  async swap(at, by, focus = false) {
    const siblings = this.tree.siblings(at), other = siblings[siblings.indexOf(at) + by];
    if (other === undefined) return;
    const index = this.path.indexOf(at);
    this.quietUntil = performance.now() + 400;
    await this.load(this.tree.path(this.tree.newest(other)).slice(index, index + 20));
    this.showPath(this.tree.newest(other), index); this.mark(index);
    if (focus) this.list.nodes.get(index)?.querySelector(`[data-go="${by}"]`)?.focus({ preventScroll: true });
  }

  // -- where you are ----------------------------------------------------------------------------------------------

  seen(index) { if (performance.now() > this.quietUntil) this.mark(index); }

  mark(index) {
    this.list.nodes.get(this.here)?.classList.remove("on");
    this.here = index; this.list.nodes.get(index)?.classList.add("on");
    $("#position").textContent = `${(index + 1).toLocaleString()} / ${this.path.length.toLocaleString()}`;
    if (this.layout) { this.treeList.reveal(this.layout.rowOf[index] ?? this.layout.rows.length - 1); this.treeList.soon(); this.promptList.soon(); }
  }

  async goTo(at, { block = "start", flash = true } = {}) {
    if (!this.path.includes(at)) this.showPath(this.tree.newest(at));
    let index = this.path.indexOf(at);
    await this.load(this.path.slice(Math.max(0, index - 12), index + 16));
    const shown = this.path.indexOf(this.cache.get(at)?.row ?? -1);   // a result stands with its answer
    if (shown >= 0) index = shown; else while (index > 0 && this.cache.get(this.path[index])?.piece === "") index--;
    this.quietUntil = performance.now() + 400;
    const node = await this.list.go(index, block, (row) => this.load(this.path.slice(Math.max(0, row - 12), row + 16)));
    this.mark(index);
    const inside = document.getElementById("e-" + this.tree.ids[at]);
    const target = inside?.classList.contains("tool") ? inside : node;
    if (flash && target) { target.classList.remove("flash"); void target.offsetWidth; target.classList.add("flash"); }
    return node;
  }

  step(wanted, by) { for (let k = this.here + by; k >= 0 && k < this.path.length; k += by) if (wanted(this.path[k], k)) return this.goTo(this.path[k], { flash: false }); return undefined; }
  forkAbove() { for (let k = this.here; k >= 0; k--) if (this.tree.isFork(this.path[k])) return this.path[k]; return -1; }

  // -- the tree ---------------------------------------------------------------------------------------------------

  drawTree() {
    this.layout = layTree(this.tree, this.path, this.open, this.shown);
    this.prompts = this.path.map((at, index) => [at, index]).filter(([at]) => this.tree.kinds[at] === "u");
    this.treeList.set(this.layout.rows.length); this.promptList.set(this.prompts.length);
    const counted = (number, one, many) => `${number.toLocaleString()} ${number === 1 ? one : many}`;
    $("#counts").textContent = `${counted(this.tree.branches, "branch", "branches")}, ${counted(this.tree.entries, "entry", "entries")}`;
    $("#foldall").textContent = this.open.size ? "Fold branches" : "Unfold branches"; $("#foldall").hidden = this.tree.branches < 2;
  }
  unfoldAll() { const { tree } = this; for (let at = 0; at < tree.ids.length; at++) if (tree.kinds[at] !== "-" && tree.isFork(at)) this.open.add(at); }
  foldBranch(at, wanted) { if (wanted ?? !this.open.has(at)) this.open.add(at); else this.open.delete(at); this.drawTree(); }
  goRow(row) {
    if (row.kind === "run") { for (let k = this.path.indexOf(row.at); k >= 0 && k < this.path.length; k++) { this.shown.add(this.path[k]); if (this.layout.rowOf[k] !== this.layout.rowOf[this.path.indexOf(row.at)]) break; } return this.drawTree(); }
    if (row.kind === "more") { this.shown.add("sides" + row.at); return this.drawTree(); }
    $(".pane").classList.remove("open"); $("#pane-button")?.setAttribute("aria-expanded", "false");
    return this.goTo(row.at);
  }
  promptRows(first, last, height) {
    let current = -1; for (let k = 0; k < this.prompts.length && this.prompts[k][1] <= this.here; k++) current = k;
    return this.prompts.slice(first, last + 1).map(([at], k) => {
      const link = element("a"); link.href = "#e-" + encodeURIComponent(this.tree.ids[at]); link.style.top = (first + k) * height + "px"; link.style.height = height + "px"; link.dataset.row = first + k;
      if (first + k === current) link.setAttribute("aria-current", "location");
      link.append(element("span", "n", String(first + k + 1)), element("span", "t", this.tree.text(at)));
      link.addEventListener("click", (event) => { event.preventDefault(); $(".pane").classList.remove("open"); history.replaceState(null, "", link.hash); this.goTo(at); });
      return link;
    });
  }

  // -- find -------------------------------------------------------------------------------------------------------

  async find(words) {
    const run = (this.finding = {}), box = $("#hits"), said = $("#found");
    this.hits = []; this.hit = -1; this.words = words;
    CSS.highlights?.delete("find"); CSS.highlights?.delete("find-now");
    if (words.trim().length < 2) { said.textContent = ""; box.hidden = true; return; }
    said.textContent = "…"; box.replaceChildren(); box.hidden = false;
    const more = () => { said.textContent = this.hits.length ? this.hits.length.toLocaleString() : "…"; };
    await this.source.search(words, (position, before, after) => {
      if (this.finding !== run) return;
      this.hits.push(position);
      if (this.hits.length <= 100) box.append(this.hitRow(this.hits.length - 1, position, before, after));
    }, () => { if (this.finding === run) more(); return this.finding !== run; });
    if (this.finding !== run) return;
    said.textContent = this.hits.length ? `${this.hits.length.toLocaleString()} found` : "none";
    if (!this.hits.length) box.replaceChildren(element("p", "omitted", "Nothing found"));
  }
  hitRow(number, position, before, after) {
    const row = element("button"); row.type = "button"; row.tabIndex = -1;
    const end = this.words.trim().split(/\s+/)[0].length;
    row.append(element("small", "", WHO[this.tree.kinds[position]] ?? ""), before, element("mark", "", after.slice(0, end)), after.slice(end));
    row.addEventListener("click", () => this.toHit(number));
    return row;
  }
  async toHit(number) {
    if (!this.hits?.length) return;
    this.hit = (number + this.hits.length) % this.hits.length;
    $("#found").textContent = `${this.hit + 1} of ${this.hits.length}`;
    const rows = [...$("#hits").children]; rows.forEach((row, k) => row.setAttribute("aria-selected", k === this.hit)); rows[this.hit]?.scrollIntoView({ block: "nearest" });
    const node = await this.goTo(this.hits[this.hit], { block: "centre", flash: false });
    if (node) await this.highlight(node);
  }
  async highlight(node) {
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    const ranges = (root) => { const found = [], walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT); for (let text; (text = walker.nextNode());) { const lower = text.data.toLowerCase(); for (const word of words) for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) { const range = new Range(); range.setStart(text, at); range.setEnd(text, at + word.length); found.push(range); } } return found; };
    const visible = () => ranges(node).filter((range) => !range.startContainer.parentElement.closest("details:not([open]) > :not(summary)"));
    if (!visible().length) for (const details of node.querySelectorAll("details")) {
      const known = this.folds.get(details); if (!known || details.open) continue;
      await this.unfold(details);
      if (ranges(known.fold).length) { details.open = true; this.opened.set(details.dataset.key, true); break; }
      known.fold.remove();
    }
    const found = visible();
    CSS.highlights?.set("find", new Highlight(...found)); CSS.highlights?.set("find-now", new Highlight(...found.slice(0, 1)));
    const at = found[0]?.getBoundingClientRect(); if (at && (at.top < 80 || at.bottom > innerHeight - 40)) scrollBy(0, at.top - innerHeight / 3);
  }

  // -- events -----------------------------------------------------------------------------------------------------

  listen() {
    this.box.addEventListener("toggle", (event) => {
      const details = event.target; if (!details.dataset?.key) return;
      this.opened.set(details.dataset.key, details.open);
      if (details.open) this.unfold(details); else this.folds.get(details)?.fold.remove();
    }, true);
    document.addEventListener("click", (event) => {
      const copy = event.target.closest(".copy"), link = event.target.closest('a[href^="#e-"]');
      if (copy) { navigator.clipboard?.writeText(copy.parentElement.nextElementSibling.textContent); copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1200); }
      if (link && this.box.contains(link)) { event.preventDefault(); history.replaceState(null, "", link.hash); const at = this.linked(); if (at >= 0) this.goTo(at); }
      if (!event.target.closest(".field")) $("#hits").hidden = true;
    });
    addEventListener("hashchange", () => { const at = this.linked(); if (at >= 0) this.goTo(at); });
    $("#foldall").addEventListener("click", () => { if (this.open.size) this.open.clear(); else this.unfoldAll(); this.drawTree(); });
    for (const tab of document.querySelectorAll('.pane [role="tab"]')) tab.addEventListener("click", () => this.tab(tab));
    $("#pane-button")?.addEventListener("click", () => { const shown = $(".pane").classList.toggle("open"); $("#pane-button").setAttribute("aria-expanded", shown); this.treeList.render(); if (this.layout) this.treeList.reveal(this.layout.rowOf[this.here]); });
    $("#find-button")?.addEventListener("click", () => { $(".find").classList.add("open"); $("#find").focus(); });
    const field = $("#find"); let later;
    field.addEventListener("input", () => { clearTimeout(later); later = setTimeout(() => this.find(field.value), 180); });
    field.addEventListener("focus", () => { if (this.hits?.length) $("#hits").hidden = false; });
    field.addEventListener("keydown", async (event) => {
      if (event.key === "Enter") { event.preventDefault(); clearTimeout(later); if (this.words !== field.value) await this.find(field.value); this.toHit(this.hit + (event.shiftKey ? -1 : 1)); }
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); this.toHit(this.hit + (event.key === "ArrowDown" ? 1 : -1)); }
      else if (event.key === "Escape") { field.value = ""; this.find(""); field.blur(); $(".find").classList.remove("open"); event.stopPropagation(); }
    });
    $("#tree").addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "b") { $(".pane").classList.remove("open"); $("#main").focus({ preventScroll: true }); event.preventDefault(); event.stopPropagation(); } });
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.toPaper());
    addEventListener("afterprint", () => this.fromPaper());
    $("#print").addEventListener("click", () => this.print());
    const idle = globalThis.requestIdleCallback ?? setTimeout;
    if (this.path.length <= 300) idle(() => this.load(this.path));   // so that the browser's own print has it all
  }

  // -- paper ------------------------------------------------------------------------------------------------------

  // The browser's Print menu does not wait. If something would be missing, the paper says so.
  toPaper() {
    if (this.isWhole()) this.showEverything(true); else this.list.hold(true);
    const drawn = [...this.list.nodes.values()].filter((node) => !node.dataset.waits).length;
    if (drawn === this.path.length && !this.filling.size) return;
    const note = element("p", "paper-note", drawn < this.path.length ? `Only ${drawn.toLocaleString()} of ${this.path.length.toLocaleString()} entries are on this paper.` : "Some texts on this paper are not complete.");
    note.append(" Choose “Prepare for printing” on the page to print all of them.");
    this.box.before(note);
  }
  fromPaper() {
    document.querySelector(".paper-note")?.remove();
    if (this.list.still) this.list.hold(false);
    if (this.list.everything) { this.showEverything(false); this.tell(""); }
  }
  isWhole() { return this.path.every((at) => this.cache.has(at)); }

  showEverything(on) {
    this.list.everything = on; this.list.range = null; this.list.render();
    for (const mark of this.box.querySelectorAll(".markline.cut")) {
      const fold = this.folds.get(mark)?.fold, ready = !fold?.matches("[data-text]") && !fold?.querySelector("[data-text]");
      if (on && ready) this.unfold(mark);
      mark.open = on && ready;
    }
  }

  // Load the whole path, put it into the document, and print. It stays loaded for the browser's Print menu.
  async print() {
    if (this.printing) return;
    const { path } = this, run = (this.printing = {}), stopped = () => this.printing !== run, stop = () => { this.printing = null; };
    this.whole = true;
    try {
      for (let k = 0; k < path.length; k += 200) {
        await this.load(path.slice(k, k + 200));
        if (stopped()) { this.whole = false; return; }
        if (path.length > 1000) this.tell(`Preparing ${Math.min(k + 200, path.length).toLocaleString()} of ${path.length.toLocaleString()} entries for paper …`, "Stop", stop);
      }
      if (path.length > 1000) { this.tell("Putting all of them on the page …", "Stop", stop); await new Promise((next) => setTimeout(next, 50)); }
      if (stopped()) return;
      this.showEverything(true);
      for (const mark of this.box.querySelectorAll(".markline.cut")) { await this.unfold(mark); mark.open = true; }
      await Promise.all(this.filling);
    } finally { stop(); }
    this.tell(`All ${path.length.toLocaleString()} entries are on the page.`, "Back to reading", () => this.fromPaper());
    print();
  }

  // One line at the bottom of the page, until it is closed or something else is told.
  tell(text, action = "Close", act = () => {}) {
    const box = $("#told"), [line, button] = box.children;
    line.textContent = text; button.textContent = action; box.hidden = !text;
    button.onclick = () => { box.hidden = true; act(); };
  }

  tab(tab) {
    for (const other of document.querySelectorAll('.pane [role="tab"]')) { const on = other === tab; other.setAttribute("aria-selected", on); other.tabIndex = on ? 0 : -1; $("#" + other.getAttribute("aria-controls")).hidden = !on; }
    this.treeList.render(); this.promptList.render();
  }
  setAll(kind) {
    this.all[kind] = !this.all[kind]; const key = this.path[this.here];
    for (const [name] of this.opened) this.opened.delete(name);
    for (const details of this.box.querySelectorAll("details." + kind)) { if (this.all[kind]) this.unfold(details); details.open = this.all[kind]; }
    this.goTo(key, { flash: false });
  }
  key(event) {
    if (event.target.closest?.("input, select, textarea, dialog, #tree") || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "p" && !this.isWhole()) { event.preventDefault(); this.print(); return; }
    if ((event.ctrlKey || event.metaKey) && event.key === "f" && this.path.length > 60) { event.preventDefault(); $(".find").classList.add("open"); $("#find").focus(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = (at, index) => this.list.heights.sizes[index] > 0, keys = {
      j: () => this.step(shown, 1), k: () => this.step(shown, -1),
      n: () => this.step((at) => this.tree.kinds[at] === "u", 1), p: () => this.step((at) => this.tree.kinds[at] === "u", -1),
      "]": () => this.step((at) => this.tree.isFork(at), 1), "[": () => this.step((at) => this.tree.isFork(at), -1),
      ArrowLeft: () => this.swap(this.forkAbove(), -1), ArrowRight: () => this.swap(this.forkAbove(), 1),
      g: () => this.goTo(this.path[0], { flash: false }), G: () => this.goTo(this.path[this.path.length - 1], { flash: false }),
      t: () => this.setAll("tool"), ".": () => this.setAll("think"),
      Enter: () => { if (event.target.closest?.("a, button, summary")) return false; const details = this.list.nodes.get(this.here)?.querySelector("details"); if (details) details.open = !details.open; return true; },
      y: () => { const link = location.href.split("#")[0] + "#e-" + encodeURIComponent(this.tree.ids[this.path[this.here]]); history.replaceState(null, "", link); navigator.clipboard?.writeText(link); },
      b: () => { $(".pane").classList.add("open"); this.tab($("#tab-tree")); this.treeList.focus(this.layout.rowOf[this.here]); },
      c: () => { const fork = this.forkAbove(), link = fork >= 0 && this.list.nodes.get(this.path.indexOf(fork))?.querySelector(".cmp"); if (link) location.href = link.href; },
      "/": () => { $(".find").classList.add("open"); $("#find").focus(); },
    };
    if (keys[event.key] && keys[event.key]() !== false) event.preventDefault();
  }
}

function focusOn(node) { const entry = node?.querySelector("article"); if (entry) { entry.tabIndex = -1; entry.focus({ preventScroll: true }); } }
const fragmentOf = (piece) => { const template = document.createElement("template"); template.innerHTML = piece; return template.content; };

// The line of a call whose result is not on the path.
function unanswered(call) {
  call.classList.remove("bad"); call.removeAttribute("id"); call.querySelector(".out")?.remove();
  for (const part of call.querySelectorAll("summary .gist, summary .dur")) part.textContent = "";
  const state = call.querySelector("summary .st"), inside = call.querySelector(".io");
  state.className = "i st wait"; state.setAttribute("aria-label", "no result");
  if (inside && !inside.firstChild) inside.remove();
}

const WHO = { u: "Prompt", a: "Answer", t: "Result", h: "Command", c: "Summary", b: "Summary", m: "Note" };
const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayOf = (time) => (time === null ? "" : dayFormat.format(time));
const clockOf = (time) => (time === null ? "" : clockFormat.format(time));
const paragraphsOf = (text) => text.replace(/^\n+|\n+$/g, "").split(/\n{2,}/).filter(Boolean).map((part) => element("p", "", part));

const LINE_KINDS = { "+": " add", "-": " del", "@": " at", "*": " at" };
function differenceLine(line) { const kind = LINE_KINDS[line[0]] ?? ""; return element("span", "ln" + kind, kind === " add" || kind === " del" || line[0] === " " ? line.slice(1) : line); }

// A difference out of both texts and the runs of kept, removed and added lines.
function changes(old, fresh, runs) {
  const left = old.split("\n"), right = fresh.split("\n"), lines = []; let a = 0, b = 0;
  for (const [, mark, size] of runs.matchAll(/([ +-])(\d+)/g)) for (let k = 0; k < +size; k++) {
    if (mark === "+") lines.push(element("span", "ln add", right[b++])); else { lines.push(element("span", mark === "-" ? "ln del" : "ln", left[a++])); if (mark === " ") b++; }
  }
  return lines;
}

export async function startSession(source, options) {
  const page = new SessionPage(source, new SessionTree(await source.skeleton()), options);
  await page.start();
  document.documentElement.dataset.ready = "yes"; performance.mark("ready");
  return page;
}
