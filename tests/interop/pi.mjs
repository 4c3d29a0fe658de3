// Speaks to pi's SessionManager: `node pi.mjs MODULE` reads one JSON object, does its steps, tells what pi then sees.
//
//   {"open": path} or {"create": [cwd, directory]}
//   "steps": [[method, argument…], …]; {"step": n} as an argument stands for the result of step n

import { readFileSync } from "node:fs";

const { SessionManager } = await import(process.argv[2]);
const { open, create, steps = [] } = JSON.parse(readFileSync(0, "utf8"));
const session = open ? SessionManager.open(open) : SessionManager.create(...create);

const results = [];
for (const [method, ...given] of steps) {
  const values = given.map((value) => (value?.step === undefined ? value : results[value.step]));
  results.push(session[method](...values) ?? null);
}

const { messages, model, thinkingLevel } = session.buildSessionContext();
const entries = session.getEntries();
const labels = entries.map(({ id }) => [id, session.getLabel(id)]).filter(([, label]) => label);
console.log(
  JSON.stringify({
    file: session.getSessionFile(),
    results,
    ids: entries.map(({ id }) => id),
    branch: session.getBranch().map(({ id, type }) => [id, type]),
    messages,
    model,
    thinkingLevel,
    labels: Object.fromEntries(labels),
    name: session.getSessionName() ?? null,
    parent: session.getHeader().parentSession ?? null,
  }),
);
