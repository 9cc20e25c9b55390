import { isDeepStrictEqual } from "node:util";
import { ETCD_CLUSTERS } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS, type EtcdPeerSpec } from "#api/v1alpha1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { Preconditions } from "#kube/client.ts";
import {
  type AnyResource,
  type Draft,
  type KubeObject,
  keyOf,
  type ObjectMeta,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  type Ref,
  type Resource,
  SERVICES,
} from "#kube/kinds.ts";
import type { Random } from "./world-random.ts";

/** Every kind that the world has. */
export const WORLD_KINDS: readonly AnyResource[] = [
  ETCD_CLUSTERS,
  ETCD_PEERS,
  SERVICES,
  POD_DISRUPTION_BUDGETS,
  PERSISTENT_VOLUME_CLAIMS,
  REPLICA_SETS,
  PODS,
];

/** Who writes: the operator under test, a person, or one of Kubernetes' own controllers. */
export type Actor = "operator" | "person" | "kubernetes";

export interface ApiWrite {
  readonly actor: Actor;
  readonly verb: "create" | "replace" | "replaceStatus" | "patch" | "delete" | "remove";
  readonly resource: AnyResource;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

/** A line of a kind's history, in order; `previous` tells a watch with a selector what left the selection. */
export interface LogLine {
  readonly version: number;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  readonly isDeletion: boolean;
}

interface Anything extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The claim stays until no pod uses it: https://kubernetes.io/docs/concepts/storage/persistent-volumes/ */
export const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";
/** The object stays until the garbage collector has taken what it owns. */
export const FOREGROUND = "foregroundDeletion";

/**
 * What admission does to the writes of everybody but people, by plural of the kind. A quota refuses creates only; a webhook may
 * refuse every write, or undo it on its way: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
 */
export type Admission = "quotaExceeded" | "denied" | "undone";

/** Objects, versions, preconditions and deletion as the API server has them. What it hands out is never changed afterwards. */
export class ApiServer {
  version = 100;
  readonly admission = new Map<string, Admission>();
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #logs = new Map<string, LogLine[]>();
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #onWrite: (write: ApiWrite) => void;
  #uids = 0;

  constructor(options: { random: Random; nowMs: () => number; onWrite: (write: ApiWrite) => void }) {
    this.#random = options.random;
    this.#nowMs = options.nowMs;
    this.#onWrite = options.onWrite;
    for (const { plural } of WORLD_KINDS) {
      this.#tables.set(plural, new Map());
      this.#logs.set(plural, []);
    }
  }

  list<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    return [...this.#table(resource).values()] as T[];
  }

  find<T extends KubeObject>(resource: Resource<T>, ref: Ref): T | undefined {
    return this.#table(resource).get(keyOf(ref)) as T | undefined;
  }

