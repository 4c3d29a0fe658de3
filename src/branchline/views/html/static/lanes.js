// The tree beside the transcript: the shown path is one straight line, other branches leave it to the right
// directly under their branch point. Width grows with nesting, not with the number of branches, and only the
// visible rows are in the document.

const coarse = matchMedia("(pointer: coarse), (max-width: 720px)");
const LANE = 14, LEFT = 20, LONG_RUN = 8, MOST_SIDES = 6, SIDES_SHOWN = 4;
const rowHeight = () => (coarse.matches ? 44 : 28);
const SVG = "http://www.w3.org/2000/svg";
const drawn = (name, attributes) => { const element = document.createElementNS(SVG, name); for (const key in attributes) element.setAttribute(key, attributes[key]); return element; };
const made = (name, className, text) => { const element = document.createElement(name); element.className = className; if (text !== undefined) element.textContent = text; return element; };

// rows: what each line of the pane says. links: vertical lines between rows of one lane. rowOf: for each index of the
// path, the row that stands for it.
export function layTree(tree, path, open, shown) {
  const rows = [], links = [], rowOf = new Int32Array(path.length), indexes = new Map(path.map((at, index) => [at, index]));
  const worthARow = (at) => "ucxd".includes(tree.kinds[at]) || tree.labels.has(at) || tree.first[at] !== tree.last[at];
  const isPlain = (at) => !(tree.labels.has(at) || tree.first[at] !== tree.last[at] || "cxd".includes(tree.kinds[at]));

  const follow = (chain, lane, current, before) => {
    let previous = before;
    const put = (row) => {
      const at = rows.push({ lane, current, ...row }) - 1;
      if (previous >= 0) links.push({ lane, from: previous, to: at, current });
      return (previous = at);
    };
    for (let k = 0; k < chain.length; k++) {
      const at = chain[k], end = k === chain.length - 1;
      if (worthARow(at) || end || (k === 0 && before < 0 && tree.kinds[at] !== "s")) {
        let stop = k, prompts = 0;
        if (tree.kinds[at] === "u" && !shown.has(at)) while (stop < chain.length - 1 && isPlain(chain[stop])) { if (tree.kinds[chain[stop]] === "u") prompts++; stop++; }
        if (prompts > LONG_RUN) {
          put({ kind: "run", at, text: `${prompts.toLocaleString()} prompts, ${(stop - k).toLocaleString()} entries` });
          if (current) for (let j = k; j < stop; j++) rowOf[indexes.get(chain[j])] = previous;
          k = stop - 1;
          continue;
        }
        put({ kind: "entry", at, text: tree.text(at), leaf: end && current });
        const next = chain[k + 1], sides = tree.children(at).filter((child) => child !== next);
        const few = sides.length > MOST_SIDES && !shown.has("sides" + at) ? sides.slice(-SIDES_SHOWN) : sides;
        const stem = previous;
        for (const child of few) branch(child, lane);
        if (few.length < sides.length) rows.push({ kind: "more", at, lane: lane + 1, side: true, text: `${sides.length - few.length} older branches here` });
        if (sides.length && next === undefined) links.push({ lane, from: stem, to: rows.length - 1, current, half: true });
        previous = stem;
      }
      if (current) rowOf[indexes.get(at)] = Math.max(0, previous);
    }
  };
  const branch = (at, lane) => {
    const isOpen = open.has(at);
    const row = rows.push({ kind: "branch", at, lane: lane + 1, side: true, isOpen, text: tree.branchText(at), label: isOpen ? tree.labels.get(at) : branchLabel(tree, at), count: tree.sizes[at], tips: tree.tips[at] }) - 1;
    if (!isOpen) return;
    const children = tree.children(at), next = children.pop();
    for (const child of children) branch(child, lane + 1);
    if (next === undefined) return;
    const chain = []; for (let k = next; k >= 0; k = tree.last[k]) chain.push(k);
    follow(chain, lane + 1, false, row);
  };
  for (const root of tree.roots) if (root === path[0]) follow(path, 0, true, -1); else branch(root, 0);
  return { rows, links, rowOf };
}

function branchLabel(tree, at) { for (let k = at; k >= 0; k = tree.first[k] === tree.last[k] ? tree.first[k] : -1) if (tree.labels.has(k)) return tree.labels.get(k); return undefined; }

// A list of rows of one height in a scrolling pane; draws those that are visible.
export class PaneList {
  constructor(box, draw) {
    Object.assign(this, { box, draw, count: 0 });
    this.scroller = box.parentElement;
    this.scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    addEventListener("resize", () => this.soon());
  }
  soon() { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.render(); }); }
  set(count) { this.count = count; this.render(); }
  render() {
    const row = rowHeight(), { scrollTop, clientHeight } = this.scroller;
    this.box.style.height = this.count * row + "px";
    if (!clientHeight) return;
    const first = Math.max(0, Math.floor(scrollTop / row) - 6), last = Math.min(this.count - 1, Math.ceil((scrollTop + clientHeight) / row) + 6);
    const focused = this.box.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    this.box.replaceChildren(...this.draw(first, last, row));
    if (focused !== null) this.box.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
  }
  reveal(index) {
    const row = rowHeight(), { scrollTop, clientHeight } = this.scroller;
    if (index * row < scrollTop + row || (index + 2) * row > scrollTop + clientHeight) this.scroller.scrollTop = index * row - clientHeight / 3;
  }
  focus(index) {
    if (index < 0 || index >= this.count) return;
    this.reveal(index); this.render();
    this.box.querySelector(`[data-row="${index}"]`)?.focus({ preventScroll: true });
  }
}

