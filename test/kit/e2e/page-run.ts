import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { mainBinary } from "#dev/components.ts";
import { blocksOf, MARK, scriptOf } from "#kit/pages/blocks.ts";
import type { Page } from "#kit/pages/pages.ts";
import { instance, testNamespace } from "./e2e.ts";

/** Time for all commands of a page, in milliseconds. Shorter: a busy machine fails the test. */
const LONGEST_MS = 540_000;
/** On a busy machine etcd misses deadlines of seconds. A wrong command fails each time. */
const PATIENT = { ETCDCTL_DIAL_TIMEOUT: "30s", ETCDCTL_COMMAND_TIMEOUT: "60s" };
const PATIENT_EXEC = `kubectl() {
  if [ "$1" != exec ]; then command kubectl "$@"; return; fi
  for try in 1 2 3; do command kubectl "$@" && return; done
  return 1
}`;
/** Folders and files of the repository that commands of pages use. */
const LINKED = ["package.json", "node_modules", "dev", "src", "scripts", "config"];

/**
 * Types the blocks of a page in their order, in a namespace and a folder of their own.
 * @param path of the page, from the root
 * @returns what the commands printed
 * @throws Error with the page and the line of the block that failed
 */
export async function typePage(path: string, { before, after = "" }: Page): Promise<string> {
  await using namespace = await testNamespace(
    `page-${path
      .replace(/^docs\//, "")
      .replace(".md", "")
      .toLowerCase()}`,
  );
  const folder = mkdtempSync(join(tmpdir(), "page-"));
  try {
    cpSync("examples", join(folder, "examples"), { recursive: true });
    cpSync("test/kit/pages", join(folder, "kit"), { recursive: true });
    for (const name of LINKED) symlinkSync(join(process.cwd(), name), join(folder, name));
    cpSync(instance.kubeconfig, join(folder, "kubeconfig"));
    const script = [
      PATIENT_EXEC,
      `kubectl config set-context --current --namespace=${namespace.name}`,
      before,
      scriptOf(blocksOf(readFileSync(path, "utf8"))),
      `echo "${MARK}after the page"`,
      after,
    ].join("\n");
    const { code, text } = await typed(script, folder);
    if (code !== 0) throw new Error(`${path}: ${text.slice(text.lastIndexOf(MARK))}\n(exit code ${code})\n\n${text}`);
    return text;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a script in a process group of its own, and ends what it leaves in the background. */
async function typed(script: string, folder: string): Promise<{ code: number | null; text: string }> {
  const programs = [mainBinary("kubectl"), mainBinary("etcd-3.6.16")].map((file) => dirname(file));
  const env = {
    ...process.env,
    ...PATIENT,
    PATH: [...programs, dirname(process.execPath), process.env.PATH].join(":"),
    KUBECONFIG: join(folder, "kubeconfig"),
    IMAGE: "registry.example/operator:1",
  };
  const shell = spawn("bash", ["-euo", "pipefail", "-c", script], {
    ...{ cwd: folder, env, detached: true },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const note = (chunk: Buffer) => {
    text += chunk;
  };
  shell.stdout.on("data", note);
  shell.stderr.on("data", note);
  const end = () => {
    try {
      process.kill(-(shell.pid ?? 0), "SIGKILL");
    } catch {
      // No process of the group is left.
    }
  };
  const timer = setTimeout(end, LONGEST_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    shell.on("error", reject);
    shell.on("exit", resolve); // not `close`: a port-forward in the background holds the output open
  });
  clearTimeout(timer);
  end();
  return { code, text };
}
