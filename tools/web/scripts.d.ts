/**
 * What the scripts of a page give each other, for the type checker: they are
 * no modules, since a page opened as a file can load none. What a script adds
 * to `inPage` is checked against what stands here, and so is what it takes.
 */

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
  search: { alpha: number; no_repeat: number };
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

interface Tokenizer {
  pieces: string[];
  ids: Map<string, number>;
  unknown: number;
  normalize(text: string): string;
  split(text: string): string[];
  encode(text: string): number[];
  decode(ids: number[]): string;
}

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

interface Reader {
  line(text: string): Part[];
}

/** A token of an output, and the way to it from the begin of the sentence. */
interface TokenNode {
  token: number;
  way: TokenNode[];
  keys: Float64Array[]; // by layer
  values: Float64Array[];
  decoder: Weights[][]; // by layer, head
  cross: Weights[][];
  candidates: { token: number; p: number; barred: boolean }[];
  readonly position: number;
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

interface Model {
  encoder: object[];
  decoder: object[];
  heads: number;
  encode(ids: number[], tap?: Tap): Encoded;
  step(nodes: TokenNode[], source?: Partial<Encoded>): Float64Array[];
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

interface Translator {
  model: Model;
  tokenizer: Tokenizer;
  reader: Reader;
  noRepeat: number;
  translate(
    line: string,
    options?: { width?: number; alpha?: number; noRepeat?: number },
  ): Generator<SearchStep, Translated>;
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

interface Writer {
  tokenizer: Tokenizer;
  ranked: [token: number, logP: number][];
  begin(text: string): void;
  read(tokens: number[]): void;
  ids(text: string): number[];
  text(token: number, before: string): string;
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

interface Machine {
  model: Model;
  tokenizer: Tokenizer;
  reader: Reader;
  run(text: string, changes?: Change[]): Run;
  look(run: Run, moment: number): Look;
  mixed(run: Run, place: number): number[][];
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

/** What the reader does in an opened box. */
interface Act {
  openHead(head?: Head): void;
  silence(head: Head): void;
  silenceUnit(name: string, unit: number): void;
}

interface Step {
  box: string;
  say: (view: View) => string;
  head?: number;
  short?: boolean;
  bet?: boolean;
}

/** A part of a sentence's way: boxes up to one, and what is seen then. */
interface Scene {
  box: string;
  element: HTMLElement;
}

interface InPage {
  Tokenizer: new (vocabulary: Vocabulary) => Tokenizer;
  asSentence(
    text: string,
    tokenizer: Tokenizer,
    words: Words,
  ): [sentence: string, setting: (text: string) => string];
  bySmallLetters(used: string): Words;
  asGiven(text: string): string;
  inCapitals(text: string): string;
  loweredWords(text: string, sentence: string): number[];
  emphasised(
    text: string,
    part: Part,
    pair: string[][],
    way: TokenNode[],
  ): string;
  eachWord(text: string, change: (word: string) => string): string;
  wordsOf(text: string): RegExpExecArray[];
  stripped(text: string): string;
  singleBlanks(text: string): string;
  sentences(text: string, abbreviations: string | null): string[];
  Reader: new (tokenizer: Tokenizer, reading: PackedReading) => Reader;
  Model: new (packed: Packed) => Model;
  Node: new (token: number, parent: TokenNode | null) => TokenNode;
  Translator: new (packed: PackedTranslator) => Translator;
  Writer: new (packed: PackedWriter) => Writer;
  uniform(seed: number, i: number): number;
  Machine: new (packed: PackedOpened) => Machine;
  learner(): object;
  worker(): Worker;
  models: {
    translator: PackedTranslator[];
    writer: PackedWriter;
    opened: PackedOpened;
  };
  show: {
    translator?(place: Element): { focus(): void };
    writer?(place: Element): { focus(): void };
    opened?(place: Element): unknown;
  };
  elements: {
    // The name decides what element it is, which a type does not follow.
    make(tag: string, given?: object, ...inside: (Node | string)[]): any;
    field(given: object, text?: string): any; // a textarea
    rest(ms?: number): Promise<void>;
    share(weight: number): { style: string };
    digits(x: number, count: number): string;
    chance(p: number): string;
    named(piece: string): (Node | string)[];
    chips(
      tag: string,
      pieces: string[],
      given?: (piece: string, place: number) => object,
    ): (Node | string)[];
    oneStop(place: any): any;
  };
  arcs(
    weights: ArrayLike<number>,
    places: { at: number; rows: number; columns: number; into?: boolean },
  ): SVGElement;
  shape(name: string, attributes: object, ...inside: Node[]): SVGElement;
  AttentionView: new (sizes: {
    layers: number;
    heads: number;
    layer: number;
    head: number;
  }) => { element: HTMLElement; show(run: AttentionRun, at: number): void };
  attentionTable(
    map: {
      title: string;
      rows: string[];
      columns: string[];
      weights: ArrayLike<number>[];
      now: number;
    },
    explain: (row: number, column: number) => void,
  ): HTMLElement;
  explanation(
    weights: Weights,
    j: number,
    row: string,
    column: string,
  ): HTMLElement[];
  changes: {
    silence(name: string, head: number, heads: number): Change;
    patch(name: string, head: number, heads: number, donor: string): Change;
    silenceUnit(name: string, unit: number): Change;
    maskOff(): Change;
    positionsOff(): Change;
    scaleOff(width: number): Change;
    temperature(degree: number): Change;
    residualOff(): Change;
    normOff(): Change;
    feedForwardOff(): Change;
  };
  strips: {
    paint(
      canvas: HTMLCanvasElement,
      rows: ArrayLike<number>[],
      given?: { room?: number; wide?: number; limit?: number },
    ): HTMLCanvasElement;
    paintMap(
      canvas: HTMLCanvasElement,
      rows: ArrayLike<number>[],
      room: number,
      wide: number,
    ): HTMLCanvasElement;
    strip(given: {
      title: string;
      side: Side;
      pieces: string[];
      rows: Float64Array[];
      across?: string;
    }): HTMLElement;
    labels(side: Side, pieces: string[]): HTMLElement;
    rowsOf(side: Side, count: number, across?: string): object;
    axis(name: string, text: string | number): HTMLElement;
  };
  heads: {
    HeadGrid: new (open: (head: Head) => void) => {
      element: HTMLElement;
      draw(view: View): void;
      light(word: Word): void;
    };
    thumbnail(view: View, head: Head): Lit;
    titleOf(name: string): string;
    nameOf(head: Head): string;
    sidesOf(name: string): [queries: Side, keys: Side];
    attentions(layers: number): string[];
    mapOf(seen: Activations, head: Head): Weights[];
  };
  boxes: {
    contents(box: Box, view: View, act: Act): HTMLElement[];
    openedSay(box: Box): string;
    largest(numbers: ArrayLike<number>, count: number): number[];
    percent(x: number): string;
    plain(piece: string): string;
    sideOf(box: Box): Side;
  };
  walk: {
    steps(view: View): Step[];
    look(
      view: View,
      name: string,
      head: number,
      at: number,
    ): [word: string, weight: string, place: number];
    spoken(piece: string): string;
    rich(text: string): (Node | string)[];
  };
  film: { scenes(view: View): Scene[] };
  layout(width: number, layers: number, room: number): Layout;
  viewOf(
    machine: Machine,
    run: Run,
    chosen: {
      moment: number;
      focus: number;
      pinned?: Word;
      head?: Head;
      bet?: number;
      sizes: Sizes;
      cells: Cells;
    },
  ): View;
  Figure: new (open: (box: Box) => void) => {
    element: HTMLElement;
    window: HTMLElement;
    boxes: Box[];
    fits(): boolean;
    draw(view: View, shown: { open: string; reached: number }): void;
    reach(reached: number): void;
    centre(box: Box): void;
    ride(box: Box | undefined, view: View): void;
    indexOf(id: string): number;
  };
  ChangeForm: new (
    sizes: Sizes & { d_k: number; donor: string },
    doubts: (text: string) => [readable: boolean, said: string],
    set: (change: Change | undefined, id: string) => void,
    leaveOut: (change: Change, needs: string, why: string) => void,
    tryAll: () => [id: string, p: number][],
  ) => {
    element: HTMLElement;
    draw(active: Map<string, Change>): void;
    silences(name: string): Change[];
    forget(): void;
  };
  silentUnit(name: string, unit: number): Change;
}

declare var inPage: InPage;

/** A text in the language of the page, its blanks filled in; see say.js. */
declare function say(text: string, ...given: unknown[]): string;
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
