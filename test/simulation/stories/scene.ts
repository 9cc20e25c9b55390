import { QUARANTINE_LABEL } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Process } from "#kit/world/etcd.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import { World, type WorldEvent, type WorldOptions } from "#kit/world/world.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { seeded, settle } from "../ambient.ts";
import { calmDown, everythingHappens } from "../calm.ts";

/** A world without random events, for scripted histories. */
export class Scene {
  readonly world: World;
  /** Every event except steps. */
  readonly events: WorldEvent[] = [];
  /** Called for each event. */
  onEvent: (event: WorldEvent) => void = () => undefined;

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
        this.onEvent(event);
      },
      trace: undefined,
      ...more,
    });
  }

  /** Starts the operator and creates the cluster as a person. */
  async start(): Promise<void> {
    this.world.startOperator();
    await settle();
    this.world.people.do("createCluster");
  }

  async untilQuiet(): Promise<void> {
    await calmDown(this.world, () => this.#next());
  }

  /** Lets everything happen that can, for this long. */
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

  /** Edits the cluster's spec as a person. */
  edit(change: Partial<EtcdCluster["spec"]>): void {
    const { cluster } = this;
    this.world.api.replace("person", ETCD_CLUSTERS, { ...cluster, spec: { ...cluster.spec, ...change } });
  }

  /** The process that runs as this member. @throws Error when there is none */
  process(name: string): Process {
    const found = [...this.world.etcd.processes.values()].find(({ peer }) => peer === name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  leader(): Process {
    const found = [...this.world.etcd.processes.values()].find((each) => this.world.etcd.leaderOf(each) === each);
    if (found === undefined) throw new Error("no member leads");
    return found;
  }

  /** Names of quarantined claims. */
  quarantined(): readonly string[] {
    return this.world.api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] !== undefined)
      .map(({ metadata }) => metadata.name);
  }

  /** Steps that the operator did, in order: `removeMember db-2`. */
  did(): readonly string[] {
    return this.events.flatMap((event) => {
      if (event.is !== "acts") return [];
      const { step } = event;
      return [`${step.do}${"name" in step ? ` ${step.name}` : ""}`];
    });
  }
}

/** A complete cluster at rest. */
export async function scene(replicas: number, more: Partial<WorldOptions> = {}): Promise<Scene> {
  const made = new Scene(replicas, more);
  await made.start();
  await made.untilQuiet();
  if (made.condition("Ready")?.status !== "True") throw new Error("the cluster did not come up");
  return made;
}

/** A scripted history. @returns what the operator did wrong; undefined: nothing */
export type Story = () => Promise<string | undefined>;

/** Runs a story, with the same result each time. */
export function toldOf(story: Story): Promise<string | undefined> {
  return seeded(1, story);
}
