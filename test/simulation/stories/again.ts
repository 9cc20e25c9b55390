import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { copyClaims } from "#kit/world/copies.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import {
  type AnyResource,
  type Draft,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  POD_DISRUPTION_BUDGETS,
  SERVICES,
} from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// Clusters that are created again, from the claims of an earlier cluster or from copies of claims. A story returns what
// is wrong; undefined: nothing is.

const copyParts = ({ world: { api, kubelets, random } }: Scene) => ({ api, kubelets, random, tell: () => {} });

/** A person copies the claims to another namespace, annotations included, and creates the EtcdCluster there. */
export const copiesJoinTheOriginal: Story = async () => {
  const of = await scene(3);
  const { api, etcd } = of.world;
  const copy = { namespace: "bar", name: CLUSTER };
  if (copyClaims(copyParts(of), { namespace: NAMESPACE, name: CLUSTER }, copy).length !== 3)
    throw new Error("there are not three copies");
  const { apiVersion, kind, spec } = of.cluster;
  api.create("person", ETCD_CLUSTERS, { apiVersion, kind, metadata: copy, spec });
  await of.forMs(60_000);
  if (etcd.processes.size > 3) return `${etcd.processes.size} members run, and spec.replicas is 3`;
  const ready = api.find(ETCD_CLUSTERS, copy)?.status?.conditions?.find(({ type }) => type === "Ready");
  const isTold =
    ready?.reason === "ClaimTaken" && ready.message.includes(`EtcdCluster ${CLUSTER} in namespace ${NAMESPACE}`);
  return isTold ? undefined : `Ready of the copy is ${ready?.status}: ${ready?.message}`;
};

/**
 * A cluster of 3.5.35 is deleted with its claims kept, and created again with a release that skips a minor. Then the
 * person corrects it.
 */
export const releaseIsForgotten: Story = async () => {
  const of = await scene(3, { versions: [] });
  of.edit({ version: "3.5.35" });
  await of.untilQuiet();
  if (runs(of).some((version) => version !== "3.5.35")) throw new Error("the members do not run 3.5.35");
  await makeAgain(of, { version: "3.7.3" });
  const ran = runs(of);
  if (ran.length !== 3 || ran.some((version) => version !== "3.5.35"))
    return `after the second creation members run ${ran.join(", ")}`;
  if (of.condition("UpToDate")?.status === "True" || of.condition("Ready")?.reason !== "NoVersionPath")
    return `Ready is ${of.condition("Ready")?.reason}: ${of.condition("Ready")?.message}`;
  of.edit({ version: "3.6.16" });
  await of.untilQuiet();
  return runs(of).every((version) => version === "3.6.16")
    ? undefined
    : `after the correction members run ${runs(of).join(", ")}`;
};

/**
 * A cluster is deleted and created again while only one of its five claims exists. A tool restores the others one by
 * one, a minute later. The third one completes a quorum, which then replaces the members with missing claims.
 */
export const laterClaimsAreIgnored: Story = async () => {
  const of = await scene(5);
  const { api } = of.world;
  const before = of.cluster.status?.identity?.clusterID;
  const place = { namespace: NAMESPACE, name: CLUSTER };
  const { apiVersion, kind, spec } = of.cluster;
  api.delete("person", ETCD_CLUSTERS, place);
  await of.untilQuiet();
  const missing = api.list(PERSISTENT_VOLUME_CLAIMS).filter(({ metadata }) => metadata.name !== `${CLUSTER}-0`);
  for (const claim of missing) api.remove(PERSISTENT_VOLUME_CLAIMS, claim);
  await of.forMs(1_000);
  api.create("person", ETCD_CLUSTERS, { apiVersion, kind, metadata: place, spec });
  await of.forMs(60_000);
  const said = of.condition("Ready")?.message ?? "";
  if (!said.includes("restore their claims")) return `the message of Ready is ${said}`;
  for (const claim of missing) {
    if (api.find(PERSISTENT_VOLUME_CLAIMS, claim.metadata) !== undefined) continue;
    const { name, labels, annotations } = claim.metadata;
    const metadata = { namespace: NAMESPACE, name, ...(labels && { labels }), ...(annotations && { annotations }) };
    const made = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: claim.spec };
    const restored = api.create("person", PERSISTENT_VOLUME_CLAIMS, made as Draft<PersistentVolumeClaim>);
    api.update("kubernetes", PERSISTENT_VOLUME_CLAIMS, restored, { status: { phase: "Bound" } });
    await of.forMs(30_000);
  }
  await of.untilQuiet();
  const { status, message } = of.condition("Ready") ?? {};
  if (status !== "True") return `Ready is ${status}: ${message}`;
  const { identity } = of.cluster.status ?? {};
  if (identity?.adopting !== undefined) return "claims are still adopted, although etcd lists the members";
  return identity?.clusterID === before ? undefined : "the cluster ID has changed";
};

function runs({ world }: Scene): readonly string[] {
  return [...world.etcd.processes.values()].map(({ version }) => version);
}

/** A person deletes the EtcdCluster, waits until only the claims are left, and creates it again. */
async function makeAgain(of: Scene, change: Partial<EtcdCluster["spec"]>): Promise<void> {
  const { api } = of.world;
  const { apiVersion, kind, spec } = of.cluster;
  const place = { namespace: NAMESPACE, name: CLUSTER };
  api.delete("person", ETCD_CLUSTERS, place);
  await of.untilQuiet();
  api.create("person", ETCD_CLUSTERS, { apiVersion, kind, metadata: place, spec: { ...spec, ...change } });
  await of.untilQuiet();
}

/** A person deletes the EtcdCluster with --cascade=orphan, creates it again, and follows the message of Ready. */
export const orphansBlockNewCluster: Story = async () => {
  const of = await scene(3);
  const { api, etcd } = of.world;
  const { apiVersion, kind, metadata, spec, status } = of.cluster;
  const place = { namespace: NAMESPACE, name: CLUSTER };
  const left: readonly AnyResource[] = [ETCD_PEERS, SERVICES, POD_DISRUPTION_BUDGETS];
  for (const resource of left)
    for (const object of api.list(resource)) {
      const { ownerReferences: _, ...rest } = object.metadata;
      api.update("person", resource, object, { metadata: rest });
    }
  api.delete("person", ETCD_CLUSTERS, place);
  await of.untilQuiet();
  api.create("person", ETCD_CLUSTERS, { apiVersion, kind, metadata: place, spec });
  await of.forMs(60_000);
  if (etcd.processes.size !== 3) return `${etcd.processes.size} of 3 members run on`;
  const { message = "" } = of.condition("Ready") ?? {};
  if (!message.includes("kubectl delete etcdpeers,services,poddisruptionbudgets"))
    return `the message of Ready is ${message}`;
  for (const resource of left) for (const object of api.list(resource)) api.delete("person", resource, object.metadata);
  await of.untilQuiet();
  const { status: isReady, message: why } = of.condition("Ready") ?? {};
  if (isReady !== "True") return `Ready is ${isReady}: ${why}`;
  const isSame = of.cluster.status?.identity?.clusterID === status?.identity?.clusterID;
  return isSame && of.cluster.metadata.uid !== metadata.uid ? undefined : "the cluster ID has changed";
};
