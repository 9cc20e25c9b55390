import { readFileSync } from "node:fs";
import { withEnvironment } from "#dev/proc.ts";
import { run } from "#dev/run.ts";
import { eventually } from "#kit/e2e/e2e.ts";

/** An etcd for an idle pod: the only program in etcd's image that keeps running without input. */
export const IDLE = [
  "etcd",
  "--data-dir=/tmp/idle",
  "--listen-client-urls=http://127.0.0.1:3379",
  "--advertise-client-urls=http://127.0.0.1:3379",
  "--listen-peer-urls=http://127.0.0.1:3380",
];
const IMAGE = "gcr.io/etcd-development/etcd:v3.6.16";
/** Environment variable by which this process finds those of the pod. */
const MARK = "POD_OF_TEST";
const PATIENCE_S = 2;
/** A container counts as ready a moment before its process runs its program. */
const STARTED_MS = 10_000;

/**
 * A pod that does nothing.
 * @param mark distinguishes it from pods of other tests
 */
export function idlePod(name: string, labels: Readonly<Record<string, string>>, mark: string) {
  const securityContext = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } };
  const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const env = [{ name: MARK, value: mark }];
  const container = { name: "idle", image: IMAGE, command: IDLE, env, securityContext: confined };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext,
      containers: [container],
    },
  };
}

/**
 * Process ID of a container on this machine, once it runs.
 * @param variable that it was started with
 */
export async function processIn(
  podName: string,
  variable: readonly [name: string, value: string] | string,
): Promise<number> {
  const [name, value] = typeof variable === "string" ? ([MARK, variable] as const) : variable;
  const isPods = ({ pid }: { readonly pid: number }) =>
    readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOSTNAME=${podName}`);
  return await eventually(() => {
    const [found] = withEnvironment(name, value).filter(isPods);
    return found === undefined
      ? Promise.reject(new Error(`pod ${podName} has no such process`))
      : Promise.resolve(found.pid);
  }, STARTED_MS);
}

/** The result of a pod's attempt to connect. dropped: no answer; refused: a reset, because nothing listens. */
export async function connecting(pid: number, address: string, port: number): Promise<"open" | "dropped" | "refused"> {
  const dial = `exec 3<>/dev/tcp/${address}/${port}`;
  const inside = [`--net=/proc/${pid}/ns/net`, "timeout", String(PATIENCE_S), "bash", "-c", dial];
  const { code, stderr } = await run("nsenter", inside, { mayFail: true });
  if (code === 0) return "open";
  if (code === 124) return "dropped";
  if (stderr.includes("refused")) return "refused";
  throw new Error(`connecting to ${address}:${port} failed: ${stderr}`);
}
