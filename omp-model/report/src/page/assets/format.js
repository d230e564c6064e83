// Elements, and numbers as the text reports write them.

/** An element. Texts become text nodes: no name is ever read as markup. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** Below this a sum of times differs from nothing only by the order of its terms. */
const NOTHING = 5e-10;

/** The number of a cell, or undefined. */
function numberOf(cell) {
  if (typeof cell === "number") return cell;
  if (Array.isArray(cell)) return cell[0];
  if (cell && typeof cell === "object") return cell.mean ?? cell.clock;
  return undefined;
}

/** Seconds or a count. A true zero with decimals is `0.`, to be told from what is rounded to nothing. */
function numberText(value, decimals) {
  if (decimals > 0 && Math.abs(value) < NOTHING) return "0.";
  return value.toFixed(decimals);
}

function cellText(cell, decimals) {
  if (cell === null || cell === undefined) return "-";
  if (typeof cell === "string") return cell;
  if (typeof cell === "boolean") return String(cell);
  if (typeof cell === "number" && Number.isInteger(cell) && decimals === 0) return String(cell);
  if (cell.clock !== undefined) return cell.clock.toFixed(3);
  return numberText(numberOf(cell), decimals);
}

/** The value of a further experiment beside the first one's. */
function comparedText(how, first, other, decimals) {
  const [one, two] = [numberOf(first), numberOf(other)];
  if (how === "delta" && one !== undefined && two !== undefined) {
    const change = two - one;
    if (Math.abs(change) < NOTHING) return "0.";
    return (change > 0 ? "+" : "") + change.toFixed(decimals);
  }
  if (how === "ratio") {
    if (!one && !two) return "-";
    if (!one) return "new";
    return "x" + ((two || 0) / one).toFixed(3);
  }
  return cellText(other, decimals);
}

/** Nanoseconds as a length: `1.250 ms`. */
function lengthText(nanoseconds) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (nanoseconds >= size) return `${(nanoseconds / size).toFixed(3)} ${unit}`;
  }
  return `${Math.round(nanoseconds)} ns`;
}

/** Whether colours are those of a dark page. */
function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The value of one of the style's colours. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Black or white: what can be read on a colour. */
function textOn(fill) {
  if (!fill.startsWith("#")) return "#111111";
  const [red, green, blue] = [1, 3, 5].map((at) => (Number.parseInt(fill.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 ? "#111111" : "#ffffff";
}

/** A colour of a legend and what it stands for. */
function legendItem(fill, words) {
  const box = el("span", { class: "box" });
  box.style.background = fill;
  return el("li", {}, box, words);
}

/** A canvas as wide as its place, sharp on any screen. Returns its context, width and height in CSS pixels. */
function fitted(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(canvas.parentElement.clientWidth, 200);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px ui-monospace, monospace";
  context.textBaseline = "middle";
  return { context, width, height };
}
