import { PAUSED_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { NAMESPACE } from "#kit/world-people.ts";
import { POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS } from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import { type Story, scene } from "./scene.ts";

/** One more member is wanted besides the only one, and somebody pauses the operator as soon as the new one may start. Its pod becomes ready. */
export const learnerIsCountedLate: Story = async () => {
  const of = await scene(1);
  const { api } = of.world;
  of.edit({ replicas: 2 });
  const mayStart = () => api.find(REPLICA_SETS, { namespace: NAMESPACE, name: "db-1" }) !== undefined;
  for (let tries = 0; !mayStart() && tries < 1_000; tries++) await of.forMs(1);
  const { cluster } = of;
  const metadata = { ...cluster.metadata, annotations: { [PAUSED_ANNOTATION]: "true" } };
  api.update("person", ETCD_CLUSTERS, cluster, { metadata });
  await of.forMs(60_000);
  const ready = api.list(PODS).filter(isReady).length;
  if (ready !== 2) throw new Error("two pods were to be ready");
  const needed = Number(api.list(POD_DISRUPTION_BUDGETS)[0]?.spec?.minAvailable);
  return needed < ready
    ? `of ${ready} ready pods the only voter's may be evicted: minAvailable is ${needed}`
    : undefined;
};
