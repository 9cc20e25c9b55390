import { ETCD_PEERS } from "#api/v1alpha1/peer.ts";
import { NAMESPACE } from "#kit/world-people.ts";
import { Scene, type Story } from "./scene.ts";

/** One of three founders gets no volume, for half an hour. Two of them are a cluster all the while. */
export const formingNeverEnds: Story = async () => {
  const of = new Scene(3);
  await of.start();
  of.world.kubelets.volumesLeft = 2;
  await of.forMs(30 * 60_000);
  if (of.world.etcd.processes.size !== 2) throw new Error("two members were to run");
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "Forming" ? `Ready says ${reason}: ${message}` : undefined;
};

/** A founder loses its disk after it has announced itself, while the operator is away that would have put it on record. */
export const founderForgot: Story = async () => {
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
  return reason === "AllMembersHealthy" ? undefined : `Ready says ${reason}: ${message}`;
};

/** Two of three have no volume, and the one waits for them: after ten minutes nobody need look ten times a second. */
export const formingPollsForEver: Story = async () => {
  const of = new Scene(3);
  of.world.kubelets.volumesLeft = 1;
  await of.start();
  await of.forMs(10 * 60_000);
  const before = of.world.operator?.passes ?? 0;
  await of.forMs(60_000);
  const passes = (of.world.operator?.passes ?? 0) - before;
  // The EtcdCluster and three EtcdPeers, each every three seconds at the most.
  return passes > 80 ? `${passes} passes in a minute in which nothing happens` : undefined;
};

/**
 * Two of three founders form the cluster, and the third runs where they cannot reach it, so that it never joins. Another one loses its
 * disk, and a person deletes the EtcdPeer of the third: its data is what the quorum lacks.
 */
export const founderStaysAway: Story = async () => {
  const of = new Scene(3);
  await of.start();
  const { api, etcd } = of.world;
  const runs = () => [...etcd.processes.values()].find(({ peer }) => peer === "db-0");
  for (let tries = 0; runs() === undefined && tries < 1_000; tries++) await of.forMs(1);
  etcd.cutOff(of.process("db-0"), true);
  await of.forMs(20_000);
  if (of.condition("Available")?.status !== "True") throw new Error("two were to form the cluster");
  etcd.empty(of.process("db-2").disk);
  api.delete("person", ETCD_PEERS, { namespace: NAMESPACE, name: "db-0" });
  await of.forMs(5 * 60_000);
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `Ready says ${reason}: ${message}`;
};
