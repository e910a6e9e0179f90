// The keyboard: numbers choose pits, letters press the buttons.

const BUTTONS = { u: "undo", r: "redo", e: "evaluate", s: "step", a: "auto" };
const PATIENCE = 600; // ms that a second digit may follow a first one

// legal(): the legal choices; choose(cell): a pit is chosen.
export function listen(legal, choose) {
  let typed = "";
  let timer = 0;

  const settle = () => {
    const pit = typed;
    typed = "";
    const found = legal().find((choice) => choice.move.replace(/[+-]$/, "") === pit);
    if (found) choose(found.cell);
  };

  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest("input, select, textarea, [contenteditable]");
    if (busy || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^\d$/.test(event.key)) {
      typed += event.key;
      clearTimeout(timer);
      const longer = legal().some((choice) => choice.move.replace(/[+-]$/, "").length > typed.length
        && choice.move.startsWith(typed));
      if (longer) timer = setTimeout(settle, PATIENCE);
      else settle();
    } else if (event.key === "+" || event.key === "-") {
      document.querySelector(`#choices [data-turn="${event.key}"]`)?.click();
    } else if (BUTTONS[event.key]) {
      document.getElementById(BUTTONS[event.key]).click();
    }
  });
}
