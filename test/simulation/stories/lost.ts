import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { NAMESPACE } from "#kit/world/people.ts";
import type { KubeClient } from "#kube/client.ts";
import { type AnyResource, PERSISTENT_VOLUME_CLAIMS, PODS, REPLICA_SETS } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// Members that are given up, and members that are not. A story returns what is wrong; undefined: nothing is.

const removals = (of: Scene) => of.did().filter((act) => act.startsWith("removeMember"));

/** The operator reaches no member for two minutes. Then two of three return, and the third a few seconds later. */
export const outageCountsAsLost: Story = async () => {
  const of = await scene(3);
  for (const process of of.world.etcd.processes.values()) process.isHidden = true;
  await of.forMs(120_000);
  of.process("db-0").isHidden = false;
  of.process("db-1").isHidden = false;
  await of.forMs(3_000);
  return removals(of)[0];
};

/** Only the operator cannot reach one member, for ten minutes. The other members hear it all the time. */
export const healthyMemberIsReplaced: Story = async () => {
  const of = await scene(3);
  of.process("db-2").isHidden = true;
  await of.forMs(10 * 60_000);
  return removals(of)[0];
};

/**
 * A node is cut off from the API server. Its pod is evicted in the API, a second pod waits, and the first still takes
 * part.
 */
export const evictedPodCountsAsStopped: Story = async () => {
  const of = await scene(3);
  const { world } = of;
  const pods = world.api.list(PODS);
  const alone = pods.find(({ spec }) => pods.filter((other) => other.spec?.nodeName === spec?.nodeName).length === 1);
  const node = world.kubelets.nodes.find(({ name }) => name === alone?.spec?.nodeName);
  if (node === undefined) throw new Error("no pod is alone on its node");
  node.cutSinceMs = world.time.nowMs;
  for (let minute = 0; minute < 15; minute++) {
    await of.forMs(60_000);
    if (!world.kubelets.evictUnheard()) continue;
    await of.forMs(1_000);
    if (world.api.list(PODS).filter(({ spec }) => spec?.hostname === alone?.spec?.hostname).length !== 2)
      throw new Error("there is no second pod");
  }
  return removals(of)[0];
};

/** A requested fourth member gets no volume for two hours. */
export const endlessReplacement: Story = async () => {
  const of = await scene(3);
  of.world.kubelets.isOutOfVolumes = true;
  of.edit({ replicas: 4 });
  await of.forMs(2 * 60 * 60_000);
  const claims = of.world.api.list(PERSISTENT_VOLUME_CLAIMS).length;
  return claims > 4
    ? `${claims} claims, of which ${of.quarantined().length} were quarantined and never held data`
    : undefined;
};

/** A fourth member is requested, and a quota refuses its pod and that of every replacement. */
export const refusedPodIsReplacedEndlessly: Story = () => refusedForTwoHours(PODS);

/** A fourth member is requested, and a quota refuses even its ReplicaSet. */
export const refusedReplicaSetIsReplacedEndlessly: Story = () => refusedForTwoHours(REPLICA_SETS);

async function refusedForTwoHours({ plural }: AnyResource): Promise<string | undefined> {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(plural, "quotaExceeded");
  of.edit({ replicas: 4 });
  await of.forMs(2 * 60 * 60_000);
  const claims = api.list(PERSISTENT_VOLUME_CLAIMS).length;
  if (claims > 4) return `${claims} claims, of which ${of.quarantined().length} were quarantined and never held data`;
  const { message } = of.condition("Progressing") ?? {};
  if (message?.includes("exceeded quota") !== true) return `no condition mentions the quota: ${message}`;
  api.admission.clear();
  await of.forMs(5 * 60_000);
  const { status, reason } = of.condition("Ready") ?? {};
  return status === "True" ? undefined : `the quota is gone, and Ready is ${status} (${reason})`;
}

/**
 * A voter loses its claim while a quota refuses the pod of a fourth member. The refused learner must not block the
 * replacement for ever.
 */
export const refusalBlocksReplacement: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(PODS.plural, "quotaExceeded");
  of.edit({ replicas: 4 });
  await of.forMs(60 * 60_000);
  api.delete("person", PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name: "db-1" });
  const pod = api.list(PODS).find(({ spec }) => spec?.hostname === "db-1");
  if (pod !== undefined) api.delete("person", PODS, pod.metadata);
  await of.forMs(60 * 60_000);
  return removals(of).includes("removeMember db-1") ? undefined : `db-1 is not replaced; removals: ${removals(of)}`;
};

/**
 * A learner fits on no node. During an outage a person deletes its EtcdPeer, and the operator recreates it with the
 * fence, since it may have been promoted. It is deleted again, the outage ends, and nodes have room. etcd lists an
 * unstarted learner, which could never start with the fence.
 */
export const learnerStaysFenced: Story = async () => {
  const of = await scene(3);
  const { api, etcd, kubelets, time } = of.world;
  const peer = { namespace: NAMESPACE, name: "db-3" };
  of.edit({ replicas: 4 });
  const mayStart = () => api.find(ETCD_PEERS, peer)?.spec.memberID !== undefined;
  for (let tries = 0; !mayStart() && tries < 1_000; tries++) await of.forMs(1);
  for (const node of kubelets.nodes) node.cutSinceMs = time.nowMs;
  await of.forMs(2_000);
  for (const process of etcd.processes.values()) process.isHidden = true;
  api.delete("person", ETCD_PEERS, peer);
  await of.forMs(10_000);
  const given = api.find(ETCD_PEERS, peer);
  if (given === undefined || given.spec.bootstrap !== undefined)
    return given === undefined ? "its EtcdPeer is not recreated" : "it could start over with a vote";
  api.delete("person", ETCD_PEERS, peer);
  for (const process of etcd.processes.values()) process.isHidden = false;
  for (const node of kubelets.nodes) node.cutSinceMs = undefined;
  await of.forMs(60_000);
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `Ready has reason ${reason}: ${message}`;
};

/** A policy refuses to restore the labels of claims. */
function refusingLabels(real: KubeClient): KubeClient {
  const patch: KubeClient["patch"] = (resource, ref, body, options) =>
    resource.kind === PERSISTENT_VOLUME_CLAIMS.kind
      ? Promise.reject(new OperatorError("KubeInvalid", "a policy refuses it"))
      : real.patch(resource, ref, body, options);
  return { ...real, patch } as KubeClient;
}

/**
 * The only member's claim loses its labels, so that no cache has it, and is deleted. Then the member is to restart, or
 * to sleep.
 */
export const unseenClaimIsLost: Story = async () => {
  const edits: readonly Partial<EtcdCluster["spec"]>[] = [{ version: "3.6.17" }, { replicas: 0 }];
  for (const edit of edits) {
    const of = await scene(1, { mutation: { kube: refusingLabels } });
    const { api, people } = of.world;
    if (!people.do("unlabelClaim") || !people.do("deleteClaim")) throw new Error("there is no claim");
    await of.forMs(1_000);
    of.edit(edit);
    await of.forMs(120_000);
    if (api.list(PERSISTENT_VOLUME_CLAIMS).length === 0) return `the only data was lost for ${JSON.stringify(edit)}`;
  }
  return undefined;
};
