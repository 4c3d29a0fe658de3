// Requests to the server that the page came from. Scripts lie below the path at which the viewer is found.
export const base = new URL("..", import.meta.url).pathname.slice(0, -1);
export const meta = (name) => document.querySelector(`meta[name=branchline-${name}]`).content;

export async function ask(address) {
  const response = await fetch(base + address), answer = await response.json();
  if (!response.ok) throw new Error(answer.problem);
  return answer;
}

export async function post(address, body) {
  const headers = { "content-type": "application/json", "x-branchline": meta("token") };
  const response = await fetch(base + address, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) { const answer = await response.json(); throw Object.assign(new Error(answer.problem), { findings: answer.findings }); }
  return response;
}
