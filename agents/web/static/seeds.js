// Seeds as SVG: which colours lie in a cell, and where. Nothing of the game.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 5;
const TURN = 2.39996; // the golden angle: no two seeds of a layer cover each other
const LAYER = 10;

let dealt = 0;
export const colour = () => (dealt = (dealt * 5 + 3) % 7919) % COLOURS;

function place(k, salt, wide, high) {
  const within = k % LAYER;
  const layer = Math.floor(k / LAYER);
  const radius = Math.sqrt((within + 0.35) / LAYER) * (0.7 - 0.1 * (layer % 3));
  const angle = within * TURN + salt + layer * 0.8;
  return [radius * wide * Math.cos(angle), radius * high * Math.sin(angle)];
}

export function seed(number, x, y, radius) {
  const circle = document.createElementNS(SVG, "circle");
  circle.setAttribute("cx", x.toFixed(1));
  circle.setAttribute("cy", y.toFixed(1));
  circle.setAttribute("r", radius);
  circle.setAttribute("fill", `url(#seed${number})`);
  return circle;
}

// Draw the seeds of a cell; more than `most` are told by the count alone.
export function draw(svg, colours, { salt = 0, wide = 50, high = 50, radius = 11.5, most = 40 } = {}) {
  svg.setAttribute("viewBox", `${-wide} ${-high} ${2 * wide} ${2 * high}`);
  svg.replaceChildren(...colours.slice(0, most).map((number, k) => {
    const [x, y] = place(k, salt, wide, high);
    return seed(number, x, y, radius);
  }));
}

// A store is longer than a pit: its seeds lie in clusters along it.
export function drawStore(svg, colours, upright) {
  const [wide, high] = upright ? [50, 120] : [120, 50];
  svg.setAttribute("viewBox", `${-wide} ${-high} ${2 * wide} ${2 * high}`);
  svg.replaceChildren(...colours.slice(0, 90).map((number, k) => {
    const [x, y] = place(Math.floor(k / 3), (k % 3) * 1.3, 44, 42);
    const along = ((k % 3) - 1) * 68;
    return seed(number, upright ? x : x + along, upright ? y + along : y, 11.5);
  }));
}

export function picture() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
