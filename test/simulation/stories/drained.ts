import { PAUSED_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { NAMESPACE } from "#kit/world/people.ts";
import { POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS } from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import { type Story, scene } from "./scene.ts";

/**
 * Five members are requested instead of three. A person pauses the cluster as soon as the first new member may start.
 * Its pod becomes ready.
 */
export const learnerMissesTheBudget: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  of.edit({ replicas: 5 });
  const mayStart = () => api.find(REPLICA_SETS, { namespace: NAMESPACE, name: "db-3" }) !== undefined;
  for (let tries = 0; !mayStart() && tries < 10_000; tries++) await of.forMs(1);
  const { cluster } = of;
  const metadata = { ...cluster.metadata, annotations: { [PAUSED_ANNOTATION]: "true" } };
  api.update("person", ETCD_CLUSTERS, cluster, { metadata });
  await of.forMs(60_000);
  const ready = api.list(PODS).filter(isReady).length;
  if (ready !== 4) throw new Error(`four pods should be ready instead of ${ready}`);
  const needed = Number(api.list(POD_DISRUPTION_BUDGETS)[0]?.spec?.minAvailable);
  // The learner has no vote: of the three voters two must stay, so of four pods only one may go.
  return needed < 3 ? `two of three voters may be evicted beside a learner: minAvailable is ${needed}` : undefined;
};
