// Asks the server. Every request carries the whole game; what comes back is described at /docs.

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(`/api/${path}`, options);
  } catch {
    throw new Error("The server does not answer. Is `kalah serve` still running?");
  }
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export const setup = () => call("setup");
export const game = (record) => call("game", record);
export const think = (record, agent, seed) => call("think", { game: record, agent, seed });
export const analyse = (record, seconds) => call("analysis", { game: record, seconds });
export const load = (text) => call("load", { text });
