import { setTimeout as sleep } from "node:timers/promises";
import { CLUSTER_LABEL, DATA_VOLUME } from "#api/names.ts";
import { hasCode } from "#base/error.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { Disk } from "#kit/world/disk.ts";
import { Cache, type Change } from "#kube/cache.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  SECRETS,
  SERVICES,
  type Secret,
} from "#kube/kinds.ts";
import { OPTIONS } from "../kube.ts";
import { Members } from "./members.ts";
import { type ContainerState, podStatus } from "./pod-status.ts";

// Simulated scheduler, provisioner and kubelets of a whole fleet: they write what the real ones would. etcd's processes
// are in members.ts.

/** Time from a pod's creation until it is bound to a node, in milliseconds. */
const BINDS_AFTER_MS = 200;
/**
 * Time from the binding until the container runs, in milliseconds: what a kubelet that has the image needs
 * (docs/performance.md, `ready`).
 */
const RUNS_AFTER_MS = 700;
/** Interval of readiness probes, in milliseconds, as in src/peer/desired/probes.ts. */
const PROBE_MS = 1_000;
/** Time after which a silent member is not ready, in milliseconds: five probes of three seconds each. */
const SILENT_FOR_MS = 15_000;
/** Time until a container that ended is started again, in milliseconds: the kubelet's first backoff. */
const RESTARTS_AFTER_MS = 10_000;
/**
 * Time from the deletion of a pod until it has ended, in milliseconds: the preStop hook of members takes two seconds.
 */
const ENDS_AFTER_MS = 2_100;
const NODES = 100;
const NAME_INDEX = "name";

interface Sandbox {
  pod: Pod;
  readonly address: string;
  state: ContainerState | undefined;
  restarts: number;
  isEnding: boolean;
  isGone: boolean;
}

export class Kubelets {
  readonly members = new Members(
    (podUid) => void this.#crash(podUid, "the member has been permanently removed"),
    (name) => this.secretOf(name),
  );
  readonly #kube: KubeClient;
  readonly #stop = new AbortController();
  readonly #sandboxes = new Map<string, Sandbox>();
  /** Disks by the UID of their claim. */
  readonly #disks = new Map<string, Disk>();
  readonly #clustersByService = new Map<string, string>();
  readonly #pods: Cache<Pod>;
  readonly #claims: Cache<PersistentVolumeClaim>;
  readonly #secrets: Cache<Secret>;
  readonly #failures: string[] = [];
  #addresses = 0;

