import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { NAMESPACE } from "#kit/world-people.ts";
import type { KubeClient } from "#kube/client.ts";
import { type AnyResource, PERSISTENT_VOLUME_CLAIMS, PODS, REPLICA_SETS } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// Who is given up, and who is not. Stories say what is wrong; undefined: nothing is.

const removals = (of: Scene) => of.did().filter((act) => act.startsWith("removeMember"));

/** The operator reaches nobody for two minutes; then two of three are back, and the third a few seconds later. */
export const outageIsPatience: Story = async () => {
  const of = await scene(3);
  for (const process of of.world.etcd.processes.values()) process.isHidden = true;
  await of.forMs(120_000);
  of.process("db-0").isHidden = false;
  of.process("db-1").isHidden = false;
  await of.forMs(3_000);
  return removals(of)[0];
};

/** The operator alone cannot reach one member, for ten minutes. The others hear it all the while. */
export const healthyIsLost: Story = async () => {
  const of = await scene(3);
  of.process("db-2").isHidden = true;
  await of.forMs(10 * 60_000);
  return removals(of)[0];
};

/** A node is cut from the API server: its pod is evicted on paper, a second one waits, and the first takes part as ever. */
export const secondPodIsBelieved: Story = async () => {
  const of = await scene(3);
  const { world } = of;
  const pods = world.api.list(PODS);
  const alone = pods.find(({ spec }) => pods.filter((other) => other.spec?.nodeName === spec?.nodeName).length === 1);
  const node = world.kubelets.nodes.find(({ name }) => name === alone?.spec?.nodeName);
  if (node === undefined) throw new Error("nobody has a node to itself");
  node.cutSinceMs = world.time.nowMs;
  for (let minute = 0; minute < 15; minute++) {
    await of.forMs(60_000);
    if (!world.kubelets.evictUnheard()) continue;
    await of.forMs(1_000);
    if (world.api.list(PODS).filter(({ spec }) => spec?.hostname === alone?.spec?.hostname).length !== 2)
      throw new Error("no second pod");
  }
  return removals(of)[0];
};

/** A fourth member that is wanted gets no volume for two hours. */
export const endlessReplacement: Story = async () => {
  const of = await scene(3);
  of.world.kubelets.isOutOfVolumes = true;
  of.edit({ replicas: 4 });
  await of.forMs(2 * 60 * 60_000);
  const claims = of.world.api.list(PERSISTENT_VOLUME_CLAIMS).length;
  return claims > 4
    ? `${claims} claims, of which ${of.quarantined().length} were put aside and never held data`
    : undefined;
};

/** A fourth member is wanted, and a quota lets nobody make its pod: neither it nor any other that would be tried in its place. */
export const endlessRefusal: Story = () => refusedForTwoHours(PODS);

/** As before; here not even its ReplicaSet may be made. */
export const endlessRefusalOfSets: Story = () => refusedForTwoHours(REPLICA_SETS);

async function refusedForTwoHours({ plural }: AnyResource): Promise<string | undefined> {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(plural, "quotaExceeded");
  of.edit({ replicas: 4 });
  await of.forMs(2 * 60 * 60_000);
  const claims = api.list(PERSISTENT_VOLUME_CLAIMS).length;
  if (claims > 4) return `${claims} claims, of which ${of.quarantined().length} were put aside and never held data`;
  const { message } = of.condition("Progressing") ?? {};
  if (message?.includes("exceeded quota") !== true) return `the quota is not told of: ${message}`;
  api.admission.clear();
  await of.forMs(5 * 60_000);
  const { status, reason } = of.condition("Ready") ?? {};
  return status === "True" ? undefined : `the quota is gone, and Ready is ${status} (${reason})`;
}

/** As before; then a voter loses its claim. It comes first, and whose pod cannot be made does not hold it back for ever. */
export const refusalHoldsBack: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  api.admission.set(PODS.plural, "quotaExceeded");
  of.edit({ replicas: 4 });
  await of.forMs(60 * 60_000);
  api.delete("person", PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name: "db-1" });
  const pod = api.list(PODS).find(({ spec }) => spec?.hostname === "db-1");
  if (pod !== undefined) api.delete("person", PODS, pod.metadata);
  await of.forMs(60 * 60_000);
  return removals(of).includes("removeMember db-1") ? undefined : `db-1 is not replaced; ${removals(of)} went`;
};

/**
 * No node has room for a learner. In an outage its EtcdPeer is deleted, and the operator gives it back with the fence: it may have its vote by
 * now. It is deleted again, the outage ends, there is room: etcd lists a learner that is yet to start, and with the fence it never could.
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
    return given === undefined ? "its data stays away" : "it could start over with a vote";
  api.delete("person", ETCD_PEERS, peer);
  for (const process of etcd.processes.values()) process.isHidden = false;
  for (const node of kubelets.nodes) node.cutSinceMs = undefined;
  await of.forMs(60_000);
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `Ready says ${reason}: ${message}`;
};

/** Nobody may give a claim its labels back. */
function refusingLabels(real: KubeClient): KubeClient {
  const patch: KubeClient["patch"] = (resource, ref, body, options) =>
    resource.kind === PERSISTENT_VOLUME_CLAIMS.kind
      ? Promise.reject(new OperatorError("KubeInvalid", "a policy refuses it"))
      : real.patch(resource, ref, body, options);
  return { ...real, patch } as KubeClient;
}

/** The claim of the only member loses its labels, for good, so that no cache knows it, and is deleted; then the member is to restart, or to sleep. */
export const unseenClaimIsLost: Story = async () => {
  const edits: readonly Partial<EtcdCluster["spec"]>[] = [{ version: "3.6.17" }, { replicas: 0 }];
  for (const edit of edits) {
    const of = await scene(1, { mutation: { kube: refusingLabels } });
    const { api, people } = of.world;
    if (!people.do("unlabelClaim") || !people.do("deleteClaim")) throw new Error("there is no claim");
    await of.forMs(1_000);
    of.edit(edit);
    await of.forMs(120_000);
    if (api.list(PERSISTENT_VOLUME_CLAIMS).length === 0) return `the only data went for ${JSON.stringify(edit)}`;
  }
  return undefined;
};
