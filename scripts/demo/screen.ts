/** Where the demo is shown: a live picture on a terminal, lines everywhere else. */
import { type Clock, type Timer } from "../../src/util/clock.ts";
import { type Audience } from "./board.ts";
import { renderFrame } from "./view/live.ts";
import { plainAct, plainRemark, plainStatus } from "./view/plain.ts";
import { type DemoState } from "./view/state.ts";
import { type Style } from "./view/style.ts";

export interface Screen extends Audience {
  /** Begins to show what `read` returns. */
  open(read: () => DemoState): void;
  /** Shows the last state and gives the terminal back; only once. */
  close(): void;
}

/** The part of a terminal or file that is used. */
export interface Output {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

// Eight pictures a second look alive and do not flicker.
const framePeriodMs = 125;
// Often enough to see it move, seldom enough to read.
const linePeriodMs = 2000;

const enter = "\u001B[?1049h\u001B[?25l";
const leave = "\u001B[?25h\u001B[?1049l";

function everyMs(clock: Clock, periodMs: number, work: () => void): () => void {
  let timer: Timer | undefined;
  const next = (): void => {
    timer = clock.setTimer(periodMs, () => {
      work();
      next();
    });
  };
  next();
  return () => timer?.cancel();
}

/**
 * Pictures on a terminal's second screen, so that the scrolled-back text stays as it was. Unchanged lines are not
 * written again.
 */
export function createLiveScreen(output: Output, clock: Clock, style: Style): Screen {
  let shown: readonly string[] = [];
  let shownSize = "";
  let stop: (() => void) | undefined;
  let read: (() => DemoState) | undefined;
  const draw = (): void => {
    if (read === undefined) return;
    const size = { columns: output.columns ?? 80, rows: output.rows ?? 24 };
    const sizeText = `${size.columns}x${size.rows}`;
    const resized = sizeText !== shownSize;
    const lines = renderFrame(read(), size, style);
    const changes = Array.from({ length: Math.max(lines.length, shown.length) }, (_, index) => {
      const line = lines[index] ?? "";
      return !resized && line === shown[index] ? "" : `\u001B[${index + 1};1H${line}\u001B[K`;
    }).join("");
    if (changes !== "") output.write(`${resized ? "\u001B[2J" : ""}${changes}`);
    shown = lines;
    shownSize = sizeText;
  };
  return {
    open(source) {
      read = source;
      output.write(enter);
      draw();
      stop = everyMs(clock, framePeriodMs, draw);
    },
    close() {
      if (stop === undefined) return;
      stop();
      stop = undefined;
      output.write(leave);
    },
    act: () => undefined, // both are part of the picture
    remark: () => undefined,
  };
}

/** Lines: each act and remark as it happens, and how things stand every two seconds when that changed. */
export function createPlainScreen(output: Output, clock: Clock): Screen {
  let stop: (() => void) | undefined;
  let lastStatus = "";
  const print = (text: string): void => void output.write(`${text}\n`);
  return {
    open(read) {
      stop = everyMs(clock, linePeriodMs, () => {
        const state = read();
        // The same apart from the time is nothing new.
        const status = plainStatus({ ...state, elapsedMs: 0 });
        if (status !== lastStatus) print(plainStatus(state));
        lastStatus = status;
      });
    },
    close() {
      stop?.();
      stop = undefined;
    },
    act: (atMs, act) => print(plainAct(atMs, act)),
    remark: (remark) => print(plainRemark(remark)),
  };
}
