// One stream of events for all pages of the viewer: a browser keeps six connections per host, and a page must not hold
// one for itself. It runs in a shared worker; where there is none, in the page, and only while the page is visible.
const base = new URL("..", import.meta.url).pathname, MOST = 200, PAUSE = 20, AGAIN = 500, LONGEST = 5000;

class Stream {
  pages = new Map(); known = new Map(); timer = 0; pause = AGAIN;

  // A page follows a session from an offset of its log on; ``tell`` receives the events.
  join(page, id, offset, tell) {
    this.pages.set(page, { id, tell });
    const known = this.known.get(id);
    if (known !== undefined && known <= offset) return;
    this.known.set(id, offset); this.open(PAUSE);
  }

  leave(page) {
    const left = this.pages.get(page);
    if (!left) return;
    this.pages.delete(page);
    if ([...this.pages.values()].some(({ id }) => id === left.id)) return;
    this.known.delete(left.id); this.open(PAUSE);
  }

  open(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.source?.close();
      this.source = this.known.size ? this.connected() : null;
    }, pause);
  }

  connected() {
    const source = new EventSource(`${base}api/events?of=${[...this.known].slice(-MOST).map(([id, offset]) => `${id}:${offset}`).join()}`);
    source.addEventListener("open", () => { this.pause = AGAIN; });
    // The browser would ask for what was known when the stream was opened.
    source.addEventListener("error", () => { source.close(); this.open(this.pause); this.pause = Math.min(2 * this.pause, LONGEST); });
    for (const kind of ["entries", "gone"]) source.addEventListener(kind, (event) => {
      const news = JSON.parse(event.data);
      if (kind === "entries") this.known.set(news.session, news.offset);
      for (const { id, tell } of this.pages.values()) if (id === news.session) tell(kind, news);
    });
    return source;
  }
}

if ("SharedWorkerGlobalScope" in globalThis) {
  const stream = new Stream();
  addEventListener("connect", ({ ports: [port] }) => {
    port.addEventListener("message", ({ data }) => {
      if (data) stream.join(port, data.id, data.offset, (kind, news) => port.postMessage([kind, news])); else stream.leave(port);
    });
    port.start();
  });
}

// Follow a session in a page. ``offset`` returns what the page knows at the moment.
export function follow(id, offset, tell) {
  let join, leave;
  const alone = () => {
    const stream = new Stream();
    leave = () => stream.leave(stream);
    join = () => { if (!document.hidden) stream.join(stream, id, offset(), tell); };
    document.addEventListener("visibilitychange", () => { leave(); join(); });
    join();
  };
  try {
    const worker = new SharedWorker(new URL(import.meta.url), { type: "module" });
    worker.port.addEventListener("message", ({ data: [kind, news] }) => tell(kind, news));
    worker.addEventListener("error", alone, { once: true });
    worker.port.start();
    leave = () => worker.port.postMessage(null);
    join = () => worker.port.postMessage({ id, offset: offset() });
    join();
  } catch { alone(); }
  addEventListener("pagehide", () => leave());
  addEventListener("pageshow", (event) => { if (event.persisted) join(); });
}
