// What pi or oh-my-pi sees in many files: `node lives.mjs MODULE` reads a JSON list of paths, answers with a list of views.

import { readFileSync } from "node:fs";

const { SessionManager } = await import(process.argv[2]);

async function view(path) {
  const session = await SessionManager.open(path);
  const entries = session.getEntries();
  const labels = entries.map(({ id }) => [id, session.getLabel(id)]).filter(([, label]) => label);
  return {
    path: session.getBranch().map(({ id, type }) => [id, type]),
    said: session.getBranch().map(({ id, message }) => [id, message]).filter(([, message]) => message),
    messages: session.buildSessionContext().messages,
    labels: Object.fromEntries(labels),
    title: session.getSessionName() ?? null,
  };
}

const views = [];
for (const path of JSON.parse(readFileSync(0, "utf8"))) views.push(await view(path));
await new Promise((done) => process.stdout.write(JSON.stringify(views), done));
process.exit();
