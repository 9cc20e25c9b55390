// How one operator carries a fleet of hundreds of clusters: their creation, rest, a restart of the operator, edits, and
// members that do not answer. This outer process starts everything in a network and process namespace of its own, which
// ends when this process ends.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureComponents } from "#dev/components.ts";
import { stepsOn } from "#dev/progress.ts";
import { COMPONENTS, SERVICE_ADDRESSES } from "./fleet/control-plane.ts";
import { POD_ADDRESSES } from "./fleet/kubelets.ts";

const INSIDE = join(import.meta.dirname, "fleet", "inside.ts");
/** Makes all addresses of pods and Services local ones, so that one process can answer for all of them. */
const NETWORK = [
  "ip link set lo up",
  ...[POD_ADDRESSES, SERVICE_ADDRESSES].map((range) => `ip route add local ${range} dev lo`),
  'exec "$@"',
].join(" && ");

await ensureComponents(COMPONENTS, stepsOn(process.stderr));
const folder = mkdtempSync(join(tmpdir(), "fleet-"));
// A process namespace: when its first process ends, or this one does, the kernel ends all processes in it.
const own = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"];
const argv = [...own, "sh", "-ec", NETWORK, "sh", process.execPath, INSIDE, ...process.argv.slice(2)];
const child = spawn("unshare", argv, { stdio: "inherit", env: { ...process.env, TMPDIR: folder } });
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => child.kill("SIGKILL"));
const code = await new Promise<number>((resolve, reject) => {
  child.on("error", reject);
  child.on("close", (exitCode) => resolve(exitCode ?? 1));
});
rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
process.exitCode = code;
