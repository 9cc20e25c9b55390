import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdRestoreSpec } from "#api/v1beta1/restore.ts";
import type { EtcdRoleSpec } from "#api/v1beta1/role.ts";
import type { EtcdBackupScheduleSpec } from "#api/v1beta1/schedule.ts";
import type { EtcdUserSpec } from "#api/v1beta1/user.ts";
import { mainBinary } from "#dev/components.ts";
import { writeEtcdImageAs } from "#dev/images.ts";
import { Kubectl } from "#dev/kubectl.ts";
import { HOST_MOUNTS, TEST_INSTANCE } from "#dev/levels.ts";
import { needInstance } from "#dev/local/instance.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";

/** The local Kubernetes of the tests, with the operator in it: `npm run test:e2e` starts it. */
export const instance = needInstance(TEST_INSTANCE);

/**
 * While other tests run, etcdctl's limits are too short: five seconds for a request, and two for a login, for which etcd
 * hashes a password. `--dial-timeout` limits the login.
 */
export const PATIENT_ETCDCTL = ["etcdctl", "--dial-timeout=30s", "--command-timeout=30s"] as const;

export const kubectl = new Kubectl(mainBinary("kubectl"), instance.kubeconfig);

/**
 * Cuts a node's power, boots it, or disconnects or reconnects its network. Runs in the machine's own mount namespace:
 * mounts of a node must not end with the test.
 * @param node 1 or more
 */
export async function node(action: "stop" | "start" | "partition" | "heal", node: number): Promise<void> {
  await local("node", action, String(node));
}

/** Gives every node an image that it cannot pull: the existing etcd, under the name of another version. */
export async function giveEtcdImage(version: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "etcd-image-"));
  try {
    const file = join(folder, "image.tar");
    await writeEtcdImageAs(version, file, silentStep);
    await local("load", file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function local(...args: readonly string[]): Promise<void> {
  const mounts = process.env[HOST_MOUNTS];
  if (mounts === undefined) throw new Error(`${HOST_MOUNTS} is not set: run npm run test:e2e`);
  const command = [process.execPath, "dev/commands/local.ts", ...args, "--instance", TEST_INSTANCE];
  await run("nsenter", [`--mount=${mounts}`, `--wd=${process.cwd()}`, "--", ...command]);
}

/**
 * Time limit for a state that no promise limits, in milliseconds. It takes seconds on a quiet machine; beside all other tests a cluster has needed
 * more than 90 s. Shorter: a busy machine fails the test. Longer: a test that fails takes longer.
 */
const PATIENT_MS = 240_000;

/**
 * Repeats `look` until it does not throw.
 * @throws the last error of `look`, once the deadline has passed
 */
export async function eventually<T>(look: () => Promise<T>, deadlineMs = PATIENT_MS): Promise<T> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await look();
    } catch (thrown) {
      if (performance.now() > until) throw thrown;
      await sleep(200);
    }
  }
}

/** A new namespace for the test that enforces restricted pod security; `await using` deletes it. */
export async function testNamespace(prefix: string): Promise<{ name: string } & AsyncDisposable> {
  const name = `${prefix}-${Math.random().toString(36).slice(2, 8)}`;
  await kubectl.run(["create", "namespace", name]);
  await kubectl.run(["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"]);
  return {
    name,
    [Symbol.asyncDispose]: async () => {
      await kubectl.run(["delete", "namespace", name, "--wait=false"]);
    },
  };
}

interface Member {
  readonly name: string;
  /** Decimal text, as `etcdctl -w json` prints it; it may exceed the range of a number. */
  readonly id: string;
}

interface Specs {
  readonly EtcdBackup: EtcdBackupSpec;
  readonly EtcdBackupSchedule: EtcdBackupScheduleSpec;
  readonly EtcdRestore: EtcdRestoreSpec;
  readonly EtcdRole: EtcdRoleSpec;
  readonly EtcdUser: EtcdUserSpec;
}

/** What a user writes of a spec: the API server fills in the rest, and null removes a field. */
export type Written<T> = T extends readonly (infer Each)[]
  ? readonly Written<Each>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Written<T[Key]> | null }
    : T;

/** An EtcdCluster as a user handles it: with kubectl, and with etcdctl inside its pods. */
export class UserCluster {
  readonly namespace: string;
  readonly name: string;

  constructor(namespace: string, name = "my-etcd") {
    this.namespace = namespace;
    this.name = name;
  }

