// The page: puts table, board, seats and panels together, and keeps the game in the address.

import * as api from "./api.js";
import { Board, TURNS } from "./board.js";
import { listen } from "./keys.js";
import { Motion } from "./motion.js";
import { Moves, Setup, Share } from "./panels.js";
import { Seats } from "./seats.js";
import { HUMAN, Table } from "./table.js";

const find = (id) => document.getElementById(id);
const PARTS = ["rules", "start", "moves", "south", "north"]; // of a link
const table = new Table({ shown, thinking, failed });
const board = new Board(find("board"), choosePit);
const motion = new Motion(board);
let seats, setup, moves, share;
let wishes = 0; // counts what was shown, so that an older evaluation is not

async function shown(view, made) {
  const mine = ++wishes;
  motion.stop();
  find("error").hidden = true;
  find("choices").replaceChildren();
  find("worth").textContent = "";
  board.lay(view, turned(view));
  board.rate([]);
  const speed = Number(find("speed").value);
  const last = view.plies.at(-1);
  if (made && view.steps.length && speed > 0) {
    board.set(view.before);
    board.mark([], view.steps[0].picked[0], null);
    if (!await motion.show(view.steps, speed, (text) => seats.remark(last.side, text))) {
      if (mine !== wishes) return;
    }
  }
  board.set(view.board);
  const sown = view.steps.filter((step) => step.kind === "sow");
  board.mark(table.humansTurn ? view.legal : [], sown[0]?.picked[0], sown.at(-1)?.path.at(-1));
  seats.show(view, turned(view), table.seats);
  moves.show(view, table.undone);
  share.show(view);
  if (!made) setup.show(view);
  find("rules-line").textContent = view.rules;
  const waits = table.mover !== null && !table.humansTurn && !table.auto;
  find("said").textContent = [made && last?.words, view.words, waits && "Press Auto or Step."].filter(Boolean).join(" ");
  offerSwap(view);
  controls();
  history.replaceState({ told: table.told, played: table.played, auto: table.auto }, "", link()); // a reload keeps the state, too
}

// North sits below where only North is played by a human.
function turned(view) {
  const human = view.players.map((player) => table.seats[player] === HUMAN);
  return human[1] && !human[0];
}

function controls() {
  const agent = table.mover !== null && !table.humansTurn;
  find("undo").disabled = table.record.moves.length === 0;
  find("redo").disabled = table.undone.length === 0;
  find("step").disabled = !agent;
  find("auto").disabled = table.seats.every((seat) => seat === HUMAN);
  find("auto").setAttribute("aria-pressed", String(table.auto && !find("auto").disabled));
  find("auto").textContent = table.auto && !find("auto").disabled ? "❚❚ Pause" : "▶ Auto";
  find("evaluate").disabled = table.mover === null;
}

function thinking(player) {
  seats.thinking(player);
  if (player !== null) controls();
}

function failed(error) {
  find("error").textContent = error.message;
  find("error").hidden = false;
  if (table.view) controls();
}

function choosePit(cell) {
  if (motion.active || !table.humansTurn) return;
  const mine = table.view.legal.filter((choice) => choice.cell === cell);
  if (mine.length === 1) table.choose(mine[0].move);
  else if (mine.length > 1) offer(mine);
}

// Buttons below the board where a move is more than a pit.
function offer(choices) {
  find("choices").replaceChildren(...choices.map((choice) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "main";
    button.dataset.turn = choice.turn;
    button.textContent = `${TURNS[choice.turn]} ${choice.words}`.trim();
    button.addEventListener("click", () => {
      find("choices").replaceChildren();
      board.cells.get(choice.cell)?.element.focus();
      table.choose(choice.move);
    });
    return button;
  }));
  if (choices[0].cell !== null) find("choices").firstChild.focus();
}

function offerSwap(view) {
  const swap = view.legal.filter((choice) => choice.cell === null);
  if (table.humansTurn && swap.length) offer(swap);
}

async function evaluate() {
  const mine = wishes;
  const { legal } = table.view;
  find("worth").textContent = "Evaluating…";
  find("evaluate").disabled = true;
  const found = await table.analyse(Number(find("seconds").value));
  if (mine !== wishes) return;
  find("evaluate").disabled = false;
  if (!found) {
    find("worth").textContent = "";
    return;
  }
  const [best] = found.moves;
  board.rate(found.moves.map((worth) => {
    const choice = legal.find((one) => one.move === worth.move);
    return { ...worth, cell: choice.cell, turn: choice.turn, best: worth.margin === best.margin };
  }));
  const swap = found.moves.find((worth) => worth.move === "swap");
  find("worth").textContent = `Best: ${best.move}, ${best.words}${swap && swap !== best ? `; swap ${swap.words}` : ""}`
    + ` (${found.words}; ${found.seconds.toFixed(1)} s)`;
}

// The game as an address, which a reload or somebody else opens again.
function link() {
  const { rules, start, moves: made } = table.record;
  const parts = new URLSearchParams({ rules });
  if (start) parts.set("start", start);
  if (made.length) parts.set("moves", made.join(" "));
  parts.set("south", table.seats[0]);
  parts.set("north", table.seats[1]);
  return `${location.origin}${location.pathname}#${parts}`;
}

// Open the game of the address; what cannot be opened leaves the old one as it is, and it is said why.
async function open() {
  const { seats: before } = table;
  if (await openGame()) return;
  const why = find("error").textContent;
  table.seats = before;
  if (!table.view) await table.begin({ rules: "kalah" });
  failed(new Error(`The link cannot be opened: ${why}`));
}

async function openGame() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const strange = [...parts.keys()].find((key) => !PARTS.includes(key));
  if (strange !== undefined) {
    failed(new Error(`“${strange}” is none of its parts, which are ${PARTS.join(", ")}.`));
    return false;
  }
  const rules = parts.get("rules") || "kalah";
  const sitting = [parts.get("south") || HUMAN, parts.get("north") || "medium"];
  for (const agent of sitting) if (!await table.canPlay(agent, rules)) return false;
  table.seats = sitting;
  const made = (parts.get("moves") ?? "").split(" ").filter(Boolean);
  return table.begin({ rules, start: parts.get("start"), moves: made }, history.state ?? {});
}

function listenToButtons() {
  const on = (id, act) => find(id).addEventListener("click", act);
  on("undo", () => table.undo());
  on("redo", () => table.redo());
  on("step", () => table.step());
  on("auto", () => table.setAuto(!table.auto));
  on("evaluate", evaluate);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches ? "0" : "220";
  find("speed").value = localStorage.getItem("speed") ?? still;
  find("speed").addEventListener("change", () => localStorage.setItem("speed", find("speed").value));
  listen(() => (table.humansTurn ? table.view.legal : []), choosePit);
  addEventListener("hashchange", open);
}

async function start() {
  const found = await api.setup();
  const agents = Object.assign(document.createElement("datalist"), { id: "agents" });
  agents.append(...found.agents.map((form) => new Option(form)));
  document.body.append(agents);
  table.levels = found.levels.map((level) => level.name);
  seats = new Seats(found, (player, agent) => table.sit(player, agent));
  setup = new Setup(found, (record) => table.begin(record));
  moves = new Moves((count) => table.goTo(count));
  share = new Share(found.most_bytes, table, link, failed);
  listenToButtons();
  await open();
  document.body.dataset.ready = "true";
}

start().catch(failed);
