import { expect } from "vitest";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { asRoot } from "#kit/etcd/root-login.ts";
import { leaseHolder } from "#kit/sweeps/operator-process.ts";
import { eventually, kubectl, testNamespace, UserCluster, type Written } from "./e2e.ts";
import { CLIENTS, type Felt, Load, type LoadOptions } from "./load.ts";
import type { Reach } from "./reach.ts";
import { refusedIn } from "./refused.ts";

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}

export interface MemberPod extends Named {
  readonly spec: { readonly nodeName: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/**
 * The longest pause of clients for one election, which takes one to two seconds; on a silent connection clients notice
 * after two.
 */
export const LONGEST_ELECTION_MS = 5_000;

/**
 * Checks the README's promise to clients ("Disturbs little"). For each disturbance, each client loses at most its one
 * request in flight. Writes are acknowledged again after the longest election. No request is refused, even at the first
 * try.
 * @param disturbances such as edits of `replicas`, lost members, drained nodes
 */
export function expectPromised(felt: Felt, disturbances = 1): void {
  expect(felt.acknowledgedWrites).toBeGreaterThan(0);
  expect(felt.failedRequests).toBeLessThanOrEqual(disturbances * CLIENTS);
  expect(felt.longestPauseMs).toBeLessThan(LONGEST_ELECTION_MS);
  expectNone("requests were refused", refusedIn(felt.firstWhy));
}

/**
 * Checks that no request of this load failed, and none was refused, even at the first try. For a machine without other
 * work.
 */
export function expectNobodyFailed(load: Load): void {
  expectFailed(load, 0);
}

/**
 * Like `expectNobodyFailed`, but next to all other tests. There kube-proxy and etcd wait long for a processor, and one
 * in some thousand requests fails twice (docs/performance.md, "roll"). So few may fail, but none because of a
 * certificate or login.
 */
export function expectHardlyAnyFailed(load: Load): void {
  expectFailed(load, 1 / 1000);
}

/** @param share of all requests that may fail */
function expectFailed(load: Load, share: number): void {
  const { acknowledgedWrites, answeredReads, why, firstWhy } = load.felt(0);
  expect(acknowledgedWrites).toBeGreaterThan(0);
  expectNone("requests were refused", refusedIn([...firstWhy, ...why]));
  const most = (acknowledgedWrites + answeredReads) * share;
  expect(why.length, `requests failed: ${why.join("; ")}`).toBeLessThanOrEqual(most);
}

/** Ends the load, and checks that no acknowledged write is missing, and no read saw an impossible value. */
export async function expectNothingLost(load: Load): Promise<void> {
  expectNone("clients saw impossible values", await load.end());
}

/** The message of the failure contains every text. */
function expectNone(what: string, told: readonly string[]): void {
  expect(told, `${what}: ${told.join("; ")}`).toEqual([]);
}

/**
 * The longest pause of clients when all members are away at once, in milliseconds, including the time until they are
 * back.
 */
export const LONGEST_OUTAGE_MS = 30_000;

const QUARANTINED = "etcd.improbable.io/quarantined";

export interface LoadedOptions extends Written<EtcdClusterSpec> {
  readonly replicas?: number;
  readonly operatorFlags?: readonly string[];
  /** How clients behave. */
  readonly load?: LoadOptions;
  /** How they connect once the cluster is ready, until a test changes it; in plaintext by default. */
  readonly reachedBy?: (cluster: UserCluster) => Promise<Reach & AsyncDisposable>;
}

/** A user's cluster with clients that write and read without pause. */
export class LoadedCluster extends UserCluster implements AsyncDisposable {
  readonly load: Load;
  readonly #belongings: AsyncDisposableStack;

  /**
   * A ready cluster in a new namespace, and an operator with these flags in addition to the deployed ones. Disposing
   * ends the load, and removes all of it.
   * @param prefix of the namespace's name
   */
  static async start(
    prefix: string,
    { replicas = 3, operatorFlags = [], load: behaviour = {}, reachedBy, ...spec }: LoadedOptions = {},
  ): Promise<LoadedCluster> {
    await using belongings = new AsyncDisposableStack();
    if (operatorFlags.length > 0) belongings.use(await withOperatorFlags(...operatorFlags));
    const { name } = belongings.use(await testNamespace(prefix));
    const user = new UserCluster(name);
    await user.create({ ...spec, replicas });
    await user.untilReady();
    const reach = reachedBy === undefined ? {} : { reach: belongings.use(await reachedBy(user)) };
    const load = belongings.use(new Load(user.namespace, user.name, { ...behaviour, ...reach }));
    // kube-proxy learns about a new member a moment after the cluster is Ready; an earlier connection takes a second
    // longer.
    await load.untilServed();
    return new LoadedCluster(user, load, belongings.move());
  }

  private constructor({ namespace, name }: UserCluster, load: Load, belongings: AsyncDisposableStack) {
    super(namespace, name);
    this.load = load;
    this.#belongings = belongings;
  }

  async scale(replicas: number): Promise<void> {
    await this.kubectl("scale", "etcdcluster", this.name, `--replicas=${replicas}`);
  }

  async list<T extends Named>(kind: string): Promise<readonly T[]> {
    const { items } = await this.json<{ items: T[] }>(
      "get",
      kind,
      "-l",
      `etcd.improbable.io/cluster-name=${this.name}`,
    );
    return items;
  }

  /** Names of the cluster's objects of one kind, without quarantined claims. */
  async names(kind: string): Promise<readonly string[]> {
    const items = await this.list(kind);
    return items
      .filter(({ metadata }) => metadata.labels?.[QUARANTINED] === undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  async quarantined(): Promise<readonly string[]> {
    const claims = await this.list("pvc");
    return claims
      .filter(({ metadata }) => metadata.labels?.[QUARANTINED] !== undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  /** The pods that are not being deleted, by EtcdPeer. */
  async memberPods(): Promise<ReadonlyMap<string, MemberPod>> {
    const pods = await this.list<MemberPod>("pods");
    const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return new Map(staying.map((pod) => [pod.metadata.labels?.["etcd.improbable.io/peer-name"] ?? "", pod]));
  }

  /** A member with its pod, on another node than the leading operator. */
  async memberAwayFromOperator() {
    const busy = await operatorNode();
    for (const [name, pod] of await this.memberPods()) {
      if (pod.spec.nodeName !== busy) return { name, pod, nodeNumber: Number(pod.spec.nodeName.replace("node-", "")) };
    }
    throw new Error(`all members are on ${busy}`);
  }

  /**
   * Waits until exactly so many healthy voters exist, each with an EtcdPeer, a ReplicaSet, a pod and a claim. Nothing
   * else may be left, and clients must be served. Then checks what clients saw.
   * @returns the names of the members
   */
  async untilWhole(members: number, deadlineMs = 150_000): Promise<readonly string[]> {
    await this.untilReady(deadlineMs);
    const names = await eventually(async () => {
      const { status } = await this.get();
      const voters = status?.members?.filter(({ health, role }) => health === "Healthy" && role !== "Learner") ?? [];
      const wanted = voters.map(({ name }) => name).sort();
      expect(wanted).toHaveLength(members);
      expect((await this.members(wanted[0]!)).map(({ name }) => name).sort()).toEqual(wanted);
      for (const kind of ["etcdpeers", "replicasets", "pvc"]) expect(await this.names(kind), kind).toEqual(wanted);
      expect([...(await this.memberPods()).keys()].sort(), "pods").toEqual(wanted);
      const peers = await this.list("etcdpeers");
      expect(peers.filter(({ metadata }) => metadata.annotations?.["etcd.improbable.io/removal"])).toEqual([]);
      return wanted;
    }, deadlineMs);
    await this.load.untilServed();
    expect(this.load.faults()).toEqual([]);
    return names;
  }

  /** Runs `work`, and returns what clients noticed until its end. */
  async feltDuring(what: string, work: () => Promise<unknown>): Promise<Felt & { readonly seconds: number }> {
    const sinceMs = this.load.now();
    await work();
    const seconds = Math.round((this.load.now() - sinceMs) / 100) / 10;
    const felt = this.load.felt(sinceMs);
    const { failedRequests, longestPauseMs, pausedAt, acknowledgedWrites, answeredReads, why, firstWhy } = felt;
    console.log(
      `${what}: ${seconds} s, ${failedRequests} failed requests, longest pause ${longestPauseMs} ms at ${pausedAt.toISOString()}, ${acknowledgedWrites} writes, ${answeredReads} reads`,
      [...new Set(why)].slice(0, 5),
      `first tries: ${firstWhy.length} failed`,
      [...new Set(firstWhy)].slice(0, 5),
    );
    return { ...felt, seconds };
  }

  /** Ends the load, and checks that no acknowledged write is missing, and all members have the same data. */
  async end(): Promise<void> {
    await expectNothingLost(this.load);
    const names = await this.names("etcdpeers");
    await eventually(async () => {
      const login = await asRoot(this);
      const hashes = await this.etcdctl(names[0]!, ...login, "endpoint", "hashkv", "--cluster", "-w", "json");
      const parsed = JSON.parse(hashes) as { HashKV: { hash: number; hash_revision?: number } }[];
      expect(parsed).toHaveLength(names.length);
      expect(new Set(parsed.map(({ HashKV }) => `${HashKV.hash} at ${HashKV.hash_revision}`)).size).toBe(1);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#belongings.disposeAsync();
  }
}

const OPERATOR_IN = ["-n", "etcd-operator-system"];
const OPERATOR = "etcd-cluster-operator";

/** Adds flags to the deployed operator; disposing removes them. */
export async function withOperatorFlags(...flags: readonly string[]): Promise<AsyncDisposable> {
  const where = ["get", "deployment", OPERATOR, ...OPERATOR_IN];
  const { spec } = await kubectl.json<{ spec: { template: { spec: { containers: { args: string[] }[] } } } }>(where);
  const before = spec.template.spec.containers[0]!.args;
  const set = async (args: readonly string[]) => {
    const patch = [{ op: "replace", path: "/spec/template/spec/containers/0/args", value: args }];
    await kubectl.run(["patch", "deployment", OPERATOR, ...OPERATOR_IN, "--type=json", "-p", JSON.stringify(patch)]);
    await kubectl.run(["rollout", "status", `deployment/${OPERATOR}`, ...OPERATOR_IN, "--timeout=180s"]);
  };
  await set([...before.filter((arg) => !flags.some((flag) => flag.split("=")[0] === arg.split("=")[0])), ...flags]);
  return { [Symbol.asyncDispose]: () => set(before.filter((arg) => !flags.includes(arg))) };
}

/** Kills the leading operator. The other replica takes over, and the Deployment starts a new one. */
export async function killOperator(): Promise<void> {
  const { metadata } = await leadingPod();
  await kubectl.run(["delete", "pod", metadata.name, ...OPERATOR_IN, "--grace-period=0", "--force"]);
}

/** Name of the node on which the leading operator runs. */
export async function operatorNode(): Promise<string> {
  return (await leadingPod()).spec.nodeName;
}

/** The operator's pods that have a node and are not being deleted, in any order. */
export async function operatorPods(): Promise<readonly MemberPod[]> {
  const selector = ["-l", `app.kubernetes.io/name=${OPERATOR}`];
  const { items } = await kubectl.json<{ items: MemberPod[] }>(["get", "pods", ...OPERATOR_IN, ...selector]);
  return items.filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.nodeName);
}

/** The pod of the operator that holds the lease; waits until there is one. */
async function leadingPod(): Promise<MemberPod> {
  return await eventually(async () => {
    const [holder, pods] = await Promise.all([leaseHolder(), operatorPods()]);
    // An operator's identity is its host name, which is that of the pod, and a random part.
    const pod = pods.find(({ metadata }) => holder?.startsWith(`${metadata.name}_`));
    if (pod === undefined) throw new Error(`no pod of the operator holds the lease; its holder is ${holder}`);
    return pod;
  });
}
