// What pi sees in many files: `node pi_views.mjs MODULE` reads a JSON list of paths and answers with a list of views.

import { readFileSync } from "node:fs";

const { SessionManager, estimateTokens } = await import(process.argv[2]);

function view(path) {
  const session = SessionManager.open(path);
  const { messages, model, thinkingLevel } = session.buildSessionContext();
  const entries = session.getEntries();
  const labels = entries.map(({ id }) => [id, session.getLabel(id)]).filter(([, label]) => label);
  return {
    ids: entries.map(({ id }) => id),
    branch: session.getBranch().map(({ id, type }) => [id, type]),
    roots: session.getTree().map(({ entry }) => entry.id),
    tokens: messages.map((message) => estimateTokens(message)),
    messages,
    model,
    thinkingLevel,
    labels: Object.fromEntries(labels),
    name: session.getSessionName() ?? null,
  };
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(view)));
