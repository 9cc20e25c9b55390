import pc from "picocolors";
import type { Journey } from "./journey.ts";

/** Describes what a step is doing now. Each note replaces the one before. */
export type Note = (text: string) => void;

/** Runs `work` and prints a line when it ends, and on a terminal a live line while it runs. */
export type Step = <T>(title: string, work: (note: Note) => Promise<T>) => Promise<T>;

/** Time after which a step's note is printed without a terminal, in milliseconds. */
const FIRST_WORD_MS = 10_000;
/** Interval at which a running step is printed after that, in milliseconds: CI systems end silent jobs. */
const STILL_RUNNING_MS = 30_000;
const FRAME_MS = 120;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

interface Running {
  readonly title: string;
  readonly sinceMs: number;
  /** Time at which the step is printed next without a terminal. */
  sayAtMs: number;
  note: string;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * Steps that print to `out`. Several may run at once.
 * @param journey planned steps, which are printed with their number and the remaining time
 */
export function stepsOn(out: Output, journey?: Journey): Step {
  const running = new Set<Running>();
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;

  const clear = () => {
    if (out.isTTY) out.write("\r\x1b[2K");
  };
  const tick = () => {
    if (out.isTTY)
      out.write(`\r\x1b[2K${liveLine(running, FRAMES[frame++ % FRAMES.length] ?? "", out.columns ?? 80, journey)}`);
    else sayStillRunning(running, out, journey);
  };
  const finish = (step: Running, mark: string) => {
    const nowMs = performance.now();
    running.delete(step);
    clear();
    const times = [seconds(nowMs - step.sinceMs), placeOf(step, journey) && journey?.left(nowMs)].filter(Boolean);
    out.write(`${headed(mark, step, journey)} ${pc.dim(`(${times.join("; ")})`)}\n`);
    if (running.size === 0) clearInterval(timer);
  };

  return async (title, work) => {
    const sinceMs = performance.now();
    const step: Running = { title, sinceMs, sayAtMs: sinceMs + FIRST_WORD_MS, note: "" };
    running.add(step);
    journey?.begin(title, sinceMs);
    if (running.size === 1) timer = setInterval(tick, out.isTTY ? FRAME_MS : 1000).unref();
    try {
      const result = await work((text) => {
        step.note = text;
      });
      journey?.end(title, performance.now());
      finish(step, pc.green("✓"));
      return result;
    } catch (thrown) {
      finish(step, pc.red("✗"));
      throw thrown;
    }
  };
}

function placeOf(step: Running, journey: Journey | undefined): string | undefined {
  return journey?.place(step.title);
}

/** Mark and title of a step, with its number; a part of a planned step is indented. */
function headed(mark: string, step: Running, journey: Journey | undefined): string {
  const place = placeOf(step, journey);
  if (place !== undefined) return `${mark} ${place}: ${step.title}`;
  return `${journey === undefined ? "" : "    "}${mark} ${step.title}`;
}

function liveLine(running: ReadonlySet<Running>, frame: string, columns: number, journey: Journey | undefined): string {
  const nowMs = performance.now();
  const parts = [...running].map((step) => {
    const place = placeOf(step, journey);
    const head = place === undefined ? "" : `${[place, journey?.left(nowMs)].filter(Boolean).join(", ")}: `;
    const note = step.note === "" ? "" : `: ${step.note}`;
    return `${head}${step.title}${note} ${seconds(nowMs - step.sinceMs)}`;
  });
  return `${frame} ${parts.join(" · ")}`.slice(0, columns - 1);
}

function sayStillRunning(running: ReadonlySet<Running>, out: Output, journey: Journey | undefined): void {
  const nowMs = performance.now();
  for (const step of running) {
    if (nowMs < step.sayAtMs) continue;
    step.sayAtMs = nowMs + STILL_RUNNING_MS;
    const note = step.note === "" ? "" : `: ${step.note}`;
    const times = [seconds(nowMs - step.sinceMs), placeOf(step, journey) && journey?.left(nowMs)].filter(Boolean);
    out.write(`${headed("…", step, journey)}${note} (${times.join("; ")})\n`);
  }
}

/** A duration in milliseconds as text for people: `3.1 s`, `4 min 05 s`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** Steps on standard output. */
export const step: Step = stepsOn(process.stdout);

/** Steps that print nothing, for tests and for commands that print only a result. */
export const silentStep: Step = (_title, work) => work(() => {});
