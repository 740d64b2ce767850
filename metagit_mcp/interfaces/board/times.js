/* Says times as a person reads them, and keeps them right as time goes on. The clock is the server's. */

import { el, put } from "./dom.js";

const UNITS = [["d", 86400], ["h", 3600], ["m", 60]];
let ahead = 0;

/** Learn how far the server's clock is ahead of this one. */
export function learnClock(instant) {
  ahead = new Date(instant).getTime() - Date.now();
}

/** Milliseconds since 1970 at the server. */
export function serverNow() {
  return Date.now() + ahead;
}

/** Seconds in their largest unit of which there are at least two. */
export function duration(seconds) {
  for (const [unit, length] of UNITS) {
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)}${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))}s`;
}

const WORDS = {
  until: (seconds) => (seconds > 0 ? `in ${duration(seconds)}` : "due now"),
  waiting: (seconds) => `waiting ${duration(-seconds)}`,
  ago: (seconds) => (seconds > -2 ? "just now" : `${duration(-seconds)} ago`),
};

/** A time in words of the given kind, with the exact one on hover. */
export function time(instant, kind) {
  const element = el("time", { datetime: instant, title: exact(instant), "data-kind": kind });
  element.textContent = words(instant, kind);
  return element;
}

/** The instant as the reader's own clock shows it. */
export function exact(instant) {
  return new Date(instant).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** A time of the day, which does not move; with its day if that is not today. */
export function clock(instant) {
  const at = new Date(instant);
  const isToday = at.toDateString() === new Date(serverNow()).toDateString();
  const style = isToday ? { timeStyle: "short" } : { dateStyle: "short", timeStyle: "short" };
  return el("time", { datetime: instant, title: exact(instant) }, at.toLocaleString(undefined, style));
}

function words(instant, kind) {
  return WORDS[kind]((new Date(instant).getTime() - serverNow()) / 1000);
}

/** Bring every time on the page up to date; say whether one that lay ahead is reached. */
export function tick() {
  let reached = false;
  for (const element of document.querySelectorAll("time[data-kind]")) {
    const text = words(element.dateTime, element.dataset.kind);
    reached ||= text === "due now" && element.textContent !== text;
    put(element, text);
  }
  return reached;
}