  /** @param version of the API that the user writes */
  async create(asked: Written<EtcdClusterSpec> & { replicas: number }, version = "v1beta1"): Promise<void> {
    // Most tests have another subject, and are faster without encryption.
    const spec = version === "v1beta1" ? { version: DEFAULT_VERSION, tls: NO_TLS, ...asked } : asked;
    const manifest = {
      apiVersion: `etcd.improbable.io/${version}`,
      kind: "EtcdCluster",
      metadata: { name: this.name },
      spec,
    };
    await this.apply(manifest);
  }

  /** `kubectl apply` in the namespace of the cluster. */
  async apply(manifest: object): Promise<void> {
    await kubectl.run(["-n", this.namespace, "apply", "-f", "-"], { input: JSON.stringify(manifest) });
  }

  /** Creates or changes another object of the operator's API beside the cluster. */
  async make<Kind extends keyof Specs>(kind: Kind, name: string, spec: Written<Specs[Kind]>): Promise<void> {
    await this.apply({ apiVersion: "etcd.improbable.io/v1beta1", kind, metadata: { name }, spec });
  }

  async makeV1alpha1(kind: keyof Specs, name: string, spec: object): Promise<void> {
    await this.apply({ apiVersion: "etcd.improbable.io/v1alpha1", kind, metadata: { name }, spec });
  }

  /**
   * `kubectl patch`: other fields are unchanged.
   * @param version of the API that the user writes
   */
  async patch(spec: Written<EtcdClusterSpec>, version = "v1beta1"): Promise<void> {
    const kind = `etcdclusters.${version}.etcd.improbable.io`;
    await this.kubectl("patch", kind, this.name, "--type=merge", "-p", JSON.stringify({ spec }));
  }

  async get(): Promise<EtcdCluster> {
    return await kubectl.json<EtcdCluster>(["get", "etcdcluster", this.name, "-n", this.namespace]);
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return (await kubectl.run(["-n", this.namespace, ...args])).stdout;
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    return await kubectl.json<T>(["-n", this.namespace, ...args]);
  }

  /**
   * Waits until the cluster is Ready with all members.
   * @returns the cluster
   */
  async untilReady(deadlineMs = PATIENT_MS): Promise<EtcdCluster> {
    return await this.untilCondition("Ready", "True", "AllMembersHealthy", deadlineMs);
  }

  async untilCondition(type: string, status: string, reason: string, deadlineMs = PATIENT_MS): Promise<EtcdCluster> {
    return await eventually(async () => {
      const cluster = await this.get();
      const condition = cluster.status?.conditions?.find((each) => each.type === type);
      const isCurrent = condition?.observedGeneration === cluster.metadata.generation;
      if (isCurrent && condition?.status === status && condition.reason === reason) return cluster;
      const found =
        condition === undefined
          ? "the cluster has none"
          : `it is ${condition.status}/${condition.reason}: ${condition.message}`;
      throw new Error(`condition ${type} of ${this.namespace}/${this.name} should be ${status}/${reason}; ${found}`);
    }, deadlineMs);
  }

  /** Name of the member's pod that is not being deleted. */
  async podOf(peer: string): Promise<string> {
    return await eventually(async () => {
      const { items } = await this.json<{ items: { metadata: { name: string; deletionTimestamp?: string } }[] }>(
        "get",
        "pods",
        "-l",
        `etcd.improbable.io/peer-name=${peer}`,
      );
      const pod = items.find(({ metadata }) => metadata.deletionTimestamp === undefined);
      if (pod === undefined) throw new Error(`${peer} has no pod`);
      return pod.metadata.name;
    });
  }

  /** Name of the volume behind the member's claim. */
  async volumeOf(peer: string): Promise<string> {
    const { spec } = await this.json<{ spec: { volumeName: string } }>("get", "pvc", peer);
    return spec.volumeName;
  }

  /** Runs etcdctl in a member's container. */
  async etcdctl(peer: string, ...args: readonly string[]): Promise<string> {
    return await this.kubectl("exec", await this.podOf(peer), "-c", "etcd", "--", ...PATIENT_ETCDCTL, ...args);
  }

  async put(peer: string, key: string, value: string): Promise<void> {
    await eventually(() => this.etcdctl(peer, "put", key, value), 60_000);
  }

  /** Reads linearizably through one member. */
  async read(peer: string, key: string): Promise<string> {
    return (await this.etcdctl(peer, "get", key, "--print-value-only")).trim();
  }

  /** The linearizable member list from one member; sorted by name. */
  async members(peer: string): Promise<readonly Member[]> {
    const text = await this.etcdctl(peer, "member", "list", "-w", "json");
    const members = [...text.matchAll(/"ID":(\d+),"name":"([^"]+)"/g)].map((match) => ({
      id: match[1] ?? "",
      name: match[2] ?? "",
    }));
    return members.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
