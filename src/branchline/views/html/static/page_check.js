// Whether this page is as it was exported. Its last element is the SHA-256 of all bytes before it. A browser keeps the
// texts of script, style and noscript elements as they are in the file; the rest, as it was exported, is packed in
// "head", and what the browser made of that part of the file must be the same document.
import { unpacked } from "./packed.js";

const CHANGED = "This page was changed after it was exported, or a part of it is missing. If only an extension of this browser changed it, branchline check FILE finds the file unchanged.";

// What is on the page while its script runs for the first time, before anything here changes it.
export function parsedPage() {
  return { script: document.currentScript, head: nodesOf(document.head), body: nodesOf(document.body) };
}

// Say below "Where this comes from" that the page is unchanged, or above the conversation that it is not.
export async function checkPage(parsed) {
  while (document.readyState === "loading") await new Promise((next) => setTimeout(next, 50));
  if (!globalThis.DecompressionStream) return;
  let unchanged = false;
  try { unchanged = await isUnchanged(parsed); } catch { /* a part is missing or damaged */ }
  document.documentElement.dataset.checked = unchanged ? "unchanged" : "changed";
  const result = document.querySelector("#page-check");
  if (result) result.textContent = unchanged ? "none: the page matches its digest" : "found: see above the conversation";
  if (unchanged) return;
  const said = document.createElement("p"); said.className = "changed-page"; said.setAttribute("role", "alert"); said.textContent = CHANGED;
  (document.querySelector("#main > *") ?? document.body).prepend(said);
}

async function isUnchanged({ script, head, body }) {
  for (let node = script.nextSibling; node; node = node.nextSibling) if (isShown(node)) return false;
  let text = new TextDecoder().decode(await unpacked(document.querySelector("#head").textContent));
  for (const name of ["style", "noscript"]) text = text.replace(`></${name}>`, () => `>${document.querySelector(name).textContent}</${name}>`);
  const exported = new DOMParser().parseFromString(text, "text/html");
  if (!areEqual(head, nodesOf(exported.head)) || !areEqual(body, nodesOf(exported.body))) return false;
  const digest = new Sha256(), encoder = new TextEncoder();
  digest.add(encoder.encode(text));
  for (const part of document.querySelectorAll("body > script")) {
    if (part.id === "digest") return part.textContent === digest.hex();
    digest.add(encoder.encode(part.type ? `<script type="${part.type}" id="${part.id}">${part.textContent}<\/script>\n` : `<script>${part.textContent}<\/script>\n`));
    await new Promise((next) => setTimeout(next));
  }
  return false;
}

// Copies of the nodes that may be seen. What is in style and noscript is part of the digest.
function nodesOf(parent) {
  const nodes = [...parent.childNodes].filter(isShown).map((node) => node.cloneNode(true));
  for (const node of nodes) for (const raw of node.querySelectorAll?.("noscript") ?? []) raw.textContent = "";
  for (const node of nodes) if (node.nodeName === "STYLE") node.textContent = "";
  return nodes;
}

// Not the data; nor an empty element, such as extensions append to a page for what they show themselves.
function isShown(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.trim() !== "";
  if (node.nodeType !== Node.ELEMENT_NODE || node.nodeName === "SCRIPT") return false;
  return node.hasChildNodes() || !(node.nodeName === "DIV" || node.nodeName.includes("-"));
}

const areEqual = (some, others) => some.length === others.length && some.every((node, at) => node.isEqualNode(others[at]));

// -- SHA-256 (FIPS 180-4), in pieces: a large page need not be in memory once more --------------------------------------

const PRIMES = []; for (let number = 2; PRIMES.length < 64; number++) if (PRIMES.every((prime) => number % prime)) PRIMES.push(number);
const fraction = (value) => Math.floor((value % 1) * 2 ** 32) | 0;
const ROUNDS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const turned = (word, by) => (word >>> by) | (word << (32 - by));

class Sha256 {
  constructor() { this.state = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime))); this.words = new Int32Array(64); this.block = new Uint8Array(64); this.size = 0; }

  add(bytes) {
    let at = 0, held = this.size % 64; this.size += bytes.length;
    if (held) {
      at = Math.min(64 - held, bytes.length); this.block.set(bytes.subarray(0, at), held);
      if (held + at < 64) return;
      this.round(this.block, 0);
    }
    for (; at + 64 <= bytes.length; at += 64) this.round(bytes, at);
    this.block.set(bytes.subarray(at));
  }

  round(bytes, at) {
    const { words, state } = this;
    for (let k = 0; k < 16; k++, at += 4) words[k] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (let k = 16; k < 64; k++) {
      const near = words[k - 2], far = words[k - 15];
      words[k] = (words[k - 16] + words[k - 7] + (turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)) + (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3))) | 0;
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (let k = 0; k < 64; k++) {
      const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[k] + words[k]) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + first) | 0; d = c; c = b; b = a; a = (first + second) | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }

  hex() {
    const { size } = this, end = new Uint8Array(64 - ((size + 8) % 64) + 8), view = new DataView(end.buffer);
    end[0] = 128; view.setUint32(end.length - 8, Math.floor(size / 2 ** 29)); view.setUint32(end.length - 4, (size * 8) >>> 0);
    this.add(end);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
