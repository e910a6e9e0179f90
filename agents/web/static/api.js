// Asks the server. Every request carries the whole game; what comes back is described at /docs. The
// server stops thinking about a request that is aborted by its signal.

async function call(path, body, signal) {
  const options = body === undefined ? {} : {
    signal,
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
  if (!answer.ok) throw Object.assign(new Error(found.error), { status: answer.status });
  return found;
}

export const setup = () => call("setup");
export const game = (record, signal) => call("game", record, signal);

// A busy server says so at once; an agent's move can wait a little.
export async function think(record, agent, seed, signal) {
  for (let tries = 5; ; tries -= 1) {
    try {
      return await call("think", { game: record, agent, seed }, signal);
    } catch (error) {
      if (error.status !== 503 || tries === 0) throw error;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

export const analyse = (record, seconds, signal) => call("analysis", { game: record, seconds }, signal);
export const load = (text) => call("load", { text });
export const agent = (rules, text, signal) => call("agent", { rules, agent: text }, signal);
export const save = (record, told, seats) => call("save", { game: record, told, seats });
export const position = (rules, board, side) => call("position", { rules, board, side });
