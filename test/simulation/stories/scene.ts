import { QUARANTINE_LABEL } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { World, type WorldEvent, type WorldOptions } from "#kit/world.ts";
import type { Process } from "#kit/world-etcd.ts";
import { CLUSTER, NAMESPACE } from "#kit/world-people.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { seeded, settle } from "../ambient.ts";
import { calmDown, everythingHappens } from "../calm.ts";

/** A world in which nothing happens by chance, for histories that are told on purpose. */
export class Scene {
  readonly world: World;
  /** Everything that happened, but for steps. */
  readonly events: WorldEvent[] = [];

  constructor(replicas: number, more: Partial<WorldOptions> = {}) {
    this.world = new World({
      seed: 1,
      replicas,
      hasLocalVolumes: false,
      hasStrictEtcd: true,
      bindsLate: false,
      versions: [],
      mutation: {},
      happened: (event) => {
        if (event.is !== "step") this.events.push(event);
      },
      trace: undefined,
      ...more,
    });
  }

  /** The operator starts, and a person creates the cluster. */
  async start(): Promise<void> {
    this.world.startOperator();
    await settle();
    this.world.people.do("createCluster");
  }

  async untilQuiet(): Promise<void> {
    await calmDown(this.world, () => this.#next());
  }

  /** Everything that can happen does, for this long. */
  async forMs(ms: number): Promise<void> {
    const { time } = this.world;
    const endMs = time.nowMs + ms;
    while (time.nowMs < endMs) {
      await settle();
      this.#next();
      const some = everythingHappens(this.world);
      time.runNext(some ? Math.min(endMs, time.nowMs + 20) : endMs);
    }
    await settle();
  }

  #next(): void {
    this.world.step += 1;
    this.world.calls.breathe();
  }

  get cluster(): EtcdCluster {
    const found = this.world.api.find(ETCD_CLUSTERS, { namespace: NAMESPACE, name: CLUSTER });
    if (found === undefined) throw new Error("there is no cluster");
    return found;
  }

  condition(type: string) {
    return this.cluster.status?.conditions?.find((each) => each.type === type);
  }

  /** A person edits the cluster's spec. */
  edit(change: Partial<EtcdCluster["spec"]>): void {
    const { cluster } = this;
    this.world.api.replace("person", ETCD_CLUSTERS, { ...cluster, spec: { ...cluster.spec, ...change } });
  }

  /** What runs as this member; it must run. */
  process(name: string): Process {
    const found = [...this.world.etcd.processes.values()].find(({ peer }) => peer === name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  leader(): Process {
    const found = [...this.world.etcd.processes.values()].find((each) => this.world.etcd.leaderOf(each) === each);
    if (found === undefined) throw new Error("nobody leads");
    return found;
  }

  /** Names of claims that were put aside. */
  quarantined(): readonly string[] {
    return this.world.api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] !== undefined)
      .map(({ metadata }) => metadata.name);
  }

  /** What the operator did, in order: `removeMember db-2`. */
  did(): readonly string[] {
    return this.events.flatMap((event) => {
      if (event.is !== "acts") return [];
      const { step } = event;
      return [`${step.do}${"name" in step ? ` ${step.name}` : ""}`];
    });
  }
}

/** A cluster that is complete and at rest. */
export async function scene(replicas: number, more: Partial<WorldOptions> = {}): Promise<Scene> {
  const made = new Scene(replicas, more);
  await made.start();
  await made.untilQuiet();
  if (made.condition("Ready")?.status !== "True") throw new Error("the cluster did not come up");
  return made;
}

/** What is told on purpose. @returns what the operator did wrong; undefined: nothing */
export type Story = () => Promise<string | undefined>;

/** Tells a story; the same each time. */
export function toldOf(story: Story): Promise<string | undefined> {
  return seeded(1, story);
}
