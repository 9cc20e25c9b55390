import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { REPLACE_AFTER_MS } from "#kit/world-operator.ts";
import { CLUSTER, NAMESPACE } from "#kit/world-people.ts";
import { LARGE_FLEET } from "../profile.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// One cluster among a thousand that have nothing to do: somebody of it is asked once in a minute, and all are once in five, and whatever happens
// is heard of all the same.

/** Once in a minute, and what the end of a watch may bring. */
const MOST_LOOKS = 12;
/** Once in five minutes, and the same. */
const MOST_WHOLE_LOOKS = 4;
const TOLD_WITHIN_MS = 15_000;
const SEEN_WITHIN_MS = 60_000;

/** A cluster that has been at rest for a while. */
async function resting(replicas = 3): Promise<Scene> {
  const of = await scene(replicas, { othersAtRest: LARGE_FLEET });
  await of.forMs(10 * 60_000);
  return of;
}

/** Nothing happens for ten minutes. */
export const restIsBusy: Story = async () => {
  const of = await resting();
  const name = `cluster ${NAMESPACE}/${CLUSTER}`;
  const looks = () => of.world.operator?.looks.get(name) ?? 0;
  const glances = () => of.world.operator?.glances.get(name) ?? 0;
  const before = { looks: looks(), glances: glances() };
  await of.forMs(10 * 60_000);
  const made = looks() - before.looks;
  const all = made + glances() - before.glances;
  const isAsPromised = all >= 10 && all <= MOST_LOOKS && made >= 2 && made <= MOST_WHOLE_LOOKS;
  return isAsPromised ? undefined : `${made} looks and ${all - made} glances in ten minutes`;
};

/** The data of a member is gone, right after a look: it ends, and refuses to start. */
export const deadIsToldLate: Story = async () => {
  const of = await resting();
  of.events.length = 0;
  of.world.etcd.empty(of.process("db-2").disk);
  await of.forMs(TOLD_WITHIN_MS);
  if (!of.events.some((event) => event.is === "clusterStatus" && isDegraded(event.status)))
    return "nobody is told that a member is dead";
  await of.forMs(REPLACE_AFTER_MS);
  return of.did().includes("removeMember db-2") ? undefined : "a member that is dead is not replaced in its time";
};

/** The others cannot reach a member any more, and the operator can: its kubelet's reads fail, and it is told, and replaced in its time. */
export const cutOffIsKept: Story = async () => {
  const of = await resting();
  of.world.etcd.cutOff(of.process("db-2"), true);
  await of.forMs(TOLD_WITHIN_MS);
  if (!isDegraded(of.cluster.status)) return "nobody is told that a member is cut off";
  await of.forMs(REPLACE_AFTER_MS);
  return of.did().includes("removeMember db-2") ? undefined : "a member that is cut off is not replaced in its time";
};

/** The database of a member is full, right after a look. */
export const alarmIsSeenLate: Story = async () => {
  const of = await resting();
  const { data } = of.leader();
  of.world.etcd.truth.of(data.clusterId).full.add(data.memberId);
  await of.forMs(SEEN_WITHIN_MS);
  return JSON.stringify(of.cluster.status?.conditions).includes("NOSPACE") ? undefined : "nobody is told of the alarm";
};

/** A person asks for more members, right after a look. */
export const editWaitsForItsTurn: Story = async () => {
  const of = await resting();
  of.events.length = 0;
  of.edit({ replicas: 5 });
  await of.forMs(2_000);
  return of.did().length > 0 ? undefined : "nothing is done about it for two seconds";
};

function isDegraded(status: EtcdClusterStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Degraded" && is === "True") === true;
}
