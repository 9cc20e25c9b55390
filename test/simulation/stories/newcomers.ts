import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// Members that are added and cannot become voters.

const MINUTE = 60_000;

function timesDone(of: Scene, step: string): number {
  return of.did().filter((did) => did.startsWith(step)).length;
}

/** A requested fourth member runs and never catches up. */
export const learnersLeaveClaims: Story = async () => {
  const of = await scene(3);
  of.onEvent = (event) => {
    if (event.is === "started") of.world.etcd.cutOff(event.process, true);
  };
  of.edit({ replicas: 4 });
  await of.forMs(35 * MINUTE);
  if (timesDone(of, "removeMember") < 2) throw new Error(`several members should be tried: ${of.did()}`);
  const claims = of.world.api.list(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.name);
  return claims.length > 4 ? `claims of members that never had a vote are left: ${claims}` : undefined;
};

/** A person has created a claim without labels that has the name of the next member. */
export const unlabelledClaimBlocksNewMember: Story = async () => {
  const of = await scene(3);
  const metadata = { namespace: NAMESPACE, name: `${CLUSTER}-3` };
  of.world.api.create("person", PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  of.edit({ replicas: 4 });
  await of.forMs(5 * MINUTE);
  const { status, message } = of.condition("Ready") ?? {};
  if (status !== "True") return `Ready is ${status}: ${message}`;
  return timesDone(of, "addLearner") === 1 ? undefined : `more than one member was added: ${of.did()}`;
};

/**
 * A cluster was not Ready for hours for another reason. Then a member is requested, and its pod cannot be scheduled.
 */
export const unscheduledLearnerIsKept: Story = async () => {
  const of = await scene(3);
  of.edit({ podTemplate: { spec: { hostNetwork: true } } } as never);
  await of.forMs(2 * 60 * MINUTE);
  if (of.condition("Ready")?.status !== "False") throw new Error("the cluster should not be Ready");
  of.edit({ podTemplate: {}, replicas: 4 });
  for (const node of of.world.kubelets.nodes) node.cutSinceMs = of.world.time.nowMs;
  await of.forMs(25 * MINUTE);
  return timesDone(of, "removeMember") > 0 ? undefined : `the first try lasts longer than 25 minutes: ${of.did()}`;
};
