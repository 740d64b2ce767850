/* The keyboard: rows by j and k, and a key for what a row offers. Tab and Enter work as everywhere. */

const byId = (id) => document.getElementById(id);

/** Say which keys do what; once. */
export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches?.("input, textarea, select")) {
      if (event.key === "Escape") leaveFilter(event.target);
      return;
    }
    const act = KEYS[event.key];
    if (act === undefined || byId("panels").hidden) return;
    if (act() !== false) event.preventDefault();
  });
}

const KEYS = {
  "/": () => byId("filter").focus(),
  "?": showHelp,
  j: () => move(1),
  k: () => move(-1),
  a: () => press("button[data-part=act]"),
  g: () => press("a[data-part=graph]"),
};

/** It is longer than many screens, and would open at its only button, which is at its end. */
export function showHelp() {
  byId("help").showModal();
  byId("help-title").focus();
}

function leaveFilter(field) {
  if (field.id !== "filter") return;
  field.value = "";
  field.dispatchEvent(new Event("input"));
  field.blur();
}

function lines() {
  return [...byId("panels").querySelectorAll("summary[data-part=line]")];
}

function move(step) {
  const all = lines();
  const row = document.activeElement?.closest("[data-key]");
  const here = all.indexOf(row?.querySelector("summary[data-part=line]"));
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step));
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: "nearest" });
}

/** What the row under the focus offers; a part that is not unfolded yet is drawn first. */
function press(part) {
  const row = document.activeElement?.closest("[data-key]");
  if (!row) return false;
  if (!row.querySelector(part)) row.querySelector("details")?.dispatchEvent(new Event("unfold"));
  row.querySelector(part)?.click();
  return true;
}
