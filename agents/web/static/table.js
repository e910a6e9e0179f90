// The game at the table: its record, who sits where, whose turn it is. It holds no rule: moves are
// made by asking the server for the game with one move more.

import * as api from "./api.js";

export const HUMAN = "human";
const NOTHING = { tags: {}, comments: {} };

export class Table {
  // on: {shown(view, made), thinking(player | null), failed(error)}; shown is awaited.
  constructor(on) {
    this.on = on;
    this.record = { rules: "kalah", start: null, moves: [] };
    this.told = NOTHING; // what a loaded file says of the game
    this.played = true; // somebody here has played it, or played it on
    this.undone = [];
    this.seats = [HUMAN, "medium"];
    this.levels = [];
    this.seed = Math.floor(Math.random() * 2 ** 31);
    this.auto = true; // agents go on by themselves
    this.turn = 0; // whatever was begun in an earlier turn is forgotten, and the server told so
    this.asking = new AbortController();
    this.view = null;
  }

  get mover() { return this.view?.mover ?? null; }
  get humansTurn() { return this.mover !== null && this.seats[this.mover] === HUMAN; }
  get hasHuman() { return this.seats.includes(HUMAN); }

  // Begin a game: {rules, start, moves}. What cannot begin leaves the old one as it is.
  async begin(record, { auto = this.hasHuman, undone = [], told = NOTHING, played = true } = {}) {
    const turn = this.next();
    const asked = { rules: record.rules, start: record.start || null, moves: record.moves ?? [] };
    const view = await this.ask((signal) => api.game(asked, signal), turn);
    if (!view) return false;
    this.undone = undone;
    this.told = told;
    this.played = played;
    this.auto = auto;
    await this.accept(view, false, turn);
    return true;
  }

  next() {
    this.asking.abort();
    this.asking = new AbortController();
    return ++this.turn;
  }

  async ask(question, turn) {
    try {
      const answer = await question(this.asking.signal);
      return turn === this.turn ? answer : null;
    } catch (error) {
      if (turn === this.turn) {
        this.on.thinking(null);
        this.on.failed(error);
      }
      return null;
    }
  }

  async accept(view, made, turn) {
    this.view = view;
    this.record = { rules: view.rules, start: view.start, moves: view.moves };
    await this.on.shown(view, made);
    if (turn === this.turn && this.auto) await this.think(turn);
  }

  // Make a move; `turn`: of who chose it.
  async play(move, turn = this.next()) {
    const view = await this.ask((signal) => api.game({ ...this.record, moves: [...this.record.moves, move] }, signal), turn);
    if (!view) return;
    if (this.undone[0] === move) {
      this.undone = this.undone.slice(1);
    } else {
      this.undone = [];
      this.forget(this.record.moves.length);
    }
    this.played = true;
    await this.accept(view, true, turn);
  }

  // Other moves take the place of those behind the first `count`, and what was said of them is gone.
  forget(count) {
    const comments = Object.entries(this.told.comments).filter(([number]) => number <= count);
    this.told = { ...this.told, comments: Object.fromEntries(comments) };
  }

  // A human's move: agents answer it.
  choose(move) {
    this.auto = this.hasHuman;
    return this.play(move);
  }

  // Let the agent to move choose, and play it.
  async think(turn = this.next()) {
    if (this.mover === null || this.humansTurn) return;
    const player = this.mover;
    this.on.thinking(player);
    const thought = await this.ask((signal) => api.think(this.record, this.seats[player], this.seed, signal), turn);
    if (!thought) {
      if (turn === this.turn) this.auto = false;
      return;
    }
    this.on.thinking(null);
    await this.play(thought.move, turn);
  }

  step() {
    this.auto = this.hasHuman;
    return this.think();
  }

  async setAuto(auto) {
    this.auto = auto;
    this.next();
    this.on.thinking(null);
    await this.on.shown(this.view, false);
    if (auto) await this.think();
  }

  // Whether an agent can play; the server knows. Levels are its own.
  async canPlay(agent, rules) {
    if (agent === HUMAN || this.levels.includes(agent)) return true;
    return Boolean(await this.ask((signal) => api.agent(rules, agent, signal), this.turn));
  }

  // Another player is chosen for a seat; one who cannot play leaves the old one there.
  async sit(player, agent) {
    if (!await this.canPlay(agent, this.record.rules)) return;
    this.seats[player] = agent;
    await this.setAuto(this.hasHuman);
  }

  // Go to the position behind the first `count` moves; the others can be made again.
  goTo(count) {
    const all = [...this.record.moves, ...this.undone];
    if (count < 0 || count > all.length) return Promise.resolve(false);
    const { told, played } = this;
    return this.begin({ ...this.record, moves: all.slice(0, count) }, { auto: false, undone: all.slice(count), told, played });
  }

  // Back to where a human was to move, or by one move where none plays.
  undo() {
    const plies = this.view.plies;
    let count = plies.length - 1;
    while (count > 0 && this.hasHuman && this.seats[plies[count].player] !== HUMAN) count -= 1;
    return this.goTo(count).then((gone) => this.waitForHuman(gone));
  }

  async redo() {
    let gone = await this.goTo(this.record.moves.length + 1);
    while (gone && this.hasHuman && !this.humansTurn && this.undone.length) {
      gone = await this.goTo(this.record.moves.length + 1);
    }
    return this.waitForHuman(gone);
  }

  // With a human to move, the agents answer again once he has moved.
  waitForHuman(gone) {
    if (gone && this.humansTurn) this.auto = true;
    return gone;
  }

  // The game as a file holds it, in both forms.
  save() {
    const [south, north] = this.seats;
    return api.save(this.record, this.told, this.played ? { south, north } : null);
  }

  analyse(seconds) {
    return this.ask((signal) => api.analyse(this.record, seconds, signal), this.turn);
  }
}
