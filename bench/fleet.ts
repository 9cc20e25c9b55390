// How one operator carries a fleet: hundreds of clusters at once, made, at rest, restarted, edited, and with members that say nothing.
// This is the outside: a network of its own for everything that runs, which ends as one when this ends.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureComponents } from "#dev/components.ts";
import { stepsOn } from "#dev/progress.ts";
import { COMPONENTS, SERVICE_ADDRESSES } from "./fleet/control-plane.ts";
import { POD_ADDRESSES } from "./fleet/kubelets.ts";

const INSIDE = join(import.meta.dirname, "fleet", "inside.ts");
/** Addresses of pods and Services are this machine's own there, so that one process can answer for all. */
const NETWORK = [
  "ip link set lo up",
  ...[POD_ADDRESSES, SERVICE_ADDRESSES].map((range) => `ip route add local ${range} dev lo`),
  'exec "$@"',
].join(" && ");

await ensureComponents(COMPONENTS, stepsOn(process.stderr));
const folder = mkdtempSync(join(tmpdir(), "fleet-"));
// Processes inside are numbered anew: when the first one ends, or this one does, the kernel ends all of them.
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
