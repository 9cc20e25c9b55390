import pc from "picocolors";

/** Says what a step is doing just now; the last sentence wins. */
export type Note = (text: string) => void;

/** Runs `work` and tells about it: one line when it ends, on a terminal also a live line while it runs. */
export type Step = <T>(title: string, work: (note: Note) => Promise<T>) => Promise<T>;

/** How often a log without a terminal hears that a long step still runs, in milliseconds: CI systems end silent jobs. */
const STILL_RUNNING_MS = 30_000;
const FRAME_MS = 120;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

interface Running {
  readonly title: string;
  readonly sinceMs: number;
  saidMs: number;
  note: string;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Steps that print to `out`; several may run at once. */
export function stepsOn(out: Output): Step {
  const running = new Set<Running>();
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;

  const clear = () => {
    if (out.isTTY) out.write("\r\x1b[2K");
  };
  const tick = () => {
    if (out.isTTY) out.write(`\r\x1b[2K${liveLine(running, FRAMES[frame++ % FRAMES.length] ?? "", out.columns ?? 80)}`);
    else sayStillRunning(running, out);
  };
  const finish = (step: Running, mark: string) => {
    running.delete(step);
    clear();
    out.write(`${mark} ${step.title} ${pc.dim(`(${seconds(performance.now() - step.sinceMs)})`)}\n`);
    if (running.size === 0) clearInterval(timer);
  };

  return async (title, work) => {
    const step: Running = { title, sinceMs: performance.now(), saidMs: performance.now(), note: "" };
    running.add(step);
    if (running.size === 1) timer = setInterval(tick, out.isTTY ? FRAME_MS : 1000).unref();
    try {
      const result = await work((text) => {
        step.note = text;
      });
      finish(step, pc.green("✓"));
      return result;
    } catch (thrown) {
      finish(step, pc.red("✗"));
      throw thrown;
    }
  };
}

function liveLine(running: ReadonlySet<Running>, frame: string, columns: number): string {
  const parts = [...running].map((step) => {
    const note = step.note === "" ? "" : `: ${step.note}`;
    return `${step.title}${note} ${seconds(performance.now() - step.sinceMs)}`;
  });
  return `${frame} ${parts.join(" · ")}`.slice(0, columns - 1);
}

function sayStillRunning(running: ReadonlySet<Running>, out: Output): void {
  for (const step of running) {
    if (performance.now() - step.saidMs < STILL_RUNNING_MS) continue;
    step.saidMs = performance.now();
    out.write(
      `… ${step.title}${step.note === "" ? "" : `: ${step.note}`} (${seconds(performance.now() - step.sinceMs)})\n`,
    );
  }
}

/** Milliseconds as people read them: `3.1 s`, `4 min 05 s`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** Steps on standard output. */
export const step: Step = stepsOn(process.stdout);

/** Steps that say nothing, for tests and for commands whose output is a result. */
export const silentStep: Step = (_title, work) => work(() => {});