// Draw some rows of a laid tree: one drawing for the lines, one element per row.
export function drawRows(tree, { rows, links }, here, first, last, height, act) {
  const x = (lane) => LEFT + lane * LANE, y = (row) => row * height + height / 2;
  const svg = drawn("svg", { class: "lanes", width: 1, height: 1, "aria-hidden": "true" });
  const curves = [], lines = { false: "", true: "" };
  for (const { lane, from, to, current, half } of links) if (to >= first - 1 && from <= last + 1) lines[current] += `M${x(lane)} ${y(from)}V${half ? y(to) - height / 2 : y(to)}`;
  const marks = [], items = [];
  for (let k = first; k <= last; k++) {
    const row = rows[k], { at, lane } = row, isHere = k === here, kind = tree.kinds[at], name = (row.current ? "cur" : "") + (isHere ? " here" : "") + (row.leaf ? " leaf" : "");
    if (row.side) curves.push(`M${x(lane - 1)} ${y(k) - height / 2}C${x(lane - 1)} ${y(k) - 2} ${x(lane - 1) + 2} ${y(k)} ${x(lane)} ${y(k)}`);
    if (row.kind === "run") { marks.push(drawn("path", { class: "gap", d: `M${x(lane)} ${y(k) - 8}v16` }), drawn("path", { class: name + " dash", d: `M${x(lane)} ${y(k) - 8}v16` })); }
    else if (row.kind === "entry" && kind === "c") marks.push(drawn("path", { class: "gap", d: `M${x(lane)} ${y(k) - 3}v6` }), drawn("path", { class: name + " bars", d: `M${x(lane) - 6} ${y(k) - 3}h12m-12 6h12` }));
    else if (row.kind === "entry" && kind === "x") marks.push(drawn("path", { class: "gap", d: `M${x(lane)} ${y(k) - 9}v18` }), drawn("path", { class: name + " dash", d: `M${x(lane)} ${y(k) - 9}v18` }));
    else if (row.kind !== "more") marks.push(drawn("circle", { class: name, cx: x(lane), cy: y(k), r: kind === "u" || row.kind === "branch" ? 4 : 3 }));
    items.push(treeItem(tree, row, k, rows.length, isHere, x(lane) + 14, height, act));
  }
  svg.append(drawn("path", { d: lines.false + curves.join("") }), drawn("path", { class: "cur", d: lines.true }), ...marks);
  return [svg, ...items];
}

function treeItem(tree, row, index, size, isHere, left, height, act) {
  const item = made("div", "ti" + (row.current ? " cur" : "") + (isHere ? " here" : "") + (tree.kinds[row.at] === "u" ? " prompt" : ""));
  item.setAttribute("role", "treeitem"); item.setAttribute("aria-level", row.lane + 1); item.setAttribute("aria-posinset", index + 1); item.setAttribute("aria-setsize", size);
  item.setAttribute("aria-selected", isHere); item.tabIndex = isHere ? 0 : -1; item.dataset.row = index; item.dataset.at = row.at;
  item.style.top = index * height + "px"; item.style.height = height + "px"; item.style.paddingLeft = left + "px";
  if (row.kind === "branch") {
    item.setAttribute("aria-expanded", row.isOpen);
    const twist = made("span", "tw"); twist.append(made("i", "i chev")); twist.addEventListener("click", (event) => { event.stopPropagation(); act.fold(row.at); }); item.append(twist);
  }
  const label = row.kind === "branch" ? row.label : row.kind === "entry" ? tree.labels.get(row.at) : undefined;
  if (label) item.append(made("span", "chip", label));
  item.append(made("span", "t", row.text));
  if (row.kind === "branch") item.append(made("span", "c", row.tips > 1 ? `${row.count.toLocaleString()} in ${row.tips}` : row.count.toLocaleString()));
  item.title = row.text;
  item.addEventListener("click", () => act.go(row));
  item.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") act.focus(index + 1); else if (event.key === "ArrowUp") act.focus(index - 1);
    else if (event.key === "Home") act.focus(0); else if (event.key === "End") act.focus(size - 1);
    else if (event.key === "Enter" || event.key === " ") act.go(row);
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && row.kind === "branch") act.fold(row.at, event.key === "ArrowRight");
    else return;
    event.preventDefault(); event.stopPropagation();
  });
  return item;
}
