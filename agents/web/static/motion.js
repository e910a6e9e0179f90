// Shows the steps of a move one after another: a hand that carries seeds from cell to cell.

import { draw, picture } from "./seeds.js";

const LONGEST = 9000; // ms that a move may take to be shown, however many seeds it sows

export class Motion {
  constructor(board) {
    this.board = board;
    this.running = 0; // the number of the move being shown; another number ends it
    this.active = false;
  }

  // End what is being shown: the caller sets the board.
  stop() {
    this.running += 1;
    this.hand?.remove();
    this.active = false;
  }

  // Show the steps, `ms` for each seed; say(text) tells of a capture. False if it was stopped.
  async show(steps, ms, say) {
    this.stop();
    const mine = this.running;
    const seeds = steps.reduce((sum, step) => sum + step.path.length, 0);
    this.ms = Math.min(ms, LONGEST / Math.max(1, seeds));
    this.active = true;
    this.hand = document.createElement("div");
    this.hand.className = "hand";
    this.hand.append(picture());
    this.board.root.append(this.hand);
    for (const step of steps) {
      if (step.kind === "sow") await this.sow(step, mine);
      else if (step.kind !== "rest") await this.collect(step, mine, say);
      if (mine !== this.running) return false;
      this.board.set(step.board);
    }
    this.stop();
    return true;
  }

  async sow(step, mine) {
    let at = this.board.middle(step.picked[0]);
    const held = step.picked.flatMap((cell) => this.board.take(cell));
    this.carry(held);
    for (const cell of step.path) {
      const to = this.board.middle(cell);
      await this.fly(at, to, this.ms);
      if (mine !== this.running) return;
      this.board.drop(cell, held.splice(0, 1));
      this.carry(held);
      at = to;
    }
  }

  // A capture, or what is left at the end: everything at once into one store, or into both.
  async collect(step, mine, say) {
    const elements = step.picked.map((cell) => this.board.cells.get(cell).element);
    elements.forEach((element) => element.classList.add("taken"));
    const count = step.picked.reduce((sum, cell) => sum + this.board.colours[cell].length, 0);
    if (step.kind === "capture") say(`captures ${count}`);
    await new Promise((done) => setTimeout(done, 2 * this.ms));
    elements.forEach((element) => element.classList.remove("taken"));
    if (mine !== this.running || step.path.length !== 1) return;
    const from = this.board.middle(step.picked[0]);
    const held = step.picked.flatMap((cell) => this.board.take(cell));
    this.carry(held);
    await this.fly(from, this.board.middle(step.path[0]), 2.5 * this.ms);
    if (mine === this.running) this.board.drop(step.path[0], held);
    this.carry([]);
  }

  carry(seeds) {
    this.hand.hidden = seeds.length === 0;
    draw(this.hand.firstChild, seeds, { most: 13 });
  }

  fly(from, to, ms) {
    const frame = ([x, y], lift) => ({ transform: `translate(${x}px, ${y}px) translate(-50%, -50%) scale(${lift})` });
    const between = from.map((value, i) => (value + to[i]) / 2);
    const flight = this.hand.animate([frame(from, 1), frame(between, 1.12), frame(to, 1)], {
      duration: ms, easing: "ease-in-out", fill: "forwards",
    });
    return flight.finished.catch(() => {});
  }
}
