// A position set up by hand: a number for every cell, in the board's shape. The server makes its text.

import * as api from "./api.js";
import { SIDES, seat } from "./board.js";

const find = (id) => document.getElementById(id);

export class Editor {
  // begin(position) begins a game from the text of a position; it resolves to whether that could be.
  constructor(begin) {
    this.begin = begin;
    find("editor-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.finish();
    });
    find("editor-form").addEventListener("input", () => this.count());
    find("editor-clear").addEventListener("click", () => {
      for (const input of this.inputs.values()) input.value = 0;
      this.count();
    });
    find("editor-cancel").addEventListener("click", () => find("editor").close());
  }

  // Begin with the position of a view.
  open(view) {
    this.view = view;
    this.inputs = new Map();
    const tall = matchMedia("(max-width: 640px)").matches;
    const grid = find("editor-cells");
    grid.style.gridTemplateColumns = `repeat(${tall ? 2 * view.rows : view.pits + 2 * view.stores}, minmax(0, 1fr))`;
    const cells = view.cells.map((cell) => ({ ...cell, place: seat(view, cell, { tall }) }));
    cells.sort((a, b) => a.side - b.side || (a.pit ?? 99) - (b.pit ?? 99)); // the way of the Tab key
    grid.replaceChildren(...cells.map((cell) => this.make(cell)));
    find("editor-side").value = view.side;
    this.count();
    find("editor").showModal();
  }

  make(cell) {
    const label = document.createElement("label");
    const name = cell.pit === null ? "store" : `pit ${cell.pit}`;
    const input = Object.assign(document.createElement("input"), {
      type: "number", min: 0, required: true, inputMode: "numeric", value: this.view.board[cell.cell],
    });
    input.setAttribute("aria-label", `${SIDES[cell.side]} ${name}`);
    label.className = `side${cell.side}`;
    label.append(cell.pit === null ? `${SIDES[cell.side]}’s store` : String(cell.pit), input);
    [label.style.gridRow, label.style.gridColumn] = cell.place;
    this.inputs.set(cell.cell, input);
    return label;
  }

  get board() {
    return this.view.board.map((count, cell) => Number(this.inputs.get(cell)?.value ?? count));
  }

  count() {
    find("editor-said").textContent = `${this.board.reduce((sum, seeds) => sum + seeds, 0)} seeds in all.`;
  }

  async finish() {
    try {
      const { position } = await api.position(this.view.rules, this.board, Number(find("editor-side").value));
      find("editor").close();
      await this.begin(position);
    } catch (error) {
      find("editor-said").textContent = error.message;
    }
  }
}
