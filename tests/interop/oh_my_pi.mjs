// Speaks to oh-my-pi's SessionManager: `bun oh_my_pi.mjs MODULE` reads one JSON object, does its steps, tells what
// oh-my-pi then sees.
//
//   {"open": path} or {"create": [cwd, directory]}, or {"directories": [cwd, …]} for the directories of their sessions
//            ("whole": true gives whole paths)
//   "steps": [[method, argument…], …]; {"step": n} as an argument stands for the result of step n, and
//            {"owner": n} for the place of the entry of step n in this session
//   "watch": true also tells, after each step, the size of the file and what an oh-my-pi that opens it now sees

import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";

const { SessionManager } = await import(process.argv[2]);
const { open, create, directories, whole, steps = [], watch } = JSON.parse(readFileSync(0, "utf8"));
if (directories) {
  const name = (path) => (whole ? path : basename(path));
  const names = directories.map((cwd) => [cwd, name(SessionManager.getDefaultSessionDir(cwd))]);
  console.log(JSON.stringify(Object.fromEntries(names)));
  process.exit();
}
const session = open ? await SessionManager.open(open) : SessionManager.create(...create);

function view(session) {
  const context = session.buildSessionContext();
  const entries = session.getEntries();
  const labels = entries.map(({ id }) => [id, session.getLabel(id)]).filter(([, label]) => label);
  return {
    file: session.getSessionFile(),
    ids: entries.map(({ id }) => id),
    branch: session.getBranch().map(({ id, type }) => [id, type]),
    roots: session.getTree().map(({ entry }) => entry.id),
    children: Object.fromEntries(entries.map(({ id }) => [id, session.getChildren(id).map((child) => child.id)])),
    messages: context.messages,
    models: context.models,
    thinkingLevel: context.thinkingLevel,
    mode: context.mode,
    rules: context.injectedTtsrRules,
    labels: Object.fromEntries(labels),
    name: session.getSessionName() ?? null,
    header: session.getHeader(),
    usage: session.getUsageStatistics(),
    folder: session.getArtifactsDir(),
  };
}

const results = [];
const watched = [];
for (const [method, ...given] of steps) {
  const values = given.map((value) => {
    if (value?.owner !== undefined) return { sessionId: session.getSessionId(), parentId: results[value.owner] };
    return value?.step === undefined ? value : results[value.step];
  });
  results.push((await session[method](...values)) ?? null);
  const file = session.getSessionFile();
  if (watch && existsSync(file)) {
    await session.flush();
    watched.push([readFileSync(file, "latin1"), view(await SessionManager.open(file))]);
  }
}
await session.flush();
console.log(JSON.stringify({ ...view(session), results, watched }));
process.exit();
