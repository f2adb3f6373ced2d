/**
 * What the modules of book/in_page give each other beside their classes, and
 * what pages' scripts find in the page, for the type checker.
 */

/** A token of an output, and the way to it from the begin of the sentence. */
type TokenNode = import("../../book/in_page/model.js").Node;
type Tokenizer = import("../../book/in_page/tokenizer.js").Tokenizer;
type Translator = import("../../book/in_page/beam_search.js").Translator;
type Machine = import("../../book/in_page/machine.js").Machine;

/** Packed by book/_ext/models_in_page.py, with what the page says of it. */
interface Packed {
  config: {
    norm: "layer" | "rms";
    feed_forward: "relu" | "swiglu";
    positions: "sinusoidal" | "rotary";
    heads: number;
    d_k: number;
    context: number;
  };
  vocabulary: Vocabulary;
  tensors: [name: string, rows: number, columns?: number][];
  bytes: string;
  floats: string;
}

interface Vocabulary {
  pieces: string[];
  scores: number[];
  rules: [from: string, to: string][];
  prefix: boolean;
}

/** How a model reads a line; abbreviations: null leaves it whole. */
interface PackedReading {
  abbreviations: string | null;
  words: string;
}

interface PackedTranslator extends Packed {
  reading: PackedReading;
  label: string;
  kind: string;
  offer: string;
  search: { beam: number; alpha: number; no_repeat: number; stretch: number };
  examples: Record<string, string>;
  glosses: Record<string, string>;
  pieces: string[]; // that the attention is first looked at for
  words: string[] | null; // all that it has learned, if they are few
  usual: number;
  cross: [layer: number, head: number];
  translator?: Translator;
}

interface PackedWriter extends Packed {
  mark: string;
  beginnings: Record<string, string>;
}

interface PackedOpened extends Packed {
  reading: PackedReading;
  examples: Record<string, string>;
  donor: string;
  order: string[];
  pieces: string[];
  words: string[];
  decides: { layer: number; head: number };
  cells: Cells;
  machine?: Machine;
}

/** Code of the chapters, by the name that it defines. */
type Cells = Record<string, { href: string; code: string }>;

/** What passes on its way through a model: by name, an array over places. */
type Activations = Record<string, any[]>; // vectors, maps or ways, by the name
type Tap = (
  name: string,
  values: any[],
  places: any[],
  given?: any[], // what they are made of, of a norm and of a sum
) => any[];

/** The forms of words that are in use, by their small letters. */
type Words = Map<string, string[]>;

/** What is read at once of a line; see reading.js. */
interface Part {
  text: string;
  sentence: string;
  ids: number[];
  blank: boolean;
  before: string;
  behind: string;
  unknown: string;
  loud: number[];
  whole(written: string): string;
}

/** The weights of a query in a head, and what they were made of. */
type Weights = Float64Array & {
  made: {
    query: Float64Array;
    keys: Float64Array[];
    scores: Float64Array;
    begin: number;
    width: number;
  };
};

interface Encoded {
  maps: Weights[][][]; // by layer, query, head
  sources: { keys: Float64Array[]; values: Float64Array[] }[]; // by layer
  tap: Tap;
}

interface Hypothesis {
  node: TokenNode;
  tokens: number[];
  logP: number;
  score: number;
}

/** The best hypothesis of a search, and how it was found. */
interface Found extends Hypothesis {
  steps: SearchStep[];
}

interface SearchStep {
  places: { node: TokenNode; logP: number; state: string }[];
  finished: Hypothesis[];
}

/** A line, what was found for each of its sentences, and its translation. */
interface Translated {
  parts: Part[];
  runs: Pick<AttentionRun, "read" | "maps" | "best">[];
  text: string;
}

/** What attention is shown of: pieces, the encoder's maps, the output. */
interface AttentionRun {
  read: string[];
  target: string[];
  maps: Weights[][][];
  best: Found;
}

/** See changes.js; a label, and what is changed, come from change_form.js. */
interface Change {
  id: string;
  touches: (name: string) => boolean;
  apply: (values: any[], places: any[], other?: any[]) => any[];
  donor?: string;
  label?: string;
  name?: string;
  head?: number;
  unit?: number;
  degree?: number;
}

interface Run {
  text: string;
  changes: Change[];
  ids: number[];
  pieces: string[];
  tokens: number[];
  target: string[];
  written: string;
}

/** An element that lights the word that is pointed at. */
type Lit = HTMLElement & { light: (word?: Word) => void };

interface Look {
  seen: Activations;
  chances: Float64Array;
  ranked: { token: number; piece: string; logit: number; p: number }[];
}

type Side = "source" | "target";
type Word = { side: Side; place: number };
type Head = { name: string; head: number };
type Sizes = { layers: number; heads: number; decides: Head };

/** What is to be seen at one moment; see view.js. */
interface View extends Look, Sizes {
  moment: number;
  focus: number;
  head?: Head;
  bet?: number; // the head that the reader has bet on
  cells: Cells;
  pieces: Record<Side, string[]>;
  room: Record<Side, number>;
  ids: Record<Side, number[]>;
  wide(name: string): number;
  wordOf(side: Side): number;
  mixed(place: number): number[][];
  without(head: Head): number;
  silent(head: Head): boolean;
  silentUnit(name: string, unit: number): boolean;
  changed(id: string): boolean;
}

/** A box of the figure; see layout.js. */
interface Box {
  id: string;
  kind: string;
  title: string;
  side: "encoder" | "decoder";
  reads?: string;
  adds?: string;
  norm?: string;
  part?: string;
  layer?: number;
  big?: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Layout {
  height: number;
  boxes: Box[];
  frames: (Pick<Box, "side" | "x" | "y" | "width" | "height"> & {
    layer: number;
  })[];
  wires: { kind: string; points: [x: number, y: number][] }[];
}

/** A part of a sentence's way: boxes up to one, and what is seen then. */
interface Scene {
  box: string;
  element: HTMLElement;
}

/** What a page has loaded: weights, and what the bundles export. */
declare var inPage: {
  models: {
    translator: PackedTranslator[];
    writer: PackedWriter;
    opened: PackedOpened;
  };
  programs: typeof import("../../book/in_page/programs.js");
  learner?: () => typeof import("../../book/in_page/learner.js");
};

/** A text in the language of the page, its blanks filled in; see say.js. */
declare function say(text: string, ...given: unknown[]): string;
declare function phrase(text: string, ...given: unknown[]): (string | Node)[];
declare var translations: Record<string, string> | undefined;

// What the search page has: Sphinx's words, our sections, and MiniSearch.
declare class Stemmer {
  stemWord(word: string): string;
}
declare const stopwords: Iterable<string>;
declare const MiniSearch: typeof import("minisearch").default;
declare var EDITION: typeof BOOK & { terms: Record<string, string> };
declare const BOOK: {
  pages: [address: string, name: string][];
  sections: [
    page: number,
    anchor: string,
    title: string,
    text: string,
    names: string,
  ][];
};
