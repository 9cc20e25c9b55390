import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AgentReport, reportIn } from "#agent/report.ts";
import { AGENT_COMMAND, type AgentTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_BUNDLE, bundle } from "#dev/bundle.ts";
import { ENVIRONMENT } from "#dev/operator-image.ts";

/** Bundles the agent as for the image. @returns path of its program */
export async function agentProgram(): Promise<string> {
  const { files } = await bundle(process.cwd(), AGENT_BUNDLE);
  return files.find(({ to }) => to === AGENT_BUNDLE.program)?.from ?? "";
}

/** An agent in a process of its own. */
export interface AgentProcess {
  readonly child: ChildProcess;
  /** Resolves when the process has ended, with its peak memory in MB. */
  readonly ended: Promise<number>;
  /** Peak memory until now. */
  readonly peakMb: number;
}

export interface AgentFlags {
  readonly reportFile: string;
  /** 0: any free port. */
  readonly progressPort: number;
}

export function startAgent(program: string, task: AgentTask, { reportFile, progressPort }: AgentFlags): AgentProcess {
  const [, ...args] = AGENT_COMMAND;
  const child = spawn(
    process.execPath,
    [
      ...args.map((arg) => (arg === AGENT_BUNDLE.program ? program : arg)),
      `--report-file=${reportFile}`,
      `--progress-port=${progressPort}`,
    ],
    { env: { ...ENVIRONMENT, [TASK_VARIABLE]: JSON.stringify(task) }, stdio: ["ignore", "ignore", "inherit"] },
  );
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakMbOf(child.pid));
  }, 20);
  const ended = new Promise<number>((resolve) =>
    child.once("exit", () => {
      clearInterval(watch);
      resolve(peakMb);
    }),
  );
  return {
    child,
    ended,
    get peakMb() {
      return Math.max(peakMb, peakMbOf(child.pid));
    },
  };
}

type Done<Kind extends AgentTask["kind"]> = Extract<AgentReport, { ok: true; kind: Kind }>;

/** Runs the agent to its end. @returns its report, the seconds that its process lived, and its peak memory in MB */
export async function runAgent<Kind extends AgentTask["kind"]>(
  program: string,
  task: Extract<AgentTask, { kind: Kind }>,
  reportFile: string,
) {
  const startMs = performance.now();
  const peakMb = await startAgent(program, task, { reportFile, progressPort: 0 }).ended;
  const seconds = (performance.now() - startMs) / 1000;
  const text = readFileSync(reportFile, "utf8");
  const report = reportIn(text);
  if (report?.ok !== true || report.kind !== task.kind) throw new Error(`The agent failed: ${text}`);
  return { seconds, peakMb, report: report as Done<Kind> };
}

/** Peak memory in MB that the kernel reports; 0 when the process has ended. */
function peakMbOf(pid: number | undefined): number {
  try {
    const [, kib = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kib) * 1024) / 1e6;
  } catch {
    return 0; // the process has just ended: the sample of at most 20 ms ago counts
  }
}