  byUid<T extends KubeObject>(resource: Resource<T>, uid: string | undefined): T | undefined {
    for (const object of this.#table(resource).values()) if (object.metadata.uid === uid) return object as T;
    return undefined;
  }

  exists(uid: string): boolean {
    return WORLD_KINDS.some((resource) => this.byUid(resource, uid) !== undefined);
  }

  /** Everything that happened to the kind, oldest first. */
  log(resource: AnyResource): readonly LogLine[] {
    return this.#logs.get(resource.plural) ?? [];
  }

  create<T extends KubeObject>(actor: Actor, resource: Resource<T>, draft: Draft<T>): T {
    const key = keyOf(draft);
    if (this.#table(resource).has(key))
      throw new OperatorError("KubeAlreadyExists", `${resource.plural} "${key}" already exists`);
    this.#admit(actor, resource, "create");
    this.#uids += 1;
    const { status: _, ...rest } = draft as Partial<Anything>;
    const isClaim = resource.plural === PERSISTENT_VOLUME_CLAIMS.plural;
    const metadata: ObjectMeta = {
      ...draft.metadata,
      uid: `uid-${this.#uids}-${this.#random.below(0x10000).toString(16)}`,
      resourceVersion: "",
      generation: 1,
      creationTimestamp: rfc3339(this.#nowMs()),
      ...(isClaim ? { finalizers: [CLAIM_PROTECTION] } : {}),
    };
    return this.#store(actor, "create", resource, undefined, { ...rest, metadata } as KubeObject) as T;
  }

  /** With uid and resourceVersion as preconditions, as a PUT has them. */
  replace<T extends KubeObject>(actor: Actor, resource: Resource<T>, draft: Draft<T>, subresource?: "status"): T {
    const before = this.#existing(resource, draft.metadata) as Anything;
    this.#require(resource, before, draft.metadata);
    if (subresource === "status") {
      const after = { ...before, status: (draft as Partial<Anything>).status };
      return this.#store(actor, "replaceStatus", resource, before, after) as T;
    }
    this.#admit(actor, resource, "replace");
    if (actor === "operator" && this.admission.get(resource.plural) === "undone") return before as KubeObject as T;
    const spec = (draft as Partial<Anything>).spec;
    validate(resource, before.spec, spec);
    const generation = (before.metadata.generation ?? 0) + (isDeepStrictEqual(spec, before.spec) ? 0 : 1);
    const { uid, creationTimestamp, deletionTimestamp } = before.metadata;
    const kept = {
      uid,
      creationTimestamp,
      generation,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    };
    const after = { ...before, ...draft, status: before.status, metadata: { ...draft.metadata, ...kept } };
    return this.#store(actor, "replace", resource, before, after as KubeObject) as T;
  }

  /** A merge patch of metadata, which is all that is patched here; null takes a key away. */
  patch<T extends KubeObject>(
    actor: Actor,
    resource: Resource<T>,
    ref: Ref,
    patch: { readonly metadata?: Partial<ObjectMeta> },
    preconditions: Preconditions,
  ): T {
    const before = this.#existing(resource, ref);
    this.#require(resource, before, preconditions);
    const { annotations, labels, finalizers } = patch.metadata ?? {};
    const metadata = {
      ...before.metadata,
      ...(annotations === undefined ? {} : { annotations: merged(before.metadata.annotations, annotations) }),
      ...(labels === undefined ? {} : { labels: merged(before.metadata.labels, labels) }),
      ...(finalizers === undefined ? {} : { finalizers }),
    };
    const isReleased = (before.metadata.finalizers ?? []).length > 0 && (metadata.finalizers ?? []).length === 0;
    if (metadata.deletionTimestamp === undefined || !isReleased)
      return this.#store(actor, "patch", resource, before, { ...before, metadata }) as T;
    this.#remove(actor, "patch", resource, before);
    return { ...before, metadata } as T;
  }

  /** A change by somebody who reads right before: no precondition. */
  update<T extends KubeObject>(actor: Actor, resource: Resource<T>, object: T, change: Partial<T>): T {
    const before = this.find(resource, object.metadata);
    if (before === undefined || before.metadata.uid !== object.metadata.uid) return object;
    return this.#store(actor, "replace", resource, before, { ...before, ...change }) as T;
  }

  delete(
    actor: Actor,
    resource: AnyResource,
    ref: Ref,
    options: { preconditions?: Preconditions; isForeground?: boolean } = {},
  ): void {
    const before = this.#existing(resource, ref);
    this.#require(resource, before, options.preconditions ?? {});
    const { metadata } = before;
    const finalizers = [...(metadata.finalizers ?? []), ...(options.isForeground === true ? [FOREGROUND] : [])];
    const runs =
      resource.plural === PODS.plural && (before as { spec?: { nodeName?: string } }).spec?.nodeName !== undefined;
    if (finalizers.length === 0 && !runs) {
      this.#remove(actor, "delete", resource, before);
    } else if (metadata.deletionTimestamp === undefined) {
      const deletionTimestamp = rfc3339(this.#nowMs());
      const after = {
        ...before,
        metadata: { ...metadata, deletionTimestamp, ...(finalizers.length > 0 ? { finalizers } : {}) },
      };
      this.#store(actor, "delete", resource, before, after);
    }
  }

  /** Lets go of a finalizer; the object goes when it was the last one and deletion was asked for. */
  release(resource: AnyResource, object: KubeObject, finalizer: string): void {
    const { metadata } = object;
    const finalizers = (metadata.finalizers ?? []).filter((other) => other !== finalizer);
    if (finalizers.length > 0) this.update("kubernetes", resource, object, { metadata: { ...metadata, finalizers } });
    else this.remove(resource, object);
  }

  /** Takes the object away, whatever holds it: its pod has ended, or its last finalizer is gone. */
  remove(resource: AnyResource, object: KubeObject): void {
    const before = this.find(resource, object.metadata);
    if (before?.metadata.uid === object.metadata.uid) this.#remove("kubernetes", "remove", resource, before);
  }

  /** As the API server says it: 403, which is KubeInvalid when admission said no (src/kube/error.ts). */
  #admit(actor: Actor, { plural }: AnyResource, verb: "create" | "replace"): void {
    const admission = this.admission.get(plural);
    if (actor === "person" || admission === undefined || admission === "undone") return;
    if (admission === "quotaExceeded" && verb !== "create") return;
    const why = admission === "denied" ? "a webhook denied the request" : "exceeded quota";
    throw new OperatorError("KubeInvalid", `${verb} ${plural} is forbidden: ${why}`);
  }

  #table(resource: AnyResource): Map<string, KubeObject> {
    const table = this.#tables.get(resource.plural);
    if (table === undefined) throw new OperatorError("Bug", `the simulated world has no ${resource.plural}`);
    return table;
  }

  #existing(resource: AnyResource, ref: Ref): KubeObject {
    const found = this.#table(resource).get(keyOf(ref));
    if (found === undefined) throw new OperatorError("KubeNotFound", `${resource.plural} "${keyOf(ref)}" not found`);
    return found;
  }

  #require(resource: AnyResource, { metadata }: KubeObject, { uid, resourceVersion }: Preconditions): void {
    const isOther = uid !== undefined && uid !== metadata.uid;
    const isOlder = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion;
    if (isOther || isOlder)
      throw new OperatorError("KubeConflict", `${resource.plural} "${keyOf(metadata)}" has changed`);
  }

