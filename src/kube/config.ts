import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { type Credentials, type KubeConfig, kept } from "./credentials.ts";
import { kubeconfigFile } from "./kubeconfig.ts";

export type { Credentials, KubeConfig, TlsMaterial } from "./credentials.ts";
export { kubeconfigFile } from "./kubeconfig.ts";

interface ConfigOptions {
  readonly clock?: Clock;
  /** Environment to read; process.env when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Directory of the mounted token; only tests set it. */
  readonly serviceAccountDirectory?: string;
}

const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Configuration from the service account of the pod. Token and CA are read again when a minute old.
 * @throws OperatorError InvalidConfig when the process does not run in a pod, or without a mounted token
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
export async function inClusterConfig(options: ConfigOptions = {}): Promise<KubeConfig> {
  const env = options.env ?? process.env;
  const directory = options.serviceAccountDirectory ?? SERVICE_ACCOUNT_DIRECTORY;
  const host = required(env, "KUBERNETES_SERVICE_HOST");
  const port = required(env, "KUBERNETES_SERVICE_PORT");
  const credentials = kept(options.clock ?? systemClock, () => readServiceAccount(directory));
  await credentials(true);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace: await readNonEmpty(join(directory, "namespace")),
    origin: "service account",
    credentials,
  };
}

/**
 * Configuration from the first of `KUBECONFIG`, the service account and `~/.kube/config`, as controller-runtime does.
 * @param context overrides the current context; requires a kubeconfig file
 * @throws OperatorError InvalidConfig that names the sources tried
 */
export async function defaultConfig(options: ConfigOptions & { readonly context?: string } = {}): Promise<KubeConfig> {
  const env = options.env ?? process.env;
  const named = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if (named.length > 0) {
    return await kubeconfigFile(onlyExisting(named), options.context, options.clock ?? systemClock);
  }
  if (options.context === undefined && env.KUBERNETES_SERVICE_HOST !== undefined) return await inClusterConfig(options);
  const home = join(env.HOME ?? homedir(), ".kube", "config");
  if (existsSync(home)) return await kubeconfigFile(home, options.context, options.clock ?? systemClock);
  throw new OperatorError(
    "InvalidConfig",
    `no way to reach a cluster: KUBECONFIG is not set, there is no service account, and ${home} does not exist`,
  );
}

function onlyExisting(paths: readonly string[]): string {
  const existing = paths.filter((path) => existsSync(path));
  const [only, ...others] = existing;
  if (only !== undefined && others.length === 0) return only;
  throw new OperatorError(
    "InvalidConfig",
    `KUBECONFIG is ${paths.join(delimiter)}: ${existing.length} of these files exist; exactly one must (files are not merged)`,
  );
}

async function readServiceAccount(directory: string): Promise<Credentials> {
  const [token, ca] = await Promise.all([
    readNonEmpty(join(directory, "token")),
    readNonEmpty(join(directory, "ca.crt")),
  ]);
  return { token, tls: { ca, verify: true } };
}

async function readNonEmpty(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((thrown: Error) => {
    throw new OperatorError("InvalidConfig", `service account: cannot read ${path}: ${thrown.message}`, {
      cause: thrown,
    });
  });
  if (text.trim() === "") throw new OperatorError("InvalidConfig", `service account: ${path} is empty`);
  return text.trim();
}

function required(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") {
    throw new OperatorError("InvalidConfig", `service account: ${name} is not set; it is set in every pod`);
  }
  return value;
}
