import { NEVER_READY, NEVER_STARTED, WELL_BESIDE } from "#kit/world/containers.ts";
import { PODS } from "#kube/kinds.ts";
import { Scene, type Story, scene } from "./scene.ts";

// Sidecars and init containers of a pod, and their effect on the member.

type PodTemplate = Scene["cluster"]["spec"]["podTemplate"];

/** A cluster that was created with this template a minute ago. */
async function madeWith(replicas: number, podTemplate: PodTemplate): Promise<Scene> {
  const of = new Scene(replicas);
  await of.start();
  of.edit({ podTemplate });
  await of.forMs(60_000);
  return of;
}

function running(of: Scene): number {
  return of.world.etcd.processes.size;
}

function restarts(of: Scene): readonly string[] {
  return of.did().filter((did) => did.startsWith("restartPod"));
}

function readyText(of: Scene): string {
  const { status, reason, message } = of.condition("Ready") ?? {};
  return `Ready is ${status} (${reason}: ${message})`;
}

function whyNotReady(of: Scene): string | undefined {
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
}

/** A cluster is created with an init container that never ends or does not exist; then the spec is corrected. */
export const unstartedClusterIsKept: Story = async () => {
  for (const [what, podTemplate] of Object.entries(NEVER_STARTED)) {
    const of = await madeWith(3, podTemplate);
    if (running(of) > 0) throw new Error("no member should run");
    of.edit({ podTemplate: {} });
    await of.untilQuiet();
    const why = whyNotReady(of);
    if (why !== undefined) return `${what}: ${why}`;
  }
  return undefined;
};

/**
 * The first of two members gets a template with which it never starts, so there is no quorum. The spec is corrected a
 * moment later.
 */
export const correctionComesTooLate: Story = async () => {
  for (const [what, podTemplate] of Object.entries(NEVER_STARTED)) {
    const of = await scene(2);
    of.edit({ podTemplate });
    for (let tenths = 0; running(of) === 2 && tenths < 600; tenths++) await of.forMs(100);
    of.edit({ podTemplate: { metadata: { annotations: { note: "corrected" } } } });
    await of.forMs(45_000);
    if (running(of) !== 2) return `${what}: ${running(of)} of 2 run 45 s later; ${readyText(of)}`;
    await of.untilQuiet();
    const why = whyNotReady(of);
    if (why !== undefined) return `${what}: ${why}`;
  }
  return undefined;
};

/** The first member never starts with the edit, and the edit stays. */
export const hangingMemberIsNotRolledBack: Story = async () => {
  for (const replicas of [1, 2, 3])
    for (const [what, podTemplate] of Object.entries(NEVER_STARTED)) {
      const of = await scene(replicas);
      of.edit({ podTemplate });
      await of.untilQuiet();
      if (running(of) !== replicas) return `${what}: ${running(of)} of ${replicas} run; ${readyText(of)}`;
      if (new Set(restarts(of)).size !== 1) return `${what}: more than one member was restarted: ${restarts(of)}`;
      if (of.condition("Ready")?.reason !== "UpdateStopped") return `${what}: ${readyText(of)}`;
    }
  return undefined;
};

/** The spec does not change, and a node takes ten minutes to start a pod. */
export const slowPodIsRestarted: Story = async () => {
  const of = await scene(3);
  const { api, kubelets } = of.world;
  const [first] = api.list(PODS);
  kubelets.killContainer(first!);
  api.remove(PODS, first!);
  // Pods that are scheduled on a node that is cut off start later.
  for (const node of kubelets.nodes) node.cutSinceMs = of.world.time.nowMs;
  await of.forMs(40_000);
  for (const node of kubelets.nodes) node.cutSinceMs = undefined;
  await of.untilQuiet();
  return restarts(of).length === 0 ? whyNotReady(of) : `a slow pod was restarted: ${restarts(of)}`;
};

/** A sidecar has no image: the pod's phase is Pending, and etcd serves. */
export const pendingPodIsNotAsked: Story = async () => {
  const of = await madeWith(3, NEVER_READY.unpublished);
  if (running(of) !== 3) throw new Error("three members should run");
  const { status, reason, message } = of.condition("Available") ?? {};
  return status === "True" ? undefined : `Available is ${status} (${reason}: ${message})`;
};

/** The sidecar is unhealthy in every pod; then the spec is corrected. */
export const sidecarBlocksItsFix: Story = async () => {
  for (const replicas of [1, 2, 3])
    for (const [what, podTemplate] of Object.entries(NEVER_READY)) {
      const of = await madeWith(replicas, podTemplate);
      of.edit({ podTemplate: WELL_BESIDE.agent });
      for (let tenths = 0; whyNotReady(of) !== undefined && tenths < 3_000; tenths++) {
        await of.forMs(100);
        if (running(of) < replicas - 1) return `${what}: ${running(of)} of ${replicas} run`;
      }
      const why = whyNotReady(of);
      if (why !== undefined) return `${what}: ${why}`;
    }
  return undefined;
};

/** The sidecar fails in one pod. The next edit begins with that pod, and does not stop at it. */
export const unhealthySidecarBlocksUpdate: Story = async () => {
  const of = await scene(3);
  const { api, kubelets } = of.world;
  of.edit({ podTemplate: WELL_BESIDE.agent });
  await of.untilQuiet();
  const before = restarts(of).length;
  // Without its failure the first of these would be restarted later.
  const names = ["db-0", "db-1"].filter((name) => name !== of.leader().peer);
  const ill = api.list(PODS).find(({ spec }) => spec?.hostname === names[0]);
  kubelets.illAgents.add(ill?.metadata.uid ?? "");
  await of.forMs(5_000);
  of.edit({ podTemplate: {} });
  await of.forMs(15_000);
  if (restarts(of).length !== before) return "the update did not wait for the pod to become ready";
  await of.forMs(60_000);
  const [first] = restarts(of).slice(before);
  if (first !== `restartPod ${ill?.spec?.hostname}`)
    return `${ill?.spec?.hostname} is not ready, and the first restart is ${first}`;
  return whyNotReady(of);
};
