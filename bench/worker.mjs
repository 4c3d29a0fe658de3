// One piece of work by pi, measured in a process of its own: `node worker.mjs MODULE WORK ARGUMENT…`.
// Prints the same line of JSON as worker.py, and does the same works.

import { existsSync, readFileSync } from "node:fs";

const [module, work, ...words] = process.argv.slice(2);
const { SessionManager } = await import(module);
const CWD = "/home/dev/branchline-bench";

const works = {
  // Pi has no smaller way to open, and no other way to list.
  open: (path) => [() => SessionManager.open(path).buildSessionContext().messages, (messages) => messages.length],
  context: (path) => works.open(path),
  warm: (path) => works.open(path),
  "list-deep": (directory) => [
    () => SessionManager.list(CWD, directory),
    (sessions) => sessions.reduce((sum, { messageCount }) => sum + messageCount, 0),
  ],
  "list-again": (directory) => works["list-deep"](directory),
  "list-shallow": (directory) => [() => SessionManager.list(CWD, directory), (sessions) => sessions.length],
  append: (directory, messages) => append(SessionManager.create(CWD, directory), messages),
  "append-to": (path, messages) => append(SessionManager.open(path), messages),
};

function append(session, path) {
  const messages = JSON.parse(readFileSync(path, "utf8"));
  // A prompt and an answer: from here on every version of pi writes at once.
  for (const message of messages.slice(0, 2)) session.appendMessage(message);
  return [() => messages.forEach((message) => session.appendMessage(message)), () => messages.length];
}

function peak() {
  const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
  const noted = /^VmHWM:\s*(\d+)/m.exec(status);
  return 1024 * (noted ? Number(noted[1]) : process.resourceUsage().maxRSS);
}

const [act, answer] = works[work](...words);
const wall = performance.now();
const before = process.cpuUsage();
const result = await act();
const { user, system } = process.cpuUsage(before);
const sample = { wall: (performance.now() - wall) / 1e3, cpu: (user + system) / 1e6, peak: peak() };
console.log(JSON.stringify({ ...sample, answer: answer(result) }));
