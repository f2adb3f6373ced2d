/**
 * The program of each kind of model, in one script. A program runs when it is
 * asked for, since it begins with its weights.
 */

export const opened = () => import("./opened.js");
export const translator = () => import("./translator.js");
export const writer = () => import("./writer.js");
