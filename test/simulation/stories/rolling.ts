import { withResources } from "#kit/snapshots/pod-template.ts";
import { CRASHES } from "#kit/world/containers.ts";
import { POD_DISRUPTION_BUDGETS, PODS } from "#kube/kinds.ts";
import { Scene, type Story, scene } from "./scene.ts";

/** Number of members that run this release. */
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

/** A cluster of three that has only ever run this release. */
async function begunWith(version: string): Promise<Scene> {
  const of = new Scene(3);
  await of.start();
  of.edit({ version });
  await of.untilQuiet();
  if (running(of, version) !== 3) throw new Error(`the cluster did not come up with ${version}`);
  return of;
}

/**
 * A person upgrades a quiet cluster from 3.5 to 3.6 and at once to 3.7, which cannot read raft entries that 3.5 wrote.
 */
export const oldEntriesAreIgnored: Story = async () => {
  const of = await begunWith("3.5.35");
  for (const version of ["3.6.16", "3.7.3"]) {
    of.edit({ version });
    await of.untilQuiet();
    if (running(of, version) !== 3)
      return `${running(of, version)} of 3 members run ${version}; ${readyText(of)}; the operator did ${of.did()}`;
  }
  if (of.did().includes("stopUpdate")) return "the first member did not come up";
  const asked = of.did().filter((did) => did === "enableDowngrade").length;
  if (asked !== 1) return `a downgrade was enabled ${asked} times`;
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A person restarts the first member with 3.7 and asks for more members. The operator restarts the rest. */
export const newMembersGetOldEntries: Story = async () => {
  const of = await begunWith("3.5.35");
  of.edit({ version: "3.6.16" });
  await of.untilQuiet();
  of.edit({ version: "3.7.3", updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const { api } = of.world;
  const leader = of.leader().peer;
  const [first] = api.list(PODS).filter(({ spec }) => spec?.hostname !== leader);
  if (first !== undefined) api.delete("person", PODS, first.metadata);
  await of.untilQuiet();
  if (running(of, "3.7.3") !== 1) return `${running(of, "3.7.3")} members run 3.7.3, and 1 was restarted`;
  of.edit({ replicas: 5 });
  await of.untilQuiet();
  const before = of.did().length;
  of.edit({ updateStrategy: { type: "RollingUpdate" } });
  await of.untilQuiet();
  if (running(of, "3.7.3") !== 5) return `${running(of, "3.7.3")} of 5 members run 3.7.3; ${readyText(of)}`;
  const removed = of
    .did()
    .slice(before)
    .filter((did) => did.startsWith("removeMember"));
  return removed.length === 0 ? undefined : `members were given up: ${removed}`;
};

/** A person asks for the next minor release with OnDelete, then for more members, and deletes the pods last. */
export const onDeleteIsIgnored: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  of.edit({ version: "3.7.3", updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const waiting = () => of.cluster.status?.update?.waitingForDeletion ?? [];
  if (waiting().length !== 3) return `${waiting().length} members wait for people instead of 3; ${readyText(of)}`;
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
  return of.cluster.status?.update === undefined ? undefined : "the update is still on record";
};

/**
 * The strategy changes to OnDelete during an update, and later back to RollingUpdate, when all members have a pending
 * restart.
 */
export const strategyChangeBreaksQuorum: Story = async () => {
  const of = await scene(3);
  of.edit({ version: "3.7.3" });
  for (let tenths = 0; running(of, "3.7.3") < 1 && tenths < 600; tenths++) await of.forMs(100);
  of.edit({ updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const before = restarts(of).length;
  if (before === 3) return "no member was left for people to restart";
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

/** A flag makes etcd exit at once under OnDelete. A person deletes one pod and never takes the edit back. */
export const onDeleteCrashSpreads: Story = async () => {
  const of = await scene(3);
  const { api } = of.world;
  of.edit({ podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } }, updateStrategy: { type: "OnDelete" } });
  await of.untilQuiet();
  const [first] = api.list(PODS);
  api.delete("person", PODS, first!.metadata);
  await of.untilQuiet();
  if (of.world.etcd.processes.size !== 3) return `the canary member was not rolled back; ${readyText(of)}`;
  if (of.condition("Ready")?.reason !== "UpdateStopped") return readyText(of);
  const before = restarts(of).length;
  for (const pod of api.list(PODS)) api.delete("person", PODS, pod.metadata);
  await of.untilQuiet();
  if (restarts(of).length !== before) return "the failed template was still recorded for the other members";
  return of.world.etcd.processes.size === 3 ? undefined : `${of.world.etcd.processes.size} of 3 run; ${readyText(of)}`;
};

/** The edit asks for the current state in other words. */
export const equivalentEditRestarts: Story = async () => {
  const of = await scene(3);
  of.edit({ podTemplate: { metadata: { annotations: {} }, ...withResources({ limits: {} }) } });
  await of.untilQuiet();
  return restarts(of).length === 0 ? undefined : `an edit without effect caused ${restarts(of)}`;
};

/** A flag makes etcd exit at once, and then the edit is taken back. */
export const crashingTemplateSpreads: Story = async () => {
  const of = await scene(3);
  of.edit({ podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } });
  await of.untilQuiet();
  const tried = new Set(restarts(of));
  if (tried.size !== 1) return `more than one member was restarted: ${[...tried]}`;
  if (of.world.etcd.processes.size !== 3) return "the canary member was not rolled back";
  if (of.condition("Ready")?.reason !== "UpdateStopped") return readyText(of);
  const before = restarts(of).length;
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (restarts(of).length !== before) return "taking the edit back restarted a member";
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A cluster with one member, and a release that was never published. */
export const onlyMemberIsLost: Story = async () => {
  const of = await scene(1);
  of.edit({ version: "3.6.99" });
  await of.untilQuiet();
  if (running(of, "3.6.16") !== 1) return `the member does not run any more; ${readyText(of)}`;
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

/** A release and a flag were mistyped at creation. No member has ever run, so nothing blocks a correction. */
export const mistypedSpecIsKept: Story = async () => {
  const of = new Scene(3);
  await of.start();
  of.edit({ version: "3.7.99", podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } });
  await of.forMs(120_000);
  if (of.world.etcd.processes.size > 0) throw new Error("no member should run");
  of.edit({ version: "3.6.17" });
  await of.forMs(120_000);
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (running(of, "3.6.17") !== 3) return readyText(of);
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** A growing cluster gets a template that fits on no node. The next edit helps the member that is starting. */
export const learnerKeepsBadTemplate: Story = async () => {
  const of = await scene(3);
  of.edit({ replicas: 5, podTemplate: withResources({ requests: { cpu: "500" } }) });
  await of.untilQuiet();
  of.edit({ podTemplate: {} });
  await of.untilQuiet();
  if (of.world.etcd.processes.size !== 5) return `${of.world.etcd.processes.size} of 5 run; ${readyText(of)}`;
  return of.condition("Ready")?.status === "True" ? undefined : readyText(of);
};

/** All members are restarted, and at once a second time. */
export const restartsSlowDown: Story = async () => {
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
  // The wait for the next restart must not grow with each restart.
  return longestMs > 2 * (gaps[0] ?? 0) + 2_000 ? `between two restarts were ${gaps.join(", ")} ms` : undefined;
};

/**
 * The watch of pods is dead just after the first restart, for longer than the member may take to come up. The member is
 * up at once.
 */
export const unseenMemberIsRolledBack: Story = async () => {
  const of = await scene(3);
  of.edit({ updateStrategy: { type: "RollingUpdate", memberTimeout: "60s" } });
  await of.untilQuiet();
  of.edit({ version: "3.7.3" });
  const podStreams = () => of.world.watches.streams.filter(({ resource }) => resource.plural === PODS.plural);
  const hasSeen = () => restarts(of).length > 0 && podStreams().every(({ behind }) => behind === 0);
  // A stream that misses a write of the operator is opened again after ten seconds, so it has to deliver the restart
  // first.
  for (let looks = 0; looks < 6_000 && !hasSeen(); looks++) await of.forMs(10);
  for (const stream of podStreams()) stream.isMute = true;
  await of.forMs(85_000);
  const { stopped } = of.cluster.status?.update ?? {};
  if (stopped !== undefined) return `${stopped.member} ran, and is rolled back: ${stopped.message}; ${readyText(of)}`;
  if (running(of, "3.7.3") !== 1) throw new Error("one member should run unseen");
  await of.untilQuiet();
  return running(of, "3.7.3") === 3 ? undefined : `${running(of, "3.7.3")} of 3 run 3.7.3; ${readyText(of)}`;
};