  #store(
    actor: Actor,
    verb: ApiWrite["verb"],
    resource: AnyResource,
    before: KubeObject | undefined,
    wanted: KubeObject,
  ): KubeObject {
    const resourceVersion = before?.metadata.resourceVersion ?? "";
    const same = { ...wanted, metadata: { ...wanted.metadata, resourceVersion } };
    if (before !== undefined && isDeepStrictEqual(plain(before), plain(same))) return before;
    this.version += 1;
    const after = frozen({ ...same, metadata: { ...same.metadata, resourceVersion: String(this.version) } });
    this.#table(resource).set(keyOf(after), after);
    this.#logs
      .get(resource.plural)
      ?.push({ version: this.version, object: after, previous: before, isDeletion: false });
    this.#onWrite({ actor, verb, resource, before, after });
    return after;
  }

  #remove(actor: Actor, verb: ApiWrite["verb"], resource: AnyResource, before: KubeObject): void {
    this.version += 1;
    const object = frozen({ ...before, metadata: { ...before.metadata, resourceVersion: String(this.version) } });
    this.#table(resource).delete(keyOf(before));
    this.#logs.get(resource.plural)?.push({ version: this.version, object, previous: before, isDeletion: true });
    this.#onWrite({ actor, verb, resource, before, after: undefined });
  }
}

/** The CEL rules of the EtcdPeer that the world relies on; see src/api/v1alpha1/peer.ts. */
function validate(resource: AnyResource, before: unknown, after: unknown): void {
  if (resource.plural !== ETCD_PEERS.plural) return;
  const [old, next] = [before, after] as [EtcdPeerSpec, EtcdPeerSpec];
  const isGivenBack = next.bootstrap !== undefined && old.bootstrap === undefined;
  if (isGivenBack || next.clusterName !== old.clusterName || !isDeepStrictEqual(next.storage, old.storage))
    throw new OperatorError("KubeInvalid", "EtcdPeer: a rule of its schema forbids this change");
}

function merged(
  before: Readonly<Record<string, string>> | undefined,
  patch: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const all = Object.entries({ ...before, ...patch });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Without keys that hold undefined: JSON has none. */
function plain(object: object): unknown {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
