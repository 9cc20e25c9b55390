import { PERSISTENT_VOLUME_CLAIMS, PODS } from "#kube/kinds.ts";
import { Scene, type Story, scene } from "./scene.ts";

// Clusters that people put to sleep and wake faster than pods end.

/**
 * Pauses between two edits, in milliseconds: before any member has stopped, while some have, and while pods still
 * exist.
 */
const PAUSES_MS = [20, 200, 1_000, 2_100, 5_000, 15_000, 29_000] as const;

/** Identity of the members and their claims, which must not change. */
function members(of: Scene): string {
  const { api, etcd } = of.world;
  const claims = api.list(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
  const cluster = etcd.truth.named(of.cluster.status?.identity?.clusterID);
  return [...claims, ...[...(cluster?.members.values() ?? [])].map(({ name, id }) => `${name} ${id}`)]
    .sort()
    .join(", ");
}

function ready(of: Scene): string {
  const { reason, message } = of.condition("Ready") ?? {};
  return `Ready has reason ${reason}: ${message}`;
}

/** @returns what is wrong with a cluster in which this many members should run, and none was added or removed */
function wrong(of: Scene, before: string, running: number, reason: string): string | undefined {
  if (members(of) !== before) return `${before} became ${members(of)}`;
  const { size } = of.world.etcd.processes;
  return size === running && of.condition("Ready")?.reason === reason ? undefined : `${size} run; ${ready(of)}`;
}

async function flipped(pauseMs: number, ...replicas: readonly number[]): Promise<{ of: Scene; before: string }> {
  const of = await scene(3, { seed: pauseMs });
  const before = members(of);
  for (const each of replicas) {
    of.edit({ replicas: each });
    await of.forMs(pauseMs);
  }
  await of.untilQuiet();
  return { of, before };
}

/** The cluster is woken while members still stop, and put to sleep again, several times. */
export const repeatedSleepCostsMember: Story = async () => {
  for (const pauseMs of PAUSES_MS) {
    const { of, before } = await flipped(pauseMs, 0, 3, 0, 3);
    const why = wrong(of, before, 3, "AllMembersHealthy");
    if (why !== undefined) return `edited every ${pauseMs} ms, and awake: ${why}`;
  }
  return undefined;
};

/** The cluster is put to sleep and woken several times while members still stop, and sleeps at the end. */
export const repeatedWakeUpPreventsSleep: Story = async () => {
  for (const pauseMs of PAUSES_MS) {
    const { of, before } = await flipped(pauseMs, 0, 3, 0);
    const why = wrong(of, before, 0, "Asleep");
    if (why !== undefined) return `edited every ${pauseMs} ms, and asleep: ${why}`;
    if (of.world.api.list(PODS).length > 0) return `edited every ${pauseMs} ms: pods are left`;
    of.edit({ replicas: 3 });
    await of.untilQuiet();
    const late = wrong(of, before, 3, "AllMembersHealthy");
    if (late !== undefined) return `edited every ${pauseMs} ms, and woken: ${late}`;
  }
  return undefined;
};

/**
 * Two of three initial members form the cluster. The third joins unseen, and all are stopped before the operator can
 * ask any member. It loses its disk, and is the first to start again.
 */
export const sleepingMemberStartsOver: Story = async () => {
  const of = new Scene(3, { hasLocalVolumes: true });
  await of.start();
  const { world } = of;
  const { etcd, kubelets } = world;
  kubelets.volumesLeft = 2;
  await of.forMs(20_000);
  const founders = () => of.cluster.status?.identity?.initialMembers ?? [];
  const late = founders().find(({ joined }) => !joined)?.name ?? "none";
  world.crashOperator();
  kubelets.isOutOfVolumes = false;
  await of.forMs(10_000);
  of.process(late);
  for (const process of etcd.processes.values()) process.isHidden = true;
  of.edit({ replicas: 0 });
  world.startOperator();
  await of.untilQuiet();
  if (founders().every(({ joined }) => joined) || etcd.processes.size > 0) throw new Error("all members should sleep");
  const disk = diskOf(of, late);
  etcd.empty(disk);
  const others = kubelets.nodes.filter(({ name }) => name !== disk.node);
  for (const node of others) node.cutSinceMs = world.time.nowMs;
  of.edit({ replicas: 3 });
  await of.forMs(5_000);
  for (const node of others) node.cutSinceMs = undefined;
  await of.untilQuiet();
  if (of.events.some((event) => event.is === "started" && event.amnesia))
    return `${late} started over without its data`;
  const { size } = etcd.processes;
  return size === 3 && of.condition("Ready")?.status === "True" ? undefined : `${size} run; ${ready(of)}`;
};

function diskOf({ world }: Scene, name: string) {
  const claim = world.api.list(PERSISTENT_VOLUME_CLAIMS).find(({ metadata }) => metadata.name === name);
  const disk = world.kubelets.disks.get(claim?.spec?.volumeName ?? "");
  if (disk === undefined) throw new Error(`${name} has no volume`);
  return disk;
}
