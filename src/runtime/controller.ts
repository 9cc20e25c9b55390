import type { Observed } from "#base/observed.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
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
 * What a write of ours changed, as the API server answered it. The next pass of the key waits until the cache shows it.
 * `external` marks a change outside the API server (an etcd call): there is no cache to wait for. Nor is there for what is `unwatched`.
 */
export type Written =
  | { readonly kind: "stored"; readonly resource: Resource<KubeObject>; readonly object: KubeObject }
  | { readonly kind: "deleted"; readonly resource: Resource<KubeObject>; readonly ref: Ref; readonly uid: string }
  | { readonly kind: "unwatched"; readonly object: KubeObject }
  | { readonly kind: "external" };

/** A cache, as far as observing needs it. */
export interface CacheView<T> {
  get(ref: Ref): T | undefined;
  byIndex(index: string, value: string): readonly T[];
}

/** How the step ended. `conflict` is normal: the world moved since the snapshot. So is `notNow`: etcd said "at another time". */
export type Outcome =
  | { readonly is: "notTried" }
  | { readonly is: "done" }
  | { readonly is: "conflict"; readonly why: string }
  | { readonly is: "notNow"; readonly why: string }
  | { readonly is: "failed"; readonly code: string; readonly why: string };

/** What an event is about: the object that the user looks at. */
export interface Subject {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}

/**
 * One room. `observe`, `act` and `writeStatus` touch the world; `plan` and `status` never do.
 * The pass (pass.ts) is the only caller.
 */
export interface Controller<Snapshot, Step extends { readonly do: string }, Status> {
  readonly name: string;
  /** How far the object has come, by what the cache knows: who is nearly done is looked at first. Default: settled. */
  stageOf?(key: Key): Stage;
  /**
   * A look at less, of an object at rest. Reads only, and decides nothing.
   * @returns how long it is left alone from now on, in milliseconds; undefined: it has to be looked at. Default: always.
   */
  glance?(key: Key, signal: AbortSignal): Promise<number | undefined>;
  /**
   * When a process begins, first looks at settled objects come so many milliseconds after one another, for a room that can wait for others.
   * Default: all at once.
   */
  readonly firstLooksApartMs?: number;
  /** Reads only. `absent`: the object is gone, nothing to do. `unknown`: could not look, try again later. */
  observe(key: Key, signal: AbortSignal): Promise<Observed<Snapshot>>;
  /** @param resting steps that are left alone for now */
  plan(snapshot: Snapshot, resting: Resting<Step>): Plan<Step>;
  /** What the step would change and into what, in a few words: two steps with the same words are two tries of one. */
  target(step: Step): string;
  /** Exactly one write, with its precondition. */
  act(step: Step, snapshot: Snapshot, signal: AbortSignal): Promise<Written>;
  /** What was seen and is meant. It is asked for only when nothing was tried, or what was tried was done. */
  status(snapshot: Snapshot, plan: Plan<Step>): Status;
  /** Writes the status if it differs from what is stored; `undefined` when nothing had to be written. */
  writeStatus(snapshot: Snapshot, status: Status, signal: AbortSignal): Promise<Written | undefined>;
  subject(snapshot: Snapshot): Subject;
  /** The same of an object that no pass comes to an end with; `undefined` when it is gone. */
  subjectOf(key: Key): Subject | undefined;
  /** Says on the object that its passes throw, until the next status is written; `undefined` when it says so already. */
  writeFailing(key: Key, because: string, signal: AbortSignal): Promise<Written | undefined>;
  /**
   * Steps that are logged and counted but not told as events: every object goes through them, and a person has nothing to do or
   * to fear from them.
   */
  isRoutine?(rule: string, step: Step, snapshot: Snapshot): boolean;
  /** How long a settled object is left alone when no event comes, in milliseconds. */
  restMs(snapshot: Snapshot, plan: Plan<Step>): number;
}
