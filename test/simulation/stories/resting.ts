import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { REPLACE_AFTER_MS } from "#kit/world/operator.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import { LARGE_FLEET } from "../profile.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// A cluster at rest in a fleet of a thousand. One of its members is checked once a minute, and all of them every five
// minutes. Every event is still noticed in time.

/** One quick check a minute, and those that the end of a watch may cause. */
const MOST_LOOKS = 12;
/** One full observation in five minutes, and those that the end of a watch may cause. */
const MOST_WHOLE_LOOKS = 4;
const REPORTED_WITHIN_MS = 15_000;
const SEEN_WITHIN_MS = 60_000;

/** A cluster that has been at rest for ten minutes. */
async function resting(replicas = 3): Promise<Scene> {
  const of = await scene(replicas, { othersAtRest: LARGE_FLEET });
  await of.forMs(10 * 60_000);
  return of;
}

/** Nothing happens for ten minutes. */
export const restingClusterIsPolled: Story = async () => {
  const of = await resting();
  const name = `cluster ${NAMESPACE}/${CLUSTER}`;
  const looks = () => of.world.operator?.looks.get(name) ?? 0;
  const quickChecks = () => of.world.operator?.quickChecks.get(name) ?? 0;
  const before = { looks: looks(), quickChecks: quickChecks() };
  await of.forMs(10 * 60_000);
  const made = looks() - before.looks;
  const all = made + quickChecks() - before.quickChecks;
  const isAsPromised = all >= 10 && all <= MOST_LOOKS && made >= 2 && made <= MOST_WHOLE_LOOKS;
  return isAsPromised ? undefined : `${made} observations and ${all - made} quick checks in ten minutes`;
};

/** A member loses its data right after an observation: it exits and refuses to start. */
export const deadMemberIsReportedLate: Story = async () => {
  const of = await resting();
  of.events.length = 0;
  of.world.etcd.empty(of.process("db-2").disk);
  await of.forMs(REPORTED_WITHIN_MS);
  if (!of.events.some((event) => event.is === "clusterStatus" && isDegraded(event.status)))
    return "no status reports the dead member";
  await of.forMs(REPLACE_AFTER_MS);
  return of.did().includes("removeMember db-2") ? undefined : "the dead member is not replaced in time";
};

/**
 * The other members cannot reach a member that the operator can reach. Its kubelet's reads fail: it is reported, and
 * replaced in time.
 */
export const cutOffMemberIsKept: Story = async () => {
  const of = await resting();
  of.world.etcd.cutOff(of.process("db-2"), true);
  await of.forMs(REPORTED_WITHIN_MS);
  if (!isDegraded(of.cluster.status)) return "the status does not report the cut-off member";
  await of.forMs(REPLACE_AFTER_MS);
  return of.did().includes("removeMember db-2") ? undefined : "the cut-off member is not replaced in time";
};

/** The database of a member is full right after an observation. */
export const alarmIsSeenLate: Story = async () => {
  const of = await resting();
  const { data } = of.leader();
  of.world.etcd.truth.of(data.clusterId).full.add(data.memberId);
  await of.forMs(SEEN_WITHIN_MS);
  return JSON.stringify(of.cluster.status?.conditions).includes("NOSPACE")
    ? undefined
    : "no condition reports the alarm";
};

/** A person asks for more members right after an observation. */
export const editIsNoticedLate: Story = async () => {
  const of = await resting();
  of.events.length = 0;
  of.edit({ replicas: 5 });
  await of.forMs(2_000);
  return of.did().length > 0 ? undefined : "the operator does nothing for two seconds";
};

function isDegraded(status: EtcdClusterStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Degraded" && is === "True") === true;
}
