import { versionSchema } from "#api/common-schema.ts";
import { GROUP } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { type KnownObject, OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { Preconditions } from "#kube/client.ts";
import {
  type AnyResource,
  CONFIG_MAPS,
  type Draft,
  JOBS,
  type KubeObject,
  keyOf,
  NETWORK_POLICIES,
  type ObjectMeta,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  type Ref,
  type ReplicaSet,
  type Resource,
  SECRETS,
  SERVICES,
  type Service,
} from "#kube/kinds.ts";
import { isOver } from "./containers.ts";
import type { Random } from "./random.ts";
import { allocated, poolOf, whyNotService } from "./services.ts";

/** Every kind of object in the simulation. */
export const WORLD_KINDS: readonly AnyResource[] = [
  ETCD_CLUSTERS,
  ETCD_PEERS,
  SERVICES,
  POD_DISRUPTION_BUDGETS,
  PERSISTENT_VOLUME_CLAIMS,
  REPLICA_SETS,
  PODS,
  SECRETS,
  CONFIG_MAPS,
  // The simulation has no objects of these kinds, but the operator's caches list them.
  ETCD_BACKUPS,
  ETCD_BACKUP_SCHEDULES,
  ETCD_RESTORES,
  JOBS,
  NETWORK_POLICIES,
  ETCD_ROLES,
  ETCD_USERS,
];

/** The author of a write: the operator under test, a person, or one of Kubernetes' own controllers. */
export type Actor = "operator" | "person" | "kubernetes";

export interface ApiWrite {
  readonly actor: Actor;
  readonly verb: "create" | "replace" | "replaceStatus" | "patch" | "delete" | "remove";
  readonly resource: AnyResource;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

/**
 * A line of a kind's history. `previous` is the object before the change, for watches with a selector that no longer
 * matches.
 */
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

/**
 * The finalizer that keeps a claim until no pod uses it:
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/
 */
export const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";
/** The finalizer that keeps an object until the garbage collector has deleted its dependents. */
export const FOREGROUND = "foregroundDeletion";

/**
 * What admission does to writes, by plural of the kind; writes of people are exempt. A quota refuses creates only. A
 * webhook may refuse every write, or undo its change:
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
 */
export type Admission = "quotaExceeded" | "denied" | "undone";

/**
 * Objects, versions, preconditions and deletion as in the API server. Objects that it returns are never changed
 * afterwards.
 */
export class ApiServer {
  version = 100;
  readonly admission = new Map<string, Admission>();
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #logs = new Map<string, LogLine[]>();
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #onWrite: (write: ApiWrite) => void;
  /** Objects that are stored without a status: the API server answers with the default of the CRD (src/api/crd.ts). */
  readonly #withoutStatus = new WeakSet<KubeObject>();
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
    const spec = filled(resource, rest.spec, undefined, this.version);
    validate(resource, undefined, spec.spec);
    const isClaim = resource.plural === PERSISTENT_VOLUME_CLAIMS.plural;
    const metadata: ObjectMeta = {
      ...draft.metadata,
      uid: `uid-${this.#uids}-${this.#random.below(0x10000).toString(16)}`,
      resourceVersion: "",
      generation: 1,
      creationTimestamp: rfc3339(this.#nowMs()),
      ...(isClaim ? { finalizers: [CLAIM_PROTECTION] } : {}),
    };
    const status = resource.group === GROUP ? { status: { observedGeneration: 0 } } : {};
    const object = { ...rest, ...spec, ...status, metadata } as KubeObject;
    const made = this.#store(actor, "create", resource, undefined, object);
    if (resource.group === GROUP) this.#withoutStatus.add(made);
    return made as T;
  }

  /** A PUT, with uid and resourceVersion as preconditions. */
  replace<T extends KubeObject>(actor: Actor, resource: Resource<T>, draft: Draft<T>, subresource?: "status"): T {
    const before = this.#existing(resource, draft.metadata, draft.metadata) as Anything;
    this.#require(resource, before, draft.metadata);
    if (subresource === "status") {
      const after = { ...before, status: (draft as Partial<Anything>).status };
      return this.#store(actor, "replaceStatus", resource, before, after) as T;
    }
    this.#admit(actor, resource, "replace");
    if (actor === "operator" && this.admission.get(resource.plural) === "undone") return before as KubeObject as T;
    const { spec } = filled(resource, (draft as Partial<Anything>).spec, before.spec, this.version);
    validate(resource, before.spec, spec);
    const generation = (before.metadata.generation ?? 0) + (isSameData(spec, before.spec) ? 0 : 1);
    const { uid, creationTimestamp, deletionTimestamp } = before.metadata;
    const kept = {
      uid,
      creationTimestamp,
      generation,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    };
    const after = { ...before, ...draft, spec, status: before.status, metadata: { ...draft.metadata, ...kept } };
    return this.#change(actor, "replace", resource, before, after as KubeObject) as T;
  }

  /** A merge patch of metadata, the only kind of patch supported here; null removes a key. */
  patch<T extends KubeObject>(
    actor: Actor,
    resource: Resource<T>,
    ref: Ref,
    patch: { readonly metadata?: Partial<ObjectMeta> },
    preconditions: Preconditions,
  ): T {
    const before = this.#existing(resource, ref, preconditions);
    this.#require(resource, before, preconditions);
    const { annotations, labels, finalizers } = patch.metadata ?? {};
    const metadata = {
      ...before.metadata,
      ...(annotations === undefined ? {} : { annotations: merged(before.metadata.annotations, annotations) }),
      ...(labels === undefined ? {} : { labels: merged(before.metadata.labels, labels) }),
      ...(finalizers === undefined ? {} : { finalizers }),
    };
    return this.#change(actor, "patch", resource, before, { ...before, metadata }) as T;
  }

  /** A change without precondition, by an actor that has just read the object. */
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
    const before = this.#existing(resource, ref, options.preconditions);
    this.#require(resource, before, options.preconditions ?? {});
    const { metadata } = before;
    const finalizers = [...(metadata.finalizers ?? []), ...(options.isForeground === true ? [FOREGROUND] : [])];
    // CheckGracefulDelete in pkg/registry/core/pod/strategy.go
    const runs =
      resource.plural === PODS.plural && (before as Pod).spec?.nodeName !== undefined && !isOver(before as Pod);
    if (finalizers.length === 0 && !runs) {
      this.#remove(actor, "delete", resource, before);
    } else if (metadata.deletionTimestamp === undefined) {
      const deletionTimestamp = rfc3339(this.#nowMs());
      const generation = (metadata.generation ?? 0) + 1;
      const after = { ...before, metadata: { ...metadata, deletionTimestamp, generation, finalizers } };
      this.#store(actor, "delete", resource, before, after);
    }
  }

  /** Removes a finalizer. The object is removed if it was the last one and deletion was requested. */
  release(resource: AnyResource, object: KubeObject, finalizer: string): void {
    const { metadata } = object;
    const finalizers = (metadata.finalizers ?? []).filter((other) => other !== finalizer);
    if (finalizers.length > 0) this.update("kubernetes", resource, object, { metadata: { ...metadata, finalizers } });
    else this.remove(resource, object);
  }

  /** Removes the object despite its finalizers: its pod has ended, or its last finalizer is gone. */
  remove(resource: AnyResource, object: KubeObject): void {
    const before = this.find(resource, object.metadata);
    if (before?.metadata.uid === object.metadata.uid) this.#remove("kubernetes", "remove", resource, before);
  }

  /** The reason why admission refuses such a write; `undefined` when the write is allowed. */
  refusal(actor: Actor, { plural }: AnyResource, verb: "create" | "replace"): string | undefined {
    const admission = this.admission.get(plural);
    if (actor === "person" || admission === undefined || admission === "undone") return undefined;
    if (admission === "quotaExceeded" && verb !== "create") return undefined;
    const why = admission === "denied" ? "a webhook denied the request" : "exceeded quota";
    return `${verb} ${plural} is forbidden: ${why}`;
  }

  /**
   * Throws as the API server does: 403, which becomes KubeInvalid when admission refused the write (src/kube/error.ts).
   */
  #admit(actor: Actor, resource: AnyResource, verb: "create" | "replace"): void {
    const refusal = this.refusal(actor, resource, verb);
    if (refusal !== undefined) throw new OperatorError("KubeInvalid", refusal);
  }

  #table(resource: AnyResource): Map<string, KubeObject> {
    const table = this.#tables.get(resource.plural);
    if (table === undefined) throw new OperatorError("Bug", `the simulated world has no ${resource.plural}`);
    return table;
  }

  #existing(resource: AnyResource, ref: Ref, preconditions: Preconditions = {}): KubeObject {
    const found = this.#table(resource).get(keyOf(ref));
    if (found !== undefined) return found;
    const known = asKnown(resource, ref, preconditions);
    throw new OperatorError("KubeNotFound", `${resource.plural} "${keyOf(ref)}" not found`, { known });
  }

  #require(resource: AnyResource, { metadata }: KubeObject, preconditions: Preconditions): void {
    const { uid, resourceVersion } = preconditions;
    const isOther = uid !== undefined && uid !== metadata.uid;
    const isOlder = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion;
    if (!isOther && !isOlder) return;
    const known = asKnown(resource, metadata, preconditions);
    throw new OperatorError("KubeConflict", `${resource.plural} "${keyOf(metadata)}" has changed`, { known });
  }

  /** An object that is being deleted accepts no new finalizers, and is removed with its last one. */
  #change(
    actor: Actor,
    verb: "replace" | "patch",
    resource: AnyResource,
    before: KubeObject,
    after: KubeObject,
  ): KubeObject {
    const { deletionTimestamp, finalizers: old = [], resourceVersion } = before.metadata;
    const { finalizers = [] } = after.metadata;
    if (deletionTimestamp !== undefined && finalizers.some((each) => !old.includes(each)))
      throw new OperatorError("KubeInvalid", "no new finalizers can be added if the object is being deleted");
    if (deletionTimestamp === undefined || old.length === 0 || finalizers.length > 0)
      return this.#store(actor, verb, resource, before, after);
    this.#remove(actor, verb, resource, before);
    return { ...after, metadata: { ...withoutNone(after.metadata), resourceVersion } };
  }

  #store(
    actor: Actor,
    verb: ApiWrite["verb"],
    resource: AnyResource,
    before: KubeObject | undefined,
    wanted: KubeObject,
  ): KubeObject {
    // The first write stores the default of the status, so it is a change.
    const isStored = before !== undefined && !this.#withoutStatus.has(before);
    if (isStored && isSameData(before, wanted)) return before;
    const resourceVersion = before?.metadata.resourceVersion ?? "";
    const { managedFields } = before?.metadata ?? {};
    const kept = { resourceVersion, ...(managedFields === undefined ? {} : { managedFields }) };
    const same = { ...wanted, metadata: { ...withoutNone(wanted.metadata), ...kept } };
    if (isStored && isSameData(before, same)) return before;
    this.version += 1;
    const written = { resourceVersion: String(this.version), ...this.#managed(actor, resource, before) };
    const after = frozen({ ...same, metadata: { ...same.metadata, ...written } });
    this.#table(resource).set(keyOf(after), after);
    this.#logs
      .get(resource.plural)
      ?.push({ version: this.version, object: after, previous: before, isDeletion: false });
    this.#onWrite({ actor, verb, resource, before, after });
    return after;
  }

  /**
   * Managers of a Secret and the times of their writes. Other kinds have none here, because no code under test reads
   * them.
   */
  #managed(manager: Actor, { plural }: AnyResource, before: KubeObject | undefined): Pick<ObjectMeta, "managedFields"> {
    if (plural !== SECRETS.plural) return {};
    const others = (before?.metadata.managedFields ?? []).filter((each) => each.manager !== manager);
    return { managedFields: [...others, { manager, time: rfc3339(this.#nowMs()) }] };
  }

  #remove(actor: Actor, verb: ApiWrite["verb"], resource: AnyResource, before: KubeObject): void {
    this.version += 1;
    const object = frozen({ ...before, metadata: { ...before.metadata, resourceVersion: String(this.version) } });
    this.#table(resource).delete(keyOf(before));
    this.#logs.get(resource.plural)?.push({ version: this.version, object, previous: before, isDeletion: true });
    this.#onWrite({ actor, verb, resource, before, after: undefined });
  }
}

function asKnown({ plural }: AnyResource, { namespace, name }: Ref, preconditions: Preconditions): KnownObject {
  return { plural, namespace, name, uid: preconditions.uid, resourceVersion: preconditions.resourceVersion };
}

/**
 * Enforces the schemas, as far as the operator could violate them.
 * @param before undefined for a create
 */
function validate(resource: AnyResource, before: unknown, after: unknown): void {
  const why = resource.plural === SERVICES.plural ? whyNotService(after as object, before as object) : undefined;
  if (why !== undefined) throw new OperatorError("KubeInvalid", `Service: ${why}`);
  if (isForbidden(resource, before, after))
    throw new OperatorError("KubeInvalid", `${resource.kind}: a rule of its schema forbids this`);
}

function isForbidden({ plural }: AnyResource, before: unknown, after: unknown): boolean {
  if (plural === ETCD_PEERS.plural) return isForbiddenPeer(before as EtcdPeerSpec | undefined, after as EtcdPeerSpec);
  if (plural !== REPLICA_SETS.plural || before === undefined) return false;
  const [old, next] = [before, after] as ReplicaSet["spec"][]; // immutable: ValidateReplicaSetUpdate in pkg/apis/apps/validation
  return !isSameData(next?.selector, old?.selector);
}

/** The CEL rules in src/api/v1beta1/peer-schema.ts. */
function isForbiddenPeer(before: EtcdPeerSpec | undefined, after: EtcdPeerSpec): boolean {
  if (!VERSION.test(after.version)) return true;
  if (before === undefined) return false;
  const isGivenBack = after.bootstrap !== undefined && before.bootstrap === undefined;
  return isGivenBack || !isSameData(fixedIn(after), fixedIn(before));
}

function fixedIn({ clusterName, storage }: EtcdPeerSpec): object {
  return { clusterName, storage };
}

/** The regular expression in the CEL rule for versions. */
const VERSION = new RegExp(/matches\('(.+)'\)/.exec(JSON.stringify(versionSchema.meta()))?.[1] ?? "no rule");

/** @param serial a different number for each write */
function filled({ plural }: AnyResource, spec: unknown, before: unknown, serial: number): { spec?: unknown } {
  if (plural !== SERVICES.plural) return spec === undefined ? {} : { spec };
  return { spec: allocated(spec as Service["spec"], before as Service["spec"], poolOf(serial)) };
}

function merged(
  before: Readonly<Record<string, string>> | undefined,
  patch: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const all = Object.entries({ ...before, ...patch });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Empty labels, annotations and finalizers are left out when the object is stored. */
function withoutNone<T extends Partial<ObjectMeta>>(metadata: T): T {
  const isNone = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const some = Object.entries(metadata).filter(([, value]) => value !== undefined && !isNone(value));
  return Object.fromEntries(some) as T;
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
