import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** How a process ended, and its output and memory. */
export interface ChildEnd {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Peak resident memory in MB, read every 20 ms. */
  readonly peakMb: number;
}

export interface ChildOptions {
  /** Flags of Node. Default: those of the image (dev/operator-image.ts). */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The process is killed after so many milliseconds. Default: 60 s. */
  readonly timeoutMs?: number;
}

/** Flags of the image (dev/operator-image.ts): V8 keeps little garbage. */
const LEAN = ["--max-semi-space-size=1", "--optimize-for-size"];

/**
 * Runs a TypeScript file in its own process, and waits for its end.
 * @param program its path
 */
export function runChild(program: string, args: readonly string[], options: ChildOptions = {}): Promise<ChildEnd> {
  const { flags = LEAN, env = {}, timeoutMs = 60_000 } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, program, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr, peakMb] = ["", "", 0];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const look = setInterval(() => {
      peakMb = Math.max(peakMb, peakMbOf(child.pid));
    }, 20);
    const kill = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    const stop = (): void => {
      clearInterval(look);
      clearTimeout(kill);
    };
    child.on("error", (thrown) => {
      stop();
      reject(thrown);
    });
    child.on("close", (code, signal) => {
      stop();
      resolve({ code, signal, stdout, stderr, peakMb });
    });
  });
}

/** The kernel's high-water mark of a process's resident memory, in MB; 0 when the process has ended. */
function peakMbOf(pid: number | undefined): number {
  try {
    const [, kib = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kib) * 1_024) / 1e6;
  } catch {
    return 0; // it has ended: earlier readings remain
  }
}
