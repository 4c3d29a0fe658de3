// A list of which only the visible rows are in the document.
// Heights are estimated until a row was measured, and summed in a Fenwick tree, so that any place of a list of
// 100,000 rows is found in a few steps. The first visible row stays where it is when heights above it change.

class Heights {
  constructor(sizes) {
    this.sizes = Float64Array.from(sizes); this.sums = new Float64Array(sizes.length + 1);
    for (let k = 1; k < this.sums.length; k++) { this.sums[k] += this.sizes[k - 1]; const up = k + (k & -k); if (up < this.sums.length) this.sums[up] += this.sums[k]; }
    this.top = 1; while (this.top * 2 < this.sums.length) this.top *= 2;
  }
  set(at, size) { const change = size - this.sizes[at]; if (!change) return; this.sizes[at] = size; for (let k = at + 1; k < this.sums.length; k += k & -k) this.sums[k] += change; }
  before(at) { let sum = 0; for (let k = at; k > 0; k -= k & -k) sum += this.sums[k]; return sum; }
  total() { return this.before(this.sizes.length); }
  // The row at a distance from the top.
  find(distance) { let at = 0; for (let step = this.top; step; step >>= 1) if (at + step < this.sums.length && this.sums[at + step] <= distance) { at += step; distance -= this.sums[at]; } return Math.min(at, this.sizes.length - 1); }
}

const OVERSCAN = 500, MOST_NODES = 1200;

export class WindowedList {
  // box: the element that holds the rows. estimate(row): a height. make(row, index): an element, or null while its
  // content is on the way. want(first, last): asks for the content of rows. seen(index): the first visible row.
  constructor(box, { estimate, make, want, seen }) {
    Object.assign(this, { box, estimate, make, want, seen, rows: [], nodes: new Map(), everything: false, still: false });
    this.observer = new ResizeObserver((changes) => this.measure(changes.map((change) => change.target)));
    const again = () => this.soon();
    addEventListener("scroll", again, { passive: true }); addEventListener("resize", again);
  }

  // Show other rows. keep: an index whose row stays where it is on the screen, if it is there.
  show(rows, keep = -1) {
    const anchor = keep >= 0 && this.nodes.get(keep) ? this.nodes.get(keep).getBoundingClientRect().top : null;
    let same = 0; while (same < rows.length && rows[same] === this.rows[same]) same++;
    const known = this.heights?.sizes;
    for (const [at, node] of this.nodes) if (at >= same) this.drop(at, node);
    this.rows = rows;
    this.heights = new Heights(rows.map((row, at) => (at < same && known ? known[at] : this.estimate(row))));
    this.range = null; this.render();
    if (anchor !== null && this.nodes.get(keep)) scrollBy(0, this.nodes.get(keep).getBoundingClientRect().top - anchor);
    this.render();
  }

  // More rows at the end, or other content for some that are there.
  refresh(changed = []) { for (const at of changed) { const node = this.nodes.get(at); if (node) this.drop(at, node); } this.range = null; this.render(); }

