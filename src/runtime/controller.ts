import type { Observed } from "#base/observed.ts";
import { type AnyResource, controllerOf, type KubeObject, type Ref, type Resource } from "#kube/kinds.ts";
import type { Plan, Resting } from "#runtime/decide.ts";
import type { Stage } from "#runtime/urgency.ts";

/** The object that a pass is about. */
export interface Key {
  readonly namespace: string;
  readonly name: string;
}

export function keyText(key: Key): string {
  return `${key.namespace}/${key.name}`;
}

/**
 * Key of the object that a label names.
 * @param owner kind of that object: without the label, the controller of this kind is taken
 */
export function keysNamedBy(object: KubeObject, label: string, owner?: AnyResource): readonly Key[] {
  const { namespace, labels } = object.metadata;
  const controller = controllerOf(object);
  const name =
    labels?.[label] ?? (owner !== undefined && controller?.kind === owner.kind ? controller.name : undefined);
  return name === undefined || namespace === undefined ? [] : [{ namespace, name }];
}

/**
 * The result of a write, as the API server answered it. The next pass of the key waits until the cache shows it.
 * `external` marks a change outside the API server (an etcd call), `unwatched` an object without a cache: neither is
 * waited for.
 */
export type Written =
  | { readonly kind: "stored"; readonly resource: Resource<KubeObject>; readonly object: KubeObject }
  | { readonly kind: "deleted"; readonly resource: Resource<KubeObject>; readonly ref: Ref; readonly uid: string }
  | { readonly kind: "unwatched"; readonly object: KubeObject }
  | { readonly kind: "external" };

/**
 * The part of a cache that observing needs. Reading an object that was too large to cache throws ObjectTooLarge, unless
 * `known` asks for its remaining metadata.
 */
export interface CacheView<T> {
  get(ref: Ref, reading?: "known"): T | undefined;
  byIndex(index: string, value: string): readonly T[];
}

/**
 * Reason of the conditions while every pass of an object fails: an unexpected error, or an object that is too large.
 */
export type FailingReason = "InternalError" | "ObjectTooLarge";

/**
 * How a step ended. `conflict` is normal: the object has changed since the snapshot. `notNow` is normal too: etcd asked
 * for a later retry.
 */
export type Outcome =
  | { readonly is: "notTried" }
  | { readonly is: "done" }
  | { readonly is: "conflict"; readonly why: string }
  | { readonly is: "notNow"; readonly why: string }
  | { readonly is: "failed"; readonly code: string; readonly why: string };

/** The object that an event is attached to: the one that the user looks at. */
export interface Subject {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}

/**
 * One controller. Only `observe`, `quickCheck`, `act` and the two write methods do I/O; `plan` and `status` are pure.
 * The pass (pass.ts) is the only caller.
 */
export interface Controller<Snapshot, Step extends { readonly do: string }, Status> {
  readonly name: string;
  /**
   * How far the object has come, judged by the cache. Objects that are nearly done are scheduled first. Default:
   * settled.
   */
  stageOf?(key: Key): Stage;
  /**
   * A cheap check of an object at rest, which reads little and decides nothing.
   * @returns milliseconds until the next check; undefined: a full pass is needed. Default: always a full pass.
   */
  quickCheck?(key: Key, signal: AbortSignal): Promise<number | undefined>;
  /**
   * At start, the first passes of settled objects are spaced by this many milliseconds, so that less urgent controllers
   * leave room for others.
   * Default: all at once.
   */
  readonly firstLooksApartMs?: number;
  /**
   * Reads only. `absent`: the object is gone, so there is nothing to do. `unknown`: it could not be observed, so retry
   * later.
   */
  observe(key: Key, signal: AbortSignal): Promise<Observed<Snapshot>>;
  /** @param resting reports which steps must not be retried yet */
  plan(snapshot: Snapshot, resting: Resting<Step>): Plan<Step>;
  /**
   * What the step changes and into what, in a few words. Two steps with equal words count as two tries of the same
   * step.
   */
  target(step: Step): string;
  /** Exactly one write, with its precondition. */
  act(step: Step, snapshot: Snapshot, signal: AbortSignal): Promise<Written>;
  /** Computes the status. Called only when no step was tried, or when the step succeeded. */
  status(snapshot: Snapshot, plan: Plan<Step>): Status;
  /** Writes the status if it differs from the stored one; `undefined` when nothing had to be written. */
  writeStatus(snapshot: Snapshot, status: Status, signal: AbortSignal): Promise<Written | undefined>;
  subject(snapshot: Snapshot): Subject;
  /** The event target for an object with failing passes; `undefined` when the object is gone. */
  subjectOf(key: Key): Subject | undefined;
  /**
   * Reports on the object that its passes fail, until the next status is written; `undefined` when the object already
   * has that report.
   * @param reason reason of its conditions; default: InternalError
   */
  writeFailing(key: Key, because: string, signal: AbortSignal, reason?: FailingReason): Promise<Written | undefined>;
  /**
   * Whether a step is only logged and counted, without an event. Every object takes such steps, and the user has
   * nothing to do about them.
   */
  isRoutine?(rule: string, step: Step, snapshot: Snapshot): boolean;
  /** Milliseconds until the next pass of a settled object, when no event comes first. */
  restMs(snapshot: Snapshot, plan: Plan<Step>): number;
}
