// The shape of a session: parents, children and paths over the columns of the skeleton.
// Side records (kind "-") are passed over: they are on no path.

export class SessionTree {
  constructor(columns) {
    this.ids = []; this.kinds = ""; this.times = []; this.parents = [];
    this.texts = new Map(); this.labels = new Map();
    this.add(columns);
  }

  // Take in columns: all of a session, or the entries that were appended to it.
  add(columns) {
    this.ids = this.ids.concat(columns.ids); let last = 0; for (const step of columns.times) this.times.push(step === null ? null : (last += step) * 1000); this.parents = this.parents.concat(columns.steps.map((step, at) => columns.first + at - step));
    this.kinds += columns.kinds;
    for (const [at, text] of Object.entries(columns.texts)) this.texts.set(+at, text);
    for (const [at, text] of Object.entries(columns.labels)) this.labels.set(+at, text);
    this.leaf = columns.leaf;
    this.link();
  }

  link() {
    const size = this.ids.length, { parents, kinds } = this;
    this.positions = new Map(this.ids.map((id, at) => [id, at]));
    this.up = new Int32Array(size);
    this.first = new Int32Array(size).fill(-1); this.last = new Int32Array(size).fill(-1); this.next = new Int32Array(size).fill(-1);
    this.roots = [];
    for (let at = 0; at < size; at++) {
      let parent = parents[at];
      while (parent >= 0 && kinds[parent] === "-") parent = parents[parent];
      this.up[at] = parent;
      if (kinds[at] === "-") continue;
      if (parent < 0) this.roots.push(at);
      else if (this.first[parent] < 0) this.first[parent] = this.last[parent] = at;
      else { this.next[this.last[parent]] = at; this.last[parent] = at; }
    }
    // Entries and tips below each entry, from the tips up. A parent may come later in the file.
    const order = [], waiting = [...this.roots];
    while (waiting.length) { const at = waiting.pop(); order.push(at); for (let child = this.first[at]; child >= 0; child = this.next[child]) waiting.push(child); }
    this.sizes = new Int32Array(size).fill(1); this.tips = new Int32Array(size);
    for (let k = order.length - 1; k >= 0; k--) {
      const at = order[k], parent = this.up[at];
      if (this.first[at] < 0) this.tips[at] = 1;
      if (parent >= 0) { this.sizes[parent] += this.sizes[at]; this.tips[parent] += this.tips[at]; }
    }
    this.branches = this.roots.reduce((sum, at) => sum + this.tips[at], 0);
    this.entries = order.length;
  }

  children(at) { const found = []; for (let child = this.first[at]; child >= 0; child = this.next[child]) found.push(child); return found; }
  siblings(at) { return this.up[at] < 0 ? this.roots : this.children(this.up[at]); }
  isFork(at) { const parent = this.up[at]; return parent < 0 ? this.roots.length > 1 : this.first[parent] !== this.last[parent]; }
  newest(at) { while (this.last[at] >= 0) at = this.last[at]; return at; }
  path(leaf) { const found = []; for (let at = leaf; at >= 0; at = this.up[at]) if (this.kinds[at] !== "-") found.push(at); return found.reverse(); }

  // The entry of an id, or the nearest one on a path above a side record.
  find(id) { let at = this.positions.get(id) ?? -1; while (at >= 0 && this.kinds[at] === "-") at = this.parents[at]; return at; }

  // What a branch is called: its first label, or how its first entry begins.
  name(at) {
    for (let k = at, steps = 0; k >= 0 && steps < 400; k = this.first[k] === this.last[k] ? this.first[k] : -1, steps++) if (this.labels.has(k)) return this.labels.get(k);
    return this.branchText(at);
  }
  // How an entry begins, or what it is; of a branch, how the first entry with words begins.
  text(at) { return this.texts.get(at) || WORDS[this.kinds[at]] || "entry"; }
  branchText(at) {
    for (let k = at, steps = 0; k >= 0 && steps < 40; k = this.first[k], steps++) { const text = this.texts.get(k); if (text) return text; }
    return this.text(at);
  }
}

const WORDS = { a: "answer", t: "tool result", h: "command", c: "compacted", x: "context cleared", b: "branch summary", s: "setting", m: "note", d: "unreadable line" };

