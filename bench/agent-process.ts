import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentReport, reportIn } from "#agent/report.ts";
import { AGENT_COMMAND, type AgentTask, TASK_VARIABLE } from "#agent/task.ts";
import { AGENT_BUNDLE, bundle } from "#dev/bundle.ts";
import { ENVIRONMENT } from "#dev/operator-image.ts";

type Done<Kind extends AgentTask["kind"]> = Extract<AgentReport, { ok: true; kind: Kind }>;

interface Run<Report> {
  /** From the start of the process to its end. */
  readonly seconds: number;
  /** The most that the process ever had, by the kernel's word. */
  readonly peakMb: number;
  readonly report: Report;
}

/** Runs the agent as the image has it: its bundle, with the image's flags and environment. @param home where its report is written */
export async function agentProcess(home: string) {
  const { files } = await bundle(process.cwd(), AGENT_BUNDLE);
  const program = files.find(({ to }) => to === AGENT_BUNDLE.program)?.from ?? "";
  const [, ...command] = AGENT_COMMAND;
  const args = command.map((arg) => (arg === AGENT_BUNDLE.program ? program : arg));
  const reportFile = join(home, "report");

  return async function run<Kind extends AgentTask["kind"]>(
    task: Extract<AgentTask, { kind: Kind }>,
  ): Promise<Run<Done<Kind>>> {
    const startMs = performance.now();
    const child = spawn(process.execPath, [...args, `--report-file=${reportFile}`, "--progress-port=0"], {
      env: { ...ENVIRONMENT, [TASK_VARIABLE]: JSON.stringify(task) },
      stdio: ["ignore", "ignore", "inherit"],
    });
    let peakMb = 0;
    const watch = setInterval(() => {
      peakMb = Math.max(peakMb, peakMbOf(child.pid));
    }, 20);
    await new Promise((resolve) => child.once("exit", resolve));
    const seconds = (performance.now() - startMs) / 1000;
    clearInterval(watch);
    const text = readFileSync(reportFile, "utf8");
    const report = reportIn(text);
    if (report?.ok !== true || report.kind !== task.kind) throw new Error(`the agent has failed: ${text}`);
    return { seconds, peakMb, report: report as Done<Kind> };
  };
}

export type AgentProcess = Awaited<ReturnType<typeof agentProcess>>;

/** 0 when it has ended. */
function peakMbOf(pid: number | undefined): number {
  try {
    const [, kib = "0"] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kib) * 1024) / 1e6;
  } catch {
    return 0; // it ended a moment ago, and its last look was one of 20 ms before
  }
}
