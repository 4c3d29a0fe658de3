// A session that is packed into this page: gzip chunks in base64, opened when a row of them is needed.
// A chunk is a row of frames: "<bytes of lines> <bytes of piece>\n", the lines of the session, the HTML of the entry.

export class PackedSource {
  constructor() {
    this.open = new Map(); this.plain = new Map();
    this.places = JSON.parse(document.querySelector("#chunks").textContent);   // position of each chunk's first entry
  }

  async skeleton() { return JSON.parse(new TextDecoder().decode(await unpacked(document.querySelector("#skeleton").textContent))); }

  chunkOf(position) { let low = 0, high = this.places.length - 1; while (low < high) { const middle = (low + high + 1) >> 1; if (this.places[middle] <= position) low = middle; else high = middle - 1; } return low; }

  chunk(number) {
    let found = this.open.get(number);
    if (!found) {
      found = this.bytes(number).then((bytes) => framed(bytes, this.places[number]));
      this.open.set(number, found);
      if (this.open.size > 12) this.open.delete(this.open.keys().next().value);
    } else { this.open.delete(number); this.open.set(number, found); }
    return found;
  }

  // The script runs while the page still loads: a chunk may not be there yet.
  async bytes(number) {
    while (!document.getElementById(`chunk-${number}`)?.nextSibling && document.readyState === "loading") await new Promise((next) => setTimeout(next, 10));
    return unpacked(document.getElementById(`chunk-${number}`).textContent);
  }

  async frame(position) { const { bytes, starts, first } = await this.chunk(this.chunkOf(position)); return { bytes, at: starts.subarray((position - first) * 3, (position - first) * 3 + 3) }; }

  async pieces(positions) {
    return Promise.all(positions.map(async (position) => { const { bytes, at } = await this.frame(position); return decoder.decode(bytes.subarray(at[1], at[2])); }));
  }

  // The text of the string that begins at an offset in the line of an entry.
  async text(position, offset) { const { bytes, at } = await this.frame(position); return stringAt(bytes, at[0] + offset); }

  // The entries that contain all words, chunk by chunk: found(position, text before the first word, text from it on).
  async search(words, found, stopped) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    for (let number = 0; number < this.places.length; number++) {
      const end = this.places[number + 1] ?? Infinity;
      for (const [position, text, lower] of await this.texts(number)) if (wanted.every((word) => lower.includes(word))) { const at = lower.indexOf(wanted[0]); found(position, text.slice(Math.max(0, at - 40), at), text.slice(at, at + 120)); }
      if (stopped()) return;
      if (end === Infinity) return;
      await new Promise((next) => setTimeout(next));
    }
  }

  async texts(number) {
    let kept = this.plain.get(number);
    if (kept) return kept;
    kept = [];
    const { bytes, starts, first } = framed(await this.bytes(number), this.places[number]);
    for (let k = 0; k < starts.length; k += 3) {
      const piece = decoder.decode(bytes.subarray(starts[k + 1], starts[k + 2]));
      if (!piece) continue;
      const parts = [plainText(piece)];
      for (const [, places] of piece.matchAll(/ data-(?:text|paragraphs|diff)="([^"]*)"/g)) for (const place of places.split("|")) {
        if (!/^\d+(?::\d+)?$/.test(place)) continue;
        const [offset, delta] = place.split(":").map(Number), other = k + 3 * (delta || 0);
        parts.push(other < starts.length ? stringAt(bytes, starts[other] + offset) : await this.text(first + other / 3, offset));
      }
      const whole = parts.join("\n");
      kept.push([first + k / 3, whole, whole.toLowerCase()]);
    }
    let held = 0; for (const list of this.plain.values()) held += list.size ?? 0;
    kept.size = kept.reduce((sum, [, text]) => sum + text.length, 0);
    if (held + kept.size < 6e7) this.plain.set(number, kept);
    return kept;
  }
}

const decoder = new TextDecoder();

// A JSON string out of the bytes of a line: up to the next quote that is not escaped.
function stringAt(bytes, start) {
  let end = start + 1;
  while (bytes[end] !== 34) end += bytes[end] === 92 ? 2 : 1;
  return JSON.parse(decoder.decode(bytes.subarray(start, end + 1)));
}
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };
const plainText = (piece) => piece.replace(/<[^>]*>/g, " ").replace(/&(?:lt|gt|quot|#39|amp);/g, (found) => ENTITIES[found]);

// Read by hand: a stream of a Blob, or a Response, would wait for other processes while the page still loads.
export async function unpacked(base64) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter(), reader = stream.readable.getReader(), parts = [];
  const ignore = () => {};   // the reader reports damage
  writer.write(bytes).catch(ignore); writer.close().catch(ignore);
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) { parts.push(part.value); size += part.value.length; }
  const whole = new Uint8Array(size); let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

// Where the line, the piece and the end of each frame are.
function framed(bytes, first) {
  const starts = []; let at = 0;
  while (at < bytes.length) {
    let head = ""; while (bytes[at] !== 10) head += String.fromCharCode(bytes[at++]);
    const [lines, line, piece] = head.split(" ").map(Number);
    at += 1;
    starts.push(at + line, at + lines, at + lines + piece);
    at += lines + piece;
  }
  return { bytes, starts: Int32Array.from(starts), first };
}
