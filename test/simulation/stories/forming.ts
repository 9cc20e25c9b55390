import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { NAMESPACE } from "#kit/world/people.ts";
import type { WorldEvent } from "#kit/world/world.ts";
import { POD_DISRUPTION_BUDGETS, REPLICA_SETS } from "#kube/kinds.ts";
import { Scene, type Story } from "./scene.ts";

/** One of three initial members gets no volume for half an hour. The other two are a cluster all the time. */
export const missingVolumeKeepsForming: Story = async () => {
  const of = new Scene(3);
  await of.start();
  of.world.kubelets.volumesLeft = 2;
  await of.forMs(30 * 60_000);
  if (of.world.etcd.processes.size !== 2) throw new Error("two members should run");
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "Forming" ? `Ready has reason ${reason}: ${message}` : undefined;
};

/** An initial member loses its disk after it has announced itself, before an operator records that. */
export const lostInitialMemberIsKept: Story = async () => {
  const of = new Scene(3);
  await of.start();
  const { etcd } = of.world;
  const announced = () => [...etcd.processes.values()].filter(({ isPublished }) => isPublished).length;
  for (let tenths = 0; etcd.processes.size < 3 && tenths < 600; tenths++) await of.forMs(20);
  of.world.crashOperator();
  for (let tenths = 0; announced() < 3 && tenths < 600; tenths++) await of.forMs(100);
  etcd.empty(of.process("db-2").disk);
  of.world.startOperator();
  await of.forMs(3 * 60_000);
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `Ready has reason ${reason}: ${message}`;
};

/**
 * Two of three members have no volume, and the third waits for them. After ten minutes frequent polling has no purpose.
 */
export const formingPollsForEver: Story = async () => {
  const of = new Scene(3);
  of.world.kubelets.volumesLeft = 1;
  await of.start();
  await of.forMs(10 * 60_000);
  const before = of.world.operator?.passes ?? 0;
  await of.forMs(60_000);
  const passes = (of.world.operator?.passes ?? 0) - before;
  // Passes for the EtcdCluster and three EtcdPeers, each every three seconds at most.
  return passes > 80 ? `${passes} passes in a minute in which nothing happens` : undefined;
};

/**
 * Two of three initial members form the cluster, and the third runs where they cannot reach it, so that it never joins.
 * Another member loses its disk, and a person deletes the EtcdPeer of the third. The quorum then needs the data of the
 * third.
 */
export const absentInitialMemberIsNotRecreated: Story = async () => {
  const of = new Scene(3);
  await of.start();
  const { api, etcd } = of.world;
  const runs = () => [...etcd.processes.values()].find(({ peer }) => peer === "db-0");
  for (let tries = 0; runs() === undefined && tries < 1_000; tries++) await of.forMs(1);
  etcd.cutOff(of.process("db-0"), true);
  await of.forMs(20_000);
  if (of.condition("Available")?.status !== "True") throw new Error("two members should form the cluster");
  etcd.empty(of.process("db-2").disk);
  api.delete("person", ETCD_PEERS, { namespace: NAMESPACE, name: "db-0" });
  await of.forMs(5 * 60_000);
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `Ready has reason ${reason}: ${message}`;
};

/**
 * The operator is away while the members start, and then fences all of them. After so many steps in a row the status is
 * written early (STEPS_WITHOUT_STATUS in runtime/pass.ts). The client Service has not been checked at that moment.
 */
export const readyBeforeServiceWorks: Story = async () => {
  const of = new Scene(7);
  await of.start();
  const { api, kubelets } = of.world;
  for (const node of kubelets.nodes) node.isUp = false;
  const isBegun = () => api.list(REPLICA_SETS).length === 7 && api.list(POD_DISRUPTION_BUDGETS).length === 1;
  for (let tries = 0; !isBegun() && tries < 1_000; tries++) await of.forMs(20);
  of.world.crashOperator();
  for (const node of kubelets.nodes) node.isUp = true;
  await of.forMs(3_000);
  of.world.startOperator();
  await of.forMs(30_000);
  const isReady = (event: WorldEvent) =>
    event.is === "clusterStatus" &&
    event.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
  const [ready, served] = [of.events.findIndex(isReady), of.events.findIndex(({ is }) => is === "served")];
  if (ready === -1) throw new Error("the cluster did not come up");
  return served !== -1 && served < ready ? undefined : "Ready is True before the client Service served a client";
};

/**
 * Initial members get an unpublished release, and a person corrects that. Just after the first one is recreated with
 * the correction, an unreachable release is requested. The others get the correction, too, and not the release that
 * they never ran.
 */
export const failedReleaseIsRestored: Story = async () => {
  for (const [corrected, next] of [
    ["3.5.21", "3.6.16"], // The first release of the members is not reachable either.
    ["3.5.35", "3.7.3"],
  ] as const) {
    const of = new Scene(3);
    await of.start();
    of.edit({ version: "3.6.99" });
    await of.forMs(60_000);
    of.edit({ version: corrected });
    const restarted = () => of.did().filter((did) => did.startsWith("restartPod")).length;
    for (let ms = 0; restarted() === 0 && ms < 60_000; ms++) await of.forMs(1);
    if (restarted() !== 1) throw new Error("one member should be recreated before the others");
    of.edit({ version: next });
    await of.forMs(5 * 60_000);
    const versions = [...of.world.etcd.processes.values()].map(({ version }) => version);
    const { reason, message } = of.condition("Ready") ?? {};
    if (versions.length !== 3 || versions.some((each) => each !== corrected) || reason !== "NoVersionPath")
      return `the members run ${versions}; Ready has reason ${reason}: ${message}`;
  }
  return undefined;
};
