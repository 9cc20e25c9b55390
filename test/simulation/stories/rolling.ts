import { withResources } from "#kit/pod-template.ts";
import { CRASHES } from "#kit/world-containers.ts";
import { POD_DISRUPTION_BUDGETS, PODS } from "#kube/kinds.ts";
import { Scene, type Story, scene } from "./scene.ts";

/** How many members run this release. */
function running(of: Scene, version: string): number {
  return [...of.world.etcd.processes.values()].filter((process) => process.version === version).length;
}

function restarts(of: Scene): readonly string[] {
  return of.did().filter((did) => did.startsWith("restartPod"));
}

function readyText(of: Scene): string {
  const { status, reason, message } = of.condition("Ready") ?? {};
  return `Ready is ${status} (${reason}: ${message})`;
}

/** A person asks for the next minor release. */
export const upgradeIsIgnored: Story = async () => {
  const of = await scene(3);
  const leader = of.leader().peer;
  of.edit({ version: "3.7.3" });
  await of.untilQuiet();
  if (running(of, "3.7.3") !== 3) return `${running(of, "3.7.3")} of 3 members run 3.7.3; ${readyText(of)}`;
  if (restarts(of).at(-1) !== `restartPod ${leader}`) return `${leader} led, and the restarts were ${restarts(of)}`;
  return of.condition("Ready")?.status === "True" && of.cluster.status?.update === undefined
    ? undefined
    : readyText(of);
};

