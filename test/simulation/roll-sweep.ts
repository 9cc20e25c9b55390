import { ETCD_CLUSTERS, type EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Mutation } from "#kit/world/operator.ts";
import type { WorldEvent } from "#kit/world/world.ts";
import { PODS } from "#kube/kinds.ts";
import { seeded } from "./ambient.ts";
import { wrongEnding } from "./endings.ts";
import { INVARIANTS } from "./invariants.ts";
import { Memory } from "./memory.ts";
import { type Scene, scene } from "./stories/scene.ts";

// The operator dies after each single change that it makes to a running cluster, and a new one continues. Every promise
// is kept. The outcome, and the number of restarts, is the same as without the death.

/** A person's edit of a running cluster, and its expected outcome. */
export interface Edited {
  readonly name: string;
  readonly replicas: number;
  readonly edit: Partial<EtcdClusterSpec>;
  /** `spec.tls` of the cluster; without TLS by default. */
  readonly tls?: object;
  /** Changes after which the operator dies; by default after each. */
  readonly deaths?: RegExp;
  /** Annotations that the person sets on the EtcdCluster. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The release that all members run at the end. */
  readonly version: string;
  /** How many pods are created for it. */
  readonly restarts: number;
  /** The reason of condition Ready at the end. */
  readonly ready: string;
}

/** Outcome of an edit with one death of the operator. */
export interface Fate {
  /** The change after which the operator died; undefined: it never died. */
  readonly diedAfter: string | undefined;
  /** Changes of both lives. */
  readonly changes: readonly string[];
  /** Broken promises and wrong outcomes, in sentences. */
  readonly wrong: readonly string[];
}

/**
 * Longer than an update takes, including the time that its first member may take to come up; in milliseconds of world
 * time.
 */
const LONGEST_MS = 20 * 60_000;
const TICK_MS = 200;
/**
 * How long no operator runs after a death: not at all, or longer than a restarted member may take to come up. The two
 * alternate.
 */
export const AWAY_MS = [0, 40_000] as const;

/**
 * Carries out one edit with an operator that dies after its nth change and is away for `awayMs`.
 * @param nth from 1; 0: never
 * @param mutation given to each life of the operator
 */
export function fateOf(edited: Edited, nth: number, awayMs: number, mutation: Mutation = {}): Promise<Fate> {
  return seeded(1, () => tell(edited, nth, awayMs, mutation));
}

async function tell(edited: Edited, nth: number, awayMs: number, mutation: Mutation): Promise<Fate> {
  const memory = new Memory(false);
  const changes: string[] = [];
  const wrong: string[] = [];
  let [isEdited, isDead] = [false, false];
  const changed = (what: string): void => {
    if (!isEdited) return;
    changes.push(what);
    if (changes.length !== nth || isDead) return;
    isDead = true;
    // The operator acts no more from here on. The loop below ends its process.
    if (of?.world.operator !== undefined) of.world.operator.isLeading = false;
  };
  let pods = 0;
  let of: Scene | undefined;
  const made = await scene(edited.replicas, {
    ...(edited.tls === undefined ? {} : { tls: edited.tls }),
    happened: (event, world) => {
      for (const { name, breaks } of INVARIANTS) {
        const detail = breaks(event, world, memory);
        if (detail !== undefined) wrong.push(`${name}: ${detail}`);
      }
      memory.note(event, world);
      if (isEdited && event.is === "write" && event.resource === PODS && event.verb === "create") pods += 1;
      if (isOwnWrite(event))
        changed(`${event.verb} ${event.resource.kind} ${(event.after ?? event.before)?.metadata.name}`);
    },
    mutation: { ...mutation, etcd: (real) => noting(real, changed) },
  });
  of = made;
  isEdited = true;
  made.edit(edited.edit);
  const { world } = made;
  const { metadata } = made.cluster;
  const annotations = { ...metadata.annotations, ...edited.annotations };
  world.api.update("person", ETCD_CLUSTERS, made.cluster, { metadata: { ...metadata, annotations } });
  for (const endMs = world.time.nowMs + LONGEST_MS; nth > 0 && !isDead && world.time.nowMs < endMs; )
    await made.forMs(TICK_MS);
  if (isDead) {
    world.crashOperator();
    await made.forMs(awayMs);
    world.startOperator();
  }
  await made.untilQuiet();
  wrong.push(...wrongEndOf(made, edited, pods), ...[wrongEnding(world, memory) ?? []].flat());
  world.operator?.crash();
  return { diedAfter: isDead ? changes[nth - 1] : undefined, changes, wrong: [...new Set(wrong)] };
}

function isOwnWrite(event: WorldEvent): event is WorldEvent & { is: "write" } {
  return event.is === "write" && event.actor === "operator";
}

/** Changes of the membership, the leadership or an alarm. */
const ETCD_CHANGES: readonly (keyof EtcdClient)[] = [
  "addLearner",
  "promote",
  "updateMember",
  "removeMember",
  "moveLeader",
  "disarmAlarm",
  "downgrade",
];

function noting(real: EtcdClient, changed: (what: string) => void): EtcdClient {
  return new Proxy(real, {
    get(target, property) {
      const method = Reflect.get(target, property, target) as (...args: unknown[]) => Promise<unknown>;
      if (!ETCD_CHANGES.some((name) => name === property)) return method.bind(target);
      return async (...args: unknown[]) => {
        const answer = await method.apply(target, args);
        changed(String(property));
        return answer;
      };
    },
  });
}

function wrongEndOf(of: Scene, { version, replicas, restarts, ready }: Edited, pods: number): readonly string[] {
  const runs = [...of.world.etcd.processes.values()].filter((process) => process.version === version).length;
  const found = of.condition("Ready");
  return [
    runs === replicas ? [] : `${runs} of ${replicas} members run ${version}`,
    pods === restarts ? [] : `${pods} pods were created instead of ${restarts}`,
    found?.reason === ready ? [] : `Ready is ${found?.reason} instead of ${ready}: ${found?.message}`,
  ].flat();
}