  constructor(kube: KubeClient) {
    const follow = { client: kube, freeze: false };
    this.#kube = kube;
    const byName = { [NAME_INDEX]: ({ metadata }: Secret) => [metadata.name] };
    this.#secrets = new Cache<Secret>({ ...follow, resource: SECRETS, indexes: byName });
    this.#pods = new Cache<Pod>({ ...follow, resource: PODS });
    this.#claims = new Cache<PersistentVolumeClaim>({ ...follow, resource: PERSISTENT_VOLUME_CLAIMS });
    const services = new Cache({ ...follow, resource: SERVICES });
    services.onChange(({ object: { metadata, spec } }) => {
      const cluster = `${metadata.namespace}/${metadata.labels?.[CLUSTER_LABEL]}`;
      if (spec?.clusterIP !== undefined) this.#clustersByService.set(spec.clusterIP, cluster);
    });
    this.#pods.onChange((change) => this.#look(change));
    this.#claims.onChange((change) => void this.#try("a claim", () => this.#bindClaim(change)));
    for (const cache of [services, this.#secrets, this.#claims, this.#pods]) cache.start(this.#stop.signal);
  }

  /** Current version of a Secret, as pods see it. Names are unique in the whole fleet. */
  secretOf(name: string): Secret | undefined {
    return this.#secrets.byIndex(NAME_INDEX, name)[0];
  }

  /** The cluster that a client Service with this address leads to, as namespace and name. */
  clusterBehind(address: string): string | undefined {
    return this.#clustersByService.get(address);
  }

  /** Failures of the simulation itself, in their order. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  /** Addresses of the pods of this cluster, by the pods' host names. */
  addressesOf(cluster: string): ReadonlyMap<string, string> {
    const own = [...this.#sandboxes.values()].filter(
      ({ pod, isEnding }) => !isEnding && pod.metadata.labels?.[CLUSTER_LABEL] === cluster,
    );
    return new Map(own.map(({ pod, address }) => [pod.spec?.hostname ?? pod.metadata.name, address]));
  }

  /** Addresses of the pods of every cluster. */
  addressesByCluster(): ReadonlyMap<string, readonly string[]> {
    const all = new Map<string, string[]>();
    for (const { pod, address, isEnding } of this.#sandboxes.values()) {
      const cluster = pod.metadata.labels?.[CLUSTER_LABEL] ?? "";
      const own = all.get(cluster) ?? [];
      if (!isEnding) own.push(address);
      all.set(cluster, own);
    }
    return all;
  }

  /** Makes a member silent. Its kubelet marks it not ready after SILENT_FOR_MS. */
  async silence(address: string): Promise<void> {
    this.members.silence(address);
    await sleep(SILENT_FOR_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    const sandbox = [...this.#sandboxes.values()].find((each) => each.address === address);
    if (sandbox?.state?.is !== "running") return;
    const silent = { ...sandbox.state, isReady: false } as const;
    await this.#try(`the status of silent member ${address}`, () => this.#write(sandbox, silent));
  }

  /** Kills the etcd of a member. Its kubelet notices at once, and starts it again after RESTARTS_AFTER_MS. */
  kill(address: string): void {
    const sandbox = [...this.#sandboxes.values()].find((each) => each.address === address);
    if (sandbox !== undefined) void this.#crash(sandbox.pod.metadata.uid, "it was killed");
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#pods.stop(), this.#claims.stop(), this.#secrets.stop()]);
  }

  #look({ type, object: pod }: Change<Pod>): void {
    const { uid, deletionTimestamp } = pod.metadata;
    const known = this.#sandboxes.get(uid);
    if (type === "deleted") {
      if (known !== undefined) this.#forget(known);
      return;
    }
    if (known === undefined) return void this.#try("a new pod", () => this.#run(pod));
    known.pod = pod;
    if (deletionTimestamp === undefined || known.isEnding) return;
    known.isEnding = true;
    void this.#try("the end of a pod", () => this.#end(known));
  }

  async #bindClaim({ type, object }: Change<PersistentVolumeClaim>): Promise<void> {
    const { metadata, spec } = object;
    if (type !== "added" || spec?.volumeName !== undefined) return;
    const volumeName = `pvc-${metadata.uid}`;
    const bound = { metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } }, spec: { volumeName } };
    await this.#kube.patch(PERSISTENT_VOLUME_CLAIMS, metadata, bound, { ...OPTIONS, type: "merge" });
    const status = { phase: "Bound", accessModes: spec?.accessModes, capacity: spec?.resources?.requests };
    const options = { ...OPTIONS, type: "merge", subresource: "status" } as const;
    await this.#kube.patch(PERSISTENT_VOLUME_CLAIMS, metadata, { status }, options);
  }

  async #run(pod: Pod): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const address = addressAt(this.#addresses++);
    const sandbox: Sandbox = { pod, address, state: undefined, restarts: 0, isEnding: false, isGone: false };
    this.#sandboxes.set(uid, sandbox);
    await sleep(BINDS_AFTER_MS);
    const target = { apiVersion: "v1", kind: "Node", name: `node-${this.#addresses % NODES}` };
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace }, target };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
    await this.#kube.raw("POST", path, { ...OPTIONS, body: binding });
    await sleep(RUNS_AFTER_MS);
    await this.#start(sandbox);
  }

  /** Starts the pod's etcd, again and again while it ends at once. */
  async #start(sandbox: Sandbox): Promise<void> {
    for (;;) {
      if (sandbox.isEnding || sandbox.isGone) return;
      const failure = this.members.start(sandbox.pod, sandbox.address, this.#diskOf(sandbox.pod));
      if (failure === undefined) break;
      await this.#write(sandbox, { is: "crashed", message: failure });
      await sleep(RESTARTS_AFTER_MS);
      sandbox.restarts += 1;
    }
    const startedAt = rfc3339(Date.now());
    await this.#write(sandbox, { is: "running", startedAt, isReady: false });
    while (!this.members.serves(sandbox.address)) {
      await sleep(PROBE_MS);
      if (sandbox.isEnding || sandbox.isGone || sandbox.state?.is !== "running") return;
    }
    await this.#write(sandbox, { is: "running", startedAt, isReady: true });
  }

  async #crash(podUid: string, message: string): Promise<void> {
    await this.#try("a crash", async () => {
      const sandbox = this.#sandboxes.get(podUid);
      if (sandbox === undefined || sandbox.isEnding) return;
      this.members.stop(podUid, sandbox.address);
      await this.#write(sandbox, { is: "crashed", message });
      await sleep(RESTARTS_AFTER_MS);
      sandbox.restarts += 1;
      await this.#start(sandbox);
    });
  }

  async #end(sandbox: Sandbox): Promise<void> {
    await sleep(ENDS_AFTER_MS);
    this.#forget(sandbox);
    const { metadata } = sandbox.pod;
    const preconditions = { uid: metadata.uid };
    await this.#kube.delete(PODS, metadata, { ...OPTIONS, preconditions, gracePeriodSeconds: 0 });
  }

  #forget(sandbox: Sandbox): void {
    sandbox.isEnding = true;
    sandbox.isGone = true;
    this.members.stop(sandbox.pod.metadata.uid, sandbox.address);
    this.#sandboxes.delete(sandbox.pod.metadata.uid);
  }

  #diskOf({ metadata, spec }: Pod): Disk {
    const name = spec?.volumes?.find((volume) => volume.name === DATA_VOLUME)?.persistentVolumeClaim?.claimName ?? "";
    const claim = this.#claims.get({ namespace: metadata.namespace, name });
    if (claim === undefined) throw new Error(`Pod ${metadata.name} runs without its claim ${name}.`);
    const { uid } = claim.metadata;
    const disk = this.#disks.get(uid) ?? { id: uid, data: undefined, heldBy: undefined };
    this.#disks.set(uid, disk);
    return disk;
  }

  async #write(sandbox: Sandbox, state: ContainerState): Promise<void> {
    sandbox.state = state;
    const { pod, address, restarts } = sandbox;
    const status = podStatus(pod, address, state, restarts, rfc3339(Date.now()));
    await this.#kube.patch(PODS, pod.metadata, { status }, { ...OPTIONS, type: "merge", subresource: "status" });
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      // The object was deleted or changed in between.
      if (this.#stop.signal.aborted || hasCode(thrown, "KubeNotFound", "KubeConflict")) return;
      this.#failures.push(`${what}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  }
}

/** Range of the pods' addresses, for which the namespace has a route (fleet.ts). */
export const POD_ADDRESSES = "10.128.0.0/9";

function addressAt(n: number): string {
  const host = n + 1; // the first one is the network's own
  return `10.${128 + (host >> 16)}.${(host >> 8) & 0xff}.${host & 0xff}`;
}
