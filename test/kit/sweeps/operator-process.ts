import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { OPERATOR } from "#api/names.ts";
import { eventually, instance, kubectl, testNamespace } from "#kit/e2e/e2e.ts";
import { OPERATOR_NAMESPACE, OPERATOR_REPLICAS } from "../../../scripts/manifests.ts";
import { LEASE_PERMISSIONS } from "../../../src/bin/permissions.ts";
import { FAULTS, type Faults } from "./operator-faults.ts";

const DEPLOYED_IN = OPERATOR_NAMESPACE;
const PROGRAM = join(import.meta.dirname, "faulty-operator.ts");

/** Kubeconfig and notes of this file's operators; removed with the test's process. */
const folder = mkdtempSync(join(tmpdir(), "operators-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** An operator process of the test, with the rights of the deployed one. `await using` kills it. */
export class OperatorProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #notes: string;
  readonly #log: string;
  /** Resolves with how it ended. */
  readonly end: Promise<ProcessEnd>;

  /** @param leaseNamespace must be one of `operatorNamespace` */
  constructor(leaseNamespace: string, faults: Omit<Faults, "notes">) {
    const name = join(folder, Math.random().toString(36).slice(2, 10));
    this.#notes = `${name}.notes`;
    this.#log = `${name}.log`;
    const flags = [
      "--kubeconfig",
      join(folder, "kubeconfig"),
      "--operator-namespace",
      leaseNamespace,
      "--http-port",
      "0",
      "--webhook-port",
      "0",
      "--metrics-port",
      "0",
    ];
    const env = {
      ...process.env,
      [FAULTS]: JSON.stringify({ ...faults, notes: this.#notes } satisfies Faults),
      // Parsed once instead of at each start: a sweep starts the operator a hundred times.
      NODE_COMPILE_CACHE: join(folder, "compiled"),
    };
    const log = openSync(this.#log, "w");
    this.#child = spawn(process.execPath, [PROGRAM, ...flags], { stdio: ["ignore", log, log], env });
    closeSync(log);
    this.end = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      this.#child.on("exit", (code, signal) => resolve({ code, signal }));
    });
  }

  /**
   * Waits until it ends by itself.
   * @throws Error with the end of its log after this time, in milliseconds
   */
  async endWithin(limitMs: number): Promise<ProcessEnd> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new Error(`the operator has not ended within ${limitMs} ms:\n${this.log().slice(-2_000)}`));
    }, limitMs);
    return await Promise.race([this.end, late.promise]).finally(() => clearTimeout(timer));
  }

  /** The writes that were carried out, oldest first. */
  writes(): readonly string[] {
    return existsSync(this.#notes) ? readFileSync(this.#notes, "utf8").split("\n").slice(0, -1) : [];
  }

  /** Its log so far. */
  log(): string {
    return readFileSync(this.#log, "utf8");
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Whether SIGSTOP has stopped it. */
  get isFrozen(): boolean {
    return !this.hasEnded && /^State:\s+T/m.test(readFileSync(`/proc/${this.#child.pid}/status`, "utf8"));
  }

  /** Sends a signal; returns after the end of the process if the signal ends it. */
  async signal(name: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    this.#child.kill(name);
    if (name === "SIGTERM" || name === "SIGKILL") await this.end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) await this.signal("SIGKILL");
  }
}

/** Holder of the operators' lease in this namespace, by default of the deployed ones; undefined when it is free. */
export async function leaseHolder(namespace: string = DEPLOYED_IN): Promise<string | undefined> {
  const holder = "jsonpath={.spec.holderIdentity}";
  const found = await kubectl.run(["get", "lease", OPERATOR, "-n", namespace, "--ignore-not-found", "-o", holder]);
  return found.stdout === "" ? undefined : found.stdout;
}

/** Waits until the operator's log contains the words. */
export async function untilSaid(operator: OperatorProcess, words: string, deadlineMs = 30_000): Promise<void> {
  await eventually(() => {
    if (operator.log().includes(words)) return Promise.resolve();
    return Promise.reject(new Error(`the operator has not logged "${words}":\n${operator.log().slice(-2_000)}`));
  }, deadlineMs);
}

/** A namespace for clusters and for the lease of the operators that manage them; `await using` deletes it. */
export async function operatorNamespace(prefix: string): Promise<{ name: string } & AsyncDisposable> {
  const namespace = await testNamespace(prefix);
  await kubectl.apply(leaseRights(namespace.name));
  return namespace;
}

/** Objects that let the deployed operator's account hold a lease in this namespace, too. */
function leaseRights(namespace: string): readonly object[] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const metadata = { name: "operator-lease", namespace };
  return [
    { apiVersion, kind: "Role", metadata, rules: LEASE_PERMISSIONS },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name: OPERATOR, namespace: DEPLOYED_IN }],
    },
  ];
}

/**
 * Scales the deployed operator down, so that only the test's own acts, and makes a kubeconfig with its rights.
 * Disposing scales it up again.
 */
export async function withoutDeployedOperator(): Promise<AsyncDisposable> {
  const scale = (replicas: number) =>
    kubectl.run(["scale", `deployment/${OPERATOR}`, "-n", DEPLOYED_IN, `--replicas=${replicas}`]);
  const back: AsyncDisposable = {
    [Symbol.asyncDispose]: async () => {
      await scale(OPERATOR_REPLICAS);
      await kubectl.run(["rollout", "status", `deployment/${OPERATOR}`, "-n", DEPLOYED_IN, "--timeout=120s"]);
    },
  };
  try {
    await scale(0);
    await eventually(async () => {
      const { stdout } = await kubectl.run(["get", "pods", "-n", DEPLOYED_IN, "-o", "name"]);
      if (stdout.trim() !== "") throw new Error(`the deployed operator still runs: ${stdout}`);
    });
    const token = await kubectl.run(["create", "token", OPERATOR, "-n", DEPLOYED_IN, "--duration=2h"]);
    const config = parse(readFileSync(instance.kubeconfig, "utf8")) as { users: { user: object }[] };
    for (const user of config.users) user.user = { token: token.stdout.trim() };
    writeFileSync(join(folder, "kubeconfig"), stringify(config), { mode: 0o600 });
    return back;
  } catch (thrown) {
    await back[Symbol.asyncDispose]();
    throw thrown;
  }
}
