/**
 * What the parts of the figure draw from: every number at one moment, and
 * what the reader has chosen.
 */

import * as kinds from "./changes.js";
import { sidesOf } from "./heads.js";

/**
 * @param {Machine} machine
 * @param {Run} run
 * @param {{moment: number, focus: number, pinned?: Word, head?: Head,
 *   bet?: number, sizes: Sizes, cells: Cells}} chosen focus is the word of
 *   the source that the walk follows, pinned one that the reader has clicked
 * @returns {View}
 */
export function viewOf(machine, run, { sizes, pinned, ...chosen }) {
  const { moment, focus } = chosen;
  const { changes } = run;
  const target = ["<s>", ...run.target.slice(0, moment)];
  const pieces = { source: run.pieces, target };
  const room = { source: run.pieces.length, target: run.target.length };
  const mixtures = new Map();
  const looked = machine.look(run, moment);
  const has = (name, key, value) =>
    changes.some((each) => each.name === name && each[key] === value);
  return {
    ...looked,
    ...{ ...sizes, ...chosen, pieces, room },
    ids: { source: run.ids, target: run.tokens.slice(0, moment + 1) },
    /** Room for the keys of an attention. */
    wide: (name) => room[sidesOf(name)[1]],
    /** The word of a side that is looked at, if none is pointed at. */
    wordOf(side) {
      if (pinned?.side === side && pinned.place in pieces[side])
        return pinned.place;
      return side === "source" ? focus : moment;
    },
    mixed(place) {
      if (!mixtures.has(place)) mixtures.set(place, machine.mixed(run, place));
      return mixtures.get(place);
    },
    /** How likely the likeliest subword is when a head is silent. */
    without({ name, head }) {
      const silence = kinds.silence(name, head, sizes.heads);
      const other = { ...run, changes: [...changes, silence] };
      const { chances } = machine.look(other, moment);
      return chances[looked.ranked[0].token];
    },
    silent: ({ name, head }) => has(name, "head", head),
    silentUnit: (name, unit) => has(name, "unit", unit),
    changed: (id) => changes.some(({ name }) => name === id),
  };
}
