// Speaks to pi's SessionManager: `node pi.mjs MODULE` reads one JSON object, does its steps, tells what pi then sees.
//
//   {"open": path} or {"create": [cwd, directory]}, or {"list": [cwd, directory]} to see a directory as pi does
//   "steps": [[method, argument…], …]; {"step": n} as an argument stands for the result of step n
//   "watch": true also tells, after each step, the size of the file and what a pi that opens it now sees

import { existsSync, readFileSync, statSync } from "node:fs";

const { SessionManager } = await import(process.argv[2]);
const { open, create, list, steps = [], watch } = JSON.parse(readFileSync(0, "utf8"));
if (list) {
  console.log(JSON.stringify(await SessionManager.list(...list)));
  process.exit();
}
const session = open ? SessionManager.open(open) : SessionManager.create(...create);

function view(session) {
  const { messages, model, thinkingLevel } = session.buildSessionContext();
  const entries = session.getEntries();
  const labels = entries.map(({ id }) => [id, session.getLabel(id)]).filter(([, label]) => label);
  return {
    file: session.getSessionFile(),
    ids: entries.map(({ id }) => id),
    branch: session.getBranch().map(({ id, type }) => [id, type]),
    messages,
    model,
    thinkingLevel,
    labels: Object.fromEntries(labels),
    name: session.getSessionName() ?? null,
    parent: session.getHeader().parentSession ?? null,
  };
}

const results = [];
const watched = [];
for (const [method, ...given] of steps) {
  const values = given.map((value) => (value?.step === undefined ? value : results[value.step]));
  results.push(session[method](...values) ?? null);
  const file = session.getSessionFile();
  if (watch && existsSync(file)) watched.push([statSync(file).size, view(SessionManager.open(file))]);
}
console.log(JSON.stringify({ ...view(session), results, watched }));
