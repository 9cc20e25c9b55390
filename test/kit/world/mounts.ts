import { PODS, type Pod, SECRETS, type Secret } from "#kube/kinds.ts";
import type { ApiServer } from "./api.ts";
import { isOver } from "./containers.ts";
import { secretsIn } from "./tls.ts";

/**
 * The longest time between two syncs of a pod, at which the kubelet updates its Secrets: `syncFrequency`, and
 * https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
 */
const SYNC_MS = 90_000;

interface Mount {
  readonly secret: Secret;
  /** Offset of the pod's syncs. */
  readonly phase: number;
  /** Number of the sync at which the Secret was last updated. */
  readonly turn: number;
  /**
   * Whether the content comes from the kubelet's cache for another pod, and not from the API server. Then the next sync
   * updates it, even on a slow node.
   */
  readonly isKept: boolean;
}

interface Bringer {
  readonly bringsFromMs: number;
}

/**
 * Secrets mounted in pods. A mounted Secret stays unchanged while the kubelet cannot update it, and after the Secret is
 * deleted.
 */
export class Mounts {
  readonly #mounts = new Map<string, Mount>();
  readonly #api: ApiServer;
  readonly #nowMs: () => number;
  readonly #nodeOf: (pod: Pod) => Bringer | undefined;

  /** @param nodeOf the node of a pod, if its kubelet runs and can reach the API server */
  constructor(api: ApiServer, nowMs: () => number, nodeOf: (pod: Pod) => Bringer | undefined) {
    this.#api = api;
    this.#nowMs = nowMs;
    this.#nodeOf = nodeOf;
  }

  /**
   * Mounts the Secrets of a pod that is about to start.
   * @returns why that is impossible: `MountVolume.SetUp failed`
   */
  prepare(pod: Pod): string | undefined {
    const { uid, namespace = "" } = pod.metadata;
    for (const name of secretsIn(pod)) {
      const key = `${uid}/${name}`;
      if (this.#mounts.has(key)) continue;
      const secret = this.#whole(namespace, name);
      if (secret === undefined) return `secret "${name}" not found`;
      const kept = this.#keptFor(pod, namespace, name);
      const phase = phaseOf(uid);
      const turn = turnOf(phase, this.#nowMs());
      this.#mounts.set(key, { secret: kept ?? secret, phase, turn, isKept: kept !== undefined });
    }
    return undefined;
  }

  /**
   * The kubelet's cached Secret of another pod on the node, which it may mount into this pod, too. For an ended pod it
   * has no cache: `SyncTerminatedPod` in pkg/kubelet/kubelet.go.
   */
  #keptFor(pod: Pod, namespace: string, name: string): Secret | undefined {
    const node = this.#nodeOf(pod);
    const others = this.#api.list(PODS).filter((each) => {
      const isBeside = node !== undefined && this.#nodeOf(each) === node;
      return (
        isBeside && !isOver(each) && each.metadata.uid !== pod.metadata.uid && each.metadata.namespace === namespace
      );
    });
    return others.map((each) => this.of(each, name)).find((each) => each !== undefined);
  }

  /** The content that the pod has of the Secret now. The first call after a sync is due performs it. */
  of({ metadata: { uid, namespace = "" } }: Pod, name: string): Secret | undefined {
    const key = `${uid}/${name}`;
    const mount = this.#mounts.get(key);
    if (mount === undefined) return undefined;
    const nowMs = this.#nowMs();
    const { phase } = mount;
    const turn = turnOf(phase, nowMs);
    if (turn === mount.turn) return mount.secret;
    const pod = this.#api.byUid(PODS, uid);
    const node = pod && this.#nodeOf(pod);
    if (node === undefined || (nowMs < node.bringsFromMs && !mount.isKept)) return mount.secret;
    const secret = this.#whole(namespace, name) ?? mount.secret;
    this.#mounts.set(key, { secret, phase, turn, isKept: false });
    return secret;
  }

  /** Whether a mounted Secret differs from the live one, and will be updated. */
  isBehind(): boolean {
    return this.#api.list(PODS).some((pod) =>
      secretsIn(pod).some((name) => {
        const mounted = this.#mounts.get(`${pod.metadata.uid}/${name}`)?.secret;
        const live = this.#whole(pod.metadata.namespace ?? "", name);
        return mounted !== undefined && live !== undefined && mounted !== live && this.#nodeOf(pod) !== undefined;
      }),
    );
  }

  /** The node has restarted: the pod's mounts are gone. */
  forget({ metadata: { uid } }: Pod): void {
    for (const key of [...this.#mounts.keys()]) if (key.startsWith(`${uid}/`)) this.#mounts.delete(key);
  }

  /** A Secret without the keys that a pod mounts counts as missing. */
  #whole(namespace: string, name: string): Secret | undefined {
    const found = this.#api.find(SECRETS, { namespace, name });
    return found?.data?.["tls.crt"] === undefined || found.data["tls.key"] === undefined ? undefined : found;
  }
}

/**
 * Number of the pod's sync at this time.
 * @param phase offset of the pod's syncs
 */
function turnOf(phase: number, ms: number): number {
  return Math.floor((ms + phase) / SYNC_MS);
}

function phaseOf(uid: string): number {
  let phase = 0;
  for (let at = 0; at < uid.length; at++) phase += uid.charCodeAt(at) * 977;
  return phase;
}
