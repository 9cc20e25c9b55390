import { PODS, type Pod, SECRETS, type Secret } from "#kube/kinds.ts";
import type { ApiServer } from "./world-api.ts";
import { isOver } from "./world-containers.ts";
import { secretsIn } from "./world-tls.ts";

/**
 * The kubelet looks at each pod once in a minute and a half at the latest, and brings what is in a Secret by then into it: `syncFrequency`, and
 * https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod
 */
const SYNC_MS = 90_000;

interface Mount {
  readonly secret: Secret;
  /** Of its pod. */
  readonly phase: number;
  /** In which look of the kubelet at the pod it was brought. */
  readonly turn: number;
  /** Whether it is what the kubelet had for another pod, and not what was there: that it comes to see soon, however rarely it looks. */
  readonly isKept: boolean;
}

interface Bringer {
  readonly bringsFromMs: number;
}

/** Secrets in pods. What is there stays as it is while nobody can look, or when the Secret is gone. */
export class Mounts {
  readonly #mounts = new Map<string, Mount>();
  readonly #api: ApiServer;
  readonly #nowMs: () => number;
  readonly #nodeOf: (pod: Pod) => Bringer | undefined;

  /** @param nodeOf the node of a pod, while its kubelet runs and hears what the API server says */
  constructor(api: ApiServer, nowMs: () => number, nodeOf: (pod: Pod) => Bringer | undefined) {
    this.#api = api;
    this.#nowMs = nowMs;
    this.#nodeOf = nodeOf;
  }

  /** Brings its Secrets into a pod that is to start. @returns why that cannot be: `MountVolume.SetUp failed` */
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
   * What the kubelet has of the Secret for another pod, which it may give to this one as well. For a pod that is over it has nothing any more:
   * `SyncTerminatedPod` in pkg/kubelet/kubelet.go.
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

  /** What the pod has of the Secret by now. Who asks first makes the kubelet look, whose turns are minutes long. */
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

  /** Whether some pod has something else than its Secret says, and will have that. */
  isBehind(): boolean {
    return this.#api.list(PODS).some((pod) =>
      secretsIn(pod).some((name) => {
        const mounted = this.#mounts.get(`${pod.metadata.uid}/${name}`)?.secret;
        const live = this.#whole(pod.metadata.namespace ?? "", name);
        return mounted !== undefined && live !== undefined && mounted !== live && this.#nodeOf(pod) !== undefined;
      }),
    );
  }

  /** The node has restarted: what was brought into the pod is gone. */
  forget({ metadata: { uid } }: Pod): void {
    for (const key of [...this.#mounts.keys()]) if (key.startsWith(`${uid}/`)) this.#mounts.delete(key);
  }

  /** A Secret that lacks what a pod asks for is as good as none. */
  #whole(namespace: string, name: string): Secret | undefined {
    const found = this.#api.find(SECRETS, { namespace, name });
    return found?.data?.["tls.crt"] === undefined || found.data["tls.key"] === undefined ? undefined : found;
  }
}

/** Which look of the kubelet at this pod the time belongs to. @param phase of the pod */
function turnOf(phase: number, ms: number): number {
  return Math.floor((ms + phase) / SYNC_MS);
}

function phaseOf(uid: string): number {
  let phase = 0;
  for (let at = 0; at < uid.length; at++) phase += uid.charCodeAt(at) * 977;
  return phase;
}