  offset() { return this.box.getBoundingClientRect().top + scrollY; }
  soon() { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.render(); }); }

  // Keep what is drawn, without the space of the other rows: for paper.
  hold(on) { this.still = on; if (on) this.box.style.padding = ""; else { this.range = null; this.render(); } }

  render() {
    if (this.still) return;
    if (!this.rows.length) { this.box.replaceChildren(); return; }
    // Rows that turn out lower than estimated leave space for more: go on until the window is full.
    for (let tries = 0; tries < 8; tries++) {
      const [first, last, visible] = this.window();
      if (visible !== this.visible) { this.visible = visible; this.seen(visible); }
      if (this.range && this.range[0] === first && this.range[1] === last) return;
      this.range = [first, last];
      this.fill(first, last, visible);
      this.want(first, last);
    }
  }

  // The first and the last row to draw, and the first that is visible.
  window() {
    const top = scrollY - this.offset(), heights = this.heights, visible = heights.find(Math.max(0, top + 96));
    if (this.everything) return [0, this.rows.length - 1, visible];
    let first = heights.find(Math.max(0, top - OVERSCAN)), last = heights.find(Math.max(0, top + innerHeight + OVERSCAN));
    const selection = getSelection();
    if (!selection.isCollapsed) for (const [at, node] of this.nodes) if (selection.containsNode(node, true) && Math.abs(at - first) < 200) { first = Math.min(first, at); last = Math.max(last, at); }
    return [first, last, visible];
  }

  fill(first, last, anchorAt) {
    const anchor = this.anchor(first, last, anchorAt), before = anchor?.getBoundingClientRect().top;
    for (const [at, node] of this.nodes) if (at < first || at > last) this.drop(at, node);
    let follows = null, count = this.box.getElementsByTagName("*").length; const fresh = [];
    for (let at = last; at >= first; at--) {
      let node = this.nodes.get(at);
      if (!node || node.dataset.waits) {
        const made = this.make(this.rows[at], at);
        if (made || !node) {
          if (node) this.drop(at, node);
          node = made ?? this.placeholder(at);
          this.box.insertBefore(node, follows); this.nodes.set(at, node); this.observer.observe(node); fresh.push(node); node.dataset.at = at;
        }
      }
      follows = node;
    }
    this.measure(fresh, false);
    this.pad(first, last);
    if (anchor?.isConnected && before !== undefined) { const moved = anchor.getBoundingClientRect().top - before; if (Math.abs(moved) > .5) scrollBy(0, moved); }
    count = this.box.getElementsByTagName("*").length;
    if (count > MOST_NODES && !this.everything) this.trim(first, last);
  }

  // The row that stays where it is: the first visible one, or what was drawn before and is nearest to it, so that
  // a page further down begins with what the last one ended with.
  anchor(first, last, wanted) {
    let best = null, distance = Infinity;
    for (const [at, node] of this.nodes) if (at >= first && at <= last && !node.dataset.waits && Math.abs(at - wanted) < distance) { best = node; distance = Math.abs(at - wanted); }
    return best;
  }

  // Rows with very much in them: keep only those that are visible.
  trim(first, last) {
    const top = scrollY - this.offset(), from = this.heights.find(Math.max(0, top - 60)), to = this.heights.find(Math.max(0, top + innerHeight + 60));
    for (let at = first; at < from; at++) { const node = this.nodes.get(at); if (node) this.drop(at, node); }
    for (let at = to + 1; at <= last; at++) { const node = this.nodes.get(at); if (node) this.drop(at, node); }
    this.pad(Math.max(first, from), Math.min(last, to));
  }

  placeholder(at) { const node = document.createElement("div"); node.className = "node"; node.dataset.waits = "1"; node.style.height = this.heights.sizes[at] + "px"; return node; }
  drop(at, node) { this.observer.unobserve(node); node.remove(); this.nodes.delete(at); }
  pad(first, last) {
    if (this.still) return;
    this.box.style.paddingTop = this.heights.before(first) + "px";
    this.box.style.paddingBottom = Math.max(0, this.heights.total() - this.heights.before(last + 1)) + "px";
  }

  measure(nodes, adjust = true) {
    let above = 0; const visible = this.visible ?? 0;
    for (const node of nodes) {
      if (!node.isConnected || node.dataset.waits) continue;
      const at = +node.dataset.at, size = node.offsetHeight;
      if (this.nodes.get(at) !== node) continue;
      if (at < visible) above += size - this.heights.sizes[at];
      this.heights.set(at, size);
    }
    if (adjust && this.range) { const [first, last] = this.bounds(); this.pad(first, last); if (Math.abs(above) > .5) this.soon(); }
  }
  bounds() { let first = Infinity, last = -1; for (const at of this.nodes.keys()) { first = Math.min(first, at); last = Math.max(last, at); } return [first, last]; }

  // Bring a row below the bar; settles once the rows around it are measured.
  async go(at, block = "start", ready = () => Promise.resolve()) {
    const space = block === "start" ? 76 : innerHeight / 3;
    for (let tries = 0; tries < 6; tries++) {
      scrollTo(0, at === 0 ? 0 : this.offset() + this.heights.before(at) - space);
      this.range = null; this.render();
      await ready(at);
      this.range = null; this.render();
      const node = this.nodes.get(at);
      if (at === 0 && node && !node.dataset.waits) break;
      if (node && !node.dataset.waits && Math.abs(node.getBoundingClientRect().top - space) < 2) break;
      if (node && scrollY + innerHeight >= document.documentElement.scrollHeight - 2 && !node.dataset.waits && tries > 1) break;
    }
    this.visible = at; this.seen(at);
    return this.nodes.get(at);
  }
}
