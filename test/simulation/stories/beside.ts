import { NEVER_READY, NEVER_STARTED, WELL_BESIDE } from "#kit/world-containers.ts";
import { PODS } from "#kube/kinds.ts";
import { Scene, type Story, scene } from "./scene.ts";

// What is beside etcd's container in a pod, before it and at its side, and what becomes of the member meanwhile.

type PodTemplate = Scene["cluster"]["spec"]["podTemplate"];

/** A cluster that is made with this, and has had its time. */
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

/** A cluster is made with something before etcd that never comes to an end, or that is not there; then the spec is corrected. */
export const neverStartedForEver: Story = async () => {
  for (const [what, podTemplate] of Object.entries(NEVER_STARTED)) {
    const of = await madeWith(3, podTemplate);
    if (running(of) > 0) throw new Error("nobody was to run");
    of.edit({ podTemplate: {} });
    await of.untilQuiet();
    const why = whyNotReady(of);
    if (why !== undefined) return `${what}: ${why}`;
  }
  return undefined;
};

/** Two members, of which the first gets what keeps it from starting: without a quorum. The spec is corrected a moment later. */
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

/** An edit with which the first member never starts, and nobody takes it back. */
export const hangingIsNotPutBack: Story = async () => {
  for (const replicas of [1, 2, 3])
    for (const [what, podTemplate] of Object.entries(NEVER_STARTED)) {
      const of = await scene(replicas);
      of.edit({ podTemplate });
      await of.untilQuiet();
      if (running(of) !== replicas) return `${what}: ${running(of)} of ${replicas} run; ${readyText(of)}`;
      if (new Set(restarts(of)).size !== 1) return `${what}: more than one member was tried: ${restarts(of)}`;
      if (of.condition("Ready")?.reason !== "UpdateStopped") return `${what}: ${readyText(of)}`;
    }
  return undefined;
};

/** Nothing is asked for but what there is, and a node takes ten minutes to start what a pod was made of. */
export const pullingIsKilled: Story = async () => {
  const of = await scene(3);
  const { api, kubelets } = of.world;
  const [first] = api.list(PODS);
  kubelets.killContainer(first!);
  api.remove(PODS, first!);
  for (const node of kubelets.nodes) node.cutSinceMs = of.world.time.nowMs; // whatever is scheduled there starts later
  await of.forMs(40_000);
  for (const node of kubelets.nodes) node.cutSinceMs = undefined;
  await of.untilQuiet();
  return restarts(of).length === 0 ? whyNotReady(of) : `what is only slow was restarted: ${restarts(of)}`;
};

/** Beside etcd something has no image: Kubernetes calls the pod pending, and etcd serves. */
export const pendingIsNotAsked: Story = async () => {
  const of = await madeWith(3, NEVER_READY.unpublished);
  if (running(of) !== 3) throw new Error("three members were to run");
  const { status, reason, message } = of.condition("Available") ?? {};
  return status === "True" ? undefined : `Available is ${status} (${reason}: ${message})`;
};

/** What is beside etcd is not well in any pod; then the spec is corrected. */
export const sidecarBlocksItsMend: Story = async () => {
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

/** In one pod what is beside etcd has gone wrong; the edit that comes then begins with that one, and does not stop at it. */
export const illAgentBlocksTheRest: Story = async () => {
  const of = await scene(3);
  const { api, kubelets } = of.world;
  of.edit({ podTemplate: WELL_BESIDE.agent });
  await of.untilQuiet();
  const before = restarts(of).length;
  const names = ["db-0", "db-1"].filter((name) => name !== of.leader().peer); // of them the one that would come later
  const ill = api.list(PODS).find(({ spec }) => spec?.hostname === names[0]);
  kubelets.illAgents.add(ill?.metadata.uid ?? "");
  await of.forMs(5_000);
  of.edit({ podTemplate: {} });
  await of.forMs(15_000);
  if (restarts(of).length !== before) return "nobody waited for the pod to be ready again";
  await of.forMs(60_000);
  const [first] = restarts(of).slice(before);
  if (first !== `restartPod ${ill?.spec?.hostname}`) return `${ill?.spec?.hostname} is not ready, and first: ${first}`;
  return whyNotReady(of);
};
