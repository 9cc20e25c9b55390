import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { dirname } from "node:path";
import { mainBinary } from "../components.ts";
import { withSbin } from "../run.ts";
import type { Instance } from "./instance.ts";
import { inside, resolvConf } from "./network.ts";

/**
 * Starts a program inside the instance's network, where pod addresses, cluster IPs and the cluster's DNS are reachable.
 * The program gets KUBECONFIG, and kubectl on its PATH. The caller ends it; `down` ends it, too, as it removes the
 * network.
 * @param options of `spawn`; `env` is added to this process's environment
 */
export function execInside(instance: Instance, argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
  // A mount namespace for one file: /etc/resolv.conf. exec, so that the program has the PID that spawn returned.
  const withDns = '[ ! -e /etc/resolv.conf ] || mount --bind "$0" "$(readlink -f /etc/resolv.conf)"; exec "$@"';
  const wrapped = ["unshare", "--mount", "sh", "-c", withDns, resolvConf(instance), ...argv];
  const [program = "", ...args] = inside(instance, wrapped);
  const env = withSbin({ ...process.env, KUBECONFIG: instance.kubeconfig, ...options.env });
  env.PATH = `${dirname(mainBinary("kubectl"))}:${env.PATH ?? ""}`;
  return spawn(program, args, { stdio: "inherit", ...options, env });
}
