/* Makes elements, and brings a list up to date without touching what did not change.
   Text from answers becomes text nodes only: nothing here, and nothing else on the page, parses it as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** An element; attributes that are null or false are left out, children that are null too. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a picture. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text of people and files: isolated, so that its direction of writing changes nothing around it. */
export function said(text, name = "") {
  return el("bdi", { class: name || null }, text);
}

/** Set a text, if it is another one: an equal text would still be announced and laid out again. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** How long rows are made, in milliseconds, before the browser gets its turn; some rows are made in any case. */
const SLICE = 8;
const FEWEST = 20;

/** Rows of a list by key. A row is drawn again only if what it shows is different. */
export class Rows {
  #list;
  #key;
  #draw;
  #drawn = new Map();
  #turn = 0;

  constructor(list, key, draw) {
    this.#list = list;
    this.#key = key;
    this.#draw = draw;
  }

  /** Show these items, in this order; the first slice at once, the others as the browser has time. */
  show(items) {
    this.#turn += 1;
    const kept = new Set(items.map(this.#key));
    for (const [key, row] of this.#drawn) {
      if (kept.has(key)) continue;
      row.element.remove();
      this.#drawn.delete(key);
    }
    this.#slice(items, 0, this.#turn);
  }

  #slice(items, from, turn) {
    // A newer answer came meanwhile.
    if (turn !== this.#turn) return;
    const start = performance.now();
    let place = from;
    keepingFocus(() => {
      while (place < items.length && (place < from + FEWEST || performance.now() - start < SLICE)) {
        this.#place(items[place], place);
        place += 1;
      }
    });
    if (place < items.length) requestAnimationFrame(() => this.#slice(items, place, turn));
  }

  #place(item, place) {
    const element = this.#element(item);
    const there = this.#list.children[place];
    if (there !== element) this.#list.insertBefore(element, there ?? null);
  }

  #element(item) {
    const key = this.#key(item);
    const shown = JSON.stringify(item);
    const row = this.#drawn.get(key);
    if (row?.shown === shown) return row.element;
    const element = this.#draw(item);
    element.dataset.key = key;
    if (row !== undefined) takeOver(row.element, element);
    this.#drawn.set(key, { shown, element });
    return element;
  }
}

/** A line of a row that unfolds; what is under it is drawn when somebody looks. */
export function folding(line, drawMore) {
  const more = el("div", { class: "more" });
  const fill = () => more.childElementCount || more.append(...drawMore().filter((part) => part !== null));
  // A click comes before the fold opens, and "toggle" after it: nobody sees it empty.
  const summary = el("summary", { "data-part": "line", onclick: fill }, ...line);
  const details = el("details", { ontoggle: () => details.open && fill() }, summary, more);
  details.addEventListener("unfold", () => {
    fill();
    details.open = true;
  });
  return details;
}

function takeOver(old, element) {
  if (old.querySelector("details")?.open) element.querySelector("details")?.dispatchEvent(new Event("unfold"));
  old.replaceWith(element);
}

/** Names with what they mean, as a list; without those that have nothing to say. */
export function facts(pairs) {
  const known = pairs.filter(([, what]) => what !== null && what !== undefined && what !== "");
  if (known.length === 0) return null;
  return el("dl", { class: "facts" }, ...known.map(([name, what]) => el("div", {}, el("dt", {}, name), el("dd", {}, what))));
}

/** Change the page; what had the focus has it afterwards, even if its row was drawn again or moved. */
export function keepingFocus(change) {
  const focused = document.activeElement;
  const key = focused?.closest("[data-key]")?.dataset.key;
  const list = focused?.closest("[data-list]")?.dataset.list;
  const part = focused?.dataset.part;
  change();
  if (key === undefined || document.activeElement === focused) return;
  const rows = document.querySelectorAll(`[data-list="${CSS.escape(list ?? "")}"] [data-key="${CSS.escape(key)}"]`);
  const row = rows[0];
  const again = part === undefined ? row : row?.querySelector(`[data-part="${CSS.escape(part)}"]`);
  (again ?? row)?.focus({ preventScroll: true });
}
