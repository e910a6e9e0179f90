// The bars above and below the board: who sits there, who is to move, what the last move did.

import { HUMAN } from "./table.js";

const SIDES = ["South", "North"];
const OTHER = "other";

export class Seats {
  // sat(player, agent) is called when another player is chosen for a seat.
  constructor(setup, sat) {
    this.sat = sat;
    this.setup = setup;
    this.bars = ["near", "far"].map((place) => this.make(document.querySelector(`[data-place=${place}]`)));
  }

  make(root) {
    const name = document.createElement("strong");
    const select = document.createElement("select");
    const option = (value, text, title = "") => Object.assign(document.createElement("option"), { value, text, title });
    select.append(option(HUMAN, "human"));
    select.append(...this.setup.levels.map((level) => option(level.name, level.name, level.about)));
    select.append(option(OTHER, "other…"));
    const text = Object.assign(document.createElement("input"), {
      type: "text", hidden: true, spellcheck: false, autocomplete: "off", placeholder: "alphabeta:depth=6",
    });
    text.setAttribute("list", "agents");
    const remark = document.createElement("span");
    remark.className = "remark";
    const who = document.createElement("span");
    who.className = "who";
    const bar = { root, name, who, select, text, remark };
    select.addEventListener("change", () => {
      text.hidden = select.value !== OTHER;
      if (text.hidden) this.sat(bar.player, select.value);
      else text.focus();
    });
    text.addEventListener("change", () => text.value.trim() && this.sat(bar.player, text.value.trim()));
    root.replaceChildren(name, who, select, text, remark);
    return bar;
  }

  // Show a view: `turned` puts North below.
  show(view, turned, seats) {
    this.bars.forEach((bar, far) => {
      const side = far === Number(turned) ? 0 : 1;
      bar.side = side;
      bar.player = view.players[side];
      const agent = seats[bar.player];
      bar.name.textContent = SIDES[side];
      // Where players may change seats: who began at South's is the first.
      bar.who.textContent = view.pie ? `player ${bar.player + 1}${bar.player === side ? "" : ", swapped"}` : "";
      bar.select.setAttribute("aria-label", `Who plays ${SIDES[side]}`);
      bar.text.setAttribute("aria-label", `Agent of ${SIDES[side]}`);
      const known = [...bar.select.options].some((option) => option.value === agent);
      bar.select.value = known ? agent : OTHER;
      bar.text.hidden = known;
      bar.text.value = known ? "" : agent;
      bar.root.classList.toggle("side1", side === 1);
      bar.root.classList.toggle("moves", view.mover !== null && view.side === side);
      bar.root.classList.toggle("won", view.result?.winner === "SN"[side]);
      const last = view.plies.at(-1);
      this.remark(side, last?.side === side ? remark(last) : "");
    });
  }

  remark(side, text) {
    const bar = this.bars.find((one) => one.side === side);
    if (bar) bar.remark.textContent = text;
  }

  thinking(player) {
    for (const bar of this.bars) bar.root.classList.toggle("thinks", player !== null && bar.player === player);
  }
}

export function remark(ply) {
  const said = [];
  if (ply.captured) said.push(`captured ${ply.captured}`);
  if (ply.again) said.push("again");
  return said.join(", ");
}