/** A person asks for the next minor release where people restart members, for more members meanwhile, and deletes the pods at last. */
export const peopleAreNotWaitedFor: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  of.edit({ version: "3.7.3", updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const waiting = () => of.cluster.status?.update?.waitingForDeletion ?? [];
  if (waiting().length !== 3) return `3 members were to wait for people, and ${waiting().length} do; ${readyText(of)}`;
  const needed = Number(api.list(POD_DISRUPTION_BUDGETS)[0]?.spec?.minAvailable);
  if (needed !== 2) return `minAvailable is ${needed} while members wait for people`;
  of.edit({ replicas: 5 });
  await of.untilQuiet();
  if (of.world.etcd.processes.size !== 5) return `${of.world.etcd.processes.size} of 5 run; ${readyText(of)}`;
  if (of.condition("Ready")?.status !== "True") return readyText(of);
  for (let deleted = 0; waiting().length > 0 && deleted < 5; deleted++) {
    const [name] = waiting();
    for (const pod of api.list(PODS).filter(({ spec }) => spec?.hostname === name))
      api.delete("person", PODS, pod.metadata);
    await of.untilQuiet();
  }
  if (restarts(of).length > 0) return `the operator restarted members: ${restarts(of)}`;
  if (running(of, "3.7.3") !== 5) return `${running(of, "3.7.3")} of 5 members run 3.7.3; ${readyText(of)}`;
  return of.cluster.status?.update === undefined ? undefined : "the update is not over";
};

/** In the middle of an update people are to restart members, and later the operator again, when all of them have their turns. */
export const switchedRollIsReckless: Story = async () => {
  const of = await scene(3);
  of.edit({ version: "3.7.3" });
  for (let tenths = 0; running(of, "3.7.3") < 1 && tenths < 600; tenths++) await of.forMs(100);
  of.edit({ updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const before = restarts(of).length;
  if (before === 3) return "nobody was left for people to restart";
  const waiting = of.cluster.status?.update?.waitingForDeletion ?? [];
  if (waiting.length !== 3 - before) return `${waiting} wait for people after ${before} restarts`;
  of.edit({ version: "3.6.17" });
  await of.untilQuiet();
  if (restarts(of).length !== before) return "the operator restarted members";
  of.edit({ updateStrategy: { type: "RollingUpdate" } });
  for (let tenths = 0; running(of, "3.6.17") < 3 && tenths < 6_000; tenths++) {
    await of.forMs(100);
    if (of.world.etcd.processes.size < 2) return `${of.world.etcd.processes.size} of 3 run`;
  }
  await of.untilQuiet();
  if (running(of, "3.6.17") !== 3) return `${running(of, "3.6.17")} of 3 members run 3.6.17; ${readyText(of)}`;
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A flag lets etcd end at once where people restart members; one pod is deleted, and the edit is never taken back. */
export const peoplesCanarySpreads: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  of.edit({ podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } }, updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const [first] = api.list(PODS);
  api.delete("person", PODS, first!.metadata);
  await of.untilQuiet();
  if (of.world.etcd.processes.size !== 3) return `the member that was tried was not put back; ${readyText(of)}`;
  if (of.condition("Ready")?.reason !== "UpdateStopped") return readyText(of);
  const before = restarts(of).length;
  for (const pod of api.list(PODS)) api.delete("person", PODS, pod.metadata);
  await of.untilQuiet();
  if (restarts(of).length !== before) return "what was tried in vain was still on record for the others";
  return of.world.etcd.processes.size === 3 ? undefined : `${of.world.etcd.processes.size} of 3 run; ${readyText(of)}`;
};

/** Nothing is asked for but what is there, in other words. */
export const wordsRestart: Story = async () => {
  const of = await scene(3);
  of.edit({ podTemplate: { metadata: { annotations: {} }, ...withResources({ limits: {} }) } });
  await of.untilQuiet();
  return restarts(of).length === 0 ? undefined : `an edit that means nothing: ${restarts(of)}`;
};

/** A flag lets etcd end at once, and then the edit is taken back. */
export const crashSpreads: Story = async () => {
  const of = await scene(3);
  of.edit({ podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } });
  await of.untilQuiet();
  const tried = new Set(restarts(of));
  if (tried.size !== 1) return `more than one member was tried: ${[...tried]}`;
  if (of.world.etcd.processes.size !== 3) return "the member that was tried was not put back";
  if (of.condition("Ready")?.reason !== "UpdateStopped") return readyText(of);
  const before = restarts(of).length;
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (restarts(of).length !== before) return "to take the edit back restarted somebody";
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A cluster of one, and a release that nobody has published. */
export const onlyMemberIsLost: Story = async () => {
  const of = await scene(1);
  of.edit({ version: "3.6.99" });
  await of.untilQuiet();
  if (running(of, "3.6.16") !== 1) return `nothing runs any more; ${readyText(of)}`;
  return of.condition("Ready")?.reason === "UpdateStopped" ? undefined : readyText(of);
};

/** The edit is taken back while the second member restarts. */
export const editIsNotTakenBack: Story = async () => {
  const of = await scene(3);
  of.edit({ version: "3.7.3" });
  for (let tenths = 0; running(of, "3.7.3") < 1 && tenths < 600; tenths++) await of.forMs(100);
  of.edit({ version: "3.6.16" });
  await of.untilQuiet();
  if (running(of, "3.6.16") !== 3) return `${running(of, "3.6.16")} of 3 are back; ${readyText(of)}`;
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A release and a flag were mistyped when the cluster was made: nobody has ever run, so nothing is in the way of another one. */
export const mistypedForEver: Story = async () => {
  const of = new Scene(3);
  await of.start();
  of.edit({ version: "3.7.99", podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } });
  await of.forMs(120_000);
  if (of.world.etcd.processes.size > 0) throw new Error("nobody was to run");
  of.edit({ version: "3.6.17" });
  await of.forMs(120_000);
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (running(of, "3.6.17") !== 3) return readyText(of);
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A member is asked for that fits on no node, in a cluster that grows: the one that is on its way is helped by the next edit. */
export const learnerKeepsWhatAilsIt: Story = async () => {
  const of = await scene(3);
  of.edit({ replicas: 5, podTemplate: withResources({ requests: { cpu: "500" } }) });
  await of.untilQuiet();
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (of.world.etcd.processes.size !== 5) return `${of.world.etcd.processes.size} of 5 run; ${readyText(of)}`;
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** Everybody is restarted, and right afterwards once more. */
export const turnsTakeLonger: Story = async () => {
  const of = await scene(5, { slowestEndMs: 0 });
  const { time } = of.world;
  const startedAtMs: number[] = [];
  for (const restartedAt of ["now", "later"]) {
    of.edit({ podTemplate: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": restartedAt } } } });
    const wanted = startedAtMs.length + 5;
    for (let tenths = 0; startedAtMs.length < wanted && tenths < 6_000; tenths++) {
      await of.forMs(100);
      if (restarts(of).length > startedAtMs.length) startedAtMs.push(time.nowMs);
    }
  }
  const gaps = startedAtMs.slice(1).map((ms, index) => ms - (startedAtMs[index] ?? 0));
  const longestMs = Math.max(...gaps);
  // All turns are alike: who is restarted last waits no longer for its turn than who was restarted second.
  return longestMs > 2 * (gaps[0] ?? 0) + 2_000 ? `between two restarts were ${gaps.join(", ")} ms` : undefined;
};

/** The watch of pods is dead just after the first restart, for longer than the first one may take to come up; it is up in a moment. */
export const unseenIsPutBack: Story = async () => {
  const of = await scene(3);
  of.edit({ updateStrategy: { type: "RollingUpdate", memberTimeout: "60s" } });
  await of.untilQuiet();
  of.edit({ version: "3.7.3" });
  for (let looks = 0; looks < 600 && restarts(of).length === 0; looks++) await of.forMs(50);
  for (const stream of of.world.watches.streams) stream.isMute = stream.resource.plural === PODS.plural;
  await of.forMs(85_000);
  const { stopped } = of.cluster.status?.update ?? {};
  if (stopped !== undefined) return `${stopped.member} ran, and is put back: ${stopped.message}; ${readyText(of)}`;
  if (running(of, "3.7.3") !== 1) throw new Error("one member was to run, unseen");
  await of.untilQuiet();
  return running(of, "3.7.3") === 3 ? undefined : `${running(of, "3.7.3")} of 3 run 3.7.3; ${readyText(of)}`;
};
