// The board on the page: a button for every pit, stores, numbers, marks. It shows what it is told.

import { colour, draw, drawStore, picture } from "./seeds.js";

export const SIDES = ["South", "North"];
export const TURNS = { "": "", "+": "↺", "-": "↻" };

// Where a cell stands in the grid: its row and column, or what they span. `turned`: North sits below; `tall`:
// the board stands upright.
export function seat({ rows, pits, stores }, cell, { turned = false, tall = false }) {
  const deep = 2 * rows;
  const row = turned ? deep - 1 - cell.row : cell.row;
  const column = (turned ? pits - 1 - cell.column : cell.column) + (stores ? 2 : 1);
  if (cell.pit === null) return tall ? [column, `1 / span ${deep}`] : [`1 / span ${deep}`, column];
  return tall ? [column, deep - row] : [row + 1, column];
}

export class Board {
  // choose(cell) is called when a pit is chosen.
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    this.cells = new Map();
    this.colours = [];
    this.narrow = matchMedia("(max-width: 640px)");
    this.narrow.addEventListener("change", () => this.place());
    root.addEventListener("keydown", (event) => this.arrow(event));
  }

  // Make the cells of a view anew where they have changed; `turned`: North sits below.
  lay(view, turned) {
    const form = JSON.stringify(view.cells);
    if (form !== this.form) {
      this.form = form;
      this.view = view;
      this.cells.clear();
      this.colours = view.board.map(() => []);
      this.root.replaceChildren(...view.cells.map((cell) => this.make(cell)));
    }
    this.view = view;
    if (turned !== this.turned || form !== this.placed) {
      this.turned = turned;
      this.placed = form;
      this.place();
    }
  }

  make(cell) {
    const element = document.createElement(cell.pit === null ? "div" : "button");
    element.className = `${cell.pit === null ? "store" : "pit"} side${cell.side}`;
    element.dataset.cell = cell.cell;
    const svg = picture();
    const count = document.createElement("span");
    count.className = "count";
    const worth = document.createElement("span");
    worth.className = "worth";
    element.append(svg, count, worth);
    if (cell.pit === null) {
      element.setAttribute("role", "img");
    } else {
      element.type = "button";
      const number = document.createElement("span");
      number.className = "number";
      number.textContent = cell.pit;
      element.append(number);
      element.addEventListener("click", () => this.choose(cell.cell));
    }
    this.cells.set(cell.cell, { ...cell, element, svg, count, worth });
    return element;
  }

  // Rows and columns as seen from below; on a narrow screen the board stands upright.
  place() {
    if (!this.view) return;
    const { rows, pits, stores } = this.view;
    const tall = this.narrow.matches;
    this.root.classList.toggle("tall", tall);
    this.root.style.setProperty("--deep", 2 * rows);
    this.root.style.setProperty("--long", pits);
    this.root.dataset.stores = stores;
    this.root.dataset.rows = rows;
    for (const cell of this.cells.values()) {
      cell.seat = seat(this.view, cell, { turned: this.turned, tall });
      [cell.element.style.gridRow, cell.element.style.gridColumn] = cell.seat;
      cell.near = (cell.side === 0) !== this.turned;
      cell.element.classList.toggle("near", cell.near);
      this.redraw(cell.cell);
    }
  }

  redraw(index) {
    const cell = this.cells.get(index);
    if (!cell) return;
    const seeds = this.colours[index];
    if (cell.pit === null) drawStore(cell.svg, seeds, !this.narrow.matches);
    else draw(cell.svg, seeds, { salt: index * 1.7 });
    cell.count.textContent = seeds.length;
    this.label(cell);
  }

  label(cell) {
    const held = this.colours[cell.cell].length;
    const seeds = `${held} seed${held === 1 ? "" : "s"}`;
    const name = cell.pit === null ? "store" : `pit ${cell.pit}`;
    const can = cell.element.classList.contains("legal") ? ", can be sown" : "";
    const worth = cell.said ? `, ${cell.said}` : "";
    cell.element.setAttribute("aria-label", `${SIDES[cell.side]} ${name}: ${seeds}${can}${worth}`);
  }

  // Let the board hold these numbers of seeds at once.
  set(board) {
    board.forEach((count, index) => {
      const seeds = this.colours[index];
      while (seeds.length > count) seeds.pop();
      while (seeds.length < count) seeds.push(colour());
      this.redraw(index);
    });
  }

  take(index) {
    const seeds = this.colours[index];
    this.colours[index] = [];
    this.redraw(index);
    return seeds;
  }

  drop(index, seeds) {
    this.colours[index].push(...seeds);
    this.redraw(index);
  }

  // Show which pits may be chosen, and where the last move began and ended.
  mark(legal, from, to) {
    const cells = new Set(legal.map((choice) => choice.cell));
    for (const cell of this.cells.values()) {
      const { element } = cell;
      element.classList.toggle("legal", cells.has(cell.cell));
      element.classList.toggle("from", cell.cell === from);
      element.classList.toggle("to", cell.cell === to);
      if (cell.pit !== null) element.setAttribute("aria-disabled", String(!cells.has(cell.cell)));
      this.label(cell);
    }
  }

  // Show what moves are worth: a list of {cell, badge, words, exact, best, turn}, or nothing. A badge is as
  // large as its pit allows (board.css).
  rate(worths) {
    for (const cell of this.cells.values()) {
      const mine = worths.filter((worth) => worth.cell === cell.cell);
      cell.worth.replaceChildren(...mine.map((worth) => {
        const badge = document.createElement("b");
        badge.textContent = `${TURNS[worth.turn]}${worth.badge}`;
        badge.className = [worth.exact ? "exact" : "guess", worth.margin < 0 && "loses", worth.best && "best"].filter(Boolean).join(" ");
        return badge;
      }));
      const longest = Math.max(1, ...[...cell.worth.children].map((badge) => badge.textContent.length));
      cell.worth.style.setProperty("--chars", longest);
      cell.worth.style.setProperty("--lines", Math.max(1, mine.length));
      cell.said = mine.map((worth) => `${worth.turn} ${worth.words}`.trim()).join(", ");
      this.label(cell);
    }
  }

  middle(index) {
    const element = this.cells.get(index).element;
    return [element.offsetLeft + element.offsetWidth / 2, element.offsetTop + element.offsetHeight / 2];
  }

  // Arrow keys go to the next pit in that direction.
  arrow(event) {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const at = this.cells.get(Number(document.activeElement?.dataset.cell));
    if (!way || !at) return;
    event.preventDefault();
    const next = [...this.cells.values()].find((cell) => cell.pit !== null
      && cell.seat[0] === at.seat[0] + way[0] && cell.seat[1] === at.seat[1] + way[1]);
    next?.element.focus();
  }
}
