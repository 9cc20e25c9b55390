import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { PODS } from "#kube/kinds.ts";
import { type Scene, type Story, scene } from "./scene.ts";

// A refused spec during an update: no member gets a new template, and a member that fails to start is still rolled
// back.

const TOO_LARGE = { podTemplate: withResources({ requests: { cpu: "500" } }) };
const REFUSED = { podTemplate: { spec: { hostNetwork: true } } };

function running(of: Scene): number {
  return of.world.etcd.processes.size;
}

function restarts(of: Scene): readonly string[] {
  return of.did().filter((did) => did.startsWith("restartPod"));
}

function wrong(of: Scene, replicas: number): string | undefined {
  const { reason, message } = of.condition("Ready") ?? {};
  if (running(of) === replicas && reason === "SpecRefused") return undefined;
  return `${running(of)} of ${replicas} run; Ready has reason ${reason}: ${message}`;
}

/**
 * The operator or a person restarts the first member with a template that fits on no node. Then the spec is edited to a
 * refused one.
 */
export const refusedSpecBlocksRollback: Story = async () => {
  for (const type of ["RollingUpdate", "OnDelete"] as const)
    for (const replicas of [1, 2, 3]) {
      const of = await scene(replicas);
      of.edit({ ...TOO_LARGE, updateStrategy: { type } });
      if (type === "OnDelete") {
        await of.untilQuiet();
        const [first] = of.world.api.list(PODS);
        of.world.api.delete("person", PODS, first!.metadata);
      }
      for (let tenths = 0; running(of) === replicas && tenths < 600; tenths++) await of.forMs(100);
      await of.forMs(1_000);
      if (running(of) !== replicas - 1) throw new Error("the first member should fail to start");
      of.edit(REFUSED);
      await of.forMs(120_000);
      const why = wrong(of, replicas);
      if (why !== undefined) return `${type}: ${why}`;
    }
  return undefined;
};

/** The spec is edited to a refused one while a member has a pending restart. */
export const withdrawnSpecRestarts: Story = async () => {
  const of = await scene(2);
  const hasPendingRestart = () => of.world.api.list(ETCD_PEERS).some(({ spec }) => spec.previous !== undefined);
  of.edit(TOO_LARGE);
  for (let steps = 0; !hasPendingRestart() && steps < 1_000; steps++) await of.forMs(1);
  if (!hasPendingRestart() || restarts(of).length > 0) throw new Error("a member should have a pending restart");
  of.edit(REFUSED);
  await of.forMs(120_000);
  return restarts(of).length > 0 ? `restarts for a withdrawn spec: ${restarts(of)}` : wrong(of, 2);
};

/**
 * The only member is restarted with an unpublished release. Before its rollback an older minor is requested, which is
 * not reachable yet.
 */
export const unpublishedReleaseIsKept: Story = async () => {
  const of = await scene(1);
  of.edit({ version: "3.6.99" });
  for (let tenths = 0; running(of) === 1 && tenths < 600; tenths++) await of.forMs(100);
  of.edit({ version: "3.5.35", podTemplate: withResources({ limits: { cpu: "1" } }) });
  await of.untilQuiet();
  const { reason, message } = of.condition("Ready") ?? {};
  return reason === "AllMembersHealthy" ? undefined : `${running(of)} of 1 run; Ready has reason ${reason}: ${message}`;
};
