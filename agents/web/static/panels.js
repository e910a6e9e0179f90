// The panels beside the board: a new game, the moves made, sharing and files. Setting up: editor.js.

import * as api from "./api.js";
import { Editor } from "./editor.js";
import { remark } from "./seats.js";

const find = (id) => document.getElementById(id);

export class Setup {
  // begin(record) starts a game.
  constructor(setup, begin) {
    this.presets = new Map(setup.presets.map((preset) => [preset.name, preset]));
    find("preset").append(...setup.presets.map((preset) => new Option(preset.name)));
    find("pits").max = setup.most_pits;
    find("seeds").max = setup.most_seeds;
    find("preset").addEventListener("change", () => this.fill(this.presets.get(find("preset").value)));
    for (const id of ["pits", "seeds"]) find(id).addEventListener("input", () => this.write());
    find("setup").addEventListener("submit", (event) => {
      event.preventDefault();
      begin({ rules: find("rules").value, start: find("start").value.trim(), moves: [] });
    });
  }

  fill(preset, { pits, seeds } = preset) {
    find("preset").value = preset.name;
    find("pits").value = pits;
    find("seeds").value = seeds;
    find("about").textContent = preset.about;
    find("source").textContent = `Source: ${preset.source}`;
    this.write();
  }

  write() {
    find("rules").value = `${find("preset").value}:pits=${find("pits").value},seeds=${find("seeds").value}`;
    find("start").value = ""; // a position belongs to the rules that it was set up for
  }

  // Show the rules of the game that is played.
  show(view) {
    const preset = this.presets.get(view.rules.split(":")[0]);
    const seeds = /[:,]seeds=(\d+)/.exec(view.rules)?.[1] ?? preset.seeds;
    this.fill(preset, { pits: view.pits, seeds });
    find("rules").value = view.rules;
    find("start").value = view.start ?? "";
    const sentence = (text) => Object.assign(document.createElement("li"), { textContent: text });
    find("manual").replaceChildren(...view.manual.map(sentence));
  }
}

export class Moves {
  // goTo(count) is called when a move is chosen.
  constructor(goTo) {
    this.goTo = goTo;
  }

  show(view, undone) {
    const list = find("moves");
    const item = (count, text, note, classes) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      if (note) button.append(Object.assign(document.createElement("small"), { textContent: ` ${note}` }));
      button.addEventListener("click", () => this.goTo(count));
      const line = document.createElement("li");
      line.className = classes;
      if (count === view.plies.length) button.setAttribute("aria-current", "step");
      line.append(button);
      return line;
    };
    const made = view.plies.map((ply, i) => item(i + 1, `${i + 1}. ${"SN"[ply.side]} ${ply.move}`, remark(ply), `side${ply.side}`));
    const left = undone.map((move, i) => item(view.plies.length + i + 1, `${view.plies.length + i + 1}. ${move}`, "", "undone"));
    list.replaceChildren(item(0, "Start", "", "start"), ...made, ...left);
    const now = list.querySelector("[aria-current]"); // scrolled here, since scrollIntoView moves the page too
    list.scrollTop = now.offsetTop - list.clientHeight / 2;
  }
}

export class Share {
  // mostBytes: of a file; table: whose game is shared; link(): its address; failed(error) tells what went wrong.
  constructor(mostBytes, table, link, failed) {
    this.mostBytes = mostBytes;
    this.table = table;
    this.failed = failed;
    this.editor = new Editor((position) => this.begin(position));
    const on = (id, act) => find(id).addEventListener("click", act);
    on("copy-position", () => this.copy(find("position").value, "position"));
    on("copy-link", () => this.copy(link(), "link"));
    on("set-position", () => this.setPosition());
    on("edit", () => this.editor.open(table.view));
    on("copy-game", () => this.written().then((game) => game && this.copy(game.text, "game")));
    on("download", () => this.download());
    on("load", () => find("file").click());
    find("position").addEventListener("keydown", (event) => event.key === "Enter" && this.setPosition());
    find("file").addEventListener("change", () => this.load());
    find("games").addEventListener("change", () => this.choose(Number(find("games").value)));
  }

  show(view) {
    find("position").value = view.position;
  }

  say(text) {
    find("shared").textContent = text;
  }

  setPosition() {
    return this.begin(find("position").value);
  }

  begin(position) {
    return this.table.begin({ rules: this.table.record.rules, start: position, moves: [] }, { auto: false });
  }

  async copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(`The ${what} is copied.`);
    } catch {
      this.say(`Copy it yourself: ${text}`);
    }
  }

  // The game as a file holds it: {text, record}, or nothing where that fails.
  written() {
    return this.table.save().catch((error) => this.failed(error));
  }

  async download() {
    const game = await this.written();
    if (!game) return;
    const [content, type, ending] = find("format").value === "json"
      ? [`${game.record}\n`, "application/jsonl", "jsonl"] : [game.text, "text/plain", "txt"];
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([content], { type }));
    anchor.download = `kalah.${ending}`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  }

  async load() {
    const [file] = find("file").files;
    find("file").value = "";
    if (!file) return;
    try {
      const { games } = await api.load(await this.read(file));
      this.file = file.name;
      this.games = games;
      find("games").replaceChildren(...games.map((game, i) => new Option(`${i + 1}. ${game.words}`, i)));
      find("games").closest("label").hidden = games.length === 1;
      await this.choose(0);
    } catch (error) {
      this.failed(error);
    }
  }

  async read(file) {
    if (file.size > this.mostBytes) {
      const [size, most] = [file.size, this.mostBytes].map((bytes) => bytes.toLocaleString("en"));
      throw new Error(`${file.name} holds ${size} bytes; at most ${most} can be loaded here. Split it into smaller files.`);
    }
    const bytes = await file.arrayBuffer();
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new Error(`${file.name} is not a text in UTF-8.`);
    }
  }

  // Open a game of the file.
  async choose(number) {
    const { game, told, words } = this.games[number];
    if (!await this.table.begin(game, { auto: false, told, played: false })) return;
    const which = this.games.length > 1 ? `Game ${number + 1} of ${this.games.length} in ${this.file}` : this.file;
    this.say(`${which}: ${words}.`);
  }
}
