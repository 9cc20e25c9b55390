import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AgentReport, reportIn } from "#agent/report.ts";
import { AGENT_COMMAND, type AgentTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_BUNDLE, bundle } from "#dev/bundle.ts";
import { ENVIRONMENT } from "#dev/operator-image.ts";

/** The agent as the image has it: where its program lies. */
export async function agentProgram(): Promise<string> {
  const { files } = await bundle(process.cwd(), AGENT_BUNDLE);
  return files.find(({ to }) => to === AGENT_BUNDLE.program)?.from ?? "";
}

/** An agent in a process of its own. */
export interface AgentProcess {
  readonly child: ChildProcess;
  /** Resolves with what its memory was at its peak, in MB, once it has ended. */
  readonly ended: Promise<number>;
  /** So far. */
  readonly peakMb: number;
}

export interface AgentFlags {
  readonly reportFile: string;
  /** 0 takes a free one. */
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

/** Runs the agent to its end. @returns what it tells, the seconds from the start of its process to the end, and what its memory was at its peak, in MB */
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
  if (report?.ok !== true || report.kind !== task.kind) throw new Error(`the agent has failed: ${text}`);
  return { seconds, peakMb, report: report as Done<Kind> };
}

/** 0 when it has ended. */
function peakMbOf(pid: number | undefined): number {
  try {
    const [, kib = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kib) * 1024) / 1e6;
  } catch {
    return 0; // it ended a moment ago, and its last look was one of 20 ms before
  }
}
